// What is known of a running (or ended) training: facts of the run and of its steps, and the spans of the last steps, packed.
// The run's collector fills one, each viewer holds a copy of it, and a trace can be made of either (make_trace.h).
#pragma once

#include "live/record/recorder.h"
#include "sim/trace/trace.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sim {
struct Scenario;
class Mesh;
} // namespace sim

namespace live {

enum class RunStatus : std::uint8_t { starting, running, paused, finished, stopped /**< by request */, failed };
const char* runStatusName(RunStatus);
inline bool hasEnded(RunStatus status)
{
    return status >= RunStatus::finished;
}

/// What does not change while a run lives.
struct RunDescription {
    std::string runId;        ///< random: tells a restarted run from a lost connection
    std::string name;         ///< of the scenario
    std::string scenarioJson; ///< resolved
    std::string device;       ///< "Intel Xeon …, 2 cores"
    std::string host;
    std::int64_t processId = 0; ///< of the one that trains all ranks; 0 where several do
    int worldSize = 0;
    int plannedSteps = 0;
    std::vector<std::string> rankNames;    ///< "rank 5 (dp0 pp1 cp0 tp1)", as the simulator's processes
    std::map<std::string, int> groupSizes; ///< members of a process group, by name: "tp" → 2
    int slices = 1;                        ///< sim::Trace::slices
    std::int64_t startedNs = 0;            ///< steady clock: all times of spans are on it
    std::int64_t startedUnixNs = 0;        ///< the same instant on the calendar's clock
    bool controllable = false;             ///< whether viewers may pause, resume, stop and checkpoint it
};
/// Id, host, process and clocks from here and now, and nothing else.
RunDescription describeHere();
/// Name, ranks and groups from the scenario; id, host, process and clocks from here and now. The caller adds the rest.
RunDescription describeRun(const sim::Scenario&, const sim::Mesh&, std::string scenarioJson);

/// Kinds of communication that are told apart in sums, in the order of their tracks.
inline constexpr int kCommCount = 5;
inline constexpr std::array<const char*, kCommCount> kCommNames = {"tp", "cp", "ep", "pp", "dp"};
/// Index into kCommNames of a communication's track; -1 for actions and compute.
int commOf(SpanTrack);

/// Sums over the spans of one step, all ranks.
struct SpanSums {
    std::int64_t spans = 0;
    std::int64_t computeNs = 0;                        ///< wall clock
    std::int64_t computeCpuNs = 0;                     ///< processor time where measured, else wall clock
    std::array<std::int64_t, kCommCount> waitNs{};     ///< from arrival until the last member was there
    std::array<std::int64_t, kCommCount> transferNs{}; ///< from there to the end
    std::array<std::int64_t, kCommCount> bytes{};
    void add(const SpanRecord&);
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// One step in a few numbers: kept long after its spans are gone.
struct StepSummary {
    int step = 0;
    double loss = kUnknown, gradientNorm = kUnknown, tokensPerSecond = kUnknown; ///< kUnknown until the step is done
    std::int64_t startNs = 0, endNs = 0;                                         ///< steady clock; endNs 0 until it is done
    SpanSums sums;
};

struct RunState {
    RunStatus status = RunStatus::starting;
    std::string message;              ///< why it failed or what it is doing
    std::uint64_t spansRecorded = 0;  ///< taken from all ranks so far
    std::uint64_t spansDropped = 0;   ///< not taken: a rank's ring was full
    std::uint64_t spansForgotten = 0; ///< taken, then dropped from the history, which keeps the last steps only
};

/// A span and whose it is.
struct RankSpan {
    std::int32_t rank = 0;
    SpanRecord span;
};
/// Bytes a rank held from a time on.
struct RankMemory {
    std::int32_t rank = 0;
    CounterRecord value;
};

/// Some spans (or memory values) of all ranks, packed column by column (pack.h): 15 to 25 bytes a span. A rank's records stay in
/// the order in which it made them. Immutable, shared between the history and those who send it.
struct Block {
    enum class Content : std::uint8_t { spans, memory };
    Content content = Content::spans;
    std::int32_t firstStep = 0, lastStep = 0; ///< of its spans; of memory values: the step then running
    std::uint32_t count = 0;
    std::uint64_t sequence = 0;    ///< place among the run's blocks
    std::uint64_t spansBefore = 0; ///< in the run's blocks before this one: tells how many were missed
    std::string bytes;
};

struct HistoryLimits {
    int steps = 64;                                ///< spans of so many last steps are kept…
    std::size_t bytes = std::size_t{256} << 20U;   ///< …or as many as fit here…
    std::size_t records = std::size_t{1} << 23U;   ///< …or as many as this: all of them unpacked take 740 MB
    std::size_t summaries = std::size_t{1} << 16U; ///< beyond that the oldest steps' numbers go too
};

/// Cheap to copy: blocks are shared.
struct RunHistory {
    RunDescription description;
    std::vector<sim::SpanKind> kinds; ///< SpanRecord::kind indexes this
    std::deque<std::shared_ptr<const Block>> blocks;
    std::size_t blockBytes = 0, blockRecords = 0;
    std::vector<StepSummary> steps; ///< ascending
    RunState state;

    /// Drops the oldest blocks and steps beyond the limits; returns how many spans went.
    std::uint64_t trim(const HistoryLimits&);
    void add(std::shared_ptr<const Block>);
    /// The summary of a step, new if it was not there.
    StepSummary& step(int number);
    const StepSummary* find(int number) const; ///< null if it is not there
    /// First and last step of which spans are kept; {0, -1} if none.
    struct StepRange {
        int first = 0, last = -1;
    };
    StepRange stepsWithSpans() const;
    /// All spans kept of the steps in the range, each rank's in its order. Throws sim::Error if a block is broken.
    std::vector<RankSpan> spans(StepRange) const;
    std::vector<RankMemory> memory() const;
};

} // namespace live
