// Layouts laid out and simulated: the last two rungs of the search.
#include "sim/planner/search.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/parallel.h"
#include "sim/planner/planned_layout.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace sim {

LayoutFloor Search::floorDeeper(const Choice& failed) const
{
    Choice deeper = failed;
    ++deeper.recomputeLayers;
    const Scenario scenario = m_space.scenarioOf(deeper);
    return m_floors.floorOf(deeper, scenario, *m_floors.partsOf(deeper, scenario), *m_floors.shardsOf(deeper, scenario),
                            m_floors.orderOf(deeper, scenario).get());
}

/// It waits again, with the floor of the next: which of the deeper ones fits is found out when its turn comes.
void Search::pushDeeper(const Waiting& failed, double bytes, const LayoutFloor& floor)
{
    Waiting deeper = failed;
    deeper.rung = Rung::leaf;
    deeper.failedLayers = failed.choice.recomputeLayers;
    deeper.failedBytes = bytes;
    ++deeper.choice.recomputeLayers;
    deeper.floorNs = std::max(deeper.floorNs, floor.stepNs * m_space.paceOf(deeper.choice));
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

PassCosts Search::passCostsOf(const Choice& of, const Scenario& scenario) const
{
    Choice choice = of.ofAnyBatch();
    choice.kind = 2 * scenario.modelCopies() + (scenario.perturbations.empty() ? 0 : 1); // not all kinds plan with them
    std::shared_ptr<MeasuredOnce> here;
    {
        const std::lock_guard lock(m_passCostsMutex);
        std::shared_ptr<MeasuredOnce>& known = m_passCosts[choice];
        if (!known)
            known = std::make_shared<MeasuredOnce>();
        here = known;
    }
    std::call_once(here->once, [&] { here->costs = measurePassCosts(scenario); });
    return here->costs;
}

/// Layouts that differ in nothing but how they are sharded mostly have the same: some kinds take longer to plan than all the
/// rest.
std::shared_ptr<const Schedule> Search::scheduleOf(const Choice& choice, const Scenario& scenario) const
{
    constexpr std::size_t kMostKept = 4 << 20; // actions
    const auto costsOf = [&](const Scenario& of) { return passCostsOf(choice, of); };
    const ScheduleRequest request = planningRequest(scenario, costsOf);
    if (isSearched(request)) // by what else is in memory, too
        return std::make_shared<const Schedule>(planSchedule(scenario, costsOf));
    ScheduleKey key{{choice.kind, request.ranks, request.virtualStages, request.microbatches, request.microbatchGroup,
                     request.overlapExpertComm ? 1 : 0, request.slices},
                    {}};
    for (const PassTimes& of : request.times)
        key.second.insert(key.second.end(), {of.forward, of.backwardInput, of.backwardWeight, of.comm, of.overlapped, of.fused});
    for (const PassMemory& of : request.memory)
        key.second.insert(key.second.end(), {of.full, of.weight});
    {
        const std::lock_guard lock(m_schedulesMutex);
        if (const auto found = m_schedules.find(key); found != m_schedules.end())
            return found->second;
    }
    auto made = std::make_shared<const Schedule>(makeScheduleOf(request));
    std::size_t actions = 0;
    for (const std::vector<Action>& ofRank : made->actions)
        actions += ofRank.size();
    const std::lock_guard lock(m_schedulesMutex);
    m_keptActions += actions;
    if (m_keptActions > kMostKept) { // they are made again
        m_schedules.clear();
        m_keptActions = actions;
    }
    return m_schedules.try_emplace(std::move(key), std::move(made)).first->second;
}

TightFloor Search::laidOut(Choice choice, int layers, Laid& laid) const
{
    choice.recomputeLayers = layers;
    ++laid.tries;
    const Scenario scenario = m_space.scenarioOf(choice);
    return tightFloor(scenario, *scheduleOf(choice, scenario));
}

/// The layout, or of those with as many or more layers run again the one with the fewest that fits. Layers save what they save:
/// the first ones, which may be dense where the others are not, say nothing of the next.
Search::Laid Search::layOut(const Waiting& leaf) const
{
    Laid laid{.layers = leaf.choice.recomputeLayers};
    try {
        const auto isSmall = [&](const TightFloor& floor) { return floor.peakBytes <= m_capacityBytes; };
        if (leaf.failedLayers == 0) {
            laid.floor = laidOut(leaf.choice, laid.layers, laid);
            laid.fits = isSmall(laid.floor);
            if (!laid.fits && canGoDeeper(leaf.choice))
                laid.deeper = floorDeeper(leaf.choice);
            return laid;
        }
        int fails = leaf.failedLayers;
        double failsBytes = leaf.failedBytes;
        laid.layers = m_space.layersOfChunk(leaf.choice);
        laid.floor = laidOut(leaf.choice, laid.layers, laid);
        // The last one may save nothing: its backward pass comes first, and its input is kept besides.
        while (!isSmall(laid.floor) && laid.layers - 1 > fails) {
            const TightFloor but = laidOut(leaf.choice, laid.layers - 1, laid);
            if (but.peakBytes >= laid.floor.peakBytes)
                break;
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

void Search::takeLaid(Waiting leaf, const Laid& of)
{
    m_answer.tightened += of.tries;
    if (!of.problem.empty()) {
        leaveOpen(leaf, of.problem);
        return;
    }
    leaf.choice.recomputeLayers = of.layers;
    if (!of.fits) {
        m_grids[asIndex(leaf.grid)].laid.note(of.floor.peakBytes, of.floor.fullestRank, leaf.choice);
        if (of.deeper.stepNs > 0)
            pushDeeper(leaf, of.floor.peakBytes, of.deeper);
        return;
    }
    if (m_known == leaf.choice)
        return;
    leaf.rung = Rung::tight;
    setKeys(leaf, of.floor.stepNs, of.floor.peakBytes);
    m_queue.push(std::move(leaf));
}

/// Of grids of which nothing fits the leanest layout is laid out, so that it can be said what it would take: as lean as one
/// schedule goes. Of so many grids, and of those whose step is not long: a replica with 2,048 sequences of 126 layers took a
/// second and hundreds of megabytes. Of others the bound is told that cut them, and of a job that was refused before anything was
/// searched, too, unless its step is soon laid out: its answer is to come at once.
void Search::layOutLeanest()
{
    constexpr std::size_t kMost = 256;
    constexpr double kSoonLaidOut = 2048, kLongestLaidOut = 10240; // layers of all micro-batches
    const auto isShort = [&](const PlanGrid& grid) {
        const std::vector<int> microBatches = m_space.microBatches(grid);
        if (microBatches.empty())
            return false;
        // Where the batch is free its leanest layout has the smallest, as leanestOf lays it out.
        const std::vector<int> batches = m_space.batches(grid, microBatches.front());
        const int batch = m_space.free.batch && !batches.empty() ? batches.back() : m_space.base.training.globalBatchSize;
        const double layersOfStep = 1.0 * m_space.base.model.numHiddenLayers * batch;
        return (!m_answer.least || layersOfStep <= kSoonLaidOut) &&
               layersOfStep / grid.dp / microBatches.front() <= kLongestLaidOut;
    };
    std::vector<bool> mayFit(m_grids.size(), false);
    const auto note = [&](const Waiting& waiting) { mayFit[asIndex(waiting.grid)] = true; };
    m_queue.each(note);
    std::for_each(m_tooLarge.begin(), m_tooLarge.end(), note);
    std::vector<std::size_t> grids;
    for (std::size_t i = 0; i < m_grids.size() && grids.size() < kMost; ++i)
        if (const GridRecord& record = m_grids[i];
            record.legal > 0 && !record.best && !mayFit[i] && record.hasMemory() && isShort(record.grid))
            grids.push_back(i);
    std::vector<GridRecord::Least> leanest(grids.size());
    m_crew.forEach(grids.size(), [&](std::size_t i) { leanest[i] = leanestOf(m_grids[grids[i]].grid); });
    for (std::size_t i = 0; i < grids.size(); ++i) {
        GridRecord& record = m_grids[grids[i]];
        record.laid.note(leanest[i].bytes, leanest[i].rank, leanest[i].of);
        if (record.laid.isSet())
            record.laidSettings = m_space.settingsOf(record.laid.of);
    }
}

GridRecord::Least Search::leanestOf(const PlanGrid& grid) const
{
    checkCancelled();
    std::vector<std::pair<double, Choice>> tried;
    Scenario scratch = m_space.base;
    const std::vector<int> microBatches = m_space.microBatches(grid);
    const std::vector<int> batches = microBatches.empty() ? microBatches : m_space.batches(grid, microBatches.front());
    for (int kind = 0; kind < static_cast<int>(m_space.kinds.size()); ++kind) {
        const std::vector<int> counts = m_space.chunkCounts(grid, kind);
        if (counts.empty() || microBatches.empty() || (!tried.empty() && m_space.kinds[asIndex(kind)] != "1f1b"))
            continue;
        for (const bool sequenceParallel : m_space.sequenceParallels(grid))
            for (const Recompute recompute : m_space.recomputes())
                for (const int zero : m_space.zeroStages(grid)) {
                    Choice choice{.grid = grid,
                                  .microBatch = microBatches.front(),
                                  .sequenceParallel = sequenceParallel,
                                  .zeroStage = zero,
                                  .dpShard = m_space.shards(grid, zero).back(),
                                  .kind = kind,
                                  .chunks = counts.front(),
                                  .recompute = recompute,
                                  .batch = batches.empty() ? 0 : batches.back()};
                    if (recompute == Recompute::full)
                        choice.recomputeLayers =
                            m_space.free.recompute ? m_space.layersOfChunk(choice) : m_space.held.recomputeLayers;
                    m_space.applyTo(scratch, choice);
                    if (!m_space.isLegalAllAlong(scratch) || !m_space.isOfFramework(scratch))
                        continue;
                    const LayoutFloor floor =
                        m_floors.floorOf(choice, scratch, *m_floors.partsOf(choice, scratch), *m_floors.shardsOf(choice, scratch),
                                         m_floors.orderOf(choice, scratch).get());
                    tried.emplace_back(floor.bytes, choice);
                }
    }
    std::stable_sort(tried.begin(), tried.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    GridRecord::Least least;
    for (std::size_t i = 0; i < tried.size() && i < 2; ++i)
        try {
            const TightFloor laid = tightFloor(m_space.scenarioOf(tried[i].second));
            least.note(laid.peakBytes, laid.fullestRank, tried[i].second);
        } catch (const Cancelled&) {
            throw;
        } catch (const Error&) { // too large to be laid out here
        }
    return least;
}

PlannedLayout Search::planned(const Waiting& from, const Simulation& simulation) const
{
    const double pace = m_space.paceOf(from.choice);
    PlannedLayout layout = plannedLayout(from.choice.grid, m_space.settingsOf(from.choice), simulation, m_request.price, pace);
    layout.closedFormSeconds = from.tightNs / pace * 1e-9;
    layout.floorSeconds = from.floorNs / pace * 1e-9;
    return layout;
}

namespace {

/// Gives up a step once what the engine knows of it, and the closed form behind that, takes longer.
StepWatch watchFor(double mostNs, double floorNs)
{
    StepWatch watch;
    if (mostNs == kUnbounded)
        return watch;
    // Most is lost while the pipeline fills; to look takes a hundredth of the step.
    for (const double share : {0.0625, 0.09375, 0.125, 0.15625, 0.1875, 0.25, 0.375, 0.5, 0.75})
        watch.atNs.push_back(static_cast<std::int64_t>(share * floorNs));
    watch.goesOn = [mostNs, floor = std::shared_ptr<StepFloor>()](const PreparedStep& step,
                                                                  const EngineProgress& progress) mutable {
        if (!floor)
            floor = std::make_shared<StepFloor>(step.scenario, step.program);
        return floor->ns(step, progress) <= mostNs + 1; // a floor is a sum of rounded numbers
    };
    return watch;
}

} // namespace

/// A layout whose step takes longer changes nothing that is told: it has none of the places, its grid has a better one, and one
/// that leaves as much memory is faster. Infinite where there are none of these yet.
double Search::mostOfInterestNs(const Waiting& leaf) const
{
    const std::size_t places = asIndex(std::max(1, m_request.top));
    if (m_nearest > 0 && !m_space.base.training.offload.isOn())
        return std::min(m_nearestKey, m_grids[asIndex(leaf.grid)].bestKey);
    if (byHeadroom() || m_paces.size() < places ||
        m_space.base.training.offload.isOn()) // the host's memory is the engine's alone
        return kUnbounded;
    std::vector<double> steps;
    for (const auto& [layout, ns] : m_paces)
        steps.push_back(ns);
    std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(places - 1), steps.end());
    double asLean = kUnbounded; // the fastest of those
    for (const Found& found : m_found)
        if (found.bytes <= leaf.bytes)
            asLean = std::min(asLean, found.ns);
    return std::max({steps[places - 1], m_grids[asIndex(leaf.grid)].bestKey, asLean});
}

void Search::simulateAll(const std::vector<Waiting>& leaves)
{
    std::vector<std::shared_ptr<const Simulation>> results(leaves.size());
    std::vector<std::string> problems(leaves.size()), refused(leaves.size());
    std::vector<bool> isTooSlow(leaves.size(), false);
    m_crew.forEach(leaves.size(), [&](std::size_t i) {
        const auto resolved = withSettings(m_request, m_space.settingsOf(leaves[i].choice)).resolve(m_catalogue);
        if (!resolved.scenario) { // perturbations of ranks that are not there, and the like: not legal for this job
            for (const Problem& problem : resolved.problems)
                if (problem.severity == Severity::error && refused[i].empty())
                    refused[i] = problem.pointer + ": " + problem.message;
            return;
        }
        if (refused[i] = frameworkProblem(m_request, *resolved.scenario, m_catalogue); !refused[i].empty())
            return;
        try {
            const double pace = m_space.paceOf(leaves[i].choice);
            results[i] =
                simulate(*resolved.scenario, {.watch = watchFor(mostOfInterestNs(leaves[i]) / pace, leaves[i].tightNs / pace)});
        } catch (const GivenUp&) {
            isTooSlow[i] = true;
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
        if (!results[i] && !isTooSlow[i]) {
            leaveOpen(leaves[i], problems[i]);
            continue;
        }
        ++m_answer.simulated;
        ++record.simulated;
        if (isTooSlow[i])
            continue;
        const double bytes = results[i]->metrics().peakMemoryGib * kBytesPerGib;
        const bool fits = bytes <= m_capacityBytes;
        if (!fits || !results[i]->metrics().hostFits) {
            (fits ? record.host : record.laid)
                .note(fits ? results[i]->metrics().hostMemoryGib * kBytesPerGib : bytes, 0, leaves[i].choice);
            if (canGoDeeper(leaves[i].choice))
                pushDeeper(leaves[i], bytes, floorDeeper(leaves[i].choice));
            continue;
        }
        Found found{.from = leaves[i],
                    .layout = planned(leaves[i], *results[i]),
                    .scenario = std::make_shared<const Scenario>(results[i]->scenario()),
                    .ns = std::round(results[i]->metrics().stepTimeSeconds * 1e9) * m_space.paceOf(leaves[i].choice),
                    .bytes = bytes};
        const auto keys = byHeadroom() ? std::pair(bytes, found.ns) : std::pair(found.ns, bytes);
        if (keys < std::pair(m_bestKey, m_bestSecond))
            std::tie(m_bestKey, m_bestSecond) = keys;
        if (keys < std::pair(record.bestKey, record.bestSecond)) {
            std::tie(record.bestKey, record.bestSecond) = keys;
            record.best = found.layout;
        }
        record.leastStepSeconds = std::min(record.leastStepSeconds, found.layout.paceSeconds());
        double& pace = m_paces.try_emplace(leaves[i].choice.ofAnyBatch(), found.ns).first->second;
        pace = std::min(pace, found.ns);
        m_found.push_back(std::move(found));
    }
}

} // namespace sim
