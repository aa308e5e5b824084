// The search from its begin to its answer.
#include "sim/planner/search.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/text/number_text.h"

#include <cmath>
#include <set>
#include <tuple>
#include <utility>

namespace sim {

/// Floors only rise as more is known.
void Search::setKeys(Waiting& of, double ns, double bytes) const
{
    of.tightNs = std::max(of.floorNs, ns * m_space.paceOf(of.choice));
    of.bytes = bytes;
    of.key = std::max(of.key, byHeadroom() ? bytes : of.tightNs);
    of.second = byHeadroom() ? of.tightNs : bytes;
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
            progress.bestSeconds > 0 ? std::min(progress.bestSeconds, found.layout.paceSeconds()) : found.layout.paceSeconds();
    progress.soFar = [this] {
        PlanAnswer answer = m_answer;
        answer.stopped = true;
        finish(answer);
        return answer;
    };
    const double open = m_isSurveyed && !m_queue.empty() ? m_queue.top().key : 0;
    if (byHeadroom()) {
        progress.bestBytes = std::isfinite(m_bestKey) ? m_bestKey : 0;
        progress.floorBytes = open;
    } else {
        progress.floorSeconds = open * 1e-9;
    }
    m_progress(progress);
}

std::int64_t Search::mostSimulated() const
{
    if (m_request.mostSimulated > 0)
        return m_request.mostSimulated;
    // By the size of what is simulated, not by a clock: the answer is the same on any machine.
    const double layersOfStep = 1.0 * m_space.base.model.numHiddenLayers * m_space.base.training.globalBatchSize;
    return static_cast<std::int64_t>(std::clamp(1e6 / std::max(1.0, layersOfStep), 200.0, 4000.0));
}

void Search::explore()
{
    std::int64_t mostForOthers = std::numeric_limits<std::int64_t>::max();
    const std::int64_t most = mostSimulated();
    while (!m_queue.empty()) {
        const bool hasEnough = static_cast<int>(m_paces.size()) >= m_request.top || std::isfinite(m_enoughNs);
        if (m_bestKey <= m_enoughNs && std::isfinite(m_enoughNs))
            break;
        if (isCut(m_queue.top())) { // the first is proved; further places are worth some more, not everything
            if (hasEnough || m_answer.tightened >= mostForOthers)
                break;
            mostForOthers = std::min(mostForOthers, m_answer.tightened + std::max(kTightForOthers, m_answer.tightened / 4));
        }
        if (m_answer.simulated >= most)
            break;
        checkCancelled();
        report(false);
        const bool simulates = m_queue.top().rung == Rung::tight;
        const auto left = static_cast<std::size_t>(most - m_answer.simulated);
        const std::size_t atOnce = simulates ? std::min<std::size_t>(kSimulatedAtOnce, left) : kLookedAtOnce;
        std::vector<Waiting> batch, passed; // a simulation is long: the next one begins beside it, whatever waits between
        while (!m_queue.empty() && batch.size() < atOnce && passed.size() < kPassedAtOnce &&
               (batch.empty() || !isCut(m_queue.top()))) {
            const bool isTight = m_queue.top().rung == Rung::tight;
            if (isTight && !simulates)
                break;
            (isTight == simulates ? batch : passed).push_back(m_queue.top());
            m_queue.pop();
        }
        for (Waiting& waiting : passed)
            m_queue.push(std::move(waiting));
        try {
            simulates ? simulateAll(batch) : lookCloser(batch);
        } catch (const Cancelled&) { // none of it may be forgotten: it is still open
            for (Waiting& waiting : batch)
                m_queue.push(std::move(waiting));
            throw;
        }
    }
}

namespace {

std::string softwareIn(const std::vector<PlanSetting>& settings)
{
    for (const auto& [pointer, json] : settings)
        if (pointer == "training.stack")
            return json;
    return {};
}

} // namespace

/// What is known now, whether the search goes on or not.
void Search::finish(PlanAnswer& answer)
{
    const auto better = [&](const Found& a, const Found& b) {
        const auto keys = [&](const Found& f) {
            return byHeadroom() ? std::pair(f.layout.peakMemoryGib, f.layout.paceSeconds())
                                : std::pair(f.layout.paceSeconds(), f.layout.peakMemoryGib);
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
    answer.paceBatch = m_space.free.batch ? m_space.base.training.globalBatchSize : 0;
    answer.heldFixed = m_space.heldFixed();
    answer.heldRules = m_space.heldRules();
    if (m_space.grids().empty())
        answer.noGrid = whyNoGrid(m_space);
    if (m_request.isOfPart())
        answer.base = resolvedText(m_space.base);
    if (const Uncertainty& sure = m_space.base.uncertainty; !sure.isKnown())
        answer.noTies = sure.basis;
    for (Found& found : m_found) {
        const double ratio = found.layout.paceSeconds() / m_found.front().layout.paceSeconds();
        found.layout.tieWithFirst = answer.noTies.empty() && !byHeadroom() && &found != &m_found.front() &&
                                    !likelyRatio(*m_found.front().scenario, *found.scenario, ratio).canTell();
        if (m_request.isOfPart())
            answer.sure[softwareIn(found.layout.settings)] = found.scenario->uncertainty;
    }
    for (const Found& found : m_found) // the best of each grid, which is the first of it here
        if (GridRecord& record = m_grids[asIndex(found.from.grid)]; record.best && record.best->settings == found.layout.settings)
            record.best->tieWithFirst = found.layout.tieWithFirst;
    std::set<Choice> told; // the same with a smaller batch is no layout of its own
    for (std::size_t i = 0; i < m_found.size() && static_cast<int>(answer.best.size()) < m_request.top; ++i) {
        if (told.insert(m_found[i].from.choice.ofAnyBatch()).second)
            answer.best.push_back(m_found[i].layout);
    }
    std::vector<const Found*> byTime;
    for (const Found& found : m_found)
        byTime.push_back(&found);
    std::stable_sort(byTime.begin(), byTime.end(),
                     [](const Found* a, const Found* b) { return a->layout.paceSeconds() < b->layout.paceSeconds(); });
    double most = -kUnbounded;
    for (const Found* found : byTime)
        if (found->layout.headroomGib > most) {
            most = found->layout.headroomGib;
            answer.pareto.push_back(found->layout);
        }
    for (GridRecord& record : m_grids)
        record.openNs = record.openKey = kUnbounded;
    const auto noteOpen = [&](const Waiting& waiting) {
        GridRecord& record = m_grids[asIndex(waiting.grid)];
        record.openNs = std::min(record.openNs, byHeadroom() ? waiting.tightNs : waiting.key);
        record.openKey = std::min(record.openKey, waiting.key);
    };
    m_queue.each(noteOpen);
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
    const std::string per = answer.paceBatch > 0 ? " for each " + countedText(answer.paceBatch, "sequence") : std::string();
    for (const GridRecord& record : m_grids)
        if (first == nullptr || record.grid != first->grid) {
            GridRecord of = record;
            of.isSurveyed = record.isSurveyed && (m_isSurveyed || record.legal == 0); // what it has does not wait yet
            answer.rejected.push_back(rejectionOf(of, first,
                                                  {.capacityBytes = m_capacityBytes,
                                                   .hostBytes = m_space.base.cluster.host.memoryGib * kBytesPerGib,
                                                   .bestKey = m_bestKey,
                                                   .byHeadroom = byHeadroom(),
                                                   .per = per}));
        }
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begun).count();
}

/// Of what is legal, where all of it was refused as it was surveyed.
std::optional<LeastMemory> Search::leastMemory() const
{
    double bytes = kUnbounded;
    for (const GridRecord& record : m_grids)
        bytes = std::min(bytes, record.bound.bytes);
    if (!std::isfinite(bytes))
        return std::nullopt;
    return LeastMemory{.gib = bytes / kBytesPerGib,
                       .hasGib = m_capacityBytes / kBytesPerGib,
                       .gpus = m_floors.fewestGpusOfStates(m_capacityBytes)};
}

PlanAnswer Search::run()
{
    try {
        survey();
        if (m_queue.empty()) {
            m_answer.least = leastMemory();
        } else {
            simulateKnown();
            explore();
        }
        layOutLeanest();
    } catch (const Cancelled&) {
        m_answer.stopped = true;
    }
    PlanAnswer answer = m_answer;
    finish(answer);
    report(true);
    return answer;
}

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
