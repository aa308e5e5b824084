// What each rank's device spent a step on, how much communication computing hid, and which kernels took the time.
#pragma once

#include "sim/recovery/busy_time.h"
#include "sim/recovery/recover.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Parts add up to windowNs: computing first, what communication and copies are not hidden by it, the rest idle.
struct RankTime {
    std::int64_t windowNs = 0;
    std::int64_t computingNs = 0;
    std::int64_t exposedCommNs = 0; ///< communication while nothing computes
    std::int64_t copyNs = 0;        ///< copies while nothing computes or communicates
    std::int64_t idleNs = 0;
    std::int64_t hostBoundNs =
        0;                   ///< of idle: gaps whose next kernel was asked for only after they had begun, as PathPart::launching
    std::int64_t commNs = 0; ///< all communication, hidden or not
    /// "tp", …; "dp_cp"; "" where the group's use is unknown. Of what is exposed the parts add up to exposedCommNs: an instant in
    /// which several axes communicate is shared by them. Of all communication they may be more than commNs. Hidden: while
    /// something computes; beside another axis nothing hides.
    std::map<std::string, std::int64_t> exposedByAxis, commByAxis, hiddenByAxis;
    double overlap() const { return commNs > 0 ? 1 - static_cast<double>(exposedCommNs) / static_cast<double>(commNs) : 0; }
};

/// Whether any device computed or copied: of recordings of hosts, or of what ranks exchange, alone nothing else is known of their
/// devices, and of idle ones neither.
bool anyRan(const std::vector<RankTime>&);

struct KernelTime {
    std::string name;
    std::size_t count = 0;
    std::int64_t totalNs = 0, shortestNs = 0, longestNs = 0;
};

struct StageTime {
    int pipelineRank = 0;
    double computingNs = 0; ///< mean over its recorded ranks
    std::size_t ranks = 0;
};

struct RunTimes {
    std::vector<RankTime> ranks;     ///< as RunEvidence::ranks, mean over RecoveredSteps::usual()
    std::vector<KernelTime> kernels; ///< of all ranks in the typical step, the longest total first
    std::vector<StageTime> stages;   ///< empty without a pipeline
    double imbalance = 1;            ///< slowest stage over the mean: 1 is even
};

/// In the place of an axis: all-to-alls of which nothing tells what they are for.
inline constexpr std::string_view kAllToAllUse = "all-to-all";

/// The axes whose ranks a group joins: "tp", "dp_cp". "" where they are unknown.
std::string axesOfGroup(const RecoveredAxes&, const std::vector<int>& ranks);

/// The same of every group of a run, and by what goes over it: experts often lie over the very ranks that dp joins, where the
/// group's own name, or an all-to-all, tells that it is theirs. Of RecoveredAxes::allToAlls it is kAllToAllUse.
class AxesOfGroups {
public:
    explicit AxesOfGroups(const Recovered&);
    /// `group`: index into RunEvidence::groups; "" for -1.
    const std::string& of(std::int32_t group, Exchange) const;

private:
    std::vector<std::string> m_axes, m_ofAllToAlls; ///< [group]
};

/// When a rank is in RecoveredSteps::usual(); always where no step was recovered, as nothing tells what is.
BusyTime usualStepsOf(const Recovered&, std::size_t rank);

RunTimes timesOf(const Recovered&);

/// Of each of the steps named by itself: [as named][as RunEvidence::ranks]. A rank's spans are gone over once.
std::vector<std::vector<RankTime>> timesOfSteps(const Recovered&, const std::vector<std::size_t>& steps);
/// Mean over the steps named (indices into RecoveredSteps::steps), as RunEvidence::ranks.
std::vector<RankTime> meanTimesOf(const Recovered&, const std::vector<std::size_t>& steps);

} // namespace sim
