#include "app/session/lineup.h"

#include "app/session/make_step.h"
#include "app/session/scenario_name.h"
#include "app/session/scenario_state.h"

#include <algorithm>
#include <utility>

namespace app {

Lineup::Lineup(QObject* parent) : QObject(parent) {}

Lineup::~Lineup()
{
    m_worker.stop();
}

bool Lineup::isReady() const
{
    return std::all_of(m_entries.begin(), m_entries.end(), [](const Entry& entry) { return entry.step.simulation != nullptr; });
}

Problems Lineup::open(const QString& path, const sim::Catalogue& catalogue)
{
    return problemsOf(path, [&]() -> Problems {
        const auto document = readDocument(path);
        return add(nameOfFile(document, path, catalogue), document, catalogue);
    });
}

Problems Lineup::add(const QString& name, const sim::ScenarioDocument& document, const sim::Catalogue& catalogue)
{
    if (isFull())
        return {{{},
                 {},
                 tr("six scenarios are compared already; Compare Only A and B makes room for others").toStdString(),
                 sim::Severity::error}};
    auto resolved = document.resolve(catalogue);
    if (!resolved.scenario)
        return std::move(resolved.problems);
    m_catalogue = &catalogue;
    m_entries.push_back({name, document, {}});
    Q_EMIT changed();
    simulateNext();
    return {};
}

/// One after the other: the first that has no step yet.
void Lineup::simulateNext()
{
    const auto next = std::find_if(m_entries.begin(), m_entries.end(), [](const Entry& entry) { return !entry.step.simulation; });
    if (next == m_entries.end())
        return;
    const auto place = static_cast<std::size_t>(next - m_entries.begin());
    auto resolved = next->document.resolve(*m_catalogue);
    m_worker.dropAll();
    m_worker.ask(
        0, [scenario = std::move(*resolved.scenario)] { return makeStep(sim::simulate, scenario); },
        [this, place](const ShownStep& step) {
            m_entries[place].step = step;
            Q_EMIT changed();
            simulateNext();
        },
        [this, place](const QString& why) {
            const QString name = m_entries[place].name;
            remove(place);
            Q_EMIT failed(tr("%1: %2").arg(name, why));
        });
}

void Lineup::remove(std::size_t place)
{
    if (place >= m_entries.size())
        return;
    m_worker.dropAll(); // what is on its way knows its scenario by its place
    m_entries.erase(m_entries.begin() + static_cast<std::ptrdiff_t>(place));
    Q_EMIT changed();
    simulateNext();
}

void Lineup::clear()
{
    if (m_entries.empty())
        return;
    m_worker.dropAll();
    m_entries.clear();
    Q_EMIT changed();
}

} // namespace app
