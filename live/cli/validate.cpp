#include "live/cli/command.h"
#include "live/cli/writable.h"
#include "live/profile/calibrate.h"
#include "live/profile/observe.h"
#include "live/profile/rehearse.h"
#include "live/runtime/processors.h"
#include "live/stream/as_if_parallel.h"
#include "live/stream/done_otherwise.h"
#include "sim/cli/options.h"
#include "sim/cli/table.h"
#include "sim/scenario/files.h"
#include "sim/scenario/hardware_profile.h"
#include "sim/scenario/words.h"
#include "sim/simulate/simulation.h"
#include "sim/text/quoted.h"
#include "sim/trace/export.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace live::cli {
namespace {

struct ValidateArguments {
    std::vector<std::string> files, overrides, calibrateWith;
    std::string profile, out, traces, device = ObserveOptions().device;
    int steps = 3, rounds = 3, workers = 0;
    bool json = false, rehearse = false;
};

struct Row {
    std::string layout;
    double predicted = 0;
    double asIfParallel = 0; ///< with every kernel and transfer at its median
    double disturbed = 0;    ///< the median of the steps as they were
    double wall = 0;
    double predictedKernels = 0, kernels = 0; ///< mean over ranks
    double imbalance = 1;                     ///< of experts, as predicted
    double measured = 0;                      ///< what the prediction is held against
    double error() const { return predicted / measured - 1; }
};

std::string nameOf(const std::string& file)
{
    return std::filesystem::path(file).stem().string();
}

/// Traces are named as the files are: one would take the other's place.
void checkNamesDiffer(const std::vector<std::string>& files)
{
    std::map<std::string, std::string> fileOf;
    for (const std::string& file : files)
        if (const auto [place, isNew] = fileOf.try_emplace(nameOf(file), file); !isNew)
            throw sim::cli::UsageError("--traces: " + sim::shownPlace(place->second) + " and " + sim::shownPlace(file) +
                                       " would both be written as " + sim::quotedText(nameOf(file) + ".predicted.json") +
                                       "; one after the other, each into a folder of its own");
}

class Validation {
public:
    explicit Validation(const ValidateArguments& arguments)
        : m_arguments(arguments), m_catalogue(sim::Catalogue::load(sim::Catalogue::findAssets()))
    {
        checkWritable(arguments.out, "--out");
        if (!arguments.profile.empty()) {
            constexpr std::size_t kMostBytes = 4U << 20U;
            m_profile =
                sim::readHardwareProfile(sim::readFile(arguments.profile, kMostBytes), arguments.profile, m_catalogue.schema());
            m_hasProfile = true;
        }
    }

