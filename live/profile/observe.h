// A short training run watched closely: its spans, and how long its steps would have taken with a device for every rank.
#pragma once

#include "live/stream/history.h"
#include "sim/scenario/scenario.h"
#include "sim/trace/trace.h"

#include <vector>

namespace live {

struct ObserveOptions {
    int warmUp = 2; ///< steps that fill caches and memory pools; not kept
    int steps = 8;  ///< kept
    /// Ranks then take turns and do not take each other's memory bandwidth: what "a device a rank" means.
    int workers = 1;
};

struct ObservedRun {
    sim::Scenario scenario;
    std::vector<std::vector<RankSpan>> steps; ///< each rank's spans in its own order
    std::vector<sim::SpanKind> kinds;
    std::vector<double> wallSeconds; ///< [step]
    std::vector<double> asIfParallelSeconds;
    std::vector<double> kernelSeconds; ///< mean over ranks
};

/// Trains on the CPU, in this process. Throws sim::Error as Run does.
ObservedRun observeRun(const sim::Scenario&, const ObserveOptions& = {});

/// Middle of the values; 0 of none.
double median(std::vector<double>);

} // namespace live
