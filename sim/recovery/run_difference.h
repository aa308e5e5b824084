// Two recorded runs of one job: what takes longer in the second, by kernel, collective, rank, stage and step. Differences are
// b - a, in seconds of a step. What both do alike in their steps is not noise: a difference counts where it is clearly above how
// much the steps of either run differ among themselves.
#pragma once

#include "sim/recovery/recover.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

/// The same quantity of both runs.
struct OfRuns {
    double a = 0, b = 0;
    double delta() const { return b - a; }
    double ratio() const { return a > 0 ? b / a : 0; } ///< 0 where the first run has none
};

enum class Verdict : std::uint8_t { alike, slower, faster, appeared, gone };
const char* verdictText(Verdict); ///< "slower"

/// Kernels of one name, or collectives of one kind over one axis.
struct ClassDifference {
    std::string name;        ///< "attn.qkv"; "all-reduce over dp"
    OfRuns seconds;          ///< of a step, mean over the ranks that have it; of collectives the transfer, without waiting
    OfRuns count;            ///< of a step, likewise
    OfRuns waiting;          ///< of collectives: for the last member, seconds of a step
    double typicalRatio = 1; ///< median over ranks of b over a: one slow rank does not move it
    double noise = 0;        ///< how far steps of either run differ among themselves, as a part of it
    double waitingNoise = 0; ///< likewise of the waiting, but in seconds; 0 where steps are fewer than three
    std::size_t ranks = 0;   ///< that have it
    Verdict verdict = Verdict::alike;
};

struct RankDifference {
    int rankA = 0, rankB = 0; ///< global ranks; differ where a rank of a folded trace stands for the other
    OfRuns step, computing, exposedComm, copy, idle;
    OfRuns hostBound;             ///< of idle: the device waits for its host
    double beyondHostSeconds = 0; ///< of that, beyond what most ranks changed by; 0 where it is no more than chance
    /// Computing longer than the median of the ranks would have it: 0.4 is 40 %. What it adds is `beyondSeconds`.
    double beyondOthers = 0, beyondSeconds = 0;
    std::vector<std::string> kernels; ///< that take it longest beyond the others, with their ratio
    Verdict verdict = Verdict::alike;
};

struct StageDifference {
    int pipelineRank = 0;
    OfRuns computing;                           ///< of its median rank
    double beyondOthers = 0, beyondSeconds = 0; ///< as of ranks, beyond what the other stages changed by
    Verdict verdict = Verdict::alike;
};

struct StepDifference {
    std::int64_t number = 0;
    OfRuns seconds;
    Verdict verdict = Verdict::alike;
};

/// What the mean step of the mean rank is made of: differences add up to that of this step, which need not be the median one.
struct PartDifference {
    std::string name; ///< "computing", "exposed tp communication", "copies", "idle"
    OfRuns seconds;
};

struct DifferenceFinding {
    std::string kind; ///< "step", "configuration", "kernel", "collective", "waiting", "rank", "idle", "stage"
    std::string title, detail;
    double seconds = 0; ///< of a step: more (slower) or less
    std::vector<int> ranks;
    std::string
        subject; ///< what it shares with others of its kind: "Matrix products"; findings of one kind and subject are one cause
    Verdict verdict = Verdict::alike;
    double costSeconds = 0; ///< of the mean rank's step; of a rank or a stage its own, for which the others wait
};

/// Findings that have one cause and change alike: the same kernel in many forms, one axis's collectives, ranks that all got
/// slower. What is new and what is gone are two.
struct DifferenceCause {
    std::string title, detail;         ///< of one finding its own
    double seconds = 0;                ///< as DifferenceFinding::costSeconds, more (slower) or less
    double share = 0;                  ///< of RunDifference::differingSeconds, 0 … 1
    std::vector<std::size_t> findings; ///< indices, the largest first
};

struct RunDifference {
    OfRuns stepSeconds; ///< medians
    OfRuns steps;       ///< how many of them
    double noise = 0;   ///< of the step, as a part of it
    Verdict verdict = Verdict::alike;
    std::vector<PartDifference> parts;
    std::vector<ClassDifference> kernels, collectives; ///< the largest difference first
    std::vector<RankDifference> ranks;                 ///< pairs, by rank of the second run
    std::vector<StageDifference> stages;
    std::vector<StepDifference> byStep;      ///< of equal numbers in both; empty where none are
    std::vector<DifferenceFinding> findings; ///< the step, what was configured, causes, waiting; of each the largest first
    /// The few that matter, the largest first and waiting last: nine tenths of all that was found, or the first eight.
    std::vector<DifferenceCause> causes;
    std::size_t otherFindings = 0;     ///< of causes that are too small for these
    double otherShare = 0;             ///< of differingSeconds
    double differingSeconds = 0;       ///< what causes cost added up, longer and shorter alike: more than the step changed by
    std::vector<std::string> problems; ///< what makes the two hard to compare

    /// The step and what was configured: what everything else is a part of, or follows from.
    std::vector<const DifferenceFinding*> headlines() const;
};

/// Differences below these are none: of the quantity itself, and of the step.
inline constexpr double kLeastDifference = 0.02, kLeastOfStep = 0.001;

/// O(spans log steps) of both.
RunDifference differenceOf(const Recovered& a, const Recovered& b);

nlohmann::ordered_json differenceJson(const RunDifference&);
std::string differenceText(const RunDifference&);
/// "and 41 smaller ones, together 0.8 % of the 17.6 ms that all changes add up to, whether longer or shorter"; empty where there
/// are none.
std::string otherFindingsText(const RunDifference&);

} // namespace sim