    /// In rounds over all files, as a machine that others use too is faster at one minute than at the next.
    void run()
    {
        std::vector<ObservedRun> learned, rehearsed, observed;
        const ObserveOptions options{.steps = m_arguments.steps, .workers = workers(), .device = m_arguments.device};
        const auto keep = [](std::vector<ObservedRun>& runs, std::size_t i, ObservedRun&& run) {
            if (i < runs.size())
                runs[i].append(run);
            else
                runs.push_back(std::move(run));
        };
        for (int round = 0; round < m_arguments.rounds; ++round) {
            for (std::size_t i = 0; i < m_arguments.calibrateWith.size(); ++i)
                withFileNamed(m_arguments.calibrateWith[i],
                              [&] { keep(learned, i, observeRun(read(m_arguments.calibrateWith[i]), options)); });
            for (std::size_t i = 0; i < m_arguments.files.size(); ++i)
                withFileNamed(m_arguments.files[i], [&] {
                    const sim::Scenario scenario = read(m_arguments.files[i]);
                    if (!m_arguments.rehearse)
                        return keep(observed, i, observeRun(scenario, options));
                    Rehearsal both = rehearse(scenario, options);
                    keep(rehearsed, i, std::move(both.alone));
                    keep(observed, i, std::move(both.whole));
                });
        }
        if (!learned.empty()) {
            for (const ObservedRun& run : learned)
                m_calibration.add(run);
            m_profile = m_calibration.profile(m_profile);
            m_hasProfile = true;
        }
        if (!m_arguments.out.empty())
            sim::replaceFile(m_arguments.out,
                             sim::hardwareProfileText(std::filesystem::path(m_arguments.out).stem().string(), m_profile));
        std::vector<Row> rows;
        for (std::size_t i = 0; i < observed.size(); ++i)
            rows.push_back(compare(nameOf(m_arguments.files[i]), observed[i], m_arguments.rehearse ? &rehearsed[i] : nullptr));
        m_arguments.json ? printJson(rows) : printTable(rows);
    }

private:
    Row compare(const std::string& layout, const ObservedRun& run, const ObservedRun* rehearsal) const
    {
        sim::Scenario scenario = run.scenario;
        auto routed = m_calibration.imbalance(scenario);
        if (rehearsal != nullptr) {
            Calibration own;
            own.add(*rehearsal);
            scenario.cluster.efficiency.profile = own.profile(m_profile);
            routed = routed ? routed : own.imbalance(scenario);
        } else if (m_hasProfile) {
            scenario.cluster.efficiency.profile = m_profile;
        }
        if (routed && scenario.training.moe.imbalance == 1) // else it is the file's
            scenario.training.moe.imbalance = *routed;
        const auto simulation = sim::simulate(scenario);
        const sim::Metrics metrics = simulation->metrics();
        double busy = 0;
        for (const sim::PipelineRankMetrics& rank : metrics.perPipelineRank)
            busy += rank.busySeconds / static_cast<double>(metrics.perPipelineRank.size());
        const std::vector<std::vector<RankSpan>> steps = run.undisturbedSteps();
        const double asIfParallel = median(asIfParallelSeconds(steps, run)), wall = median(run.wallSeconds);
        if (!m_arguments.traces.empty()) {
            const std::filesystem::path folder = m_arguments.traces;
            sim::saveTrace(simulation->trace(sim::TraceDetail::kernels), folder / (layout + ".predicted.json"));
            sim::saveTrace(live::asIfParallel(steps.back(), run.worldSize, {}, run.kinds).trace,
                           folder / (layout + ".measured.json"));
        }
        return {.layout = layout,
                .predicted = metrics.stepTimeSeconds,
                .asIfParallel = asIfParallel,
                .disturbed = median(asIfParallelSeconds(run.steps, run)),
                .wall = wall,
                .predictedKernels = busy,
                .kernels = median(kernelSeconds(steps, run)),
                .imbalance = scenario.training.moe.imbalance,
                .measured = run.onGpu ? wall : asIfParallel}; // a rank with a GPU to itself: the clock is right
    }

    sim::Scenario read(const std::string& file) const
    {
        sim::Scenario scenario = readScenario(file, m_catalogue, m_arguments.overrides, {m_arguments.out});
        checkCanBeTrained(scenario, file);
        std::vector<sim::Problem> others = doneOtherwise(scenario);
        nameFile(others, file);
        for (const sim::Problem& other : others)
            std::cerr << sim::cli::linesForAPerson(other.text());
        if (scenario.live.dtype == "fp64") {
            std::cerr << sim::shownPlace(file) << ": live.dtype is fp64, which predictions do not know; trained in fp32 here\n";
            scenario.live.dtype = "fp32";
        }
        const std::string trained = m_arguments.device == "cpu" ? "fp32" : scenario.live.dtype; // not double is single there
        const std::string predicted(sim::toWord(sim::kPrecisionWords, scenario.training.precision));
        if (predicted != trained)
            throw sim::Error(file + ": training.precision is " + predicted + ", but " +
                             (m_arguments.device == "cpu" ? "the CPU trains in fp32" : "live.dtype is " + trained) +
                             "; add --set /training/precision=" + trained);
        return scenario;
    }

    int workers() const
    {
        if (m_arguments.workers > 0)
            return m_arguments.workers;
        return m_arguments.device == "cpu" ? ObserveOptions().workers : processors().usable;
    }

