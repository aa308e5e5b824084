#include "sim/text/csv_cell.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sim {
namespace {

/// "-2.5", "+1.2 ms", "+3 %": with a unit behind it, which reckons nothing.
bool isSignedNumber(std::string_view text)
{
    if (text.front() != '+' && text.front() != '-')
        return false;
    if (text.front() == '+') { // from_chars knows minus alone
        text.remove_prefix(1);
        if (text.starts_with('-'))
            return false;
    }
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto isOfUnit = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == ' ' || c == '%' || c == '/' ||
               static_cast<signed char>(c) < 0;
    };
    return error == std::errc() && std::all_of(end, text.data() + text.size(), isOfUnit);
}

bool beginsLikeFormula(std::string_view text)
{
    if (text.empty() || std::string_view("=+-@\t\r\n").find(text.front()) == std::string_view::npos)
        return false;
    return !isSignedNumber(text);
}

std::string quoted(std::string_view text, std::string_view before)
{
    std::string out = "\"" + std::string(before);
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

} // namespace

bool wantsApostrophe(std::string_view text)
{
    return beginsLikeFormula(text.substr(std::min(text.find_first_not_of('\''), text.size())));
}

std::string csvCell(std::string_view text)
{
    return text.find_first_of(",\"\r\n") == std::string_view::npos ? std::string(text) : quoted(text, "");
}

std::string guardedCsvCell(std::string_view text)
{
    return wantsApostrophe(text) ? quoted(text, "'") : csvCell(text);
}

} // namespace sim
