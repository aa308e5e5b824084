// PyTorch's compute-only schedule CSV: one line a rank, cells like 0F1, 2B0, 1I3, 1W3.
#pragma once

#include "sim/schedule/schedule.h"

#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// One line a rank, comma-separated, no idle cells.
std::string scheduleCsv(const Schedule&);
/// Strict: throws Error with line and cell. Empty cells are idle slots and dropped; the 2024 dialect (BW, or W without I) is
/// refused with an explanation; stage -> rank is inferred from the rows. `kind` of the result is "custom".
Schedule parseScheduleCsv(const std::vector<std::string>& lines);
Schedule parseScheduleCsv(std::string_view text);

} // namespace sim
