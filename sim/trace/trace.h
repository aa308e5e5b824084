// What happened when: spans on tracks, flows between them, counters. Simulation, live runs and imported files all become this,
// and everything that draws draws this. Knows nothing of the rest of sim.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// What a span is, coarsely: decides its colour and which column of the statistics it counts in.
enum class OpClass : std::uint8_t {
    forward,
    backward,
    backwardInput,
    backwardWeight,
    recompute,
    optimizer,
    tpComm,
    cpComm,
    epComm,
    ppComm,
    dpComm,
    hostTransfer, ///< between a GPU and its host, and the host's work
    other
};
inline constexpr int kOpClassCount = 13;
const char* opClassName(OpClass); ///< "forward", "tp comm", …
inline bool isCommunication(OpClass c)
{
    return c >= OpClass::tpComm && c <= OpClass::dpComm;
}

enum class TrackRole : std::uint8_t { actions, compute, communication, other };

/// SpanKind::group of collectives in groups of which nobody knows what they are for: their class is dpComm, and none of their
/// own.
inline constexpr std::string_view kUnknownUse = "comm";

/// What spans of one kind share. A trace has few kinds and many spans.
struct SpanKind {
    std::string name; ///< "attn.qkv", "0F" (an action; its micro-batch is the span's)
    OpClass opClass = OpClass::other;
    int stage = -1; ///< place in the model, -1 if none
    int layer = -1;
    std::string group;      ///< process group of a collective: "tp"; kUnknownUse
    std::int64_t bytes = 0; ///< moved by a transfer or collective, per rank
    double flops = 0;
    std::string category; ///< of a foreign profiler's span, in Kineto's word: "kernel", "cpu_op"; empty: opClass says what it is
    double overMean = 1;  ///< of bytes, FLOPs and time: a rank's here, who does the most, over the mean of those it stands for
};

/// One row of spans in order of start. Columns: 24 bytes a span (and 8 more where spans are correlated).
struct Track {
    int process = 0;  ///< index into Trace::processes
    std::string name; ///< "actions", "compute", "tp comm"
    TrackRole role = TrackRole::other;
    std::vector<std::int64_t> startNs;
    std::vector<std::int64_t> durationNs;
    std::vector<std::uint32_t> kind;        ///< index into Trace::kinds
    std::vector<std::int32_t> microbatch;   ///< -1 if none
    std::vector<std::uint64_t> correlation; ///< same for all members of one collective; empty if the track has none
    std::vector<std::int32_t> group;        ///< index into Trace::groups, -1 if none; empty if the track has none
    std::vector<std::int32_t> peer; ///< rank at the other end of a send or receive, -1 if none; empty if the track has none
    std::size_t size() const { return startNs.size(); }
};

/// From the end of one span to the start of another: a send and its receive.
struct Flow {
    std::uint32_t fromTrack = 0, fromSpan = 0, toTrack = 0, toSpan = 0;
};

struct Counter {
    int process = 0;
    std::string name;                 ///< "memory"
    std::string unit;                 ///< "bytes"
    std::vector<std::int64_t> timeNs; ///< value holds from here to the next
    std::vector<std::int64_t> value;
};

/// One rank (or one of many ranks that behave alike).
struct Process {
    int rank = 0;
    int multiplicity = 1; ///< how many ranks this one stands for
    std::string name;     ///< "rank 5 (dp0 pp1 cp0 tp1)"
    /// What else its recorder said; "", -1, 0: nothing.
    std::string host, deviceName, backend, rankEvidence;
    int device = -1, worldSize = 0;
    std::int64_t firstNs = 0, lastNs = 0; ///< of what was recorded, as recorded: with what was left out; 0, 0: as the spans
    std::int64_t computingNs = -1;        ///< where lanes show more than was: how long something computed; -1: as the spans say
};

/// Ranks that communicate.
struct TraceGroup {
    std::string name, description; ///< "tp 3", "tp"
    std::string backend, evidence; ///< as RecordedGroup has them; may be empty
    std::vector<int> ranks;        ///< ascending; empty: only how many there are is known
    int size = 0;
};

/// One axis of the grid of ranks: neighbours lie `stride` ranks apart.
struct TraceAxis {
    std::string name; ///< "tp", "cp", "dp", "pp"; "ep", which lies across the others
    int size = 1, stride = 1;
    bool operator==(const TraceAxis&) const = default;
};

/// What a foreign profiler's span says of a collective, in the words of Kineto's arguments; "", -1, 0: nothing.
struct TraceCollective {
    std::uint32_t track = 0, span = 0;
    std::string name, dtype;
    int sourceRank = -1, destinationRank = -1;
    std::int64_t inElements = -1, outElements = -1, bytes = -1, sequence = -1;
    std::uint64_t externalId = 0; ///< the same for the host's call and the kernel
};

/// What launches and what is launched share a number.
struct TraceLaunch {
    std::uint32_t track = 0, span = 0;
    std::uint64_t number = 0;
};

struct Trace {
    std::string title;
    std::vector<Process> processes; ///< by rank
    std::vector<SpanKind> kinds;
    std::vector<Track> tracks; ///< grouped by process, in the order to show
    std::vector<Flow> flows;
    std::vector<Counter> counters;
    std::int64_t endNs = 0; ///< the trace spans [0, endNs]
    /// Parts a sequence was cut into: a span's microbatch is then micro-batch * slices + slice.
    int slices = 1;
    int worldSize = 0;              ///< ranks of the job, also those that have no process of their own; 0: not said
    std::vector<TraceAxis> axes;    ///< all that are longer than 1; empty: not said
    std::vector<TraceGroup> groups; ///< those that spans name
    /// Of recordings that are written again, by track and span.
    std::vector<TraceCollective> collectives;
    std::vector<TraceLaunch> launches;
    std::int64_t originNs = 0;  ///< what the recorder's clock said at 0
    bool isEpoch = false;       ///< originNs is since 1970
    bool hasManyClocks = false; ///< of recordings: processes were recorded on clocks that nobody aligned
    std::size_t spanCount() const;
    /// "3", or with slices "3.1".
    std::string microbatchText(std::int32_t microbatch) const;
};

} // namespace sim
