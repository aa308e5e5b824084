// The communication of a step, found out before the run: the very coroutines of the ranks run once on a device without
// arithmetic, with transfers that need both ends at once and no buffer. The order in which requests complete is a linear
// extension of all that waits for each other, so it is the run's global order; if the ranks get stuck, the circle of waits is
// told and nothing runs.
#pragma once

#include "live/model/rank_context.h"
#include "live/runtime/rank.h"

#include <array>
#include <cstdint>
#include <vector>

namespace live {

/// What a step takes of a rank's device. Where tokens choose their experts: as if they chose evenly.
struct PlannedMemory {
    std::array<std::int64_t, kMemoryUseCount> atPeak{}; ///< bytes, by use
    std::int64_t reserved = 0;                          ///< most that is taken from the device
    std::uint64_t spans = 0;                            ///< that are recorded
};

struct CommPlan {
    std::vector<std::vector<PlannedRequest>> requests; ///< [rank], in the order of issue
    std::int64_t transfers = 0;                        ///< requests that meet count once
    std::vector<std::int64_t> peakBytes;               ///< [rank] that the step holds at most
    std::vector<PlannedMemory> memory;                 ///< [rank]
};

/// Throws sim::Error with the circle of waits where the step would hang. The job's data is not read.
CommPlan planCommunication(const Job&, DType activation, DType accumulation);

} // namespace live
