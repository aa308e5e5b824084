// Tables and numbers for people who read a terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace sim::cli {

/// Columns as wide as their widest cell; numbers to the right, words to the left.
class Table {
public:
    explicit Table(std::vector<std::string> header) : m_rows{std::move(header)} {}
    void add(std::vector<std::string> row) { m_rows.push_back(std::move(row)); }
    void print(std::ostream&) const;
    /// RFC 4180.
    void printCsv(std::ostream&) const;

private:
    std::vector<std::vector<std::string>> m_rows;
};

std::string fixed(double value, int decimals);
std::string percent(double fraction); ///< "13.2 %"
std::string grouped(std::int64_t);    ///< "16,384"
std::string seconds(double);          ///< "4.89 s", "12.3 ms", "870 us"
std::string gib(std::int64_t bytes);  ///< "81.70"

} // namespace sim::cli
