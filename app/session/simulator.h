// Simulating off the GUI thread. One worker; the newest request wins and cancels the one before; the window never waits.
#pragma once

#include "app/session/legal_values.h"
#include "app/session/schedule_candidates.h"
#include "app/views/step_view.h"

#include <QObject>
#include <QString>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace app {

class Simulator : public QObject {
    Q_OBJECT
public:
    using SimulateFunction = std::function<SimulationPtr(const sim::Scenario&, const sim::SimulateOptions&)>;
    explicit Simulator(QObject* parent = nullptr, SimulateFunction = sim::simulate);
    ~Simulator() override; ///< cancels and joins

    /// Results of earlier requests that were not delivered yet never will be.
    void request(sim::Scenario);
    /// The kernel trace of a simulation; dropped when a newer scenario is requested.
    void requestKernels(SimulationPtr);
    /// What the form's numbers may be; done when nothing more urgent is.
    void requestLegalValues(sim::ScenarioDocument, sim::Catalogue, sim::Scenario lastLegal, LayoutRule);
    /// What each schedule family would make of the job; `actions` of the present simulation may be nullptr.
    void requestCandidates(sim::ScenarioDocument, sim::Catalogue, sim::Scenario lastLegal, SimulationPtr, TracePtr actions);
    bool isBusy() const;

signals:
    void finished(const app::SimulationPtr& simulation, const app::TracePtr& actions);
    void kernelsReady(const app::SimulationPtr& simulation, const app::TracePtr& kernels);
    void legalValuesReady(const app::LegalValueTable& values);
    void candidatesReady(const app::ScheduleCandidates& candidates);
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
    struct Mailbox {
        SimulationPtr simulation;
        TracePtr actions;
        SimulationPtr kernelsOf;
        TracePtr kernels;
        std::optional<LegalValueTable> legalValues;
        std::optional<ScheduleCandidates> candidates;
        std::optional<QString> failure;
    };

    void work(const std::stop_token&);
    void simulateOne(const sim::Scenario&);
    void tracesOne(const SimulationPtr&);
    void legalValuesOne(const LegalValuesRequest&);
    void candidatesOne(const CandidatesRequest&);
    /// Puts something into the mailbox unless a newer request has come meanwhile.
    void post(const std::function<void(Mailbox&)>& put);
    void postFailure(const QString& message);
    Q_INVOKABLE void deliver();

    const SimulateFunction m_simulate;
    mutable std::mutex m_mutex;
    std::condition_variable_any m_wake;
    // Guarded by m_mutex:
    std::optional<sim::Scenario> m_scenario;
    SimulationPtr m_kernelsOf;
    std::optional<LegalValuesRequest> m_legalValues;
    std::optional<CandidatesRequest> m_candidates;
    Mailbox m_mailbox;
    bool m_working = false;

    std::atomic<bool> m_cancel{false}; ///< of the job that runs; written under m_mutex, read anywhere
    std::jthread m_thread;             ///< last: ends before what it uses
};

} // namespace app
