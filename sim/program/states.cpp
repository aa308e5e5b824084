#include "sim/program/states.h"

#include <algorithm>

namespace sim {
namespace {

std::int64_t share(std::int64_t elements, int ranks)
{
    return (elements + ranks - 1) / ranks;
}

} // namespace

StateBytes StateBytes::of(const Training& training)
{
    const bool fullPrecision = elementBytes(training.precision) == 4;
    StateBytes bytes;
    bytes.parameter = fullPrecision ? 4 : 2;
    bytes.gradient = 4;
    const int moments = training.optimizer == Optimizer::adamw ? 8 : 0;
    bytes.optimizer = moments + (fullPrecision ? 0 : 4);
    return bytes;
}

ShardRanks ShardRanks::of(const Layout& layout)
{
    const int routed = std::max(1, layout.worldSize() / (layout.etp * layout.ep * layout.pp));
    return {.dense = std::max(1, layout.dpShard), .routed = routed};
}

ModelStates modelStates(const Scenario& scenario, ParameterElements elements)
{
    const StateBytes bytes = StateBytes::of(scenario.training);
    const ShardRanks ranks = ShardRanks::of(scenario.layout);
    const int zero = scenario.layout.zeroStage;
    const bool pipelined = scenario.layout.pp > 1;
    const std::int64_t whole = elements.dense + elements.routed;
    const std::int64_t sharded = share(elements.dense, ranks.dense) + share(elements.routed, ranks.routed);

    ModelStates states;
    states.parameterElements = whole;
    states.parameters = (zero >= 3 ? sharded : whole) * bytes.parameter;
    states.buffers = zero >= 3 && pipelined ? whole * bytes.parameter : 0;
    states.gradients = (zero >= 2 ? sharded : whole) * bytes.gradient;
    states.optimizer = (zero >= 1 ? sharded : whole) * bytes.optimizer;
    return states;
}

} // namespace sim