    static void printTable(const std::vector<Row>& rows)
    {
        sim::cli::Table table(
            {"layout", "predicted", "as if parallel", "error", "disturbed", "kernels: predicted", "measured", "wall clock"});
        std::vector<double> errors;
        for (const Row& row : rows) {
            table.add({row.layout, sim::cli::seconds(row.predicted), sim::cli::seconds(row.asIfParallel),
                       sim::cli::percent(row.error()), sim::cli::seconds(row.disturbed), sim::cli::seconds(row.predictedKernels),
                       sim::cli::seconds(row.kernels), sim::cli::seconds(row.wall)});
            errors.push_back(std::abs(row.error()));
        }
        table.print(std::cout);
        for (const Row& row : rows)
            if (row.imbalance != 1)
                std::cout << row.layout << ": predicted with " << sim::cli::percent(row.imbalance - 1)
                          << " more tokens than the mean on the busiest rank of experts (training.moe.imbalance)\n";
        if (rows.size() > 1)
            std::cout << "median error " << sim::cli::percent(median(errors)) << ", largest "
                      << sim::cli::percent(*std::max_element(errors.begin(), errors.end())) << "\n";
    }

    static void printJson(const std::vector<Row>& rows)
    {
        nlohmann::json list = nlohmann::json::array();
        for (const Row& row : rows)
            list.push_back({{"layout", row.layout},
                            {"predicted_s", row.predicted},
                            {"as_if_parallel_s", row.asIfParallel},
                            {"error", row.error()},
                            {"as_if_parallel_disturbed_s", row.disturbed},
                            {"predicted_kernels_s", row.predictedKernels},
                            {"kernels_s", row.kernels},
                            {"wall_s", row.wall},
                            {"imbalance", row.imbalance},
                            {"measured_s", row.measured}});
        std::cout << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n"; // names of files may be anything
    }

    const ValidateArguments& m_arguments;
    const sim::Catalogue m_catalogue;
    sim::HardwareProfile m_profile;
    Calibration m_calibration;
    bool m_hasProfile = false;
};

} // namespace

void addValidate(CLI::App& app)
{
    auto arguments = std::make_shared<ValidateArguments>();
    CLI::App* command = app.add_subcommand(
        "validate", "Train scenarios for some steps and lay their step times beside the simulator's predictions");
    command->add_option("FILE", arguments->files, "Scenario files")->type_name("")->required()->check(sim::cli::notEmpty());
    command
        ->add_option("--device", arguments->device,
                     "Where: on cpu, ranks take turns and the step is as if each had a device; a GPU takes one rank, and the "
                     "clock is right")
        ->check(sim::cli::oneOf({"cpu", "cuda"}, sim::cli::Words::listed))
        ->capture_default_str();
    command->add_option("--profile", arguments->profile, "Predict with this hardware profile")
        ->type_name("PROFILE.json")
        ->check(sim::cli::notEmpty());
    command->add_option("--calibrate-with", arguments->calibrateWith, "Train this scenario first and learn from it; repeatable")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->check(sim::cli::notEmpty());
    command->add_flag(
        "--rehearse", arguments->rehearse,
        "Before each is trained, run ranks of it by themselves, others made up (one a pipeline rank at least, eight where it "
        "has so many), and predict with their kernels and transfers");
    command->add_option("--out", arguments->out, "Write the profile that was learnt")
        ->type_name("PROFILE.json")
        ->check(sim::cli::notEmpty());
    command
        ->add_option(
            "--traces", arguments->traces,
            "For each file, write there what was predicted and what was measured, as if parallel, to be laid side by side")
        ->type_name("FOLDER")
        ->check(sim::cli::existingFolder());
    command->add_option("--steps", arguments->steps, "Steps of a round that count, after two that do not")
        ->check(sim::cli::wholeNumber(1, 1000))
        ->capture_default_str();
    command->add_option("--rounds", arguments->rounds, "Times that each file is trained")
        ->check(sim::cli::wholeNumber(1, 1000))
        ->capture_default_str();
    command
        ->add_option("--workers", arguments->workers, "Cores to use (default: on cpu one, which is the quietest; for a GPU all)")
        ->check(sim::cli::wholeNumber(1, 256));
    sim::cli::addOverrides(*command, arguments->overrides);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] {
        if (arguments->rehearse && arguments->device != "cpu")
            throw sim::cli::UsageError("--rehearse is for --device cpu");
        if (!arguments->traces.empty())
            checkNamesDiffer(arguments->files);
        Validation(*arguments).run();
    });
}

} // namespace live::cli
