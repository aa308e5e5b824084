// The search: grids by divisors, then everything else of a grid under its floor, best first, until the engine has proved one.
#include "sim/planner/floors.h"
#include "sim/planner/planner.h"
#include "sim/planner/reasons.h"
#include "sim/planner/space.h"
#include "sim/planner/tight_floor.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/legal/legal.h"
#include "sim/memory_limit.h"
#include "sim/parallel.h"
#include "sim/simulate/simulation.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <queue>
#include <set>

namespace sim {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// As many at once whatever the number of threads, so that what is counted does not depend on it.
constexpr std::size_t kNodesAtOnce = 16, kTightAtOnce = 8, kSimulatedAtOnce = 2;

enum class Rung : std::uint8_t { node, leaf, tight };

/// What waits to be looked at closer: all of a grid with one micro-batch and kind of recomputation, or one layout.
struct Waiting {
    double key = 0; ///< nothing of it is better
    Rung rung = Rung::node;
    std::int32_t grid = 0;
    Choice choice;
    double floorNs = 0, tightNs = 0, bytes = 0;
    double shallowBytes = 0; ///< of the one with fewer layers run again that did not fit
    int shallowLayers = 0;
};

/// Least key first; of equals the one that splits the model least.
struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const
    {
        if (a.key != b.key)
            return a.key > b.key;
        if (a.rung != b.rung)
            return a.rung < b.rung;
        const auto parts = [](const Waiting& w) { return std::int64_t{w.choice.grid.tp} * w.choice.grid.cp * w.choice.grid.pp; };
        if (parts(a) != parts(b))
            return parts(a) > parts(b);
        return a.choice > b.choice;
    }
};

class Search {
public:
    Search(const PlanRequest& request, const Catalogue& catalogue, const std::function<void(const PlanProgress&)>& progress)
        : m_request(request), m_catalogue(catalogue), m_progress(progress), m_space(request, catalogue), m_floors(m_space),
          m_capacityBytes((m_space.base.cluster.gpu.memoryGib - request.marginGib) * kBytesPerGib)
    {
    }
    PlanAnswer run();

private:
    bool byHeadroom() const { return m_request.objective == PlanObjective::headroom; }
    std::size_t threads() const { return static_cast<std::size_t>(std::max(0, m_request.jobs)); }
    bool isCut(double key) const { return key >= m_bestKey; }
    void survey();
    void surveyGrid(std::size_t index, GridRecord&, std::vector<Waiting>&);
    void explore();
    void expand(const std::vector<Waiting>&);
    void expandNode(const Waiting&, std::vector<Waiting>& leaves, GridRecord&);
    void tighten(const std::vector<Waiting>&);
    void simulateAll(const std::vector<Waiting>&);
    void pushDeeper(const Waiting&, double bytes, int fullestRank);
    template <typename Take>
    void eachShape(const Choice&, Scenario&, const Take&) const;
    void report(bool always);
    void finish(PlanAnswer&);
    PlannedLayout planned(const Waiting&, const Simulation&) const;
    double keyOf(double ns, double bytes) const { return byHeadroom() ? bytes : ns; }

    const PlanRequest& m_request;
    const Catalogue& m_catalogue;
    const std::function<void(const PlanProgress&)>& m_progress;
    PlanSpace m_space;
    Floors m_floors;
    double m_capacityBytes;
    std::vector<GridRecord> m_grids;
    /// A heap that can be looked through.
    struct Queue : std::priority_queue<Waiting, std::vector<Waiting>, Later> {
        const std::vector<Waiting>& all() const { return c; }
    };
    Queue m_queue;
    struct Found {
        Waiting from;
        PlannedLayout layout;
        std::shared_ptr<const Scenario> scenario;
    };
    std::vector<Found> m_found;
    double m_bestKey = kUnbounded;
    PlanAnswer m_answer;
    std::chrono::steady_clock::time_point m_begun = std::chrono::steady_clock::now(), m_told = m_begun;
};

