#include "app/session/simulator.h"

#include <QMetaObject>

#include <utility>

namespace app {

Simulator::Simulator(QObject* parent, SimulateFunction simulate)
    : QObject(parent), m_simulate(std::move(simulate)), m_thread([this](const std::stop_token& stop) { work(stop); })
{
}

Simulator::~Simulator()
{
    m_thread.request_stop();
    {
        const std::lock_guard lock(m_mutex);
        m_cancel = true;
        m_scenario.reset();
        m_kernelsOf.reset();
        m_legalValues.reset();
        m_candidates.reset();
        m_findings.reset();
    }
    m_thread.join();
}

void Simulator::request(sim::Scenario scenario, bool everyRank)
{
    {
        const std::lock_guard lock(m_mutex);
        m_scenario = std::move(scenario);
        m_everyRank = everyRank;
        m_kernelsOf.reset();
        m_legalValues.reset();
        m_candidates.reset();
        m_findings.reset();
        m_mailbox = {};
        m_cancel = true;
    }
    m_wake.notify_one();
}

void Simulator::requestKernels(SimulationPtr simulation)
{
    {
        const std::lock_guard lock(m_mutex);
        m_kernelsOf = std::move(simulation);
    }
    m_wake.notify_one();
}

void Simulator::requestLegalValues(sim::ScenarioDocument document, sim::Catalogue catalogue, sim::Scenario lastLegal,
                                   LayoutRule rule)
{
    {
        const std::lock_guard lock(m_mutex);
        m_legalValues.emplace(LegalValuesRequest{std::move(document), std::move(catalogue), std::move(lastLegal), rule});
    }
    m_wake.notify_one();
}

void Simulator::requestCandidates(sim::ScenarioDocument document, sim::Catalogue catalogue, sim::Scenario lastLegal,
                                  SimulationPtr simulation, TracePtr actions)
{
    {
        const std::lock_guard lock(m_mutex);
        m_candidates.emplace(CandidatesRequest{std::move(document), std::move(catalogue), std::move(lastLegal),
                                               std::move(simulation), std::move(actions)});
    }
    m_wake.notify_one();
}

void Simulator::requestFindings(sim::ScenarioDocument document, sim::Catalogue catalogue, SimulationPtr simulation)
{
    {
        const std::lock_guard lock(m_mutex);
        m_findings.emplace(FindingsRequest{.document = std::move(document),
                                           .catalogue = std::move(catalogue),
                                           .simulation = std::move(simulation),
                                           .found = {}});
        m_mailbox.findings.reset();
        m_mailbox.tries.clear();
    }
    m_wake.notify_one();
}

bool Simulator::isBusy() const
{
    const std::lock_guard lock(m_mutex);
    return m_working || m_scenario || m_kernelsOf || m_candidates || m_legalValues || m_findings || m_mailbox.simulation ||
           m_mailbox.kernels || m_mailbox.candidates || m_mailbox.legalValues || m_mailbox.findings || !m_mailbox.tries.empty() ||
           m_mailbox.failure;
}

void Simulator::work(const std::stop_token& stop)
{
    const sim::CancelScope scope(m_cancel);
    std::unique_lock lock(m_mutex);
    while (true) {
        m_working = false;
        if (!m_wake.wait(lock, stop, [this] { return m_scenario || m_kernelsOf || m_candidates || m_legalValues || m_findings; }))
            return;
        if (stop.stop_requested())
            return;
        m_working = true;
        m_cancel = false;
        if (auto scenario = std::exchange(m_scenario, std::nullopt)) {
            const bool everyRank = m_everyRank;
            lock.unlock();
            simulateOne(*scenario, everyRank);
        } else if (auto simulation = std::exchange(m_kernelsOf, nullptr)) {
            lock.unlock();
            tracesOne(simulation);
        } else if (auto candidates = std::exchange(m_candidates, std::nullopt)) {
            lock.unlock();
            candidatesOne(*candidates);
        } else if (auto legalValues = std::exchange(m_legalValues, std::nullopt)) {
            lock.unlock();
            legalValuesOne(*legalValues);
        } else {
            auto findings = std::exchange(m_findings, std::nullopt);
            lock.unlock();
            findingsOne(std::move(*findings));
        }
        lock.lock();
    }
}

void Simulator::simulateOne(const sim::Scenario& scenario, bool everyRank)
{
    try {
        sim::SimulateOptions options;
        options.full = everyRank;
        SimulationPtr simulation = m_simulate(scenario, options);
        sim::checkCancelled();
        auto actions = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions));
        post([&](Mailbox& mailbox) {
            mailbox.simulation = std::move(simulation);
            mailbox.actions = std::move(actions);
        });
    } catch (const sim::Cancelled&) {
        // A newer request is waiting, or the window is closing.
    } catch (const std::exception& error) {
        postFailure(QString::fromUtf8(error.what()));
    }
}

