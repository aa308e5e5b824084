// What recovery goes by, whatever file it came from: who is recorded, which groups exist, and what each rank's device and
// annotations did when. Times are nanoseconds of one clock a rank; clocks of ranks may differ (clock.h).
#pragma once

#include "sim/trace/trace.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// How ranks of a group exchange data. `sendReceive` is a kernel that does both at once: a ring shift, or several transfers in
/// one.
enum class Exchange : std::uint8_t {
    allReduce,
    allGather,
    reduceScatter,
    allToAll,
    broadcast,
    reduce,
    barrier,
    send,
    receive,
    sendReceive,
    unknown
};
inline constexpr int kExchangeCount = 11;
std::string_view exchangeName(Exchange); ///< "all-reduce"
/// From what traces write: "allreduce", "nccl:all_reduce", "_allgather_base", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(…)".
Exchange exchangeFromName(std::string_view);
/// Ends for all members together, whoever begins last.
inline bool synchronises(Exchange e)
{
    return e <= Exchange::allToAll || e == Exchange::barrier;
}
inline bool reduces(Exchange e)
{
    return e == Exchange::allReduce || e == Exchange::reduceScatter || e == Exchange::reduce;
}
inline bool isTransfer(Exchange e)
{
    return e >= Exchange::send && e <= Exchange::sendReceive;
}

/// Of exchanges that are no kernel's: a library of the host did them, or the host alone was recorded.
inline constexpr std::uint32_t kStreamOfHost = 0;

/// A collective's or transfer's kernel on one rank.
struct CommSpan {
    std::int64_t startNs = 0, endNs = 0;
    Exchange exchange = Exchange::unknown;
    std::int32_t group = -1;    ///< index into RunEvidence::groups, -1 unknown
    std::int64_t sequence = -1; ///< the library's own count in its group; -1 unknown
    std::int64_t bytes = 0;     ///< of the larger of input and output; 0 unknown
    std::int64_t message = -1;  ///< same for a send and its receive where the trace joins them; -1 unknown
    std::int64_t waitNs = -1;   ///< of it for peers, where the recorder itself saw their first data come; -1 unknown
    std::int32_t peer = -1;     ///< global rank of a send's or receive's other end
    std::uint32_t stream = kStreamOfHost;
    std::uint32_t name = 0;            ///< index into RunEvidence::names
    std::int64_t launchNs = INT64_MIN; ///< when the host asked for it; INT64_MIN unknown
};

/// One of several sends and receives that a kernel does at once, or one whose kernel is not known, as the host asked for it.
struct AskedTransfer {
    std::int64_t askedNs = 0;
    Exchange exchange = Exchange::send; ///< or receive
    std::int32_t group = -1;            ///< as CommSpan's
    std::int32_t peer = -1;
    std::int64_t bytes = 0;
    std::int32_t kernel = -1; ///< index into RankEvidence::comms; -1 unknown
};

/// A call to its group that never ended, or the last of the group that did.
struct LastCall {
    std::int32_t group = -1;    ///< index into RunEvidence::groups
    std::int64_t sequence = -1; ///< -1 of sends and receives
    Exchange exchange = Exchange::unknown;
    std::int32_t peer = -1; ///< of sends and receives
    bool isOver = false;
    bool isBegun = false; ///< on the device; else the host asked for it alone
    std::string asker;    ///< where in the program; empty where that was not recorded
};

/// How far a rank has come in a group, as its library counts apart from its calls.
struct GroupProgress {
    std::int32_t group = -1;                    ///< index into RunEvidence::groups
    std::int64_t lastAsked = -1, lastOver = -1; ///< -1: none
    bool areTransfersCounted = false;           ///< they may be numbers of transfers
};

enum class DeviceWork : std::uint8_t { kernel, copy };

