// The discrete-event engine. Each class of ranks issues its ops in order onto streams; an op starts when its own stream and those
// it waits for have come that far; a collective when its last member is ready; a receive ends when the message is there.
// Ranks run ahead of each other freely until one needs what another has not done yet, so no event queue is needed and the result
// does not depend on the order in which ranks are advanced.
#pragma once

#include "sim/cost/cost.h"
#include "sim/engine/classes.h"
#include "sim/program/program.h"

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace sim {

/// Leaves new elements as they come: a column whose every place is about to be written need not be zeroed first.
template <typename T>
struct Uninitialised : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Uninitialised<U>;
    };
    template <typename U>
    void construct(U* place) noexcept
    {
        ::new (static_cast<void*>(place)) U;
    }
};
using TimeColumn = std::vector<std::int64_t, Uninitialised<std::int64_t>>;

/// When every op ran. Columns over all classes: 16 bytes an op.
struct EngineResult {
    TimeColumn opStartNs; ///< of a collective: when this member was ready. Of a receive: when the transfer started
    TimeColumn opEndNs;
    std::vector<std::size_t> firstOp; ///< [class] offset of its ops, in program order; and one past the end
    std::int64_t endNs = 0;           ///< makespan: end of the last op anywhere

    struct MemoryPeak {
        std::int64_t activations = 0, buffers = 0; ///< at the moment of the largest sum
        std::int64_t atNs = 0;
    };
    std::vector<MemoryPeak> memory; ///< [class], beyond the model states
    std::int64_t opCount() const { return static_cast<std::int64_t>(opEndNs.size()); }
};

/// Prices by geometry, as RankClasses numbers them.
struct PricedProgram {
    std::vector<OpDurations> durations; ///< [geometry]
    std::vector<std::int64_t> sendNs;   ///< [tier]
    OpDurations fastest;                ///< of kernels: no jitter makes one faster; empty where nothing could
};
/// Throws ScenarioError for a program whose times or bytes could not be added up (range.h).
PricedProgram priceProgram(const Scenario&, const Program&, const RankClasses&);

/// Duration of a collective or kernel as this class of ranks sees it, perturbations included.
std::int64_t opDurationNs(const PricedProgram&, const RankClasses&, const Program&, int classIndex, const Step&, std::size_t op,
                          std::int64_t opOrdinal);

/// Throws Error if the program deadlocks, saying who waits for what.
EngineResult runEngine(const Program&, const RankClasses&, const PricedProgram&);

} // namespace sim
