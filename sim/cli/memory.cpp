#include "sim/cli/command.h"
#include "sim/cli/table.h"
#include "sim/simulate/simulation.h"

#include "sim/answers/answers.h"

#include <cmath>
#include <iostream>

namespace sim::cli {
namespace {

/// "6.59 of 40.00 GiB: 33.41 left"
std::string heldText(double heldGib, double hasGib)
{
    return fixed(heldGib, 2) + " of " + fixed(hasGib, 2) + " GiB: " + fixed(std::abs(hasGib - heldGib), 2) +
           (heldGib <= hasGib ? " left" : " too much");
}

void print(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Scenario& scenario = simulation.scenario();
    Table table({"pipeline rank", "parameters", "gradients", "optimizer", "activations", "buffers", "total GiB", "peak at"});
    for (std::size_t p = 0; p < m.perPipelineRank.size(); ++p) {
        const MemoryBreakdown& b = m.perPipelineRank[p].memory;
        table.add({std::to_string(p), gib(b.parameters), gib(b.gradients), gib(b.optimizer), gib(b.activations), gib(b.buffers),
                   gib(b.total()), seconds(static_cast<double>(m.perPipelineRank[p].peakAtNs) * 1e-9)});
    }
    table.print(std::cout);
    std::cout << "\nThe fullest rank holds " << heldText(m.peakMemoryGib, scenario.cluster.gpu.memoryGib) << "\n";
    if (scenario.training.offload.isOn())
        std::cout << "The fullest host holds " << heldText(m.hostMemoryGib, scenario.cluster.host.memoryGib) << "\n";
}

void runMemory(const AnswerArguments& arguments)
{
    const auto simulation = arguments.scenario.simulated();
    if (arguments.json) {
        std::cout << memoryAnswer(*simulation).dump() << "\n";
        return;
    }
    std::cout << titleOf(simulation->scenario(), arguments.scenario) << "\n\n";
    print(*simulation);
}

} // namespace

void addMemory(CLI::App& app)
{
    addAnswer(app, "memory", "What the fullest rank of each pipeline coordinate holds at its peak, GiB", runMemory);
}

} // namespace sim::cli
