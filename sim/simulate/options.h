// How a step is simulated and told.
#pragma once

#include "sim/memory_limit.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace sim {

struct EngineProgress;
struct PreparedStep;

/// An EngineWatch that is told which step it is.
struct StepWatch {
    std::vector<std::int64_t> atNs;
    std::function<bool(const PreparedStep&, const EngineProgress&)> goesOn;
};

struct SimulateOptions {
    bool full = false; ///< every rank one by one instead of one of each equivalence class: same numbers, bit for bit
    /// Rather than take more, simulate and Simulation::trace throw Error with the numbers.
    double memoryLimitBytes = kMemoryLimitBytes;
    StepWatch watch; ///< simulate throws GivenUp if it says so
};

enum class TraceDetail : std::uint8_t {
    actions, ///< one span an action (0F3), on a track "actions"; transfers between pipeline ranks as flows
    kernels  ///< actions, and every kernel and collective on the track of its stream
};

} // namespace sim
