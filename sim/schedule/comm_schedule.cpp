#include "sim/schedule/comm_schedule.h"

#include "sim/error.h"
#include "sim/index.h"
#include "sim/schedule/check.h"
#include "sim/schedule/problems.h"
#include "sim/schedule/transfers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace sim {

namespace {

/// What is counted of each stage. A stage has one rank, so all ranks in turn can use the same: its size is not paid for each.
struct StageCounts {
    explicit StageCounts(const Schedule& schedule)
        : places(schedule.stageToRank.size()), backwardsLeft(schedule.stageToRank.size(), schedule.microbatches / schedule.chains)
    {
    }
    std::vector<std::vector<std::size_t>> places; ///< of its passes, latest first: the next one ahead is at the back
    std::vector<int> backwardsLeft;
};

/// A rank's passes with what concerns whole stages between them.
std::vector<CommStep> withSharding(StageCounts& counts, const std::vector<Action>& actions, const CommLowering& lowering)
{
    auto& [places, backwardsLeft] = counts;
    std::vector<int> stages;
    for (std::size_t i = actions.size(); i-- > 0;) {
        std::vector<std::size_t>& of = places[asIndex(actions[i].stage)];
        if (of.empty())
            stages.push_back(actions[i].stage);
        of.push_back(i);
    }
    const auto nextPlace = [&of = places](int stage) { return of[asIndex(stage)].back(); };
    std::set<int> gathered;
    std::vector<CommStep> steps;
    for (std::size_t i = 0; i < actions.size();) {
        const ActionBlock block = blockAt(actions, i);
        if (lowering.unshardedStages > 0) {
            std::sort(stages.begin(), stages.end(), [&](int a, int b) { return nextPlace(a) < nextPlace(b); });
            std::size_t wanted = std::min(stages.size(), asIndex(lowering.unshardedStages));
            // Both stages of a block are needed at once.
            if (wanted < stages.size() && actions[nextPlace(stages[wanted - 1])].overlapsNext &&
                nextPlace(stages[wanted]) == nextPlace(stages[wanted - 1]) + 1)
                ++wanted;
            const auto wantedEnd = stages.begin() + static_cast<std::ptrdiff_t>(wanted);
            for (auto stage = gathered.begin(); stage != gathered.end();) {
                if (std::find(stages.begin(), wantedEnd, *stage) == wantedEnd) {
                    steps.push_back({StepKind::reshard, {.stage = *stage}});
                    stage = gathered.erase(stage);
                } else {
                    ++stage;
                }
            }
            for (auto stage = stages.begin(); stage != wantedEnd; ++stage)
                if (gathered.insert(*stage).second)
                    steps.push_back({StepKind::unshard, {.stage = *stage}});
        }
        for (const Action& action : block)
            steps.push_back({StepKind::pass, action});
        for (const Action& action : block) {
            std::vector<std::size_t>& of = places[asIndex(action.stage)];
            of.pop_back();
            if (of.empty())
                std::erase(stages, action.stage);
            const bool lastOfStage = (action.kind == ActionKind::backward || action.kind == ActionKind::backwardWeight) &&
                                     --backwardsLeft[asIndex(action.stage)] == 0;
            if (lowering.reduceGradients && lastOfStage)
                steps.push_back({StepKind::reduceGradients, {.stage = action.stage}});
        }
        i += block.size();
    }
    return steps;
}

/// The steps from `index` on that run as one.
std::size_t unitSize(const std::vector<CommStep>& steps, std::size_t index)
{
    return steps[index].kind == StepKind::pass && steps[index].action.overlapsNext && index + 1 < steps.size() ? 2 : 1;
}

/// Receives before the pass that needs them, sends after the pass that makes them.
std::vector<CommStep> withTransfersBesidePasses(const Schedule& schedule, const std::vector<CommStep>& steps)
{
    std::vector<CommStep> all;
    Transfer transfer;
    for (std::size_t i = 0; i < steps.size();) {
        const std::size_t size = unitSize(steps, i);
        for (std::size_t k = i; k < i + size; ++k)
            if (steps[k].kind == StepKind::pass && hasInput(schedule, steps[k].action, transfer) &&
                crossesRanks(schedule, transfer))
                all.push_back(transfer.receive());
        all.insert(all.end(), steps.begin() + static_cast<std::ptrdiff_t>(i),
                   steps.begin() + static_cast<std::ptrdiff_t>(i + size));
        for (std::size_t k = i; k < i + size; ++k)
            if (steps[k].kind == StepKind::pass && hasOutput(schedule, steps[k].action, transfer) &&
                crossesRanks(schedule, transfer))
                all.push_back(transfer.send());
        i += size;
    }
    return all;
}

/// All ranks go through their lists in turn, a step each; who sends also writes the receive into the other rank's list, at the
/// place that this one has come to. So sends and receives pair up in one global order, which cannot hang.
std::vector<std::vector<CommStep>> withTransfersWhenSent(const Schedule& schedule,
                                                         const std::vector<std::vector<CommStep>>& lists)
{
    std::vector<std::vector<CommStep>> all(lists.size());
    std::vector<std::size_t> position(lists.size(), 0);
    TransferTable<char> arrives(schedule, 0);
    const auto isReady = [&](const CommStep& step) {
        Transfer input;
        return step.kind != StepKind::pass || !hasInput(schedule, step.action, input) || arrives[input] != 0;
    };
    // Only ranks that may go on are looked at: those that just did, and those for which something has arrived.
    std::set<std::size_t> round, next;
    for (std::size_t rank = 0; rank < lists.size(); ++rank)
        round.insert(round.end(), rank);
    for (; !round.empty(); round.swap(next))
        while (!round.empty()) {
            const std::size_t rank = *round.begin();
            round.erase(round.begin());
            const std::vector<CommStep>& list = lists[rank];
            if (position[rank] == list.size())
                continue;
            const auto first = list.begin() + static_cast<std::ptrdiff_t>(position[rank]);
            const auto last = first + static_cast<std::ptrdiff_t>(unitSize(list, position[rank]));
            if (!std::all_of(first, last, isReady))
                continue;
            all[rank].insert(all[rank].end(), first, last);
            for (auto step = first; step != last; ++step) {
                Transfer output;
                if (step->kind != StepKind::pass || !hasOutput(schedule, step->action, output))
                    continue;
                arrives[output] = 1;
                if (!crossesRanks(schedule, output))
                    continue;
                const std::size_t receiver = schedule.rankOf(output.receiver);
                all[rank].push_back(output.send());
                all[receiver].push_back(output.receive());
                (receiver > rank ? round : next).insert(receiver); // later ones have their turn in this round yet
            }
            position[rank] += asIndex(last - first);
            next.insert(rank);
        }
    return all;
}

/// Sends, receives and sharding against the passes of their rank.
class CommunicationCheck {
public:
    explicit CommunicationCheck(const CommSchedule& communication)
        : m_schedule(communication.schedule), m_steps(communication.steps), m_sent(m_schedule, 0), m_received(m_schedule, 0),
          m_made(m_schedule, 0), m_used(m_schedule, 0)
    {
    }

