#include "sim/cli/command.h"
#include "sim/cli/table.h"
#include "sim/memory_limit.h"
#include "sim/simulate/simulation.h"

#include "sim/answers/answers.h"

#include <iostream>

namespace sim::cli {
namespace {

/// "6.59 of 40.00 GiB: 33.41 left"; "21.90 MiB of 2.00 GiB: 1.98 left" of what would be a hundredth; "80.003 of 80.000 GiB:
/// 0.003 too much".
std::string heldText(double heldGib, double hasGib)
{
    if (heldGib > hasGib) {
        const int decimals = decimalsBeyond(heldGib, hasGib, 2);
        return fixed(heldGib, decimals) + " of " + fixed(hasGib, decimals) + " GiB: " + fixed(heldGib - hasGib, decimals) +
               " too much";
    }
    const ByteUnit unit(heldGib * kBytesPerGib);
    return unit.text(heldGib * kBytesPerGib) + (heldGib < 1 ? std::string(" ") + unit.name() : "") + " of " + fixed(hasGib, 2) +
           " GiB: " + fixed(hasGib - heldGib, 2) + " left";
}

void print(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Scenario& scenario = simulation.scenario();
    const ByteUnit unit(m.peakMemoryGib * kBytesPerGib);
    const auto text = [&unit](std::int64_t bytes) { return unit.text(static_cast<double>(bytes)); };
    Table table({"pipeline rank", "parameters", "gradients", "optimizer", "activations", "buffers",
                 std::string("total ") + unit.name(), "peak at"});
    for (std::size_t p = 0; p < m.perPipelineRank.size(); ++p) {
        const MemoryBreakdown& b = m.perPipelineRank[p].memory;
        table.add({std::to_string(p), text(b.parameters), text(b.gradients), text(b.optimizer), text(b.activations),
                   text(b.buffers), text(b.total()), seconds(static_cast<double>(m.perPipelineRank[p].peakAtNs) * 1e-9)});
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
    addAnswer(app, "memory", "What the fullest rank of each pipeline coordinate holds at its peak", runMemory);
}

} // namespace sim::cli
