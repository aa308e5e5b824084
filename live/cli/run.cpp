#include "live/cli/command.h"
#include "live/cli/own_processes.h"
#include "live/cli/training.h"
#include "live/cli/writable.h"
#include "live/comm/gpu_modules.h"
#include "live/comm/launch.h"
#include "live/emulated/emulated_run.h"
#include "live/huggingface/folder.h"
#include "live/kernels/modules.h"
#include "live/runtime/check_serial.h"
#include "live/runtime/stream_need.h"
#include "live/tasks/worker_pool.h"
#include "sim/cli/options.h"
#include "sim/error.h"
#include "sim/scenario/files.h"
#include "sim/text/quoted.h"
#include "sim/trace/export.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <unistd.h>

namespace live::cli {
namespace {

struct RunArguments {
    ScenarioArguments scenario;
    TrainingRequest request;
    std::string device, report;
    int steps = 0;
    int gpus = 0; ///< 0: not said
    bool nvls = false;
    double deadlineSeconds = 30;
    bool checkSerial = false, json = false;
    const CLI::Option* order = nullptr; ///< --order-seed
};

/// What --check-serial has found, told as it comes or in one document at the end.
class Verdicts {
public:
    Verdicts(std::string dtype, bool asJson) : m_dtype(std::move(dtype)), m_asJson(asJson) {}

    void add(const std::string& where, const SerialCheck& check)
    {
        m_isGood = m_isGood && check.isRounding(m_dtype);
        if (!m_asJson) {
            std::cout << where << (where.empty() ? "" : "\n") << check.text() << std::flush;
            return;
        }
        nlohmann::ordered_json told = {{"where", where},
                                       {"steps", check.steps},
                                       {"identical", check.identical},
                                       {"is_rounding", check.isRounding(m_dtype)},
                                       {"loss", check.loss},
                                       {"gradient_norm", check.gradientNorm},
                                       {"gradient_norm_step_1", check.firstStepNorm}};
        if (check.hasTensors) {
            told["gradients_step_1"] = check.gradients.relative;
            told["gradients_step_1_worst"] = check.gradients.worst;
            told["weights"] = check.values.relative;
            told["weights_worst"] = check.values.worst;
            told["updates"] = check.updates.relative;
            told["updates_worst"] = check.updates.worst;
        }
        m_list.push_back(std::move(told));
    }

