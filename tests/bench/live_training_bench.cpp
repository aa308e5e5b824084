// Whole training steps: on the CPU one rank against the machine, many ranks against one, recording against not recording; on a
// GPU, where there is one, the last of these.
#include "live/comm/gpu_modules.h"
#include "live/kernels/modules.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <string>
#include <vector>

namespace {

using namespace live;

sim::Scenario scenarioOf(const std::string& model, const std::string& layout, const std::string& training)
{
    const auto document = sim::ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":)" + model +
                                                       R"(,"cluster":{"base":"laptop","gpus_per_node":64},"layout":)" + layout +
                                                       R"(,"training":)" + training + "}");
    return *document.resolve(test::catalogue()).scenario;
}

/// Median seconds of a step and tokens a second, over `state`'s iterations.
void trainSteps(benchmark::State& state, const sim::Scenario& scenario, WorkerPool& pool, Device& device,
                Communicator& communicator, bool record)
{
    Run run(scenario, {.pool = &pool, .device = &device, .communicator = &communicator, .record = record});
    std::vector<double> seconds;
    bool warm = false;
    for (auto _ : state)
        run.train(warm ? 1 : 2, [&](const StepReport& step) {
            if (warm)
                seconds.push_back(step.seconds);
            warm = true;
            return Verdict::goOn;
        });
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
    const double median = seconds[seconds.size() / 2];
    const double tokens = static_cast<double>(scenario.training.globalBatchSize) * scenario.training.sequenceLength;
    state.counters["step_s"] = median;
    state.counters["best_s"] = *std::min_element(seconds.begin(), seconds.end());
    state.counters["tokens/s"] = tokens / median;
}

void trainSteps(benchmark::State& state, const sim::Scenario& scenario, int workers, bool record = true)
{
    WorkerPool pool(workers);
    trainSteps(state, scenario, pool, *makeCpuDevice(DType::f32, &pool), *makeLocalCommunicator(pool), record);
}

/// llm.c's and PyTorch's yardstick: GPT-2 124M, 4 sequences of 64 tokens, 2 threads.
void gpt2OneRank(benchmark::State& state)
{
    trainSteps(
        state,
        scenarioOf(R"("gpt2")", "{}", R"({"sequence_length":64,"micro_batch_size":4,"global_batch_size":4,"precision":"fp32"})"),
        2);
}
BENCHMARK(gpt2OneRank)->Iterations(5)->Unit(benchmark::kMillisecond);

/// 25 M parameters; the layouts below train the same global batch.
constexpr const char* kMiddle =
    R"({"num_hidden_layers":8,"hidden_size":512,"intermediate_size":2048,"num_attention_heads":8,"vocab_size":2048,"max_position_embeddings":256,"tie_word_embeddings":true,"hidden_act":"gelu","gated_mlp":false,"normalization":"layernorm","position_embedding":"learned","bias":true})";

void layouts(benchmark::State& state, const std::string& layout, int microbatch, bool record = true)
{
    trainSteps(state,
               scenarioOf(kMiddle, layout,
                          R"({"sequence_length":256,"micro_batch_size":)" + std::to_string(microbatch) +
                              R"(,"global_batch_size":16,"precision":"fp32"})"),
               2, record);
}
BENCHMARK_CAPTURE(layouts, oneRank, "{}", 8)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(layouts, oneRankNotRecorded, "{}", 8, false)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(layouts, eightRanks, R"({"dp":2,"tp":2,"pp":2})", 4)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(layouts, eightRanksNotRecorded, R"({"dp":2,"tp":2,"pp":2})", 4, false)
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(layouts, sixtyFourRanks, R"({"dp":4,"tp":4,"pp":4})", 2)->Iterations(5)->Unit(benchmark::kMillisecond);

/// The smallest kernels there are, where recording weighs most: the gallery's sixteen ranks.
void sixteenTinyRanks(benchmark::State& state, bool record)
{
    trainSteps(state,
               scenarioOf(R"("tiny-llama")", R"({"dp":2,"tp":2,"pp":2,"cp":2,"sequence_parallel":true})",
                          R"({"sequence_length":128,"micro_batch_size":1,"global_batch_size":8,"precision":"fp32"})"),
               2, record);
}
BENCHMARK_CAPTURE(sixteenTinyRanks, recorded, true)->Iterations(40)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(sixteenTinyRanks, notRecorded, false)->Iterations(40)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();

/// GPT-2 124M in bf16: `sequences` of 1,024 tokens, few of which leave the GPU waiting for the host.
void gpt2OnGpu(benchmark::State& state, int sequences, bool record)
{
    WorkerPool pool(2);
    try {
        const DeviceChoice choice = chooseDevice("cuda", DType::bf16, &pool);
        const auto communicator = makeLocalGpuCommunicator(pool);
        pool.setPoller([&] { return communicator->poll(); });
        const std::string batch = std::to_string(sequences);
        trainSteps(state,
                   scenarioOf(R"("gpt2")", "{}",
                              R"({"sequence_length":1024,"micro_batch_size":)" + batch + R"(,"global_batch_size":)" + batch +
                                  R"(,"precision":"bf16"})"),
                   pool, *choice.device, *communicator, record);
    } catch (const sim::Error& error) {
        state.SkipWithError(error.what());
    }
}
BENCHMARK_CAPTURE(gpt2OnGpu, recorded, 16, true)->Iterations(20)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt2OnGpu, notRecorded, 16, false)->Iterations(20)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt2OnGpu, oneSequenceRecorded, 1, true)->Iterations(40)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt2OnGpu, oneSequenceNotRecorded, 1, false)->Iterations(40)->Unit(benchmark::kMillisecond);

} // namespace