/// Kinds and chunks that are legal for a choice's grid, micro-batch and sequence parallelism.
template <typename Take>
void Search::eachShape(const Choice& choice, Scenario& scratch, const Take& take) const
{
    Choice shape = choice;
    for (int kind = 0; kind < static_cast<int>(m_space.kinds.size()); ++kind) {
        shape.kind = kind;
        for (const int chunks : m_space.chunkCounts(choice.grid, kind)) {
            shape.chunks = chunks;
            shape.zeroStage = m_space.zeroStages(choice.grid).front();
            shape.dpShard = m_space.shards(choice.grid, shape.zeroStage).front();
            shape.recomputeLayers = choice.recompute == Recompute::full ? 1 : 0;
            m_space.applyTo(scratch, shape);
            if (isLegal(scratch))
                take(shape);
        }
    }
}

void Search::surveyGrid(std::size_t index, GridRecord& record, std::vector<Waiting>& nodes)
{
    checkCancelled();
    Choice choice;
    choice.grid = record.grid;
    Scenario scratch = m_space.base;
    const bool filtered = !m_request.framework.empty();
    std::string refused;
    for (int order = 0; order < static_cast<int>(m_space.orders.size()); ++order) {
        choice.order = order;
        for (const int microBatch : m_space.microBatches(record.grid)) {
            choice.microBatch = microBatch;
            for (const bool sequenceParallel : m_space.sequenceParallels(record.grid)) {
                choice.sequenceParallel = sequenceParallel;
                std::int64_t legal = 0;
                bool hasBlocks = false;
                choice.recompute = m_space.recomputes().front();
                eachShape(choice, scratch, [&](const Choice& shape) {
                    std::int64_t shardings = 0;
                    for (const int zero : m_space.zeroStages(record.grid)) {
                        Choice sharded = shape;
                        sharded.zeroStage = zero;
                        if (filtered) {
                            m_space.applyTo(scratch, sharded);
                            if (std::string limit = frameworkLimit(m_request.framework, scratch); !limit.empty()) {
                                refused = std::move(limit);
                                continue;
                            }
                        }
                        shardings += static_cast<std::int64_t>(m_space.shards(record.grid, zero).size());
                    }
                    std::int64_t depths = 0;
                    for (const Recompute recompute : m_space.recomputes())
                        depths += recompute == Recompute::full && m_space.free.recompute ? m_space.layersOfChunk(shape) : 1;
                    legal += shardings * depths;
                    hasBlocks = hasBlocks || scheduleFamily(m_space.kinds[asIndex(shape.kind)]).modelCopies > 1 ||
                                m_space.kinds[asIndex(shape.kind)] == "dualpipe-v" || scratch.training.overlap.epComm;
                });
                record.legal += legal;
                if (legal == 0)
                    continue;
                for (const Recompute recompute : m_space.recomputes()) {
                    choice.recompute = recompute;
                    choice.recomputeLayers = recompute == Recompute::full ? 1 : 0;
                    choice.kind = 0;
                    choice.chunks = scheduleFamily(m_space.kinds.front()).chunks.least;
                    choice.zeroStage = 0;
                    choice.dpShard = choice.grid.dp * choice.grid.cp;
                    m_space.applyTo(scratch, choice);
                    const double ns = m_floors.leastOf(choice, scratch, hasBlocks);
                    nodes.push_back({.key = byHeadroom() ? 0 : ns,
                                     .rung = Rung::node,
                                     .grid = static_cast<std::int32_t>(index),
                                     .choice = choice,
                                     .floorNs = ns});
                }
            }
        }
    }
    if (record.legal > 0)
        return;
    record.rule = !refused.empty() ? refused : whyIllegal(m_space, record.grid);
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
    std::vector<std::vector<Waiting>> nodes(mine.size());
    forEachInParallel(mine.size(), threads(), [&](std::size_t i) { surveyGrid(i, m_grids[i], nodes[i]); });
    for (std::size_t i = 0; i < mine.size(); ++i) {
        m_answer.covered += m_grids[i].legal;
        for (Waiting& node : nodes[i])
            m_queue.push(std::move(node));
    }
}

