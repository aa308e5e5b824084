// When what is sent is under way: every op of a step that sends, with its times and bytes. Volumes as in traffic.h; times are the
// engine's, so that links that are shared, stragglers and jitter are in them.
#pragma once

#include "sim/analysis/traffic/traffic.h"
#include "sim/cancel.h"
#include "sim/engine/engine.h"
#include "sim/index.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sim {

/// One op that sends, as every rank of a class does.
struct TimedTransfer {
    std::int64_t beginNs = 0, endNs = 0;
    std::int64_t bytes = 0;       ///< that each of these ranks sends, to all its peers together
    std::int64_t stretchedNs = 0; ///< how much longer it takes than with its ports to itself
    std::int32_t microbatch = -1;
    /// Of its way, 0 to 1; what takes no time has arrived.
    double wayAt(std::int64_t ns) const
    {
        return endNs > beginNs ? static_cast<double>(ns - beginNs) / static_cast<double>(endNs - beginNs) : 1;
    }
};

/// Calls visit(role, sendTo, transfer) for each op of a class that sends and ends at fromNs or later, in program order. sendTo:
/// the pipeline rank of a message, -1 for a collective. O(ops of the class).
template <class Visit>
void forEachTimedTransfer(const Simulation& simulation, int rankClass, std::int64_t fromNs, Visit&& visit)
{
    const Program& program = simulation.program();
    const RankClasses& classes = simulation.classes();
    const EngineResult& times = simulation.times();
    const GroupGeometry& geometry = classes.geometries[asIndex(classes.geometry[asIndex(rankClass)])];
    const std::size_t first = times.firstOp[asIndex(rankClass)];
    std::size_t place = first;
    CancelPoll poll;
    for (const Step& step : program.ranks[asIndex(classes.pipelineRank[asIndex(rankClass)])].steps) {
        const Pass& pass = program.passes[step.pass];
        poll(4 * pass.ops.size() + 1);
        for (std::size_t i = 0; i < pass.ops.size(); ++i, ++place) {
            const Op& op = pass.ops[i];
            if (op.kind != OpKind::send && op.kind != OpKind::collective)
                continue;
            TimedTransfer transfer{.endNs = times.opEndNs[place], .microbatch = step.microbatch};
            if (transfer.endNs < fromNs)
                continue;
            transfer.stretchedNs = times.stretchedByNs(place);
            if (op.kind == OpKind::send) {
                transfer.beginNs = times.opStartNs[place];
                transfer.bytes = program.sendBytes;
                visit(CommunicatorRole::pp, step.sendTo, transfer);
            } else { // a member may have been ready long before the last one was, and waited
                transfer.beginNs = transfer.endNs - transfer.stretchedNs -
                                   opDurationNs(simulation.prices(), classes, program, rankClass, step, i,
                                                static_cast<std::int64_t>(place - first));
                transfer.bytes = sentByMember(pass.shapes[i], geometry.shapes[asIndex(op.group)], simulation.scenario());
                visit(op.group, std::int32_t{-1}, transfer);
            }
        }
    }
}

/// All transfers of a step, to be asked for a moment.
class TimedTransfers {
public:
    /// Those of one class of ranks with one communicator; of messages, to one pipeline rank.
    struct Row {
        int rankClass = 0;
        CommunicatorRole role = CommunicatorRole::none;
        int sendTo = -1;                       ///< pipeline rank of messages
        std::vector<TimedTransfer> transfers;  ///< by begin
        std::vector<std::int64_t> latestEndNs; ///< of each and all before it
        std::int64_t bytes = 0;                ///< of all, sent by one rank
    };
    /// O(ops); 48 bytes for each that sends.
    explicit TimedTransfers(const Simulation&);
    std::span<const Row> rows() const { return m_rows; }
    /// Those that are under way at some moment of (fromNs, toNs]: beginNs <= toNs and endNs > fromNs, the latest first. O(log
    /// transfers) where hardly any overlap.
    static void appendUnderWay(const Row&, std::int64_t fromNs, std::int64_t toNs, std::vector<const TimedTransfer*>&);

private:
    std::vector<Row> m_rows; ///< by class, role and pipeline rank
};

} // namespace sim
