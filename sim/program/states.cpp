#include "sim/program/states.h"

#include "sim/checked.h"

#include <algorithm>

namespace sim {
StateBytes StateBytes::of(const Training& training)
{
    const bool fullPrecision = elementBytes(training.precision) == 4;
    const int moments = training.optimizer == Optimizer::adamw ? 8 : 0;
    return {
        .parameter = fullPrecision ? 4 : 2, .gradient = training.gradientBytes, .optimizer = moments + (fullPrecision ? 0 : 4)};
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
    return countedAs("parameters of a rank", [&] {
        const Checked whole = Checked(elements.dense) + elements.routed;
        const Checked sharded = Checked(ceilDivide(elements.dense, ranks.dense)) + ceilDivide(elements.routed, ranks.routed);

        ModelStates states;
        states.parameterElements = whole;
        states.parameters = (zero >= 3 ? sharded : whole) * bytes.parameter;
        states.buffers = zero >= 3 && !scenario.layout.reshardAfterForward ? whole * bytes.parameter : Checked(0);
        states.gradients = (zero >= 2 ? sharded : whole) * bytes.gradient;
        states.optimizer = (zero >= 1 ? sharded : whole) * bytes.optimizer;
        return states;
    });
}

} // namespace sim