void Search::expandNode(const Waiting& node, std::vector<Waiting>& leaves, GridRecord& record)
{
    checkCancelled();
    Scenario scratch = m_space.scenarioOf(node.choice);
    const auto parts = m_floors.partsOf(node.choice, scratch);
    const bool filtered = !m_request.framework.empty();
    std::vector<Choice> shapes;
    eachShape(node.choice, scratch, [&](const Choice& shape) { shapes.push_back(shape); });
    for (const int zero : m_space.zeroStages(node.choice.grid))
        for (const int shard : m_space.shards(node.choice.grid, zero)) {
            std::shared_ptr<const ShardFloors> shards;
            for (Choice leaf : shapes) {
                leaf.zeroStage = zero;
                leaf.dpShard = shard;
                m_space.applyTo(scratch, leaf);
                if (filtered && !frameworkLimit(m_request.framework, scratch).empty())
                    continue;
                if (!shards)
                    shards = m_floors.shardsOf(leaf, scratch);
                LayoutFloor floor;
                const auto floorWith = [&](int layers) {
                    leaf.recomputeLayers = layers;
                    scratch.training.recomputeLayers = layers;
                    ++record.evaluated;
                    floor = m_floors.floorOf(leaf, scratch, *parts, *shards);
                    return floor.bytes <= m_capacityBytes;
                };
                bool fits = false;
                if (leaf.recompute == Recompute::full && m_space.free.recompute) {
                    const int most = m_space.layersOfChunk(leaf);
                    fits = floorWith(most);
                    if (fits && !byHeadroom()) { // the least depth that may fit
                        int least = 1, enough = most;
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
                    fits = floorWith(m_space.free.recompute ? 0 : m_space.held.recomputeLayers);
                }
                if (!fits) {
                    record.noteMemory(floor.bytes, floor.fullestRank, leaf);
                    continue;
                }
                leaves.push_back({.key = keyOf(floor.stepNs, floor.bytes),
                                  .rung = Rung::leaf,
                                  .grid = node.grid,
                                  .choice = leaf,
                                  .floorNs = floor.stepNs,
                                  .tightNs = floor.stepNs,
                                  .bytes = floor.bytes});
            }
        }
}

void Search::expand(const std::vector<Waiting>& nodes)
{
    std::vector<std::vector<Waiting>> leaves(nodes.size());
    std::vector<GridRecord> records(nodes.size());
    forEachInParallel(nodes.size(), threads(), [&](std::size_t i) { expandNode(nodes[i], leaves[i], records[i]); });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        GridRecord& record = m_grids[asIndex(nodes[i].grid)];
        record.evaluated += records[i].evaluated;
        m_answer.evaluated += records[i].evaluated;
        if (records[i].leastBytes < record.leastBytes)
            record.noteMemory(records[i].leastBytes, records[i].fullestRank, records[i].fullest);
        for (Waiting& leaf : leaves[i])
            m_queue.push(std::move(leaf));
    }
}

/// A layout that does not fit after all: with a layer more run again it may.
void Search::pushDeeper(const Waiting& failed, double bytes, int fullestRank)
{
    GridRecord& record = m_grids[asIndex(failed.grid)];
    record.noteMemory(bytes, fullestRank, failed.choice);
    if (failed.choice.recompute != Recompute::full || !m_space.free.recompute ||
        failed.choice.recomputeLayers >= m_space.layersOfChunk(failed.choice))
        return;
    Waiting deeper = failed;
    // Each further layer saves no more than the one before, so that going on as until now never goes too far.
    int more = 1;
    if (failed.shallowLayers > 0 && failed.shallowBytes > bytes) {
        const double each = (failed.shallowBytes - bytes) / (failed.choice.recomputeLayers - failed.shallowLayers);
        more = std::max(1, static_cast<int>(std::min(1e4, (bytes - m_capacityBytes) / each)));
    }
    deeper.choice.recomputeLayers = std::min(failed.choice.recomputeLayers + more, m_space.layersOfChunk(failed.choice));
    deeper.shallowBytes = bytes;
    deeper.shallowLayers = failed.choice.recomputeLayers;
    deeper.rung = Rung::leaf;
    const Scenario scenario = m_space.scenarioOf(deeper.choice);
    const LayoutFloor floor = m_floors.floorOf(deeper.choice, scenario, *m_floors.partsOf(deeper.choice, scenario),
                                               *m_floors.shardsOf(deeper.choice, scenario));
    ++m_answer.evaluated;
    deeper.floorNs = deeper.tightNs = floor.stepNs;
    deeper.bytes = floor.bytes;
    deeper.key = std::max(failed.key, keyOf(floor.stepNs, floor.bytes));
    m_queue.push(std::move(deeper));
}

