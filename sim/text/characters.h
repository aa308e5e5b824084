// ASCII's, in any locale.
#pragma once

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

} // namespace sim
