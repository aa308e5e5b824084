#include "sim/planner/sizes.h"

#include "sim/cancel.h"
#include "sim/planner/planned_layout.h"
#include "sim/planner/reasons.h"
#include "sim/planner/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace sim {
namespace {

double stepsOf(const Scenario& scenario)
{
    const Training& training = scenario.training;
    if (training.tokens <= 0)
        throw Error("/training/tokens: a deadline needs the tokens of the whole run: --set training.tokens=15e12");
    return std::ceil(training.tokens / (1.0 * training.globalBatchSize * training.sequenceLength));
}

/// That the held dimensions take together.
std::int64_t heldRanks(const PlanSpace& space)
{
    const PlanGrid& held = space.held.grid;
    std::int64_t ranks = 1;
    for (const auto& [isFree, size] :
         {std::pair{space.free.tp, held.tp}, {space.free.cp, held.cp}, {space.free.pp, held.pp}, {space.free.dp, held.dp}})
        ranks *= isFree ? 1 : std::max(1, size);
    return ranks;
}

/// Whether a layout of so many is legal.
bool isPlannable(const PlanRequest& job, const Catalogue& catalogue, int gpus)
{
    checkCancelled();
    PlanRequest request = job;
    request.gpus = gpus;
    const PlanSpace space(request, catalogue);
    Scenario scratch = space.base;
    for (const PlanGrid& grid : space.grids())
        for (const int microBatch : space.microBatches(grid))
            for (const bool sequenceParallel : space.sequenceParallels(grid))
                for (const int batch : space.batches(grid, microBatch)) {
                    const Choice choice{.grid = grid,
                                        .microBatch = microBatch,
                                        .sequenceParallel = sequenceParallel,
                                        .recompute = space.recomputes().front(),
                                        .recomputeLayers = space.held.recomputeLayers,
                                        .batch = batch};
                    if (!space.legalPipelines(choice, scratch).empty())
                        return true;
                }
    return false;
}

/// From above `low` to below `high` those that may be asked for: whole nodes and parts of one, or multiples of what is held.
std::vector<int> askedBetween(const PlanSpace& space, int low, int high)
{
    const std::int64_t held = heldRanks(space);
    const int node = std::max(1, space.base.cluster.gpusPerNode);
    std::vector<int> all;
    for (int gpus = low + 1; gpus < high; ++gpus)
        if (gpus % held == 0 && (held > 1 || gpus < node || gpus % node == 0))
            all.push_back(gpus);
    return all;
}

constexpr std::size_t kMostOneByOne = 64; ///< sizes that are all looked at; of more so many, as even as they go

} // namespace

std::vector<int> plannedSizes(const PlanRequest& job, const Catalogue& catalogue, int most)
{
    const PlanSpace space(job, catalogue);
    const std::int64_t held = heldRanks(space);
    std::set<int> sizes{most};
    const int node = std::max(1, space.base.cluster.gpusPerNode);
    for (const int usual : usualSizes(node, most))
        for (const std::int64_t size : {std::int64_t{usual}, held * usual, held * 3 * usual})
            if (size <= most && (held > 1 || size < node || size % node == 0))
                sizes.insert(static_cast<int>(size));
    std::erase_if(sizes, [&](int gpus) { return gpus % held != 0 || !isPlannable(job, catalogue, gpus); });
    return {sizes.begin(), sizes.end()};
}

double runDays(const Scenario& scenario, double stepSeconds)
{
    return stepsOf(scenario) * stepSeconds / kSecondsPerDay;
}

std::vector<std::size_t> daysAgainstHours(std::span<const PlannedLayout> layouts)
{
    std::vector<std::size_t> soonest(layouts.size());
    std::iota(soonest.begin(), soonest.end(), 0);
    std::stable_sort(soonest.begin(), soonest.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(-layouts[a].tokensPerSecond, layouts[a].gpuHours) <
               std::pair(-layouts[b].tokensPerSecond, layouts[b].gpuHours);
    });
    std::vector<std::size_t> front;
    for (const std::size_t i : soonest)
        if (front.empty() || layouts[i].gpuHours < layouts[front.back()].gpuHours)
            front.push_back(i);
    return front;
}

