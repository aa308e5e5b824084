// Making, evaluating and checking schedules of every kind at 64 pipeline ranks and 512 micro-batches.
#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"

#include <benchmark/benchmark.h>

#include <string>

namespace {

sim::ScheduleRequest largeRequest(const sim::ScheduleFamily& family)
{
    sim::ScheduleRequest request;
    request.kind = family.kind;
    request.ranks = 64;
    request.virtualStages = family.chunks.most == 0 ? 4 : family.chunks.least;
    request.microbatches = 512;
    request.slices = family.usualSlices;
    return request;
}

std::int64_t actionCount(const sim::Schedule& schedule)
{
    std::int64_t count = 0;
    for (const auto& actions : schedule.actions)
        count += static_cast<std::int64_t>(actions.size());
    return count;
}

void make(benchmark::State& state, const sim::ScheduleRequest& request)
{
    std::int64_t actions = 0;
    for (auto _ : state)
        actions += actionCount(sim::makeSchedule(request));
    state.SetItemsProcessed(actions);
}

void evaluate(benchmark::State& state, const sim::ScheduleRequest& request)
{
    const sim::Schedule schedule = sim::makeSchedule(request);
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::evaluateSchedule(schedule).makespan);
    state.SetItemsProcessed(state.iterations() * actionCount(schedule));
}

void check(benchmark::State& state, const sim::ScheduleRequest& request)
{
    const sim::Schedule schedule = sim::makeSchedule(request);
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::checkSchedule(schedule).empty());
    state.SetItemsProcessed(state.iterations() * actionCount(schedule));
}

/// `custom` has no generator, and `auto` is measured beside its search.
bool isMeasured(const sim::ScheduleFamily& family)
{
    return !family.isWrittenOut && !family.isSearched;
}

const bool kRegistered = [] {
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        if (!isMeasured(family))
            continue;
        for (const auto& [name, run] :
             {std::pair{"MakeSchedule/", &make}, {"EvaluateSchedule/", &evaluate}, {"CheckSchedule/", &check}})
            benchmark::RegisterBenchmark((name + std::string(family.kind)).c_str(), run, largeRequest(family))
                ->Unit(benchmark::kMillisecond);
    }
    return true;
}();

} // namespace
