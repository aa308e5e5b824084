#include "live/cli/training.h"

#include "live/runtime/checkpoint.h"
#include "live/runtime/watchdog.h"
#include "live/stream/as_if_parallel.h"
#include "live/stream/collector.h"
#include "live/stream/make_trace.h"
#include "live/stream/publisher.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/trace/export.h"

#include <atomic>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace live::cli {
namespace {

/// Set by Ctrl-C and by whoever ends the program politely.
std::atomic<int> g_signals{0}; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a signal has no other way in

void noteSignal(int)
{
    constexpr int kImpatient = 3;
    if (g_signals.fetch_add(1) + 1 >= kImpatient)
        std::_Exit(130);
}

/// What viewers may ask for; done between two steps.
class Control final : public RunControl {
public:
    explicit Control(bool canCheckpoint) : m_canCheckpoint(canCheckpoint) {}

    std::string pause() override
    {
        set(m_paused, true);
        return "pauses after this step";
    }
    std::string resume() override
    {
        set(m_paused, false);
        return "goes on";
    }
    std::string stop() override
    {
        set(m_stop, true);
        return "stops after this step";
    }
    std::string checkpoint() override
    {
        if (!m_canCheckpoint)
            throw sim::Error("the run was started without --checkpoint FOLDER");
        set(m_checkpoint, true);
        return "writes a checkpoint after this step";
    }

    bool stopped() const { return m_stop || g_signals > 0; }
    bool takeCheckpoint() { return m_checkpoint.exchange(false); }
    bool isPaused() const { return m_paused; }
    /// Returns when the run may go on (or shall stop).
    void waitWhilePaused()
    {
        using namespace std::chrono_literals;
        std::unique_lock lock(m_mutex);
        while (m_paused && !stopped())
            m_changed.wait_for(lock, 100ms); // a signal cannot notify
    }

private:
    void set(std::atomic<bool>& flag, bool value)
    {
        const std::lock_guard lock(m_mutex);
        flag = value;
        m_changed.notify_all();
    }
    const bool m_canCheckpoint;
    std::atomic<bool> m_paused{false}, m_stop{false}, m_checkpoint{false};
    std::mutex m_mutex;
    std::condition_variable m_changed;
};

void printStep(const StepReport& report, int last)
{
    char line[160];
    std::snprintf(line, sizeof line, "step %d/%d  loss %.4f  gradient norm %.4f  %.1f ms  %.0f tokens/s\n", report.step, last,
                  report.result.loss, report.result.gradientNorm, report.seconds * 1e3, report.tokensPerSecond);
    std::cerr << line;
}

} // namespace

