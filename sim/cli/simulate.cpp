#include "sim/cli/command.h"
#include "sim/cli/metrics_json.h"
#include "sim/cli/table.h"

#include "sim/simulation.h"
#include "sim/trace/export.h"

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    bool json = false, full = false;
    std::string trace, detail = "kernels";
};

void print(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Scenario& s = simulation.scenario();
    const double step = m.stepTimeSeconds;
    std::cout << (s.name.empty() ? s.model.name : s.name) << "\n\n";
    Table summary({"step time", seconds(step)});
    summary.add(
        {"tokens a second", grouped(std::llround(m.tokensPerSecond)) + " (" + fixed(m.tokensPerSecondPerGpu, 1) + " a GPU)"});
    summary.add({"model TFLOP/s a GPU", fixed(m.modelTflopsPerGpu, 1)});
    summary.add({"MFU", percent(m.mfu) + " (attention in full: " + percent(m.mfuFullAttention) + ")"});
    summary.add({"HFU", percent(m.hfu) + ", " + fixed(m.hardwareTflopsPerGpu, 1) + " TFLOP/s a GPU"});
    summary.add({"bubble", percent(m.bubbleFraction)});
    const ExposedCommunication& e = m.exposedComm;
    summary.add({"exposed communication", "tp " + percent(e.tp) + ", cp " + percent(e.cp) + ", ep " + percent(e.ep) + ", pp " +
                                              percent(e.pp) + ", dp " + percent(e.dp)});
    summary.add({"peak memory", fixed(m.peakMemoryGib, 2) + " of " + fixed(s.cluster.gpu.memoryGib, 0) + " GiB" +
                                    (m.fits ? "" : ": does not fit")});
    summary.add({"parameters", grouped(m.parameters)});
    summary.add(
        {"ranks", grouped(m.worldSize) + " in " + grouped(simulation.classCount()) + " classes of ranks that behave alike"});
    summary.print(std::cout);
    std::cout << "\n";
    Table ranks({"pipeline rank", "busy", "bubble", "exposed comm", "peak GiB"});
    for (std::size_t p = 0; p < m.perPipelineRank.size(); ++p) {
        const PipelineRankMetrics& rank = m.perPipelineRank[p];
        ranks.add({std::to_string(p), percent(rank.busySeconds / step), percent(rank.bubbleSeconds / step),
                   percent(rank.commSeconds / step), gib(rank.memory.total())});
    }
    ranks.print(std::cout);
    std::cerr << grouped(m.simulatedOps) << " ops in " << fixed(m.wallMs, 1) << " ms\n";
}

void run(const Arguments& arguments)
{
    const auto simulation = simulate(arguments.scenario.read(), {.full = arguments.full});
    if (!arguments.trace.empty())
        saveTrace(simulation->trace(arguments.detail == "actions" ? TraceDetail::actions : TraceDetail::kernels),
                  arguments.trace);
    if (arguments.json)
        std::cout << metricsJson(simulation->metrics()).dump() << "\n";
    else
        print(*simulation);
}

} // namespace

void addSimulate(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("simulate", "One training step: time, MFU, bubble, exposed communication, memory");
    auto arguments = std::make_shared<Arguments>();
    arguments->scenario.addTo(*command);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->add_flag("--full", arguments->full, "Every rank one by one instead of one of each class: same numbers, bit for bit");
    command->add_option("--trace", arguments->trace, "Write the timeline: OUT.pftrace for Perfetto, OUT.json for Chrome");
    command->add_option("--trace-detail", arguments->detail, "kernels (default) or actions")
        ->check(CLI::IsMember({"kernels", "actions"}));
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
