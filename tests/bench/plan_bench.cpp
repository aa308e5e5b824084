// Searching for the best layout, proof included. Items are legal layouts that are covered; `evaluated` had a floor of their own.
#include "sim/planner/planner.h"
#include "tests/support/catalogue.h"

#include <benchmark/benchmark.h>

#include <string>

namespace {

void planJob(benchmark::State& state, const std::string& file)
{
    const sim::PlanRequest request{.document =
                                       sim::ScenarioDocument::readFile(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + file)};
    sim::PlanAnswer answer;
    for (auto _ : state)
        answer = sim::plan(request, test::catalogue());
    state.SetItemsProcessed(state.iterations() * answer.covered);
    state.counters["evaluated"] = static_cast<double>(answer.evaluated);
    state.counters["tightened"] = static_cast<double>(answer.tightened);
    state.counters["simulated"] = static_cast<double>(answer.simulated);
    state.counters["gap"] = answer.gap;
}
BENCHMARK_CAPTURE(planJob, llama3_70b_64, "45-llama3-70b-64-gpus.json")->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(planJob, llama3_405b_16384, "42-llama3-405b-16384-gpus.json")->Unit(benchmark::kMillisecond)->Iterations(1);

} // namespace
