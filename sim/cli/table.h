// Tables and numbers for people who read a terminal.
#pragma once

#include "sim/memory_limit.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace sim::cli {

/// Columns as wide as their widest cell; numbers to the right, words to the left.
class Table {
public:
    explicit Table(std::vector<std::string> header) : m_rows{{std::move(header), false}} {}
    void add(std::vector<std::string> row) { m_rows.push_back({std::move(row), false}); }
    /// A row that is short of cells: the text runs on to the right of its cells. In CSV it is the last column's.
    void addNote(std::vector<std::string> row, std::string text)
    {
        row.push_back(std::move(text));
        m_rows.push_back({std::move(row), true});
    }
    void print(std::ostream&) const;
    /// RFC 4180.
    void printCsv(std::ostream&, bool withHeader = true) const;

private:
    struct Row {
        std::vector<std::string> cells;
        bool endsWithNote = false;
    };
    std::vector<Row> m_rows; ///< the first is the header
};

std::string fixed(double value, int decimals);
std::string percent(double fraction); ///< "13.2 %"
std::string grouped(std::int64_t);    ///< "16,384"
std::string groupedRound(double);     ///< to the nearest whole number, also beyond those of 64 bits
std::string seconds(double);          ///< "4.890 s", "12.300 ms", "870.0 us"

/// The unit of a table's bytes: GiB, and of less than one the unit that its largest cell would be told in, so that no row is all
/// noughts. It stands in the heading.
class ByteUnit {
public:
    explicit ByteUnit(double largestBytes);
    const char* name() const { return m_name; } ///< "GiB"
    std::string text(double bytes) const;       ///< "81.70"

private:
    const char* m_name = "GiB";
    double m_size = kBytesPerGib;
};

/// "1 node", "256 nodes"
std::string counted(std::int64_t, const std::string& noun);

} // namespace sim::cli
