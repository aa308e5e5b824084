#include "app/session/baseline.h"

#include "app/session/make_step.h"
#include "app/session/scenario_name.h"
#include "app/session/scenario_state.h"

#include <utility>

namespace app {

Baseline::Baseline(QObject* parent) : QObject(parent) {}

Baseline::~Baseline()
{
    m_worker.stop();
}

std::optional<sim::Metrics> Baseline::metrics() const
{
    return isReady() ? std::optional(simulation()->metrics()) : std::nullopt;
}

void Baseline::pin(const QString& name, const sim::ScenarioDocument& document, const ShownStep& step)
{
    keepFormer();
    m_pinned = {.name = name, .document = document, .step = step};
    Q_EMIT changed();
}

Problems Baseline::open(const QString& path, const sim::Catalogue& catalogue)
{
    return problemsOf(path, [&]() -> Problems {
        const auto document = readDocument(path);
        Problems problems = compareWith(nameOfFile(document, path, catalogue), document, catalogue);
        if (problems.empty()) {
            m_pinned->isAnother = true;
            Q_EMIT changed();
        }
        return problems;
    });
}

void Baseline::markAsAnother()
{
    if (m_former)
        m_former->isAnother = true;
    if (!isPinned() || isAnother())
        return;
    m_pinned->isAnother = true;
    Q_EMIT changed();
}

Problems Baseline::compareWith(const QString& name, const sim::ScenarioDocument& document, const sim::Catalogue& catalogue)
{
    auto resolved = document.resolve(catalogue);
    if (!resolved.scenario)
        return std::move(resolved.problems);
    pin(name, document, {});
    m_worker.ask(
        0, [scenario = std::move(*resolved.scenario)] { return makeStep(sim::simulate, scenario); },
        [this](const ShownStep& step) {
            m_pinned->step = step;
            Q_EMIT changed();
        },
        [this](const QString& why) {
            unpin();
            Q_EMIT failed(why);
        });
    return {};
}

void Baseline::unpin()
{
    if (!isPinned())
        return;
    keepFormer();
    m_pinned.reset();
    Q_EMIT changed();
}

void Baseline::goBackToFormer()
{
    if (!hasFormer())
        return;
    m_worker.dropAll();
    if (isPinned() && !isReady()) // it would stay on its way for ever
        m_pinned.reset();
    std::swap(m_pinned, m_former);
    Q_EMIT changed();
}

void Baseline::keepFormer()
{
    m_worker.dropAll();
    if (isReady())
        m_former = std::move(m_pinned);
}

} // namespace app