/// A kernel or copy on the device that is no communication.
struct WorkSpan {
    std::int64_t startNs = 0, endNs = 0;
    std::uint32_t name = 0;
    std::uint32_t stream = 0;
    DeviceWork work = DeviceWork::kernel;
    OpClass opClass = OpClass::other;  ///< by who launched it, or as the recorder says; other: nothing tells
    std::int64_t launchNs = INT64_MIN; ///< when the host asked for it; INT64_MIN unknown
};

/// An annotation: record_function, NVTX, a python frame.
struct MarkSpan {
    std::int64_t startNs = 0, endNs = 0;
    std::uint32_t name = 0;
    bool onDevice = false;        ///< its twin over the kernels that it covers
    std::int32_t microbatch = -1; ///< where the recorder tells it apart from the name; -1 none
};

/// A step as the recorder marks it; on the device where it says so.
struct StepMark {
    std::int64_t number = 0;
    std::int64_t startNs = 0, endNs = 0;
    /// When the host was in it, as far as the device was done with what was asked for before: it may idle from then on, and
    /// until.
    std::int64_t fromNs = startNs, toNs = endNs;
};

/// An axis of the grid as the recorder itself names it; "ep" lies across the others.
struct NamedAxis {
    std::string name;
    int size = 1, stride = 1;
};

struct RankEvidence {
    int rank = 0;
    int multiplicity = 1;                                 ///< ranks that this one stands for
    std::vector<std::pair<std::string, int>> coordinates; ///< "pp", 1, … where its name says them
    std::string host;
    std::string deviceName;           ///< "NVIDIA H100 80GB HBM3"; empty: not said
    std::vector<CommSpan> comms;      ///< by start; so are the others
    std::vector<AskedTransfer> asked; ///< by askedNs
    std::vector<LastCall> lastCalls; ///< of libraries that count their collectives; those that never ended as they were asked for
    std::vector<GroupProgress> progress;
    bool areStartsTold = false; ///< else whether the device has begun them is not known
    bool isDumpCut = false;     ///< the dump that these are of ends too early: later ones may be missing
    std::vector<WorkSpan> work;
    std::vector<MarkSpan> marks;
    std::vector<StepMark> steps;
    std::string stepWord; ///< where ranges that somebody named stand for marks of steps: "iteration"
    /// First and last of several recordings that were made one after another; empty where it is one.
    std::vector<std::pair<std::int64_t, std::int64_t>> windows;
};

struct GroupEvidence {
    std::string name, description;    ///< as the trace gives them; may be empty
    std::vector<int> ranks;           ///< ascending
    std::string evidence;             ///< where it is from: "pg_config of rank 0"
    bool isPartial = false;           ///< only recorded ranks are told apart: others may belong to it
    bool areAllToAllsGuessed = false; ///< from kernels that do not say with whom they exchange
};

struct RunEvidence {
    int worldSize = 0;               ///< 0 unknown: as many as the highest rank seen says
    std::vector<RankEvidence> ranks; ///< by rank, each once
    std::vector<GroupEvidence> groups;
    std::vector<std::string> names;
    std::vector<std::string> problems;
    std::vector<std::string> cuts; ///< of each file that is not whole: its name and what of it is kept
    std::vector<NamedAxis>
        axes; ///< all that are longer than 1, where the recorder names them: the world is their product, but for ep
    std::string axesEvidence;
    bool isOneClock = false; ///< one program wrote all ranks on one clock
    int slices = 1;          ///< parts of a sequence: a mark's micro-batch is then micro-batch · slices + slice

    int worldOrHighest() const;
    /// Whether ranks of the world are not recorded.
    bool isPart() const { return static_cast<int>(ranks.size()) < worldOrHighest(); }
    /// Ranks that are neither recorded nor stood for by others that are.
    int missingRanks() const;
    /// "ranks", or of a part "the 4 of 16 ranks that are recorded": whom sums and means are of.
    std::string summedRanks() const;
    /// Of a recording in which nothing has a length, so that a picture over time shows nothing: why. Else empty.
    std::string whyNothingLasts() const;
};

} // namespace sim
