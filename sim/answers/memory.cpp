#include "sim/answers/findings.h"
#include "sim/answers/offload.h"
#include "sim/simulate/memory_cap.h"

namespace sim {

Answer memoryAnswer(const Simulation& simulation)
{
    const auto inGib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); };
    const Metrics& m = simulation.metrics();
    Answer ranks = Answer::array();
    for (const PipelineRankMetrics& rank : m.perPipelineRank)
        ranks.push_back({{"parameters", inGib(rank.memory.parameters)},
                         {"gradients", inGib(rank.memory.gradients)},
                         {"optimizer", inGib(rank.memory.optimizer)},
                         {"activations", inGib(rank.memory.activations)},
                         {"buffers", inGib(rank.memory.buffers)},
                         {"total", inGib(rank.memory.total())},
                         {"peak_at_s", static_cast<double>(rank.peakAtNs) * 1e-9}});
    Answer answer{{"unit", "GiB"},
                  {"capacity", simulation.scenario().cluster.gpu.memoryGib},
                  {"fits", fitsEverywhere(simulation)},
                  {"per_pipeline_rank", ranks}};
    addOffload(answer, simulation);
    addMissedCap(answer, simulation);
    return answer;
}

} // namespace sim