void Search::tighten(const std::vector<Waiting>& leaves)
{
    std::vector<TightFloor> floors(leaves.size());
    std::vector<char> isMade(leaves.size(), 0);
    forEachInParallel(leaves.size(), threads(), [&](std::size_t i) {
        try {
            floors[i] = tightFloor(m_space.scenarioOf(leaves[i].choice));
            isMade[i] = 1;
        } catch (const Error&) { // no such order, or too large to be held: what the engine would say, too
        }
    });
    m_answer.tightened += static_cast<std::int64_t>(leaves.size());
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        Waiting leaf = leaves[i];
        if (isMade[i] == 0)
            continue;
        if (floors[i].peakBytes > m_capacityBytes) {
            pushDeeper(leaf, floors[i].peakBytes, floors[i].fullestRank);
            continue;
        }
        leaf.rung = Rung::tight;
        leaf.tightNs = std::max(leaf.floorNs, floors[i].stepNs);
        leaf.bytes = floors[i].peakBytes;
        leaf.key = std::max(leaf.key, keyOf(leaf.tightNs, leaf.bytes));
        m_queue.push(std::move(leaf));
    }
}

PlannedLayout Search::planned(const Waiting& from, const Simulation& simulation) const
{
    const Metrics& metrics = simulation.metrics();
    PlannedLayout layout{.grid = from.choice.grid,
                         .settings = m_space.settingsOf(from.choice),
                         .stepSeconds = metrics.stepTimeSeconds,
                         .closedFormSeconds = from.tightNs * 1e-9,
                         .floorSeconds = from.floorNs * 1e-9,
                         .tokensPerSecond = metrics.tokensPerSecond,
                         .peakMemoryGib = metrics.peakMemoryGib,
                         .headroomGib = simulation.scenario().cluster.gpu.memoryGib - metrics.peakMemoryGib,
                         .use = metrics.use};
    const Training& training = simulation.scenario().training;
    const double steps =
        training.tokens > 0 ? std::ceil(training.tokens / (1.0 * training.globalBatchSize * training.sequenceLength)) : 1;
    layout.gpuHours = steps * layout.stepSeconds * m_space.gpus / 3600;
    layout.cost = layout.gpuHours * m_request.price;
    return layout;
}

void Search::simulateAll(const std::vector<Waiting>& leaves)
{
    std::vector<std::shared_ptr<const Simulation>> results(leaves.size());
    forEachInParallel(leaves.size(), threads(), [&](std::size_t i) {
        const auto resolved = withSettings(m_request, m_space.settingsOf(leaves[i].choice)).resolve(m_catalogue);
        if (!resolved.scenario)
            return; // perturbations of ranks that are not there, and the like
        try {
            results[i] = simulate(*resolved.scenario);
        } catch (const Error&) {
        }
    });
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        ++m_answer.simulated;
        if (!results[i])
            continue;
        const double bytes = results[i]->metrics().peakMemoryGib * kBytesPerGib;
        if (bytes > m_capacityBytes || !results[i]->metrics().hostFits) {
            pushDeeper(leaves[i], bytes, 0);
            continue;
        }
        Found found{leaves[i], planned(leaves[i], *results[i]), std::make_shared<const Scenario>(results[i]->scenario())};
        const double key = keyOf(std::round(found.layout.stepSeconds * 1e9), bytes);
        m_bestKey = std::min(m_bestKey, key);
        GridRecord& record = m_grids[asIndex(leaves[i].grid)];
        if (!record.best || found.layout.stepSeconds < record.best->stepSeconds)
            record.best = found.layout;
        m_found.push_back(std::move(found));
    }
}

void Search::report(bool always)
{
    const auto now = std::chrono::steady_clock::now();
    if (!m_progress || (!always && now - m_told < std::chrono::milliseconds(200)))
        return;
    m_told = now;
    PlanProgress progress{
        .grids = static_cast<std::int64_t>(m_grids.size()), .tightened = m_answer.tightened, .simulated = m_answer.simulated};
    for (const Found& found : m_found)
        progress.bestSeconds =
            progress.bestSeconds > 0 ? std::min(progress.bestSeconds, found.layout.stepSeconds) : found.layout.stepSeconds;
    progress.floorSeconds = m_queue.empty() ? 0 : m_queue.top().key * 1e-9;
    m_progress(progress);
}

