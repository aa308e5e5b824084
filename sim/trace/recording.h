// What a foreign profiler recorded, of one rank or of many, as it said it: spans, collectives, groups, steps, links. Readers make
// it (sim/trace/readers/), recovery asks it who is who, and recordedTrace() turns it into the Trace that everything draws.
// Columns for the many (21 bytes a span, 29 where the file is Rankscope's own), names once.
#pragma once

#include "sim/trace/recorded_column.h"
#include "sim/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim {

/// What a span is by what its recorder says of it.
enum class RecordedKind : std::uint8_t {
    kernel,            ///< device: computes
    communication,     ///< device: a kernel of a communication library (NCCL, RCCL)
    memcpy,            ///< device
    memset,            ///< device
    gpuAnnotation,     ///< the device's side of an annotation: covers the kernels launched inside it, is no work itself
    cpuOp,             ///< host: an operator of the framework
    runtime,           ///< host: a call of the CUDA or HIP runtime or driver, a launch mostly
    annotation,        ///< host: record_function, NVTX, ProfilerStep#N; in Rankscope's own files an action ("0F")
    hostCommunication, ///< host: record_param_comms, "nccl:all_reduce", an entry of NCCL's recorders without a kernel of its own
    pythonFunction,    ///< host: a frame of a Python stack; left out unless asked for
    synchronization,   ///< host: waits for the device
    overhead,          ///< host: of the profiler itself
    other
};
inline constexpr int kRecordedKindCount = 13;
const char* recordedKindName(RecordedKind); ///< "kernel", "cpu op", …
/// Whether such spans occupy a device (kernel, communication, memcpy, memset): what busy time counts.
inline bool isDeviceWork(RecordedKind kind)
{
    return kind <= RecordedKind::memset;
}
inline bool isDeviceCopy(RecordedKind kind)
{
    return kind == RecordedKind::memcpy || kind == RecordedKind::memset;
}

/// Times lie within ± this (126.8 years), ends of spans as well, and nothing lasts longer: sums and differences fit 64 bits.
inline constexpr std::int64_t kMostTraceNs = 4'000'000'000'000'000'000;
inline constexpr std::uint32_t kNoSpan = std::numeric_limits<std::uint32_t>::max();

/// Strings by number. Number 0 is "".
class NameTable {
public:
    NameTable() { add({}); }
    NameTable(const NameTable&) = delete;
    NameTable& operator=(const NameTable&) = delete;
    NameTable(NameTable&&) = default;
    NameTable& operator=(NameTable&&) = default;
    std::uint32_t add(std::string_view);
    /// The number, or kNoSpan where the name was never added.
    std::uint32_t find(std::string_view) const;
    const std::string& operator[](std::uint32_t id) const { return *m_names[id]; }
    std::size_t size() const { return m_names.size(); }
    std::size_t memoryBytes() const;

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> m_ids; ///< its keys stay where they are
    std::vector<const std::string*> m_names;
};

/// A row: a stream of a device or a thread of a host. Its spans are [first, last) of the rank's columns, in order of start, of
/// two that start together the longer first.
struct RecordedTrack {
    std::string name;        ///< "stream 7", "thread 1073 (python)"
    std::string process;     ///< pid as the file writes it
    std::int64_t number = 0; ///< stream or thread id; 0 where it is no number
    bool isDevice = false;
    int device = -1; ///< index of the device in its host, -1 for threads
    std::uint32_t first = 0, last = 0;
    std::size_t size() const { return last - first; }
};

/// From a span to the one it caused, both of the same rank.
struct RecordedLink {
    enum class Kind : std::uint8_t {
        launch,         ///< runtime call -> kernel or copy on the device (same correlation)
        forwardBackward ///< forward operator -> its backward operator (fwdbwd flows)
    };
    std::uint32_t from = kNoSpan, to = kNoSpan; ///< spans of the rank
    Kind kind = Kind::launch;
};

inline constexpr std::int64_t kUntimed = -2; ///< for a duration: it is over, and nobody says since when

/// One collective, send or receive as one rank took part in it. -1 (or kNoSpan, or number 0 of the names): the file does not say.
struct RecordedCollective {
    std::uint32_t span = kNoSpan;     ///< its kernel on the device
    std::uint32_t hostSpan = kNoSpan; ///< the call on the host
    std::uint32_t name = 0;  ///< in lower case, as torch writes it: "allreduce", "_allgather_base", "send", "all_to_allv"
    std::uint32_t dtype = 0; ///< "BFloat16", "Float" as the file has it; elementBytes() knows their size
    std::int32_t group = -1; ///< index into Recording::groups
    std::int32_t sourceRank = -1, destinationRank = -1; ///< of sends and receives; ranks of the world
    std::int64_t inElements = -1, outElements = -1;
    std::int64_t bytes = -1; ///< of the message where the file says bytes and no elements (NCCL Inspector, Rankscope's own)
    std::int64_t sequence =
        -1; ///< number of the collective in its group ("Seq", collective_seq_id, coll_sn): the same on all members
    std::uint64_t meeting = 0; ///< same for all members of one collective over all ranks (Rankscope's own files); 0: not said
    /// Of the kernel, else of the host; -1: it never ended (a hang), or kUntimed: with a host's span, that is where it was asked
    /// for.
    std::int64_t startNs = 0, durationNs = -1;
    std::uint32_t asker = 0; ///< the program's own innermost frames where it was asked for: "step (train.py:7) in main (…)"
    bool isPointToPoint = false;
    bool isEnqueuedOnly = false; ///< the recorder saw it scheduled, and never started
};