TrainingReport train(const TrainingRequest& request)
{
    const sim::Scenario& scenario = request.scenario;
    if (scenario.live.dtype == "bf16")
        throw sim::Error("/live/dtype: bf16 needs a GPU; use fp32 or fp64");
    WorkerPool pool(request.workers > 0 ? request.workers : static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
    const auto device = makeCpuDevice(scenario.live.dtype == "fp64" ? DType::f64 : DType::f32, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    int firstStep = 1;
    std::filesystem::path resumed;
    if (!request.resume.empty()) {
        resumed = findCheckpoint(request.resume);
        firstStep = readCheckpointInfo(resumed).step + 1;
        if (firstStep > scenario.live.steps)
            throw sim::Error(resumed.string() + " has done " + std::to_string(firstStep - 1) +
                             " steps already; --steps must be more");
    }
    Run run(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .firstStep = firstStep});
    if (!resumed.empty())
        readCheckpoint(resumed, run.ranks());

    RunDescription description = describeRun(scenario, run.mesh(), request.scenarioJson);
    description.device = device->info().name;
    description.plannedSteps = scenario.live.steps;
    description.slices = run.schedule().slices;
    description.controllable = true;
    Collector collector(std::move(description), run.spanKinds(), run.recorders());
    Control control(!request.checkpoint.empty());
    std::unique_ptr<Publisher> publisher;
    if (!request.listen.empty()) {
        PublishOptions options{.endpoint = request.listen, .control = &control};
        if (!request.key.empty())
            options.keys = ServerKeys{readKeyPair(request.key), readAllowedKeys(request.allowed)};
        publisher = std::make_unique<Publisher>(collector, options);
        std::cerr << "listening at " << publisher->endpoint() << "\n";
    }
    if (!request.quiet)
        std::cerr << device->info().name << "; " << run.mesh().worldSize()
                  << (run.mesh().worldSize() == 1 ? " rank, " : " ranks, ") << communicator->name() << ", " << pool.workers()
                  << " workers\n";

    TrainingReport report{.device = device->info().kind, .worldSize = run.mesh().worldSize()};
    std::signal(SIGINT, noteSignal);
    std::signal(SIGTERM, noteSignal);
    collector.setStatus(RunStatus::running);
    const int last = scenario.live.steps;
    try {
        const Watchdog watchdog(run, request.deadline);
        run.train(last - firstStep + 1, [&](const StepReport& step) {
            report.losses.push_back(step.result.loss);
            report.gradientNorms.push_back(step.result.gradientNorm);
            report.stepSeconds.push_back(step.seconds);
            const std::int64_t endNs = nowNs();
            collector.stepDone({.step = step.step,
                                .loss = step.result.loss,
                                .gradientNorm = step.result.gradientNorm,
                                .tokensPerSecond = step.tokensPerSecond,
                                .startNs = endNs - static_cast<std::int64_t>(step.seconds * 1e9),
                                .endNs = endNs});
            if (!request.quiet)
                printStep(step, last);
            const bool due = request.checkpointEvery > 0 && step.step % request.checkpointEvery == 0;
            const bool atEnd = step.step == last || control.stopped();
            if (!request.checkpoint.empty() && (due || atEnd || control.takeCheckpoint())) {
                const auto path = writeCheckpoint(request.checkpoint, {step.step, request.scenarioJson}, run.ranks());
                if (!request.quiet)
                    std::cerr << "checkpoint " << path.string() << "\n";
            }
            if (control.isPaused() && !control.stopped()) {
                collector.setStatus(RunStatus::paused);
                control.waitWhilePaused();
                collector.setStatus(RunStatus::running);
            }
            report.stopped = control.stopped() && step.step < last;
            return control.stopped() ? Verdict::stop : Verdict::goOn;
        });
    } catch (const std::exception& error) {
        collector.setStatus(RunStatus::failed, error.what());
        throw;
    }
    collector.setStatus(report.stopped ? RunStatus::stopped : RunStatus::finished);

    const RunHistory history = collector.history();
    report.spansRecorded = history.state.spansRecorded;
    report.spansDropped = history.state.spansDropped;
    report.finalParametersNorm = std::sqrt(exactSumValue(run.squaresOfWeights()));
    for (Rank* rank : run.ranks())
        report.peakBytes.push_back(rank->context().memory.peak());
    const double tokens = static_cast<double>(scenario.training.globalBatchSize) * scenario.training.sequenceLength;
    double seconds = 0;
    const std::size_t warm = report.stepSeconds.size() > 1 ? 1 : 0;
    for (std::size_t i = warm; i < report.stepSeconds.size(); ++i)
        seconds += report.stepSeconds[i];
    report.tokensPerSecond = tokens * static_cast<double>(report.stepSeconds.size() - warm) / seconds;
    if (!report.losses.empty() && report.spansDropped == 0)
        report.asIfParallelSeconds =
            static_cast<double>(asIfParallel(history, firstStep + static_cast<int>(report.losses.size()) - 1).stepNs) * 1e-9;
    if (!request.trace.empty())
        sim::saveTrace(makeTrace(history), request.trace);
    return report;
}

std::string reportJson(const std::string& scenarioName, const TrainingReport& report)
{
    nlohmann::ordered_json json = {{"scenario", scenarioName},
                                   {"device", report.device},
                                   {"world_size", report.worldSize},
                                   {"losses", report.losses},
                                   {"grad_norms", report.gradientNorms},
                                   {"tokens_per_second", report.tokensPerSecond},
                                   {"step_time_s", report.stepSeconds},
                                   {"final_parameters_norm", report.finalParametersNorm},
                                   {"spans_recorded", report.spansRecorded},
                                   {"spans_dropped", report.spansDropped},
                                   {"peak_memory_bytes", report.peakBytes},
                                   {"stopped", report.stopped}};
    if (report.asIfParallelSeconds)
        json["as_if_parallel_step_s"] = *report.asIfParallelSeconds;
    return json.dump(2) + "\n";
}

} // namespace live::cli
