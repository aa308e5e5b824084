// A schedule as text in PyTorch's action grammar: one line a rank, cells like 0F1, 2B0, 1I3, 1W3. This is what
// `rankscope-sim schedule` prints and what the scenario's `schedule.actions` holds; for every other format and for files of
// unknown kind see import.h, export.h.
#pragma once

#include "sim/schedule/schedule.h"

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// One line a rank, comma-separated, no idle cells. Slices are written as 0F1.2, which is this library's own.
std::string scheduleCsv(const Schedule&);
/// The same, a piece at a time.
void writeScheduleCsv(std::ostream&, const Schedule&);
/// Strict: throws Error with line and cell. Empty cells are idle slots and dropped; either dialect (detected, see import.h), but
/// without communication; stage -> rank is inferred from the rows. `kind` of the result is "custom".
Schedule parseScheduleCsv(const std::vector<std::string>& lines);
Schedule parseScheduleCsv(std::string_view text);

} // namespace sim
