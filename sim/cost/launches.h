// The host starts the ops of a pass one after the other, and none begins before it was started: max(streams, host). So its time
// is no part of an op's price, and what makes kernels slower leaves it as it is. It begins a pass with the first kernel, and no
// sooner than it is done with the pass before. Messages it starts in time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sim {

/// Of an op, in nanoseconds since the host began its pass.
struct OpLaunch {
    /// No sum of it and a time of a step is above 0.
    static constexpr std::int64_t kNever = -(std::int64_t{1} << 62);
    std::int64_t startedNs = kNever; ///< when the host has started it; kNever: nothing waits for that
    /// When the host asks for what the op waits for: then it goes on once that is over, and no sooner. -kNever: it does not ask.
    std::int64_t askedNs = -kNever;
    bool asks() const { return askedNs != -kNever; }
};

struct PassLaunches {
    std::vector<OpLaunch> ops; ///< parallel to the pass's
    std::int64_t ns = 0;       ///< of all
};

/// Of one rank.
struct HostClock {
    std::int64_t beganNs = 0; ///< its pass, at the earliest

    /// Behind the pass before.
    void beginPass(std::int64_t nsOfPassBefore) { beganNs += nsOfPassBefore; }
    /// When an op can begin whose streams are free from `readyNs` on. What is asked for beside kernels holds up that op alone:
    /// kernels behind it that need it ask, too.
    std::int64_t beginNs(const OpLaunch& op, bool isKernel, std::int64_t readyNs)
    {
        if (!isKernel)
            return std::max({readyNs, beganNs + op.startedNs, readyNs + (op.startedNs - op.askedNs)});
        beganNs = std::max(beganNs, readyNs - op.askedNs);
        return std::max(readyNs, beganNs + op.startedNs);
    }
};

} // namespace sim
