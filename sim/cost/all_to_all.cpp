#include "sim/cost/all_to_all.h"

#include "sim/cost/cost.h"
#include "sim/index.h"
#include "sim/model/token_copies.h"

#include <algorithm>

namespace sim {
namespace {

int outermostInNode(const Cluster& cluster)
{
    int tier = -1;
    for (int next = 0; next < static_cast<int>(cluster.tiers.size()); ++next)
        if (const Port port = portOf(cluster, next); port == Port::inner || port == Port::node)
            tier = next;
    return tier;
}

} // namespace

TokenChoice TokenChoice::of(const Scenario& scenario)
{
    const Model& model = scenario.model;
    return {.isOncePerNode = scenario.training.moe.sendOncePerNode && model.numExperts > 0,
            .copies = std::max(1, model.numExpertsPerTok),
            .experts = model.numExperts,
            .groups = model.expertGroups,
            .chosenGroups = model.chosenGroups};
}

AllToAllRoutes allToAllRoutes(const GroupShape& group, const Cluster& cluster, const TokenChoice& choice)
{
    AllToAllRoutes routes{.nodeTier = outermostInNode(cluster), .members = static_cast<double>(group.size)};
    const auto tier = asIndex(std::max(0, routes.nodeTier));
    const int nodes = routes.nodeTier < 0 ? group.size : tier < group.domains.size() ? group.domains[tier] : 1;
    routes.membersOfNode = routes.members / nodes;
    routes.isOnce = choice.isOncePerNode;
    if (routes.isOnce) {
        const auto shared = [&choice](int places) {
            return sharedCopies(reachablePlaces(places, choice.groups, choice.chosenGroups), choice.copies,
                                std::max(1.0, static_cast<double>(choice.experts) / places));
        };
        routes.leaving = nodes > 1 ? shared(nodes) : 1;
        routes.taken = shared(group.size);
    }
    return routes;
}

} // namespace sim
