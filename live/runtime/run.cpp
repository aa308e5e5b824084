#include "live/runtime/run.h"

#include "live/runtime/root_task.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/simulate/plan_schedule.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>

namespace live {
namespace {

/// What is said of a step whose result is not finite; `found`: what making it once more has thrown.
std::string describeLoss(int step, const StepResult& result, const std::exception_ptr& found)
{
    char text[160];
    std::snprintf(text, sizeof text, "step %d: the loss is %g and the gradient norm %g; no weight was changed. ", step,
                  result.loss, result.gradientNorm);
    if (!found)
        return std::string(text) +
               "Made once more, all was finite: the fault does not repeat itself, as the hardware's would not.";
    try {
        std::rethrow_exception(found);
    } catch (const std::exception& error) {
        return std::string(text) + "The first tensor that is not finite: " + error.what() +
               ". Try a smaller learning rate, or gradients clipped (live.clip_norm).";
    }
}

} // namespace

Run::Run(const sim::Scenario& scenario, const RunParts& parts)
    : m_scenario(scenario), m_parts(parts), m_schedule(sim::planSchedule(m_scenario)),
      m_mesh(m_scenario.layout, sim::endsOf(m_schedule)), m_groups(m_scenario, m_mesh, m_schedule),
      m_data(m_scenario.live.data, m_scenario.model.vocabSize, m_scenario.training.sequenceLength, m_scenario.live.seed),
      m_job{.scenario = m_scenario,
            .mesh = m_mesh,
            .schedule = m_schedule,
            .groups = m_groups,
            .options = m_parts.options,
            .data = &m_data,
            .stop = &m_stop},
      m_nextStep(parts.firstStep)
{
    if (const auto problems = sim::checkSchedule(m_schedule); !problems.empty())
        throw sim::Error("the schedule cannot run: " + problems.front());
    const DeviceInfo& info = parts.device->info();
    m_plan = planCommunication(m_job, info.activation, info.accumulation);
    if (parts.planned)
        parts.planned(m_plan);
    std::vector<int> held = parts.ranks;
    if (held.empty()) {
        held.resize(static_cast<std::size_t>(parts.rankCount > 0 ? parts.rankCount : m_mesh.worldSize()));
        std::iota(held.begin(), held.end(), parts.firstRank);
    }
    for (const int rank : held) {
        if (parts.record)
            m_recorders.push_back(std::make_unique<Recorder>(rank));
        m_ranks.push_back(
            std::make_unique<Rank>(m_job, RankContext::Parts{.rank = rank,
                                                             .scenario = &m_scenario,
                                                             .mesh = &m_mesh,
                                                             .groups = &m_groups,
                                                             .device = parts.device,
                                                             .communicator = parts.communicator,
                                                             .kinds = &m_kinds,
                                                             .recorder = parts.record ? m_recorders.back().get() : nullptr,
                                                             .kernelTimes = parts.kernelTimes}));
        m_ranks.back()->context().plan = &m_plan.requests[static_cast<std::size_t>(rank)];
    }
    prepareGroups();
    initialise();
}

DType activationType(const sim::Scenario& scenario)
{
    return scenario.live.dtype == "fp64" ? DType::f64 : scenario.live.dtype == "bf16" ? DType::bf16 : DType::f32;
}

CommPlan planRun(const sim::Scenario& scenario, const TrainingOptions& options, DType activation, DType accumulation)
{
    const sim::Schedule schedule = sim::planSchedule(scenario);
    if (const auto problems = sim::checkSchedule(schedule); !problems.empty())
        throw sim::Error("the schedule cannot run: " + problems.front());
    const sim::Mesh mesh(scenario.layout, sim::endsOf(schedule));
    const JobGroups groups(scenario, mesh, schedule);
    return planCommunication({.scenario = scenario, .mesh = mesh, .schedule = schedule, .groups = groups, .options = options},
                             activation, accumulation);
}

/// What the plan says that the ranks of this process will do in their groups.
void Run::prepareGroups()
{
    std::vector<GroupUse> all;
    for (const auto& rank : m_ranks) {
        const int number = rank->context().rank;
        std::map<int, GroupUse> uses;
        for (const PlannedRequest& request : m_plan.requests[static_cast<std::size_t>(number)]) {
            GroupUse& use = uses[request.group];
            use.kinds.insert(request.kind);
            if (use.group)
                continue;
            use.group = &m_groups.all()[static_cast<std::size_t>(request.group)];
            const std::vector<int>& ranks = use.group->ranks;
            use.member = static_cast<int>(std::find(ranks.begin(), ranks.end(), number) - ranks.begin());
        }
        for (auto& [group, use] : uses)
            all.push_back(std::move(use));
    }
    m_parts.communicator->prepare(all);
}

/// On the pool: a rank a worker, and one large rank on all of them.
void Run::initialise()
{
    WorkerPool& pool = *m_parts.pool;
    const auto initialiseRank = [](Rank& rank, WorkerPool& workers) -> Task<> {
        rank.weights().initialise(workers);
        co_return;
    };
    std::atomic<std::size_t> left{m_ranks.size()};
    std::exception_ptr failure;
    for (const auto& rank : m_ranks)
        pool.post(runToEnd(initialiseRank(*rank, pool), [&](std::exception_ptr exception) {
                      if (exception) {
                          const std::lock_guard lock(m_mutex);
                          failure = exception;
                      }
                      left.fetch_sub(1, std::memory_order_acq_rel);
                  }).handle);
    pool.run([&] { return left.load(std::memory_order_acquire) == 0; });
    if (failure)
        std::rethrow_exception(failure);
}

std::vector<Recorder*> Run::recorders()
{
    std::vector<Recorder*> all;
    for (const auto& recorder : m_recorders)
        all.push_back(recorder.get());
    return all;
}

std::vector<Rank*> Run::ranks()
{
    std::vector<Rank*> all;
    for (const auto& rank : m_ranks)
        all.push_back(rank.get());
    return all;
}

std::array<std::int64_t, kExactSumWords> Run::squaresOfWeights()
{
    std::array<std::int64_t, kExactSumWords> sum{};
    for (const auto& rank : m_ranks) {
        RankContext& context = rank->context();
        const Array words = context.buffer(DType::i64, 1, kExactSumWords);
        context.queue->fill(words, 0);
        rank->weights().forEachOwned(true, [&](const OwnedRange& own) {
            const Array value = context.buffer(context.accumulation, 1, own.count);
            context.queue->copy(own.master, value);
            context.queue->exactSumOfSquares(value, words);
        });
        std::array<std::int64_t, kExactSumWords> host{};
        context.queue->carryExactSums(words);
        context.queue->toHost(words, host.data());
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += host[i];
    }
    return sum;
}

Run::Pulse Run::pulse()
{
    Pulse pulse{.progress = m_parts.pool->moves()};
    for (const auto& rank : m_ranks) {
        RankContext& context = rank->context();
        const FlightRecord::State state = context.flight.state();
        pulse.progress += state.progress + context.queue->marksPassed();
        const bool waits = state.waits || context.runsBeside();
        pulse.waits = pulse.waits || (state.inStep() && waits);
        pulse.computes = pulse.computes || (state.inStep() && !waits);
    }
    return pulse;
}

void Run::abort(const std::string& why)
{
    m_parts.communicator->abort(why);
}

void Run::train(int steps, const std::function<Verdict(const StepReport&)>& afterStep)
{
    WorkerPool& pool = *m_parts.pool;
    const auto over = [&](std::exception_ptr exception) {
        if (exception) {
            std::string why = "a rank failed";
            {
                const std::lock_guard lock(m_mutex);
                if (!m_failure)
                    m_failure = exception;
            }
            try {
                std::rethrow_exception(exception);
            } catch (const std::exception& error) {
                why = error.what();
            } catch (...) { // NOLINT(bugprone-empty-catch): why says all that is known
            }
            m_parts.communicator->abort(why);
        }
        if (m_left.fetch_sub(1, std::memory_order_acq_rel) == 1)
            pool.wake();
    };
    int& step = m_nextStep;
    const int end = step + steps;
    std::int64_t startNs = 0;
    bool searches = false; // the step is made once more, to find what was not finite
    const auto startStep = [&] {
        startNs = nowNs();
        m_left.store(static_cast<int>(m_ranks.size()), std::memory_order_release);
        for (const auto& rank : m_ranks)
            pool.post(runToEnd(rank->step(step, m_scenario.live.learningRate, searches), over).handle);
    };
    if (step >= end)
        return;
    startStep();
    std::exception_ptr hostFailure;
    StepResult lost;
    pool.run([&] {
        if (m_left.load(std::memory_order_acquire) > 0)
            return false;
        if (m_failure || searches)
            return true;
        try {
            m_parts.communicator->throwIfAborted();
        } catch (...) { // all ranks came through, with what there was
            m_failure = std::current_exception();
            return true;
        }
        if (!m_ranks.front()->result().isFinite()) {
            lost = m_ranks.front()->result();
            searches = true;
            startStep();
            return false;
        }
        for (const auto& rank : m_ranks) // now that nothing is under way: a GPU is waited for where memory is given back
            rank->context().memory.endStep();
        StepReport report{.step = step, .result = m_ranks.front()->result()};
        report.seconds = static_cast<double>(nowNs() - startNs) * 1e-9;
        const sim::Training& training = m_scenario.training;
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
    if (searches)
        throw sim::Error(describeLoss(step, lost, m_failure));
    if (m_failure)
        std::rethrow_exception(m_failure);
    if (hostFailure)
        std::rethrow_exception(hostFailure);
}

} // namespace live
