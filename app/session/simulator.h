// Simulating off the GUI thread. One worker; the newest request wins and cancels the one before; the window never waits.
#pragma once

#include "app/session/legal_values.h"
#include "app/session/schedule_candidates.h"
#include "app/views/step_view.h"
#include "sim/analysis/findings.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
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
    void requestKernels(SimulationPtr);
    /// What the form's numbers may be; done when nothing more urgent is.
    void requestLegalValues(sim::ScenarioDocument, sim::Catalogue, sim::Scenario lastLegal, LayoutRule);
    /// What each schedule family would make of the job; `actions` of the present simulation may be nullptr.
    void requestCandidates(sim::ScenarioDocument, sim::Catalogue, sim::Scenario lastLegal, SimulationPtr, TracePtr actions);
    /// What there is to say about a simulation of the document; then, when nothing else is to be done, what each edit brings.
    void requestFindings(sim::ScenarioDocument, sim::Catalogue, SimulationPtr);
    bool isBusy() const;

signals:
    void finished(const app::SimulationPtr& simulation, const app::TracePtr& actions);
    void kernelsReady(const app::SimulationPtr& simulation, const app::TracePtr& kernels);
    void legalValuesReady(const app::LegalValueTable& values);
    void candidatesReady(const app::ScheduleCandidates& candidates);
    void findingsReady(const app::SimulationPtr& simulation, const app::FindingList& findings);
    /// After findingsReady of the same simulation, one by one.
    void tryMeasured(const app::SimulationPtr& simulation, const app::TryResult& result);
    void failed(const QString& message);

private:
    struct LegalValuesRequest {
        sim::ScenarioDocument document;
        sim::Catalogue catalogue;
        sim::Scenario lastLegal;
        LayoutRule rule;
    };
    struct CandidatesRequest {
        sim::ScenarioDocument document;
        sim::Catalogue catalogue;
        sim::Scenario lastLegal;
        SimulationPtr simulation;
        TracePtr actions;
    };
    struct FindingsRequest {
        sim::ScenarioDocument document;
        sim::Catalogue catalogue;
        SimulationPtr simulation;
        FindingList found;
        bool isFound = false;
        std::size_t finding = 0, edit = 0; ///< the edit that is next
    };
    struct Mailbox {
        SimulationPtr simulation;
        TracePtr actions;
        SimulationPtr kernelsOf;
        TracePtr kernels;
        std::optional<LegalValueTable> legalValues;
        std::optional<ScheduleCandidates> candidates;
        SimulationPtr findingsOf;
        std::optional<FindingList> findings;
        std::vector<TryResult> tries; ///< of findingsOf
        std::optional<QString> failure;
    };

    void work(const std::stop_token&);
    void simulateOne(const sim::Scenario&, bool everyRank);
    void tracesOne(const SimulationPtr&);
    void legalValuesOne(const LegalValuesRequest&);
    void candidatesOne(const CandidatesRequest&);
    /// A single step, so that what is more urgent need not wait for all of them; goes back to m_findings while there are more.
    void findingsOne(FindingsRequest);
    /// Puts something into the mailbox unless a newer request has come meanwhile.
    void post(const std::function<void(Mailbox&)>& put);
    void postFailure(const QString& message);
    Q_INVOKABLE void deliver();

    const SimulateFunction m_simulate;
    mutable std::mutex m_mutex;
    std::condition_variable_any m_wake;
    // Guarded by m_mutex:
    std::optional<sim::Scenario> m_scenario;
    bool m_everyRank = false; ///< of it
    SimulationPtr m_kernelsOf;
    std::optional<LegalValuesRequest> m_legalValues;
    std::optional<CandidatesRequest> m_candidates;
    std::optional<FindingsRequest> m_findings;
    Mailbox m_mailbox;
    bool m_working = false;

    std::atomic<bool> m_cancel{false}; ///< of the job that runs; written under m_mutex, read anywhere
    std::jthread m_thread;             ///< last: ends before what it uses
};

} // namespace app
