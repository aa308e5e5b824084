#include "sim/engine/in_order.h"

#include "sim/engine/engine.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/schedule/transfers.h"
#include "sim/schedule/walk.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

namespace sim {

namespace {

/// Streams that sends and receives lie on; nothing else takes them here.
constexpr std::array<Stream, kMostPeers> kLanes{Stream::sendForward, Stream::sendBackward, Stream::tp,      Stream::cp,
                                                Stream::ep,          Stream::dp,           Stream::replicas};

/// The lists as a program of the engine: a step of theirs is a step of it. The communication must have passed
/// checkCommunication, and firstWithManyPeers.
class ListProgram {
public:
    ListProgram(const CommSchedule& communication, std::span<const PassTimes> times, CommStreams streams)
        : m_schedule(communication.schedule), m_steps(communication.steps), m_times(times), m_slots(m_schedule, kNoSlot)
    {
        for (const std::vector<CommStep>& steps : m_steps)
            m_slotsOf.push_back(numberReceives(steps));
        double total = 0;
        for (const std::vector<CommStep>& steps : m_steps)
            for (const CommStep& step : steps)
                total += step.kind == StepKind::pass ? passTime(timesOf(step.action.stage), step.action.kind)
                         : step.isSend()             ? commOf(transferOf(step))
                                                     : 0;
        // Powers of ten, so that what is written with a few digits is counted exactly; 2^52 of a unit at most.
        while (total > 0 && total * m_unitsPerTime * 10 <= 0x1.0p52)
            m_unitsPerTime *= 10;
        while (total * m_unitsPerTime > 0x1.0p52)
            m_unitsPerTime /= 10;
        m_program.labels = {""};
        m_prices.durations.resize(1);
        m_prices.uses.resize(1);
        m_prices.sendNs = {0}; // each says its own
        m_prices.sendUse.resize(1);
        m_classes.geometries.resize(1);
        for (std::size_t rank = 0; rank < m_steps.size(); ++rank)
            addRank(static_cast<int>(rank), streams);
    }

    /// Throws Deadlock.
    InOrderTimes run() const
    {
        const EngineResult result = runEngine(m_program, m_classes, m_prices);
        InOrderTimes times;
        double first = std::numeric_limits<double>::infinity(), last = 0;
        for (std::size_t rank = 0; rank < m_steps.size(); ++rank) {
            const auto& [begin, end] = placeSteps(rank, result, times);
            times.span = std::max(times.span, end - begin);
            first = std::min(first, begin);
            last = std::max(last, end);
        }
        times.makespan = last - first;
        return times;
    }

private:
    const PassTimes& timesOf(int stage) const { return m_times[m_times.size() == 1 ? 0 : asIndex(m_schedule.partOf(stage))]; }
    double commOf(const Transfer& transfer) const { return timesOf(std::min(transfer.sender(), transfer.receiver)).comm; }

    std::int32_t numberReceives(const std::vector<CommStep>& steps)
    {
        std::int32_t slots = 0;
        for (const CommStep& step : steps)
            if (step.isReceive())
                m_slots[transferOf(step)] = slots++;
        return slots;
    }

    /// Of the passes that run as one and of which this is the last.
    double durationOf(std::span<const CommStep> block) const
    {
        double sum = 0, overlapped = 0;
        bool together = block.size() > 1;
        for (const CommStep& step : block) {
            const PassTimes& times = timesOf(step.action.stage);
            together = together && times.overlapped >= 0;
            overlapped += times.overlapped / 2;
            sum += passTime(times, step.action.kind);
        }
        return together ? overlapped : sum;
    }

    struct Content {
        std::optional<OpKind> transfer;
        Stream lane = Stream::compute;
        bool receives = false;
        double time = -1; ///< of the kernel or message; below 0: there is none
        auto operator<=>(const Content&) const = default;
    };
    std::uint32_t passOf(const Content& content)
    {
        const auto [position, isNew] = m_passOf.try_emplace(content, static_cast<std::uint32_t>(m_program.passes.size()));
        if (!isNew)
            return position->second;
        Pass& pass = m_program.passes.emplace_back();
        if (content.transfer)
            pass.ops.push_back({.kind = *content.transfer, .stream = content.lane, .waits = maskOf(Stream::compute)});
        if (content.receives)
            pass.ops.push_back({.kind = OpKind::receive, .stream = Stream::receive});
        if (content.time >= 0 && !content.transfer)
            pass.ops.push_back({.waits = maskOf(Stream::receive)});
        pass.shapes.resize(pass.ops.size());
        std::vector<std::int64_t>& durations = m_prices.durations[0].emplace_back(pass.ops.size(), 0);
        if (content.time >= 0)
            durations.back() = std::llround(content.time * m_unitsPerTime);
        m_prices.uses[0].emplace_back();
        return position->second;
    }

