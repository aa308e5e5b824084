// Short training runs watched closely: their spans, and how long a step would have taken with a device for every rank.
#pragma once

#include "live/stream/history.h"
#include "sim/scenario/scenario.h"
#include "sim/trace/trace.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace live {

class Run;

struct ObserveOptions {
    int warmUp = 2; ///< steps that fill caches and memory pools; not kept
    int steps = 8;  ///< kept
    /// One: ranks take turns and do not take each other's memory bandwidth: what "a device a rank" means.
    int workers = 1;
    /// "cpu" or "cuda". A GPU is for one rank: those that share it hold each other up.
    std::string device = "cpu";
};

struct ObservedRun {
    sim::Scenario scenario;
    std::vector<std::vector<RankSpan>> steps; ///< each rank's spans in its own order
    std::vector<sim::SpanKind> kinds;
    /// Tokens that each expert was given, for every passing of every layer with experts; a group of expert-parallel ranks by
    /// itself.
    std::vector<std::vector<std::int64_t>> routings;
    std::vector<double> wallSeconds; ///< [step]; on a GPU of steps that nobody recorded, as marks hold it up
    /// Of a transfer, by the correlation of its spans: how many met, where not all of them left spans.
    std::map<std::uint64_t, int> membersOf;
    int worldSize = 1;
    bool onGpu = false;

    /// Steps of another run of the same scenario.
    void append(const ObservedRun&);
    /// The same steps with every kernel and transfer at the median of its lengths in all of them. Whatever else the machine does
    /// disturbs some kernel of each step, another one each time, and at every meeting all wait for the rank that was disturbed: a
    /// step of undisturbed kernels is shorter than the median of disturbed steps, the more so the more ranks meet. What experts
    /// do depends on a step's routing and stays as it was.
    std::vector<std::vector<RankSpan>> undisturbedSteps() const;
};

/// Of each step, replayed with a device for every rank.
std::vector<double> asIfParallelSeconds(std::span<const std::vector<RankSpan>> steps, const ObservedRun&);
/// Of each step, the mean over ranks.
std::vector<double> kernelSeconds(std::span<const std::vector<RankSpan>> steps, const ObservedRun&);

/// Trains in this process. Throws sim::Error as Run does, where the device cannot be had, and for several ranks on a GPU.
ObservedRun observeRun(const sim::Scenario&, const ObserveOptions& = {});
/// So many more steps of a run that is there and records.
ObservedRun observeSteps(Run&, int steps);

/// Middle of the values; 0 of none.
double median(std::vector<double>);

} // namespace live
