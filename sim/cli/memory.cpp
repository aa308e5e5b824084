#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/answers/answers.h"

#include <cmath>
#include <iostream>

namespace sim::cli {
namespace {

void print(const Metrics& m, double capacityGib)
{
    Table table({"pipeline rank", "parameters", "gradients", "optimizer", "activations", "buffers", "total GiB", "peak at"});
    for (std::size_t p = 0; p < m.perPipelineRank.size(); ++p) {
        const MemoryBreakdown& b = m.perPipelineRank[p].memory;
        table.add({std::to_string(p), gib(b.parameters), gib(b.gradients), gib(b.optimizer), gib(b.activations), gib(b.buffers),
                   gib(b.total()), seconds(static_cast<double>(m.perPipelineRank[p].peakAtNs) * 1e-9)});
    }
    table.print(std::cout);
    std::cout << "\nThe fullest rank holds " << fixed(m.peakMemoryGib, 2) << " of " << fixed(capacityGib, 2)
              << " GiB: " << fixed(std::abs(capacityGib - m.peakMemoryGib), 2) << (m.fits ? " left" : " too much") << "\n";
}

void runMemory(const AnswerArguments& arguments)
{
    const auto simulation = arguments.scenario.simulated();
    const Scenario& scenario = simulation->scenario();
    if (arguments.json) {
        std::cout << memoryAnswer(*simulation).dump() << "\n";
        return;
    }
    std::cout << titleOf(scenario, arguments.scenario) << "\n\n";
    print(simulation->metrics(), scenario.cluster.gpu.memoryGib);
}

} // namespace

void addMemory(CLI::App& app)
{
    addAnswer(app, "memory", "What the fullest rank of each pipeline coordinate holds at its peak, GiB", runMemory);
}

} // namespace sim::cli
