#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    int rank = -1;
    bool json = false;
};

std::string rankList(const std::vector<int>& ranks, std::size_t most)
{
    std::string text;
    for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i)
        text += (i > 0 ? " " : "") + std::to_string(ranks[i]);
    return ranks.size() > most ? text + " ... " + std::to_string(ranks.back()) : text;
}

template <typename Visit>
void forEachKind(Visit visit)
{
    for (int k = 0; k < kGroupKindCount; ++k)
        visit(static_cast<GroupKind>(k));
}

/// Group by group, so that a million ranks need no memory.
void printAllJson(const Mesh& mesh)
{
    std::cout << "{\"world_size\":" << mesh.worldSize() << ",\"groups\":{";
    forEachKind([&](GroupKind kind) {
        std::cout << (kind == GroupKind::tp ? "\"" : ",\"") << groupKindName(kind) << "\":[";
        for (int g = 0; g < mesh.groupCount(kind); ++g) {
            const auto members = mesh.members(kind, g);
            std::cout << (g > 0 ? ",[" : "[");
            for (std::size_t i = 0; i < members.size(); ++i)
                std::cout << (i > 0 ? "," : "") << members[i];
            std::cout << "]";
        }
        std::cout << "]";
    });
    std::cout << "}}\n";
}

void printAll(const Mesh& mesh)
{
    constexpr std::size_t kShown = 8;
    Table table({"group", "groups", "ranks each", "first", "what they share"});
    forEachKind([&](GroupKind kind) {
        table.add({std::string(groupKindName(kind)), grouped(mesh.groupCount(kind)), grouped(mesh.groupSize(kind)),
                   rankList(mesh.members(kind, 0), kShown), std::string(groupKindPurpose(kind))});
    });
    std::cout << grouped(mesh.worldSize()) << " ranks\n";
    table.print(std::cout);
}

void printRank(const Mesh& mesh, const Placement& placement, int rank, bool json)
{
    const Coordinates c = mesh.coordinates(rank);
    if (json) {
        nlohmann::ordered_json out{
            {"rank", rank},
            {"world_size", mesh.worldSize()},
            {"coordinates", {{"tp", c.tp}, {"cp", c.cp}, {"dp", c.dp}, {"pp", c.pp}}},
            {"expert_coordinates", {{"expt_tp", c.exptTp}, {"ep", c.ep}, {"expt_dp", c.exptDp}, {"pp", c.pp}}},
            {"gpu", placement.gpu(rank)},
            {"node", placement.node(rank)},
            {"groups", nlohmann::ordered_json::object()}};
        forEachKind([&](GroupKind kind) {
            if (const int group = mesh.groupOf(kind, rank); group >= 0)
                out["groups"][std::string(groupKindName(kind))] = mesh.members(kind, group);
        });
        std::cout << out.dump() << "\n";
        return;
    }
    constexpr std::size_t kShown = 16;
    std::cout << "rank " << rank << ": tp " << c.tp << ", cp " << c.cp << ", dp " << c.dp << ", pp " << c.pp << "; experts: etp "
              << c.exptTp << ", ep " << c.ep << ", dp " << c.exptDp << "; GPU " << placement.gpuOfNode(rank) << " of node "
              << placement.node(rank) << "\n";
    Table table({"group", "ranks", "members"});
    forEachKind([&](GroupKind kind) {
        if (const int group = mesh.groupOf(kind, rank); group >= 0)
            table.add(
                {std::string(groupKindName(kind)), grouped(mesh.groupSize(kind)), rankList(mesh.members(kind, group), kShown)});
    });
    table.print(std::cout);
}

void run(const Arguments& arguments)
{
    const Scenario scenario = arguments.scenario.read();
    const Mesh mesh(scenario.layout);
    if (arguments.rank >= mesh.worldSize())
        throw Error("there is no rank " + std::to_string(arguments.rank) + "; the layout has 0 to " +
                    std::to_string(mesh.worldSize() - 1));
    if (arguments.rank >= 0)
        printRank(mesh, Placement(scenario.layout, scenario.cluster), arguments.rank, arguments.json);
    else if (arguments.json)
        printAllJson(mesh);
    else
        printAll(mesh);
}

} // namespace

void addGroups(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("groups", "Process groups, with Megatron Core's names and in its order");
    auto arguments = std::make_shared<Arguments>();
    arguments->scenario.addTo(*command);
    command->add_option("--rank", arguments->rank, "Coordinates and groups of this rank")->check(CLI::NonNegativeNumber);
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
