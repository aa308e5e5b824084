#include "sim/cost/all_reduce.h"

#include "sim/index.h"

namespace sim {

AllReduceRoute allReduceRoute(const GroupShape& group, const Cluster& cluster)
{
    if (group.size < 2)
        return {};
    const double n = group.size;
    const double ring = 2 * (n - 1) / n, switches = (n + 1) / n;
    const bool canAdd = cluster.tiers[asIndex(group.spanningTier())].inNetworkReduction;
    const bool inNetwork = canAdd && switches / cluster.efficiency.inNetwork < ring;
    return {.inNetwork = inNetwork, .sentShare = inNetwork ? switches : ring};
}

} // namespace sim
