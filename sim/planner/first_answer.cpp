// A layout that is known before anything is searched: the file's own, or where the textbook's path leads. It is simulated first,
// so that a search that is stopped has something to show, and what cannot be better is cut from the beginning.
#include "sim/planner/search.h"

#include "sim/cancel.h"
#include "sim/planner/guide.h"

#include <algorithm>

namespace sim {
namespace {

/// The walk simulates some dozen steps: of fewer legal layouts the search has an answer about as soon.
constexpr std::int64_t kManyLayouts = 200'000;

} // namespace

/// Where it is one of those that are searched.
std::optional<Choice> Search::ownChoice() const
{
    ScenarioDocument own = withSettings(m_request, {});
    if (const auto& batch = m_space.unsaidBatch())
        own.set(batch->first, batch->second);
    const auto resolved = own.resolve(m_catalogue);
    return resolved.scenario ? m_space.choiceOf(*resolved.scenario) : std::nullopt;
}

std::optional<Choice> Search::guidedChoice() const
{
    if (byHeadroom() || std::isfinite(m_enoughNs) || m_answer.covered < kManyLayouts)
        return std::nullopt;
    try {
        const PlanGuide guide = planGuide(m_request, m_catalogue);
        if (!guide.layout)
            return std::nullopt;
        const auto resolved = guideDocument(m_request, guide.layout->settings).resolve(m_catalogue);
        return resolved.scenario ? m_space.choiceOf(*resolved.scenario) : std::nullopt;
    } catch (const Error&) { // the search says what is wrong with the job
        return std::nullopt;
    }
}

void Search::simulateKnown()
{
    if (mostSimulated() < 2) // one is to be of those that are searched
        return;
    std::optional<Choice> choice = ownChoice();
    if (!choice)
        choice = guidedChoice();
    if (!choice)
        return;
    const auto record = std::find_if(m_grids.begin(), m_grids.end(),
                                     [&](const GridRecord& each) { return each.grid == choice->grid && each.legal > 0; });
    if (record == m_grids.end()) // of another part
        return;
    checkCancelled();
    const Scenario scenario = m_space.scenarioOf(*choice);
    const LayoutFloor floor = m_floors.floorOf(*choice, scenario, *m_floors.partsOf(*choice, scenario),
                                               *m_floors.shardsOf(*choice, scenario), m_floors.orderOf(*choice, scenario).get());
    if (floor.bytes > m_capacityBytes)
        return;
    Waiting known{.rung = Rung::leaf,
                  .grid = static_cast<std::int32_t>(record - m_grids.begin()),
                  .choice = *choice,
                  .floorNs = floor.stepNs * m_space.paceOf(*choice)};
    const Laid laid = layOut(known);
    if (!laid.fits)
        return;
    known.rung = Rung::tight;
    setKeys(known, laid.floor.stepNs, laid.floor.peakBytes);
    m_answer.tightened += laid.tries;
    simulateAll({known});
    m_known = *choice;
    report(false);
}

} // namespace sim
