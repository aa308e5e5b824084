#include "app/session/fix_search.h"

namespace app {

FixSearch::FixSearch(const sim::Catalogue& catalogue, QObject* parent) : QObject(parent), m_catalogue(catalogue) {}

FixSearch::~FixSearch()
{
    m_worker.stop();
}

void FixSearch::start(const sim::ScenarioDocument& document)
{
    m_isRunning = true;
    m_worker.ask(
        0, [this, document] { return sim::leastChange({.document = document}, m_catalogue); },
        [this](const sim::LeastChange& change) {
            m_isRunning = false;
            Q_EMIT finished(change);
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
