#include "live/model/rotary.h"

#include "sim/index.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace live {
namespace {

using sim::asIndex;
using sim::RopeScalingKind;

constexpr double kTurn = 2 * std::numbers::pi;

/// Slow pairs by the factor, fast ones not, those between by their number of turns.
double asLlama3(const sim::RopeScaling& scaling, double frequency)
{
    const double turns = scaling.originalLength * frequency / kTurn;
    const double between = (turns - scaling.lowFrequencyFactor) / (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
    const double kept = std::clamp(between, 0.0, 1.0);
    return kept * frequency + (1 - kept) * frequency / scaling.factor;
}

/// Equation 17 of the paper: the pair, not rounded, that turns so often in the original length.
double pairOfTurns(const sim::Model& model, int width, double turns)
{
    return width * std::log(model.ropeScaling.originalLength / (turns * kTurn)) / (2 * std::log(model.ropeTheta));
}

/// A straight line over the pairs between the fast and the slow ones.
void asYarn(const sim::Model& model, int width, std::vector<double>& frequencies)
{
    const sim::RopeScaling& scaling = model.ropeScaling;
    double first = pairOfTurns(model, width, scaling.betaFast), last = pairOfTurns(model, width, scaling.betaSlow);
    if (scaling.truncate) {
        first = std::floor(first);
        last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, width - 1.0);
    if (first == last)
        last += 0.001; // as Hugging Face's
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
        const double slowed = std::clamp((static_cast<double>(pair) - first) / (last - first), 0.0, 1.0);
        frequencies[pair] = frequencies[pair] / scaling.factor * slowed + frequencies[pair] * (1 - slowed);
    }
}

double yarnScale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

} // namespace

std::vector<double> rotaryFrequencies(const sim::Model& model, int width)
{
    const sim::RopeScaling& scaling = model.ropeScaling;
    std::vector<double> frequencies(asIndex(width / 2));
    for (std::size_t pair = 0; pair < frequencies.size(); ++pair) {
        double& frequency = frequencies[pair];
        frequency = std::pow(model.ropeTheta, -2.0 * static_cast<double>(pair) / width);
        if (scaling.kind == RopeScalingKind::linear)
            frequency /= scaling.factor;
        if (scaling.kind == RopeScalingKind::llama3)
            frequency = asLlama3(scaling, frequency);
    }
    if (scaling.kind == RopeScalingKind::yarn)
        asYarn(model, width, frequencies);
    return frequencies;
}

double rotaryLength(const sim::Model& model)
{
    const sim::RopeScaling& scaling = model.ropeScaling;
    if (scaling.kind != RopeScalingKind::yarn)
        return 1;
    if (scaling.attentionFactor > 0)
        return scaling.attentionFactor;
    if (scaling.mscale > 0 && scaling.mscaleAllDim > 0)
        return yarnScale(scaling.factor, scaling.mscale) / yarnScale(scaling.factor, scaling.mscaleAllDim);
    return yarnScale(scaling.factor, 1);
}

double scoreFactor(const sim::Model& model)
{
    const sim::RopeScaling& scaling = model.ropeScaling;
    if (!model.isLatentAttention() || scaling.kind == RopeScalingKind::none || scaling.mscaleAllDim == 0)
        return 1;
    const double scale = yarnScale(scaling.factor, scaling.mscaleAllDim);
    return scale * scale;
}

Rotary::Rotary(RankContext& context, int width)
    : m_context(context), m_width(width), m_length(rotaryLength(context.scenario.model)),
      m_frequencies(context.buffer(DType::f64, 1, width / 2))
{
    const std::vector<double> frequencies = rotaryFrequencies(context.scenario.model, width);
    context.queue->fromHost(frequencies.data(), m_frequencies);
}

void Rotary::rotate(const Tensor& x, const Tensor& positions, bool inverse) const
{
    m_context.queue->rotate(x, m_width, positions, {m_frequencies, m_length}, inverse);
}

} // namespace live
