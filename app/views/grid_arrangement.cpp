#include "app/views/grid_arrangement.h"

#include <algorithm>

namespace app {
namespace {

auto seatOf(AxisSeats& seats, const std::string& axis)
{
    return std::find_if(seats.begin(), seats.end(), [&](const AxisSeat& s) { return s.axis == axis; });
}

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

const char* axisPlaceName(AxisPlace place)
{
    switch (place) {
    case AxisPlace::columns:
        return "columns";
    case AxisPlace::rows:
        return "rows";
    case AxisPlace::boxes:
        return "boxes";
    }
    return "";
}

AxisSeats inNextPlace(AxisSeats seats, const std::string& axis)
{
    const auto seat = seatOf(seats, axis);
    if (seat == seats.end())
        return seats;
    AxisSeat moved = *seat;
    seats.erase(seat);
    moved.place = moved.place == AxisPlace::columns ? AxisPlace::rows
                  : moved.place == AxisPlace::rows  ? AxisPlace::boxes
                                                    : AxisPlace::columns;
    seats.push_back(std::move(moved));
    return seats;
}

AxisSeats oneOutwards(AxisSeats seats, const std::string& axis)
{
    const auto seat = seatOf(seats, axis);
    if (seat == seats.end())
        return seats;
    const AxisPlace place = seat->place;
    const auto next = std::find_if(seat + 1, seats.end(), [&](const AxisSeat& s) { return s.place == place; });
    if (next != seats.end()) {
        std::iter_swap(seat, next);
        return seats;
    }
    std::rotate(seats.begin(), seat, seat + 1); // before all others is inside all others
    return seats;
}

AxisSeats movedTo(AxisSeats seats, const std::string& axis, AxisPlace place, int inside)
{
    const auto seat = seatOf(seats, axis);
    if (seat == seats.end())
        return seats;
    seats.erase(seat);
    auto at = seats.begin();
    for (; at != seats.end() && inside > 0; ++at)
        inside -= at->place == place ? 1 : 0;
    seats.insert(at, {axis, place});
    return seats;
}

AxisSeats fitted(AxisSeats seats, const sim::Mesh& mesh)
{
    if (seats.empty())
        return seats; // automatic stays automatic
    const sim::RankGrid& grid = mesh.dense();
    const auto isGone = [&](const AxisSeat& seat) {
        const int axis = grid.axisIndex(seat.axis);
        return axis < 0 || grid.axis(axis).size == 1;
    };
    seats.erase(std::remove_if(seats.begin(), seats.end(), isGone), seats.end());
    for (int a = 0; a < grid.axisCount(); ++a)
        if (grid.axis(a).size > 1 && seatOf(seats, grid.axis(a).name) == seats.end())
            seats.push_back({grid.axis(a).name, AxisPlace::boxes});
    return seats;
}

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
        plan.levels.push_back({.axis = domain->name,
                               .axisStride = perNode * nodesPerDomain,
                               .axisSize = domains,
                               .size = domains,
                               .stride = perNode * nodesPerDomain});
    return plan;
}

} // namespace app
