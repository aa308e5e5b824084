#include "app/canvas/masked_canvas.h"

#include <array>

namespace app {
namespace {

constexpr std::string_view kHidden = "\xE2\x80\xA6"; // …
constexpr std::array<std::string_view, 34> kUnits{
    "%",      "B",      "KiB",    "MiB",     "GiB",     "TiB",     "kB",       "KB",   "MB",    "GB",    "TB",    "ns",
    "µs",     "us",     "ms",     "s",       "min",     "h",       "GB/s",     "TB/s", "MB/s",  "GFLOP", "TFLOP", "PFLOP",
    "GFLOPs", "TFLOPs", "PFLOPs", "GFLOP/s", "TFLOP/s", "PFLOP/s", "tokens/s", "×",    "GiB/s", "TFLOPS"};

bool isDigitAt(std::string_view text, std::size_t at)
{
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
}
bool isPartOfWord(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// " 16" or " dp 16"
bool isFactorAt(std::string_view text, std::size_t at)
{
    if (at >= text.size() || text[at] != ' ')
        return false;
    if (isDigitAt(text, at + 1))
        return true;
    const std::size_t blank = text.find(' ', at + 1);
    return blank != std::string_view::npos && isDigitAt(text, blank + 1);
}

/// Behind the unit that stands there, after a blank or at once; npos: none does. A narrow or unbroken blank counts, too.
std::size_t endOfUnit(std::string_view text, std::size_t at)
{
    for (const std::string_view blank : {std::string_view(" "), std::string_view("\xC2\xA0"), std::string_view("\xE2\x80\xAF")})
        if (text.substr(at).starts_with(blank)) {
            at += blank.size();
            break;
        }
    for (const std::string_view unit : kUnits)
        if (text.substr(at).starts_with(unit)) {
            const std::size_t end = at + unit.size();
            if (unit == "×" && isFactorAt(text, end))
                continue; // the size of a matrix, or of a layout
            if (end == text.size() || !(isPartOfWord(text[end]) || text[end] == '/'))
                return end;
        }
    return std::string_view::npos;
}

/// Behind the digits that begin there.
std::size_t endOfNumber(std::string_view text, std::size_t at)
{
    while (isDigitAt(text, at) || (at < text.size() && (text[at] == '.' || text[at] == ',') && isDigitAt(text, at + 1)))
        ++at;
    return at;
}

} // namespace

bool isBareQuantity(std::string_view text)
{
    return isDigitAt(text, 0) && endOfUnit(text, endOfNumber(text, 0)) == text.size();
}

std::string withoutQuantities(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (!isDigitAt(text, i) || (i > 0 && isPartOfWord(text[i - 1]))) {
            out += text[i++];
            continue;
        }
        const std::size_t end = endOfNumber(text, i);
        const bool isQuantity = endOfUnit(text, end) != std::string_view::npos;
        out += isQuantity ? kHidden : text.substr(i, end - i);
        i = end;
    }
    return out;
}

} // namespace app
