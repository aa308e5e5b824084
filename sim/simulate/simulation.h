// The front door: a resolved scenario in, everything about its step out. The result is immutable and may be shared between
// threads. Whatever takes long throws Cancelled soon after the thread's CancelScope says so.
#pragma once

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/simulate/memory.h"
#include "sim/simulate/metrics.h"
#include "sim/simulate/prepared_step.h"
#include "sim/simulate/slowness.h"
#include "sim/trace/trace.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace sim {

class Simulation {
public:
    /// Throws as simulate() does.
    Simulation(const Scenario&, const SimulateOptions&);

    const Scenario& scenario() const { return m_step.scenario; }
    const Mesh& mesh() const { return m_step.mesh; }
    const Placement& placement() const { return m_step.placement; }
    const Schedule& schedule() const { return m_step.schedule; }
    const Metrics& metrics() const { return m_metrics; }
    /// What every rank runs, what it costs and when each op runs: what analyses are made from.
    const Program& program() const { return m_step.program; }
    const PricedProgram& prices() const { return m_step.prices; }
    const EngineResult& times() const { return m_times; }

    /// Ranks that cannot differ share a class; classes are numbered by their lowest rank.
    const RankClasses& classes() const { return m_step.classes; }
    int classCount() const { return classes().count(); }
    int classOf(int rank) const { return classes().classOf[static_cast<std::size_t>(rank)]; }
    int representative(int classIndex) const { return classes().representative[static_cast<std::size_t>(classIndex)]; }
    int classSize(int classIndex) const { return classes().size[static_cast<std::size_t>(classIndex)]; }
    /// What the ranks of a class hold at their peak.
    MemoryBreakdown memoryOfClass(int classIndex) const;
    /// What they spend the step on; what is neither busy nor exposed is the bubble.
    const TimeShares& timeOfClass(int classIndex) const { return m_shares[static_cast<std::size_t>(classIndex)]; }
    /// What they hold over time, to the kernel; the sum is the counter "memory" of the trace. O(ops of a rank).
    MemoryCurves memoryCurves(int classIndex) const;
    /// What they hold at a time, by stage, micro-batch and operator; of several moments at that instant the fullest.
    MemoryContents memoryContents(int classIndex, std::int64_t atNs) const;

    /// Trace of one rank of each class: process i of the trace is class i. Made anew on each call.
    Trace trace(TraceDetail) const;

    /// What its perturbations cost (slowness.h). Simulates until it is known, and no more: threads that ask meanwhile, each.
    const std::optional<Slowness>& slowness() const;

private:
    const std::chrono::steady_clock::time_point m_begun = std::chrono::steady_clock::now();
    const PreparedStep m_step;
    const EngineResult m_times;
    std::vector<TimeShares> m_shares; ///< [class]
    Metrics m_metrics;
    mutable std::mutex m_slownessLock;
    mutable std::optional<std::optional<Slowness>> m_slowness; ///< once somebody has asked
};

/// Throws Error if the schedule or mesh cannot be made (readScenario has checked both). Deterministic: same scenario, same
/// numbers.
std::shared_ptr<const Simulation> simulate(const Scenario&, const SimulateOptions& = {});

} // namespace sim
