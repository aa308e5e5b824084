// What each dimension of a plan may be.
#include "sim/planner/space.h"

#include "sim/legal/legal.h"

#include <algorithm>

namespace sim {
namespace {

std::vector<int> divisorsOf(int number)
{
    std::vector<int> low, high;
    for (int i = 1; i <= number / i; ++i)
        if (number % i == 0) {
            low.push_back(i);
            if (i != number / i)
                high.push_back(number / i);
        }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

} // namespace

std::vector<PlanGrid> PlanSpace::grids() const
{
    const Model& model = base.model;
    const bool moe = model.numExperts > 0;
    std::vector<PlanGrid> all;
    const auto takes = [](bool isFree, int value, int wanted) { return isFree || value == wanted; };
    const auto etpOf = [&](int tp) { return m_etpGiven && !free.etp ? held.grid.etp : tp; };
    for (const int tp : divisorsOf(gpus))
        for (const int cp : divisorsOf(gpus / tp))
            for (const int pp : divisorsOf(gpus / tp / cp)) {
                const int dp = gpus / tp / cp / pp;
                if (!takes(free.tp, tp, held.grid.tp) || !takes(free.cp, cp, held.grid.cp) || !takes(free.pp, pp, held.grid.pp) ||
                    !takes(free.dp, dp, held.grid.dp))
                    continue;
                if (!moe) {
                    all.push_back({.tp = tp, .cp = cp, .pp = pp, .dp = dp, .ep = 1, .etp = etpOf(tp)});
                    continue;
                }
                for (const int ep : divisorsOf(gpus / pp)) {
                    if (model.numExperts % ep != 0 || !takes(free.ep, ep, held.grid.ep))
                        continue;
                    for (const int etp : divisorsOf(gpus / pp / ep))
                        if (takes(free.etp, etp, etpOf(tp)))
                            all.push_back({.tp = tp, .cp = cp, .pp = pp, .dp = dp, .ep = ep, .etp = etp});
                }
            }
    return all;
}

std::vector<AlikeOrders> PlanSpace::ordersOf(const PlanGrid& grid) const
{
    if (orders.size() == 1)
        return {{}};
    Choice choice;
    choice.grid = grid;
    choice.chunks = familyOf(0).chunks.least;
    const Scenario scenario = scenarioOf(choice);
    // Where ranks have faults of their own it counts which they are.
    return alikeOrders(scenario, orders, m_document.get("perturbations").has_value());
}

std::vector<int> PlanSpace::microBatches(const PlanGrid& grid) const
{
    std::vector<int> sizes;
    if (!free.microBatch) {
        sizes.push_back(held.microBatch);
        return sizes;
    }
    int batch = base.training.globalBatchSize;
    if (free.batch) {
        sizes.resize(asIndex(std::min(kMostMicroBatch, batch / grid.dp)));
        std::iota(sizes.begin(), sizes.end(), 1);
        return sizes;
    }
    for (const int before : m_request.rampBatches)
        batch = std::gcd(batch, before);
    if (batch % grid.dp != 0)
        return sizes;
    sizes = divisorsOf(batch / grid.dp);
    std::erase_if(sizes, [](int size) { return size > kMostMicroBatch; });
    return sizes;
}

std::vector<int> PlanSpace::batches(const PlanGrid& grid, int microBatch) const
{
    if (!free.batch)
        return {0};
    std::vector<int> all;
    const std::int64_t each = std::int64_t{microBatch} * grid.dp;
    for (std::int64_t count = base.training.globalBatchSize / each; count > 0; --count)
        all.push_back(static_cast<int>(count * each));
    return all;
}

std::vector<int> PlanSpace::zeroStages(const PlanGrid& grid) const
{
    if (!free.zeroStage)
        return {held.zeroStage};
    const bool hasReplicas = grid.dp * grid.cp > 1 || gpus / (grid.pp * grid.ep * grid.etp) > 1;
    return hasReplicas ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{0};
}

std::vector<int> PlanSpace::shards(const PlanGrid& grid, int zeroStage) const
{
    const int ranks = grid.dp * grid.cp;
    if (!free.dpShard && m_shardGiven)
        return {held.dpShard};
    if (zeroStage == 0 || ranks == 1 || !free.dpShard)
        return {ranks};
    std::vector<int> sizes = divisorsOf(ranks);
    sizes.erase(sizes.begin()); // shards of one are whole
    return sizes;
}

std::vector<bool> PlanSpace::sequenceParallels(const PlanGrid& grid) const
{
    if (!free.sequenceParallel)
        return {held.sequenceParallel};
    return grid.tp > 1 ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

std::vector<Recompute> PlanSpace::recomputes() const
{
    if (!free.recompute)
        return {held.recompute};
    return {Recompute::none, Recompute::selective, Recompute::full};
}

int PlanSpace::chunksThatHaveLayers(const PlanGrid& grid, const ScheduleFamily& family) const
{
    return std::max(1, ((base.model.numHiddenLayers + 1) / grid.pp + 1) * family.modelCopies);
}

std::vector<int> PlanSpace::chunkCounts(const PlanGrid& grid, int kind) const
{
    const ScheduleFamily& family = familyOf(kind);
    if (!free.chunks)
        return {held.chunks > 0 ? held.chunks : family.chunks.least};
    // Orders of one rank differ in next to nothing, but where one pass hides the transfers of another's experts.
    if (grid.pp == 1 && free.kind && family.kind != "1f1b" && !(family.kind == "dualpipe-v" && spreadsExperts(grid)))
        return {};
    std::vector<int> counts;
    const int most = std::min(family.chunks.most > 0 ? family.chunks.most : kMostChunks, chunksThatHaveLayers(grid, family));
    // The file's own list may have more stages without layers.
    const int listed = static_cast<int>(givenLayersPerStage.size()) * family.modelCopies;
    const int own = listed % grid.pp == 0 ? listed / grid.pp : 0;
    for (int chunks = family.chunks.least; chunks <= most; ++chunks)
        if (!m_layersFixed || chunks == own)
            counts.push_back(chunks);
    if (own > most && own >= family.chunks.least && (family.chunks.most == 0 || own <= family.chunks.most))
        counts.push_back(own);
    return counts;
}

std::optional<Choice> PlanSpace::choiceOf(const Scenario& scenario) const
{
    const Layout& layout = scenario.layout;
    const Training& training = scenario.training;
    const auto isAmong = [](const auto& values, auto value) {
        return std::find(values.begin(), values.end(), value) != values.end();
    };
    Choice of{.grid = {.tp = layout.tp, .cp = layout.cp, .pp = layout.pp, .dp = layout.dp, .ep = layout.ep, .etp = layout.etp},
              .microBatch = training.microBatchSize,
              .sequenceParallel = layout.sequenceParallel,
              .zeroStage = layout.zeroStage,
              .dpShard = layout.dpShard,
              .chunks = scenario.schedule.virtualStages,
              .recompute = training.recompute};
    if (!isAmong(grids(), of.grid) || training.globalBatchSize != base.training.globalBatchSize ||
        !isAmong(microBatches(of.grid), of.microBatch) || !isAmong(sequenceParallels(of.grid), of.sequenceParallel) ||
        !isAmong(zeroStages(of.grid), of.zeroStage) || !isAmong(shards(of.grid, of.zeroStage), of.dpShard) ||
        !isAmong(recomputes(), of.recompute))
        return std::nullopt;
    const std::vector<AlikeOrders> alike = ordersOf(of.grid);
    const auto order = std::find_if(alike.begin(), alike.end(), [&](const AlikeOrders& each) {
        const RankOrder& first = orders[asIndex(each.first)];
        return first.axes == layout.order && first.placement == layout.placement;
    });
    const auto kind = std::find(kinds.begin(), kinds.end(), scenario.schedule.kind);
    const std::vector<int> possible = batches(of.grid, of.microBatch);
    if (order == alike.end() || kind == kinds.end() || possible.empty())
        return std::nullopt;
    of.order = order->first;
    of.kind = static_cast<int>(kind - kinds.begin());
    of.batch = possible.front();
    if (of.batch > 0 && of.batch != training.globalBatchSize)
        return std::nullopt;
    if (of.recompute == Recompute::full) {
        const int all = layersOfChunk(of);
        of.recomputeLayers = !free.recompute                                                   ? held.recomputeLayers
                             : training.recomputeLayers == 0 || training.recomputeLayers > all ? all
                                                                                               : training.recomputeLayers;
        if (free.recompute && of.recomputeLayers < leastDepth(of))
            return std::nullopt;
    }
    Scenario made = base;
    const std::vector<LegalPipeline>& pipelines = legalPipelines(of, made);
    const bool isLegal = std::any_of(pipelines.begin(), pipelines.end(),
                                     [&](const LegalPipeline& each) { return each.kind == of.kind && each.chunks == of.chunks; });
    applyTo(made, of);
    const bool isSame = made.schedule.layersPerStage == scenario.schedule.layersPerStage &&
                        (of.recompute != Recompute::selective || made.training.recomputeModules == training.recomputeModules);
    return isLegal && isSame && isOfFramework(made) ? std::optional(of) : std::nullopt;
}

} // namespace sim