/// How far a rank has come in a group, as its library counts collectives: what NCCL's flight recorder says apart from its
/// entries. Of a group of which it does not say both there is none.
struct RecordedProgress {
    std::int32_t group = -1;                    ///< index into Recording::groups
    std::int64_t lastAsked = -1, lastOver = -1; ///< numbers of the last that the host asked for, and that is over; -1: none
    bool areTransfersCounted = false;           ///< these may be numbers of sends and receives: nothing is known of collectives
};

/// A step of training as the recorder marks it: "ProfilerStep#12".
struct RecordedStep {
    std::int64_t number = 0;
    std::int64_t startNs = 0, endNs = 0;               ///< of the host's mark
    std::int64_t deviceStartNs = -1, deviceEndNs = -1; ///< of the device's twin; -1: none
};

/// Ranks that communicate. Two with one name are two where their members differ.
struct RecordedGroup {
    std::string name;        ///< "0", "51", a hash
    std::string description; ///< "default_pg", "mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"; "" or "undefined": not said
    std::string backend;     ///< "nccl", "cuda:nccl"
    std::vector<int> ranks;  ///< ascending; empty: not said, only `size` is
    int size = 0;            ///< as said; differs from ranks.size() only where the list was cut
    std::string evidence;    ///< "distributedInfo", "arguments of collectives", "flight recorder", "group of the span"
    std::vector<int> toldBy; ///< ranks (those of the world, -1: unknown) whose files name it, ascending
    /// Place in it and rank, as files tell of themselves: a communicator may number its members otherwise. Of use until
    /// nameMembers().
    std::vector<std::pair<int, int>> places{};
};

/// An operator of the framework with its inputs, of those whose arithmetic these tell: matrix products and attention.
struct RecordedShape {
    std::string op;                              ///< "aten::mm"
    std::string dtype;                           ///< of its first tensor, as the file has it: "c10::BFloat16", "float"
    std::vector<std::vector<std::int64_t>> dims; ///< of each input; empty for what is no tensor
    auto operator<=>(const RecordedShape&) const = default;
};

/// A value over time: memory, power.
struct RecordedCounter {
    std::string name, unit;
    std::vector<std::int64_t> timeNs;
    std::vector<double> value;
};

/// What Rankscope's own files say of a span besides.
struct RecordedMeaning {
    OpClass opClass = OpClass::other;
    int stage = -1, layer = -1;
    std::string group; ///< "tp"
    std::int64_t bytes = 0;
    double flops = 0;
    bool operator==(const RecordedMeaning&) const = default;
};

/// Something that is not in the recording though it was in the file.
struct RecordedSkip {
    std::string what; ///< "python_function", "damaged event"
    std::size_t count = 0;
    std::string why;             ///< for a person: "stacks are left out", "at byte 1234: a name that does not end"
    std::int64_t firstByte = -1; ///< in the file's text (inflated); -1: no place
    std::string file;
};

/// Columns, [span], grouped by track: a track's spans lie together.
struct RecordedSpans {
    RecordedColumn<std::int64_t> startNs;
    RecordedColumn<std::int64_t> durationNs; ///< never negative
    RecordedColumn<std::uint32_t> name;      ///< into Recording::names
    RecordedColumn<RecordedKind> kind;
    RecordedColumn<std::uint32_t> meaning;   ///< into Recording::meanings, kNoSpan: none; empty but for Rankscope's own files
    RecordedColumn<std::int32_t> microbatch; ///< -1: none; empty but for Rankscope's own files
    std::size_t size() const { return startNs.size(); }
    std::int64_t endNs(std::size_t span) const { return startNs[span] + durationNs[span]; }
};

