#include "live/stream/make_trace.h"

#include "sim/cancel.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace live {
namespace {

/// A wait below this is the cost of taking the stamps.
constexpr std::int64_t kShortestWaitNs = 1000;

sim::TrackRole roleOf(SpanTrack track)
{
    return track == SpanTrack::actions   ? sim::TrackRole::actions
           : track == SpanTrack::compute ? sim::TrackRole::compute
                                         : sim::TrackRole::communication;
}

bool isSend(SpanTrack track)
{
    return track == SpanTrack::sendForward || track == SpanTrack::sendBackward;
}

/// Pipeline transfers are drawn as flows; all other communication is found by its correlation.
bool isTransfer(SpanTrack track)
{
    return isSend(track) || track == SpanTrack::receive;
}

template <class T>
void insertAt(std::vector<T>& column, std::size_t place, T value)
{
    column.insert(column.begin() + static_cast<std::ptrdiff_t>(place), value);
}

/// Keeps the elements whose new index is not negative.
template <class T>
void keep(std::vector<T>& column, const std::vector<std::int32_t>& newIndex)
{
    if (column.empty())
        return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < column.size(); ++i)
        if (newIndex[i] >= 0)
            column[kept++] = column[i];
    column.resize(kept);
}

} // namespace

std::uint64_t correlationInTrace(const SpanRecord& span)
{
    // A step has fewer than 2^40 requests; 0 stays "none".
    return span.correlation == 0
               ? 0
               : (static_cast<std::uint64_t>(static_cast<std::uint32_t>(span.step + 1)) << 40U) + span.correlation;
}

void TraceBuilder::start(const RunDescription& description)
{
    const std::uint64_t layoutVersion = m_layoutVersion + 1;
    *this = TraceBuilder();
    m_layoutVersion = layoutVersion;
    m_trace.title = description.name;
    m_trace.slices = description.slices;
    for (int rank = 0; rank < description.worldSize; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        m_trace.processes.push_back(
            {.rank = rank,
             .name = index < description.rankNames.size() ? description.rankNames[index] : "rank " + std::to_string(rank)});
        m_trace.counters.push_back({.process = rank, .name = "memory", .unit = "bytes"});
    }
    m_trackOf.resize(m_trace.processes.size());
    for (auto& tracks : m_trackOf)
        tracks.fill(kNone);
}

void TraceBuilder::add(std::span<const sim::SpanKind> kinds, std::span<const RankSpan> spans, std::span<const RankMemory> memory)
{
    for (const sim::SpanKind& kind : kinds) {
        m_kindOfRecord.push_back(static_cast<std::uint32_t>(m_trace.kinds.size()));
        m_trace.kinds.push_back(kind);
    }
    if (!spans.empty()) {
        const auto first = std::min_element(spans.begin(), spans.end(),
                                            [](const RankSpan& a, const RankSpan& b) { return a.span.startNs < b.span.startNs; });
        if (!m_hasOrigin || first->span.startNs < m_originNs)
            setOrigin(first->span.startNs);
        addTracks(spans);
    }
    m_firstChanged.resize(m_trace.tracks.size());
    for (std::size_t track = 0; track < m_trace.tracks.size(); ++track)
        m_firstChanged[track] = m_trace.tracks[track].size();
    if (isInNoOrder(spans)) {
        addInOrder(spans);
    } else {
        sim::CancelPoll pollCancel;
        for (const RankSpan& span : spans) {
            pollCancel();
            const Pieces pieces = piecesOf(span.span);
            if (pieces.hasWait)
                addWait(span, pieces);
            addWork(span, pieces);
        }
    }
    if (!m_hasOrigin) {
        m_earlyMemory.insert(m_earlyMemory.end(), memory.begin(), memory.end());
        return;
    }
    for (const RankMemory& value : std::exchange(m_earlyMemory, {}))
        addMemory(value);
    for (const RankMemory& value : memory)
        addMemory(value);
}

