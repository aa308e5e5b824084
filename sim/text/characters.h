// Letters and digits of ASCII, in any locale; and where characters of UTF-8 begin.
#pragma once

#include <cstddef>
#include <string_view>

namespace sim {

inline constexpr std::string_view kDigits = "0123456789";

constexpr bool isDigit(char c)
{
    return c >= '0' && c <= '9';
}
constexpr bool isLetter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool startsName(char c)
{
    return isLetter(c) || c == '_';
}

/// Where to cut that text at `at` or a little before it: not within a character of UTF-8.
constexpr std::size_t cutBetweenCharacters(std::string_view text, std::size_t at)
{
    if (at >= text.size())
        return text.size();
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U)
        --at;
    return at;
}

} // namespace sim
