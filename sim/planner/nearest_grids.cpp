#include "sim/planner/nearest_grids.h"

#include "sim/cancel.h"
#include "sim/index.h"
#include "sim/planner/search.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

/// Laid out at most, by a count and not by a clock: the answer is the same on any machine.
constexpr std::int64_t kMostLaidOut = 4000;

} // namespace

void Search::noteNearest()
{
    std::vector<double> keys;
    for (const GridRecord& record : m_grids)
        if (record.best)
            keys.push_back(record.bestKey);
    if (keys.size() < m_nearest)
        return;
    const auto last = keys.begin() + static_cast<std::ptrdiff_t>(m_nearest - 1);
    std::nth_element(keys.begin(), last, keys.end());
    m_nearestKey = *last;
}

/// Of equals all are looked at. A step is a whole number of nanoseconds, a floor a sum of rounded ones.
bool Search::isFarther(const Waiting& of) const
{
    const GridRecord& record = m_grids[asIndex(of.grid)];
    return of.key > std::min(record.bestKey, m_nearestKey) + m_space.paceOf(of.choice) || record.simulated >= mostSimulated();
}

void Search::exploreNearest()
{
    while (m_answer.tightened < kMostLaidOut) {
        checkCancelled();
        std::vector<Waiting> batch;
        while (!m_queue.empty()) {
            if (isFarther(m_queue.top())) {
                m_queue.pop();
                continue;
            }
            const bool isTight = m_queue.top().rung == Rung::tight;
            if (!batch.empty() &&
                (isTight != (batch.front().rung == Rung::tight) || batch.size() >= (isTight ? kSimulatedAtOnce : kLookedAtOnce)))
                break;
            batch.push_back(m_queue.top());
            m_queue.pop();
        }
        if (batch.empty())
            return;
        if (batch.front().rung == Rung::tight) {
            simulateAll(batch);
            noteNearest();
        } else {
            lookCloser(batch);
        }
    }
}

NearestGrids Search::nearest(const std::vector<AskedGrid>& asked, std::size_t count)
{
    m_nearest = std::max<std::size_t>(1, count);
    for (const AskedGrid& of : asked) {
        GridRecord record{.grid = of.grid};
        if (of.known) {
            record.best = of.known;
            record.bestKey = of.known->paceSeconds() * 1e9;
            record.bestSecond = of.known->peakMemoryGib * kBytesPerGib;
        }
        if (!of.isDone()) {
            Choice choice;
            choice.grid = of.grid;
            m_queue.push({.key = of.floorSeconds * 1e9,
                          .rung = Rung::grid,
                          .grid = static_cast<std::int32_t>(m_grids.size()),
                          .choice = choice});
        }
        m_grids.push_back(std::move(record));
    }
    noteNearest();
    exploreNearest();
    NearestGrids found{.laidOut = m_answer.tightened, .simulated = m_answer.simulated, .proved = m_tooLarge.empty()};
    while (!m_queue.empty() && isFarther(m_queue.top()))
        m_queue.pop();
    found.proved = found.proved && m_queue.empty();
    for (const GridRecord& record : m_grids) {
        if (record.best)
            found.layouts.push_back(*record.best);
        found.proved = found.proved && record.simulated < mostSimulated();
    }
    std::stable_sort(found.layouts.begin(), found.layouts.end(),
                     [](const PlannedLayout& a, const PlannedLayout& b) { return a.paceSeconds() < b.paceSeconds(); });
    if (found.layouts.size() > m_nearest)
        found.layouts.resize(m_nearest);
    return found;
}

NearestGrids nearestGrids(const PlanRequest& request, const Catalogue& catalogue, const std::vector<AskedGrid>& asked,
                          std::size_t count)
{
    PlanRequest of = request;
    of.objective = PlanObjective::time;
    of.enoughSeconds = 0;
    of.top = 1;
    return Search(of, catalogue, {}).nearest(asked, count);
}

} // namespace sim
