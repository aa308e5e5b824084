#include "sim/answers/traffic_parts.h"

#include "sim/answers/answers.h"

#include <algorithm>

namespace sim {

LinkLoad loadOfStep(const Simulation& simulation, const TrafficSenders& senders)
{
    const auto stepNs = static_cast<std::int64_t>(simulation.metrics().stepTimeSeconds * 1e9 + 0.5);
    return simulation.linkLoad(senders, {.beginNs = 0, .endNs = std::max<std::int64_t>(stepNs, 1), .bins = 1});
}

Answer trafficAnswer(const Simulation& simulation)
{
    const TrafficSenders senders = simulation.traffic().senders();
    const TrafficSums sums = senders.total();
    const LinkLoad load = loadOfStep(simulation, senders);
    Answer tiers = Answer::array(), groups = Answer::array();
    for (int tier = 0; tier < sums.tiers(); ++tier) {
        const Tier& of = simulation.scenario().cluster.tiers[static_cast<std::size_t>(tier)];
        tiers.push_back({{"name", of.name},
                         {"bytes", sums.ofTier(tier)},
                         {"bandwidth_gbs_per_gpu", of.bandwidthGBs},
                         {"mean_load", load.share(tier, 0)}});
    }
    for (const GroupRole role : kTrafficRoles) {
        if (sums.ofRole(role) == 0)
            continue;
        Answer byTier = Answer::array();
        for (int tier = 0; tier < sums.tiers(); ++tier)
            byTier.push_back(sums.bytes(tier, role));
        groups.push_back({{"group", groupRoleName(role)},
                          {"purpose", trafficPurposeName(trafficPurposeOf(role))},
                          {"bytes", sums.ofRole(role)},
                          {"by_tier", byTier}});
    }
    Answer exposed;
    for (int purpose = 0; purpose < kTrafficPurposeCount; ++purpose)
        exposed[trafficPurposeName(static_cast<TrafficPurpose>(purpose))] =
            exposedShare(simulation.metrics().exposedComm, static_cast<TrafficPurpose>(purpose));
    return {{"unit", "bytes sent in a step by all ranks"},
            {"world_size", simulation.metrics().worldSize},
            {"total", sums.total()},
            {"tiers", tiers},
            {"groups", groups},
            {"exposed_comm", exposed}};
}

} // namespace sim
