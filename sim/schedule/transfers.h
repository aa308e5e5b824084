// The two ends of every transfer between ranks, as indices into the lists of steps. For sim/schedule and what runs it
// (engine/in_order.h).
#pragma once

#include "sim/index.h"
#include "sim/schedule/comm_schedule.h"

#include <cstddef>
#include <vector>

namespace sim {

/// What one stage hands to a neighbour: activations forwards or gradients backwards, named by the stage that gets them.
struct Transfer {
    bool forward = true;
    int receiver = 0, microbatch = 0;
    bool operator==(const Transfer&) const = default;
    int sender() const { return forward ? receiver - 1 : receiver + 1; }
    CommStep send() const
    {
        return {forward ? StepKind::sendForward : StepKind::sendBackward, {.stage = sender(), .microbatch = microbatch}};
    }
    CommStep receive() const
    {
        return {forward ? StepKind::receiveForward : StepKind::receiveBackward, {.stage = receiver, .microbatch = microbatch}};
    }
};

/// Of a send or receive.
inline Transfer transferOf(const CommStep& step)
{
    const bool forward = step.kind == StepKind::sendForward || step.kind == StepKind::receiveForward;
    return {forward, step.isReceive() ? step.action.stage : peerStage(step), step.action.microbatch};
}

/// A value for each transfer that a schedule could have.
template <class Value>
class TransferTable {
public:
    TransferTable(const Schedule& schedule, Value initial)
        : m_microbatches(asIndex(schedule.microbatches)), m_values(2 * schedule.stageToRank.size() * m_microbatches, initial)
    {
    }
    decltype(auto) operator[](const Transfer& transfer) { return m_values[index(transfer)]; }
    decltype(auto) operator[](const Transfer& transfer) const { return m_values[index(transfer)]; }

private:
    std::size_t index(const Transfer& transfer) const
    {
        return (2 * asIndex(transfer.receiver) + (transfer.forward ? 1 : 0)) * m_microbatches + asIndex(transfer.microbatch);
    }
    std::size_t m_microbatches;
    std::vector<Value> m_values;
};

/// Does a pass get its input from another stage? If so, `input` names it.
inline bool hasInput(const Schedule& schedule, const Action& action, Transfer& input)
{
    const bool forward = action.kind == ActionKind::forward;
    input = {forward, action.stage, action.microbatch};
    return action.kind != ActionKind::backwardWeight &&
           !(forward ? schedule.entersAt(action.stage) : schedule.leavesAt(action.stage));
}

/// Does a pass hand its output to another stage? If so, `output` names it.
inline bool hasOutput(const Schedule& schedule, const Action& action, Transfer& output)
{
    const bool forward = action.kind == ActionKind::forward;
    output = {forward, action.stage + (forward ? 1 : -1), action.microbatch};
    return action.kind != ActionKind::backwardWeight &&
           !(forward ? schedule.leavesAt(action.stage) : schedule.entersAt(action.stage));
}

/// False between two stages of one rank.
inline bool crossesRanks(const Schedule& schedule, const Transfer& transfer)
{
    return schedule.rankOf(transfer.sender()) != schedule.rankOf(transfer.receiver);
}

} // namespace sim
