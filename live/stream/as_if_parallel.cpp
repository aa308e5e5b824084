#include "live/stream/as_if_parallel.h"

#include "live/stream/make_trace.h"
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace live {
namespace {

using sim::asIndex;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// What a rank does, in its own order. At one instant it first goes on from a wait, then issues, then computes.
enum class Deed : std::uint8_t { join, issue, compute };

struct Event {
    std::int64_t timeNs = 0; ///< wall clock: for the order only
    Deed deed = Deed::compute;
    std::size_t span = 0;
};

/// A communication: all spans of one correlation.
struct CollectiveMeeting {
    std::vector<std::size_t> members; ///< spans
    std::size_t arrived = 0;
    std::int64_t beginNs = 0; ///< latest arrival so far
    std::vector<int> waiting; ///< ranks that cannot go on before it is done
    bool isDone() const { return arrived == members.size(); }
};

class Replay {
public:
    Replay(std::span<const RankSpan> spans, int worldSize, const std::map<std::string, int>& groupSizes,
           const std::vector<sim::SpanKind>& kinds)
        : m_spans(spans), m_groupSizes(groupSizes), m_kinds(kinds), m_ranks(asIndex(worldSize)), m_meetingOf(spans.size(), kNone),
          m_hasArrived(spans.size(), 0)
    {
        m_result.assign(spans.begin(), spans.end());
    }

    std::vector<RankSpan> run()
    {
        findMeetings();
        findEvents();
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank)
            m_ready.push_back(static_cast<int>(rank));
        while (!m_ready.empty()) {
            const int rank = m_ready.back();
            m_ready.pop_back();
            advance(rank);
        }
        for (std::size_t rank = 0; rank < m_ranks.size(); ++rank)
            if (m_ranks[rank].next < m_ranks[rank].events.size())
                reportCircle(static_cast<int>(rank));
        placeActions();
        std::erase_if(m_result, [](const RankSpan& span) { return span.span.track == SpanTrack::gpuKernels; }); // not replayed
        return std::move(m_result);
    }

private:
    struct Rank {
        std::vector<Event> events;
        std::vector<std::size_t> computes, actions; ///< spans, in order of start
        std::size_t next = 0;                       ///< event
        std::int64_t clockNs = 0;
    };

    static bool isComm(const SpanRecord& span) { return commOf(span.track) >= 0; }
    const SpanRecord& at(std::size_t span) const { return m_spans[span].span; }
    Rank& rankOf(std::size_t span) { return m_ranks[asIndex(m_spans[span].rank)]; }
    std::string nameOf(std::size_t span) const;
    void findMeetings();
    void checkMembers(const CollectiveMeeting&) const;
    void findEvents();
    void advance(int rank);
    void arrive(std::size_t span, std::int64_t timeNs);
    std::int64_t* communicatorOf(const CollectiveMeeting&);
    void placeActions();
    [[noreturn]] void reportCircle(int rank) const;

    std::span<const RankSpan> m_spans;
    const std::map<std::string, int>& m_groupSizes;
    const std::vector<sim::SpanKind>& m_kinds;
    std::vector<Rank> m_ranks;
    std::vector<CollectiveMeeting> m_meetings;
    std::vector<std::size_t> m_meetingOf; ///< [span]
    std::vector<char> m_hasArrived;       ///< [span]
    std::vector<RankSpan> m_result;
    std::vector<int> m_ready;
    std::map<std::pair<int, std::vector<int>>, std::int64_t> m_communicators; ///< lane and ranks → until when it is taken
    sim::CancelPoll m_pollCancel;
};

std::string Replay::nameOf(std::size_t span) const
{
    const std::uint32_t kind = at(span).kind;
    std::string name = spanTrackName(at(span).track);
    if (kind < m_kinds.size())
        name += " \"" + m_kinds[kind].name + "\"";
    return name + " (request " + std::to_string(at(span).correlation) + ")";
}

void Replay::findMeetings()
{
    std::unordered_map<std::uint64_t, std::size_t> byCorrelation;
    for (std::size_t i = 0; i < m_spans.size(); ++i) {
        m_pollCancel();
        if (m_spans[i].rank < 0 || asIndex(m_spans[i].rank) >= m_ranks.size())
            throw sim::Error("a span is of rank " + std::to_string(m_spans[i].rank) + ", but there are " +
                             std::to_string(m_ranks.size()) + " ranks");
        if (at(i).step != at(0).step)
            throw sim::Error("spans of steps " + std::to_string(at(0).step) + " and " + std::to_string(at(i).step) +
                             " cannot be replayed as one");
        if (!isComm(at(i)))
            continue;
        std::size_t meeting = m_meetings.size();
        if (at(i).correlation != 0) // without one it is alone
            meeting = byCorrelation.try_emplace(at(i).correlation, meeting).first->second;
        if (meeting == m_meetings.size())
            m_meetings.emplace_back();
        m_meetings[meeting].members.push_back(i);
        m_meetingOf[i] = meeting;
    }
    for (const CollectiveMeeting& meeting : m_meetings)
        if (at(meeting.members[0]).correlation != 0)
            checkMembers(meeting);
}

void Replay::checkMembers(const CollectiveMeeting& meeting) const
{
    const std::size_t first = meeting.members[0];
    const bool isTransfer = commOf(at(first).track) == commOf(SpanTrack::receive);
    const std::string& group = at(first).kind < m_kinds.size() ? m_kinds[at(first).kind].group : std::string();
    const auto size = m_groupSizes.find(group);
    const bool isRing = at(first).track == SpanTrack::cp && meeting.members.size() == 2; // neighbours of a ring in pairs
    std::size_t expected = meeting.members.size();
    if (isTransfer)
        expected = 2;
    else if (size != m_groupSizes.end() && size->second > 0 && !isRing)
        expected = asIndex(size->second);
    std::string ranks;
    for (const std::size_t member : meeting.members)
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(m_spans[member].rank);
    if (meeting.members.size() != expected)
        throw StepInPart("the step cannot be replayed: " + nameOf(first) + " has " + std::to_string(meeting.members.size()) +
                             " of " + std::to_string(expected) + " members (rank " + ranks +
                             "); the spans of the others were dropped or lie beyond what is kept",
                         meeting.members.size(), expected);
    const auto receives = std::count_if(meeting.members.begin(), meeting.members.end(),
                                        [&](std::size_t member) { return at(member).track == SpanTrack::receive; });
    if (isTransfer && receives != 1)
        throw sim::Error("the step cannot be replayed: " + nameOf(first) + " joins " +
                         (receives == 0 ? "two sends" : "two receives") + " (rank " + ranks + ")");
}

void Replay::findEvents()
{
    std::vector<std::int64_t> computedUntil(m_ranks.size(), std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 0; i < m_spans.size(); ++i) {
        m_pollCancel();
        const SpanRecord& span = at(i);
        Rank& rank = rankOf(i);
        std::int64_t& until = computedUntil[asIndex(m_spans[i].rank)];
        if (span.track == SpanTrack::actions) {
            rank.actions.push_back(i);
        } else if (span.track == SpanTrack::compute) {
            rank.events.push_back({span.startNs, Deed::compute, i});
            rank.computes.push_back(i);
            until = std::max(until, span.endNs);
        } else if (isComm(span)) {
            rank.events.push_back({span.startNs, Deed::issue, i});
            // Nobody waits for a send but the end of the step; its record lies where it was found done.
            const bool isSend = span.track == SpanTrack::sendForward || span.track == SpanTrack::sendBackward;
            if (!isSend)
                rank.events.push_back({std::max(span.endNs, until), Deed::join, i});
        }
    }
    const auto startsBefore = [&](std::size_t a, std::size_t b) { return at(a).startNs < at(b).startNs; };
    for (Rank& rank : m_ranks) {
        sim::checkCancelled();
        // Records lie in the order of their ends, which is nearly that of events.
        std::stable_sort(rank.events.begin(), rank.events.end(), [](const Event& a, const Event& b) {
            return a.timeNs != b.timeNs ? a.timeNs < b.timeNs : a.deed < b.deed;
        });
        std::stable_sort(rank.computes.begin(), rank.computes.end(), startsBefore);
        std::stable_sort(rank.actions.begin(), rank.actions.end(), startsBefore);
    }
}

/// Goes on with a rank until it has to wait.
void Replay::advance(int rankIndex)
{
    Rank& rank = m_ranks[asIndex(rankIndex)];
    for (; rank.next < rank.events.size(); ++rank.next) {
        m_pollCancel();
        const Event& event = rank.events[rank.next];
        SpanRecord& result = m_result[event.span].span;
        const SpanRecord& measured = at(event.span);
        switch (event.deed) {
        case Deed::compute:
            result.startNs = result.readyNs = rank.clockNs;
            rank.clockNs += lengthNs(measured);
            result.endNs = rank.clockNs;
            break;
        case Deed::issue:
            arrive(event.span, rank.clockNs);
            break;
        case Deed::join: {
            CollectiveMeeting& meeting = m_meetings[m_meetingOf[event.span]];
            arrive(event.span, rank.clockNs); // one that took no time is met here first
            if (!meeting.isDone()) {
                meeting.waiting.push_back(rankIndex);
                return;
            }
            rank.clockNs = std::max(rank.clockNs, result.endNs);
            break;
        }
        }
    }
}

void Replay::arrive(std::size_t span, std::int64_t timeNs)
{
    CollectiveMeeting& meeting = m_meetings[m_meetingOf[span]];
    if (std::exchange(m_hasArrived[span], 1) != 0)
        return;
    m_result[span].span.startNs = timeNs;
    meeting.beginNs = std::max(meeting.beginNs, timeNs);
    if (++meeting.arrived < meeting.members.size())
        return;
    std::int64_t* const takenUntil = communicatorOf(meeting);
    if (takenUntil)
        meeting.beginNs = std::max(meeting.beginNs, *takenUntil);
    for (const std::size_t member : meeting.members) {
        const SpanRecord& measured = at(member);
        SpanRecord& result = m_result[member].span;
        result.readyNs = meeting.beginNs;
        result.endNs = meeting.beginNs + lengthNs(measured);
        if (takenUntil)
            *takenUntil = std::max(*takenUntil, result.endNs);
    }
    m_ready.insert(m_ready.end(), meeting.waiting.begin(), meeting.waiting.end());
    meeting.waiting.clear();
}

/// Its members issue what they have in one order, so that an earlier one is done when a later one is. Messages between two ranks
/// have a communicator a direction, and follow each other as their buffers allow.
std::int64_t* Replay::communicatorOf(const CollectiveMeeting& meeting)
{
    const int lane = commOf(at(meeting.members[0]).track);
    if (lane == commOf(SpanTrack::receive) || meeting.members.size() < 2)
        return nullptr;
    std::vector<int> ranks;
    ranks.reserve(meeting.members.size());
    for (const std::size_t member : meeting.members)
        ranks.push_back(m_spans[member].rank);
    std::sort(ranks.begin(), ranks.end());
    return &m_communicators[{lane, std::move(ranks)}];
}

/// An action lasts from its first kernel to its last, as in a simulation.
void Replay::placeActions()
{
    for (Rank& rank : m_ranks) {
        std::size_t compute = 0;
        std::int64_t clock = 0;
        for (const std::size_t action : rank.actions) {
            const SpanRecord& measured = at(action);
            SpanRecord& result = m_result[action].span;
            while (compute < rank.computes.size() && at(rank.computes[compute]).startNs < measured.startNs)
                clock = m_result[rank.computes[compute++]].span.endNs;
            result.startNs = compute < rank.computes.size() && at(rank.computes[compute]).startNs < measured.endNs
                                 ? m_result[rank.computes[compute]].span.startNs
                                 : clock;
            result.endNs = result.startNs;
            while (compute < rank.computes.size() && at(rank.computes[compute]).startNs < measured.endNs)
                clock = result.endNs = m_result[rank.computes[compute++]].span.endNs;
            result.readyNs = result.startNs;
        }
    }
}

void Replay::reportCircle(int start) const
{
    // Each stuck rank waits for a communication that some other stuck rank has not reached: following them meets a rank twice.
    std::vector<char> seen(m_ranks.size(), 0);
    std::string chain;
    for (int rank = start; seen[asIndex(rank)]++ == 0;) {
        const Rank& stuck = m_ranks[asIndex(rank)];
        const std::size_t span = stuck.events[stuck.next].span;
        int missing = rank;
        for (const std::size_t member : m_meetings[m_meetingOf[span]].members)
            if (m_hasArrived[member] == 0)
                missing = m_spans[member].rank;
        chain += "rank " + std::to_string(rank) + " waits for rank " + std::to_string(missing) + " at " + nameOf(span) + "; ";
        rank = missing;
    }
    throw sim::Error("the step cannot be replayed: ranks wait in a circle: " + chain +
                     "records of this step are wrong or out of order");
}

} // namespace

