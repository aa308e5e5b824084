#include "sim/text/csv_cell.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace sim {
namespace {

bool beginsLikeFormula(std::string_view text)
{
    if (text.empty() || std::string_view("=+-@\t\r\n").find(text.front()) == std::string_view::npos)
        return false;
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return text.front() != '-' || error != std::errc() || end != text.data() + text.size();
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
