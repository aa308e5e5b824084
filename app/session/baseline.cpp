#include "app/session/baseline.h"

#include <QFileInfo>

#include <algorithm>
#include <utility>

namespace app {

Baseline::Baseline(QObject* parent) : QObject(parent) {}
Baseline::~Baseline() = default;

/// It may be the one that is speaking, so it goes later; but it is not heard any more.
void Baseline::dropSimulator()
{
    if (!m_simulator)
        return;
    m_simulator->disconnect(this);
    m_simulator.release()->deleteLater();
}

std::optional<sim::Metrics> Baseline::metrics() const
{
    return isReady() ? std::optional(m_simulation->metrics()) : std::nullopt;
}

void Baseline::pin(const QString& name, const sim::ScenarioDocument& document, SimulationPtr simulation, TracePtr actions)
{
    dropSimulator();
    m_name = name;
    m_document = document;
    m_simulation = std::move(simulation);
    m_actions = std::move(actions);
    emit changed();
}

Problems Baseline::open(const QString& path, const sim::Catalogue& catalogue)
{
    return problemsOf(path, [&]() -> Problems {
        auto document = readDocument(path);
        auto resolved = document.resolve(catalogue);
        if (!resolved.scenario)
            return std::move(resolved.problems);
        const QString name = resolved.scenario->name.empty() ? QFileInfo(path).completeBaseName()
                                                             : QString::fromStdString(resolved.scenario->name);
        pin(name, document, nullptr, nullptr);
        m_simulator = std::make_unique<Simulator>();
        connect(m_simulator.get(), &Simulator::finished, this, [this](const SimulationPtr& simulation, const TracePtr& actions) {
            m_simulation = simulation;
            m_actions = actions;
            emit changed();
        });
        connect(m_simulator.get(), &Simulator::failed, this, [this](const QString& message) {
            unpin();
            emit failed(message);
        });
        m_simulator->request(std::move(*resolved.scenario));
        return {};
    });
}

void Baseline::unpin()
{
    if (!isPinned())
        return;
    dropSimulator();
    m_name.clear();
    m_document.reset();
    m_simulation.reset();
    m_actions.reset();
    emit changed();
}

} // namespace app
