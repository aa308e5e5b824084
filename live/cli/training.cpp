#include "live/cli/training.h"

#include "live/cli/folder_claim.h"
#include "live/cli/same_job.h"
#include "live/cli/say_line.h"
#include "live/cli/training_stream.h"
#include "live/comm/gpu_modules.h"
#include "live/comm/processes.h"
#include "live/comm/tcp_transport.h"
#include "live/emulated/emulated_device.h"
#include "live/emulated/emulated_run.h"
#include "live/emulated/wire.h"
#include "live/huggingface/folder.h"
#include "live/kernels/modules.h"
#include "live/runtime/checkpoint.h"
#include "live/runtime/checkpoint_job.h"
#include "live/runtime/data.h"
#include "live/runtime/memory_need.h"
#include "live/runtime/processors.h"
#include "live/runtime/stream_need.h"
#include "live/runtime/tensor_file.h"
#include "live/runtime/watchdog.h"
#include "live/stream/as_if_parallel.h"
#include "live/stream/done_otherwise.h"
#include "live/stream/make_trace.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/text/failure_text.h"
#include "sim/trace/export.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <type_traits>

namespace live::cli {
namespace {

/// One process's part of a training.
class Training {
public:
    Training(const TrainingRequest& request, const TellReport& tell)
        : m_request(request), m_tell(tell), m_scenario(request.scenario),
          m_environment(readLaunchEnvironment(environmentVariables())),
          m_store(m_environment.processes > 1
                      ? openStore(m_environment, {.isStopping = &Control::isSignalled, .progress = &PlacedFile::moves})
                      : nullptr),
          m_machine(orTellOthers([this] { return makeMachine(); })), m_pool(workers()),
          m_device(orTellOthers([this] { return chooseHere(); })), m_control(!request.checkpoint.empty(), alone())
    {
        orTellOthers([this] { prepare(); });
    }

    TrainingReport train()
    {
        return orTellOthers([this] { return trainHere(); });
    }

private:
    TrainingReport trainHere()
    {
        if (first() && !m_request.quiet)
            sayLine(m_device.device->info().name + "; " + m_device.why + "; " + std::to_string(m_run->mesh().worldSize()) +
                    (m_run->mesh().worldSize() == 1 ? " rank, " : " ranks, ") +
                    (alone() ? "" : std::to_string(m_environment.processes) + " processes, ") + m_communicator->name() + ", " +
                    std::to_string(m_pool.workers()) + " workers");
        if (first())
            for (const sim::Problem& one : doneOtherwise(m_scenario)) // viewers lay a prediction beside the run
                sayLine(one.text());
        m_report.device = m_device.device->info().kind;
        if (m_machine)
            m_report.orderSeed = m_request.orderSeed;
        m_report.worldSize = m_run->mesh().worldSize();
        m_report.isFirstProcess = first();
        Control::catchSignals();
        m_stream->collector().setStatus(RunStatus::running);
        try {
            const Watchdog watchdog(*m_run, m_request.deadline, m_store.get());
            m_run->train(m_scenario.live.steps - m_firstStep + 1, [&](const StepReport& step) { return afterStep(step); });
            if (m_machine)
                m_machine->finish();
            if (!m_request.saveWeights.empty())
                saveWeights();
            m_stream->collector().setStatus(m_report.stopped ? RunStatus::stopped : RunStatus::finished);
            m_report.finalParametersNorm = weightsNorm();
            awaitLastSpans();
        } catch (const std::exception& error) {
            tellFailure(sim::failureText(error));
            throw;
        }
        if (first()) {
            sumUp();
            handOver();
        }
        return m_report;
    }

    /// What the steps before have brought is not lost.
    void tellFailure(const std::string& why)
    {
        if (m_store)
            m_store->abort(why); // before files are written: the others would wait for this process
        m_stream->collector().setStatus(RunStatus::failed, why);
        m_report.failed = why;
        m_report.finalParametersNorm.reset(); // it may have failed after the last step
        if (!first())
            return;
        try {
            sumUp();
            handOver();
        } catch (const std::exception& error) { // the run's own reason is told after it
            sayLine(sim::failureText(error));
        }
    }

    /// The report, then the trace: where one cannot be written the other still is. Throws what failed first.
    void handOver()
    {
        std::exception_ptr failure;
        const auto attempt = [&](const auto& work) {
            try {
                work();
            } catch (const std::exception& error) {
                if (failure)
                    sayLine(sim::failureText(error));
                else
                    failure = std::current_exception();
            }
        };
        if (m_tell)
            attempt([&] { m_tell(m_report); });
        if (!m_request.trace.empty())
            attempt([&] { sim::saveTrace(makeTrace(m_stream->collector().history()), m_request.trace); });
        if (failure)
            std::rethrow_exception(failure);
    }