    void close() const
    {
        if (m_asJson)
            std::cout << nlohmann::ordered_json{{"dtype", m_dtype}, {"good", m_isGood}, {"checks", m_list}}.dump(2) << "\n"
                      << std::flush;
        if (!m_isGood)
            throw sim::Error("the layout does not train as one rank does: rounding in " + m_dtype + " does not explain this");
    }

private:
    std::string m_dtype;
    bool m_asJson, m_isGood = true;
    nlohmann::ordered_json m_list = nlohmann::ordered_json::array();
};

/// On which GPUs of the emulated machine layouts are proved.
std::vector<emulated::EmulationOptions> placementsOf(int gpus, int world)
{
    using emulated::Placement;
    if (gpus == 0)
        return {{.placement = Placement::oneGpu}, {.placement = Placement::gpuARank}};
    return {{.placement = gpus == 1       ? Placement::oneGpu
                          : gpus == world ? Placement::gpuARank
                                          : Placement::someGpus,
             .gpus = gpus}};
}

/// How many processes of one GPU each this command is to start; 1: it trains itself.
int processesToStart(const RunArguments& arguments)
{
    const sim::Scenario& scenario = arguments.request.scenario;
    const std::string& device = scenario.live.device;
    const int world = scenario.layout.worldSize(), wanted = arguments.gpus;
    const LaunchEnvironment launch = readLaunchEnvironment(environmentVariables());
    const std::string asked = "--gpus " + std::to_string(wanted);
    if (wanted > world)
        throw sim::Error(asked + ": the layout has " + std::to_string(world) + (world == 1 ? " rank" : " ranks") +
                         ", and each GPU holds one or more; at most " + std::to_string(world));
    if (launch.processes > 1) { // a launcher has started them, or we have
        if (wanted > 0 && wanted != launch.localProcesses)
            throw sim::Error(asked + ": the launcher has started " + std::to_string(launch.localProcesses) +
                             " processes on this machine, of a GPU each; nearest: leave --gpus out");
        return 1;
    }
    if (device == "emulated")
        return std::max(1, wanted);
    std::string why;
    const bool mayBeGpu = device == "cuda" || (device == "auto" && scenario.live.dtype != "fp64");
    const int found = mayBeGpu ? countGpus(&why) : 0;
    if (wanted > 0 && found == 0)
        throw sim::Error(asked + ": " +
                         (mayBeGpu           ? "there is no CUDA device: " + why
                          : device == "auto" ? "fp64 is computed on the CPU"
                                             : "live.device is " + device));
    if (wanted > found)
        throw sim::Error(asked + ": this machine has " + std::to_string(found));
    const int processes = std::min(world, wanted > 0 ? wanted : found);
    if (processes <= 1)
        return 1;
    const std::string problem = ncclProblem();
    if (problem.empty())
        return processes;
    if (wanted > 1)
        throw sim::Error(asked + ": several GPUs need NCCL: " + problem);
    std::cerr << "one of " << found << " GPUs is used: several need NCCL: " << problem << "\n";
    return 1;
}

/// --nvls lets NCCL do what it then must take part in. processes: that this command starts.
void checkSumsInSwitches(const sim::Scenario& scenario, int processes)
{
    const std::string& device = scenario.live.device;
    const auto refuse = [](const std::string& why) {
        throw sim::Error("--nvls lets NCCL sum in the switches between GPUs, but " + why + "; nearest: leave --nvls out");
    };
    std::string why;
    if (device == "cpu" || device == "emulated")
        refuse("live.device is " + device);
    if (scenario.live.dtype == "fp64")
        refuse("fp64 is computed on the CPU");
    if (countGpus(&why) == 0)
        refuse("there is no CUDA device: " + why);
    if (std::max(processes, readLaunchEnvironment(environmentVariables()).processes) == 1)
        refuse("this run is on one GPU");
}

TrainedSteps trainOnGpu(const sim::Scenario& job, const TrainOptions& options)
{
    WorkerPool pool(options.workers);
    const DeviceChoice choice = chooseDevice("cuda", DType::f32, &pool);
    const std::unique_ptr<Communicator> communicator = makeLocalGpuCommunicator(pool);
    pool.setPoller([&] { return communicator->poll(); });
    return trainSteps(job, options, pool, *choice.device, *communicator);
}

/// Types that the device does not compute in, or that cannot be compared with one rank's on the CPU.
std::vector<sim::Problem> problemsOfType(const sim::LiveSettings& live, bool checksSerial)
{
    const auto problem = [&](const std::string& what) {
        return std::vector{sim::Problem{.pointer = "/live/dtype", .message = what + "; nearest: --set live.dtype=fp32"}};
    };
    if (checksSerial && live.device == "cuda" && live.dtype != "fp32")
        return problem("layouts on a GPU are compared in fp32; this is " + live.dtype);
    if (checksSerial && live.dtype == "bf16")
        return problem("layouts are compared on the CPU, which computes in fp32 or fp64, not in bf16");
    if ((live.device == "cpu" || live.device == "emulated") && live.dtype == "bf16")
        return problem("the CPU computes in fp32 or fp64, not in bf16");
    return {};
}

/// What is trained to be compared: a few steps.
sim::Scenario jobToCheck(const sim::Scenario& scenario)
{
    constexpr int kSteps = 3;
    sim::Scenario job = scenario;
    job.live.steps = std::min(job.live.steps, kSteps);
    return job;
}

void check(const sim::Scenario& scenario, const TrainingRequest& request, int gpus, bool asJson)
{
    const sim::Scenario job = jobToCheck(scenario);
    // AdamW divides by gradients that are 0 but for rounding (key biases'); a larger epsilon keeps what comes of it small.
    const TrainOptions options{.steps = job.live.steps, .workers = std::max(1, request.workers), .training = {.epsilon = 1e-5}};
    Verdicts verdicts(job.live.dtype, asJson);
    if (job.live.device == "cpu" || job.live.device == "auto") {
        verdicts.add("", checkSerial(job, options));
        return verdicts.close();
    }
    if (job.live.device == "cuda") {
        const TrainedSteps serial = trainSerially(job, options);
        verdicts.add("all ranks on one GPU, beside one rank on the CPU", compareSteps(serial, trainOnGpu(job, options)));
        return verdicts.close();
    }
    const int world = scenario.layout.worldSize();
    const std::vector<emulated::EmulationOptions> placements = placementsOf(gpus, world);
    const DType type = activationType(job);
    const CommPlan plan = planRun(job, options.training, type, type == DType::f64 ? DType::f64 : DType::f32);
    for (const emulated::EmulationOptions& where : placements) // all, before anything is trained
        if (const std::string why = whyTooManyStreams(plan, emulated::gpusOf(where, world)); !why.empty())
            throw sim::Error(why);
    const TrainedSteps serial = trainSerially(job, options);
    for (emulated::EmulationOptions where : placements) {
        where.machine = {.orderSeed = request.orderSeed, .repeat = request.repeat};
        where.train = options;
        verdicts.add(emulated::placementName(where) + ", order " + std::to_string(request.orderSeed),
                     compareSteps(serial, emulated::trainOnMachine(job, where)));
    }
    verdicts.close();
}

/// This process is one of several: they train as they always do, and the first then trains one rank on the CPU. Weights and
/// gradients stay where they are; losses and norms are of all of them.
void checkOverProcesses(TrainingRequest& request, bool asJson)
{
    request.quiet = asJson;
    request.scenario = jobToCheck(request.scenario);
    request.scenarioJson = sim::resolvedText(request.scenario);
    const TrainingReport report = train(request);
    if (!report.isFirstProcess)
        return;
    if (report.losses.size() != static_cast<std::size_t>(request.scenario.live.steps))
        throw sim::Error("the run ended after " + std::to_string(report.losses.size()) + " of " +
                         std::to_string(request.scenario.live.steps) + " steps: nothing is proved");
    const TrainedSteps serial = trainSteps(serialTwin(request.scenario), {.steps = request.scenario.live.steps,
                                                                          .workers = std::max(1, request.workers),
                                                                          .training = {.separateTiedGradients = true}});
    TrainedSteps expected, trained;
    std::tie(expected.losses, expected.gradientNorms) = std::tie(serial.losses, serial.gradientNorms);
    std::tie(trained.losses, trained.gradientNorms) = std::tie(report.losses, report.gradientNorms);
    Verdicts verdicts(request.scenario.live.dtype, asJson);
    verdicts.add("", compareSteps(expected, trained));
    verdicts.close();
}

/// For a shell.
std::string quoted(const std::string& word)
{
    if (!word.empty() && word.find_first_of(" \t\"'`$&|;<>()[]{}*?#~\\") == std::string::npos)
        return word;
    std::string text = "'";
    for (const char c : word)
        text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

/// The command that trains the same on the emulated machine in the same order.
std::string repeatOf(const RunArguments& arguments)
{
    std::string command = "rankscope-live run " + quoted(arguments.scenario.file) + " --device emulated --order-seed " +
                          std::to_string(arguments.request.orderSeed);
    for (const std::string& override : arguments.scenario.overrides)
        command += " --set " + quoted(override);
    if (arguments.gpus > 0)
        command += " --gpus " + std::to_string(arguments.gpus);
    if (arguments.steps > 0)
        command += " --steps " + std::to_string(arguments.steps);
    return command + (arguments.checkSerial ? " --check-serial" : "");
}

/// They need not be there yet.
void checkOutputsDiffer(const std::string& report, const std::string& trace)
{
    if (report.empty() || trace.empty())
        return;
    std::error_code error;
    const auto place = [&](const std::string& file) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
    };
    if (std::filesystem::equivalent(report, trace, error) || (place(report) == place(trace) && !place(trace).empty()))
        throw sim::cli::UsageError("--report and --trace would both be written to " + sim::shownPlace(trace) +
                                   ": name two files");
}

void run(RunArguments& arguments)
{
    TrainingRequest& request = arguments.request;
    checkOutputsDiffer(arguments.report, request.trace);
    request.scenario = arguments.scenario.read({arguments.report, request.trace});
    if (!arguments.device.empty())
        request.scenario.live.device = arguments.device;
    if (arguments.steps > 0)
        request.scenario.live.steps = arguments.steps;
    if (*arguments.order && request.scenario.live.device != "emulated")
        throw sim::Error("--order-seed is for --device emulated: on " + request.scenario.live.device +
                         " the order is what it happens to be");
    checkCanBeTrained(request.scenario, arguments.scenario.file, problemsOfType(request.scenario.live, arguments.checkSerial));
    request.repeat = repeatOf(arguments);
    request.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.deadlineSeconds * 1000));
    if (arguments.nvls && arguments.checkSerial)
        throw sim::cli::UsageError(
            "--nvls with --check-serial: sums in switches are not held against one rank; nearest: leave one of them out");
    if (arguments.nvls)
        setenv("NCCL_NVLS_ENABLE", "1", 1); // NOLINT(concurrency-mt-unsafe): before there are threads
    if (request.kernelTimes && arguments.checkSerial)
        throw sim::cli::UsageError(
            "--kernel-times with --check-serial: layouts are compared, and nothing is recorded; nearest: leave one of them out");
    const std::string& device = request.scenario.live.device;
    const bool isOneOfSeveral = readLaunchEnvironment(environmentVariables()).processes > 1;
    if (isOneOfSeveral && device != "cpu")
        prepareForPeers();
    const bool onSeveralGpus = device == "cuda" && arguments.gpus > 1;
    const bool checksHere = arguments.checkSerial && !isOneOfSeveral && !onSeveralGpus;
    if (checksHere && device != "emulated" && arguments.gpus > 1)
        throw sim::Error("--gpus " + std::to_string(arguments.gpus) +
                         " with --check-serial is for --device cuda and emulated: on others one process trains, on the CPU");
    const int processes = checksHere && device != "emulated" ? 1 : processesToStart(arguments);
    if (checksHere)
        return check(request.scenario, request, arguments.gpus, arguments.json);
    if (arguments.checkSerial)
        return processes > 1 ? runInProcesses(processes) : checkOverProcesses(request, arguments.json);
    if (arguments.nvls)
        checkSumsInSwitches(request.scenario, processes);
    checkWritable(arguments.report, "--report");
    checkWritable(request.trace, "--trace");
    checkCanBeFolder(request.checkpoint, "--checkpoint");
    checkCanBeFolder(request.saveWeights, "--save-weights");
    if (!request.saveWeights.empty())
        huggingface::checkCanBeWritten(request.scenario.model);
    if (processes > 1)
        return runInProcesses(processes);
    request.scenarioJson = sim::resolvedText(request.scenario);
    request.quiet = arguments.json;
    train(request, [&](const TrainingReport& report) {
        const std::string name = request.scenario.name.empty() ? arguments.scenario.file : request.scenario.name;
        const std::string json = reportJson(name, report);
        if (arguments.json)
            std::cout << json << std::flush;
        if (!arguments.report.empty())
            sim::replaceFile(arguments.report, json);
    });
}

} // namespace

