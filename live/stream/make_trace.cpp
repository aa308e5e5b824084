#include "live/stream/make_trace.h"

#include "sim/cancel.h"
#include "sim/index.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace live {
namespace {

using sim::asIndex;

/// A wait below this is the cost of taking the stamps.
constexpr std::int64_t kShortestWaitNs = 1000;

sim::TrackRole roleOf(SpanTrack track)
{
    return track == SpanTrack::actions      ? sim::TrackRole::actions
           : track == SpanTrack::compute    ? sim::TrackRole::compute
           : track == SpanTrack::gpuKernels ? sim::TrackRole::other // compute has their time already
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

/// A span or the wait before it, on its track.
struct Piece {
    std::int64_t startNs = 0, endNs = 0;
    std::uint32_t kind = 0;
    std::int32_t microbatch = -1;
    std::uint64_t correlation = 0;
    std::int32_t meeting = -1; ///< of a transfer
};

/// A send and its receive, or the one of them that is known so far.
struct FlowEnds {
    sim::Flow ends;
    bool hasFrom = false, hasTo = false;
};

class Builder {
public:
    Builder(const RunDescription& run, std::span<const sim::SpanKind> kinds) : m_pieces(asIndex(run.worldSize) * kSpanTrackCount)
    {
        m_trace.title = run.name;
        m_trace.slices = run.slices;
        m_trace.kinds.assign(kinds.begin(), kinds.end());
        for (int rank = 0; rank < run.worldSize; ++rank) {
            const auto index = asIndex(rank);
            m_trace.processes.push_back(
                {.rank = rank, .name = index < run.rankNames.size() ? run.rankNames[index] : "rank " + std::to_string(rank)});
            m_trace.counters.push_back({.process = rank, .name = "memory", .unit = "bytes"});
        }
    }
    void add(std::span<const RankSpan>);
    void add(const RankMemory&);
    sim::Trace take();

private:
    void add(const RankSpan&);
    std::uint32_t waitKind(const std::string& group);
    std::uint32_t kindWithBytes(const SpanRecord&);
    std::int32_t meet(const SpanRecord&);

    sim::Trace m_trace;
    std::int64_t m_originNs = 0;
    std::vector<std::vector<Piece>> m_pieces;                                         ///< [rank * kSpanTrackCount + SpanTrack]
    std::unordered_map<std::string, std::uint32_t> m_waitKinds;                       ///< by group
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> m_kindsWithBytes; ///< by the run's kind and bytes
    std::vector<FlowEnds> m_meetings;
    std::vector<std::int32_t> m_complete;                           ///< meetings with both ends, as they came about
    std::unordered_map<std::uint64_t, std::int32_t> m_openMeetings; ///< by correlation: one end is missing
    sim::CancelPoll m_pollCancel;
};

void Builder::add(std::span<const RankSpan> spans)
{
    m_originNs = std::min_element(spans.begin(), spans.end(), [](const RankSpan& a, const RankSpan& b) {
                     return a.span.startNs < b.span.startNs;
                 })->span.startNs;
    for (const RankSpan& span : spans) {
        m_pollCancel();
        add(span);
    }
}

void Builder::add(const RankSpan& rankSpan)
{
    const SpanRecord& span = rankSpan.span;
    assert(rankSpan.rank >= 0 && asIndex(rankSpan.rank) < m_trace.processes.size());
    std::vector<Piece>& track = m_pieces[asIndex(rankSpan.rank) * kSpanTrackCount + asIndex(span.track)];
    const bool isComm = roleOf(span.track) == sim::TrackRole::communication;
    std::int64_t startNs = span.startNs - m_originNs;
    const std::int64_t endNs = std::max(startNs, span.endNs - m_originNs);
    const std::int64_t readyNs = std::clamp(span.readyNs - m_originNs, startNs, endNs);
    if (isComm && readyNs - startNs >= kShortestWaitNs) {
        track.push_back({startNs, readyNs, waitKind(m_trace.kinds.at(span.kind).group), span.microbatch});
        startNs = readyNs;
    }
    assert(span.kind < m_trace.kinds.size());
    Piece piece{startNs, endNs, kindWithBytes(span), span.microbatch};
    if (!isTransfer(span.track))
        piece.correlation = correlationInTrace(span);
    else if (span.correlation != 0)
        piece.meeting = meet(span);
    track.push_back(piece);
    m_trace.endNs = std::max(m_trace.endNs, endNs);
}

std::uint32_t Builder::waitKind(const std::string& group)
{
    const auto [place, isNew] = m_waitKinds.try_emplace(group, static_cast<std::uint32_t>(m_trace.kinds.size()));
    if (isNew)
        m_trace.kinds.push_back(
            {.name = group.empty() ? "wait" : "wait " + group, .opClass = sim::OpClass::other, .group = group});
    return place->second;
}

/// In a run a transfer's bytes are the span's, in a trace they are its kind's.
std::uint32_t Builder::kindWithBytes(const SpanRecord& span)
{
    if (span.bytes == m_trace.kinds[span.kind].bytes)
        return span.kind;
    const auto [place, isNew] =
        m_kindsWithBytes.try_emplace({span.kind, span.bytes}, static_cast<std::uint32_t>(m_trace.kinds.size()));
    if (isNew) {
        m_trace.kinds.push_back(m_trace.kinds[span.kind]);
        m_trace.kinds.back().bytes = span.bytes;
    }
    return place->second;
}

std::int32_t Builder::meet(const SpanRecord& span)
{
    const auto [place, isNew] =
        m_openMeetings.try_emplace(correlationInTrace(span), static_cast<std::int32_t>(m_meetings.size()));
    if (isNew)
        m_meetings.emplace_back();
    const std::int32_t index = place->second;
    FlowEnds& meeting = m_meetings[asIndex(index)];
    if (std::exchange(isSend(span.track) ? meeting.hasFrom : meeting.hasTo, true))
        return -1; // two of the same: whatever they are, no flow
    if (meeting.hasFrom && meeting.hasTo) {
        m_complete.push_back(index);
        m_openMeetings.erase(place);
    }
    return index;
}

void Builder::add(const RankMemory& memory)
{
    assert(memory.rank >= 0 && asIndex(memory.rank) < m_trace.counters.size());
    sim::Counter& counter = m_trace.counters[asIndex(memory.rank)];
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

/// Tracks are where the simulator has them: by rank, then in the order of SpanTrack.
sim::Trace Builder::take()
{
    for (std::size_t i = 0; i < m_pieces.size(); ++i) {
        std::vector<Piece>& pieces = m_pieces[i];
        if (pieces.empty())
            continue;
        std::stable_sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) {
            m_pollCancel();
            return a.startNs < b.startNs;
        });
        const auto which = static_cast<SpanTrack>(i % kSpanTrackCount);
        const auto place = static_cast<std::uint32_t>(m_trace.tracks.size());
        sim::Track& track = m_trace.tracks.emplace_back(
            sim::Track{.process = static_cast<int>(i / kSpanTrackCount), .name = spanTrackName(which), .role = roleOf(which)});
        for (const Piece& piece : pieces) {
            if (piece.meeting >= 0) {
                sim::Flow& ends = m_meetings[asIndex(piece.meeting)].ends;
                (isSend(which) ? ends.fromTrack : ends.toTrack) = place;
                (isSend(which) ? ends.fromSpan : ends.toSpan) = static_cast<std::uint32_t>(track.size());
            }
            track.startNs.push_back(piece.startNs);
            track.durationNs.push_back(piece.endNs - piece.startNs);
            track.kind.push_back(piece.kind);
            track.microbatch.push_back(piece.microbatch);
            if (track.role == sim::TrackRole::communication && !isTransfer(which))
                track.correlation.push_back(piece.correlation);
        }
    }
    for (const std::int32_t meeting : m_complete)
        m_trace.flows.push_back(m_meetings[asIndex(meeting)].ends);
    return std::move(m_trace);
}

} // namespace

