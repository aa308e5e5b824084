#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/table.h"
#include "sim/simulate/purpose_name.h"

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/sensitivity.h"
#include "sim/analysis/step_times.h"
#include "sim/analysis/whole_run.h"
#include "sim/answers/answers.h"
#include "sim/memory_limit.h"
#include "sim/simulate/memory_cap.h"
#include "sim/text/rounded_parts.h"
#include "sim/trace/export.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace sim::cli {
namespace {

struct SimulateArguments : AnswerArguments {
    bool full = false, explain = false;
    int steps = 0;    ///< of which the times are told; 0: of none
    double price = 0; ///< of a GPU hour; 0: not told
    std::string trace, detail = "kernels";
};

/// "401.2 TFLOP/s a GPU"; of a GPU that does less than one, in its own unit.
std::string flopRateText(double tflops)
{
    constexpr double kTera = 1e12;
    return (tflops < 1 ? numberText(tflops * kTera, Unit::flopRate) : fixed(tflops, 1) + " TFLOP/s") + " a GPU";
}

/// "71.25 of 80 GiB"; "15.4 MiB of 2 GiB" of what would be a hundredth; "80.003 of 80 GiB" of what does not fit.
std::string memoryUse(double usedGib, double hasGib)
{
    if (usedGib > hasGib) {
        const int decimals = decimalsBeyond(usedGib, hasGib, 2);
        return fixed(usedGib, decimals) + " of " + fixed(hasGib, hasGib == std::round(hasGib) ? 0 : decimals) + " GiB";
    }
    return (usedGib < 1 ? gibText(static_cast<std::int64_t>(usedGib * kBytesPerGib)) + " of " : fixed(usedGib, 2) + " of ") +
           fixed(hasGib, hasGib == std::round(hasGib) ? 0 : 2) + " GiB";
}

std::string fullAttention(double utilisation)
{
    return percent(utilisation) + (utilisation > 1 ? ", which counts work that causal kernels leave out" : "");
}

/// "15.6 trillion tokens: …, at most 14.9 GWh of the GPUs, 53,200,000 at 2.5 a GPU hour"
std::string runText(const WholeRun& run, double price)
{
    const char* const how = run.mostEnergyKwh() ? "" : " (--set cluster.gpu.power_watts=W)";
    return run.text() + ", " + run.energyText() + how + (price > 0 ? ", " + run.priceText(price) : "");
}

/// What is told of the whole run: with a price also where the scenario does not say how many tokens it trains on.
std::optional<WholeRun> runToTell(const Simulation& simulation, double price)
{
    const auto said = wholeRun(simulation);
    return said || price <= 0 ? said : wholeRun(simulation, kTokensUnlessSaid);
}

/// "whole run": of the tokens that the scenario trains on, or of so many that it might.
const char* nameOfRun(const Scenario& scenario)
{
    return scenario.training.tokens > 0 ? "whole run" : "such a run";
}

void printSummary(const Simulation& simulation, double price)
{
    const Metrics& m = simulation.metrics();
    const Scenario& s = simulation.scenario();
    Table table({"step time", seconds(m.stepTimeSeconds)});
    table.add({"tokens a second", groupedRound(m.tokensPerSecond) + " (" + fixed(m.tokensPerSecondPerGpu, 1) + " a GPU)"});
    table.add({"MFU", percent(m.mfu) + (s.training.causal ? ", attention in full " + fullAttention(m.mfuFullAttention) : "") +
                          " (" + flopRateText(m.modelTflopsPerGpu) + ")"});
    if (s.training.recompute != Recompute::none)
        table.add({"HFU", percent(m.hfu) + " (" + flopRateText(m.hardwareTflopsPerGpu) + " with recomputation)"});
    const auto missed = missedCap(simulation);
    table.add({"peak memory",
               memoryUse(m.peakMemoryGib, s.cluster.gpu.memoryGib) + (!m.fits  ? ": does not fit"
                                                                      : missed ? ": does not fit its cap of " + missed->capText()
                                                                               : "")});
    if (s.training.offload.isOn())
        table.add({"host memory",
                   memoryUse(m.hostMemoryGib, s.cluster.host.memoryGib) + " a node" + (m.hostFits ? "" : ": does not fit")});
    table.add({"parameters", grouped(m.parameters)});
    if (const auto run = runToTell(simulation, price))
        table.add({nameOfRun(s), runText(*run, price) + (failuresOf(s) != nullptr ? " without failures" : "")});
    table.add(
        {"ranks", grouped(m.worldSize) + (simulation.classCount() < m.worldSize
                                              ? " in " + grouped(simulation.classCount()) +
                                                    (simulation.classCount() == 1 ? " class" : " classes") + " that behave alike"
                                              : "")});
    table.print(std::cout);
}

/// What is left of the step's numbers over a run that fails.
void printGoodput(const Simulation& simulation, const Goodput& goodput, double price)
{
    Table table({"with failures", ""});
    table.add({"goodput", percent(goodput.shares.useful) + (goodput.months ? ", " + goodput.monthsText() : "")});
    table.add({"of the time", goodput.sharesText()});
    table.add({"failures", goodput.failuresText()});
    table.add({"checkpoints", goodput.savesText()});
    table.add({"tokens a second", groupedRound(goodput.tokensPerSecond)});
    if (const auto run = runToTell(simulation, price)) {
        const WholeRun lasting = lastingRun(simulation, run->tokens);
        table.add(
            {nameOfRun(simulation.scenario()), std::isfinite(lasting.days) ? runText(lasting, price) : "practically never ends"});
    }
    table.print(std::cout);
}

/// Where it stands among the parts of a step that are told here; findings and formulas tell what is waited for.
constexpr std::size_t kComputing = 0;

/// Where the mean rank's step goes, as shares and bars.
void printShares(const Simulation& simulation)
{
    constexpr double kBarCharacters = 40;
    const Metrics& m = simulation.metrics();
    double busySeconds = 0;
    for (const PipelineRankMetrics& rank : m.perPipelineRank)
        busySeconds += rank.busySeconds / static_cast<double>(m.perPipelineRank.size());
    std::vector<std::string> names;
    std::vector<double> shares;
    const auto add = [&](const std::string& name, double share) {
        names.push_back(name);
        shares.push_back(share);
    };
    add("computing", busySeconds / m.stepTimeSeconds);
    for (const Dimension dimension : kDimensions)
        if (simulation.mesh().groupSize(kDimensionFacts[dimension].group) > 1 || m.exposedComm[dimension] > 0)
            add("exposed " + purposeName(simulation, dimension) + " communication", m.exposedComm[dimension]);
    if (m.exposedHost > 0)
        add(factsOf(StepPart::host).title, m.exposedHost);
    add("bubble", m.bubbleFraction);
    const std::vector<double> shown = roundedPartsAndRest(shares, kComputing);
    Table table({"where the time goes", "share", "time"});
    for (std::size_t i = 0; i < shares.size(); ++i)
        table.addNote({names[i], percent(shown[i]), seconds(shares[i] * m.stepTimeSeconds)},
                      std::string(static_cast<std::size_t>(std::lround(std::max(shares[i], 0.0) * kBarCharacters)), '#'));
    table.print(std::cout);
}

void printPipeline(const Metrics& m)
{
    const ByteUnit unit(m.peakMemoryGib * kBytesPerGib);
    std::vector<std::string> header{"pipeline rank", "computing", "exposed comm", "bubble", std::string("peak ") + unit.name()};
    const bool waitsForHost = m.exposedHost > 0;
    if (waitsForHost)
        header.insert(header.end() - 2, "host");
    Table table(std::move(header));
    const double step = m.stepTimeSeconds;
    for (std::size_t p = 0; p < m.perPipelineRank.size(); ++p) {
        const PipelineRankMetrics& rank = m.perPipelineRank[p];
        const double exchanging = rank.commSeconds - rank.hostSeconds;
        std::vector<double> shares{rank.busySeconds / step, exchanging / step, rank.bubbleSeconds / step};
        if (waitsForHost)
            shares.insert(shares.end() - 1, rank.hostSeconds / step);
        std::vector<std::string> row{std::to_string(p)};
        for (const double share : roundedPartsAndRest(std::move(shares), kComputing))
            row.push_back(percent(share));
        row.push_back(unit.text(static_cast<double>(rank.memory.total())));
        table.add(std::move(row));
    }
    table.print(std::cout);
}

/// Formulas of the summary's numbers, and what the step time hangs on.
void printBecause(const Simulation& simulation, const std::optional<Goodput>& failing)
{
    std::cout << "\n";
    std::vector<Explanation> all;
    for (const MetricId id :
         {MetricId::stepTime, MetricId::tokensPerSecond, MetricId::mfu, MetricId::bubble, MetricId::peakMemory})
        all.push_back(explain(simulation, id));
    if (failing)
        all.push_back(explainGoodput(simulation, *failing));
    for (const Explanation& why : all) {
        std::cout << why.name << ": " << why.inSymbols() << "\n    = " << why.inNumbers() << " = " << why.valueText() << "\n";
        for (const Term& term : why.terms)
            std::cout << "    " << term.quantity.symbol << ": " << numberText(term.quantity.value, term.quantity.unit) << ", "
                      << term.meaning << "\n";
        for (const std::string& line : {why.convention, why.source}) // what is counted, of what: the source may count otherwise
            if (!line.empty())
                std::cout << "    " << line << "\n";
    }
    std::cout << "\n";
    constexpr std::size_t kMostLines = 10;
    std::vector<Sensitivity> weighty = sensitivities(simulation);
    std::erase_if(weighty, [](const Sensitivity& of) { return !of.isShown(); });
    weighty.resize(std::min(weighty.size(), kMostLines));
    Table table({"with 10 % more of", "the step takes", "which is"});
    for (const Sensitivity& of : weighty)
        table.addNote({of.key, (of.stepTimeChange > 0 ? "+" : "-") + percent(std::abs(of.stepTimeChange))}, of.meaning);
    table.print(std::cout);
}

std::optional<StepTimes> timesOf(const SimulateArguments& arguments, const Simulation& simulation)
{
    if (arguments.steps == 0)
        return std::nullopt;
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    try {
        return stepTimes(simulation, arguments.steps, static_cast<int>(cores));
    } catch (const Error& error) {
        throw UsageError(std::string("--steps: ") + error.what());
    }
}

void addPrice(Answer& answer, const Simulation& simulation, double price)
{
    if (price <= 0)
        return;
    const WholeRun run = *runToTell(simulation, price), lasting = lastingRun(simulation, run.tokens);
    answer["run"] = runAnswer(run);
    answer["run"]["price"] = run.gpuHours * price;
    if (failuresOf(simulation.scenario()) != nullptr) {
        answer["goodput"]["run"] = runAnswer(lasting);
        answer["goodput"]["run"]["price"] = lasting.gpuHours * price;
    }
}

void run(const SimulateArguments& arguments)
{
    if (!arguments.trace.empty())
        checkTraceDestination(arguments.trace);
    const ScenarioDocument document = arguments.scenario.document();
    arguments.scenario.keepFiles(document, arguments.trace);
    const auto simulation = arguments.scenario.simulated(document, {.full = arguments.full});
    if (!arguments.trace.empty())
        saveTrace(simulation->trace(arguments.detail == "actions" ? TraceDetail::actions : TraceDetail::kernels),
                  arguments.trace);
    const Metrics& metrics = simulation->metrics();
    const std::optional<StepTimes> times = timesOf(arguments, *simulation);
    if (arguments.json) {
        Answer answer = stepAnswer(*simulation);
        addPrice(answer, *simulation, arguments.price);
        if (times)
            addStepTimes(answer, *times);
        const std::vector<Finding> found =
            findings(*simulation, document, catalogue(), arguments.explain ? FindingEdits::all : FindingEdits::ofTitles);
        if (arguments.explain) {
            addFindings(answer, found, *simulation, document, catalogue());
            addBecause(answer, *simulation);
        } else {
            addFindings(answer, found);
        }
        std::cout << answer.dump() << "\n";
        return;
    }
    std::cout << titleOf(simulation->scenario(), arguments.scenario) << "\n\n";
    printSummary(*simulation, arguments.price);
    if (times)
        std::cout << "\nstep times: " << times->text() << "\n";
    std::cout << "\n";
    printShares(*simulation);
    std::cout << "\n";
    printPipeline(metrics);
    const std::optional<Goodput> failing = goodput(*simulation);
    if (failing) {
        std::cout << "\n";
        printGoodput(*simulation, *failing, arguments.price);
    }
    if (arguments.explain)
        printBecause(*simulation, failing);
    std::cerr << "Simulated " << counted(metrics.simulatedOps, "op") << " in " << fixed(metrics.wallMs, 1) << " ms\n";
}

} // namespace

