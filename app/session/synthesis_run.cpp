#include "app/session/synthesis_run.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace app {
namespace {

/// Between two looks; on two cores about a tenth of a second.
constexpr std::int64_t kMovesAStep = 200'000;

/// What was found, as simulated: each order once.
class Finds {
public:
    Finds(const sim::Scenario& scenario, const sim::ScheduleRequest& request)
        : m_request(request), m_judge(scenario, sim::memoryCapGib(scenario)), m_others(sim::otherOrders(scenario, request))
    {
    }
    /// Simulates what was found since, and orders of all other kinds; ends early when cancelled.
    void judge(const sim::Synthesiser& search)
    {
        std::vector<sim::Schedule> orders = search.finalists();
        orders.insert(orders.end(), m_others.begin(), m_others.end());
        try {
            for (const sim::Schedule& order : orders)
                if (std::find(m_judged.begin(), m_judged.end(), order) == m_judged.end()) {
                    m_judge.consider(order);
                    m_judged.push_back(order);
                }
        } catch (const sim::Cancelled&) {
            // What was not simulated comes again with the next look.
        }
    }
    /// Nothing before anything was simulated.
    std::optional<SynthesisState> state(const sim::Synthesiser& search) const
    {
        if (!m_judge.best())
            return std::nullopt;
        SynthesisState state{.best = search.result(), .progress = search.progress(), .step = m_judge.verdict(), .now = {}};
        sim::describeOrder(state.best, *m_judge.best(), m_request);
        return state;
    }

private:
    const sim::ScheduleRequest& m_request;
    sim::OrderJudge m_judge;
    const std::vector<sim::Schedule> m_others;
    std::vector<sim::Schedule> m_judged;
};

/// A search goes on for nothing where not even the orders keep the cap that need least.
void requireReachableCap(const sim::Scenario& scenario, const sim::ScheduleRequest& request, const sim::SynthesisRequest& asked)
{
    sim::OrderJudge judge(scenario, sim::memoryCapGib(scenario));
    judge.consider(sim::leastMemoryOrder(asked));
    for (const sim::Schedule& order : sim::otherOrders(scenario, request))
        judge.consider(order);
    if (const auto missed = sim::missedCap(scenario, judge.verdict().peakGib))
        throw sim::Error(missed->text());
}

} // namespace

SynthesisRun::SynthesisRun(sim::Scenario scenario, std::shared_ptr<const sim::Simulation> now, QObject* parent)
    : QObject(parent), m_scenario(std::move(scenario)), m_now(std::move(now))
{
    m_worker.submit({.kind = 0,
                     .work = [this](const Task& task) { work(task); },
                     .failed = [this](const QString& why) { Q_EMIT failed(why); }});
}

SynthesisRun::~SynthesisRun()
{
    m_worker.stop();
}

void SynthesisRun::pause()
{
    const std::lock_guard lock(m_mutex);
    m_running = false;
    m_endStep = true; // the next one goes on as if nothing had been
}

void SynthesisRun::resume()
{
    {
        const std::lock_guard lock(m_mutex);
        m_running = true;
        m_endStep = false;
    }
    m_wake.notify_one();
}

void SynthesisRun::work(const Task& task)
{
    const sim::ScheduleRequest request = sim::planningRequest(m_scenario);
    sim::SynthesisRequest asked = sim::searchRequest(m_scenario, request);
    if (asked.memoryCap > request.memoryCap)
        requireReachableCap(m_scenario, request, asked);
    asked.present = m_now->schedule();
    sim::Synthesiser search(std::move(asked));
    Finds finds(m_scenario, request);
    const sim::Metrics& metrics = m_now->metrics();
    const sim::OrderVerdict now{.stepSeconds = metrics.stepTimeSeconds,
                                .peakGib = metrics.peakMemoryGib,
                                .keepsCap = metrics.peakMemoryGib <= sim::memoryCapGib(m_scenario)};
    while (true) {
        {
            std::unique_lock lock(m_mutex);
            if (!m_wake.wait(lock, task.stopToken(), [this] { return m_running; }) || task.isCancelled())
                return;
        }
        const bool wasDone = search.done();
        {
            const sim::CancelScope untilPaused(m_endStep); // and no longer: what is paused has a state, and goes on
            search.step(kMovesAStep);
            finds.judge(search);
        }
        std::optional<SynthesisState> state = finds.state(search);
        const sim::SynthesisProgress progress = search.progress();
        const std::lock_guard lock(m_mutex);
        // Beyond its plan it goes on only when asked to.
        if ((search.done() && !wasDone) || progress.span <= progress.bound * (1 + 1e-9))
            m_running = false;
        if (!state)
            continue;
        state->now = now;
        state->done = search.done();
        state->running = m_running;
        task.tell([this, state = *std::move(state)] { Q_EMIT progressed(state); });
    }
}

} // namespace app
