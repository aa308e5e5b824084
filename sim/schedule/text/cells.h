// What the readers and writers of schedule files share: cells of a line, errors that name line and cell, the frame (placement,
// counts) that follows from the actions, and what short formats have no words for. Private to sim/schedule.
#pragma once

#include "sim/schedule/text/import.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Where a cell stands; both count from 1.
struct Where {
    std::size_t line = 1, cell = 1;
};
/// Throws Error: line (rank), cell, its text (cut if long), why it cannot be.
[[noreturn]] void failAt(const Where&, std::string_view text, const std::string& why);

std::string_view trimmed(std::string_view);
/// Without a byte order mark and without empty lines at the end.
std::vector<std::string_view> linesOf(std::string_view text);
/// Cells between commas, without their quotes; an empty one is an idle slot.
std::vector<std::string_view> splitCells(std::string_view line);
/// Cells between commas or blanks, none of them empty.
std::vector<std::string_view> splitWords(std::string_view line);

/// Digits only; what is no number, or none that fits, is refused for the cell that it stands in.
int parseNumber(std::string_view digits, const Where&, std::string_view cell);

/// One list a rank -> schedule of kind "custom": placement, counts and copies of the model follow from the actions. Throws Error
/// where they cannot be: no actions on a rank, a stage on two ranks, a number far beyond the count of actions.
Schedule framedSchedule(std::vector<std::vector<Action>> actions, int slices = 1);

/// Throws Error for slices, copies of the model, overlapped blocks, and for whole backwards beside split ones: `format` (as in
/// "Megatron's order") has one word for a whole backward and an input gradient.
void requirePlainPasses(const Schedule&, const std::string& format);

// One a format; the text's lines.
ImportedSchedule readPytorchCsv(const std::vector<std::string_view>& lines, ScheduleFormat);
ImportedSchedule readMegatronOrder(const std::vector<std::string_view>& lines);
ImportedSchedule readSailStrings(const std::vector<std::string_view>& lines);

} // namespace sim
