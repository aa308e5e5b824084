#include "tests/sim/mesh/golden.h"

#include "tests/sim/mesh/sha256.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace golden {

namespace {

const std::filesystem::path kFolder = std::filesystem::path(RANKSCOPE_TEST_DATA) / "groups";

} // namespace

nlohmann::json read(const std::string& name)
{
    std::ifstream file(kFolder / (name + ".json"));
    EXPECT_TRUE(file) << name;
    return nlohmann::json::parse(file);
}

nlohmann::json cases(const std::string& name)
{
    return read(name).at("cases");
}

std::vector<std::string> names(const std::string& prefix)
{
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder))
        if (entry.path().filename().string().starts_with(prefix))
            found.push_back(entry.path().stem().string());
    std::sort(found.begin(), found.end());
    EXPECT_FALSE(found.empty()) << prefix;
    return found;
}

sim::Layout layout(const nlohmann::json& input)
{
    sim::Layout layout;
    layout.tp = input.value("tp", 1);
    layout.cp = input.value("cp", 1);
    layout.pp = input.value("pp", 1);
    layout.ep = input.value("ep", 1);
    layout.etp = input.value("etp", layout.tp);
    layout.order = input.value("order", layout.order);
    layout.dp = input.at("world_size").get<int>() / (layout.tp * layout.cp * layout.pp);
    return layout;
}

Lists lists(const sim::RankGrid::Groups& groups)
{
    Lists all;
    for (int group = 0; group < groups.count(); ++group)
        all.push_back(groups.members(group));
    return all;
}

Lists lists(const sim::Mesh& mesh, sim::ProcessGroup kind)
{
    Lists all;
    for (int group = 0; group < mesh.groupCount(kind); ++group)
        all.push_back(mesh.members(kind, group));
    return all;
}

Lists lists(const sim::RankGrid& grid, std::initializer_list<std::string_view> axes)
{
    return lists(grid.groups(std::span(axes.begin(), axes.size())));
}

Lists lists(const sim::RankGrid& grid, const std::vector<std::string>& axes)
{
    const std::vector<std::string_view> views(axes.begin(), axes.end());
    return lists(grid.groups(views));
}

Lists sorted(Lists groups)
{
    for (auto& group : groups)
        std::sort(group.begin(), group.end());
    std::sort(groups.begin(), groups.end());
    return groups;
}

std::vector<int> world(int worldSize)
{
    std::vector<int> ranks(static_cast<std::size_t>(worldSize));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

std::string digest(const Lists& groups)
{
    return sha256(nlohmann::json(groups).dump());
}

} // namespace golden