    /// What fails in it, the others are told: they would wait for this process.
    template <class Work>
    std::invoke_result_t<Work> orTellOthers(Work work)
    {
        try {
            return work();
        } catch (const std::exception& error) {
            if (m_store)
                m_store->abort(sim::failureText(error));
            throw;
        }
    }

    void prepare()
    {
        const std::filesystem::path resumed = agree();
        if (first()) {
            if (resumed.empty())
                m_origin.emplace(originOfWeights());
            claimFolders(resumed);
        }
        const int world = m_scenario.layout.worldSize();
        m_ranks = ranksOf(m_environment.process, m_environment.processes, world);
        if (const std::string why = whichStatesDoNotFit(m_scenario, memoryPlace(), hostMemoryLimits()); !why.empty())
            throw sim::Error(why);
        m_communicator = makeCommunicator(world);
        if (m_machine && m_store) // who waits in the machine finds that the run is over
            m_nudge = m_store->onAbort([this](const std::string&) { m_machine->nudge(); });
        if (m_machine)
            emulated::pollOnMachine(m_pool, *m_machine, *m_communicator);
        else
            m_pool.setPoller([this] { return m_communicator->poll(); });
        m_run = std::make_unique<Run>(m_scenario, RunParts{.pool = &m_pool,
                                                           .device = m_device.device.get(),
                                                           .communicator = m_communicator.get(),
                                                           .firstRank = m_ranks.first,
                                                           .rankCount = m_ranks.count,
                                                           .kernelTimes = kernelTimes(),
                                                           .firstStep = m_firstStep,
                                                           .planned = [this](const CommPlan& plan) { checkPlan(plan); }});
        if (!resumed.empty())
            readCheckpoint(resumed, m_run->ranks(), m_environment.process, exchange());
        if (!m_request.weights.empty())
            readWeights();
        if (!m_request.saveWeights.empty())
            huggingface::proveCanBeWritten(m_request.saveWeights, m_scenario, m_run->ranks(), m_environment.process, exchange());
        m_stream = std::make_unique<TrainingStream>(m_request, m_environment, m_store.get(), *m_run, m_device.device->info().name,
                                                    m_control);
    }

    /// Of a run that begins.
    WeightsOrigin originOfWeights() const
    {
        if (m_request.weights.empty() || m_request.checkpoint.empty()) // nobody would be told
            return {};
        return {.folder = std::filesystem::absolute(m_request.weights).lexically_normal().string(),
                .mark = huggingface::markOfWeights(m_request.weights)};
    }

    void readWeights()
    {
        constexpr int kTokensOfText = 256; // a byte each
        if (first() && m_scenario.model.vocabSize > kTokensOfText && !isTokenIds(m_scenario.live.data))
            sayLine("warning: live.data is a text, whose bytes are the tokens 0 to 255; to a model with a vocabulary of " +
                    std::to_string(m_scenario.model.vocabSize) +
                    " they mean something else: give it the ids that its tokenizer makes (live.data=IDS.npy or IDS.bin)");
        m_config = huggingface::readWeights(m_request.weights, m_scenario, m_run->ranks(), m_environment.process, exchange());
    }

    /// That all processes train the same; the checkpoint that it goes on from, empty where it begins.
    std::filesystem::path agree()
    {
        const bool resumes = !m_request.resume.empty();
        std::filesystem::path resumed = m_request.resume;
        std::string name; ///< in the folder, as the first process has found it
        nlohmann::json theirs;
        if (m_store && !first()) { // the first chooses: a folder of another machine may not be seen as it is there, nor at once
            theirs = nlohmann::json::parse(m_store->get("job"));
            name = m_store->get("job/checkpoint");
        }
        nlohmann::json from;
        if (resumes) {
            resumed = name.empty() || exists(resumed / "manifest.json") ? findCheckpoint(resumed) : resumed / name;
            const CheckpointInfo info = readCheckpointInfo(resumed);
            from = {{"step", info.step}, {"crc32", info.crc32}};
            checkResumed(resumed, info);
        }
        if (!m_store)
            return resumed;
        const nlohmann::json job = jobOf(m_request, m_device.device->info().kind, from);
        if (first()) {
            m_store->set("job/checkpoint", resumed.filename().string()); // names are bytes, which JSON need not take
            m_store->set("job", job.dump());
        } else if (const std::string why = differenceOf(job, theirs); !why.empty()) {
            throw sim::Error(why);
        }
        m_store->barrier("job"); // nothing is written before all have looked
        return resumed;
    }

