// The numbers of a step, each with its convention.
#pragma once

#include "sim/simulate/step_part.h"

#include <cstdint>
#include <vector>

namespace sim {

/// Bytes on one GPU at the moment of its peak.
struct MemoryBreakdown {
    std::int64_t parameters = 0, gradients = 0, optimizer = 0;
    std::int64_t activations = 0; ///< alive at the peak
    std::int64_t buffers = 0;     ///< gathered parameters, gradients not yet reduced, narrow copies of weights
    std::int64_t total() const { return parameters + gradients + optimizer + activations + buffers; }
    bool operator==(const MemoryBreakdown&) const = default;
};

/// How one class of ranks spends a step, in nanoseconds; of routed tokens, what a mean rank has of them.
struct TimeShares {
    std::int64_t busyNs = 0;                           ///< compute kernels running
    std::int64_t recomputationNs = 0, optimizerNs = 0; ///< of busyNs
    std::int64_t gemmNs = 0, attentionNs = 0;          ///< of what is left of busyNs; attention's products count as attention
    /// Transfers that the next kernel waited for. A transfer beside which nothing waits is not exposed.
    ByDimension<std::int64_t> exposedNs;
    /// The same of what goes to the host or is its work, and of launches: what could begin and was not launched yet.
    std::int64_t exposedHostNs = 0;
    std::int64_t launchNs = 0;     ///< of exposedHostNs
    std::int64_t expertWaitNs = 0; ///< of the bubble: its experts have done, and those with the most tokens have not
    std::int64_t waitingNs() const { return exposedNs.total() + exposedHostNs; }
    bool operator==(const TimeShares&) const = default;
};

struct PipelineRankMetrics {
    double busySeconds = 0; ///< compute kernels running; mean over the ranks of this pipeline coordinate
    /// Neither computing nor held up by communication or the host: waiting for other stages, a slow GPU or the busiest experts.
    double bubbleSeconds = 0;
    double commSeconds = 0; ///< exposed communication, what waits for the host among it: no kernel runs meanwhile
    double hostSeconds = 0; ///< of commSeconds: waiting for what goes to the host or is its work, its launches among it
    MemoryBreakdown memory; ///< of the rank with the highest peak
    std::int64_t peakAtNs = 0;
    std::int64_t parameters = 0;  ///< elements a rank holds before any ZeRO sharding
    ByStepPart<std::int64_t> use; ///< busy (by kernels), exposed and bubble time, finer; as in Metrics
    bool operator==(const PipelineRankMetrics&) const = default;
};

/// What kernels do in a step, seconds; mean over ranks. They add up to the time in which kernels run.
struct ComputingSeconds {
    double gemm = 0, attention = 0;
    double other = 0; ///< norms, activations, residuals, losses, permutations
    double recompute = 0, optimizer = 0;
    bool operator==(const ComputingSeconds&) const = default;
};

struct Metrics {
    double stepTimeSeconds = 0;
    double tokensPerSecond = 0;
    double tokensPerSecondPerGpu = 0;
    double modelTflopsPerGpu = 0;    ///< model FLOPs, attention halved where causal, no recomputation
    double hardwareTflopsPerGpu = 0; ///< with recomputation
    double mfu = 0;                  ///< modelTflopsPerGpu / dense peak of the precision (PaLM, appendix B; causal attention)
    double mfuFullAttention = 0;     ///< attention counted in full, as Megatron-LM's papers do
    double hfu = 0;                  ///< Korthikanti et al. 2022, section 6: recomputation added
    double bubbleFraction = 0;       ///< mean over ranks of bubble time / step time
    double expertWait = 0;           ///< of bubbleFraction: waiting for the rank whose experts have the most tokens
    /// Fractions of the step during which communication of that dimension runs and the rank computes nothing; mean over ranks.
    ByDimension<double> exposedComm;
    double exposedHost = 0;     ///< the same of the host: its transfers, its work and its launches
    double exposedLaunches = 0; ///< of exposedHost
    /// Mean over ranks, busy time by what kernels are for, in whole nanoseconds that add up to the step exactly.
    ByStepPart<std::int64_t> use;
    ComputingSeconds computing;
    /// How much longer a rank's transfers took because others crossed the same ports at the same time; mean over ranks.
    double linkSharingSeconds = 0;
    double peakMemoryGib = 0; ///< of the fullest rank
    double hostMemoryGib = 0; ///< in use at most by the ranks of a node, of its host's memory
    bool fits = true;         ///< peak <= the GPU's memory
    bool hostFits = true;     ///< hostMemoryGib <= the host's memory
    std::int64_t parameters = 0;
    int worldSize = 1;
    std::vector<PipelineRankMetrics> perPipelineRank;
    std::int64_t simulatedOps = 0;
    double wallMs = 0; ///< time the simulation took; the only field that is not deterministic
};

} // namespace sim
