// Recorded spans as a sim::Trace of the simulator's shape: one process a rank ("rank 5 (dp0 pp1 cp0 tp1)"), tracks "actions",
// "compute", "tp comm"…, flows from sends to receives, collectives correlated, a counter "memory".
//
// A communication becomes one or two spans: the wait until its last member has arrived ("wait tp", of class other) where that
// took longer than the stamps themselves, and the transfer, which carries the communication's name, class and correlation.
#pragma once

#include "live/stream/history.h"
#include "sim/trace/trace.h"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace live {

/// A trace that grows. Adding n spans costs O(n), or O(n log n) if they come in no order at all, and O(ranks) more when a rank
/// first uses a track.
class TraceBuilder {
public:
    TraceBuilder() = default;
    explicit TraceBuilder(const RunDescription& description) { start(description); }
    /// Forgets everything and begins the trace of this run.
    void start(const RunDescription&);

    /// Kinds follow those added before; spans and memory may be of any ranks. Spans of unknown ranks or kinds are an assertion.
    void add(std::span<const sim::SpanKind> kinds, std::span<const RankSpan> spans, std::span<const RankMemory> memory = {});

    /// Drops what ended before this time of the trace, so that a window that is open for days stays small. O(what is kept).
    void forgetBefore(std::int64_t timeNs);

    /// Valid and unchanged until the next call of anything not const. Times count from the first span.
    const sim::Trace& trace() const { return m_trace; }
    /// Grows whenever tracks were added or spans forgotten: whatever was derived from indices must then be made anew. Otherwise
    /// tracks keep their index and spans are only appended (or inserted near a track's end: see firstChanged).
    std::uint64_t layoutVersion() const { return m_layoutVersion; }
    /// By track: spans before this index were not touched by the last add().
    const std::vector<std::size_t>& firstChanged() const { return m_firstChanged; }
    /// The steady clock at the trace's time 0.
    std::int64_t originNs() const { return m_originNs; }

private:
    /// A send and its receive, or the one of them that is known so far.
    struct Meeting {
        sim::Flow ends;
        std::int32_t flow = kNone; ///< its place in Trace::flows once both ends are known
        bool hasFrom = false, hasTo = false;
        std::uint64_t correlation = 0;
    };
    static constexpr std::int32_t kNone = -1;

    void addTracks(std::span<const RankSpan>);
    /// A span on the trace's clock: what it waited, if it did, then what it did.
    struct Pieces {
        std::int64_t startNs = 0, readyNs = 0, endNs = 0;
        bool hasWait = false;
    };
    Pieces piecesOf(const SpanRecord&) const;
    bool isInNoOrder(std::span<const RankSpan>) const;
    void addInOrder(std::span<const RankSpan>);
    std::size_t trackOf(const RankSpan&) const;
    void addWait(const RankSpan&, const Pieces&);
    void addWork(const RankSpan&, const Pieces&);
    void addMemory(const RankMemory&);
    std::uint32_t waitKind(const std::string& group);
    std::size_t insert(std::size_t track, std::int64_t startNs, std::int64_t endNs, std::uint32_t kind, std::int32_t microbatch,
                       std::uint64_t correlation);
    void meet(std::size_t track, std::size_t span, const SpanRecord&);
    void setOrigin(std::int64_t originNs);

    sim::Trace m_trace;
    bool m_hasOrigin = false;
    std::int64_t m_originNs = 0;
    std::uint64_t m_layoutVersion = 0;
    std::vector<std::size_t> m_firstChanged;
    std::vector<std::uint32_t> m_kindOfRecord;                        ///< SpanRecord::kind → kind of the trace
    std::unordered_map<std::string, std::uint32_t> m_waitKinds;       ///< by group
    std::vector<std::array<std::int32_t, kSpanTrackCount>> m_trackOf; ///< [rank]: its tracks, or kNone
    std::vector<SpanTrack> m_whichTrack;                              ///< [track]
    std::vector<std::vector<std::int32_t>> m_meetingOf;               ///< [track][span]: meeting, or kNone
    std::vector<Meeting> m_meetings;
    std::unordered_map<std::uint64_t, std::int32_t> m_openMeetings; ///< by correlation: one end is missing
    std::vector<RankMemory> m_earlyMemory;                          ///< came before the first span
};

/// Of the steps in the range of which spans are kept; all by default.
sim::Trace makeTrace(const RunHistory&);
sim::Trace makeTrace(const RunHistory&, RunHistory::StepRange);

/// A collective's or transfer's id in a trace of several steps.
std::uint64_t correlationInTrace(const SpanRecord&);

} // namespace live
