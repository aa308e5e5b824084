// Which layout is best: a search over every legal layout of a job, proved by the engine, with a reason for each that lost.
//
// Every layout has a floor, which no step of it can go below: prices of the engine's own tables, added up along what has to
// happen one after the other (floors.h). Layouts are taken in the order of their floors, made tighter once (tight_floor.h), and
// simulated; when the least floor left is no better than the best step so far, that one is proved.
#pragma once

#include "sim/analysis/compare.h"
#include "sim/mesh/dimension.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/document.h"
#include "sim/simulate/metrics.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sim {

/// With the GPUs and the batch given, time, tokens a day, GPU hours and cost name the same best; where the batch is free, all of
/// them go by the time that a token takes.
enum class PlanObjective : std::uint8_t { time, headroom, gpuHours, cost, tokens };

/// POINTER=VALUE: "layout.tp" or "/layout/tp", and the value as JSON.
using PlanSetting = std::pair<std::string, std::string>;

struct PlanRequest {
    ScenarioDocument document; ///< the job: what is not free is taken from it
    int gpus = 0;              ///< ranks of the layouts; 0: as many as the document's own layout has
    PlanObjective objective = PlanObjective::time;
    double price = 0;               ///< of a GPU for an hour, in the user's money; 0: not known
    std::vector<PlanSetting> fixed; ///< held at a value
    /// Searched besides what always is: layout.order, layout.placement, schedule.layers_per_stage; training.global_batch_size, up
    /// to the document's. Then a layout's step is taken for as many tokens as the document's batch has
    /// (PlannedLayout::paceSeconds()).
    std::vector<std::string> freed;
    /// Neither searched nor held: what follows from the rest where a file does not say it. The document's own is not looked at.
    std::vector<std::string> following;
    double marginGib = 0; ///< of each GPU's memory, left free
    /// Global batches that the run begins with, smaller than the document's: a layout has to be legal with each of them.
    std::vector<int> rampBatches;
    /// Keep to what its export writes and means the same job, with transfers hidden as it does and, where the document names no
    /// software (training.stack), timed with the framework's; empty: to nothing but what is legal.
    std::string framework;
    int top = 5; ///< so many of the best
    double enoughSeconds =
        0; ///< of paceSeconds(): the first layout that is as fast ends the search, slower ones are cut; 0: the best
    int mostSimulated = 0;   ///< then the search ends unproved and says how far it is; 0: 200, of small jobs up to 4,000
    int jobs = 0;            ///< threads; 0: as many as there are cores. Changes no number of the answer
    int part = 0, parts = 1; ///< of the grids, every parts-th from the part-th
    bool isPart = false;     ///< its answer is to be merged, were it the only part
    bool isOfPart() const { return parts > 1 || isPart; }
    std::string partText() const; ///< " of part 2 of 3"; empty where it is of the whole
};
/// " of part 2 of 3": counted from 1.
std::string partText(std::int64_t number, std::int64_t parts);

/// The sizes of the parallel dimensions.
struct PlanGrid {
    int tp = 1, cp = 1, pp = 1, dp = 1, ep = 1, etp = 1;
    auto operator<=>(const PlanGrid&) const = default;
    std::string text() const; ///< "tp 8, pp 4, dp 2": those above 1
};

/// A layout that was simulated.
struct PlannedLayout {
    PlanGrid grid;
    /// Every pointer that was free, and the batch where the document does not say it; set in it they simulate to this.
    std::vector<PlanSetting> settings;
    double stepSeconds = 0;       ///< of the engine
    double batches = 1;           ///< of its own in the request's global batch: 1 but where that is free
    double closedFormSeconds = 0; ///< passes one after the other, nothing shared: what it was ordered by
    double floorSeconds = 0;      ///< of the first, cheap kind
    double tokensPerSecond = 0, peakMemoryGib = 0, headroomGib = 0;
    double gpuHours = 0, cost = 0; ///< of the run's tokens, where the document says how many; else of the request's batch
    bool tieWithFirst = false;     ///< the model cannot tell its step from the first one's; never for headroom, nor with noTies
    double runDays = 0;            ///< of the run's tokens; 0: the document does not say how many
    ByStepPart<std::int64_t> use;  ///< the step in nanoseconds, by what it went to; adds up to the step
    /// What the request's global batch takes at its pace: what layouts are compared by.
    double paceSeconds() const { return stepSeconds * batches; }
};