std::uint64_t correlationInTrace(const SpanRecord& span)
{
    // A step has fewer than 2^40 requests; 0 stays "none".
    return span.correlation == 0
               ? 0
               : (static_cast<std::uint64_t>(static_cast<std::uint32_t>(span.step + 1)) << 40U) + span.correlation;
}

sim::Trace makeTrace(const RunDescription& run, std::span<const sim::SpanKind> kinds, std::span<const RankSpan> spans,
                     std::span<const RankMemory> memory)
{
    Builder builder(run, kinds);
    if (!spans.empty()) {
        builder.add(spans);
        for (const RankMemory& value : memory)
            builder.add(value);
    }
    return builder.take();
}

sim::Trace makeTrace(const RunHistory& history)
{
    return makeTrace(history, history.stepsWithSpans());
}

sim::Trace makeTrace(const RunHistory& history, RunHistory::StepRange range)
{
    const std::vector<RankSpan> spans = history.spans(range);
    std::vector<RankMemory> memory = history.memory();
    if (!spans.empty()) {
        const auto lastEnd = std::max_element(spans.begin(), spans.end(), [](const RankSpan& a, const RankSpan& b) {
                                 return a.span.endNs < b.span.endNs;
                             })->span.endNs;
        std::erase_if(memory, [&](const RankMemory& value) { return value.value.timeNs > lastEnd; });
    }
    return makeTrace(history.description, history.kinds, spans, memory);
}

} // namespace live
