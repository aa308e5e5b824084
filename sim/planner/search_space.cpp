// Grids, what is legal of them, and their shapes and layouts under floors.
#include "sim/planner/search.h"

#include "sim/cancel.h"
#include "sim/frameworks/limits.h"
#include "sim/index.h"
#include "sim/parallel.h"

#include <map>
#include <set>

namespace sim {

/// Kinds and chunks that are legal for a choice's grid, micro-batch and sequence parallelism.
template <typename Take>
void Search::eachShape(const Choice& choice, Scenario& scratch, const Take& take) const
{
    Choice shape = choice;
    shape.zeroStage = m_space.zeroStages(choice.grid).front();
    shape.dpShard = m_space.shards(choice.grid, shape.zeroStage).front();
    shape.recomputeLayers = choice.recompute == Recompute::full ? 1 : 0;
    for (const LegalPipeline& pipeline : m_space.legalPipelines(choice, scratch)) {
        shape.kind = pipeline.kind;
        shape.chunks = pipeline.chunks;
        take(shape, pipeline.layersOfChunk);
    }
}

/// Ways of sharding that the framework has. `scratch` is the choice's, and then the last way's.
template <typename Take>
void Search::eachSharding(const Choice& choice, Scenario& scratch, const Take& take) const
{
    const bool filtered = !m_request.framework.empty();
    for (const int zero : m_space.zeroStages(choice.grid))
        for (const int shard : m_space.shards(choice.grid, zero)) {
            scratch.layout.zeroStage = zero;
            scratch.layout.dpShard = shard;
            m_space.applySoftware(scratch);
            if (!filtered || m_space.isOfFramework(scratch))
                take();
        }
}

int Search::depthToJudge(const Choice& choice) const
{
    return choice.recompute != Recompute::full ? 0
           : m_space.free.recompute            ? m_space.leastDepth(choice)
                                               : m_space.held.recomputeLayers;
}

void Search::surveyGrid(std::size_t index, GridRecord& record, std::vector<Waiting>& nodes)
{
    checkCancelled();
    Choice choice;
    choice.grid = record.grid;
    Scenario scratch = m_space.base;
    const bool filtered = !m_request.framework.empty();
    const std::vector<Recompute> recomputes = m_space.recomputes();
    const StateFloor states = m_floors.leastStatesOf(record.grid);
    std::string refused;
    std::int64_t ways = 0; // of sharding
    for (const int zero : m_space.zeroStages(record.grid))
        ways += static_cast<std::int64_t>(m_space.shards(record.grid, zero).size());
    for (const AlikeOrders& alike : m_space.ordersOf(record.grid)) {
        choice.order = alike.first;
        for (const int microBatch : m_space.microBatches(record.grid)) {
            choice.microBatch = microBatch;
            const std::vector<int> batches = m_space.batches(record.grid, microBatch);
            for (const bool sequenceParallel : m_space.sequenceParallels(record.grid)) {
                choice.sequenceParallel = sequenceParallel;
                std::map<Recompute, std::int64_t> legal;
                choice.recompute = recomputes.front();
                std::set<std::pair<int, int>> counted; // kinds and chunks of which the largest batch alone is searched
                const auto count = [&](const Choice& shape, int layersOfChunk) {
                    if (counted.contains({shape.kind, shape.chunks}))
                        return;
                    if (!m_space.hasSmallerBatches(shape.kind))
                        counted.emplace(shape.kind, shape.chunks);
                    for (const Recompute recompute : recomputes) {
                        const bool isDeep = recompute == Recompute::full && m_space.free.recompute;
                        std::int64_t shardings = filtered ? 0 : ways, leastDepth = 1;
                        if (filtered) {
                            Choice of = shape;
                            of.recompute = recompute;
                            of.recomputeLayers = depthToJudge(of);
                            m_space.applyTo(scratch, of);
                            eachSharding(of, scratch, [&] { ++shardings; });
                            if (shardings == 0 && refused.empty())
                                refused = frameworkLimit(m_request.framework, scratch);
                            leastDepth = isDeep ? m_space.leastDepth(of) : 1;
                        }
                        legal[recompute] += alike.count * shardings * (isDeep ? layersOfChunk - leastDepth + 1 : 1);
                    }
                };
                for (const int batch : batches) {
                    choice.batch = batch;
                    eachShape(choice, scratch, count);
                }
                if (std::all_of(legal.begin(), legal.end(), [](const auto& of) { return of.second == 0; }))
                    continue;
                if (states.bytes > m_capacityBytes) { // nothing needs to be priced
                    for (const auto& [recompute, layouts] : legal)
                        record.legal += layouts;
                    record.bound.note(states.bytes, 0, choice);
                    record.isOfStates = true;
                    continue;
                }
                Choice node = choice;
                node.batch = batches.front();
                node.kind = 0;
                node.chunks = m_space.familyOf(0).chunks.least;
                node.zeroStage = 0;
                node.dpShard = node.grid.dp * node.grid.cp;
                m_space.applyTo(scratch, node);
                for (const auto& [recompute, floor] : m_floors.leastOf(node, scratch, states)) {
                    record.legal += legal[recompute];
                    if (legal[recompute] == 0)
                        continue;
                    node.recompute = recompute;
                    node.recomputeLayers = recompute == Recompute::full ? 1 : 0;
                    const double ns = floor.stepNs * m_space.paceOf(node); // of each batch
                    if (floor.bytes > m_capacityBytes) {
                        record.bound.note(floor.bytes, 0, node);
                        continue;
                    }
                    nodes.push_back({.key = byHeadroom() ? floor.bytes : ns,
                                     .rung = Rung::node,
                                     .grid = static_cast<std::int32_t>(index),
                                     .choice = node,
                                     .floorNs = ns,
                                     .tightNs = ns,
                                     .second = byHeadroom() ? ns : 0});
                }
            }
        }
    }
    record.isSurveyed = true;
    if (record.legal > 0)
        return;
    record.rule = !refused.empty() ? refused : whyIllegal(m_space, record.grid);
}

/// A key of the job, and not of a layout, that the framework's settings have no word for is refused of every layout: of some that
/// have little in common it is asked at once, else all that fit would be laid out first.
void Search::refuseWhatNoLayoutSays(const std::deque<Waiting>& all) const
{
    if (m_request.framework.empty())
        return;
    constexpr std::size_t kMostAsked = 12;
    const auto isOfLayouts = [](std::string_view pointer) {
        return !pointer.starts_with("/training/") || pointer.starts_with("/training/overlap") ||
               pointer.starts_with("/training/recompute") || pointer.ends_with("_batch_size");
    };
    std::string first;
    for (std::size_t i = 0; i < std::min(all.size(), kMostAsked); ++i) {
        const Choice& of = all[i * all.size() / std::min(all.size(), kMostAsked)].choice;
        Scenario scratch = m_space.base;
        std::vector<Scenario> asked; // one of each stage of ZeRO
        eachShape(of, scratch, [&](const Choice& shape, int) {
            if (!asked.empty())
                return;
            Choice one = shape;
            one.recomputeLayers = depthToJudge(one);
            Scenario made = m_space.scenarioOf(one);
            eachSharding(one, made, [&] {
                if (asked.empty() || asked.back().layout.zeroStage != made.layout.zeroStage)
                    asked.push_back(made);
            });
        });
        for (const Scenario& each : asked) {
            checkCancelled();
            const std::string problem = frameworkProblem(m_request, each, m_catalogue);
            const std::string_view pointer = std::string_view(problem).substr(0, problem.find(':'));
            if (problem.empty() || isOfLayouts(pointer) || (!first.empty() && !first.starts_with(std::string(pointer) + ":")))
                return;
            if (first.empty())
                first = problem;
        }
    }
    if (!first.empty())
        throw Error(first);
}

void Search::survey()
{
    std::vector<PlanGrid> all = m_space.grids();
    std::vector<PlanGrid> mine;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (static_cast<int>(i % asIndex(m_request.parts)) == m_request.part)
            mine.push_back(all[i]);
    for (const PlanGrid& grid : mine)
        m_grids.push_back({.grid = grid});
    std::deque<Waiting> nodes;
    constexpr std::size_t kGridsAtOnce = 64;
    for (std::size_t from = 0; from < mine.size(); from += kGridsAtOnce) {
        const std::size_t count = std::min(kGridsAtOnce, mine.size() - from);
        std::vector<std::vector<Waiting>> ofGrids(count);
        m_crew.forEach(count, [&](std::size_t i) { surveyGrid(from + i, m_grids[from + i], ofGrids[i]); });
        for (const std::vector<Waiting>& ofGrid : ofGrids)
            nodes.insert(nodes.end(), ofGrid.begin(), ofGrid.end());
        m_gridsDone = static_cast<std::int64_t>(from + count);
        report(false);
    }
    refuseWhatNoLayoutSays(nodes);
    for (const GridRecord& record : m_grids)
        m_answer.covered += record.legal;
    m_queue.adopt(std::move(nodes));
    m_isSurveyed = true;
}

/// A shape, sharded whichever way, its layers dealt evenly and by what stages cost; false: the framework has no way. A floor is
/// what each micro-batch takes and what comes once, so that a token takes no less of it with fewer of them: the shape stands for
/// smaller batches until its turn comes. Not where layers are dealt anew for each: then nothing is known but `leastNs`.
bool Search::pushShape(Choice shape, Scenario& scratch, const PartFloors& parts, const Waiting& of, double leastNs,
                       std::vector<Waiting>& shapes) const
{
    const bool filtered = !m_request.framework.empty();
    const auto push = [&] {
        const double ns = m_floors.leastOfShape(shape, scratch, parts);
        shapes.push_back({.key = of.key,
                          .rung = Rung::shape,
                          .grid = of.grid,
                          .choice = shape,
                          .floorNs = std::max(leastNs, ns * m_space.paceOf(shape))});
        setKeys(shapes.back(), ns, 0);
    };
    const auto shardings = [&] {
        std::vector<std::pair<int, int>> ways;
        eachSharding(shape, scratch, [&] { ways.emplace_back(scratch.layout.zeroStage, scratch.layout.dpShard); });
        m_space.applyTo(scratch, shape);
        return ways;
    };
    m_space.applyTo(scratch, shape);
    if (filtered && shardings().empty() && !m_space.free.layersPerStage)
        return false;
    const std::size_t before = shapes.size();
    if (!filtered || !shardings().empty())
        push();
    if (m_space.free.layersPerStage) {
        const auto deals = m_floors.unevenOf(shape, scratch, parts, shardings(), m_capacityBytes);
        m_space.rememberDeals(shape, deals);
        for (shape.deal = 1; asIndex(shape.deal) <= deals.size(); ++shape.deal) {
            m_space.applyTo(scratch, shape);
            if (m_space.isLegalAllAlong(scratch) && (!filtered || !shardings().empty()))
                push();
        }
    }
    if (shapes.size() == before)
        return false;
    if (m_space.free.batch && m_space.hasSmallerBatches(shape.kind)) {
        shapes[before].isOfSmallerToo = true;
        if (m_space.free.layersPerStage)
            shapes[before].key = of.key;
    }
    return true;
}

/// What there is of a node under each schedule, with the largest batch that it may have.
void Search::expandNode(const Waiting& node, std::vector<Waiting>& shapes) const
{
    checkCancelled();
    Scenario scratch = m_space.scenarioOf(node.choice);
    const auto parts = m_floors.partsOf(node.choice, scratch);
    std::set<std::pair<int, int>> begun; // kinds and chunks, where there are several batches
    Choice of = node.choice;
    for (const int batch : m_space.batches(of.grid, of.microBatch)) {
        of.batch = batch;
        eachShape(of, scratch, [&](Choice shape, int) {
            if (!m_request.framework.empty())
                shape.recomputeLayers = depthToJudge(shape);
            else if (!m_space.free.recompute)
                shape.recomputeLayers = m_space.held.recomputeLayers;
            const std::pair pipeline(shape.kind, shape.chunks);
            if (!begun.contains(pipeline) && pushShape(shape, scratch, *parts, node, node.floorNs, shapes) && batch > 0)
                begun.insert(pipeline);
        });
    }
}

/// The same with its passes in their order.
void Search::orderShape(const Waiting& shape, std::vector<Waiting>& next) const
{
    checkCancelled();
    const Scenario scenario = m_space.scenarioOf(shape.choice);
    const auto order = m_floors.orderOf(shape.choice, scenario);
    const double ns = m_floors.shapeOf(shape.choice, scenario, *m_floors.partsOf(shape.choice, scenario), order.get()).leastNs;
    next.push_back(shape);
    next.back().rung = Rung::ordered;
    next.back().isOfSmallerToo = false;
    next.back().floorNs = std::max(shape.floorNs, ns * m_space.paceOf(shape.choice));
    setKeys(next.back(), ns, 0);
}

/// Its layouts: each way of sharding, with as few layers run again as may fit, or with each number of them (takesEachDepth).
void Search::expandShape(const Waiting& shape, std::vector<Waiting>& leaves, GridRecord& record) const
{
    checkCancelled();
    Choice leaf = shape.choice;
    Scenario scratch = m_space.scenarioOf(leaf);
    const auto parts = m_floors.partsOf(leaf, scratch);
    const auto order = m_floors.orderOf(leaf, scratch);
    std::map<int, ShapeFloor> byDepth; // layers run again
    const int leastDepth = m_space.leastDepth(leaf);
    std::vector<std::pair<int, int>> shardings; // stage of ZeRO, ranks of a group
    eachSharding(leaf, scratch, [&] { shardings.emplace_back(scratch.layout.zeroStage, scratch.layout.dpShard); });
    for (const auto& [zero, shard] : shardings) {
        leaf.zeroStage = scratch.layout.zeroStage = zero;
        leaf.dpShard = scratch.layout.dpShard = shard;
        m_space.applySoftware(scratch);
        const auto shards = m_floors.shardsOf(leaf, scratch);
        LayoutFloor floor;
        std::vector<int> tried; // numbers of layers
        const auto floorWith = [&](int layers) {
            leaf.recomputeLayers = layers;
            scratch.training.recomputeLayers = leaf.recompute == Recompute::full ? layers : 0;
            auto known = byDepth.find(layers);
            if (known == byDepth.end())
                known = byDepth.emplace(layers, m_floors.shapeOf(leaf, scratch, *parts, order.get())).first;
            if (std::find(tried.begin(), tried.end(), layers) == tried.end()) {
                tried.push_back(layers);
                ++record.evaluated;
            }
            floor = m_floors.shardedOf(leaf, scratch, known->second, *shards);
            return floor.bytes <= m_capacityBytes;
        };
        const auto keep = [&] {
            leaves.push_back({.key = shape.key,
                              .rung = Rung::leaf,
                              .grid = shape.grid,
                              .choice = leaf,
                              .floorNs = floor.stepNs * m_space.paceOf(leaf)});
            setKeys(leaves.back(), floor.stepNs, floor.bytes);
        };
        bool fits = false;
        if (leaf.recompute == Recompute::full && m_space.free.recompute) {
            const int most = m_space.layersOfChunk(leaf);
            if (takesEachDepth(leaf)) {
                for (int layers = leastDepth; layers <= most; ++layers)
                    if (floorWith(layers)) {
                        fits = true;
                        keep();
                    }
                if (!fits)
                    record.floor.note(floor.bytes, floor.fullestRank, leaf);
                continue;
            }
            fits = floorWith(most);
            for (int layers = leastDepth; !fits && layers < most; ++layers) // fewer may fit where all do not
                fits = floorWith(layers);
            if (fits && leaf.recomputeLayers == most) { // the least depth that may fit
                int least = leastDepth, enough = most;
                while (least < enough) {
                    const int middle = (least + enough) / 2;
                    if (floorWith(middle))
                        enough = middle;
                    else
                        least = middle + 1;
                }
                floorWith(enough);
            }
        } else {
            fits = floorWith(shape.choice.recomputeLayers);
        }
        if (!fits) {
            record.floor.note(floor.bytes, floor.fullestRank, leaf);
            continue;
        }
        keep();
    }
}

/// A shape's layouts, and the same shape with the next smaller batch. Fewer micro-batches hold no more, but under V-Half and
/// V-Min, which may: where nothing fits, the next is the largest of which something may.
void Search::expandBatches(const Waiting& shape, std::vector<Waiting>& next, GridRecord& record) const
{
    const auto hasLayouts = [&](const Waiting& of, std::vector<Waiting>& layouts) {
        std::vector<Waiting> ordered;
        orderShape(of, ordered);
        expandShape(ordered.front(), layouts, record);
        return !layouts.empty();
    };
    // Of layers that are dealt anew, and of what a framework refuses, one batch says nothing of the next.
    const bool holdsNoMore = !m_space.kinds[asIndex(shape.choice.kind)].starts_with("v-");
    const bool oneByOne = hasLayouts(shape, next) || !holdsNoMore || m_space.free.layersPerStage || !m_request.framework.empty();
    Scenario scratch = m_space.scenarioOf(shape.choice);
    const auto parts = m_floors.partsOf(shape.choice, scratch);
    Choice of = shape.choice;
    of.deal = 0;
    std::vector<std::vector<Waiting>> smaller; // of each batch: the shape, and how else its layers are dealt
    for (const int batch : m_space.batches(of.grid, of.microBatch)) {
        if (batch >= shape.choice.batch)
            continue;
        of.batch = batch;
        std::vector<Waiting> shapes;
        eachShape(of, scratch, [&](Choice one, int) {
            if (one.kind != of.kind || one.chunks != of.chunks)
                return;
            one.recomputeLayers = of.recomputeLayers;
            pushShape(one, scratch, *parts, shape, shape.key, shapes);
        });
        if (!shapes.empty())
            smaller.push_back(std::move(shapes));
        if (oneByOne && !smaller.empty())
            break;
    }
    if (smaller.empty())
        return;
    std::size_t taken = 0;
    if (!oneByOne) {
        const auto fits = [&](std::size_t i) {
            std::vector<Waiting> layouts;
            return hasLayouts(smaller[i].front(), layouts);
        };
        std::size_t tooLarge = 0;
        taken = smaller.size() - 1;
        if (!fits(taken))
            return;
        if (fits(0))
            taken = 0;
        while (taken - tooLarge > 1) {
            const std::size_t middle = (taken + tooLarge) / 2;
            (fits(middle) ? taken : tooLarge) = middle;
        }
    }
    next.insert(next.end(), smaller[taken].begin(), smaller[taken].end());
}

void Search::lookCloser(const std::vector<Waiting>& waiting)
{
    std::vector<Look> looks(waiting.size());
    m_crew.forEach(waiting.size(), [&](std::size_t i) {
        switch (waiting[i].rung) {
        case Rung::grid:
            surveyGrid(asIndex(waiting[i].grid), m_grids[asIndex(waiting[i].grid)], looks[i].next);
            break;
        case Rung::node:
            expandNode(waiting[i], looks[i].next);
            break;
        case Rung::shape:
            if (waiting[i].isOfSmallerToo)
                expandBatches(waiting[i], looks[i].next, looks[i].record);
            else
                orderShape(waiting[i], looks[i].next);
            break;
        case Rung::ordered:
            expandShape(waiting[i], looks[i].next, looks[i].record);
            break;
        default:
            looks[i].laid = layOut(waiting[i]);
        }
    });
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].rung == Rung::leaf) {
            takeLaid(waiting[i], looks[i].laid);
            continue;
        }
        GridRecord& record = m_grids[asIndex(waiting[i].grid)];
        const GridRecord& more = looks[i].record;
        record.evaluated += more.evaluated;
        m_answer.evaluated += more.evaluated;
        record.floor.note(more.floor.bytes, more.floor.rank, more.floor.of);
        for (Waiting& one : looks[i].next) {
            if (one.rung == Rung::leaf && m_known == one.choice)
                continue;
            one.key = std::max(one.key, waiting[i].key);
            m_queue.push(std::move(one));
        }
    }
}

} // namespace sim
