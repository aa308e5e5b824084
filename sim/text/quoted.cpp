#include "sim/text/quoted.h"

#include <array>
#include <cstdint>

namespace sim {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

struct Character {
    std::uint32_t code = kReplacement;
    std::size_t bytes = 1; ///< of the text
};

/// The first character of a text that is not empty; U+FFFD, one byte long, where no UTF-8 begins.
Character firstOf(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80U)
        return {lead, 1};
    const std::size_t bytes = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
    constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000}; // what needs so many bytes
    if (lead < 0xC0U || lead > 0xF4U || text.size() < bytes)
        return {};
    std::uint32_t code = lead & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U)
            return {};
        code = (code << 6U) | (byte(i) & 0x3FU);
    }
    const bool isSurrogate = code >= 0xD800U && code <= 0xDFFFU;
    if (code < kLeast.at(bytes) || code > 0x10FFFFU || isSurrogate)
        return {};
    return {code, bytes};
}

/// What a terminal or a label obeys instead of showing it.
bool isUnseen(std::uint32_t code)
{
    const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
    return within(0, 0x1F) || within(0x7F, 0x9F) || code == 0xAD || code == 0x61C || within(0x200B, 0x200F) ||
           within(0x2028, 0x202E) || within(0x2060, 0x206F) || code == 0xFEFF || within(0xE0000, 0xE007F);
}

std::string writtenOut(std::uint32_t code)
{
    if (code == '\n')
        return "\\n";
    if (code == '\t')
        return "\\t";
    if (code == '\r')
        return "\\r";
    constexpr std::string_view kHexDigits = "0123456789abcdef";
    std::string digits;
    const std::size_t length = code <= 0xFFU ? 2 : code <= 0xFFFFU ? 4 : 8;
    for (std::size_t i = length; i-- > 0;)
        digits += kHexDigits[(code >> (4U * static_cast<unsigned>(i))) & 0xFU];
    return (length == 2 ? "\\x" : length == 4 ? "\\u" : "\\U") + digits;
}

} // namespace

std::string shownText(std::string_view text, std::size_t most)
{
    std::string out;
    for (std::size_t count = 0; !text.empty(); ++count) {
        if (count == most)
            return out + "…";
        const Character character = firstOf(text);
        if (isUnseen(character.code))
            out += writtenOut(character.code);
        else if (character.code == kReplacement)
            out += "\xEF\xBF\xBD";
        else
            out += text.substr(0, character.bytes);
        text.remove_prefix(character.bytes);
    }
    return out;
}

std::string quotedText(std::string_view text, std::size_t most)
{
    return '"' + shownText(text, most) + '"';
}

std::string shownPlace(std::string_view place)
{
    constexpr std::size_t kMostOfPlace = 240;
    return shownText(place, kMostOfPlace);
}

std::string validUtf8(std::string_view text)
{
    std::string out;
    for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
        const Character character = firstOf(text);
        bytes = character.bytes;
        if (character.code == kReplacement)
            out += "\xEF\xBF\xBD";
        else
            out += text.substr(0, bytes);
    }
    return out;
}

} // namespace sim
