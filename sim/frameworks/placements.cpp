#include "sim/frameworks/placements.h"

#include <algorithm>
#include <cstddef>

namespace sim::frameworks {

std::vector<int> nanotronLayers(const NanotronSizes& sizes, int stages)
{
    if (sizes.layers < 1 || sizes.hidden < 1 || sizes.heads < 1 || sizes.intermediate < 1 || sizes.vocabulary < 1 || stages < 1)
        return {};
    const double hidden = sizes.hidden, ofHeads = sizes.hidden / sizes.heads * sizes.heads;
    const double layer = 4 * ofHeads * hidden + 3.0 * sizes.intermediate * hidden; // get_block_compute_costs
    const double all = layer * sizes.layers + hidden * sizes.vocabulary;
    std::vector<int> counts(static_cast<std::size_t>(stages), 0);
    int stage = 0;
    for (int i = 0; i < sizes.layers; ++i) {
        ++counts[static_cast<std::size_t>(stage)];
        if (stage + 1 < stages && layer * (i + 1) > all * (stage + 1) / stages)
            ++stage;
    }
    return counts;
}

int titanShards(const Layout& layout)
{
    const bool isPlain = layout.zeroStage == 0 && layout.dp > 1 && layout.cp == 1;
    return isPlain ? 1 : std::min(layout.dp, std::max(1, layout.dpShard / layout.cp));
}

int titanExpertUnit(const TitanDegrees& degrees)
{
    return degrees.etp == degrees.tp ? degrees.cp : degrees.cp * degrees.tp;
}

int titanExpertRanks(const TitanDegrees& degrees)
{
    return degrees.shards * titanExpertUnit(degrees);
}

bool titanExpertsFit(const TitanDegrees& degrees, int ep)
{
    return ep % titanExpertUnit(degrees) == 0 && titanExpertRanks(degrees) % ep == 0;
}

} // namespace sim::frameworks