    void checkResumed(const std::filesystem::path& resumed, const CheckpointInfo& info)
    {
        m_firstStep = info.step + 1;
        m_origin = info.weights;
        checkIsOfModel(resumed, info, m_scenario);
        checkIsOfData(resumed, info, m_scenario);
        if (const std::string others = otherSettings(info, m_scenario); first() && !others.empty())
            sayLine("warning: " + resumed.string() + " is of a run with other settings: " + others +
                    "; it goes on with those given here");
        if (m_firstStep > m_scenario.live.steps)
            throw sim::Error(resumed.string() + " has done " + std::to_string(m_firstStep - 1) +
                             " steps already; --steps must be more");
    }

    MemoryPlace memoryPlace() const
    {
        const LaunchEnvironment& here = m_environment;
        const int world = m_scenario.layout.worldSize();
        const int firstProcess = std::max(0, here.process - here.localProcess);
        const RankRange first = ranksOf(firstProcess, here.processes, world);
        const RankRange last = ranksOf(std::min(firstProcess + here.localProcesses, here.processes) - 1, here.processes, world);
        const bool onGpu = m_device.device->info().runsBeside;
        return {.firstRank = m_ranks.first,
                .rankCount = m_ranks.count,
                .firstRankOfMachine = first.first,
                .ranksOfMachine = last.first + last.count - first.first,
                .processes = here.localProcesses,
                .onGpu = onGpu,
                .isEmulated = m_machine != nullptr,
                .usesNccl = onGpu && !alone()};
    }

    /// Refuses what the device cannot do, before anything is taken.
    void checkPlan(const CommPlan& plan)
    {
        if (m_device.device->info().runsBeside && !alone())
            if (const std::string why = whyTooManyStreams(plan, m_environment.processes); !why.empty())
                throw sim::Error(why);
        checkMemory(plan);
    }

    void checkMemory(const CommPlan& plan)
    {
        const MemoryPlace place = memoryPlace();
        const std::vector<MemoryLimit> limits = hostMemoryLimits();
        const std::optional<std::int64_t> gpuFree = m_device.device->freeBytes();
        const auto objection = [&](const MemoryNeed& need) {
            return whatDoesNotFit(need, limits, gpuFree, m_device.device->info().name);
        };
        const MemoryNeed need = memoryNeed(plan, place, m_scenario.live.steps);
        const std::string why = objection(need);
        m_report.memoryNeededBytes = need.host;
        if (gpuFree) {
            m_gpuFreeBytes = *gpuFree;
            m_report.gpuNeededBytes = need.gpu;
        }
        if (m_store)
            m_store->barrier("memory"); // nobody takes any before all have looked
        if (why.empty())
            return;
        const DeviceInfo& info = m_device.device->info();
        const std::string nearest = nearestThatFits(m_scenario, [&](const sim::Scenario& smaller) {
            const CommPlan itsPlan = planRun(smaller, {}, info.activation, info.accumulation);
            return objection(memoryNeed(itsPlan, place, smaller.live.steps)).empty();
        });
        throw sim::Error(why + (nearest.empty()
                                    ? ". Neither recomputation nor a smaller micro-batch nor ZeRO nor less to keep of each "
                                      "parameter makes it fit: use a smaller model, or more machines"
                                    : ". Nearest that fits: " + nearest));
    }

    /// No other run writes to them from now on, and what one that was killed left half written is gone.
    void claimFolders(const std::filesystem::path& resumed)
    {
        if (!m_request.checkpoint.empty()) {
            m_claim.emplace(m_request.checkpoint, "checkpoint");
            removeUnfinishedCheckpoints(m_request.checkpoint);
            checkHoldsNoOtherRun(m_request.checkpoint, resumed, m_firstStep - 1, m_scenario, m_origin);
            m_data = markOfData(m_scenario.live.data); // as it is before training reads it
        }
        std::error_code none;
        if (!m_request.saveWeights.empty() && !std::filesystem::equivalent(m_request.saveWeights, m_request.checkpoint, none))
            m_claimOfWeights.emplace(m_request.saveWeights, "weights");
        for (const auto* claim : {&m_claim, &m_claimOfWeights})
            if (*claim && !(*claim)->problem().empty())
                sayLine("warning: " + (*claim)->problem());
    }

    bool alone() const { return m_environment.processes == 1; }
    bool first() const { return m_environment.process == 0; }

