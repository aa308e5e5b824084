// Why a step takes as long as it does: the chain of spans from its end back to its start in which each could not begin before
// the one before it had ended. Made from a trace, so that it works on simulated, measured and imported steps alike.
#pragma once

#include "sim/simulate/simulation.h"
#include "sim/trace/trace.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// What a span of the path had waited for when it began.
enum class CriticalCause : std::uint8_t {
    start,     ///< nothing: the first of the path
    order,     ///< what ran before it on its rank
    launch,    ///< its host, to launch it: behind what it needs on its rank, also of the last member of a group
    transfer,  ///< what another rank sent
    collective ///< the last member of its group to arrive, launched in time
};

/// The part of a span that lies on the path, [beginNs, endNs), and what kept it until then.
struct CriticalStep {
    std::uint32_t track = 0, span = 0;
    std::int64_t beginNs = 0, endNs = 0;
    CriticalCause cause = CriticalCause::start;
    std::int64_t waitNs = 0; ///< from the end of the step before: the transfer took it, the launch, or nobody knows
};

/// Steps in order of time. Their lengths and waits, with the time after the last, add up to the trace's: no slack is left.
struct CriticalPath {
    std::vector<CriticalStep> steps;
    std::int64_t lengthNs = 0;                         ///< of the whole trace
    std::array<std::int64_t, kOpClassCount> byClass{}; ///< time in spans of each class
    std::vector<std::int64_t> computeByProcess;        ///< [process]: in spans that are neither communication nor the host's
    std::int64_t transferNs = 0;                       ///< waits for what was on its way between two spans
    std::int64_t launchNs = 0;                         ///< waits for launches, of a simulated step
    std::int64_t unexplainedNs = 0;                    ///< other waits: what the trace does not tell
};

/// Of kernels and collectives where a process has them, else of its actions. Spans called "wait …" are waits, not work. Empty if
/// the trace is. O(steps · (tracks + log spans)).
CriticalPath criticalPath(const Trace&);
/// Of a step's trace, which the simulation made. Where it has actions alone, those of ranks that meet inside them last equally
/// long: of such it goes over the one that a perturbation makes slow, for which the others waited. Where it has kernels, what
/// could have begun and did not waited for its launch.
CriticalPath criticalPath(const Trace&, const Simulation&);

} // namespace sim