    std::vector<std::string> run()
    {
        for (std::size_t rank = 0; rank < m_steps.size(); ++rank)
            for (const CommStep& step : m_steps[rank])
                if (step.kind == StepKind::pass)
                    notePass(step.action);
                else if (auto problem = misplaced(rank, step))
                    m_problems.add(text(step) + onRank(rank) + *problem);
        for (int stage = 0; stage < m_schedule.stages(); ++stage)
            for (const bool forward : {true, false})
                addMissing(stage, forward);
        return m_problems.take();
    }

private:
    std::string text(const CommStep& step) const { return stepText(step, m_schedule.slices); }

    void notePass(const Action& action)
    {
        Transfer transfer;
        if (hasInput(m_schedule, action, transfer))
            m_used[transfer] = 1;
        if (hasOutput(m_schedule, action, transfer))
            m_made[transfer] = 1;
    }

    std::optional<std::string> misplaced(std::size_t rank, const CommStep& step)
    {
        const int stage = step.action.stage;
        if (stage < 0 || stage >= m_schedule.stages() || step.action.microbatch < 0 ||
            step.action.microbatch >= m_schedule.microbatches)
            return " is outside of " + std::to_string(m_schedule.stages()) + " stages and " +
                   std::to_string(m_schedule.microbatches / m_schedule.slices) + " micro-batches, which count from 0";
        if (m_schedule.rankOf(stage) != rank)
            return ": stage " + std::to_string(stage) + " lives on rank " + std::to_string(m_schedule.rankOf(stage));
        if (!hasMicrobatch(step.kind))
            return std::nullopt;
        const bool upwards = step.kind == StepKind::sendForward || step.kind == StepKind::receiveBackward;
        if (upwards ? m_schedule.leavesAt(stage) : m_schedule.entersAt(stage))
            return ": there is no stage " + std::string(upwards ? "after" : "before") + " stage " + std::to_string(stage);
        const Transfer transfer = transferOf(step);
        if (!crossesRanks(m_schedule, transfer))
            return ": stage " + std::to_string(peerStage(step)) + " is on the same rank, nothing is sent";
        char& done = step.isSend() ? m_sent[transfer] : m_received[transfer];
        if (done != 0)
            return " comes twice";
        done = 1;
        if (step.isSend() && m_made[transfer] == 0)
            return " comes before " + passText(step.action, transfer.forward) + ", which makes what it sends";
        if (step.isReceive() && m_used[transfer] != 0)
            return " comes after " + passText(step.action, transfer.forward) + ", which needs it";
        return std::nullopt;
    }