void addSimulate(CLI::App& app)
{
    const auto arguments = std::make_shared<SimulateArguments>();
    CLI::App* command =
        addAnswer(app, "simulate", "One training step: time, MFU, bubble, exposed communication, memory", run, arguments);
    command->add_flag("--full", arguments->full, "Every rank one by one instead of one of each class: same numbers, bit for bit");
    command->add_flag(
        "--explain", arguments->explain,
        "Where each number comes from: formula, values, source; and the constants that the step time hangs on; with "
        "--json also what each finding's edits bring, and how sure that is");
    command->add_option("--price", arguments->price, "Of a GPU hour: what the whole run costs, or a trillion tokens of it")
        ->check(positiveNumber(Zero::refused));
    command->add_option("--steps", arguments->steps, "Times of so many steps: jitter drawn anew for each, the first as without")
        ->type_name("N")
        ->check(wholeNumberFrom(1))
        ->check(atMost(kMostSteps));
    CLI::Option* trace =
        command->add_option("--trace", arguments->trace, "Write the timeline: OUT.pftrace for Perfetto, OUT.json for Chrome")
            ->type_name("OUT")
            ->check(notEmpty())
            ->check(traceNameProblem);
    command->add_option("--trace-detail", arguments->detail, "kernels (default) or actions")
        ->type_name("WORD")
        ->check(oneOf({"kernels", "actions"}))
        ->needs(trace);
}

} // namespace sim::cli
