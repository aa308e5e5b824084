#include "sim/cli/table.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace sim::cli {
namespace {

bool isNumber(std::string cell)
{
    if (cell.ends_with(" %"))
        cell.resize(cell.size() - 2);
    return cell == "-" || (!cell.empty() && cell.find_first_of("0123456789") != std::string::npos &&
                           cell.find_first_not_of("0123456789.,-+e") == std::string::npos);
}

/// Characters, not bytes.
std::size_t widthOf(const std::string& utf8)
{
    return static_cast<std::size_t>(
        std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

} // namespace

void Table::print(std::ostream& out) const
{
    std::vector<std::size_t> widths;
    std::vector<bool> numeric(m_rows.front().size(), m_rows.size() > 1);
    for (std::size_t r = 0; r < m_rows.size(); ++r)
        for (std::size_t c = 0; c < m_rows[r].size(); ++c) {
            widths.resize(std::max(widths.size(), c + 1), 0);
            widths[c] = std::max(widths[c], widthOf(m_rows[r][c]));
            if (r > 0 && c < numeric.size() && !m_rows[r][c].empty() && !isNumber(m_rows[r][c]))
                numeric[c] = false;
        }
    for (const auto& row : m_rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string gap(widths[c] - widthOf(row[c]), ' ');
            const bool right = c < numeric.size() && numeric[c];
            line += (c > 0 ? "  " : "") + (right ? gap + row[c] : row[c] + gap);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << "\n";
    }
}

void Table::printCsv(std::ostream& out) const
{
    for (const auto& row : m_rows) {
        for (std::size_t c = 0; c < row.size(); ++c) {
            std::string cell = row[c];
            if (cell.find_first_of(",\"\n") != std::string::npos) {
                for (std::size_t at = cell.find('"'); at != std::string::npos; at = cell.find('"', at + 2))
                    cell.insert(at, 1, '"');
                cell = "\"" + cell + "\"";
            }
            out << (c > 0 ? "," : "") << cell;
        }
        out << "\n";
    }
}

std::string fixed(double value, int decimals)
{
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

std::string percent(double fraction)
{
    return fixed(fraction * 100, 1) + " %";
}

std::string grouped(std::int64_t value)
{
    std::string text = std::to_string(value);
    const std::size_t first = value < 0 ? 1 : 0;
    for (std::size_t at = text.size(); at > first + 3; at -= 3)
        text.insert(at - 3, 1, ',');
    return text;
}

std::string seconds(double value)
{
    if (value >= 1)
        return fixed(value, 3) + " s";
    if (value >= 1e-3)
        return fixed(value * 1e3, 3) + " ms";
    return fixed(value * 1e6, 1) + " us";
}

std::string gib(std::int64_t bytes)
{
    return fixed(static_cast<double>(bytes) / (1 << 30), 2);
}

} // namespace sim::cli