    /// The pass as its rank has it: a backward may be whole or split.
    std::string passText(Action pass, bool forward) const
    {
        pass.kind = forward ? ActionKind::forward : ActionKind::backwardInput;
        const std::vector<Action>& list = m_schedule.actions[m_schedule.rankOf(pass.stage)];
        if (!forward && std::find(list.begin(), list.end(), pass) == list.end())
            pass.kind = ActionKind::backward;
        return actionText(pass, m_schedule.slices);
    }

    /// What `receiver` should get in this direction.
    void addMissing(int receiver, bool forward)
    {
        if (forward ? m_schedule.entersAt(receiver) : m_schedule.leavesAt(receiver))
            return;
        if (!crossesRanks(m_schedule, {forward, receiver, 0}))
            return;
        std::array<std::vector<int>, 2> missing;
        for (int microbatch = 0; microbatch < m_schedule.microbatches; ++microbatch) {
            const Transfer transfer{forward, receiver, microbatch};
            if (m_schedule.chainOf(microbatch) != receiver / m_schedule.chainLength())
                continue;
            if (m_sent[transfer] == 0)
                missing[0].push_back(microbatch);
            if (m_received[transfer] == 0)
                missing[1].push_back(microbatch);
        }
        const Transfer any{forward, receiver, 0};
        const std::array<CommStep, 2> steps = {any.send(), any.receive()};
        for (std::size_t i = 0; i < missing.size(); ++i)
            if (!missing[i].empty())
                m_problems.add("stage " + std::to_string(steps[i].action.stage) +
                               onRank(m_schedule.rankOf(steps[i].action.stage)) + " misses the " +
                               std::string(stepWord(steps[i].kind)) + " of micro-batch " +
                               microbatchRanges(missing[i], m_schedule.slices));
    }

    const Schedule& m_schedule;
    const std::vector<std::vector<CommStep>>& m_steps;
    TransferTable<char> m_sent, m_received;
    TransferTable<char> m_made, m_used; ///< by the passes so far
    Problems m_problems;
};

/// The steps are a view of the schedule with more in it.
bool holdsThePasses(const CommSchedule& communication)
{
    if (communication.steps.size() != communication.schedule.actions.size())
        return false;
    for (std::size_t rank = 0; rank < communication.steps.size(); ++rank) {
        std::vector<Action> passes;
        for (const CommStep& step : communication.steps[rank])
            if (step.kind == StepKind::pass)
                passes.push_back(step.action);
        if (passes != communication.schedule.actions[rank])
            return false;
    }
    return true;
}

} // namespace

std::string_view stepWord(StepKind kind)
{
    constexpr std::array<std::string_view, 8> kWords{"",       "SEND_F",  "RECV_F",  "SEND_B",
                                                     "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"};
    return kWords[asIndex(kind)];
}

bool hasMicrobatch(StepKind kind)
{
    return kind != StepKind::unshard && kind != StepKind::reshard && kind != StepKind::reduceGradients;
}

std::string stepText(const CommStep& step, int slices)
{
    if (step.kind == StepKind::pass)
        return actionText(step.action, slices);
    std::string text = std::to_string(step.action.stage).append(stepWord(step.kind));
    if (!hasMicrobatch(step.kind))
        return text;
    text += std::to_string(step.action.microbatch / slices);
    if (slices > 1)
        text += '.' + std::to_string(step.action.microbatch % slices);
    return text;
}

int peerStage(const CommStep& step)
{
    const bool after = step.kind == StepKind::sendForward || step.kind == StepKind::receiveBackward;
    return step.action.stage + (after ? 1 : -1);
}

CommSchedule lowerCommunication(const Schedule& schedule, const CommLowering& lowering)
{
    if (const std::vector<std::string> problems = checkSchedule(schedule); !problems.empty()) {
        std::string message = "the schedule \"" + schedule.kind + "\" cannot run, so nothing can be sent in its order";
        for (const std::string& problem : problems)
            message += "\n" + problem;
        throw Error(message);
    }
    std::vector<std::vector<CommStep>> lists;
    StageCounts counts(schedule);
    for (const std::vector<Action>& actions : schedule.actions)
        lists.push_back(withSharding(counts, actions, lowering));
    if (lowering.receives == ReceivePlacement::whenSent)
        return {schedule, withTransfersWhenSent(schedule, lists)};
    for (std::vector<CommStep>& list : lists)
        list = withTransfersBesidePasses(schedule, list);
    return {schedule, std::move(lists)};
}

std::vector<std::string> checkCommunication(const CommSchedule& communication)
{
    if (std::vector<std::string> problems = checkSchedule(communication.schedule); !problems.empty())
        return problems;
    if (!holdsThePasses(communication))
        return {"the lists with communication do not hold the passes of the schedule in their order"};
    return CommunicationCheck(communication).run();
}

} // namespace sim
