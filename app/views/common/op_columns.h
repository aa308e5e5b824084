// The columns of a table of ops, for people and for spreadsheets.
#pragma once

#include "app/views/common/table.h"
#include "sim/analysis/op_table.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace app {

/// The widest last: it takes what the others leave.
enum class OpColumn : std::uint8_t { name, count, total, share, mean, longest, bytes, flopRate, durations };

struct OpColumnInfo {
    OpColumn column;
    const char* title; ///< over the column, before its unit
    const char* what;  ///< one line
};

std::span<const OpColumnInfo> opColumns();

/// The unit of all numbers of a column: said once, over it.
struct OpUnit {
    const char* name = ""; ///< empty: it has none
    double size = 1;       ///< of one, in what opValue counts
};
using OpUnits = std::vector<OpUnit>; ///< [column]
/// In which the columns of a table are short and their smallest numbers not 0.
OpUnits opUnits(const sim::OpTable&);
/// "Total\n(ms)"; a unit that says what the title does stands alone: "TFLOP/s".
std::string opHeading(const std::string& title, OpColumn, const OpUnits&);
/// "12.3"; nothing where a group has none of it, and of durations, which are drawn.
std::string opCell(const sim::OpTable&, const sim::OpGroup&, OpColumn, const OpUnits&);
/// What rows are sorted by; of durations the longest.
double opValue(const sim::OpTable&, const sim::OpGroup&, OpColumn);

/// How many ops took how long, as bars of one width on a logarithmic axis that is the same for all groups of a table.
struct DurationBars {
    std::vector<double> heights; ///< share of the highest
    std::int64_t highest = 0;    ///< ops in that
    double beginNs = 0, endNs = 0;
};
/// At most so many bars.
DurationBars durationBars(const sim::OpTable&, const sim::OpGroup&, int mostBars);

/// Exact numbers, with units in the header; as many rows as groups.
Table tableOf(const sim::OpTable&);

} // namespace app
