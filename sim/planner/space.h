// The layouts of a job: what is free, what values it can take, and how a choice becomes a scenario. Private to sim/planner.
#pragma once

#include "sim/planner/planner.h"
#include "sim/planner/rank_orders.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sim {

/// Everything that is searched over.
struct Choice {
    PlanGrid grid;
    int order = 0; ///< index into PlanSpace::orders
    int microBatch = 1;
    bool sequenceParallel = false;
    int zeroStage = 0;
    int dpShard = 1;
    int kind = 0; ///< index into PlanSpace::kinds
    int chunks = 1;
    int deal = 0; ///< of layers to stages: 0 balanced or as given, else one of PlanSpace::rememberDeals, from 1
    Recompute recompute = Recompute::none;
    int recomputeLayers = 0; ///< of each chunk, with full
    int batch = 0;           ///< sequences of a step of all replicas; 0: as the job has it
    auto operator<=>(const Choice&) const = default;
    Choice ofAnyBatch() const
    {
        Choice of = *this;
        of.batch = 0;
        return of;
    }
};

/// A key of the scenario that may be searched, and whether it is.
struct FreeKeys {
    bool tp = true, cp = true, pp = true, dp = true, ep = true, etp = true, order = false, layersPerStage = false,
         microBatch = true, sequenceParallel = true, zeroStage = true, dpShard = true, kind = true, chunks = true,
         recompute = true, batch = false, placement = false;
};

/// A kind of schedule with so many chunks that pipelines of some length and number of micro-batches may have.
struct LegalPipeline {
    int kind = 0, chunks = 1;
    int layersOfChunk = 0; ///< of the fullest
};

/// Largest micro-batch, and most chunks a rank, that are searched.
inline constexpr int kMostMicroBatch = 64, kMostChunks = 64;

class PlanSpace {
public:
    PlanSpace(const PlanRequest&, const Catalogue&);

    int gpus = 1;
    Scenario base; ///< on one GPU: model, cluster and what else is held
    FreeKeys free;
    Choice held;                   ///< values of what is not free
    std::vector<RankOrder> orders; ///< the job's own first
    std::vector<std::string> kinds;
    const ScheduleFamily& familyOf(const Choice& choice) const { return familyOf(choice.kind); }
    const ScheduleFamily& familyOf(int kind) const { return *m_families[asIndex(kind)]; }
    std::string selectiveJson;            ///< what recompute says where it is selective
    std::vector<int> givenLayersPerStage; ///< where there are as many stages; else, or where it is empty, balanced

    std::vector<PlanGrid> grids() const; ///< by divisors of gpus, in ascending order
    /// Of the orders of ranks, one of each that are the same for a grid, and how many they are.
    std::vector<AlikeOrders> ordersOf(const PlanGrid&) const;
    std::vector<int> microBatches(const PlanGrid&) const;
    /// Global batches, largest first, as Choice::batch has them: the job's alone, or where it is free all that are no larger and
    /// dealt evenly.
    std::vector<int> batches(const PlanGrid&, int microBatch) const;
    /// Whether more than the largest is searched. Not of kinds whose order is planned by what passes cost: nothing but laying one
    /// out says what it holds, and so many cannot be.
    bool hasSmallerBatches(int kind) const { return !familyOf(kind).plansByCost; }
    /// What the job's global batch takes for what the choice's takes, at the same pace: 1 where that is the job's.
    double paceOf(const Choice& choice) const
    {
        return choice.batch == 0 ? 1 : 1.0 * base.training.globalBatchSize / choice.batch;
    }
    std::vector<int> zeroStages(const PlanGrid&) const;
    std::vector<int> shards(const PlanGrid&, int zeroStage) const;
    std::vector<bool> sequenceParallels(const PlanGrid&) const;
    std::vector<Recompute> recomputes() const;
    std::vector<int> chunkCounts(const PlanGrid&, int kind) const;

    /// Layers of each stage that choices of this grid, micro-batch, kind, chunks and recomputation may have besides. Thread-safe.
    void rememberDeals(const Choice&, std::vector<std::vector<int>>) const;

    /// Of a layout of the job as the reader resolved it; nothing where it is none of those that are searched.
    std::optional<Choice> choiceOf(const Scenario&) const;

