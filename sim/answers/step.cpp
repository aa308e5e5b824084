#include "sim/analysis/whole_run.h"
#include "sim/answers/findings.h"
#include "sim/answers/goodput.h"
#include "sim/answers/offload.h"
#include "sim/simulate/memory_cap.h"

#include <algorithm>

namespace sim {

Answer stepAnswer(const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    const Uncertainty& sure = simulation.scenario().uncertainty;
    Answer ranks = Answer::array();
    for (const PipelineRankMetrics& rank : m.perPipelineRank)
        ranks.push_back({{"busy_s", rank.busySeconds},
                         {"bubble_s", rank.bubbleSeconds},
                         {"comm_s", rank.commSeconds},
                         {"host_s", rank.hostSeconds},
                         {"peak_memory_gib", static_cast<double>(rank.memory.total()) / (1 << 30)}});
    Answer exposed;
    for (const Dimension dimension : kDimensions)
        exposed[dimensionName(dimension)] = m.exposedComm[dimension];
    Answer answer{{"step_time_s", m.stepTimeSeconds},
                  {"tokens_per_second", m.tokensPerSecond},
                  {"tokens_per_second_per_gpu", m.tokensPerSecondPerGpu},
                  {"model_tflops_per_gpu", m.modelTflopsPerGpu},
                  {"hardware_tflops_per_gpu", m.hardwareTflopsPerGpu},
                  {"mfu", m.mfu},
                  {"mfu_full_attention", m.mfuFullAttention},
                  {"hfu", m.hfu},
                  {"bubble_fraction", m.bubbleFraction},
                  {"exposed_comm_fraction", exposed},
                  {"exposed_host_fraction", m.exposedHost},
                  {"computing",
                   {{"gemm_s", m.computing.gemm},
                    {"attention_s", m.computing.attention},
                    {"other_s", m.computing.other},
                    {"recompute_s", m.computing.recompute},
                    {"optimizer_s", m.computing.optimizer}}},
                  {"link_sharing_s", m.linkSharingSeconds},
                  {"peak_memory_gib", m.peakMemoryGib},
                  {"interval",
                   {{"step_time_s", {m.stepTimeSeconds * sure.stepLow, m.stepTimeSeconds * sure.stepHigh}},
                    {"peak_memory_gib", {m.peakMemoryGib * sure.memoryLow, m.peakMemoryGib * sure.memoryHigh}},
                    {"level", sure.level},
                    {"basis", sure.basis}}},
                  {"fits", fitsEverywhere(simulation)},
                  {"parameters", m.parameters},
                  {"world_size", m.worldSize},
                  {"microbatches", simulation.scenario().microbatches()},
                  {"per_pipeline_rank", ranks},
                  {"simulated_ops", m.simulatedOps},
                  {"wall_ms", m.wallMs}};
    if (const auto& shares = simulation.classes().attentionShares; !shares.empty()) {
        double sum = 0, most = 0, count = 0;
        for (const auto& replica : shares)
            for (const double share : replica) {
                sum += share;
                most = std::max(most, share);
                ++count;
            }
        answer["documents"] = {{"attention_share_mean", sum / count}, {"attention_share_max", most}};
    }
    if (m.expertWait > 0)
        answer["expert_wait_fraction"] = m.expertWait; // of the bubble
    addOffload(answer, simulation);
    if (const std::optional<WholeRun> run = wholeRun(simulation))
        answer["run"] = runAnswer(*run);
    addGoodput(answer, simulation);
    answer["findings"] = Answer::array(); // also where there is none
    addMissedCap(answer, simulation);
    return answer;
}

Answer runAnswer(const WholeRun& run)
{
    Answer answer{{"tokens", run.tokens}, {"steps", run.steps}, {"days", run.days}, {"gpu_hours", run.gpuHours}};
    if (const std::optional<double> kwh = run.mostEnergyKwh())
        answer["most_energy_kwh"] = *kwh;
    return answer;
}

void addStepTimes(Answer& answer, const StepTimes& times)
{
    answer["step_times"] = {{"steps", times.seconds.size()}, {"mean_s", times.mean}, {"min_s", times.least}, {"p10_s", times.p10},
                            {"median_s", times.median},      {"p90_s", times.p90},   {"max_s", times.most}};
}

} // namespace sim