/// Tracks that appear are put where the simulator has them: by rank, then in the order of SpanTrack.
void TraceBuilder::addTracks(std::span<const RankSpan> spans)
{
    bool isNew = false;
    for (const RankSpan& span : spans) {
        assert(span.rank >= 0 && static_cast<std::size_t>(span.rank) < m_trackOf.size());
        std::int32_t& track = m_trackOf[static_cast<std::size_t>(span.rank)][static_cast<std::size_t>(span.span.track)];
        if (track == kNone) {
            track = kNone - 1; // wanted
            isNew = true;
        }
    }
    if (!isNew)
        return;
    ++m_layoutVersion;
    std::vector<sim::Track> oldTracks = std::exchange(m_trace.tracks, {});
    std::vector<std::vector<std::int32_t>> oldMeetings = std::exchange(m_meetingOf, {});
    std::vector<std::uint32_t> newIndex(oldTracks.size());
    m_whichTrack.clear();
    for (std::size_t rank = 0; rank < m_trackOf.size(); ++rank) {
        for (int which = 0; which < kSpanTrackCount; ++which) {
            std::int32_t& track = m_trackOf[rank][static_cast<std::size_t>(which)];
            if (track == kNone)
                continue;
            const auto place = static_cast<std::int32_t>(m_trace.tracks.size());
            if (track >= 0) {
                const auto old = static_cast<std::size_t>(track);
                newIndex[old] = static_cast<std::uint32_t>(place);
                m_trace.tracks.push_back(std::move(oldTracks[old]));
                m_meetingOf.push_back(std::move(oldMeetings[old]));
            } else {
                m_trace.tracks.push_back({.process = static_cast<int>(rank),
                                          .name = spanTrackName(static_cast<SpanTrack>(which)),
                                          .role = roleOf(static_cast<SpanTrack>(which))});
                m_meetingOf.emplace_back();
            }
            m_whichTrack.push_back(static_cast<SpanTrack>(which));
            track = place;
        }
    }
    for (Meeting& meeting : m_meetings) {
        if (meeting.hasFrom)
            meeting.ends.fromTrack = newIndex[meeting.ends.fromTrack];
        if (meeting.hasTo)
            meeting.ends.toTrack = newIndex[meeting.ends.toTrack];
        if (meeting.flow != kNone)
            m_trace.flows[static_cast<std::size_t>(meeting.flow)] = meeting.ends;
    }
}

TraceBuilder::Pieces TraceBuilder::piecesOf(const SpanRecord& span) const
{
    Pieces pieces;
    pieces.startNs = pieces.readyNs = span.startNs - m_originNs;
    pieces.endNs = std::max(pieces.startNs, span.endNs - m_originNs);
    if (roleOf(span.track) != sim::TrackRole::communication)
        return pieces;
    const std::int64_t ready = std::clamp(span.readyNs - m_originNs, pieces.startNs, pieces.endNs);
    pieces.hasWait = ready - pieces.startNs >= kShortestWaitNs;
    if (pieces.hasWait)
        pieces.readyNs = ready;
    return pieces;
}

std::size_t TraceBuilder::trackOf(const RankSpan& span) const
{
    return static_cast<std::size_t>(m_trackOf[static_cast<std::size_t>(span.rank)][static_cast<std::size_t>(span.span.track)]);
}

/// Whether putting each span at its place among those before could cost more than sorting them. What a run recorded is nearly in
/// order; what somebody sent need not be.
bool TraceBuilder::isInNoOrder(std::span<const RankSpan> spans) const
{
    constexpr double kMostMoves = 1 << 26;
    struct Count {
        std::int64_t lastNs = 0;
        double spans = 0, late = 0;
    };
    std::vector<Count> counts(m_trace.tracks.size());
    for (std::size_t track = 0; track < counts.size(); ++track)
        if (const sim::Track& known = m_trace.tracks[track]; known.size() > 0)
            counts[track] = {known.startNs.back(), static_cast<double>(known.size()), 0};
    for (const RankSpan& span : spans) {
        Count& count = counts[trackOf(span)];
        const Pieces pieces = piecesOf(span.span);
        for (const std::int64_t start : {pieces.startNs, pieces.readyNs}) {
            count.late += start < count.lastNs ? 1 : 0;
            count.lastNs = std::max(count.lastNs, start);
        }
        count.spans += 2;
    }
    double moves = 0;
    for (const Count& count : counts)
        moves += count.late * count.spans;
    return moves > kMostMoves;
}

void TraceBuilder::addInOrder(std::span<const RankSpan> spans)
{
    struct Piece {
        std::int64_t startNs = 0;
        std::size_t span = 0;
        bool isWait = false;
    };
    std::vector<Piece> order;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const Pieces pieces = piecesOf(spans[i].span);
        if (pieces.hasWait)
            order.push_back({pieces.startNs, i, true});
        order.push_back({pieces.readyNs, i, false});
    }
    sim::CancelPoll pollCancel;
    std::stable_sort(order.begin(), order.end(), [&](const Piece& a, const Piece& b) {
        pollCancel();
        return a.startNs < b.startNs;
    });
    for (const Piece& piece : order) {
        pollCancel();
        const RankSpan& span = spans[piece.span];
        if (piece.isWait)
            addWait(span, piecesOf(span.span));
        else
            addWork(span, piecesOf(span.span));
    }
}

