#include "sim/schedule/in_order.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/schedule/transfers.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <limits>
#include <map>

namespace sim {

namespace {

constexpr double kNotRun = -1;
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Runs the lists until nothing can go on. The communication must have passed checkCommunication.
class InOrderRun {
public:
    InOrderRun(const CommSchedule& communication, std::span<const PassTimes> times, CommStreams streams)
        : m_schedule(communication.schedule), m_steps(communication.steps), m_times(times), m_ranks(communication.steps.size()),
          m_sendIndex(m_schedule, kNone), m_receiveIndex(m_schedule, kNone), m_arrival(m_schedule, kNotRun)
    {
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank)
            layOut(rank, streams);
        m_result.start.resize(m_ranks.size());
        m_result.end.resize(m_ranks.size());
        m_result.heldBack.resize(m_ranks.size());
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
            m_result.start[rank].assign(m_steps[rank].size(), kNotRun);
            m_result.end[rank].assign(m_steps[rank].size(), kNotRun);
            m_result.heldBack[rank].assign(m_steps[rank].size(), 0);
            m_runnable.push_back(rank);
        }
        CancelPoll poll;
        while (!m_runnable.empty()) {
            const std::size_t rank = m_runnable.back();
            m_runnable.pop_back();
            while (goOn(rank))
                poll();
        }
    }

    bool finished() const
    {
        return std::all_of(m_ranks.begin(), m_ranks.end(), [](const Rank& rank) {
            return rank.nextPass == rank.passes.size() && std::all_of(rank.lanes.begin(), rank.lanes.end(), [](const Lane& lane) {
                       return lane.next == lane.steps.size();
                   });
        });
    }

    InOrderTimes take()
    {
        double first = std::numeric_limits<double>::infinity();
        double last = 0;
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
            const std::vector<std::size_t>& passes = m_ranks[rank].passes;
            const double begin = m_result.start[rank][passes.front()];
            const double end = m_result.end[rank][passes.back()];
            m_result.span = std::max(m_result.span, end - begin);
            first = std::min(first, begin);
            last = std::max(last, end);
            placeTheTimeless(rank);
        }
        m_result.makespan = last - first;
        return std::move(m_result);
    }

    /// Where it stopped.
    std::vector<CommWait> cycle() const
    {
        std::map<std::pair<int, std::size_t>, std::size_t> visited;
        std::vector<CommWait> waits;
        StepPlace at = stuckPlace();
        while (true) {
            const auto [found, isNew] = visited.try_emplace({at.rank, at.index}, waits.size());
            if (!isNew) {
                waits.erase(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(found->second));
                break;
            }
            waits.push_back(waitOf(at));
            at = waits.back().needed;
        }
        const auto best = std::min_element(waits.begin(), waits.end(), [](const CommWait& a, const CommWait& b) {
            return std::pair(a.reason != WaitReason::partner, a.waiting.rank) <
                   std::pair(b.reason != WaitReason::partner, b.waiting.rank);
        });
        std::rotate(waits.begin(), best, waits.end());
        return waits;
    }

