// The front door: a resolved scenario in, everything about its step out. The result is immutable and may be shared between
// threads. Whatever takes long throws Cancelled soon after the thread's CancelScope says so.
#pragma once

#include "sim/analysis/link_load.h"
#include "sim/analysis/memory.h"
#include "sim/analysis/metrics.h"
#include "sim/analysis/traffic.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/memory_limit.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"
#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

#include <memory>

namespace sim {

struct SimulateOptions {
    bool full = false; ///< every rank one by one instead of one of each equivalence class: same numbers, bit for bit
    /// Rather than take more, simulate and Simulation::trace throw Error with the numbers.
    double memoryLimitBytes = kMemoryLimitBytes;
};

enum class TraceDetail {
    actions, ///< one span an action (0F3), on a track "actions"; transfers between pipeline ranks as flows
    kernels  ///< actions, and every kernel and collective on the track of its stream
};

class Simulation {
public:
    virtual ~Simulation() = default;
    virtual const Scenario& scenario() const = 0;
    virtual const Mesh& mesh() const = 0;
    virtual const Placement& placement() const = 0;
    virtual const Schedule& schedule() const = 0;
    virtual const Metrics& metrics() const = 0;

    /// Ranks that cannot differ share a class; classes are numbered by their lowest rank.
    virtual int classCount() const = 0;
    virtual int classOf(int rank) const = 0;
    virtual int representative(int classIndex) const = 0; ///< lowest rank of the class
    virtual int classSize(int classIndex) const = 0;
    /// What the ranks of a class hold at their peak.
    virtual MemoryBreakdown memoryOfClass(int classIndex) const = 0;
    /// What they spend the step on; what is neither busy nor exposed is the bubble.
    virtual TimeShares timeOfClass(int classIndex) const = 0;
    /// What they hold over time, to the kernel; the sum is the counter "memory" of the trace. O(ops of a rank).
    virtual MemoryCurves memoryCurves(int classIndex) const = 0;
    /// What they hold at a time, by stage, micro-batch and operator; of several moments at that instant the fullest.
    virtual MemoryContents memoryContents(int classIndex, std::int64_t atNs) const = 0;

    /// Trace of one rank of each class: process i of the trace is class i. Made anew on each call.
    virtual Trace trace(TraceDetail) const = 0;

    /// Who sends how much to whom. Made anew on each call.
    virtual Traffic traffic() const = 0;
    /// How full the ports of these ranks (Traffic::senders) are over time. O(ops).
    virtual LinkLoad linkLoad(const TrafficSenders&, const LoadWindow&) const = 0;
};

/// Throws Error if the schedule or mesh cannot be made (readScenario has checked both). Deterministic: same scenario, same
/// numbers.
std::shared_ptr<const Simulation> simulate(const Scenario&, const SimulateOptions& = {});

} // namespace sim
