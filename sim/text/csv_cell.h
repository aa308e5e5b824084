// Cells of CSV files, as RFC 4180 has them.
#pragma once

#include <string>
#include <string_view>

namespace sim {

/// Quoted where it has a comma, a quote or the end of a line.
std::string csvCell(std::string_view text);
/// A cell that begins like a formula is one to spreadsheets, whoever named it: an apostrophe before it makes it text, and another
/// before what would be taken for that. Numbers are numbers, with a sign and a unit too.
std::string guardedCsvCell(std::string_view text);
bool wantsApostrophe(std::string_view text);

} // namespace sim
