#include "sim/simulate/make_trace.h"

#include "sim/cancel.h"
#include "sim/engine/classes.h"
#include "sim/index.h"
#include "sim/simulate/action_class.h"
#include "sim/simulate/measure_memory.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace sim {
namespace {

void addSpan(Track& track, std::int64_t start, std::int64_t end, std::uint32_t kind, std::int32_t microbatch)
{
    track.startNs.push_back(start);
    track.durationNs.push_back(end - start);
    track.kind.push_back(kind);
    track.microbatch.push_back(microbatch);
}

/// Messages may arrive in another order than the one in which they are asked for. Puts spans in the order of their starts and
/// returns the new place of each.
std::vector<std::uint32_t> sortByStart(Track& track)
{
    std::vector<std::uint32_t> order(track.size()), placeOf(track.size());
    std::iota(order.begin(), order.end(), 0U);
    if (!std::is_sorted(track.startNs.begin(), track.startNs.end())) {
        CancelPoll poll;
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            poll();
            return track.startNs[a] < track.startNs[b];
        });
        const auto reorder = [&order](auto& column) {
            auto sorted = column;
            for (std::size_t i = 0; i < sorted.size(); ++i)
                sorted[i] = column[order[i]];
            column = std::move(sorted);
        };
        reorder(track.startNs);
        reorder(track.durationNs);
        reorder(track.kind);
        reorder(track.microbatch);
        if (!track.peer.empty())
            reorder(track.peer);
        if (!track.group.empty())
            reorder(track.group);
    }
    for (std::size_t i = 0; i < order.size(); ++i)
        placeOf[order[i]] = static_cast<std::uint32_t>(i);
    return placeOf;
}

/// Bytes beyond what was held before.
struct HeldBytes {
    std::int64_t activations = 0, buffers = 0;
    std::int64_t total() const { return activations + buffers; }
};

/// What a pass looks like from outside: enough for a trace of actions, without walking its ops again for each micro-batch.
struct PassSummary {
    std::ptrdiff_t firstCompute = -1, lastCompute = -1; ///< ops; -1: it computes nothing
    HeldBytes highest, kept;                            ///< at its fullest moment, and after it
};

PassSummary summaryOf(const Pass& pass)
{
    PassSummary summary;
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        if (op.kind == OpKind::compute) {
            summary.firstCompute = summary.firstCompute < 0 ? static_cast<std::ptrdiff_t>(i) : summary.firstCompute;
            summary.lastCompute = static_cast<std::ptrdiff_t>(i);
        }
        std::int64_t& account = op.buffer ? summary.kept.buffers : summary.kept.activations;
        account += op.allocBytes;
        if (summary.kept.total() > summary.highest.total())
            summary.highest = summary.kept;
        account -= op.freeBytes;
    }
    return summary;
}

class TraceMaker {
public:
    TraceMaker(const Simulation& simulation, TraceDetail detail)
        : m_scenario(simulation.scenario()), m_mesh(simulation.mesh()), m_schedule(simulation.schedule()),
          m_program(simulation.program()), m_classes(simulation.classes()), m_prices(simulation.prices()),
          m_result(simulation.times()), m_detail(detail)
    {
    }

    Trace make()
    {
        m_trace.title = m_scenario.name;
        m_trace.endNs = m_result.endNs;
        m_trace.slices = m_schedule.slices;
        for (const Pass& pass : m_program.passes)
            m_summaries.push_back(summaryOf(pass));
        describeGrid();
        countMessages();
        for (int c = 0; c < m_classes.count(); ++c)
            addClass(c);
        addFlows();
        return std::move(m_trace);
    }

private:
    static constexpr std::uint32_t kNoTrack = std::numeric_limits<std::uint32_t>::max();
    struct SpanPlace {
        std::uint32_t track = kNoTrack, span = 0;
    };
    struct Message {
        SpanPlace from, to;
    };

    void addClass(int c);
    void describeGrid();
    int groupOf(CommunicatorRole, int rank);
    void countMessages();
    /// That comes to this place of the receiving class's mailbox.
    Message& messageAt(int receiver, std::int32_t slot) { return m_messages[m_firstMessage[asIndex(receiver)] + asIndex(slot)]; }
    void addFlows();
    std::uint32_t actionKind(const Action&);
    std::uint32_t optimizerKind();
    std::uint32_t opKinds(const Step&);