    /// Null: nobody asked for them.
    KernelTimes* kernelTimes() const
    {
        if (!m_request.kernelTimes)
            return nullptr;
        std::string why;
        KernelTimes* const times = m_device.device->timeKernels(&why);
        if (!times)
            throw sim::Error("--kernel-times: " + why +
                             "; nearest: leave it out, spans tell how long each operation's kernels take together");
        return times;
    }
    /// Of the emulated device; else null.
    std::unique_ptr<emulated::Machine> makeMachine() const
    {
        if (m_scenario.live.device != "emulated")
            return nullptr;
        prepareForGpus();
        auto machine = std::make_unique<emulated::Machine>(
            emulated::MachineOptions{.orderSeed = m_request.orderSeed, .repeat = alone() ? m_request.repeat : ""});
        if (m_store)
            machine->connect(std::make_shared<emulated::Wire>(makeTcpTransport(*m_store)));
        return machine;
    }

    DeviceChoice chooseHere()
    {
        const DType type = activationType(m_scenario);
        if (m_machine)
            return {.device = emulated::makeEmulatedDevice(0, type),
                    .why = "order " + std::to_string(m_request.orderSeed) + ", slow, for proofs"};
        return chooseDevice(m_scenario.live.device, type, &m_pool, m_environment.localProcess);
    }

    int workers() const
    {
        if (m_machine)
            return 1; // one thread, so that a seed gives one order
        return m_request.workers > 0 ? m_request.workers : std::max(1, processors().usable / m_environment.localProcesses);
    }

    std::unique_ptr<Communicator> makeCommunicator(int world)
    {
        if (!m_device.device->info().runsBeside)
            return makeProcessCommunicator(m_pool, m_environment, world, m_store.get());
        if (alone())
            return m_machine ? emulated::makeCommunicatorOnMachine(m_pool, nullptr, 0) : makeLocalGpuCommunicator(m_pool);
        std::vector<int> processOf = processesOfRanks(m_environment.processes, world);
        if (m_machine)
            return emulated::makeCommunicatorOnMachine(m_pool, m_store.get(), 0, std::move(processOf));
        return makeNcclCommunicator(m_pool, *m_store, m_device.gpu, std::move(processOf));
    }

    Verdict afterStep(const StepReport& step)
    {
        const int last = m_scenario.live.steps;
        m_report.losses.push_back(step.result.loss);
        m_report.gradientNorms.push_back(step.result.gradientNorm);
        m_report.stepSeconds.push_back(step.seconds);
        const std::int64_t endNs = nowNs();
        m_stream->collector().stepDone({.step = step.step,
                                        .loss = step.result.loss,
                                        .gradientNorm = step.result.gradientNorm,
                                        .tokensPerSecond = step.tokensPerSecond,
                                        .startNs = endNs - static_cast<std::int64_t>(step.seconds * 1e9),
                                        .endNs = endNs});
        if (first() && !m_request.quiet) {
            char line[160];
            std::snprintf(line, sizeof line, "step %d/%d  loss %.4f  gradient norm %.4f  %.1f ms  %.0f tokens/s", step.step, last,
                          step.result.loss, step.result.gradientNorm, step.seconds * 1e3, step.tokensPerSecond);
            sayLine(line);
        }
        m_stream->compareClocks();
        // Several processes must stop after the same step: they agree on it in the next one's sums.
        if (m_control.stopped())
            m_run->requestStop();
        const bool stops = step.result.stop || (alone() && m_control.stopped());
        const bool due = m_request.checkpointEvery > 0 && step.step % m_request.checkpointEvery == 0;
        if (!m_request.checkpoint.empty() && (due || stops || step.step == last || m_control.takeCheckpoint()))
            saveCheckpoint(step.step);
        if (m_control.isPaused() && !stops) {
            m_stream->collector().setStatus(RunStatus::paused);
            m_control.waitWhilePaused();
            m_stream->collector().setStatus(RunStatus::running);
        }
        m_report.stopped = stops && step.step < last;
        return stops ? Verdict::stop : Verdict::goOn;
    }

    ExchangeTexts exchange()
    {
        if (!m_store)
            return exchangeWithNobody;
        return [this](const std::string& text) { return exchangeTexts(text); };
    }

    std::vector<std::string> exchangeTexts(const std::string& text)
    {
        const auto keyOf = [](int process) { return "exchange/" + std::to_string(process); };
        m_store->set(keyOf(m_environment.process), text);
        m_store->barrier("exchange given");
        std::vector<std::string> texts;
        texts.reserve(static_cast<std::size_t>(m_environment.processes));
        for (int process = 0; process < m_environment.processes; ++process)
            texts.push_back(m_store->get(keyOf(process)));
        m_store->barrier("exchange taken"); // then the keys may be used again
        return texts;
    }

