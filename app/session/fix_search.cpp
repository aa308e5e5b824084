#include "app/session/fix_search.h"

#include <utility>

namespace app {

Fix leastFix(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue)
{
    const sim::Scenario scenario = sim::resolvedScenario(document, catalogue);
    const auto search = [&](double marginGib, int mostGpus) {
        sim::PlanRequest request{.document = document};
        request.marginGib = marginGib;
        request.gpus = mostGpus;
        return sim::leastChange(request, catalogue);
    };
    const double room = sim::kTightShare * scenario.cluster.gpu.memoryGib;
    if (sim::LeastChange roomy = search(room, static_cast<int>(scenario.layout.worldSize())); roomy.found())
        return {std::move(roomy), true};
    sim::LeastChange just = search(0, 0);
    if (!just.found() || just.keepsGpus())
        return {std::move(just), false};
    sim::LeastChange roomy = search(room, 0);
    const bool leavesRoom = roomy.found();
    return {leavesRoom ? std::move(roomy) : std::move(just), leavesRoom};
}

FixSearch::FixSearch(const sim::Catalogue& catalogue, QObject* parent) : QObject(parent), m_catalogue(catalogue) {}

FixSearch::~FixSearch()
{
    m_worker.stop();
}

void FixSearch::start(const sim::ScenarioDocument& document)
{
    m_isRunning = true;
    m_worker.ask(
        0, [this, document] { return leastFix(document, m_catalogue); },
        [this](const Fix& fix) {
            m_isRunning = false;
            Q_EMIT finished(fix);
        },
        [this](const QString& why) {
            m_isRunning = false;
            Q_EMIT failed(why);
        });
}

void FixSearch::drop()
{
    m_worker.dropAll();
    m_isRunning = false;
}

Edit makeFixEdit(const sim::LeastChange& change)
{
    Edit edit;
    edit.text = "fix: " + change.edit.text;
    for (const sim::Change& each : change.edit.changes)
        edit.assignments.push_back({each.pointer, each.json});
    return edit;
}

} // namespace app