void TraceBuilder::addWait(const RankSpan& span, const Pieces& pieces)
{
    const std::uint32_t kind = m_kindOfRecord.at(span.span.kind);
    insert(trackOf(span), pieces.startNs, pieces.readyNs, waitKind(m_trace.kinds[kind].group), span.span.microbatch, 0);
}

void TraceBuilder::addWork(const RankSpan& rankSpan, const Pieces& pieces)
{
    const SpanRecord& span = rankSpan.span;
    const std::size_t track = trackOf(rankSpan);
    const bool isComm = roleOf(span.track) == sim::TrackRole::communication;
    m_trace.endNs = std::max(m_trace.endNs, pieces.endNs);
    const std::size_t place = insert(track, pieces.readyNs, pieces.endNs, m_kindOfRecord.at(span.kind), span.microbatch,
                                     isComm && !isTransfer(span.track) ? correlationInTrace(span) : 0);
    if (isTransfer(span.track) && span.correlation != 0)
        meet(track, place, span);
}

std::uint32_t TraceBuilder::waitKind(const std::string& group)
{
    const auto [place, isNew] = m_waitKinds.try_emplace(group, static_cast<std::uint32_t>(m_trace.kinds.size()));
    if (isNew)
        m_trace.kinds.push_back(
            {.name = group.empty() ? "wait" : "wait " + group, .opClass = sim::OpClass::other, .group = group});
    return place->second;
}

/// Spans come in the order of their ends, tracks are in the order of starts: the place is near the end.
std::size_t TraceBuilder::insert(std::size_t trackIndex, std::int64_t startNs, std::int64_t endNs, std::uint32_t kind,
                                 std::int32_t microbatch, std::uint64_t correlation)
{
    sim::Track& track = m_trace.tracks[trackIndex];
    std::vector<std::int32_t>& meetings = m_meetingOf[trackIndex];
    std::size_t place = track.size();
    for (; place > 0 && track.startNs[place - 1] > startNs; --place) {
        const std::int32_t meetingIndex = meetings.empty() ? kNone : meetings[place - 1];
        if (meetingIndex == kNone)
            continue;
        Meeting& meeting = m_meetings[static_cast<std::size_t>(meetingIndex)];
        ++(isSend(m_whichTrack[trackIndex]) ? meeting.ends.fromSpan : meeting.ends.toSpan);
        if (meeting.flow != kNone)
            m_trace.flows[static_cast<std::size_t>(meeting.flow)] = meeting.ends;
    }
    insertAt(track.startNs, place, startNs);
    insertAt(track.durationNs, place, endNs - startNs);
    insertAt(track.kind, place, kind);
    insertAt(track.microbatch, place, microbatch);
    const SpanTrack which = m_whichTrack[trackIndex];
    if (isTransfer(which))
        insertAt(meetings, place, kNone);
    else if (track.role == sim::TrackRole::communication)
        insertAt(track.correlation, place, correlation);
    m_firstChanged[trackIndex] = std::min(m_firstChanged[trackIndex], place);
    return place;
}

void TraceBuilder::meet(std::size_t track, std::size_t span, const SpanRecord& record)
{
    const std::uint64_t correlation = correlationInTrace(record);
    const auto [place, isNew] = m_openMeetings.try_emplace(correlation, static_cast<std::int32_t>(m_meetings.size()));
    if (isNew)
        m_meetings.push_back({.correlation = correlation});
    Meeting& meeting = m_meetings[static_cast<std::size_t>(place->second)];
    if (isSend(record.track) ? meeting.hasFrom : meeting.hasTo)
        return; // two of the same: whatever they are, no flow
    m_meetingOf[track][span] = place->second;
    if (isSend(record.track)) {
        meeting.hasFrom = true;
        meeting.ends.fromTrack = static_cast<std::uint32_t>(track);
        meeting.ends.fromSpan = static_cast<std::uint32_t>(span);
    } else {
        meeting.hasTo = true;
        meeting.ends.toTrack = static_cast<std::uint32_t>(track);
        meeting.ends.toSpan = static_cast<std::uint32_t>(span);
    }
    if (meeting.hasFrom && meeting.hasTo) {
        meeting.flow = static_cast<std::int32_t>(m_trace.flows.size());
        m_trace.flows.push_back(meeting.ends);
        m_openMeetings.erase(place);
    }
}

