// Lines of text under a header: for a table widget, a CSV file, the clipboard. Units are in the header.
#pragma once

#include <string>
#include <vector>

namespace app {

struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows; ///< as many cells each as the header
};

/// RFC 4180: lines end in CR LF; a cell with a comma, a quote or a line break is quoted. In both, what a spreadsheet would take
/// for a formula has an apostrophe before it.
std::string csvText(const Table&);
/// Cells apart by tabs: what spreadsheets take from the clipboard.
std::string tabbedText(const Table&);

} // namespace app