void Simulator::tracesOne(const SimulationPtr& simulation)
{
    try {
        auto kernels = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::kernels));
        post([&](Mailbox& mailbox) {
            mailbox.kernelsOf = simulation;
            mailbox.kernels = std::move(kernels);
        });
    } catch (const sim::Cancelled&) {
        // As above.
    } catch (const std::exception& error) {
        postFailure(QString::fromUtf8(error.what()));
    }
}

void Simulator::legalValuesOne(const LegalValuesRequest& request)
{
    try {
        LegalValueTable values = legalValues(request.document, request.catalogue, request.lastLegal, request.rule);
        post([&](Mailbox& mailbox) { mailbox.legalValues = std::move(values); });
    } catch (const sim::Cancelled&) {
        // As above.
    } catch (const std::exception& error) {
        postFailure(QString::fromUtf8(error.what()));
    }
}

void Simulator::candidatesOne(const CandidatesRequest& request)
{
    try {
        ScheduleCandidates candidates =
            scheduleCandidates(request.document, request.catalogue, request.lastLegal,
                               request.simulation ? &request.simulation->schedule() : nullptr, request.actions.get());
        post([&](Mailbox& mailbox) { mailbox.candidates = std::move(candidates); });
    } catch (const sim::Cancelled&) {
        // As above.
    } catch (const std::exception& error) {
        postFailure(QString::fromUtf8(error.what()));
    }
}

void Simulator::findingsOne(FindingsRequest request)
{
    std::optional<TryResult> result;
    try {
        if (!request.isFound) {
            request.found = sim::findings(*request.simulation, request.document, request.catalogue);
        } else {
            result = TryResult{.finding = request.finding, .edit = request.edit, .effect = {}};
            const sim::Try& edit = request.found[request.finding].tries[request.edit];
            if (const auto scenario = sim::tried(edit, request.document, request.catalogue)) {
                result->effect = sim::effectOf(request.simulation->metrics(), m_simulate(*scenario, {})->metrics());
            }
        }
    } catch (const sim::Cancelled&) {
        return;
    } catch (const std::exception&) {
        // An edit that cannot be simulated is told by its missing effect; without findings there is nothing to tell.
    }
    post([&](Mailbox& mailbox) {
        if (m_findings) // of another simulation, asked for meanwhile
            return;
        mailbox.findingsOf = request.simulation;
        if (result)
            mailbox.tries.push_back(*result);
        else
            mailbox.findings = request.found;
        if (request.isFound)
            ++request.edit;
        request.isFound = true;
        while (request.finding < request.found.size() && request.edit >= request.found[request.finding].tries.size()) {
            ++request.finding;
            request.edit = 0;
        }
        if (request.finding < request.found.size())
            m_findings.emplace(std::move(request));
    });
}

void Simulator::post(const std::function<void(Mailbox&)>& put)
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_cancel)
            return;
        put(m_mailbox);
    }
    // By name, so that nothing of ours but the mailbox crosses the threads.
    QMetaObject::invokeMethod(this, "deliver", Qt::QueuedConnection);
}

void Simulator::postFailure(const QString& message)
{
    post([&](Mailbox& mailbox) { mailbox.failure = message; });
}

void Simulator::deliver()
{
    Mailbox mailbox;
    {
        const std::lock_guard lock(m_mutex);
        mailbox = std::exchange(m_mailbox, {});
    }
    if (mailbox.simulation)
        emit finished(mailbox.simulation, mailbox.actions);
    if (mailbox.kernels)
        emit kernelsReady(mailbox.kernelsOf, mailbox.kernels);
    if (mailbox.legalValues)
        emit legalValuesReady(*mailbox.legalValues);
    if (mailbox.candidates)
        emit candidatesReady(*mailbox.candidates);
    if (mailbox.findings)
        emit findingsReady(mailbox.findingsOf, *mailbox.findings);
    for (const TryResult& result : mailbox.tries)
        emit tryMeasured(mailbox.findingsOf, result);
    if (mailbox.failure)
        emit failed(*mailbox.failure);
}

} // namespace app
