#include "app/session/simulator.h"

#include "sim/analysis/plan_schedule.h"

#include <utility>

namespace app {
namespace {

/// Kinds of jobs, the most urgent first.
enum Kind : int { kStep, kKernels, kCandidates, kLegalValues, kFindings, kTries };

/// A step stays on screen while the next one is made: each may have half.
constexpr double kLimitBytes = sim::kMemoryLimitBytes / 2;

} // namespace

Simulator::Simulator(QObject* parent, SimulateFunction simulate) : QObject(parent), m_simulate(std::move(simulate)) {}

Simulator::~Simulator()
{
    m_worker.stop();
}

void Simulator::renew(int kind, std::function<void(const Task&)> work, std::function<void(const QString&)> failed)
{
    m_worker.drop(kind);
    m_worker.submit({.kind = kind, .work = std::move(work), .failed = std::move(failed)});
}

void Simulator::request(sim::Scenario scenario, bool everyRank)
{
    m_worker.dropAll();
    const auto work = [this, scenario = std::move(scenario), everyRank](const Task& task) {
        const SimulationPtr simulation = m_simulate(scenario, {.full = everyRank, .memoryLimitBytes = kLimitBytes});
        const auto actions = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions));
        const auto instants = std::make_shared<const Instants>(actions);
        task.tell([=, this] { emit finished(simulation, actions, instants); });
    };
    renew(kStep, work, [this](const QString& why) { emit failed(why); });
}

void Simulator::requestKernels(const SimulationPtr& simulation)
{
    const auto work = [this, simulation](const Task& task) {
        const auto kernels = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::kernels));
        const auto instants = std::make_shared<const Instants>(kernels);
        task.tell([=, this] { emit kernelsReady(simulation, kernels, instants); });
    };
    renew(kKernels, work, [=, this](const QString& why) { emit kernelsFailed(simulation, why); });
}

void Simulator::requestLegalValues(sim::ScenarioDocument document, sim::Catalogue catalogue, sim::Scenario lastLegal,
                                   LayoutRule rule)
{
    const auto work = [this, document = std::move(document), catalogue = std::move(catalogue), lastLegal = std::move(lastLegal),
                       rule](const Task& task) {
        auto values = std::make_shared<const LegalValueTable>(legalValues(document, catalogue, lastLegal, rule));
        task.tell([=, this] { emit legalValuesReady(*values); });
    };
    renew(kLegalValues, work, [this](const QString& why) { emit legalValuesFailed(why); });
}

void Simulator::requestCandidates(sim::ScenarioDocument document, sim::Catalogue catalogue, sim::Scenario lastLegal)
{
    const auto work = [this, document = std::move(document), catalogue = std::move(catalogue),
                       lastLegal = std::move(lastLegal)](const Task& task) {
        auto candidates = std::make_shared<const ScheduleCandidates>(scheduleCandidates(document, catalogue, lastLegal));
        task.tell([=, this] { emit candidatesReady(*candidates); });
    };
    renew(kCandidates, work, [this](const QString& why) { emit candidatesFailed(why); });
}

void Simulator::requestFindings(sim::ScenarioDocument document, sim::Catalogue catalogue, SimulationPtr simulation)
{
    m_worker.drop(kTries);
    const auto work = [=, this](const Task& task) {
        const auto found = std::make_shared<const FindingList>(sim::findings(*simulation, document, catalogue));
        task.tell([=, this] {
            submitTries(document, catalogue, simulation, *found);
            emit findingsReady(simulation, *found);
        });
    };
    renew(kFindings, work, [=, this](const QString& why) { emit findingsFailed(simulation, why); });
}

/// A job each, so that what is more urgent need not wait for all of them.
void Simulator::submitTries(const sim::ScenarioDocument& document, const sim::Catalogue& catalogue,
                            const SimulationPtr& simulation, const FindingList& found)
{
    const auto shared = std::make_shared<const sim::ScenarioDocument>(document);
    for (std::size_t finding = 0; finding < found.size(); ++finding) {
        for (std::size_t edit = 0; edit < found[finding].tries.size(); ++edit) {
            const auto tell = [=, this](const std::optional<sim::TryEffect>& effect) {
                emit tryMeasured(simulation, {.finding = finding, .edit = edit, .effect = effect});
            };
            const auto work = [=, this, change = found[finding].tries[edit]](const Task& task) {
                std::optional<sim::TryEffect> effect;
                if (const auto scenario = sim::tried(change, *shared, catalogue))
                    effect =
                        sim::effectOf(simulation->metrics(), m_simulate(*scenario, {.memoryLimitBytes = kLimitBytes})->metrics(),
                                      sim::memoryCapGib(*scenario));
                task.tell([=] { tell(effect); });
            };
            // An edit that cannot be simulated is told by its missing effect.
            m_worker.submit({.kind = kTries, .work = work, .failed = [tell](const QString&) { tell(std::nullopt); }});
        }
    }
}

} // namespace app
