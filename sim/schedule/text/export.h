// Schedules as other programs read them. What a format cannot express is an Error that says so.
#pragma once

#include "sim/schedule/text/import.h"

#include <iosfwd>
#include <string>

namespace sim {

/// PyTorch's compute_only CSV, a line a rank; `pytorch` or `pytorch2024`. Throws Error for slices and for two copies of the
/// model, which PyTorch has no words for.
std::string pytorchCsv(const Schedule&, ScheduleFormat dialect = ScheduleFormat::pytorch);
/// The same, a piece at a time.
void writePytorchCsv(std::ostream&, const Schedule&, ScheduleFormat dialect = ScheduleFormat::pytorch);
/// PyTorch's compute_comms CSV.
std::string pytorchCommsCsv(const CommSchedule&);
void writePytorchCommsCsv(std::ostream&, const CommSchedule&);
/// Megatron's signed order, words with blanks between them. Throws Error unless stages lie in a loop, micro-batches of a chunk
/// follow each other in each direction, and backwards are all split or all whole.
std::string megatronOrder(const Schedule&);
/// sail's short strings. Throws Error unless each rank has one chunk, or two in a V or loop that the reader can tell.
std::string sailStrings(const Schedule&);

} // namespace sim
