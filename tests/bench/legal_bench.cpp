// Whether a job is legal, as a planner asks: the largest of the gallery's size, one that is legal and one that breaks a late
// rule.
#include "sim/legal/legal.h"
#include "tests/support/scenarios.h"

#include <benchmark/benchmark.h>

namespace {

void judgeJob(benchmark::State& state, int globalBatchSize)
{
    sim::Scenario scenario = test::llama405b();
    scenario.training.globalBatchSize = globalBatchSize;
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::isLegal(scenario));
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(judgeJob, legal, 2048);
BENCHMARK_CAPTURE(judgeJob, illegal, 2049);

void sayWhy(benchmark::State& state)
{
    sim::Scenario scenario = test::llama405b();
    scenario.training.globalBatchSize = 2049;
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::judge(scenario).size());
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(sayWhy);

} // namespace
