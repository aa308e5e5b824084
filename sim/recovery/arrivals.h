// Who waits for whom: of each collective the last to arrive, what it cost the others, and what kept it.
#pragma once

#include "sim/recovery/recover.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sim {

struct Arrival {
    std::size_t meeting = 0; ///< index into Meetings::meetings
    std::uint32_t last = 0;  ///< index into RunEvidence::ranks
    std::uint32_t root = 0;  ///< likewise: whom its waiting begins with, the last one or who kept that one
    std::int64_t lastStartNs = 0;
    std::int64_t transferNs = 0; ///< what it cost once all were there: the shortest member's time
    /// Until then members wait for later stages of their pipeline, as its order has it, and for nobody: drainedAt().
    std::int64_t drainedNs = INT64_MIN;
    std::vector<std::int64_t> waitNs; ///< by part: last start − own start
    /// By part: of that what the rank spends in usual steps, once the pipeline has drained, and in no wait that ends earlier. In
    /// several collectives at once a rank waits once.
    std::vector<std::int64_t> countedNs;
    bool isUsual = true;         ///< the last comes in one of RecoveredSteps::usual(); else nothing of it counts
    std::int64_t waited() const; ///< counted, of all parts
    bool hasLast() const;        ///< members do not all come at one moment, nor as a pipeline drains
};

/// What a rank was late with, beside what its fellows did meanwhile.
enum class Lateness : std::uint8_t { none, computes, communicates, idles };
/// "its kernels take longer". `areKernelsKnown`: of some rank; else there is no device to speak of.
std::string_view latenessText(Lateness, bool areKernelsKnown = true);

/// In usual steps.
struct RankArrivals {
    std::size_t meetings = 0, last = 0; ///< that it took part in; where it came last
    std::int64_t waitedNs = 0;          ///< for others
    std::int64_t causedNs = 0;          ///< of others' waiting that begins with it, where it came last or kept who did
    Lateness why = Lateness::none;      ///< of most of it
    double longerBy = 0; ///< of late kernels: how much longer it computes than the median of its stage, 0.3 is 30 %
    /// Of late communication, where most of it is in a group with these, that are not recorded: it may wait for them.
    std::vector<int> unrecorded;
    std::int32_t unrecordedGroup = -1; ///< that group, an index into RunEvidence::groups
};

/// In usual steps.
struct AxisWaits {
    std::int64_t waitedNs = 0; ///< of all ranks
    std::size_t meetings = 0;
};

struct Arrivals {
    std::vector<Arrival> list;               ///< as meetings that all recorded members share, in the order of their times
    std::vector<RankArrivals> ranks;         ///< as RunEvidence::ranks
    std::size_t collectives = 0;             ///< in the list: stays where that is left out
    std::map<std::string, AxisWaits> byAxis; ///< by AxesOfGroups' names, of groups that are known
    std::int64_t causedNs = 0;               ///< all waiting in usual steps that somebody causes
    /// Index of the rank that caused most, if it is at least a third of all, clearly above its share, and worth the others' time.
    int straggler = -1;
    std::string text; ///< one sentence with the numbers
};

/// Of collectives that end for all together. What a profiler's begin, a warm-up or a checkpoint costs once is in none of the
/// sums. On one clock only: without it starts of ranks of other hosts cannot be compared, and the answer says so. O(parts log
/// spans).
Arrivals arrivalsOf(const Recovered&);

} // namespace sim
