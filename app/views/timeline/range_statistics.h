// What a stretch of time holds: how busy ranks were and with what, what was moved, what share of the hardware it used.
#pragma once

#include "app/views/common/table.h"
#include "app/views/timeline/timeline_model.h"

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace app {

/// Shares are of the range's length, each rank counted once.
struct RangeStatistics {
    struct Row {
        int row = 0;
        std::string name;
        int ranks = 1;
        sim::BusyByClass ns{};
        double busy = 0; ///< share of classes that count, on the lane of work
    };

    TimeRange range;
    std::int64_t spans = 0;                         ///< of classes that count, at least in part inside
    std::array<double, sim::kOpClassCount> share{}; ///< all classes; mean over ranks
    /// Classes that count, classes that do not, transfers waited for between passes where only these have a lane, waits that the
    /// trace itself shows (TimelineModel::othersWait), and none of them; sum 1.
    double counted = 0, other = 0, exposed = 0, waiting = 0, idle = 0;
    double leastBusy = 0, mostBusy = 0;                    ///< of one row's counted share; their mean is `counted`
    std::array<double, sim::kOpClassCount> bytesOfClass{}; ///< moved by all ranks, transfers cut by the range in proportion
    double flops = 0;                                      ///< of all ranks' kernels, likewise cut; without recomputation
    std::optional<double> mfu; ///< without recomputation, as sim::Metrics has it; nothing where kernels are not known
    std::vector<Row> rows;
    /// Are lanes of work those of kernels? Then their shares say how long ranks compute; else how long they are in a pass, where
    /// they may wait for its transfers.
    bool ofKernels = true;
    const char* busyWord() const { return ofKernels ? "busy" : "in passes"; }

    double bytes() const { return std::accumulate(bytesOfClass.begin(), bytesOfClass.end(), 0.0); }
    std::int64_t lengthNs() const { return range.endNs - range.beginNs; }
};

/// Waiting is never busy. O(spans in the range).
RangeStatistics rangeStatistics(const TimelineModel&, TimeRange, ClassMask = kAllClasses);
/// A line a row and a last one for all.
Table tableOf(const RangeStatistics&, const TimelineModel&);

} // namespace app
