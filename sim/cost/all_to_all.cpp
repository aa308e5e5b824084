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

int copiesOfToken(const Scenario& scenario)
{
    return scenario.training.moe.sendOncePerNode ? std::max(1, scenario.model.numExpertsPerTok) : 1;
}

AllToAllRoutes allToAllRoutes(const GroupShape& group, const Cluster& cluster, int copies)
{
    AllToAllRoutes routes{.nodeTier = outermostInNode(cluster), .members = static_cast<double>(group.size)};
    const auto tier = asIndex(std::max(0, routes.nodeTier));
    const int nodes = routes.nodeTier < 0 ? group.size : tier < group.domains.size() ? group.domains[tier] : 1;
    routes.membersOfNode = routes.members / nodes;
    routes.isOnce = copies > 1;
    if (routes.isOnce) {
        routes.leaving = nodes > 1 ? sharedCopies(nodes, copies) : 1;
        routes.taken = sharedCopies(group.size, copies);
    }
    return routes;
}

} // namespace sim