std::vector<int> usualSizes(int gpusPerNode, int most)
{
    std::set<int> sizes;
    for (int part = 1; part < gpusPerNode; part *= 2)
        sizes.insert(part);
    for (std::int64_t nodes = 1; nodes * gpusPerNode <= most; nodes *= 2)
        for (const std::int64_t size : {nodes * gpusPerNode, nodes * 3 / 2 * gpusPerNode})
            if (size <= most)
                sizes.insert(static_cast<int>(size));
    return {sizes.lower_bound(1), sizes.upper_bound(most)};
}

namespace {

class FewestGpus {
public:
    FewestGpus(const SizeRequest& request, const Catalogue& catalogue,
               const std::function<void(int, const PlanProgress&)>& progress)
        : m_request(request), m_catalogue(catalogue), m_progress(progress), m_job(PlanSpace(request.job, catalogue).base)
    {
        if (!(request.days > 0) || !std::isfinite(request.days))
            throw Error("a deadline is a number of days above 0");
        if (request.job.objective == PlanObjective::headroom)
            throw Error("the fewest GPUs in time are searched by the step's time, not by headroom");
        m_enough = request.days * kSecondsPerDay / stepsOf(m_job);
        m_answer.days = request.days;
        m_answer.tokens = m_job.training.tokens;
    }

    SizeAnswer run()
    {
        const bool isGiven = !m_request.sizes.empty();
        const PlanSpace space(m_request.job, m_catalogue);
        bool isEach = isGiven; // none is left out
        std::vector<int> sizes = m_request.sizes;
        if (!isGiven) {
            sizes = askedBetween(space, 0, m_request.most);
            isEach = sizes.size() < kMostOneByOne;
            sizes.push_back(m_request.most);
            if (isEach)
                keepPlannable(sizes);
            else
                sizes = plannedSizes(m_request.job, m_catalogue, m_request.most);
        }
        std::sort(sizes.begin(), sizes.end());
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        if (sizes.empty())
            throw Error("no number of GPUs up to " + std::to_string(m_request.most) +
                        " has a legal layout with what is held: " + whyNone());
        int found = firstInTime(sizes);
        if (!isEach && !m_answer.stopped) {
            std::vector<int> others = askedBetween(space, 0, found > 0 ? found : m_request.most);
            std::erase_if(others, [&](int gpus) { return std::binary_search(sizes.begin(), sizes.end(), gpus); });
            isEach = others.size() <= kMostOneByOne;
            if (!isEach) // what takes more than twice as long hides hardly one that is in time
                std::erase_if(others, [low = lastOfTwiceAsLong()](int gpus) { return gpus < low; });
            keepPlannable(others);
            if (others.size() > kMostOneByOne) {
                std::vector<int> some;
                for (std::size_t i = 0; i < kMostOneByOne; ++i)
                    some.push_back(others[i * others.size() / kMostOneByOne]);
                others = std::move(some);
            }
            if (const int fewer = firstInTime(others); fewer > 0)
                found = fewer;
        }
        std::sort(m_answer.tried.begin(), m_answer.tried.end(),
                  [](const TriedSize& a, const TriedSize& b) { return a.gpus < b.gpus; });
        if (found == 0) {
            const bool anySearched = std::any_of(m_answer.tried.begin(), m_answer.tried.end(),
                                                 [](const TriedSize& size) { return size.problem.empty(); });
            if (!anySearched && !m_firstProblem.empty())
                throw Error(m_firstProblem);
            return m_answer;
        }
        std::erase_if(m_answer.tried, [found](const TriedSize& size) { return size.gpus > found; });
        m_answer.gpus = found;
        m_answer.isFewest =
            isEach && !m_wasStoppedBefore &&
            std::all_of(m_answer.tried.begin(), m_answer.tried.end(), [](const TriedSize& size) { return size.proved; });
        PlanRequest whole = m_request.job;
        whole.gpus = found;
        if (!m_answer.stopped) {
            m_answer.best = plan(whole, m_catalogue, [&](const PlanProgress& now) { tell(found, now); });
            m_answer.stopped = m_answer.best.stopped;
        } else {
            m_answer.best = m_found;
        }
        if (!m_answer.best.best.empty())
            m_answer.bestDays = m_answer.best.best.front().runDays;
        return m_answer;
    }

private:
    void tell(int gpus, const PlanProgress& now) const
    {
        if (m_progress)
            m_progress(gpus, now);
    }