void TraceBuilder::addMemory(const RankMemory& memory)
{
    assert(memory.rank >= 0 && static_cast<std::size_t>(memory.rank) < m_trace.counters.size());
    sim::Counter& counter = m_trace.counters[static_cast<std::size_t>(memory.rank)];
    const std::int64_t time = std::max<std::int64_t>(memory.value.timeNs - m_originNs, 0);
    // What was held before the first span is what is held at its start.
    if (time == 0 && !counter.timeNs.empty() && counter.timeNs.back() == 0) {
        counter.value.back() = memory.value.value;
        return;
    }
    counter.timeNs.push_back(counter.timeNs.empty() ? time : std::max(time, counter.timeNs.back()));
    counter.value.push_back(memory.value.value);
    m_trace.endNs = std::max(m_trace.endNs, counter.timeNs.back());
}

void TraceBuilder::setOrigin(std::int64_t originNs)
{
    const std::int64_t shift = m_hasOrigin ? m_originNs - originNs : 0;
    m_hasOrigin = true;
    m_originNs = originNs;
    if (shift == 0)
        return;
    for (sim::Track& track : m_trace.tracks)
        for (std::int64_t& start : track.startNs)
            start += shift;
    for (sim::Counter& counter : m_trace.counters)
        for (std::int64_t& time : counter.timeNs)
            time += shift;
    m_trace.endNs += shift;
    ++m_layoutVersion;
}

void TraceBuilder::forgetBefore(std::int64_t timeNs)
{
    ++m_layoutVersion;
    std::vector<std::vector<std::int32_t>> newIndex(m_trace.tracks.size());
    for (std::size_t i = 0; i < m_trace.tracks.size(); ++i) {
        sim::Track& track = m_trace.tracks[i];
        newIndex[i].resize(track.size());
        std::int32_t kept = 0;
        for (std::size_t span = 0; span < track.size(); ++span)
            newIndex[i][span] = track.startNs[span] + track.durationNs[span] > timeNs ? kept++ : kNone;
        keep(track.startNs, newIndex[i]);
        keep(track.durationNs, newIndex[i]);
        keep(track.kind, newIndex[i]);
        keep(track.microbatch, newIndex[i]);
        keep(track.correlation, newIndex[i]);
        m_meetingOf[i].assign(m_meetingOf[i].empty() ? 0 : static_cast<std::size_t>(kept), kNone);
    }
    // An arrow needs both its ends.
    m_trace.flows.clear();
    m_openMeetings.clear();
    for (const Meeting& old : std::exchange(m_meetings, {})) {
        Meeting meeting = old;
        const std::int32_t from = meeting.hasFrom ? newIndex[old.ends.fromTrack][old.ends.fromSpan] : 0;
        const std::int32_t to = meeting.hasTo ? newIndex[old.ends.toTrack][old.ends.toSpan] : 0;
        if (from == kNone || to == kNone)
            continue;
        const auto index = static_cast<std::int32_t>(m_meetings.size());
        meeting.ends.fromSpan = static_cast<std::uint32_t>(from);
        meeting.ends.toSpan = static_cast<std::uint32_t>(to);
        if (meeting.hasFrom)
            m_meetingOf[meeting.ends.fromTrack][meeting.ends.fromSpan] = index;
        if (meeting.hasTo)
            m_meetingOf[meeting.ends.toTrack][meeting.ends.toSpan] = index;
        if (meeting.flow != kNone) {
            meeting.flow = static_cast<std::int32_t>(m_trace.flows.size());
            m_trace.flows.push_back(meeting.ends);
        } else {
            m_openMeetings.emplace(meeting.correlation, index);
        }
        m_meetings.push_back(meeting);
    }
    for (sim::Counter& counter : m_trace.counters) {
        // The value that holds at the time stays.
        const auto after = std::upper_bound(counter.timeNs.begin(), counter.timeNs.end(), timeNs);
        const std::ptrdiff_t drop = std::max<std::ptrdiff_t>(after - counter.timeNs.begin() - 1, 0);
        counter.timeNs.erase(counter.timeNs.begin(), counter.timeNs.begin() + drop);
        counter.value.erase(counter.value.begin(), counter.value.begin() + drop);
    }
}

sim::Trace makeTrace(const RunHistory& history)
{
    return makeTrace(history, history.stepsWithSpans());
}

sim::Trace makeTrace(const RunHistory& history, RunHistory::StepRange range)
{
    TraceBuilder builder(history.description);
    const std::vector<RankSpan> spans = history.spans(range);
    std::vector<RankMemory> memory = history.memory();
    if (!spans.empty()) {
        const auto lastEnd = std::max_element(spans.begin(), spans.end(), [](const RankSpan& a, const RankSpan& b) {
                                 return a.span.endNs < b.span.endNs;
                             })->span.endNs;
        std::erase_if(memory, [&](const RankMemory& value) { return value.value.timeNs > lastEnd; });
    }
    builder.add(history.kinds, spans, memory);
    return builder.trace();
}

} // namespace live