    void addRank(int rank, CommStreams streams)
    {
        const std::vector<CommStep>& steps = m_steps[asIndex(rank)];
        RankProgram& program = m_program.ranks.emplace_back();
        program.slots = m_slotsOf[asIndex(rank)];
        program.postsReceives = program.slots > 0;
        std::map<int, Stream> laneOf; // by peer
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const CommStep& step = steps[i];
            Step& made = program.steps.emplace_back();
            Content content;
            Transfer transfer;
            if (step.kind == StepKind::pass) {
                if (hasInput(m_schedule, step.action, transfer) && crossesRanks(m_schedule, transfer)) {
                    content.receives = true;
                    made.receiveSlot = m_slots[transfer];
                    made.receiveFrom = static_cast<int>(m_schedule.rankOf(transfer.sender()));
                }
                const bool isSecond = i > 0 && steps[i - 1].kind == StepKind::pass && steps[i - 1].action.overlapsNext;
                const bool isLast = !step.action.overlapsNext || i + 1 == steps.size() || isSecond;
                if (isLast)
                    content.time = durationOf(std::span(steps).subspan(isSecond ? i - 1 : i, isSecond ? 2 : 1));
            } else if (hasMicrobatch(step.kind)) {
                transfer = transferOf(step);
                const int peer = static_cast<int>(m_schedule.rankOf(peerStage(step)));
                const auto [lane, isNew] = laneOf.try_emplace(peer, kLanes.front());
                if (isNew && streams == CommStreams::perPeer)
                    lane->second = kLanes.at(laneOf.size() - 1);
                content = {.transfer = step.isSend() ? OpKind::send : OpKind::post, .lane = lane->second};
                content.time = step.isSend() ? commOf(transfer) : -1;
                (step.isSend() ? made.sendSlot : made.receiveSlot) = m_slots[transfer];
                (step.isSend() ? made.sendTo : made.receiveFrom) = peer;
            }
            made.pass = passOf(content);
            program.opCount += static_cast<std::int64_t>(m_program.passes[made.pass].ops.size());
        }
        m_classes.classOf.push_back(rank);
        m_classes.representative.push_back(rank);
        m_classes.size.push_back(1);
        m_classes.pipelineRank.push_back(rank);
        m_classes.slowdown.emplace_back();
        m_classes.geometry.push_back(0);
        m_classes.groups.emplace_back().fill(-1);
        std::vector<PipelinePeer>& peers = m_classes.pipelinePeers.emplace_back();
        for (const auto& [peer, lane] : laneOf)
            peers.push_back({.pipelineRank = peer, .classIndex = peer, .tier = 0});
    }

    /// Start of the rank's first pass, end of its last.
    std::pair<double, double> placeSteps(std::size_t rank, const EngineResult& result, InOrderTimes& times) const
    {
        const std::vector<CommStep>& steps = m_steps[rank];
        std::vector<double>& start = times.start.emplace_back(steps.size(), 0);
        std::vector<double>& end = times.end.emplace_back(steps.size(), 0);
        std::vector<double>& heldBack = times.heldBack.emplace_back(steps.size(), 0);
        double firstStart = -1, passEnd = 0;
        std::size_t place = result.firstOp[rank];
        for (std::size_t i = 0; i < steps.size(); ++i) {
            place += m_program.passes[m_program.ranks[rank].steps[i].pass].ops.size();
            const bool isPass = steps[i].kind == StepKind::pass;
            if (isPass && steps[i].action.overlapsNext && i + 1 < steps.size())
                continue; // as the second of its block
            if (isPass || hasMicrobatch(steps[i].kind)) {
                start[i] = static_cast<double>(result.opStartNs[place - 1]) / m_unitsPerTime;
                end[i] = static_cast<double>(result.opEndNs[place - 1]) / m_unitsPerTime;
            } else { // drawn where the passes before it end
                start[i] = end[i] = passEnd;
            }
            if (isPass) {
                passEnd = end[i];
                firstStart = firstStart < 0 ? start[i] : firstStart;
                if (i > 0 && steps[i - 1].kind == StepKind::pass && steps[i - 1].action.overlapsNext) {
                    start[i - 1] = start[i];
                    end[i - 1] = end[i];
                }
            }
            if (steps[i].isSend())
                heldBack[i] = start[i] - madeAt(steps, i, end);
        }
        return {firstStart, passEnd};
    }