private:
    struct Lane {
        std::vector<std::size_t> steps;
        std::size_t next = 0;
        double clock = 0;
        std::size_t head() const { return next < steps.size() ? steps[next] : kNone; }
    };
    struct Rank {
        std::vector<std::size_t> passes; ///< step where a pass or block begins
        std::size_t nextPass = 0;
        double clock = 0;
        std::vector<Lane> lanes;
        std::vector<std::size_t> laneOf;     ///< [step], of sends and receives
        std::vector<std::size_t> passBefore; ///< [step]: the pass that is written last before it
        std::size_t head() const { return nextPass < passes.size() ? passes[nextPass] : kNone; }
    };

    void layOut(std::size_t rank, CommStreams streams)
    {
        Rank& state = m_ranks[rank];
        const std::vector<CommStep>& steps = m_steps[rank];
        state.laneOf.assign(steps.size(), kNone);
        state.passBefore.assign(steps.size(), kNone);
        std::map<std::size_t, std::size_t> laneOfPeer;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            state.passBefore[i] = state.passes.empty() ? kNone : state.passes.back();
            if (steps[i].kind == StepKind::pass) {
                if (i == 0 || steps[i - 1].kind != StepKind::pass || !steps[i - 1].action.overlapsNext)
                    state.passes.push_back(i);
            } else if (hasMicrobatch(steps[i].kind)) {
                (steps[i].isSend() ? m_sendIndex : m_receiveIndex)[transferOf(steps[i])] = i;
                const std::size_t peer = streams == CommStreams::shared ? 0 : m_schedule.rankOf(peerStage(steps[i]));
                const auto [lane, isNew] = laneOfPeer.try_emplace(peer, state.lanes.size());
                if (isNew)
                    state.lanes.emplace_back();
                state.laneOf[i] = lane->second;
                state.lanes[lane->second].steps.push_back(i);
            }
        }
    }

    const PassTimes& timesOf(int stage) const
    {
        return m_times[m_times.size() == 1 ? 0 : asIndex(stage % m_schedule.chainLength())];
    }

    std::span<const CommStep> blockAtStep(std::size_t rank, std::size_t index) const
    {
        const std::vector<CommStep>& steps = m_steps[rank];
        return {steps.data() + index, steps[index].action.overlapsNext && index + 1 < steps.size() ? 2U : 1U};
    }

    double durationOf(std::span<const CommStep> block) const
    {
        double sum = 0;
        double overlapped = 0;
        bool together = block.size() > 1;
        for (const CommStep& step : block) {
            const PassTimes& times = timesOf(step.action.stage);
            together = together && times.overlapped >= 0;
            overlapped += times.overlapped / 2;
            sum += passTime(times, step.action.kind);
        }
        return together ? overlapped : sum;
    }

    /// A rank's next pass, or the next transfer of one of its lanes. False if all of them must wait.
    bool goOn(std::size_t rank)
    {
        bool progress = runPass(rank);
        for (std::size_t lane = 0; lane < m_ranks[rank].lanes.size(); ++lane)
            progress = runTransfer(rank, lane) || progress;
        return progress;
    }

    bool runPass(std::size_t rank)
    {
        Rank& state = m_ranks[rank];
        const std::size_t head = state.head();
        if (head == kNone)
            return false;
        const std::span<const CommStep> block = blockAtStep(rank, head);
        double start = state.clock;
        Transfer transfer;
        for (const CommStep& step : block) {
            if (!hasInput(m_schedule, step.action, transfer))
                continue;
            if (m_arrival[transfer] < 0)
                return false;
            start = std::max(start, m_arrival[transfer]);
        }
        state.clock = start + durationOf(block);
        ++state.nextPass;
        for (std::size_t i = 0; i < block.size(); ++i) {
            m_result.start[rank][head + i] = start;
            m_result.end[rank][head + i] = state.clock;
            if (hasOutput(m_schedule, block[i].action, transfer) && !crossesRanks(m_schedule, transfer))
                m_arrival[transfer] = state.clock;
        }
        return true;
    }

    bool runTransfer(std::size_t rank, std::size_t laneIndex)
    {
        Lane& lane = m_ranks[rank].lanes[laneIndex];
        const std::size_t index = lane.head();
        if (index == kNone)
            return false;
        const CommStep& step = m_steps[rank][index];
        const StepPlace other = partnerOf(step);
        const auto otherRank = asIndex(other.rank);
        Lane& otherLane = m_ranks[otherRank].lanes[m_ranks[otherRank].laneOf[other.index]];
        if (otherLane.head() != other.index)
            return false;
        const double posted = postedAt(rank, index);
        const double otherPosted = postedAt(otherRank, other.index);
        if (posted < 0 || otherPosted < 0)
            return false;
        const Transfer transfer = transferOf(step);
        const double start = std::max({lane.clock, otherLane.clock, posted, otherPosted});
        const double end = start + timesOf(std::min(transfer.sender(), transfer.receiver)).comm;
        for (const auto& [place, at] : {std::pair{StepPlace{static_cast<int>(rank), index}, &lane}, {other, &otherLane}}) {
            m_result.start[asIndex(place.rank)][place.index] = start;
            m_result.end[asIndex(place.rank)][place.index] = end;
            at->clock = end;
            ++at->next;
        }
        const StepPlace sender = step.isSend() ? StepPlace{static_cast<int>(rank), index} : other;
        const auto senderRank = asIndex(sender.rank);
        m_result.heldBack[senderRank][sender.index] = start - madeAt(senderRank, sender.index, transfer);
        m_arrival[transfer] = end;
        m_runnable.push_back(otherRank);
        return true;
    }

    /// When the passes before a step have ended; kNotRun if they have not.
    double postedAt(std::size_t rank, std::size_t index) const
    {
        const std::size_t before = m_ranks[rank].passBefore[index];
        return before == kNone ? 0 : m_result.end[rank][before];
    }

    /// End of the pass that made what is sent: most often the last one before the send.
    double madeAt(std::size_t rank, std::size_t index, const Transfer& transfer) const
    {
        Transfer output;
        for (std::size_t i = index; i-- > 0;)
            if (m_steps[rank][i].kind == StepKind::pass && hasOutput(m_schedule, m_steps[rank][i].action, output) &&
                output == transfer)
                return m_result.end[rank][i];
        return 0;
    }

    StepPlace partnerOf(const CommStep& step) const
    {
        const Transfer transfer = transferOf(step);
        const bool wantsReceive = step.isSend();
        const int stage = wantsReceive ? transfer.receiver : transfer.sender();
        return {static_cast<int>(m_schedule.rankOf(stage)), wantsReceive ? m_receiveIndex[transfer] : m_sendIndex[transfer]};
    }

    StepPlace stuckPlace() const
    {
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank) {
            if (m_ranks[rank].head() != kNone)
                return {static_cast<int>(rank), m_ranks[rank].head()};
            for (const Lane& lane : m_ranks[rank].lanes)
                if (lane.head() != kNone)
                    return {static_cast<int>(rank), lane.head()};
        }
        return {};
    }

    /// What a step that has not run waits for; that has not run either.
    CommWait waitOf(const StepPlace& at) const
    {
        const auto rank = asIndex(at.rank);
        const Rank& state = m_ranks[rank];
        const CommStep& step = m_steps[rank][at.index];
        if (step.kind != StepKind::pass) {
            if (postedAt(rank, at.index) < 0)
                return {at, {at.rank, state.head()}, WaitReason::order};
            const std::size_t head = state.lanes[state.laneOf[at.index]].head();
            if (head != at.index)
                return {at, {at.rank, head}, WaitReason::order};
            return {at, partnerOf(step), WaitReason::partner};
        }
        if (state.head() != at.index)
            return {at, {at.rank, state.head()}, WaitReason::order};
        Transfer input;
        for (const CommStep& part : blockAtStep(rank, at.index))
            if (hasInput(m_schedule, part.action, input) && m_arrival[input] < 0)
                break;
        if (crossesRanks(m_schedule, input))
            return {at, {at.rank, m_receiveIndex[input]}, WaitReason::input};
        Transfer output;
        const auto maker = std::find_if(m_steps[rank].begin(), m_steps[rank].end(), [&](const CommStep& other) {
            return other.kind == StepKind::pass && hasOutput(m_schedule, other.action, output) && output == input;
        });
        return {at, {at.rank, asIndex(maker - m_steps[rank].begin())}, WaitReason::input};
    }

    /// Sharding is drawn where the passes before it end.
    void placeTheTimeless(std::size_t rank)
    {
        for (std::size_t i = 0; i < m_steps[rank].size(); ++i)
            if (!hasMicrobatch(m_steps[rank][i].kind))
                m_result.start[rank][i] = m_result.end[rank][i] = postedAt(rank, i);
    }

    const Schedule& m_schedule;
    const std::vector<std::vector<CommStep>>& m_steps;
    std::span<const PassTimes> m_times;
    std::vector<Rank> m_ranks;
    TransferTable<std::size_t> m_sendIndex, m_receiveIndex; ///< in the lists of their ranks
    TransferTable<double> m_arrival;
    std::vector<std::size_t> m_runnable;
    InOrderTimes m_result;
};

