// The ops of a trace in a table: those of some ranks, a stretch of time and some classes, added up by name, class, rank or stage.
#pragma once

#include "sim/trace/trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

enum class OpGrouping : std::uint8_t { name, opClass, rank, stage };
inline constexpr std::array kOpGroupings{OpGrouping::name, OpGrouping::opClass, OpGrouping::rank, OpGrouping::stage};
const char* opGroupingName(OpGrouping); ///< "name", "class", "rank", "stage"

/// Is this op one that is asked for? By its track and its place there.
using OpFilter = std::function<bool(std::uint32_t track, std::size_t span)>;

struct OpSelection {
    /// [process]: of how many ranks it speaks, 0 of none. Empty: each of all those that it stands for.
    std::vector<std::int64_t> ranks = {};
    std::int64_t beginNs = 0, endNs = std::numeric_limits<std::int64_t>::max();
    std::function<bool(OpClass)> classes = {}; ///< none: all
    OpFilter filter = {};                      ///< none: all
};

/// How often ops took how long: four buckets an octave.
class OpHistogram {
public:
    /// The bucket of a duration; 0 holds what takes no time, too.
    static int bucketOf(std::int64_t ns);
    static double beginNs(int bucket);
    void add(std::int64_t ns, std::int64_t times);
    void add(const OpHistogram&);
    /// [bucket]; the last one is not empty.
    std::span<const std::int64_t> counts() const { return m_counts; }

private:
    std::vector<std::int64_t> m_counts;
};

/// Ops that have something in common. What lies in the selected time only in part counts in part, but for `count` and what is
/// said of single ops.
struct OpGroup {
    std::string name;
    OpClass opClass = OpClass::other; ///< that most of its time is of
    std::int64_t count = 0;           ///< of all ranks together, as everything below
    double totalNs = 0;               ///< inside the selected time, as all times of the ranks that are drawn
    double wholeNs = 0;               ///< of whole ops
    std::int64_t shortestNs = 0, longestNs = 0;
    double bytes = 0;       ///< of the tensors of transfers and collectives: at each member of a group, at both ends of a message
    double flops = 0;       ///< with what is computed again; as bytes of the mean rank, see SpanKind::overMean
    double computingNs = 0; ///< inside the selected time, of ops that have FLOPs; likewise
    std::uint32_t longestTrack = 0;              ///< where the longest op is
    std::size_t longestSpan = 0;                 ///< in that track
    OpHistogram durations;                       ///< of whole ops
    std::array<double, kOpClassCount> classNs{}; ///< totalNs by class

    double meanNs() const { return count > 0 ? wholeNs / static_cast<double>(count) : 0; }
    /// While it computes; 0 where it does not.
    double flopsPerSecond() const { return computingNs > 0 ? flops / computingNs * 1e9 : 0; }
};

struct OpTable {
    OpGrouping grouping = OpGrouping::name;
    std::vector<OpGroup> groups;         ///< longest total first; ranks and stages in their order
    OpGroup all;                         ///< all groups together
    std::int64_t beginNs = 0, endNs = 0; ///< the selected time, as far as the trace goes
    std::int64_t ranks = 0;              ///< that were selected
    bool ofKernels = false;              ///< of kernels and collectives; else of passes, with what they wait for in them

    std::int64_t lengthNs() const { return endNs - beginNs; }
    /// Of the time of the selected ranks. Streams run at once, so that shares may sum to more than 1.
    double share(const OpGroup& of) const;
};

/// Where kernels of a process are known, they count and its passes do not. O(ops of the selected ranks); what the filter throws
/// goes through.
OpTable opTable(const Trace&, OpGrouping, const OpSelection& = {});

} // namespace sim
