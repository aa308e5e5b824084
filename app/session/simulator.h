// Simulating off the GUI thread. One worker; the newest request wins and cancels the one before; the window never waits.
#pragma once

#include "app/session/legal_values.h"
#include "app/session/schedule_candidates.h"
#include "app/session/worker.h"
#include "app/views/instant.h"
#include "app/views/step_view.h"
#include "sim/analysis/findings.h"

#include <QObject>
#include <QString>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace app {

/// What was found about a simulation, and its edits by (finding, edit) as they were when it was found.
using FindingList = std::vector<sim::Finding>;
/// An edit of a finding, simulated. Nothing: it could not be.
struct TryResult {
    std::size_t finding = 0, edit = 0;
    std::optional<sim::TryEffect> effect;
};

class Simulator : public QObject {
    Q_OBJECT
public:
    using SimulateFunction = std::function<SimulationPtr(const sim::Scenario&, const sim::SimulateOptions&)>;
    explicit Simulator(QObject* parent = nullptr, SimulateFunction = sim::simulate);
    ~Simulator() override; ///< cancels and joins

    /// Results of earlier requests that were not delivered yet never will be.
    /// `everyRank`: each one by itself instead of one of each class; same numbers, a row of its own in the trace.
    void request(sim::Scenario, bool everyRank = false);
    /// The kernel trace of a simulation; dropped when a newer scenario is requested.
    void requestKernels(const SimulationPtr&);
    /// What the form's numbers may be; done when nothing more urgent is.
    void requestLegalValues(sim::ScenarioDocument, sim::Catalogue, sim::Scenario lastLegal, LayoutRule);
    /// What each schedule family would make of the job; `actions` of the present simulation may be nullptr.
    void requestCandidates(sim::ScenarioDocument, sim::Catalogue, sim::Scenario lastLegal);
    /// What there is to say about a simulation of the document; then, when nothing else is to be done, what each edit brings.
    void requestFindings(sim::ScenarioDocument, sim::Catalogue, SimulationPtr);
    bool isBusy() const { return m_worker.isBusy(); }

signals:
    /// Instants are of the trace.
    void finished(const app::SimulationPtr& simulation, const app::TracePtr& actions, const app::InstantsPtr& instants);
    void kernelsReady(const app::SimulationPtr& simulation, const app::TracePtr& kernels, const app::InstantsPtr& instants);
    void legalValuesReady(const app::LegalValueTable& values);
    void candidatesReady(const app::ScheduleCandidates& candidates);
    void findingsReady(const app::SimulationPtr& simulation, const app::FindingList& findings);
    /// Instead of findingsReady: why nothing can be found.
    void findingsFailed(const app::SimulationPtr& simulation, const QString& message);
    /// After findingsReady of the same simulation, one by one.
    void tryMeasured(const app::SimulationPtr& simulation, const app::TryResult& result);
    void failed(const QString& message); ///< instead of finished
    /// Instead of what else was asked for of a step that is there.
    void kernelsFailed(const app::SimulationPtr& simulation, const QString& message);
    void legalValuesFailed(const QString& message);
    void candidatesFailed(const QString& message);

private:
    /// The newest of its kind takes the place of those before it.
    void renew(int kind, std::function<void(const Task&)> work, std::function<void(const QString&)> failed);
    void submitTries(const sim::ScenarioDocument&, const sim::Catalogue&, const SimulationPtr&, const FindingList&);

    const SimulateFunction m_simulate;
    Worker m_worker; ///< last: ends before what it uses
};

} // namespace app
