// What a recorded run has to say: the answers of all parts, and the findings with their numbers, causes first.
#pragma once

#include "sim/recovery/arrivals.h"
#include "sim/recovery/expert_sections.h"
#include "sim/recovery/kernel_shapes.h"
#include "sim/recovery/rank_path.h"
#include "sim/recovery/rank_time.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace sim {

struct RunFinding {
    /// "late-rank", "slow-rank", "slow-host", "slow-group", "slow-link", "uneven-stages", "uneven-experts", "host-bound",
    /// "outlier-step", "exposed-communication", "copying", "idle", "hang", "cut-recording"
    std::string kind;
    std::string title;                   ///< one line, with the number
    std::string detail;                  ///< what it is made of and what would help
    double seconds = 0;                  ///< of a step that it costs, as far as it can be said
    std::vector<int> ranks;              ///< to show: global ranks
    std::int64_t startNs = 0, endNs = 0; ///< where to look; 0, 0: everywhere
};

/// Of what a recording holds, for sentences about what is missing.
struct RecordedAmounts {
    std::size_t ranksWithMemory = 0;          ///< whose files count bytes over time
    std::size_t exchanges = 0, withBytes = 0; ///< collectives, sends and receives of all ranks; those whose size is known
};

struct RunAnswers {
    Arrivals arrivals;
    RunTimes times;
    std::vector<GroupLoad> experts; ///< of groups of experts, the one that waits most first
    RankPath path;
    std::vector<ShapedWork> shapes;   ///< empty where operators were recorded without their inputs
    std::vector<RunFinding> findings; ///< a cut, hangs, causes, effects; of each the most seconds first
    std::string nothingFound;         ///< where there are none: that nothing stands out, or that nothing is recorded that could
    std::string whyNothingLasts;      ///< as RunEvidence's
    RecordedAmounts amounts;          ///< of answers about a recording
};

/// `pathStep`: the step whose critical path is told, an index into RecoveredSteps::steps; else the typical one.
RunAnswers answersOf(const Recovered&, std::optional<std::size_t> pathStep = {});
/// With kernels by shape, and their share of the peak of the catalogue's GPU.
RunAnswers answersOf(const Recording&, const Recovered&, const Catalogue&, std::optional<std::size_t> pathStep = {});

/// "m 4096 n 512 k 1024, bf16 …": what of a GPU's peak a shape's kernels reach, for a person; "–" where it is not known.
std::string ofPeakText(const ShapedWork&);
/// Through what the path came to a stretch: "all-reduce over dp"; empty where it began there.
std::string reachedText(const Recovered&, const PathStretch&);

nlohmann::ordered_json answersJson(const Recovered&, const RunAnswers&);
std::string answersText(const Recovered&, const RunAnswers&);

} // namespace sim