void addRun(CLI::App& app)
{
    auto arguments = std::make_shared<RunArguments>();
    CLI::App* command = app.add_subcommand("run", "Train the scenario's job");
    arguments->scenario.addTo(*command);
    TrainingRequest& request = arguments->request;
    command->add_option("--device", arguments->device, "Where (default: the file's)")
        ->check(sim::cli::oneOf({"auto", "cpu", "cuda", "emulated"}, sim::cli::Words::listed));
    arguments->order =
        command->add_option("--order-seed", request.orderSeed, "On the emulated device: which of the orders that it may take")
            ->check(sim::cli::wholeNumber(0, std::numeric_limits<std::uint64_t>::max()))
            ->capture_default_str();
    command
        ->add_option("--gpus", arguments->gpus,
                     "GPUs of this machine that are used, with one rank each or several (default: all; of the emulated device 1)")
        ->check(sim::cli::wholeNumber(1, 1024));
    command->add_flag("--nvls", arguments->nvls, "Let NCCL sum in the NVLink switches (NVLink SHARP), where there are such");
    command->add_option("--steps", arguments->steps, "Optimizer steps (default: the file's)")
        ->check(sim::cli::wholeNumber(1, 1'000'000'000));
    CLI::Option* report = command->add_option("--report", arguments->report, "Write losses, norms and times as JSON")
                              ->type_name("OUT.json")
                              ->check(sim::cli::notEmpty());
    CLI::Option* trace = command->add_option("--trace", request.trace, "Write the last steps' timeline (.pftrace, .json)")
                             ->type_name("OUT")
                             ->check(sim::cli::notEmpty())
                             ->check(sim::traceNameProblem);
    command->add_flag("--kernel-times", request.kernelTimes,
                      "On GPUs: time each kernel by itself with CUPTI, as spans of their own in what is recorded");
    CLI::Option* listen =
        command->add_option("--listen", request.listen, "Let viewers attach: tcp://127.0.0.1:PORT (0: a free one), ipc://PATH")
            ->type_name("ENDPOINT")
            ->check(sim::cli::notEmpty())
            ->check(anEndpoint());
    CLI::Option* key = command->add_option("--key", request.key, "The run's key file, to listen beyond this machine")
                           ->check(sim::cli::notEmpty());
    CLI::Option* allowed = command->add_option("--allow", request.allowed, "File of the viewers' public keys, one a line")
                               ->check(sim::cli::notEmpty());
    key->needs(allowed);
    allowed->needs(key);
    CLI::Option* checkpoint =
        command->add_option("--checkpoint", request.checkpoint, "Write checkpoints there: at the end, and on request")
            ->type_name("FOLDER")
            ->check(sim::cli::notEmpty());
    command->add_option("--every", request.checkpointEvery, "And after every so many steps")
        ->check(sim::cli::wholeNumber(1, 1'000'000'000))
        ->needs(checkpoint);
    command->add_flag("--gradients", request.gradients, "Put the last step's gradients into checkpoints, to be compared")
        ->needs(checkpoint);
    CLI::Option* resume =
        command->add_option("--resume", request.resume, "Go on from a checkpoint, of any layout of the same model")
            ->type_name("FOLDER")
            ->check(sim::cli::notEmpty());
    CLI::Option* weights =
        command->add_option("--weights", request.weights, "Begin with the weights of a Hugging Face model of the same shape")
            ->type_name("FOLDER")
            ->check(sim::cli::notEmpty())
            ->excludes(resume);
    CLI::Option* saveWeights =
        command->add_option("--save-weights", request.saveWeights, "At the end write the weights as a Hugging Face model")
            ->type_name("FOLDER")
            ->check(sim::cli::notEmpty());
    command->add_option("--workers", request.workers, "Threads that run ranks (default: one a core)")
        ->check(sim::cli::wholeNumber(1, 4096));
    command
        ->add_option("--deadline", arguments->deadlineSeconds,
                     "Seconds without any progress after which ranks that wait count as hung")
        ->check(sim::cli::number(0.05, 1e6))
        ->capture_default_str();
    command
        ->add_flag(
            "--check-serial", arguments->checkSerial,
            "Train a few steps as laid out and on one rank, and say how far apart they are; nothing is recorded or written")
        ->excludes(report)
        ->excludes(trace)
        ->excludes(listen)
        ->excludes(checkpoint)
        ->excludes(resume)
        ->excludes(weights)
        ->excludes(saveWeights);
    command->add_flag("--json", arguments->json, "Print the report as JSON and nothing else");
    command->callback([arguments] { withFileNamed(arguments->scenario.file, [&] { run(*arguments); }); });
}

} // namespace live::cli
