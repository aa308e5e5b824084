// Schedules on a V that repeat one building block (Qi et al., Controllable Memory, arXiv 2405.15362). Private to sim/schedule.
#pragma once

#include "sim/schedule/families/families.h"

#include <array>
#include <span>

namespace sim {

/// Slots between two micro-batches: F, I and W of two chunks.
constexpr int kBlockPeriod = 6;

/// Slots that all ranks together have.
inline double blockSlots(double ranks, double microbatches)
{
    return kBlockPeriod * ranks * (ranks + microbatches);
}

/// The slots in which a rank runs micro-batch 0: F of its first chunk, F of its second, backward of the second, of the first.
using BlockOffsets = std::array<int, 4>;

/// Runs the block ([rank], no two passes of a rank on the same slot modulo the period) for every micro-batch, then squeezes idle
/// slots out and fills those of warm-up and cool-down without raising the peak. Weight gradients go where there is room.
Schedule repeatBlock(const ScheduleRequest&, std::span<const BlockOffsets> block);

} // namespace sim
