#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/simulation.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    bool json = false;
};

void run(const Arguments& arguments)
{
    const auto simulation = simulate(arguments.scenario.read());
    const Metrics& m = simulation->metrics();
    const double capacity = simulation->scenario().cluster.gpu.memoryGib;
    if (arguments.json) {
        const auto inGib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
        nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
        for (const PipelineRankMetrics& rank : m.perPipelineRank)
            ranks.push_back({{"parameters", inGib(rank.memory.parameters)},
                             {"gradients", inGib(rank.memory.gradients)},
                             {"optimizer", inGib(rank.memory.optimizer)},
                             {"activations", inGib(rank.memory.activations)},
                             {"buffers", inGib(rank.memory.buffers)},
                             {"total", inGib(rank.memory.total())},
                             {"peak_at_s", static_cast<double>(rank.peakAtNs) * 1e-9}});
        const nlohmann::ordered_json json{
            {"unit", "GiB"}, {"capacity", capacity}, {"fits", m.fits}, {"per_pipeline_rank", ranks}};
        std::cout << json.dump() << "\n";
        return;
    }
    Table table({"pipeline rank", "parameters", "gradients", "optimizer", "activations at peak", "buffers", "total GiB"});
    for (std::size_t p = 0; p < m.perPipelineRank.size(); ++p) {
        const MemoryBreakdown& b = m.perPipelineRank[p].memory;
        table.add({std::to_string(p), gib(b.parameters), gib(b.gradients), gib(b.optimizer), gib(b.activations), gib(b.buffers),
                   gib(b.total())});
    }
    table.print(std::cout);
    std::cout << "\npeak " << fixed(m.peakMemoryGib, 2) << " of " << fixed(capacity, 0) << " GiB"
              << (m.fits ? "" : ": does not fit") << "\n";
}

} // namespace

void addMemory(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("memory", "What the fullest rank of each pipeline coordinate holds at its peak, GiB");
    auto arguments = std::make_shared<Arguments>();
    arguments->scenario.addTo(*command);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
