#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/answers/answers.h"
#include "sim/answers/traffic_parts.h"

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    bool json = false;
};

void print(const Simulation& simulation, const TrafficSums& sums, const LinkLoad& load)
{
    const std::vector<Tier>& tiers = simulation.scenario().cluster.tiers;
    const Metrics& metrics = simulation.metrics();
    if (sums.total() == 0) {
        std::cout << (metrics.worldSize == 1 ? "One rank sends nothing.\n" : "No rank sends anything.\n");
        return;
    }
    std::vector<std::string> header{"process group"};
    for (const Tier& tier : tiers)
        header.push_back(tier.name + " GiB");
    header.insert(header.end(), {"total GiB", "a rank GiB", "exposed"});
    Table table(header);
    TrafficPurpose before{};
    bool isFirst = true;
    for (const GroupRole role : kTrafficRoles) {
        if (sums.ofRole(role) == 0)
            continue;
        const TrafficPurpose purpose = trafficPurposeOf(role);
        std::vector<std::string> row{groupRoleName(role)};
        for (int tier = 0; tier < sums.tiers(); ++tier)
            row.push_back(gib(sums.bytes(tier, role)));
        row.push_back(gib(sums.ofRole(role)));
        row.push_back(gib(sums.ofRole(role) / metrics.worldSize));
        // Exposed time is known a purpose, not a group: said on the purpose's first line.
        row.push_back(isFirst || purpose != before ? percent(exposedShare(metrics.exposedComm, purpose)) : "");
        table.add(std::move(row));
        before = purpose;
        isFirst = false;
    }
    std::vector<std::string> total{"total"}, loads{"mean load"};
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        total.push_back(gib(sums.ofTier(tier)));
        loads.push_back(percent(load.share(tier, 0)));
    }
    total.insert(total.end(), {gib(sums.total()), gib(sums.total() / metrics.worldSize), percent(metrics.exposedComm.total())});
    loads.insert(loads.end(), {"", "", ""});
    table.add(std::move(total));
    table.add(std::move(loads));
    table.print(std::cout);
    std::cout << "\nBytes sent in a step, all ranks together, each on the innermost tier that joins its two ends.\n";
}

void run(const Arguments& arguments)
{
    const auto simulation = arguments.scenario.simulated();
    if (arguments.json) {
        std::cout << trafficAnswer(*simulation).dump() << "\n";
        return;
    }
    const TrafficSenders senders = simulation->traffic().senders();
    std::cout << titleOf(simulation->scenario(), arguments.scenario) << "\n\n";
    print(*simulation, senders.total(), loadOfStep(*simulation, senders));
}

} // namespace

void addTraffic(CLI::App& app)
{
    CLI::App* command = app.add_subcommand("traffic", "Bytes sent in a step, by process group and link tier, GiB");
    auto arguments = std::make_shared<Arguments>();
    arguments->scenario.addTo(*command);
    command->add_flag("--json", arguments->json, "One JSON document, in bytes");
    command->callback([arguments] { run(*arguments); });
}

} // namespace sim::cli
