#include "sim/program/states.h"

#include "sim/checked.h"

#include <algorithm>
#include <numeric>

namespace sim {
int StateBytes::ofUpdate() const
{
    return gradient + 2 * optimizer + (hasMaster ? 1 : 2) * parameter;
}

int StateBytes::ofHostUpdate() const
{
    const int besides = 4 * hostGradient + (hasMaster ? 4 : 0) + parameter;
    return besides + ofUpdate() - gradient + hostGradient;
}

StateBytes StateBytes::of(const Training& training)
{
    constexpr int kWide = 4;
    const int computed = elementBytes(training.precision);
    const bool hasMaster = computed < kWide && training.masterWeights && !training.stack.parametersAreMaster;
    const int moments = training.optimizer == Optimizer::adamw ? 2 * training.momentBytes : 0;
    return {.parameter = hasMaster || !training.masterWeights ? computed : kWide,
            .gradient = training.gradientBytes,
            .optimizer = moments + (hasMaster ? kWide : 0),
            .computed = computed,
            .reducedGradient = training.stack.reducesWide ? std::max(kWide, training.gradientBytes) : training.gradientBytes,
            .hasMaster = hasMaster,
            .hostGradient = training.masterWeights ? std::max(kWide, training.gradientBytes) : training.gradientBytes};
}

ParameterElements& ParameterElements::operator+=(const ParameterElements& other)
{
    dense = checkedAdd(dense, other.dense);
    routed = checkedAdd(routed, other.routed);
    frozenDense = checkedAdd(frozenDense, other.frozenDense);
    frozenRouted = checkedAdd(frozenRouted, other.frozenRouted);
    narrow = checkedAdd(narrow, other.narrow);
    return *this;
}

double frozenMatrixBytes(const Scenario& scenario)
{
    return scenario.model.lora.isOn() ? scenario.model.lora.baseBytes(elementBytes(scenario.training.precision))
                                      : elementBytes(scenario.training.precision);
}

std::int64_t sparedByFrozen(const Scenario& scenario, std::int64_t elements)
{
    return checkedScale(elements, elementBytes(scenario.training.precision) - frozenMatrixBytes(scenario));
}

std::int64_t narrowCopyBytes(const Scenario& scenario, std::int64_t weights)
{
    const LoraBase base = scenario.model.lora.isOn() ? scenario.model.lora.base : LoraBase::wide;
    if (!scenario.training.stack.keepsNarrowWeights || base == LoraBase::nf4) // which a product's weights are made of each time
        return 0;
    constexpr int kScaledTogether = 32, kScaledTogetherIn4Bits = 16; // elements, by a scale of one byte
    switch (scenario.training.precision) {
    case Precision::fp8:
        return checkedMultiply(weights, (scenario.cluster.gpu.peakTflops.contains(Precision::mxfp8) ? 1 : 2) -
                                            (base == LoraBase::fp8 ? 1 : 0)); // the weights themselves are one
    case Precision::mxfp8:
        return checkedMultiply(2, checkedAdd(weights, ceilDivide(weights, kScaledTogether)));
    case Precision::nvfp4:
        return checkedMultiply(2, ceilDivide(weights, 2) + ceilDivide(weights, kScaledTogetherIn4Bits));
    default:
        return 0;
    }
}

std::int64_t narrowThroughStep(const Scenario& scenario, ParameterElements elements)
{
    if (parameterGathering(scenario) != ParameterGathering::eachUse)
        return elements.narrow;
    const ShardRanks ranks = ShardRanks::of(scenario.layout);
    if (ranks.dense == 1)
        return elements.narrow;
    return ranks.routed == 1 ? std::min(elements.narrow, elements.routed) : 0; // experts' products are all narrow
}

int ringBackwardFactor(const Training& training)
{
    constexpr int kWide = 4;
    return 1 + (training.stack.ringGradientsWide ? kWide / elementBytes(training.precision) : 1);
}

int expertDataRanks(const Layout& layout)
{
    return std::max(1, layout.worldSize() / std::max(1, layout.etp * layout.ep * layout.pp));
}

ShardRanks ShardRanks::of(const Layout& layout)
{
    const int dense = std::max(1, layout.dpShard), replicas = std::max(1, layout.dp * layout.cp / dense);
    const int expertData = expertDataRanks(layout);
    return {.dense = dense, .routed = expertData / std::gcd(expertData, replicas)};
}

ParameterElements ShardRanks::cut(ParameterElements elements) const
{
    if (dense == 1)
        elements.dense = elements.frozenDense = 0;
    if (routed == 1)
        elements.routed = elements.frozenRouted = 0;
    return elements;
}

std::int64_t reductionBufferBytes(const Scenario& scenario, ParameterElements elements)
{
    const std::int64_t bucket = scenario.training.stack.reduceBucket;
    const ParameterElements trained = elements.trained();
    const std::int64_t all = checkedAdd(trained.dense, trained.routed);
    if (scenario.layout.zeroStage < 2 || all == 0)
        return 0;
    return (Checked(bucket) + std::min(bucket, all)) * StateBytes::of(scenario.training).gradient;
}

double gradientsOnHost(const Scenario& scenario)
{
    const Training& training = scenario.training;
    return training.stack.offloadsGradients && reducesEveryMicrobatch(scenario) ? training.offload.optimizer : 0;
}

ModelStates modelStates(const Scenario& scenario, ParameterElements elements)
{
    const StateBytes bytes = StateBytes::of(scenario.training);
    const ShardRanks ranks = ShardRanks::of(scenario.layout);
    const int zero = scenario.layout.zeroStage;
    return countedAs("parameters of a rank", [&] {
        const auto wholeOf = [](ParameterElements of) { return Checked(of.dense) + of.routed; };
        const auto shardOf = [&ranks](ParameterElements of) {
            return Checked(ceilDivide(of.dense, ranks.dense)) + ceilDivide(of.routed, ranks.routed);
        };
        const Checked whole = wholeOf(elements), sharded = shardOf(elements);
        const Checked trained = wholeOf(elements.trained()), trainedShard = shardOf(elements.trained());

        ModelStates states;
        states.parameterElements = whole;
        // What is not trained needs no copy that an optimizer could update.
        const auto heldOf = [&](ParameterElements of) { return zero >= 3 ? shardOf(of) : wholeOf(of); };
        const ParameterElements frozen{.dense = elements.frozenDense, .routed = elements.frozenRouted};
        states.frozenSpared =
            heldOf(frozen) * (bytes.parameter - bytes.computed) + sparedByFrozen(scenario, heldOf(elements.matrices()));
        states.parameters = (zero >= 3 ? sharded : whole) * bytes.parameter - states.frozenSpared;
        states.narrowWeights = narrowCopyBytes(scenario, narrowThroughStep(scenario, elements));
        states.buffers = states.narrowWeights;
        if (zero >= 3 && !scenario.layout.reshardAfterForward)
            states.buffers +=
                wholeOf(ranks.cut(elements)) * bytes.computed - sparedByFrozen(scenario, wholeOf(ranks.cut(elements.matrices())));
        const double onHost = scenario.training.offload.optimizer;
        const Checked gradients = (zero >= 2 ? trainedShard : trained) * bytes.gradient;
        const std::int64_t hostGradients = checkedScale(gradients, gradientsOnHost(scenario));
        states.gradients = gradients - hostGradients;
        const Checked optimizer = (zero >= 1 ? trainedShard : trained) * bytes.optimizer;
        const std::int64_t hostStates = checkedScale(optimizer, onHost);
        states.hostOptimizer = checkedAdd(hostStates, hostGradients);
        states.optimizer = optimizer - hostStates;
        return states;
    });
}

} // namespace sim
