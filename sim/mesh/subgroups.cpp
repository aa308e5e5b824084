#include "sim/mesh/subgroups.h"

#include "sim/error.h"

#include <string>

namespace sim {

std::vector<std::vector<int>> subgroups(const std::vector<int>& members, const std::vector<int>& sizes, int level)
{
    std::vector<RankGrid::AxisSize> axes;
    std::string product;
    for (const int size : sizes) {
        axes.push_back({"level " + std::to_string(axes.size()), size});
        product += (product.empty() ? "" : " x ") + std::to_string(size);
    }
    if (level < 0 || level >= static_cast<int>(sizes.size()))
        throw Error("no level " + std::to_string(level) + " in sizes " + product);
    const RankGrid grid(std::move(axes));
    if (static_cast<std::size_t>(grid.size()) != members.size())
        throw Error("sizes " + product + " = " + std::to_string(grid.size()) + " do not make a group of " +
                    std::to_string(members.size()) + " ranks");

    const std::string axis = grid.axis(level).name;
    const std::string_view axisView = axis;
    const RankGrid::Groups groups = grid.groups(std::span(&axisView, 1));
    std::vector<std::vector<int>> result;
    for (int group = 0; group < groups.count(); ++group) {
        std::vector<int> ranks = groups.members(group);
        for (int& rank : ranks)
            rank = members[static_cast<std::size_t>(rank)];
        result.push_back(std::move(ranks));
    }
    return result;
}

std::vector<std::vector<int>> optimizerInstanceGroups(const Mesh& mesh, int instances)
{
    const auto requireDivides = [&](ProcessGroup kind, const char* what) {
        if (instances < 1 || mesh.groupSize(kind) % instances != 0)
            throw Error(std::to_string(instances) + " copies of the sharded optimizer do not divide " + what + " = " +
                        std::to_string(mesh.groupSize(kind)));
    };
    requireDivides(ProcessGroup::dp_cp, "dp x cp");
    requireDivides(ProcessGroup::expt_dp, "expert data parallelism");

    std::vector<std::vector<int>> result(static_cast<std::size_t>(instances));
    const int groupsEach = mesh.groupCount(ProcessGroup::tp_ep_pp) / instances;
    for (int group = 0; group < groupsEach * instances; ++group) {
        const std::vector<int> ranks = mesh.members(ProcessGroup::tp_ep_pp, group);
        auto& instance = result[static_cast<std::size_t>(group / groupsEach)];
        instance.insert(instance.end(), ranks.begin(), ranks.end());
    }
    return result;
}

} // namespace sim
