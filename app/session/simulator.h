// Simulating off the GUI thread. One worker; the newest request wins and cancels the one before; the window never waits.
#pragma once

#include "app/session/legal_values.h"
#include "sim/simulation.h"
#include "sim/trace/trace.h"

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

using SimulationPtr = std::shared_ptr<const sim::Simulation>;
using TracePtr = std::shared_ptr<const sim::Trace>;

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
    bool isBusy() const;

signals:
    void finished(const app::SimulationPtr& simulation, const app::TracePtr& actions);
    void kernelsReady(const app::SimulationPtr& simulation, const app::TracePtr& kernels);
    void legalValuesReady(const app::LegalValueTable& values);
    void failed(const QString& message);

private:
    struct LegalValuesRequest {
        sim::ScenarioDocument document;
        sim::Catalogue catalogue;
        sim::Scenario lastLegal;
        LayoutRule rule;
    };
    struct Mailbox {
        SimulationPtr simulation;
        TracePtr actions;
        SimulationPtr kernelsOf;
        TracePtr kernels;
        std::optional<LegalValueTable> legalValues;
        std::optional<QString> failure;
    };

    void work(const std::stop_token&);
    void simulateOne(const sim::Scenario&);
    void tracesOne(const SimulationPtr&);
    void legalValuesOne(const LegalValuesRequest&);
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
    Mailbox m_mailbox;
    bool m_working = false;

    std::atomic<bool> m_cancel{false}; ///< of the job that runs; written under m_mutex, read anywhere
    std::jthread m_thread;             ///< last: ends before what it uses
};

} // namespace app
