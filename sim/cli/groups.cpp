#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/table.h"
#include "sim/simulate/plan_schedule.h"

#include "sim/answers/answers.h"

#include <algorithm>
#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct GroupsArguments {
    ScenarioArguments scenario;
    int rank = -1;
    bool json = false;
};

/// "0-7", "0 128 256 ... 1920": ranks that count on without a gap as a range, of others at most `most`.
std::string rankList(const std::vector<int>& ranks, std::size_t most)
{
    if (ranks.size() > 2 && ranks.back() - ranks.front() == static_cast<int>(ranks.size()) - 1 &&
        std::is_sorted(ranks.begin(), ranks.end()))
        return std::to_string(ranks.front()) + "-" + std::to_string(ranks.back());
    std::string text;
    const bool cut = ranks.size() > most;
    for (std::size_t i = 0; i < (cut ? most - 1 : ranks.size()); ++i)
        text += (i > 0 ? " " : "") + std::to_string(ranks[i]);
    return cut ? text + " ... " + std::to_string(ranks.back()) : text;
}

/// "[0-7] [8-15] [16-23] ..."
std::string firstGroups(const Mesh& mesh, ProcessGroup kind)
{
    constexpr int kGroups = 3;
    constexpr std::size_t kRanks = 4;
    std::string text;
    for (int group = 0; group < std::min(mesh.groupCount(kind), kGroups); ++group)
        text += (group > 0 ? " [" : "[") + rankList(mesh.members(kind, group), kRanks) + "]";
    return mesh.groupCount(kind) > kGroups ? text + " ..." : text;
}

template <typename Visit>
void forEachKind(Visit visit)
{
    for (int k = 0; k < kProcessGroupCount; ++k)
        visit(static_cast<ProcessGroup>(k));
}

/// Group by group, so that a million ranks need no memory.
void printAllJson(const Mesh& mesh)
{
    std::cout << "{\"world_size\":" << mesh.worldSize() << ",\"groups\":{";
    forEachKind([&](ProcessGroup kind) {
        std::cout << (kind == ProcessGroup::tp ? "\"" : ",\"") << processGroupName(kind) << "\":[";
        for (int group = 0; group < mesh.groupCount(kind); ++group) {
            std::cout << (group > 0 ? ",[" : "[");
            for (int i = 0; i < mesh.groupSize(kind); ++i)
                std::cout << (i > 0 ? "," : "") << mesh.member(kind, group, i);
            std::cout << "]";
        }
        std::cout << "]";
    });
    std::cout << "}}\n";
}

void printAll(const Mesh& mesh)
{
    std::cout << counted(mesh.worldSize(), "rank") << "\n\n";
    Table table({"group", "groups", "ranks each", "first groups", "who they are"});
    forEachKind([&](ProcessGroup kind) {
        table.add({std::string(processGroupName(kind)), grouped(mesh.groupCount(kind)), grouped(mesh.groupSize(kind)),
                   firstGroups(mesh, kind), std::string(processGroupPurpose(kind))});
    });
    table.print(std::cout);
}

void printRank(const Mesh& mesh, const Placement& placement, const Layout& layout, int rank)
{
    constexpr std::size_t kShown = 16;
    const Coordinates c = mesh.coordinates(rank);
    std::cout << "rank " << rank << ": tp " << c.tp << ", cp " << c.cp << ", dp " << c.dp << ", pp " << c.pp;
    if (layout.ep > 1)
        std::cout << "; experts: etp " << c.exptTp << ", ep " << c.ep << ", dp " << c.exptDp;
    std::cout << "; GPU " << placement.gpuOfNode(rank) << " of node " << placement.node(rank) << "\n\n";
    Table table({"group", "ranks", "place", "members"});
    forEachKind([&](ProcessGroup kind) {
        if (const int group = mesh.groupOf(kind, rank); group >= 0)
            table.add({std::string(processGroupName(kind)), grouped(mesh.groupSize(kind)), grouped(mesh.indexInGroup(kind, rank)),
                       "[" + rankList(mesh.members(kind, group), kShown) + "]"});
    });
    table.print(std::cout);
}

void run(const GroupsArguments& arguments)
{
    const Scenario scenario = arguments.scenario.read();
    const Mesh mesh = attributed(arguments.scenario.file, [&] { return Mesh(scenario.layout, endsOf(planSchedule(scenario))); });
    if (arguments.rank >= mesh.worldSize())
        throw UsageError("--rank: there is no rank " + std::to_string(arguments.rank) + "; the layout has ranks 0 to " +
                         std::to_string(mesh.worldSize() - 1));
    if (arguments.rank >= 0) {
        const Placement placement(scenario.layout, scenario.cluster);
        if (arguments.json)
            std::cout << rankAnswer(mesh, placement, arguments.rank).dump() << "\n";
        else
            printRank(mesh, placement, scenario.layout, arguments.rank);
    } else if (arguments.json) {
        printAllJson(mesh);
    } else {
        printAll(mesh);
    }
}

} // namespace

void addGroups(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("groups", "Process groups, with Megatron Core's names and in its order");
    auto arguments = std::make_shared<GroupsArguments>();
    arguments->scenario.addTo(*command);
    command->add_option("--rank", arguments->rank, "Coordinates and groups of this rank")
        ->type_name("N")
        ->check(wholeNumberFrom(0));
    command->add_flag("--json", arguments->json, "One JSON document");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
