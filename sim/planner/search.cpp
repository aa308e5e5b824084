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
#include <string>
#include <tuple>

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
    int failedLayers = 0; ///< so many run again do not fit: more are to be tried
    double failedBytes = 0;
    double second = 0; ///< of those with the same key, nothing of it is better in this
};

/// How many ways a layout splits the model.
std::int64_t splitsOf(const Choice& choice)
{
    return std::int64_t{choice.grid.tp} * choice.grid.cp * choice.grid.pp;
}

/// Least key first; of equals the one that splits the model least.
struct Later {
    bool operator()(const Waiting& a, const Waiting& b) const
    {
        if (a.key != b.key)
            return a.key > b.key;
        if (a.second != b.second)
            return a.second > b.second;
        if (a.rung != b.rung)
            return a.rung < b.rung;
        if (splitsOf(a.choice) != splitsOf(b.choice))
            return splitsOf(a.choice) > splitsOf(b.choice);
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
    /// What is as good in all that counts is not cut: which of equals is first must not depend on which was met first. A step is
    /// a whole number of nanoseconds, a floor a sum of rounded ones.
    bool isCut(const Waiting& of) const
    {
        const double best = byHeadroom() ? m_bestKey : m_bestKey + 1;
        return of.key > best || (of.key == best && of.second > m_bestSecond);
    }
    void survey();
    void surveyGrid(std::size_t index, GridRecord&, std::vector<Waiting>&);
    void explore();
    void expand(const std::vector<Waiting>&);
    void expandNode(const Waiting&, std::vector<Waiting>& leaves, GridRecord&);
    void tighten(const std::vector<Waiting>&);
    void simulateAll(const std::vector<Waiting>&);
    struct Laid {
        TightFloor floor;
        int layers = 0; ///< run again
        std::int64_t tries = 0;
        bool fits = false;
        std::string problem; ///< why it cannot be laid out here
        LayoutFloor deeper;  ///< with as many run again as are to be tried next, where it does not fit and there are more
        int deeperLayers = 0;
        bool isLaid = true; ///< else the order of its passes was enough to say that it does not fit
    };
    bool canGoDeeper(const Choice& choice) const
    {
        return choice.recompute == Recompute::full && m_space.free.recompute &&
               choice.recomputeLayers < m_space.layersOfChunk(choice);
    }
    TightFloor laidOut(Choice, int layers, Laid&) const;
    Laid layOut(const Waiting&) const;
    LayoutFloor floorDeeper(const Choice&) const;
    void pushDeeper(const Waiting&, double bytes, const LayoutFloor& deeper, int layers, bool isLaid);
    bool fitsAsScheduled(const Waiting&, Laid&) const;
    void leaveOpen(const Waiting&, const std::string& problem);
    void setKeys(Waiting&, double ns, double bytes) const;
    template <typename Take>
    void eachShape(const Choice&, Scenario&, const Take&) const;
    void report(bool always);
    void finish(PlanAnswer&);
    PlannedLayout planned(const Waiting&, const Simulation&) const;
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
    double m_bestKey = kUnbounded, m_bestSecond = kUnbounded;
    std::vector<Waiting> m_tooLarge; ///< to be laid out or simulated here: they stay open
    bool m_isSurveyed = false;
    std::int64_t m_gridsDone = 0;
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
    constexpr std::size_t kGridsAtOnce = 64;
    for (std::size_t from = 0; from < mine.size(); from += kGridsAtOnce) {
        const std::size_t count = std::min(kGridsAtOnce, mine.size() - from);
        forEachInParallel(count, threads(), [&](std::size_t i) { surveyGrid(from + i, m_grids[from + i], nodes[from + i]); });
        m_gridsDone = static_cast<std::int64_t>(from + count);
        report(false);
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
        m_answer.covered += m_grids[i].legal;
        for (Waiting& node : nodes[i])
            m_queue.push(std::move(node));
    }
    m_isSurveyed = true;
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
                leaves.push_back({.rung = Rung::leaf, .grid = node.grid, .choice = leaf, .floorNs = floor.stepNs});
                setKeys(leaves.back(), floor.stepNs, floor.bytes);
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

/// Floors only rise as more is known.
void Search::setKeys(Waiting& of, double ns, double bytes) const
{
    of.tightNs = std::max(of.floorNs, ns);
    of.bytes = bytes;
    of.key = std::max(of.key, byHeadroom() ? bytes : of.tightNs);
    of.second = byHeadroom() ? of.tightNs : bytes;
}

LayoutFloor Search::floorDeeper(const Choice& failed) const
{
    Choice deeper = failed;
    ++deeper.recomputeLayers;
    const Scenario scenario = m_space.scenarioOf(deeper);
    return m_floors.floorOf(deeper, scenario, *m_floors.partsOf(deeper, scenario), *m_floors.shardsOf(deeper, scenario));
}

/// It waits again, with the floor of the next: which of the deeper ones fits is found out when its turn comes.
void Search::pushDeeper(const Waiting& failed, double bytes, const LayoutFloor& floor, int layers, bool isLaid)
{
    Waiting deeper = failed;
    deeper.rung = Rung::leaf;
    if (isLaid) {
        deeper.failedLayers = failed.choice.recomputeLayers;
        deeper.failedBytes = bytes;
    }
    deeper.choice.recomputeLayers = layers;
    ++m_answer.evaluated;
    deeper.floorNs = floor.stepNs;
    setKeys(deeper, floor.stepNs, floor.bytes);
    m_queue.push(std::move(deeper));
}

void Search::leaveOpen(const Waiting& waiting, const std::string& problem)
{
    ++m_answer.tooLarge;
    if (m_answer.tooLargeText.empty())
        m_answer.tooLargeText = problem;
    GridRecord& record = m_grids[asIndex(waiting.grid)];
    if (record.tooLargeText.empty())
        record.tooLargeText = problem;
    ++record.tooLarge;
    m_tooLarge.push_back(waiting);
}

TightFloor Search::laidOut(Choice choice, int layers, Laid& laid) const
{
    choice.recomputeLayers = layers;
    ++laid.tries;
    return tightFloor(m_space.scenarioOf(choice));
}

/// Whether the passes whose activations are held at once may fit; if not, the least number of layers to run again so that they
/// may.
bool Search::fitsAsScheduled(const Waiting& leaf, Laid& laid) const
{
    Choice choice = leaf.choice;
    Scenario scenario = m_space.scenarioOf(choice);
    const auto inFlight = m_floors.inFlightOf(choice, scenario);
    if (!inFlight)
        return true;
    const auto parts = m_floors.partsOf(choice, scenario);
    const auto shards = m_floors.shardsOf(choice, scenario);
    LayoutFloor floor;
    const auto fitsWith = [&](int layers) {
        choice.recomputeLayers = scenario.training.recomputeLayers = layers;
        floor = m_floors.floorOf(choice, scenario, *parts, *shards, inFlight.get());
        return floor.bytes <= m_capacityBytes;
    };
    if (fitsWith(laid.layers))
        return true;
    laid.isLaid = false;
    laid.floor = {.stepNs = floor.stepNs, .peakBytes = floor.bytes, .fullestRank = floor.fullestRank};
    if (!canGoDeeper(leaf.choice))
        return false;
    int least = laid.layers + 1, enough = m_space.layersOfChunk(choice);
    if (!fitsWith(enough)) {
        laid.floor = {.stepNs = floor.stepNs, .peakBytes = floor.bytes, .fullestRank = floor.fullestRank};
        laid.layers = enough;
        return false;
    }
    while (least < enough) {
        const int middle = (least + enough) / 2;
        if (fitsWith(middle))
            enough = middle;
        else
            least = middle + 1;
    }
    fitsWith(enough);
    laid.deeper = floor;
    laid.deeperLayers = enough;
    return false;
}

/// The layout, or of those with as many or more layers run again the one with the fewest that fits. Layers save what they save:
/// the first ones, which may be dense where the others are not, say nothing of the next.
Search::Laid Search::layOut(const Waiting& leaf) const
{
    Laid laid{.layers = leaf.choice.recomputeLayers};
    try {
        const auto isSmall = [&](const TightFloor& floor) { return floor.peakBytes <= m_capacityBytes; };
        if (leaf.failedLayers == 0) {
            if (!fitsAsScheduled(leaf, laid))
                return laid;
            laid.floor = laidOut(leaf.choice, laid.layers, laid);
            laid.fits = isSmall(laid.floor);
            if (!laid.fits && canGoDeeper(leaf.choice)) {
                laid.deeper = floorDeeper(leaf.choice);
                laid.deeperLayers = laid.layers + 1;
            }
            return laid;
        }
        int fails = leaf.failedLayers;
        double failsBytes = leaf.failedBytes;
        laid.layers = m_space.layersOfChunk(leaf.choice);
        laid.floor = laidOut(leaf.choice, laid.layers, laid);
        // The last one may save nothing: its backward pass comes first, and its input is kept besides.
        if (!isSmall(laid.floor) && laid.layers - 1 > fails)
            if (const TightFloor but = laidOut(leaf.choice, laid.layers - 1, laid); but.peakBytes < laid.floor.peakBytes) {
                laid.floor = but;
                --laid.layers;
            }
        laid.fits = isSmall(laid.floor);
        for (bool halves = false; laid.fits && laid.layers - fails > 1; halves = !halves) {
            const double share = halves || failsBytes <= laid.floor.peakBytes
                                     ? 0.5
                                     : (failsBytes - m_capacityBytes) / (failsBytes - laid.floor.peakBytes);
            const int middle =
                std::clamp(fails + static_cast<int>(std::ceil(share * (laid.layers - fails))), fails + 1, laid.layers - 1);
            const TightFloor floor = laidOut(leaf.choice, middle, laid);
            if (isSmall(floor)) {
                laid.floor = floor;
                laid.layers = middle;
            } else {
                fails = middle;
                failsBytes = floor.peakBytes;
            }
        }
    } catch (const Error& error) {
        laid.problem = error.what();
    }
    return laid;
}

void Search::tighten(const std::vector<Waiting>& leaves)
{
    std::vector<Laid> laid(leaves.size());
    forEachInParallel(leaves.size(), threads(), [&](std::size_t i) { laid[i] = layOut(leaves[i]); });
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        Waiting leaf = leaves[i];
        const Laid& of = laid[i];
        m_answer.tightened += of.tries;
        if (!of.problem.empty()) {
            leaveOpen(leaf, of.problem);
            continue;
        }
        leaf.choice.recomputeLayers = of.layers;
        if (!of.fits) {
            m_grids[asIndex(leaf.grid)].noteMemory(of.floor.peakBytes, of.floor.fullestRank, leaf.choice);
            if (of.deeper.stepNs > 0)
                pushDeeper(leaf, of.floor.peakBytes, of.deeper, of.deeperLayers, of.isLaid);
            continue;
        }
        leaf.rung = Rung::tight;
        setKeys(leaf, of.floor.stepNs, of.floor.peakBytes);
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
    std::vector<std::string> problems(leaves.size()), refused(leaves.size());
    forEachInParallel(leaves.size(), threads(), [&](std::size_t i) {
        const auto resolved = withSettings(m_request, m_space.settingsOf(leaves[i].choice)).resolve(m_catalogue);
        if (!resolved.scenario) { // perturbations of ranks that are not there, and the like: not legal for this job
            for (const Problem& problem : resolved.problems)
                if (problem.severity == Severity::error && refused[i].empty())
                    refused[i] = problem.pointer + ": " + problem.message;
            return;
        }
        try {
            results[i] = simulate(*resolved.scenario);
        } catch (const Error& error) {
            problems[i] = error.what();
        }
    });
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        GridRecord& record = m_grids[asIndex(leaves[i].grid)];
        if (!refused[i].empty()) {
            record.rule = refused[i];
            continue;
        }
        if (!results[i]) {
            leaveOpen(leaves[i], problems[i]);
            continue;
        }
        ++m_answer.simulated;
        const double bytes = results[i]->metrics().peakMemoryGib * kBytesPerGib;
        if (bytes > m_capacityBytes || !results[i]->metrics().hostFits) {
            record.noteMemory(bytes, 0, leaves[i].choice);
            if (canGoDeeper(leaves[i].choice))
                pushDeeper(leaves[i], bytes, floorDeeper(leaves[i].choice), leaves[i].choice.recomputeLayers + 1, true);
            continue;
        }
        Found found{leaves[i], planned(leaves[i], *results[i]), std::make_shared<const Scenario>(results[i]->scenario())};
        const double ns = std::round(found.layout.stepSeconds * 1e9);
        const auto keys = byHeadroom() ? std::pair(bytes, ns) : std::pair(ns, bytes);
        if (keys < std::pair(m_bestKey, m_bestSecond))
            std::tie(m_bestKey, m_bestSecond) = keys;
        if (keys < std::pair(record.bestKey, record.bestSecond)) {
            std::tie(record.bestKey, record.bestSecond) = keys;
            record.best = found.layout;
        }
        m_found.push_back(std::move(found));
    }
}

void Search::report(bool always)
{
    const auto now = std::chrono::steady_clock::now();
    if (!m_progress || (!always && now - m_told < std::chrono::milliseconds(200)))
        return;
    m_told = now;
    PlanProgress progress{.grids = static_cast<std::int64_t>(m_grids.size()),
                          .gridsDone = m_gridsDone,
                          .tightened = m_answer.tightened,
                          .simulated = m_answer.simulated};
    for (const Found& found : m_found)
        progress.bestSeconds =
            progress.bestSeconds > 0 ? std::min(progress.bestSeconds, found.layout.stepSeconds) : found.layout.stepSeconds;
    const double open = m_isSurveyed && !m_queue.empty() ? m_queue.top().key : 0;
    if (byHeadroom()) {
        progress.bestBytes = std::isfinite(m_bestKey) ? m_bestKey : 0;
        progress.floorBytes = open;
    } else {
        progress.floorSeconds = open * 1e-9;
    }
    m_progress(progress);
}

void Search::explore()
{
    while (!m_queue.empty()) {
        const bool hasEnough = static_cast<int>(m_found.size()) >= m_request.top;
        if (isCut(m_queue.top()) && hasEnough)
            break;
        if (m_answer.simulated >= m_request.mostSimulated)
            break;
        checkCancelled();
        report(false);
        const Rung rung = m_queue.top().rung;
        const std::size_t most = rung == Rung::node ? kNodesAtOnce : rung == Rung::leaf ? kTightAtOnce : kSimulatedAtOnce;
        std::vector<Waiting> batch;
        while (!m_queue.empty() && batch.size() < most && m_queue.top().rung == rung &&
               (batch.empty() || !isCut(m_queue.top()))) {
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
        if (splitsOf(a.from.choice) != splitsOf(b.from.choice))
            return splitsOf(a.from.choice) < splitsOf(b.from.choice);
        return a.from.choice < b.from.choice;
    };
    std::sort(m_found.begin(), m_found.end(), better);
    double open = !m_isSurveyed ? 0 : m_queue.empty() ? kUnbounded : m_queue.top().key;
    for (const Waiting& waiting : m_tooLarge)
        open = std::min(open, waiting.key);
    answer.openKey = open;
    answer.proved = open >= m_bestKey;
    answer.gap = answer.proved ? 0 : m_found.empty() ? 1 : 1 - open / m_bestKey;
    answer.gpus = m_space.gpus;
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
    const auto noteOpen = [&](const Waiting& waiting) {
        GridRecord& record = m_grids[asIndex(waiting.grid)];
        record.openNs = std::min(record.openNs, byHeadroom() ? waiting.tightNs : waiting.key);
        record.openKey = std::min(record.openKey, waiting.key);
    };
    for (const Waiting& waiting : m_queue.all())
        noteOpen(waiting);
    for (const Waiting& waiting : m_tooLarge)
        noteOpen(waiting);
    if (!m_found.empty()) { // which of equals is first does not depend on the order that they were met in
        const Choice& of = m_found.front().from.choice;
        const PlanGrid& grid = of.grid;
        answer.firstOrder = {m_bestKey, m_bestSecond};
        for (const double number :
             std::initializer_list<double>{static_cast<double>(splitsOf(of)), 1.0 * grid.tp, 1.0 * grid.cp, 1.0 * grid.pp,
                                           1.0 * grid.dp, 1.0 * grid.ep, 1.0 * grid.etp, 1.0 * of.order, 1.0 * of.microBatch,
                                           of.sequenceParallel ? 1.0 : 0.0, 1.0 * of.zeroStage, 1.0 * of.dpShard, 1.0 * of.kind,
                                           1.0 * of.chunks, 1.0 * static_cast<int>(of.recompute), 1.0 * of.recomputeLayers})
            answer.firstOrder.push_back(number);
    }
    const PlannedLayout* const first = answer.best.empty() ? nullptr : &answer.best.front();
    for (const GridRecord& record : m_grids)
        if (first == nullptr || record.grid != first->grid)
            answer.rejected.push_back(
                rejectionOf(record, first, {.capacityBytes = m_capacityBytes, .bestKey = m_bestKey, .byHeadroom = byHeadroom()}));
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
