// What happened when: spans on tracks, flows between them, counters. Simulation, live runs and imported files all become this,
// and everything that draws draws this. Knows nothing of the rest of sim.
#pragma once

#include <cstdint>
#include <string>
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

/// What spans of one kind share. A trace has few kinds and many spans.
struct SpanKind {
    std::string name; ///< "attn.qkv", "0F" (an action; its micro-batch is the span's)
    OpClass opClass = OpClass::other;
    int stage = -1; ///< place in the model, -1 if none
    int layer = -1;
    std::string group;      ///< process group of a collective: "tp"
    std::int64_t bytes = 0; ///< moved by a transfer or collective, per rank
    double flops = 0;
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
    std::size_t spanCount() const;
    /// "3", or with slices "3.1".
    std::string microbatchText(std::int32_t microbatch) const;
};

} // namespace sim