    const Scenario& m_scenario;
    const Mesh& m_mesh;
    const Schedule& m_schedule;
    const Program& m_program;
    const RankClasses& m_classes;
    const PricedProgram& m_prices;
    const EngineResult& m_result;
    TraceDetail m_detail;
    std::vector<PassSummary> m_summaries; ///< [pass]
    Trace m_trace;
    std::map<std::pair<int, int>, std::uint32_t> m_actionKinds;                ///< kind, stage
    std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> m_opKinds; ///< pass, stage -> kind of its first op
    std::vector<Message> m_messages;                                           ///< [class][slot]
    std::vector<std::size_t> m_firstMessage;                                   ///< [class]
    std::array<RoleGroups, kCommunicatorRoleCount> m_roleGroups;               ///< made when a span first asks
    std::map<std::pair<CommunicatorRole, int>, int> m_groupIndex;              ///< role, group -> Trace::groups
    std::size_t m_members = 0;                                                 ///< that are written out
    CancelPoll m_poll;
};

/// The world, and how far apart neighbours on each axis are.
void TraceMaker::describeGrid()
{
    m_trace.worldSize = m_mesh.worldSize();
    for (const auto& [name, kind] :
         {std::pair{"tp", ProcessGroup::tp}, {"cp", ProcessGroup::cp}, {"dp", ProcessGroup::dp}, {"pp", ProcessGroup::pp}})
        if (const int size = m_mesh.groupSize(kind); size > 1)
            m_trace.axes.push_back({name, size, m_mesh.member(kind, 0, 1) - m_mesh.member(kind, 0, 0)});
    if (const int size = m_mesh.groupSize(ProcessGroup::ep); m_scenario.model.numExperts > 0 && size > 1)
        m_trace.axes.push_back({"ep", size, m_mesh.member(ProcessGroup::ep, 0, 1) - m_mesh.member(ProcessGroup::ep, 0, 0)});
}

/// Index into Trace::groups of a rank's group, -1 if it is in none. Only groups that spans name are there.
int TraceMaker::groupOf(CommunicatorRole role, int rank)
{
    RoleGroups& groups = m_roleGroups[asIndex(static_cast<int>(role))];
    if (groups.groupOf.empty())
        groups = roleGroups(role, m_mesh, m_scenario);
    const int group = groups.groupOf[asIndex(rank)];
    if (group < 0)
        return -1;
    const auto [known, isNew] = m_groupIndex.try_emplace({role, group}, static_cast<int>(m_trace.groups.size()));
    if (isNew) {
        constexpr std::size_t kMostMembers = std::size_t{1} << 20; // of all groups: beyond, their sizes tell
        const auto first = groups.members.begin() + groups.first[asIndex(group)],
                   last = groups.members.begin() + groups.first[asIndex(group) + 1];
        const std::string name = communicatorRoleName(role);
        TraceGroup made{.name = name + " " + std::to_string(group), .description = name};
        made.size = static_cast<int>(last - first);
        if (m_members + asIndex(made.size) <= kMostMembers)
            made.ranks.assign(first, last);
        m_members += made.ranks.size();
        m_trace.groups.push_back(std::move(made));
    }
    return known->second;
}

void TraceMaker::countMessages()
{
    std::size_t messages = 0;
    for (const int pipelineRank : m_classes.pipelineRank) {
        m_firstMessage.push_back(messages);
        messages += asIndex(m_program.ranks[asIndex(pipelineRank)].slots);
    }
    m_messages.resize(messages);
}

/// By receiver and slot.
void TraceMaker::addFlows()
{
    const auto isDrawn = [](const Message& of) { return of.from.track != kNoTrack && of.to.track != kNoTrack; };
    // Growing by moving all of them would take long between two looks.
    m_trace.flows.reserve(asIndex(std::count_if(m_messages.begin(), m_messages.end(), isDrawn)));
    for (const Message& of : m_messages) {
        m_poll();
        if (isDrawn(of))
            m_trace.flows.push_back({of.from.track, of.from.span, of.to.track, of.to.span});
    }
}

std::uint32_t TraceMaker::actionKind(const Action& action)
{
    const auto [position, isNew] = m_actionKinds.try_emplace({static_cast<int>(action.kind), action.stage},
                                                             static_cast<std::uint32_t>(m_trace.kinds.size()));
    if (isNew)
        m_trace.kinds.push_back({.name = std::to_string(action.stage) + actionLetter(action.kind),
                                 .opClass = opClassOf(action.kind),
                                 .stage = action.stage});
    return position->second;
}

std::uint32_t TraceMaker::optimizerKind()
{
    const auto [position, isNew] = m_actionKinds.try_emplace({-1, -1}, static_cast<std::uint32_t>(m_trace.kinds.size()));
    if (isNew)
        m_trace.kinds.push_back({.name = "optimizer", .opClass = OpClass::optimizer});
    return position->second;
}

