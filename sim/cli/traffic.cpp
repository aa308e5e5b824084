#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/analysis/explain_traffic.h"
#include "sim/simulation.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <memory>

namespace sim::cli {
namespace {

struct Arguments {
    ScenarioArguments scenario;
    bool json = false;
};

constexpr std::array kRoles = {GroupRole::tp,   GroupRole::cp,      GroupRole::ep,          GroupRole::exptTp,
                               GroupRole::pp,   GroupRole::dpShard, GroupRole::dpReplicate, GroupRole::exptDp,
                               GroupRole::embd, GroupRole::copies};

/// What a number is, down to the shapes: its formula in symbols and in numbers, and each term alike.
nlohmann::ordered_json becauseOf(const Explanation& why)
{
    nlohmann::ordered_json json{{"name", why.name}, {"symbol", why.result.symbol}, {"value", why.result.value}};
    if (why.formula)
        json.update({{"formula", why.inSymbols()}, {"numbers", why.inNumbers()}});
    if (!why.convention.empty())
        json["convention"] = why.convention;
    if (!why.source.empty())
        json["source"] = why.source;
    nlohmann::ordered_json terms = nlohmann::ordered_json::array();
    for (const Term& term : why.terms) {
        nlohmann::ordered_json one{{"symbol", term.quantity.symbol}, {"value", term.quantity.value}, {"meaning", term.meaning}};
        if (term.because)
            one["because"] = becauseOf(*term.because);
        terms.push_back(std::move(one));
    }
    json["terms"] = std::move(terms);
    return json;
}

void printJson(const Simulation& simulation, const TrafficSums& sums, const LinkLoad& load)
{
    nlohmann::ordered_json tiers = nlohmann::ordered_json::array(), groups = nlohmann::ordered_json::array();
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        const Tier& of = simulation.scenario().cluster.tiers[static_cast<std::size_t>(tier)];
        tiers.push_back({{"name", of.name},
                         {"bytes", sums.ofTier(tier)},
                         {"bandwidth_gbs_per_gpu", of.bandwidthGBs},
                         {"mean_load", load.share(tier, 0)}});
        if (sums.ofTier(tier) > 0)
            tiers.back()["because"] = becauseOf(explainTier(simulation, tier));
    }
    for (const GroupRole role : kRoles) {
        if (sums.ofRole(role) == 0)
            continue;
        nlohmann::ordered_json byTier = nlohmann::ordered_json::array();
        for (int tier = 0; tier < sums.tiers(); ++tier)
            byTier.push_back(sums.bytes(tier, role));
        groups.push_back({{"group", groupRoleName(role)},
                          {"purpose", trafficPurposeName(trafficPurposeOf(role))},
                          {"bytes", sums.ofRole(role)},
                          {"by_tier", byTier},
                          {"because", becauseOf(explainTraffic(simulation, role))}});
    }
    nlohmann::ordered_json exposed;
    for (int purpose = 0; purpose < kTrafficPurposeCount; ++purpose)
        exposed[trafficPurposeName(static_cast<TrafficPurpose>(purpose))] =
            exposedShare(simulation.metrics().exposedComm, static_cast<TrafficPurpose>(purpose));
    const nlohmann::ordered_json json{{"unit", "bytes sent in a step by all ranks"},
                                      {"world_size", simulation.metrics().worldSize},
                                      {"total", sums.total()},
                                      {"tiers", tiers},
                                      {"groups", groups},
                                      {"exposed_comm", exposed}};
    std::cout << json.dump() << "\n";
}

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
    for (const GroupRole role : kRoles) {
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
    const TrafficSenders senders = simulation->traffic().senders();
    const TrafficSums sums = senders.total();
    const auto stepNs = static_cast<std::int64_t>(simulation->metrics().stepTimeSeconds * 1e9 + 0.5);
    const LinkLoad load = simulation->linkLoad(senders, {.beginNs = 0, .endNs = std::max<std::int64_t>(stepNs, 1), .bins = 1});
    if (arguments.json)
        return printJson(*simulation, sums, load);
    std::cout << titleOf(simulation->scenario(), arguments.scenario) << "\n\n";
    print(*simulation, sums, load);
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
