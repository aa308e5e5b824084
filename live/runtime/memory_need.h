// Does the run fit? Known before any rank takes memory: the plan (comm_plan.h) has gone through a step with all its tensors, on
// a device that computes nothing; what is added is said here.
#pragma once

#include "live/runtime/comm_plan.h"
#include "live/runtime/memory_limits.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace live {

/// Which ranks share what.
struct MemoryPlace {
    int firstRank = 0, rankCount = 1;               ///< of this process
    int firstRankOfMachine = 0, ranksOfMachine = 1; ///< of all processes of this machine
    int processes = 1;                              ///< of this machine
    bool onGpu = false;                             ///< tensors are in a GPU's memory…
    bool isEmulated = false;                        ///< …that the host's memory stands for
    bool usesNccl = false;
    bool records = true;
};

struct MemoryNeed {
    std::array<std::int64_t, kMemoryUseCount> atPeak{}; ///< of this process's ranks
    std::int64_t tensors = 0;                           ///< of this process's ranks, as the device gives them
    std::int64_t communication = 0;                     ///< of libraries, on the GPU: assumed
    std::int64_t recording = 0;                         ///< of the host
    std::int64_t gpu = 0;                               ///< of this process's GPU
    std::int64_t host = 0, machine = 0;                 ///< of the host's memory: this process, all processes of this machine
    /// "weights 1.2 GiB, gradients …": the parts of `all`, which is gpu, host or machine.
    std::string text(std::int64_t all, bool ofGpu) const;
};
/// steps: that the run makes.
MemoryNeed memoryNeed(const CommPlan&, const MemoryPlace&, int steps);

/// What the ranks of a whole job cannot do without: weights, gradients and moments, each once. Known at once, where the plan of
/// many thousand ranks takes minutes. Bytes.
std::int64_t statesOfJob(const sim::Scenario&);
/// A limit that these exceed, in words with the numbers, where all ranks are on this machine's CPU; "" where none does.
std::string whichStatesDoNotFit(const sim::Scenario&, const MemoryPlace&, const std::vector<MemoryLimit>&);

/// A limit that the need exceeds, in words with the numbers; "" where it fits. gpuFree: of the GPU, where tensors are on one.
std::string whatDoesNotFit(const MemoryNeed&, const std::vector<MemoryLimit>&, std::optional<std::int64_t> gpuFree,
                           const std::string& gpuName);

/// The change to the scenario, nearest to it, with which it fits: "training.recompute=full"; "" where none of those tried does.
/// fits: of a scenario that can be trained.
std::string nearestThatFits(const sim::Scenario&, const std::function<bool(const sim::Scenario&)>& fits);

} // namespace live