void Search::explore()
{
    while (!m_queue.empty()) {
        const bool hasEnough = static_cast<int>(m_found.size()) >= m_request.top;
        if (isCut(m_queue.top().key) && hasEnough)
            break;
        if (m_answer.simulated >= m_request.mostSimulated)
            break;
        checkCancelled();
        report(false);
        const Rung rung = m_queue.top().rung;
        const std::size_t most = rung == Rung::node ? kNodesAtOnce : rung == Rung::leaf ? kTightAtOnce : kSimulatedAtOnce;
        std::vector<Waiting> batch;
        while (!m_queue.empty() && batch.size() < most && m_queue.top().rung == rung &&
               (batch.empty() || !isCut(m_queue.top().key))) {
            batch.push_back(m_queue.top());
            m_queue.pop();
        }
        try {
            if (rung == Rung::node)
                expand(batch);
            else if (rung == Rung::leaf)
                tighten(batch);
            else
                simulateAll(batch);
        } catch (const Cancelled&) { // none of it may be forgotten: it is still open
            for (Waiting& waiting : batch)
                m_queue.push(std::move(waiting));
            throw;
        }
    }
}

void Search::finish(PlanAnswer& answer)
{
    const auto better = [&](const Found& a, const Found& b) {
        const auto keys = [&](const Found& f) {
            return byHeadroom() ? std::pair(f.layout.peakMemoryGib, f.layout.stepSeconds)
                                : std::pair(f.layout.stepSeconds, f.layout.peakMemoryGib);
        };
        if (keys(a) != keys(b))
            return keys(a) < keys(b);
        return Later{}(b.from, a.from);
    };
    std::sort(m_found.begin(), m_found.end(), better);
    const double open = m_queue.empty() ? kUnbounded : m_queue.top().key;
    answer.proved = !m_found.empty() && open >= m_bestKey;
    answer.gap = m_found.empty() ? 1 : answer.proved ? 0 : 1 - open / m_bestKey;
    answer.gpus = m_space.gpus;
    answer.gpusOfCluster = m_space.base.cluster.gpus();
    answer.heldFixed = m_space.heldFixed();
    if (!m_found.empty())
        for (Found& found : m_found) {
            const double ratio = found.layout.stepSeconds / m_found.front().layout.stepSeconds;
            found.layout.tieWithFirst =
                &found != &m_found.front() && !likelyRatio(*m_found.front().scenario, *found.scenario, ratio).canTell();
        }
    for (std::size_t i = 0; i < m_found.size() && static_cast<int>(i) < m_request.top; ++i)
        answer.best.push_back(m_found[i].layout);
    std::vector<const Found*> byTime;
    for (const Found& found : m_found)
        byTime.push_back(&found);
    std::stable_sort(byTime.begin(), byTime.end(),
                     [](const Found* a, const Found* b) { return a->layout.stepSeconds < b->layout.stepSeconds; });
    double most = -kUnbounded;
    for (const Found* found : byTime)
        if (found->layout.headroomGib > most) {
            most = found->layout.headroomGib;
            answer.pareto.push_back(found->layout);
        }
    for (const Waiting& waiting : m_queue.all()) {
        GridRecord& record = m_grids[asIndex(waiting.grid)];
        record.openNs = std::min(record.openNs, byHeadroom() ? waiting.floorNs : waiting.key);
    }
    const PlannedLayout* const first = answer.best.empty() ? nullptr : &answer.best.front();
    for (const GridRecord& record : m_grids)
        if (first == nullptr || record.grid != first->grid)
            answer.rejected.push_back(rejectionOf(record, first, m_capacityBytes));
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begun).count();
}

PlanAnswer Search::run()
{
    try {
        survey();
        explore();
    } catch (const Cancelled&) {
        m_answer.stopped = true;
    }
    finish(m_answer);
    report(true);
    return std::move(m_answer);
}

} // namespace

PlanAnswer plan(const PlanRequest& request, const Catalogue& catalogue, const std::function<void(const PlanProgress&)>& progress)
{
    if (request.parts < 1 || request.part < 0 || request.part >= request.parts)
        throw Error("part " + std::to_string(request.part + 1) + " of " + std::to_string(request.parts) +
                    "; parts are 1 to N of N");
    return Search(request, catalogue, progress).run();
}

ScenarioDocument PlanAnswer::firstDocument(const PlanRequest& request) const
{
    if (best.empty())
        throw Error("no layout fits");
    return withSettings(request, best.front().settings);
}

} // namespace sim
