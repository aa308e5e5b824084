// Schedules as other programs write them: PyTorch's CSV in both dialects, with or without communication, Megatron's signed order,
// sail's short strings. What is ambiguous is refused with the line, the cell and what would be right; nothing is guessed
// silently.
#pragma once

#include "sim/schedule/comm_schedule.h"

#include <optional>
#include <string_view>

namespace sim {

enum class ScheduleFormat : std::uint8_t {
    automatic,
    /// `0F1`, B full backward, I input gradient, W weight gradient; slices as in `0F1.2` are this library's own.
    pytorch,
    /// PyTorch of 2024: B input gradient, BW full backward. A file without W and BW reads the same in both dialects.
    pytorch2024,
    /// Megatron Core and Transformer Engine: `1 1 2 -2 1 -1`: chunk of the rank, counted from 1, negative for its backward;
    /// `-1.5` is the weight gradient of chunk 1, and where one is present `-1` is the input gradient. Micro-batches are counted,
    /// stages placed in a loop.
    megatron,
    /// sail-sg's zero-bubble code: `f0 F0 b0 w0`: lower case is chunk 0 of the rank, a capital chunk 1; b is the input gradient
    /// where a w is present. Two chunks are placed in a V, as in all of sail's own two-chunk schedules, but in a loop if only
    /// that can run. sf, rf, sb, rb are sends and receives.
    sail,
};

/// "PyTorch's CSV, dialect of 2024"
std::string_view formatTitle(ScheduleFormat);

struct ImportedSchedule {
    Schedule schedule; ///< of kind "custom"; may be incomplete: see checkSchedule
    ScheduleFormat format = ScheduleFormat::pytorch;
    std::optional<CommSchedule> communication; ///< where the file says in which order is sent and received
};

/// Throws Error. O(text).
ImportedSchedule importSchedule(std::string_view text, ScheduleFormat = ScheduleFormat::automatic);

} // namespace sim