/// Kinds of all ops of a pass on a stage, one after the other.
std::uint32_t TraceMaker::opKinds(const Step& step)
{
    const auto [position, isNew] =
        m_opKinds.try_emplace({step.pass, step.stage}, static_cast<std::uint32_t>(m_trace.kinds.size()));
    if (!isNew)
        return position->second;
    const Pass& pass = m_program.passes[step.pass];
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
        const Op& op = pass.ops[i];
        SpanKind kind;
        kind.name = m_program.labels[op.label];
        kind.opClass = opClassOf(op);
        kind.stage = step.stage;
        if (op.layer >= 0 && step.stage >= 0)
            kind.layer = m_program.firstLayerOfStage[asIndex(step.stage)] + op.layer;
        kind.group = op.kind == OpKind::send || op.kind == OpKind::receive ? "pp" : communicatorRoleName(op.group);
        kind.bytes = op.kind == OpKind::send || op.kind == OpKind::receive ? m_program.sendBytes : pass.shapes[i].bytes;
        kind.flops = pass.shapes[i].flops;
        kind.overMean = workOverMean(pass.shapes[i], m_scenario);
        m_trace.kinds.push_back(std::move(kind));
    }
    return position->second;
}

void TraceMaker::addClass(int c)
{
    const int rank = m_classes.representative[asIndex(c)];
    const Coordinates where = m_mesh.coordinates(rank);
    Process process;
    process.rank = rank;
    process.multiplicity = m_classes.size[asIndex(c)];
    process.name = "rank " + std::to_string(rank) + " (dp" + std::to_string(where.dp) + " pp" + std::to_string(where.pp) + " cp" +
                   std::to_string(where.cp) + " tp" + std::to_string(where.tp) + ")";
    const int processIndex = static_cast<int>(m_trace.processes.size());
    m_trace.processes.push_back(std::move(process));

    const RankProgram& program = m_program.ranks[asIndex(m_classes.pipelineRank[asIndex(c)])];
    const std::vector<Action>& actions = m_schedule.actions[asIndex(m_classes.pipelineRank[asIndex(c)])];
    const auto firstTrack = static_cast<std::uint32_t>(m_trace.tracks.size());
    Track actionTrack{.process = processIndex, .name = "actions", .role = TrackRole::actions};
    std::array<Track, kStreamCount> streams;
    for (std::size_t s = 0; s < streams.size(); ++s) {
        const auto stream = static_cast<Stream>(s);
        streams[s].process = processIndex;
        streams[s].name = streamName(stream);
        streams[s].role = stream == Stream::compute ? TrackRole::compute : TrackRole::communication;
    }
    std::vector<std::tuple<int, std::int32_t, std::size_t, std::uint32_t>> sentSpans; // class, slot, stream, span
    std::vector<std::tuple<std::int32_t, std::size_t, std::uint32_t>> receivedSpans;  // slot, stream, span
    std::array<std::uint64_t, kCommunicatorRoleCount> sequence{};                     // a class has one group of each role
    std::array<int, kCommunicatorRoleCount> groupIndex{};                             // by role
    groupIndex.fill(-2);                                                              // nobody has asked
    const auto groupOfRole = [&](CommunicatorRole role) {
        int& index = groupIndex[asIndex(role)];
        return index == -2 ? index = groupOf(role, rank) : index;
    };

    const bool kernels = m_detail == TraceDetail::kernels;
    MemoryCurves memory;
    if (kernels)
        memory = measureMemoryCurves(m_program, m_classes, m_result, c);
    else
        memory.add(0, 0, 0);
    HeldBytes held;
    std::size_t place = m_result.firstOp[asIndex(c)];
    // Of a pass two times are looked at, far from those of the next: in no cache, unless they are asked for some passes ahead.
    constexpr int kAhead = 8;
    auto ahead = program.steps.begin();
    std::size_t placeAhead = place;
    const auto fetchNext = [&] {
        if (kernels || ahead == program.steps.end())
            return;
        if (const PassSummary& of = m_summaries[ahead->pass]; of.firstCompute >= 0) {
            __builtin_prefetch(m_result.opStartNs.data() + placeAhead + of.firstCompute);
            __builtin_prefetch(m_result.opEndNs.data() + placeAhead + of.lastCompute);
        }
        placeAhead += m_program.passes[ahead++->pass].ops.size();
    };
    for (int i = 0; i < kAhead; ++i)
        fetchNext();
    for (const Step& step : program.steps) {
        fetchNext();
        const Pass& pass = m_program.passes[step.pass];
        m_poll(kernels ? 8 * pass.ops.size() + 8 : 8);
        const std::uint32_t kindOfFirst = kernels ? opKinds(step) : 0;
        const PassSummary& summary = m_summaries[step.pass];
        const std::size_t passPlace = place;
        place += pass.ops.size();
        const HeldBytes highest{held.activations + summary.highest.activations, held.buffers + summary.highest.buffers};
        held = {held.activations + summary.kept.activations, held.buffers + summary.kept.buffers};
        for (std::size_t i = 0; kernels && i < pass.ops.size(); ++i) {
            const Op& op = pass.ops[i];
            const std::int64_t start = m_result.opStartNs[passPlace + i];
            const std::int64_t stop = m_result.opEndNs[passPlace + i];
            if (op.kind == OpKind::wait)
                continue;
            const auto stream = asIndex(op.stream);
            Track& track = streams[stream];
            std::int64_t shownFrom = start;
            const bool isTransfer = op.kind == OpKind::send || op.kind == OpKind::receive;
            if (isTransfer || op.kind == OpKind::collective) {
                track.group.resize(track.size(), -1);
                track.group.push_back(groupOfRole(isTransfer ? CommunicatorRole::pp : op.group));
            }
            if (isTransfer) {
                const int pipelineRank = op.kind == OpKind::send ? step.sendTo : step.receiveFrom;
                track.peer.resize(track.size(), -1);
                track.peer.push_back(pipelineRank < 0 ? -1 : m_mesh.rank(where.tp, where.cp, where.dp, pipelineRank));
            }
            if (op.kind == OpKind::collective) {
                const int group = m_classes.groups[asIndex(c)][asIndex(op.group)];
                track.correlation.resize(track.size(), 0);
                track.correlation.push_back((static_cast<std::uint64_t>(group + 1) << 32U) | ++sequence[asIndex(op.group)]);
                // Rows must not overlap: arrival may lie before the end of the one before only in a perturbed world.
                shownFrom = std::max(start, track.size() > 0 ? track.startNs.back() + track.durationNs.back() : 0);
            } else if (op.kind == OpKind::receive) {
                receivedSpans.emplace_back(step.receiveSlot, stream, static_cast<std::uint32_t>(track.size()));
            } else if (op.kind == OpKind::send) {
                const int peer = m_classes.peerOf(c, step.sendTo).classIndex;
                sentSpans.emplace_back(peer, step.sendSlot, stream, static_cast<std::uint32_t>(track.size()));
            }
            addSpan(track, shownFrom, std::max(shownFrom, stop), kindOfFirst + static_cast<std::uint32_t>(i), step.microbatch);
        }
        if (summary.firstCompute < 0)
            continue;
        const std::int64_t begin = m_result.opStartNs[passPlace + asIndex(summary.firstCompute)];
        const std::int64_t end = m_result.opEndNs[passPlace + asIndex(summary.lastCompute)];
        if (!kernels) {
            memory.add(begin, highest.activations, highest.buffers);
            memory.add(end, held.activations, held.buffers);
            const SpanPlace here{firstTrack, static_cast<std::uint32_t>(actionTrack.size())};
            if (step.receiveSlot != kNoSlot)
                messageAt(c, step.receiveSlot).to = here;
            if (step.sendSlot != kNoSlot)
                messageAt(m_classes.peerOf(c, step.sendTo).classIndex, step.sendSlot).from = here;
        }
        const std::uint32_t kind = step.action >= 0 ? actionKind(actions[asIndex(step.action)]) : optimizerKind();
        addSpan(actionTrack, begin, end, kind, step.microbatch);
    }

    m_trace.tracks.push_back(std::move(actionTrack));
    for (std::vector<std::int32_t> Track::*column : {&Track::group, &Track::peer})
        if (Track& receives = streams[asIndex(Stream::receive)]; !(receives.*column).empty())
            (receives.*column).resize(receives.size(), -1);
    const std::vector<std::uint32_t> receivePlace = sortByStart(streams[asIndex(Stream::receive)]);
    std::array<std::uint32_t, kStreamCount> trackOf{};
    for (std::size_t s = 0; s < streams.size(); ++s) {
        if (streams[s].size() == 0)
            continue;
        if (!streams[s].correlation.empty())
            streams[s].correlation.resize(streams[s].size(), 0);
        for (std::vector<std::int32_t>* column : {&streams[s].group, &streams[s].peer})
            if (!column->empty())
                column->resize(streams[s].size(), -1);
        trackOf[s] = static_cast<std::uint32_t>(m_trace.tracks.size());
        m_trace.tracks.push_back(std::move(streams[s]));
    }
    for (const auto& [peer, slot, stream, span] : sentSpans)
        messageAt(peer, slot).from = {trackOf[stream], span};
    for (const auto& [slot, stream, span] : receivedSpans)
        messageAt(c, slot).to = {trackOf[stream], receivePlace[span]};

    const ModelStates& states = program.states;
    const std::int64_t always = states.parameters + states.gradients + states.optimizer + states.buffers;
    Counter counter{.process = processIndex, .name = "memory", .unit = "bytes"};
    counter.value.reserve(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i)
        counter.value.push_back(always + memory.activations[i] + memory.buffers[i]);
    counter.timeNs = std::move(memory.timeNs);
    m_trace.counters.push_back(std::move(counter));
}

} // namespace

Trace makeTrace(const Simulation& simulation, TraceDetail detail)
{
    return TraceMaker(simulation, detail).make();
}

} // namespace sim