    /// End of the pass that made what is sent: most often the last one before the send.
    double madeAt(const std::vector<CommStep>& steps, std::size_t index, const std::vector<double>& end) const
    {
        const Transfer transfer = transferOf(steps[index]);
        Transfer output;
        for (std::size_t i = index; i-- > 0;)
            if (steps[i].kind == StepKind::pass && hasOutput(m_schedule, steps[i].action, output) && output == transfer)
                return end[i];
        return 0;
    }

    const Schedule& m_schedule;
    const std::vector<std::vector<CommStep>>& m_steps;
    std::span<const PassTimes> m_times;
    TransferTable<std::int32_t> m_slots; ///< of the receiver
    std::vector<std::int32_t> m_slotsOf; ///< [rank]
    double m_unitsPerTime = 1;
    std::map<Content, std::uint32_t> m_passOf;
    Program m_program;
    RankClasses m_classes;
    PricedProgram m_prices;
};

/// One line; empty where all have streams.
std::string tooManyPeers(const CommSchedule& communication, CommStreams streams)
{
    for (std::size_t rank = 0; streams == CommStreams::perPeer && rank < communication.steps.size(); ++rank) {
        std::vector<std::size_t> peers;
        for (const CommStep& step : communication.steps[rank])
            if (step.isSend() || step.isReceive())
                if (const std::size_t peer = communication.schedule.rankOf(peerStage(step));
                    std::find(peers.begin(), peers.end(), peer) == peers.end())
                    peers.push_back(peer);
        if (peers.size() > kMostPeers)
            return "rank " + std::to_string(rank) + " talks to " + std::to_string(peers.size()) +
                   " others; with a stream for each pair at most " + std::to_string(kMostPeers) + " can be run";
    }
    return {};
}

/// Before anything runs.
std::vector<std::string> problemsOf(const CommSchedule& communication, CommStreams streams)
{
    std::vector<std::string> problems = checkCommunication(communication);
    if (problems.empty())
        if (std::string problem = tooManyPeers(communication, streams); !problem.empty())
            problems.push_back(std::move(problem));
    return problems;
}

std::vector<CommWait> circleOf(const Deadlock& deadlock)
{
    std::vector<CommWait> circle;
    for (const EngineWait& wait : deadlock.circle())
        circle.push_back({{wait.classIndex, wait.step}, {wait.neededClass, wait.neededStep}, wait.reason});
    return circle;
}

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

/// Of communication without other problems.
std::vector<CommWait> cycleOf(const CommSchedule& communication, CommStreams streams)
{
    const PassTimes unit;
    try {
        static_cast<void>(ListProgram(communication, std::span(&unit, 1), streams).run());
    } catch (const Deadlock& deadlock) {
        return circleOf(deadlock);
    }
    return {};
}

} // namespace

std::vector<CommWait> communicationDeadlock(const CommSchedule& communication, CommStreams streams)
{
    return problemsOf(communication, streams).empty() ? cycleOf(communication, streams) : std::vector<CommWait>();
}

std::vector<std::string> checkInOrder(const CommSchedule& communication, CommStreams streams)
{
    if (std::vector<std::string> problems = problemsOf(communication, streams); !problems.empty())
        return problems;
    const std::vector<CommWait> cycle = cycleOf(communication, streams);
    return cycle.empty() ? std::vector<std::string>() : std::vector{deadlockText(communication, cycle)};
}

InOrderTimes evaluateInOrder(const CommSchedule& communication, std::span<const PassTimes> times, CommStreams streams)
{
    const PassMemory memory;
    const ScheduleTimes unhindered = evaluateSchedule(communication.schedule, times, std::span(&memory, 1));
    std::vector<std::string> problems = problemsOf(communication, streams);
    if (problems.empty()) {
        try {
            InOrderTimes result = ListProgram(communication, times, streams).run();
            constexpr double kRounding = 1e-12; // whole numbers are counted here and fractions there
            const double blocked = result.makespan - unhindered.makespan;
            result.blocked = std::abs(blocked) <= kRounding * result.makespan ? 0 : blocked;
            return result;
        } catch (const Deadlock& deadlock) {
            problems.push_back(deadlockText(communication, circleOf(deadlock)));
        }
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
