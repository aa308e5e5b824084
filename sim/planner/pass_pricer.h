// What passes take at the engine's prices, each alone on its rank. Private to sim/planner.
#pragma once

#include "sim/cost/cost.h"
#include "sim/planner/stream_clock.h"

namespace sim {

/// When the last kernel of a pass has ended, counted from when its kernels may begin; messages are there already.
struct PassReplay {
    double chainNs = 0, kernelNs = 0, workNs = 0;
    double blockNs = 0, blockWorkNs = 0, exchangeNs = 0;
    double keptBytes = 0, peakBytes = 0;
};

class PassPricer {
public:
    /// The cost model and the groups must outlive it.
    PassPricer(const Scenario&, const CostModel&, const GroupGeometry&);

    /// `asHalf`: of a block, too.
    PassReplay operator()(const Pass&, bool asHalf) const;
    /// What may run before its message is there.
    double earlyNs(const Pass&) const;
    /// Kernels alone, and memory.
    PassReplay kernelsOf(const Pass&) const;
    /// Until the last kernel, or what it waits for, has ended; at the prices of a pass with its launches.
    double updateNs(Pass) const;
    /// Of the streams of data parallelism alone.
    double dataParallelNs(const Pass&) const;

private:
    /// Of a block: pieces between the experts' transfers, which are there by then.
    void addBlock(const PricedPass&, PassReplay&) const;
    const CostModel& m_cost;
    const GroupGeometry& m_groups;
    double m_besideTransfers;
};

} // namespace sim