    /// As the reader would resolve it.
    Scenario scenarioOf(const Choice&) const;
    /// The same into a scenario that was made here before: nothing but what is searched is touched.
    void applyTo(Scenario&, const Choice&) const;
    /// Kinds and chunks that are legal for a choice's grid, micro-batch, sequence parallelism and recomputation, with the batch
    /// of the document and those that it begins with. Legal of one, they are of all that differ in neither length of the pipeline
    /// nor micro-batches, nor in whether experts are spread: looked for once. `scratch` is left as one of them. Thread-safe.
    const std::vector<LegalPipeline>& legalPipelines(const Choice&, Scenario& scratch) const;
    /// All of it. The scenario is left as it was.
    bool isLegalAllAlong(Scenario&) const;
    /// Whether the framework that was asked for runs it; true where none was.
    bool isOfFramework(const Scenario&) const;
    /// That a layout may take of a GPU's memory: all but the margin, or what its order is told to keep to.
    double capacityGib() const
    {
        const double all = base.cluster.gpu.memoryGib - m_request.marginGib, cap = base.schedule.memoryCapGib;
        return cap > 0 ? std::min(all, cap) : all;
    }
    /// Of layers run again where any number of them is free: the framework may have all or none.
    int leastDepth(const Choice&) const;
    /// What follows from the layout and schedule in it: the framework's software, and how transfers are hidden.
    void applySoftware(Scenario&) const;
    /// Of the fullest chunk.
    int layersOfChunk(const Choice&) const;
    /// Whether stages without a layer beside the outer two are left out: where nobody says how many layers each stage has, and
    /// where whole ranks would have none, unless the file's list is of as many stages.
    bool fillsAllStages(const Choice&) const;
    /// Keys that are free; `all`: those that are not, too, but hold a place of the job.
    std::vector<PlanSetting> settingsOf(const Choice&) const;
    std::map<std::string, std::string> heldFixed() const; ///< pointer -> JSON: what each layout has
    std::map<std::string, std::string> heldRules() const; ///< pointer -> sentence: what each layout keeps to

    const PlanRequest& request() const { return m_request; }
    /// The batch of a file that does not say it: its own layout's, whatever layout is looked at. It is a setting of each then.
    const std::optional<PlanSetting>& unsaidBatch() const { return m_unsaidBatch; }
    bool saysGroup() const { return m_group > 0; } ///< of how many micro-batches an interleaving group is

private:
    void readHeld();
    std::string overlapText() const;
    std::string domainsText() const;
    const std::vector<int>& layersOfStages(const Choice&) const;
    int stagesOf(const Choice&) const;
    /// Whether experts lie on several ranks, with transfers between them that a block of two passes hides.
    bool spreadsExperts(const PlanGrid& grid) const { return base.model.numExperts > 0 && grid.ep * grid.etp > 1; }
    /// As many as leave no chunk without a layer, or about so.
    int chunksThatHaveLayers(const PlanGrid&, const ScheduleFamily&) const;
    int heldInt(std::string_view pointer, int otherwise) const;
    const PlanRequest& m_request;
    ScenarioDocument m_document; ///< with what is fixed
    bool m_layersGiven = false, m_layersFixed = false, m_shardGiven = false, m_etpGiven = false;
    bool m_reshardGiven = false, m_gatherGiven = false, m_reductionGiven = false;
    std::optional<PlanSetting> m_unsaidBatch;
    bool m_orderFollows = false; ///< the framework has one alone
    /// The framework's, where the job names none; with stage 3 of ZeRO another, if it has one, else `base` has it.
    bool m_stackFollows = false;
    std::optional<std::pair<Stack, Uncertainty>> m_softwareOfZero3; ///< and how sure its times are
    int m_group = 0, m_slices = 0;                                  ///< 0: as usual
    template <typename IsLegal>
    bool isLegalWithEachBatch(Scenario&, const IsLegal&) const;
    mutable std::mutex m_lock;
    mutable std::map<Choice, std::vector<std::vector<int>>> m_deals;
    mutable std::map<int, std::vector<int>> m_balanced; ///< [stages]
    /// Ranks, micro-batches, whether experts are spread.
    using PipelineKey = std::tuple<int, int, Recompute, bool>;
    mutable std::map<PipelineKey, std::vector<LegalPipeline>> m_pipelines;
    std::vector<const ScheduleFamily*> m_families; ///< [kind]: finding one by its name takes as long as a floor
    int m_nodes = 0;                               ///< that the cluster is told to have; 0: nothing is said
};

/// Throws Error of a block that has what is searched, and of a part of it: the search would not see either.
void requireWholeKeys(const std::vector<PlanSetting>& fixed);

/// Throws Error, with those there are, if there is none of that name.
void requireFramework(std::string_view);
/// The software that a framework's layouts run with, of the document with what is held: the framework's own of that stage of
/// ZeRO, as JSON, where the document names none. Nothing: as the document says, or as usual.
std::optional<std::string> softwareOf(std::string_view framework, const ScenarioDocument&, int zeroStage);
/// Why a request's framework does not run it: its export has the last word. Empty where it does, or none was asked for.
std::string frameworkProblem(const PlanRequest&, const Scenario&, const Catalogue&);

} // namespace sim