/// One rank's (or, where `rank` is -1, one unknown worker's) part of a recording.
struct RankRecording {
    int rank = -1;            ///< of the world; -1: the file does not say, somebody has to
    std::string rankEvidence; ///< "distributedInfo", "file name", "flight recorder", "process name", …; "" where unknown
    std::string name;         ///< of its process, where a file holds several: "rank 5 (dp0 pp1 cp0 tp1)"
    int multiplicity = 1;     ///< ranks that this one stands for (folded simulations)
    int worldSize = 0;        ///< as this file says; 0: it does not
    std::string host, deviceName, backend; ///< "": not said
    int device = -1;                       ///< index in its host
    std::int64_t processId = -1;           ///< in its host, where NCCL's recorders say it; of use until they are numbered
    int file = 0;                          ///< into Recording::files, the first that tells of it
    std::size_t events = 0;                ///< in the file, of every kind, also those that are skipped
    RecordedSpans spans;
    std::vector<RecordedTrack> tracks;
    RecordedColumn<RecordedLink> links;          ///< ascending by `to`
    std::vector<RecordedCollective> collectives; ///< ascending by startNs
    std::vector<RecordedProgress> progress;      ///< by group
    bool areStartsTold = false;                  ///< its flight recorder notices when the device begins something
    std::vector<RecordedStep> steps;             ///< ascending by number
    /// Spans of operators whose inputs the file tells, and what they are: index into Recording::shapes. Ascending by span.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> shapeOf;
    RecordedColumn<std::uint32_t> annotations; ///< spans of kind annotation and gpuAnnotation, ascending by start
    std::vector<RecordedCounter> counters;
    std::int64_t firstNs = 0, lastNs = 0; ///< start of the first and end of the last complete event, also of
                                          ///< those left out; 0, 0 if there is none
    /// First and last of each of several recordings that it was put together from, one after another; empty where it is one.
    std::vector<std::pair<std::int64_t, std::int64_t>> windows;
};

/// From a span of one rank to one of another (or the same): a send and its receive.
struct RecordedFlow {
    std::uint32_t fromRank = 0, fromSpan = 0, toRank = 0, toSpan = 0; ///< ranks by place in Recording::ranks
};

/// Of one file that was read.
struct RecordedFile {
    std::string path;
    std::string
        format; ///< "Kineto", "Chrome", "Perfetto", "Nsight Systems", "NCCL flight recorder", "NCCL Inspector", "Rankscope"
    std::uint64_t bytes = 0;     ///< on the disk
    std::uint64_t textBytes = 0; ///< inflated
    std::size_t events = 0;
    bool isComplete = true; ///< false: it ends too early, or goes on where its document has ended: a problem says what is kept
};

/// Files that lay beside those of a recording, and cannot be of its run.
struct OtherRun {
    std::vector<std::string> files; ///< of one run, as far as can be told
    std::string why;                ///< "of a world of 2 ranks, not 8"
};

/// Everything that was read, of all files together. Times are ns since 1970 where `isEpoch`, else since a start of the recorder's
/// own. Clocks of hosts are as they were: nothing is aligned here.
struct Recording {
    std::vector<RecordedFile> files;
    std::vector<RankRecording> ranks; ///< ascending by rank; unknown ones last, in the order of their files
    std::vector<RecordedGroup> groups;
    std::vector<RecordedFlow> flows; ///< of Rankscope's own files and other Perfetto files
    std::vector<RecordedMeaning> meanings;
    std::vector<RecordedShape> shapes;
    NameTable names;
    std::vector<TraceAxis> axes; ///< of the grid of ranks, where a file names them
    int worldSize = 0;           ///< the largest that a file says, or (0) none did
    bool isEpoch = true;
    bool hasManyClocks = false;      ///< a file says that what it holds was put together from several clocks
    int slices = 1;                  ///< as Trace::slices
    std::vector<OtherRun> otherRuns; ///< that were left out; a problem says so
    std::vector<RecordedSkip> skipped;
    std::vector<std::string> problems; ///< for a person, each with its file: two files of one rank, an end that is missing, …
    bool isOfOneClock() const;         ///< one program wrote all ranks: aligned by construction
    std::size_t events() const;
    std::size_t spanCount() const;
    std::size_t memoryBytes() const; ///< held, for the benchmark
};

/// Bytes of one element by its name in torch ("BFloat16" 2, "Float" 4, "Byte" 1, "bf16" …); 0 where unknown.
int elementBytes(std::string_view dtype);
/// Union of the rank's device spans, ns: what was computing, communicating or copying at once counts once. O(n log n).
std::int64_t busyNs(const RankRecording&);
std::size_t kernelCount(const RankRecording&);        ///< spans of kind kernel and communication
std::size_t communicationCount(const RankRecording&); ///< spans of kind communication
/// The most that a device of the rank's held at once, by its profiler's counters ("memory of device 1"); 0: none is recorded.
double peakMemoryBytes(const RankRecording&);
/// Whether a kernel's name is one of a communication library: ncclKernel_…, ncclDevKernel_…, ncclGenericKernel, rccl…, in any
/// case.
bool isCommunicationKernel(std::string_view name);

} // namespace sim
