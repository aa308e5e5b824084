#include "live/runtime/run.h"

#include "live/runtime/root_task.h"
#include "live/tasks/worker_pool.h"
#include "sim/analysis/plan_schedule.h"
#include "sim/error.h"
#include "sim/schedule/check.h"

#include <atomic>
#include <mutex>

namespace live {

struct Run::State {
    State(const sim::Scenario& itsScenario, const RunParts& itsParts)
        : scenario(itsScenario), parts(itsParts), schedule(sim::planSchedule(scenario)),
          mesh(scenario.layout, schedule.endsMeet()), groups(scenario, mesh, schedule),
          data(scenario.live.data, scenario.model.vocabSize, scenario.training.sequenceLength, scenario.live.seed),
          job{.scenario = scenario,
              .mesh = mesh,
              .schedule = schedule,
              .groups = groups,
              .options = parts.options,
              .data = &data,
              .stop = &stop}
    {
    }

    const sim::Scenario scenario;
    const RunParts parts;
    const sim::Schedule schedule;
    const sim::Mesh mesh;
    const JobGroups groups;
    const TokenSource data;
    std::atomic<bool> stop{false};
    Job job;
    CommPlan plan;
    SpanKinds kinds;
    std::vector<std::unique_ptr<Recorder>> recorders;
    std::vector<std::unique_ptr<Rank>> ranks;

    std::mutex mutex;
    std::exception_ptr failure;
    std::atomic<int> left{0};
    int nextStep = parts.firstStep;
};

Run::Run(const sim::Scenario& scenario, const RunParts& parts) : m_state(std::make_unique<State>(scenario, parts))
{
    State& state = *m_state;
    if (const auto problems = sim::checkSchedule(state.schedule); !problems.empty())
        throw sim::Error("the schedule cannot run: " + problems.front());
    const DeviceInfo& info = parts.device->info();
    state.plan = planCommunication(state.job, info.activation, info.accumulation);
    const int count = parts.rankCount > 0 ? parts.rankCount : state.mesh.worldSize();
    for (int rank = parts.firstRank; rank < parts.firstRank + count; ++rank) {
        if (parts.record)
            state.recorders.push_back(std::make_unique<Recorder>(rank));
        state.ranks.push_back(std::make_unique<Rank>(
            state.job, RankContext::Parts{.rank = rank,
                                          .scenario = &state.scenario,
                                          .mesh = &state.mesh,
                                          .groups = &state.groups,
                                          .device = parts.device,
                                          .communicator = parts.communicator,
                                          .kinds = &state.kinds,
                                          .recorder = parts.record ? state.recorders.back().get() : nullptr}));
        state.ranks.back()->context().plan = &state.plan.requests[static_cast<std::size_t>(rank)];
    }
    initialise();
}

/// On the pool: a rank a worker, and one large rank on all of them.
void Run::initialise()
{
    State& state = *m_state;
    WorkerPool& pool = *state.parts.pool;
    const auto initialiseRank = [](Rank& rank, WorkerPool& workers) -> Task<> {
        rank.weights().initialise(workers);
        co_return;
    };
    std::atomic<std::size_t> left{state.ranks.size()};
    std::exception_ptr failure;
    for (const auto& rank : state.ranks)
        pool.post(runToEnd(initialiseRank(*rank, pool), [&](std::exception_ptr exception) {
                      if (exception) {
                          const std::lock_guard lock(state.mutex);
                          failure = exception;
                      }
                      left.fetch_sub(1, std::memory_order_acq_rel);
                  }).handle);
    pool.run([&] { return left.load(std::memory_order_acquire) == 0; });
    if (failure)
        std::rethrow_exception(failure);
}

Run::~Run() = default;

const sim::Scenario& Run::scenario() const
{
    return m_state->scenario;
}

const sim::Mesh& Run::mesh() const
{
    return m_state->mesh;
}

const sim::Schedule& Run::schedule() const
{
    return m_state->schedule;
}

const CommPlan& Run::plan() const
{
    return m_state->plan;
}

SpanKinds& Run::spanKinds()
{
    return m_state->kinds;
}

std::vector<Recorder*> Run::recorders()
{
    std::vector<Recorder*> all;
    for (const auto& recorder : m_state->recorders)
        all.push_back(recorder.get());
    return all;
}

std::vector<Rank*> Run::ranks()
{
    std::vector<Rank*> all;
    for (const auto& rank : m_state->ranks)
        all.push_back(rank.get());
    return all;
}

void Run::requestStop()
{
    m_state->stop.store(true, std::memory_order_relaxed);
}

std::array<std::int64_t, kExactSumWords> Run::squaresOfWeights()
{
    std::array<std::int64_t, kExactSumWords> sum{};
    for (const auto& rank : m_state->ranks) {
        RankContext& context = rank->context();
        const Array words = context.buffer(DType::i64, 1, kExactSumWords);
        context.queue->fill(words, 0);
        rank->weights().forEachOwned(true, [&](const OwnedRange& own) {
            const Array value = context.buffer(context.accumulation, 1, own.count);
            context.queue->copy(own.master, value);
            context.queue->exactSumOfSquares(value, words);
        });
        std::array<std::int64_t, kExactSumWords> host{};
        context.queue->toHost(words, host.data());
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += host[i];
    }
    return sum;
}

void Run::abort(const std::string& why)
{
    m_state->parts.communicator->abort(why);
}

void Run::train(int steps, const std::function<Verdict(const StepReport&)>& afterStep)
{
    State& state = *m_state;
    WorkerPool& pool = *state.parts.pool;
    const auto over = [&](std::exception_ptr exception) {
        if (exception) {
            std::string why = "a rank failed";
            {
                const std::lock_guard lock(state.mutex);
                if (!state.failure)
                    state.failure = exception;
            }
            try {
                std::rethrow_exception(exception);
            } catch (const std::exception& error) {
                why = error.what();
            } catch (...) { // NOLINT(bugprone-empty-catch): why says all that is known
            }
            state.parts.communicator->abort(why);
        }
        if (state.left.fetch_sub(1, std::memory_order_acq_rel) == 1)
            pool.wake();
    };
    int& step = state.nextStep;
    const int end = step + steps;
    std::int64_t startNs = 0;
    const auto startStep = [&] {
        startNs = nowNs();
        state.left.store(static_cast<int>(state.ranks.size()), std::memory_order_release);
        for (const auto& rank : state.ranks)
            pool.post(runToEnd(rank->step(step, state.scenario.live.learningRate), over).handle);
    };
    if (step >= end)
        return;
    startStep();
    std::exception_ptr hostFailure;
    pool.run([&] {
        if (state.left.load(std::memory_order_acquire) > 0)
            return false;
        if (state.failure)
            return true;
        StepReport report{.step = step, .result = state.ranks.front()->result()};
        report.seconds = static_cast<double>(nowNs() - startNs) * 1e-9;
        const sim::Training& training = state.scenario.training;
        report.tokensPerSecond = static_cast<double>(training.globalBatchSize) * training.sequenceLength / report.seconds;
        ++step;
        try {
            if ((afterStep && afterStep(report) == Verdict::stop) || report.result.stop || step >= end)
                return true;
        } catch (...) {
            hostFailure = std::current_exception();
            return true;
        }
        startStep();
        return false;
    });
    if (state.failure)
        std::rethrow_exception(state.failure);
    if (hostFailure)
        std::rethrow_exception(hostFailure);
}

} // namespace live
