#include "app/views/grid/grid_plan.h"
#include "sim/text/spoken_name.h"

#include <algorithm>

namespace app {
namespace {

GridLevel levelOf(const sim::RankGrid& grid, int axis)
{
    const int size = grid.axis(axis).size, stride = grid.stride(axis);
    return {.axis = grid.axis(axis).name, .axisStride = stride, .axisSize = size, .size = size, .stride = stride};
}

/// A single rank is a grid too.
void addLevelIfNone(GridPlan& plan)
{
    if (plan.levels.empty())
        plan.levels.push_back({.axis = "tp"});
}

} // namespace

GridPlan automaticPlan(const sim::Mesh& mesh, int gpusPerNode)
{
    GridPlan plan{.ranks = mesh.worldSize()};
    const sim::RankGrid& grid = mesh.dense();
    for (int a = 0; a < grid.axisCount(); ++a) {
        GridLevel level = levelOf(grid, a);
        if (level.size == 1)
            continue;
        const int stride = level.stride, size = level.size;
        const int inNode = gpusPerNode > stride && gpusPerNode % stride == 0 ? gpusPerNode / stride : 0;
        if (inNode > 1 && inNode < size && size % inNode == 0) {
            GridLevel inner = level;
            inner.size = inNode;
            inner.isNode = true;
            plan.levels.push_back(inner);
            level.size = size / inNode;
            level.stride = stride * inNode;
        } else if (inNode == size) {
            level.isNode = true;
        }
        plan.levels.push_back(level);
    }
    addLevelIfNone(plan);
    return plan;
}

GridPlan numberedPlan(int ranks)
{
    return {.levels = {{.axis = "rank", .axisSize = ranks, .size = ranks}}, .ranks = ranks};
}

GridPlan seatedPlan(const sim::Mesh& mesh, const AxisSeats& seats)
{
    GridPlan plan{.ranks = mesh.worldSize(), .fixed = true};
    const AxisSeats all = fitted(seats, mesh);
    for (const AxisPlace place : {AxisPlace::columns, AxisPlace::rows, AxisPlace::boxes})
        for (const AxisSeat& seat : all) {
            if (seat.place != place)
                continue;
            GridLevel level = levelOf(mesh.dense(), mesh.dense().axisIndex(seat.axis));
            level.inTable = place != AxisPlace::boxes;
            level.run = place == AxisPlace::columns ? GridLevel::Run::across
                        : place == AxisPlace::rows  ? GridLevel::Run::down
                                                    : GridLevel::Run::any;
            plan.levels.push_back(std::move(level));
        }
    // The table as a whole has a box where it lies in others.
    for (std::size_t i = 0; i + 1 < plan.levels.size(); ++i)
        if (plan.levels[i].inTable && !plan.levels[i + 1].inTable)
            plan.levels[i].inTable = false;
    addLevelIfNone(plan);
    return plan;
}

GridPlan physicalPlan(const sim::Placement& placement, const sim::Cluster& cluster, int ranks)
{
    GridPlan plan{.ranks = ranks, .physical = true};
    int lastNode = 0;
    plan.placeOfRank.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        plan.placeOfRank.push_back(placement.gpu(rank));
        lastNode = std::max(lastNode, placement.node(rank));
    }
    const int perNode = cluster.gpusPerNode;
    int nodes = lastNode + 1;
    const auto domain = std::find_if(cluster.tiers.begin(), cluster.tiers.end(), [&](const sim::Tier& tier) {
        return tier.span > perNode && tier.span % perNode == 0 && tier.span / perNode < nodes;
    });
    const int nodesPerDomain = domain == cluster.tiers.end() ? nodes : domain->span / perNode;
    const int domains = (nodes + nodesPerDomain - 1) / nodesPerDomain;
    nodes = domains * nodesPerDomain;

    plan.levels.push_back({.axis = "rail", .axisSize = perNode, .size = perNode, .isNode = true});
    if (nodesPerDomain > 1)
        plan.levels.push_back({.axis = "node",
                               .axisStride = perNode,
                               .axisSize = nodes,
                               .size = nodesPerDomain,
                               .stride = perNode,
                               .titled = domains > 1});
    if (domains > 1)
        plan.levels.push_back({.axis = sim::spokenNetwork(domain->name),
                               .axisStride = perNode * nodesPerDomain,
                               .axisSize = domains,
                               .size = domains,
                               .stride = perNode * nodesPerDomain});
    return plan;
}

} // namespace app