/// Of a GPU's memory: with less left, what the model does not know may not fit. The allocator alone reserves some 4 % beyond.
inline constexpr double kTightShare = 0.05;
/// "only 1.2 GiB of 80 left", "only 10 MiB of 80 GiB left" where that is less than kTightShare of the GPU's memory; else empty.
std::string tightText(double peakGib, double headroomGib);

/// `open`: not looked at to the end, so that it may still hold a better one than the first.
enum class PlanReason : std::uint8_t { rule, memory, floor, slower, open };
const char* planReasonName(PlanReason);

/// Why a grid was not chosen.
struct RejectedGrid {
    PlanGrid grid;
    PlanReason reason = PlanReason::rule;
    std::string text;                  ///< with the numbers
    double leastFloorSeconds = 0;      ///< nothing of it that may fit takes less; 0: nothing may
    std::optional<PlannedLayout> best; ///< of it, where one was simulated
    /// Where nothing fits: what the leanest layout that was laid out holds on its fullest rank, as the engine counts, and its
    /// settings; 0: none was laid out.
    double needGib = 0;
    double needHostGib = 0; ///< where what fits the GPUs does not fit the host: on the fullest; else 0
    std::vector<PlanSetting> needSettings{};
};

/// That no layout of a job fits, known from what each holds at least before anything is searched.
struct LeastMemory {
    double gib = 0;        ///< no layout's fullest GPU holds less
    double hasGib = 0;     ///< that a layout may take of a GPU
    std::int64_t gpus = 0; ///< fewer cannot hold the model's states, however they are sharded
    /// "the fullest GPU of any holds at least 812.0 GiB of 80.0 GiB; fewer than 82 GPUs cannot hold its parameters, …".
    std::string text(int gpusOfRequest) const;
};

struct PlanAnswer {
    std::int64_t covered = 0;   ///< legal layouts: evaluated, or cut by a bound
    std::int64_t evaluated = 0; ///< had their floor worked out
    std::int64_t tightened = 0; ///< had their passes lowered and laid end to end
    std::int64_t simulated = 0; ///< by the engine, as long as they could be among what is told
    std::int64_t tooLarge = 0;  ///< legal, but could not be laid out or simulated here: they count as open
    std::string tooLargeText;   ///< why the first of them could not
    bool proved = false;        ///< no layout that was not simulated can be better than the first; without a first: none fits
    double gap = 0;             ///< else one could be better by at most this part of the first's pace (headroom: of its memory)
    double openKey = 0;         ///< nothing that is open is below: ns of the request's batch, headroom: bytes; infinite: none is
    bool stopped = false;       ///< by the caller, before it was done
    double seconds = 0;         ///< that it took; the only number that is not deterministic
    int gpus = 0;
    int paceBatch = 0;                            ///< where the batch is free, the largest: what paceSeconds() is of; else 0
    std::map<std::string, std::string> heldFixed; ///< pointer -> JSON: values that all layouts have
    std::map<std::string, std::string> heldRules; ///< pointer -> sentence: what keeps others of its values out
    std::vector<PlannedLayout> best;              ///< best first; of those simulated, the first of all
    std::vector<double> firstOrder;               ///< of firsts of several parts, the one where this is least is the first of all
    std::vector<PlannedLayout> pareto;            ///< of step time and headroom, among those simulated
    std::vector<RejectedGrid> rejected;           ///< every grid but the first one's, in the order of grids
    std::optional<LeastMemory> least;             ///< of a part: of its grids
    std::string noGrid;                           ///< where a size that is held leaves no grid: why, as notDividing() has it
    std::string noTies; ///< where no steps of the hardware were measured: that, for then ties cannot be told; else empty
    std::string base;   ///< model, cluster and what else no layout changes, resolved: parts of one search have the same
    /// Of a part: how sure its layouts' steps are, by the software that their settings name, as JSON; "": they name none.
    std::map<std::string, Uncertainty> sure;
    ScenarioDocument firstDocument(const PlanRequest&) const; ///< the request's with the first one's settings
};

