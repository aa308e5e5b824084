// Exact times of a schedule for given pass durations: the pipeline alone, no kernels, no links. For the schedule chooser, tests
// against published tables, and the synthesiser. F waits for F of the stage before, I or B for F of its stage and for I or B of
// the stage after (a B hands its gradient on at its end), W for I; a rank runs its list in order.
#pragma once

#include "sim/schedule/schedule.h"

#include <span>
#include <vector>

namespace sim {

/// Durations of one chunk, any unit; comm is latency per edge between ranks and occupies nobody.
struct PassTimes {
    double forward = 1, backwardInput = 1, backwardWeight = 1, comm = 0;
    double overlapped = -1; ///< a forward and a full backward in one block; below 0: as long as one after the other
    /// A full backward (B). Often shorter than I and then W: what they gather is gathered once, and the weight gradient hides
    /// what the input gradient sends. Below 0: as long as both.
    double fused = -1;

    double split() const { return backwardInput + backwardWeight; }
    double backward() const { return fused >= 0 ? fused : split(); }
    double total() const { return forward + backward(); }
};
/// Activation of one micro-batch on one chunk: `full` is held from F, of which `weight` stays until W (M_B, M_W of the ZB paper).
struct PassMemory {
    double full = 1, weight = 1;
};

struct ScheduleTimes {
    double makespan = 0;      ///< last end - first start over all ranks
    double span = 0;          ///< longest time any one rank needs from its first to its last action (the ZB papers' cost)
    std::vector<double> busy; ///< [rank]
    std::vector<double> peakActivations;    ///< [rank]
    std::vector<std::vector<double>> start; ///< [rank][action]
    std::vector<std::vector<double>> end;
    // Three conventions for the time between passes, which the literature all calls bubble. A step's bubble is Metrics' and
    // leaves out what transfers hold up.
    double idleOfMakespan = 0; ///< mean over ranks of idle / makespan
    double idleOfSpan = 0;     ///< (span - largest busy) / span
    double idleOverIdeal = 0;  ///< (makespan - largest busy) / largest busy
};

/// Throws Error if the schedule cannot run to its end (see checkSchedule). O(actions).
ScheduleTimes evaluateSchedule(const Schedule&, const PassTimes& = {}, const PassMemory& = {});

/// The same for parts of the model that differ: entry i is of part i of Schedule::chainLength(), its `comm` that of the edge to
/// part i + 1. One entry holds for all.
ScheduleTimes evaluateSchedule(const Schedule&, std::span<const PassTimes>, std::span<const PassMemory>);

} // namespace sim