    void keepPlannable(std::vector<int>& sizes)
    {
        try {
            std::erase_if(sizes, [&](int gpus) { return !isPlannable(m_request.job, m_catalogue, gpus); });
        } catch (const Cancelled&) {
            m_answer.stopped = m_wasStoppedBefore = true;
        }
    }

    /// The largest that was tried and is proved to take more than twice the days that there are; 0: none.
    int lastOfTwiceAsLong() const
    {
        int last = 0;
        for (const TriedSize& size : m_answer.tried)
            if (size.proved && !size.meets && size.leastDays > 2 * m_answer.days)
                last = std::max(last, size.gpus);
        return last;
    }

    /// The rule of the smallest.
    std::string whyNone() const
    {
        PlanRequest one = m_request.job;
        one.gpus = static_cast<int>(std::clamp<std::int64_t>(heldRanks(PlanSpace(one, m_catalogue)), 1, m_request.most));
        const PlanSpace space(one, m_catalogue);
        const std::vector<PlanGrid> grids = space.grids();
        return grids.empty() ? "they take more GPUs, or do not divide them" : whyIllegal(space, grids.front());
    }

    /// Of ascending sizes; 0: none.
    int firstInTime(const std::vector<int>& sizes)
    {
        for (const int gpus : sizes) {
            PlanRequest within = m_request.job;
            within.gpus = gpus;
            within.enoughSeconds = m_enough;
            TriedSize tried{.gpus = gpus};
            PlanAnswer found;
            try {
                found = plan(within, m_catalogue, [&](const PlanProgress& now) { tell(gpus, now); });
            } catch (const Cancelled&) {
                m_answer.stopped = m_wasStoppedBefore = true;
                return 0;
            } catch (const Error& error) { // this size cannot be: perturbations of ranks that are not there
                tried.problem = error.what();
            }
            if (tried.problem.empty() && found.covered == 0 && !found.stopped)
                tried.problem =
                    found.rejected.empty() ? "no layout has what is held" : "not legal: " + found.rejected.front().text;
            if (!tried.problem.empty()) {
                tried.proved = true;
                tried.leastDays = std::numeric_limits<double>::infinity();
                m_answer.tried.push_back(tried);
                if (m_firstProblem.empty())
                    m_firstProblem = tried.problem;
                continue;
            }
            tried.meets = !found.best.empty() && found.best.front().paceSeconds() <= m_enough;
            tried.proved = true;
            if (!tried.meets) {
                const double open = found.openKey * 1e-9; // where nothing is open, all that fits was simulated
                const double least = found.best.empty() ? open : std::min(open, found.best.front().paceSeconds());
                tried.leastDays = runDays(m_job, least);
                tried.proved = !found.stopped && least > m_enough;
            }
            m_answer.tried.push_back(tried);
            if (found.stopped)
                m_answer.stopped = m_wasStoppedBefore = true;
            if (tried.meets) {
                m_found = std::move(found);
                return gpus;
            }
            if (m_answer.stopped)
                return 0;
        }
        return 0;
    }

    const SizeRequest& m_request;
    const Catalogue& m_catalogue;
    const std::function<void(int, const PlanProgress&)>& m_progress;
    Scenario m_job;
    double m_enough = 0; ///< seconds of a step
    SizeAnswer m_answer;
    PlanAnswer m_found; ///< of the last that was in time
    std::string m_firstProblem;
    bool m_wasStoppedBefore = false; ///< before the fewest was known
};

} // namespace

SizeAnswer fewestGpus(const SizeRequest& request, const Catalogue& catalogue,
                      const std::function<void(int gpus, const PlanProgress&)>& progress)
{
    return FewestGpus(request, catalogue, progress).run();
}

} // namespace sim
