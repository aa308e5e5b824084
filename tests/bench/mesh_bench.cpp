// Asking a mesh of a million ranks, and listing its groups.
#include "sim/mesh/mesh.h"

#include <benchmark/benchmark.h>

namespace {

/// 1,048,576 ranks, experts folded over tp, cp and dp.
sim::Layout millionRanks()
{
    sim::Layout layout;
    layout.tp = 8;
    layout.cp = 16;
    layout.pp = 16;
    layout.dp = 512;
    layout.ep = 64;
    layout.etp = 1;
    return layout;
}

void constructMesh(benchmark::State& state)
{
    const sim::Layout layout = millionRanks();
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::Mesh(layout));
}
BENCHMARK(constructMesh);

void coordinatesOfARank(benchmark::State& state)
{
    const sim::Mesh mesh(millionRanks());
    int rank = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(mesh.coordinates(rank));
        rank = (rank + 7919) % mesh.worldSize();
    }
}
BENCHMARK(coordinatesOfARank);

/// Group, index in it and back.
void groupOfARank(benchmark::State& state)
{
    const sim::Mesh mesh(millionRanks());
    const auto kind = static_cast<sim::ProcessGroup>(state.range(0));
    state.SetLabel(std::string(sim::processGroupName(kind)));
    int rank = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(mesh.member(kind, mesh.groupOf(kind, rank), mesh.indexInGroup(kind, rank)));
        rank = (rank + 7919) % mesh.worldSize();
    }
}
BENCHMARK(groupOfARank)
    ->Arg(static_cast<int>(sim::ProcessGroup::tp))
    ->Arg(static_cast<int>(sim::ProcessGroup::dp_cp))
    ->Arg(static_cast<int>(sim::ProcessGroup::tp_ep_pp));

/// All groups of all kinds, as `rankscope-sim groups` lists them; items are ranks named.
void listEveryGroup(benchmark::State& state)
{
    sim::Layout layout;
    layout.tp = 8;
    layout.pp = 16;
    layout.dp = 128;
    layout.etp = 8;
    const sim::Mesh mesh(layout);
    std::int64_t named = 0;
    for (auto _ : state)
        for (int i = 0; i < sim::kProcessGroupCount; ++i) {
            const auto kind = static_cast<sim::ProcessGroup>(i);
            for (int group = 0; group < mesh.groupCount(kind); ++group) {
                const std::vector<int> ranks = mesh.members(kind, group);
                benchmark::DoNotOptimize(ranks.data());
                named += static_cast<std::int64_t>(ranks.size());
            }
        }
    state.SetItemsProcessed(named);
}
BENCHMARK(listEveryGroup)->Unit(benchmark::kMillisecond);

} // namespace
