#include "sim/scenario/resolve/resolver.h"

namespace sim {

void Resolver::readLayout(const Block& top)
{
    const Block from = block(top, "layout");
    Layout& layout = m_out.scenario.layout;
    from.read("tp", layout.tp);
    from.read("cp", layout.cp);
    from.read("pp", layout.pp);
    from.read("dp", layout.dp);
    from.read("ep", layout.ep);
    layout.etp = layout.tp;
    from.read("etp", layout.etp);
    from.read("order", layout.order);
    from.read("sequence_parallel", layout.sequenceParallel);
    from.read("zero_stage", layout.zeroStage);
    layout.dpShard = clampToInt(std::int64_t{layout.dp} * layout.cp);
    from.read("dp_shard", layout.dpShard);
    layout.reshardAfterForward = layout.pp == 1;
    from.read("reshard_after_forward", layout.reshardAfterForward);
    from.read("reduce_each_microbatch", layout.reduceEachMicrobatch);
    if (const Json* placement = from.find("placement")) {
        if (placement->is_array()) {
            layout.placement = PlacementRule::explicitList;
            from.read("placement", layout.explicitPlacement);
        } else {
            layout.placement = *placement == "round-robin" ? PlacementRule::roundRobin : PlacementRule::packed;
        }
    }
}

} // namespace sim