    void saveCheckpoint(int step)
    {
        const auto path = writeCheckpoint(m_request.checkpoint,
                                          {.step = step,
                                           .scenarioJson = m_request.scenarioJson,
                                           .seed = m_scenario.live.seed,
                                           .data = m_data,
                                           .weights = m_origin,
                                           .gradients = m_request.gradients},
                                          m_run->ranks(), m_environment.process, exchange());
        if (first() && !m_request.quiet)
            sayLine("checkpoint " + path.string());
    }

    void saveWeights()
    {
        huggingface::writeWeights(m_request.saveWeights, m_scenario, m_run->ranks(), m_environment.process, exchange(), m_config);
        if (first() && !m_request.quiet)
            sayLine("weights " + m_request.saveWeights);
    }

    /// Over all processes: exact sums of theirs.
    double weightsNorm()
    {
        std::array<std::int64_t, kExactSumWords> words = m_run->squaresOfWeights();
        if (!m_store)
            return std::sqrt(exactSumValue(words));
        for (std::size_t i = 0; i < words.size(); ++i)
            if (words[i] != 0)
                m_store->add("weights/" + std::to_string(i), words[i]);
        m_store->barrier("weights");
        for (std::size_t i = 0; i < words.size() && first(); ++i)
            words[i] = m_store->add("weights/" + std::to_string(i), 0);
        return std::sqrt(exactSumValue(words));
    }

    void awaitLastSpans()
    {
        if (!m_stream->finish())
            sayLine("some processes' last spans did not arrive; the trace lacks them");
        if (m_store)
            m_store->barrier("last spans"); // until then each shows its own
    }

    /// Of the first process: what is known when no step is to come.
    void sumUp()
    {
        m_stream->collector().collect();
        const RunHistory history = m_stream->collector().history();
        m_report.spansRecorded = history.state.spansRecorded;
        m_report.spansDropped = history.state.spansDropped;
        for (Rank* rank : m_run->ranks()) {
            m_report.peakBytes.push_back(rank->context().memory.peak());
            m_report.reservedBytes.push_back(rank->context().memory.peakReserved());
        }
        m_report.peakResidentBytes = peakResidentBytes();
        if (m_report.gpuNeededBytes && m_report.failed.empty())    // a GPU that failed answers nothing
            if (const auto gpuFree = m_device.device->freeBytes()) // blocks are kept till the end
                m_report.gpuTakenBytes = m_gpuFreeBytes - *gpuFree;
        if (m_report.losses.empty())
            return;
        // The first step warms caches.
        const std::size_t warm = m_report.stepSeconds.size() > 1 ? 1 : 0;
        double seconds = 0;
        for (const double step : std::span(m_report.stepSeconds).subspan(warm))
            seconds += step;
        const double tokens = static_cast<double>(m_scenario.training.globalBatchSize) * m_scenario.training.sequenceLength;
        m_report.tokensPerSecond = tokens * static_cast<double>(m_report.stepSeconds.size() - warm) / seconds;
        const int lastStep = m_firstStep + static_cast<int>(m_report.losses.size()) - 1;
        if (m_report.spansDropped == 0)
            try {
                m_report.asIfParallelSeconds = static_cast<double>(asIfParallel(history, lastStep).stepNs) * 1e-9;
            } catch (const StepInPart&) { // spans that did not arrive: how long it takes in parallel is not known
            }
    }

    const TrainingRequest& m_request;
    const TellReport& m_tell;
    const sim::Scenario& m_scenario;
    const LaunchEnvironment m_environment;
    const std::unique_ptr<Store> m_store;               ///< between several processes
    const std::unique_ptr<emulated::Machine> m_machine; ///< where the device is one of its
    WorkerPool m_pool;
    const DeviceChoice m_device;
    std::optional<FolderClaim> m_claim, m_claimOfWeights; ///< of the folders that it writes to; the first process's
    nlohmann::ordered_json m_config;                      ///< of the model that it began with; null: of none
    std::optional<WeightsOrigin> m_origin;                ///< of its weights, where that is known
    std::optional<FileMark> m_data;                       ///< where checkpoints are written, by the first process
    Control m_control;
    RankRange m_ranks;
    int m_firstStep = 1;
    std::unique_ptr<Communicator> m_communicator;
    std::unique_ptr<Run> m_run;
    std::unique_ptr<TrainingStream> m_stream;
    TrainingReport m_report;
    std::int64_t m_gpuFreeBytes = 0; ///< before the ranks took any
    std::shared_ptr<void> m_nudge;   ///< goes first
};

} // namespace

TrainingReport train(const TrainingRequest& request, const TellReport& tell)
{
    return Training(request, tell).train();
}

} // namespace live::cli
