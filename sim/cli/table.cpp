#include "sim/cli/table.h"

#include "sim/text/csv_cell.h"
#include "sim/text/rounded_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace sim::cli {
namespace {

/// "16,384", "1e-5", "13.2 %", "4.890 s"; "-" stands for none.
bool isNumber(const std::string& cell)
{
    const std::size_t digits = cell.find_last_of("0123456789");
    if (digits == std::string::npos)
        return cell == "-";
    const std::string unit = cell.substr(digits + 1);
    return cell.find_first_not_of("0123456789.,-+e") >= digits + 1 && (unit.empty() || (unit[0] == ' ' && unit.size() <= 3));
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
    std::vector<bool> numeric(m_rows.front().cells.size(), m_rows.size() > 1);
    for (std::size_t r = 0; r < m_rows.size(); ++r) {
        const Row& row = m_rows[r];
        const std::size_t columns = row.cells.size() - (row.endsWithNote ? 1 : 0);
        for (std::size_t c = 0; c < columns; ++c) {
            widths.resize(std::max(widths.size(), c + 1), 0);
            widths[c] = std::max(widths[c], widthOf(row.cells[c]));
            if (r > 0 && c < numeric.size() && !row.cells[c].empty() && !isNumber(row.cells[c]))
                numeric[c] = false;
        }
    }
    for (const Row& row : m_rows) {
        std::string line;
        for (std::size_t c = 0; c < row.cells.size(); ++c) {
            const std::string& cell = row.cells[c];
            line += c > 0 ? "  " : "";
            if (row.endsWithNote && c + 1 == row.cells.size()) {
                line += cell;
                break;
            }
            const std::string gap(widths[c] - widthOf(cell), ' ');
            line += c < numeric.size() && numeric[c] ? gap + cell : cell + gap;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << "\n";
    }
}

void Table::printCsv(std::ostream& out, bool withHeader) const
{
    const std::size_t columns = m_rows.front().cells.size();
    for (const Row& row : m_rows) {
        if (!withHeader && &row == &m_rows.front())
            continue;
        for (std::size_t c = 0; c < columns; ++c) {
            const bool isNote = row.endsWithNote && c + 1 == columns;
            const std::size_t filled = row.cells.size() - (row.endsWithNote ? 1 : 0);
            out << (c > 0 ? "," : "") << (isNote ? csvCell(row.cells.back()) : c < filled ? csvCell(row.cells[c]) : "");
        }
        out << "\n";
    }
}

std::string fixed(double value, int decimals)
{
    std::array<char, 400> text{}; // the largest double has 309 digits
    std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
    return text.data();
}

std::string percent(double fraction)
{
    return tenthsOfPercentText(fraction) + " %";
}

namespace {

std::string withCommas(std::string digits)
{
    const std::size_t first = digits.front() == '-' ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3; at -= 3)
        digits.insert(at - 3, 1, ',');
    return digits;
}

} // namespace

std::string grouped(std::int64_t value)
{
    return withCommas(std::to_string(value));
}

std::string groupedRound(double value)
{
    return withCommas(fixed(std::round(value), 0));
}

std::string seconds(double value)
{
    if (value >= 1)
        return fixed(value, 3) + " s";
    if (value >= 1e-3)
        return fixed(value * 1e3, 3) + " ms";
    return fixed(value * 1e6, 1) + " µs";
}

ByteUnit::ByteUnit(double largestBytes)
{
    if (largestBytes <= 0 || largestBytes >= m_size)
        return;
    m_name = "MiB";
    m_size = kBytesPerGib / 1024;
    if (largestBytes >= m_size)
        return;
    m_name = "KiB";
    m_size /= 1024;
}

std::string ByteUnit::text(double bytes) const
{
    return fixed(bytes / m_size, 2);
}

std::string counted(std::int64_t count, const std::string& noun)
{
    return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

} // namespace sim::cli