std::int64_t lengthNs(const SpanRecord& span)
{
    if (span.cpuNs > 0)
        return span.cpuNs;
    return span.endNs - (commOf(span.track) >= 0 ? std::clamp(span.readyNs, span.startNs, span.endNs) : span.startNs);
}

AsIfParallel asIfParallel(std::span<const RankSpan> spans, int worldSize, const std::map<std::string, int>& groupSizes,
                          const std::vector<sim::SpanKind>& kinds)
{
    AsIfParallel result;
    result.spans = Replay(spans, worldSize, groupSizes, kinds).run();
    for (const RankSpan& span : result.spans)
        result.stepNs = std::max(result.stepNs, span.span.endNs);
    RunDescription run;
    run.worldSize = worldSize;
    result.trace = makeTrace(run, kinds, result.spans);
    return result;
}

AsIfParallel asIfParallel(const RunHistory& history, int step)
{
    const std::vector<RankSpan> spans = history.spans({step, step});
    if (spans.empty())
        throw sim::Error("of step " + std::to_string(step) + " no spans are kept" +
                         (history.stepsWithSpans().last < history.stepsWithSpans().first
                              ? ""
                              : "; steps " + std::to_string(history.stepsWithSpans().first) + " to " +
                                    std::to_string(history.stepsWithSpans().last) + " are"));
    AsIfParallel result = asIfParallel(spans, history.description.worldSize, history.description.groupSizes, history.kinds);
    result.trace.title = history.description.name + ", step " + std::to_string(step) + ", as if parallel";
    result.trace.slices = history.description.slices;
    for (std::size_t rank = 0; rank < std::min(result.trace.processes.size(), history.description.rankNames.size()); ++rank)
        result.trace.processes[rank].name = history.description.rankNames[rank];
    return result;
}

} // namespace live
