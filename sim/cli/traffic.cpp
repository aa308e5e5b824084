#include "sim/cli/command.h"
#include "sim/cli/table.h"

#include "sim/answers/answers.h"
#include "sim/answers/traffic_parts.h"
#include "sim/text/rounded_parts.h"
#include "sim/text/spoken_name.h"

#include <iostream>
#include <utility>
#include <vector>

namespace sim::cli {
namespace {

void print(const Simulation& simulation, const TrafficSums& sums, const LinkLoad& load)
{
    const std::vector<Tier>& tiers = simulation.scenario().cluster.tiers;
    const Metrics& metrics = simulation.metrics();
    if (sums.total() == 0) {
        std::cout << (metrics.worldSize == 1 ? "One rank sends nothing.\n" : "No rank sends anything.\n");
        return;
    }
    const ByteUnit unit(static_cast<double>(sums.total())), rankUnit(static_cast<double>(sums.total() / metrics.worldSize));
    const auto text = [&unit](std::int64_t bytes) { return unit.text(static_cast<double>(bytes)); };
    const auto rankText = [&](std::int64_t bytes) { return rankUnit.text(static_cast<double>(bytes / metrics.worldSize)); };
    std::vector<std::string> header{"process group"};
    for (const Tier& tier : tiers)
        header.push_back(spokenNetwork(tier.name) + " " + unit.name());
    header.insert(header.end(), {std::string("total ") + unit.name(), std::string("a rank ") + rankUnit.name(), "exposed"});
    Table table(header);
    // To hundredths: in tenths what rounding leaves would have to go to a part that is read in tenths elsewhere.
    constexpr int kDecimals = 2;
    std::vector<double> exposed; // [dimension]
    for (const Dimension dimension : kDimensions)
        exposed.push_back(metrics.exposedComm[dimension]);
    exposed = roundedParts(std::move(exposed), metrics.exposedComm.total(), kDecimals);
    const auto exposedText = [](double share) { return fixed(100 * share, kDecimals) + " %"; };
    Dimension before{};
    bool isFirst = true;
    for (const CommunicatorRole role : kTrafficRoles) {
        if (sums.ofRole(role) == 0)
            continue;
        const Dimension purpose = dimensionOf(role);
        std::vector<std::string> row{communicatorRoleName(role)};
        for (int tier = 0; tier < sums.tiers(); ++tier)
            row.push_back(text(sums.bytes(tier, role)));
        row.push_back(text(sums.ofRole(role)));
        row.push_back(rankText(sums.ofRole(role)));
        // Exposed time is known a purpose, not a group: said on the purpose's first line.
        row.push_back(isFirst || purpose != before ? exposedText(exposed[asIndex(purpose)]) : "");
        table.add(std::move(row));
        before = purpose;
        isFirst = false;
    }
    std::vector<std::string> total{"total"}, loads{"mean load"};
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        total.push_back(text(sums.ofTier(tier)));
        loads.push_back(percent(load.share(tier, 0)));
    }
    total.insert(total.end(), {text(sums.total()), rankText(sums.total()), exposedText(metrics.exposedComm.total())});
    loads.insert(loads.end(), {"", "", ""});
    table.add(std::move(total));
    table.add(std::move(loads));
    table.print(std::cout);
    std::cout << "\nBytes sent in a step, all ranks together, each on the innermost tier that joins its two ends.\n";
}

void runTraffic(const AnswerArguments& arguments)
{
    const auto simulation = arguments.scenario.simulated();
    if (arguments.json) {
        std::cout << trafficAnswer(*simulation).dump() << "\n";
        return;
    }
    const TrafficSenders senders = Traffic(*simulation).senders();
    std::cout << titleOf(simulation->scenario(), arguments.scenario) << "\n\n";
    print(*simulation, senders.total(), loadOfStep(*simulation, senders));
}

} // namespace

void addTraffic(CLI::App& app)
{
    addAnswer(app, "traffic", "Bytes sent in a step, by process group and link tier", runTraffic,
              std::make_shared<AnswerArguments>(), "One JSON document, in bytes");
}

} // namespace sim::cli
