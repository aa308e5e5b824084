#include "app/views/common/table.h"

#include "sim/text/csv_cell.h"

#include <algorithm>

namespace app {
namespace {

using Row = std::vector<std::string>;

std::string tabbedCell(std::string cell)
{
    std::replace_if(
        cell.begin(), cell.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return sim::wantsApostrophe(cell) ? "'" + cell : cell;
}

template <typename WriteCell>
std::string joined(const Table& table, char between, const char* lineEnd, WriteCell write)
{
    std::string out;
    const auto add = [&](const Row& row) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0)
                out += between;
            out += write(row[i]);
        }
        out += lineEnd;
    };
    add(table.header);
    for (const Row& row : table.rows)
        add(row);
    return out;
}

} // namespace

std::string csvText(const Table& table)
{
    return joined(table, ',', "\r\n", sim::guardedCsvCell);
}

std::string tabbedText(const Table& table)
{
    return joined(table, '\t', "\n", tabbedCell);
}

} // namespace app