struct PlanProgress {
    std::int64_t grids = 0, gridsDone = 0, tightened = 0, simulated = 0;
    double bestSeconds = 0, floorSeconds = 0; ///< 0: none yet
    double bestBytes = 0, floorBytes = 0;     ///< where headroom is the objective, instead of floorSeconds
    std::function<PlanAnswer()> soFar;        ///< as if it were stopped now; only while this is told. Some milliseconds
};

/// `progress` is called on this thread, some times a second; a CancelScope around it ends the search with what was found. Throws
/// Error: a key that cannot be searched, jobs whose kernels vary. Where no layout is legal and fits, `best` is empty, and
/// `rejected` says why each grid has none.
PlanAnswer plan(const PlanRequest&, const Catalogue&, const std::function<void(const PlanProgress&)>& progress = {});

/// Pointers of what is searched, or can be: "layout.tp".
std::vector<std::string_view> plannedKeys();
/// Names that a request's framework may have.
std::vector<std::string_view> plannedFrameworks();
/// The software that a framework's layouts are timed with: its own where the document names none, else the document's (`stack`),
/// and whether that is not the framework's. Empty without a framework.
std::string softwareText(std::string_view framework, const ScenarioDocument&, std::string_view stack);
/// Batches from `first` on, each `step` more, before `last`. Throws Error where they do not lead to that.
std::vector<int> rampedBatches(int last, int first, int step);
/// The same before the request's own batch.
std::vector<int> rampedBatches(const PlanRequest&, const Catalogue&, int first, int step);

/// Adds what is to be held. An entry of a list that the file leaves to its base brings the base's list into the document.
void hold(PlanRequest&, PlanSetting, const Catalogue&);

/// The document with settings in it, as they are searched with: gpus included.
ScenarioDocument withSettings(const PlanRequest&, const std::vector<PlanSetting>&);

/// A file that does not say its global batch has one by its layout, which other layouts are to share: that of `own`, where
/// `document` says none. Nothing where it does, or where its own layout cannot be read.
std::optional<PlanSetting> batchOfOwnLayout(const ScenarioDocument& document, const ScenarioDocument& own, const Catalogue&);

/// "Why not layout.tp = 16?": the best with it beside the best of all, and the step's parts that differ.
struct PlanWhy {
    std::vector<PlanSetting> asked;     ///< all of it at once; one at least
    std::optional<PlannedLayout> other; ///< the best with it
    bool isFirst = false;               ///< the best of all has it
    std::string text;                   ///< where there is none: why
    bool proved = false;                ///< nothing with it can be better than the other; else it is the best of those simulated
    double deltaSeconds = 0;            ///< of the other's step
    std::vector<std::pair<StepPart, double>> terms; ///< seconds; they add up to it
    /// The same of the fullest ranks' peaks, where the request is for headroom; the terms add up to it.
    std::optional<double> deltaGib;
    std::vector<std::pair<std::string, double>> memoryTerms; ///< "activations", GiB
    std::string sure;                                        ///< how sure the difference is
    /// Tokens of the other's step for each of the first's, and what a token takes of the other for what it takes of the first.
    double tokensRatio = 1, perToken = 1;
};
/// Throws what plan() does of a request that cannot be searched, at once; `asked` as whyNot's.
void requirePlannable(const PlanRequest&, const Catalogue&);
void requirePlannable(const PlanRequest&, const Catalogue&, const std::vector<PlanSetting>& asked);
/// "16 does not divide 8; nearest: 8" of a size of a grid of so many GPUs, else empty. `isLegal`: which sizes are named; all
/// where there is none.
std::string notDividing(std::string_view pointer, std::string_view value, int gpus,
                        const std::function<bool(std::int64_t)>& isLegal);
PlanWhy whyNot(const PlanRequest&, const Catalogue&, const PlanAnswer&, const std::vector<PlanSetting>& asked);

} // namespace sim