std::string deadlockText(const CommSchedule& communication, const std::vector<CommWait>& cycle)
{
    const auto text = [&](const StepPlace& place) {
        return stepText(communication.steps[asIndex(place.rank)][place.index], communication.schedule.slices);
    };
    std::string line =
        "deadlock: rank " + std::to_string(cycle.front().waiting.rank) + " waits at " + text(cycle.front().waiting);
    for (std::size_t i = 0; i < cycle.size(); ++i) {
        const CommWait& wait = cycle[i];
        if (wait.reason == WaitReason::order)
            line += ", which comes after " + text(wait.needed);
        else
            line += (i == 0 ? " for " : ", which waits for ") + text(wait.needed);
        if (wait.reason == WaitReason::partner)
            line += " of rank " + std::to_string(wait.needed.rank);
    }
    return line;
}

/// Of communication that passed checkCommunication.
std::vector<CommWait> cycleOf(const CommSchedule& communication, CommStreams streams)
{
    const PassTimes unit;
    const InOrderRun run(communication, std::span(&unit, 1), streams);
    return run.finished() ? std::vector<CommWait>() : run.cycle();
}

} // namespace

std::vector<CommWait> communicationDeadlock(const CommSchedule& communication, CommStreams streams)
{
    return checkCommunication(communication).empty() ? cycleOf(communication, streams) : std::vector<CommWait>();
}

std::vector<std::string> checkInOrder(const CommSchedule& communication, CommStreams streams)
{
    if (std::vector<std::string> problems = checkCommunication(communication); !problems.empty())
        return problems;
    const std::vector<CommWait> cycle = cycleOf(communication, streams);
    return cycle.empty() ? std::vector<std::string>() : std::vector{deadlockText(communication, cycle)};
}

InOrderTimes evaluateInOrder(const CommSchedule& communication, std::span<const PassTimes> times, CommStreams streams)
{
    const PassMemory memory;
    const ScheduleTimes unhindered = evaluateSchedule(communication.schedule, times, std::span(&memory, 1));
    std::vector<std::string> problems = checkCommunication(communication);
    if (problems.empty()) {
        InOrderRun run(communication, times, streams);
        if (run.finished()) {
            InOrderTimes result = run.take();
            result.blocked = result.makespan - unhindered.makespan;
            return result;
        }
        problems.push_back(deadlockText(communication, run.cycle()));
    }
    std::string message = "the schedule \"" + communication.schedule.kind + "\" cannot run in the order of its communication";
    for (const std::string& problem : problems)
        message += "\n" + problem;
    throw Error(message);
}

InOrderTimes evaluateInOrder(const CommSchedule& communication, const PassTimes& times, CommStreams streams)
{
    return evaluateInOrder(communication, std::span(&times, 1), streams);
}

} // namespace sim
