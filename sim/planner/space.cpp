// From a choice to its scenario, and which choices are legal.
#include "sim/planner/space.h"

#include "sim/frameworks/limits.h"
#include "sim/legal/legal.h"
#include "sim/scenario/balanced_layers.h"
#include "sim/scenario/usual_overlap.h"

#include <algorithm>
#include <utility>

namespace sim {

Scenario PlanSpace::scenarioOf(const Choice& choice) const
{
    Scenario scenario = base;
    applyTo(scenario, choice);
    return scenario;
}

void PlanSpace::applyTo(Scenario& scenario, const Choice& choice) const
{
    Layout& layout = scenario.layout;
    const PlanGrid& grid = choice.grid;
    layout.tp = grid.tp;
    layout.cp = grid.cp;
    layout.pp = grid.pp;
    layout.dp = grid.dp;
    layout.ep = grid.ep;
    layout.etp = grid.etp;
    layout.order = orders[asIndex(choice.order)].axes;
    layout.placement = orders[asIndex(choice.order)].placement;
    layout.sequenceParallel = choice.sequenceParallel;
    layout.zeroStage = choice.zeroStage;
    layout.dpShard = choice.dpShard;
    if (!m_reshardGiven)
        layout.reshardAfterForward = grid.pp == 1;
    scenario.schedule.kind = kinds[asIndex(choice.kind)];
    const ScheduleFamily& family = familyOf(choice);
    scenario.schedule.virtualStages = choice.chunks;
    scenario.schedule.microbatchGroup = m_group > 0 ? m_group : grid.pp;
    scenario.schedule.sequenceSlices = m_slices > 0 ? m_slices : family.usualSlices;
    if (!family.cutsSequences())
        scenario.schedule.sequenceSlices = 1;
    scenario.schedule.layersPerStage = layersOfStages(choice);
    scenario.training.microBatchSize = choice.microBatch;
    scenario.training.globalBatchSize = choice.batch > 0 ? choice.batch : base.training.globalBatchSize;
    scenario.training.recompute = choice.recompute;
    scenario.training.recomputeLayers = choice.recompute == Recompute::full ? choice.recomputeLayers : 0;
    if (m_group == 0 && family.dealsInGroups()) // what cannot be dealt breaks its limit
        if (const int group = microbatchGroupOf(m_request.framework, grid.pp, scenario.microbatches()); group > 0)
            scenario.schedule.microbatchGroup = group;
    applySoftware(scenario);
}

void PlanSpace::applySoftware(Scenario& scenario) const
{
    if (m_softwareOfZero3) {
        const bool isZero3 = scenario.layout.zeroStage == 3;
        const Stack& stack = isZero3 ? m_softwareOfZero3->first : base.training.stack;
        if (scenario.training.stack.id != stack.id) {
            scenario.training.stack = stack;
            scenario.uncertainty = isZero3 ? m_softwareOfZero3->second : base.uncertainty;
        }
    }
    if (!m_request.framework.empty())
        scenario.training.overlap = base.training.overlap;
    if (!m_gatherGiven)
        scenario.training.overlap.paramGather = usuallyGathersAhead(scenario);
    if (!m_request.framework.empty())
        scenario.training.overlap = overlapOf(m_request.framework, scenario);
    if (!m_reductionGiven && m_request.framework == "huggingface") // as its Accelerate does unless told otherwise
        scenario.layout.reduceEachMicrobatch = false;
}

template <typename IsLegal>
bool PlanSpace::isLegalWithEachBatch(Scenario& scenario, const IsLegal& holds) const
{
    if (!holds(scenario))
        return false;
    const int batch = scenario.training.globalBatchSize;
    const bool legal = std::all_of(m_request.rampBatches.begin(), m_request.rampBatches.end(), [&](int before) {
        scenario.training.globalBatchSize = before;
        return holds(scenario);
    });
    scenario.training.globalBatchSize = batch;
    return legal;
}

bool PlanSpace::isLegalAllAlong(Scenario& scenario) const
{
    return isLegalWithEachBatch(scenario, isLegal);
}

const std::vector<LegalPipeline>& PlanSpace::legalPipelines(const Choice& choice, Scenario& scratch) const
{
    static const std::vector<LegalPipeline> none;
    Choice of = choice;
    of.zeroStage = zeroStages(choice.grid).front();
    of.dpShard = shards(choice.grid, of.zeroStage).front();
    of.kind = of.deal = 0;
    of.chunks = familyOf(0).chunks.least;
    of.recomputeLayers = choice.recompute != Recompute::full ? 0 : free.recompute ? 1 : held.recomputeLayers;
    applyTo(scratch, of);
    // Where one cuts sequences, there is no other: what that asks of the rest of the job is asked of all.
    if (!isLegalWithEachBatch(scratch, isLegalBesidePipeline))
        return none;
    const PipelineKey key{choice.grid.pp, scratch.microbatches(), choice.recompute, spreadsExperts(choice.grid)};
    {
        const std::lock_guard guard(m_lock);
        if (const auto found = m_pipelines.find(key); found != m_pipelines.end())
            return found->second;
    }
    std::vector<LegalPipeline> legal;
    for (of.kind = 0; of.kind < static_cast<int>(kinds.size()); ++of.kind)
        for (const int chunks : chunkCounts(choice.grid, of.kind)) {
            of.chunks = chunks;
            if (fillsAllStages(of) && stagesOf(of) - 2 > base.model.numHiddenLayers)
                continue;
            applyTo(scratch, of);
            if (isLegalWithEachBatch(scratch, hasLegalPipeline))
                legal.push_back({.kind = of.kind, .chunks = chunks, .layersOfChunk = layersOfChunk(of)});
        }
    const std::lock_guard guard(m_lock);
    return m_pipelines.try_emplace(key, std::move(legal)).first->second;
}

bool PlanSpace::fillsAllStages(const Choice& choice) const
{
    const bool isSaid = m_layersGiven || free.layersPerStage;
    const bool isWritten = givenLayersPerStage.size() == asIndex(stagesOf(choice));
    return !isSaid || (!isWritten && choice.grid.pp - 2 > base.model.numHiddenLayers);
}

bool PlanSpace::isOfFramework(const Scenario& scenario) const
{
    return m_request.framework.empty() || !breaksLimit(m_request.framework, scenario);
}

int PlanSpace::leastDepth(const Choice& choice) const
{
    const int all = layersOfChunk(choice);
    if (m_request.framework.empty() || choice.recompute != Recompute::full || all == 1)
        return 1;
    Choice some = choice;
    some.recomputeLayers = 1;
    if (isOfFramework(scenarioOf(some)))
        return 1;
    some.recomputeLayers = all;
    return isOfFramework(scenarioOf(some)) ? all : 1;
}

/// What of a choice its deals depend on.
static Choice dealtOf(Choice choice)
{
    choice.zeroStage = choice.deal = choice.recomputeLayers = 0;
    choice.dpShard = 1;
    return choice;
}

void PlanSpace::rememberDeals(const Choice& choice, std::vector<std::vector<int>> deals) const
{
    const std::lock_guard guard(m_lock);
    m_deals.insert_or_assign(dealtOf(choice), std::move(deals));
}

int PlanSpace::stagesOf(const Choice& choice) const
{
    return std::max(1, choice.grid.pp * choice.chunks / familyOf(choice).modelCopies);
}

const std::vector<int>& PlanSpace::layersOfStages(const Choice& choice) const
{
    const int stages = stagesOf(choice);
    const std::lock_guard guard(m_lock);
    if (choice.deal > 0)
        return m_deals.at(dealtOf(choice)).at(asIndex(choice.deal - 1));
    if (givenLayersPerStage.size() == asIndex(stages))
        return givenLayersPerStage;
    const auto [balanced, isNew] = m_balanced.try_emplace(stages);
    if (isNew)
        balanced->second = balancedLayers(base.model.numHiddenLayers, stages);
    return balanced->second;
}

int PlanSpace::layersOfChunk(const Choice& choice) const
{
    const int stages = stagesOf(choice);
    if (choice.deal > 0 || givenLayersPerStage.size() == asIndex(stages)) {
        const std::vector<int>& layers = layersOfStages(choice);
        return *std::max_element(layers.begin(), layers.end());
    }
    return (base.model.numHiddenLayers + stages - 1) / stages;
}

} // namespace sim
