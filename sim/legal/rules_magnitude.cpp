// Numbers that are sensible one by one and together larger than anything that exists, or can be counted. In floating point: a
// rule must not overflow itself. Where only the program or its prices can tell, sim/engine/range.h does.
#include "sim/legal/rules.h"
#include "sim/text/quoted.h"

#include "sim/checked.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace sim {

namespace {

/// Some hundred times the largest model that anyone has trained.
constexpr double kMostParameters = 1e15;
/// Bytes of one tensor on one rank: 16 PiB; a micro-batch has thousands.
constexpr double kMostTensorBytes = 0x1p54;
/// Together, as each alone in the schema.
constexpr double kMostFactor = 1e6;

double attentionWeights(const Model& m)
{
    const double h = m.hiddenSize, heads = m.numAttentionHeads;
    if (!m.isLatentAttention())
        return 2 * h * m.headDim * (heads + m.numKeyValueHeads);
    const double query = heads * (m.qkNopeHeadDim + m.qkRopeHeadDim);
    return (m.qLoraRank > 0 ? m.qLoraRank * (h + query) : h * query) + h * (m.kvLoraRank + m.qkRopeHeadDim) +
           m.kvLoraRank * heads * (m.qkNopeHeadDim + m.vHeadDim) + heads * m.vHeadDim * h;
}

/// Weights of all matrices, where a layer has so many of its routed experts.
double weights(const Model& m, double routedExperts)
{
    const double ahead = m.numNextnPredictLayers;
    const double layers = m.numHiddenLayers + ahead;
    const double moe = m.moeLayers() + (m.predictionKind().moe ? ahead : 0);
    const double projection = (m.gatedMlp ? 3.0 : 2.0) * m.hiddenSize;
    const double experts =
        projection * m.moeIntermediateSize * (routedExperts + m.numSharedExperts) + 1.0 * m.hiddenSize * m.numExperts;
    return layers * attentionWeights(m) + moe * experts + (layers - moe) * projection * m.intermediateSize +
           (1 + ahead) * m.hiddenSize * m.vocabSize + 2 * ahead * m.hiddenSize * m.hiddenSize;
}

double parametersOf(const Model& m)
{
    const double embedding = 1.0 * m.hiddenSize * m.vocabSize;
    return weights(m, m.numExperts) + (m.tieWordEmbeddings ? 0 : embedding) +
           (m.positionEmbedding == PositionEmbedding::learned ? 1.0 * m.maxPositionEmbeddings * m.hiddenSize : 0);
}

/// Keys that a token sees at least, on average over a sequence, added up over layers: half of the sequence, window or chunk.
double leastKeysSeen(const Model& m, double sequence)
{
    return 0.5 * (m.layersOf(LayerType::full) * sequence +
                  m.layersOf(LayerType::sliding) * std::min<double>(sequence, m.slidingWindow) +
                  m.layersOf(LayerType::chunked) * std::min<double>(sequence, m.attentionChunkSize));
}

/// The largest value from 1 to `now` that is `legal`; 0 if none. What is below a legal one is legal.
template <typename Legal>
std::int64_t largest(std::int64_t now, Legal legal)
{
    std::int64_t good = 0, bad = now;
    while (bad - good > 1) {
        const std::int64_t middle = good + (bad - good) / 2;
        (legal(middle) ? good : bad) = middle;
    }
    return good;
}

std::string nearest(std::int64_t value)
{
    return value > 0 ? "; nearest: " + std::to_string(value) : "";
}

} // namespace

void Rules::magnitudes()
{
    if (modelSize()) {
        microbatchSize();
        stepLength();
    }
    slowness();
}

bool Rules::modelSize()
{
    if (!sound({"/model"}))
        return false;
    const Model& m = m_scenario.model;
    const double parameters = parametersOf(m);
    if (parameters <= kMostParameters)
        return true;
    constexpr std::array<std::pair<const char*, int Model::*>, 6> kKeys{{{"num_experts", &Model::numExperts},
                                                                         {"moe_intermediate_size", &Model::moeIntermediateSize},
                                                                         {"num_hidden_layers", &Model::numHiddenLayers},
                                                                         {"intermediate_size", &Model::intermediateSize},
                                                                         {"hidden_size", &Model::hiddenSize},
                                                                         {"vocab_size", &Model::vocabSize}}};
    const std::string message = "has " + roughly(parameters) + " parameters, more than " + roughly(kMostParameters);
    for (const auto& [key, member] : kKeys) {
        Model smaller = m;
        const auto field = member; // clang 14 captures no structured binding
        const std::int64_t best = largest(m.*field, [&](std::int64_t value) {
            smaller.*field = static_cast<int>(value);
            return parametersOf(smaller) <= kMostParameters;
        });
        const std::string pointer = "/model/" + std::string(key);
        if (best > 0 && (isGiven(pointer) || key == kKeys.back().first)) {
            error(pointer, [&] { return "with " + named(pointer, m.*field) + " the model " + message + nearest(best); });
            return false;
        }
    }
    error("/model", [&] { return shownText(m.name) + " " + message; });
    return false;
}

/// Sizes of one micro-batch's tensors on one rank.
void Rules::microbatchSize()
{
    if (!sound({"/training", "/layout", "/schedule"}) || !m_worldIsSound)
        return;
    const Model& m = m_scenario.model;
    const Layout& l = m_scenario.layout;
    const Training& t = m_scenario.training;
    const double heads = std::max(1.0, 1.0 * m.numAttentionHeads / l.tp);
    const double headWidth = m.isLatentAttention() ? m.qkNopeHeadDim + m.qkRopeHeadDim + m.vHeadDim : 2.0 * m.headDim;
    // The widest of: residual stream, dense MLP, heads, logits with their softmax, tokens dealt to experts.
    const double experts = m.numExperts > 0 ? 1.0 * m.numExpertsPerTok * std::max(m.hiddenSize, m.moeIntermediateSize) : 0;
    const double width = std::max({1.0 * m.hiddenSize, 1.0 * m.intermediateSize / l.tp, heads * headWidth,
                                   1.0 * m.vocabSize / l.tp, experts, 1.0 * m.numSharedExperts * m.moeIntermediateSize / l.tp});
    constexpr double kBytes = 18; // at most, of one element: unfused loss
    const double slices = m_scenario.schedule.sequenceSlices;
    const auto bytes = [&](double microBatch, double sequence, bool fused) {
        const double tokens = sequence / slices / l.cp * microBatch;
        const double scores = fused ? 0 : heads * tokens * sequence * kBytes;
        return std::max(tokens * width * kBytes, scores);
    };
    const double now = bytes(t.microBatchSize, t.sequenceLength, t.flashAttention);
    if (now <= kMostTensorBytes)
        return;
    const std::string message =
        " make a tensor of " + roughly(now) + " bytes on one rank, more than " + roughly(kMostTensorBytes);
    const std::string length = named("/training/sequence_length", t.sequenceLength);
    const std::string batch = named("/training/micro_batch_size", t.microBatchSize);
    if (!t.flashAttention && bytes(t.microBatchSize, t.sequenceLength, true) <= kMostTensorBytes)
        return error("/training/attention",
                     [&] { return "the scores of " + batch + " x " + length + " squared" + message + "; nearest: flash2"; });
    const std::int64_t smaller = largest(t.microBatchSize, [&](std::int64_t value) {
        return bytes(static_cast<double>(value), t.sequenceLength, t.flashAttention) <= kMostTensorBytes;
    });
    if (smaller > 0)
        return error("/training/micro_batch_size", [&] { return batch + " x " + length + message + nearest(smaller); });
    error("/training/sequence_length", [&] {
        const std::int64_t shorter = largest(t.sequenceLength, [&](std::int64_t value) {
            return bytes(1, static_cast<double>(value), t.flashAttention) <= kMostTensorBytes;
        });
        return batch + " x " + length + message +
               nearest(shorter / sequenceUnit(m_scenario.layout) * sequenceUnit(m_scenario.layout));
    });
}

/// A step that takes longer than times are counted even if every kernel were as fast as its efficiency allows. What was measured
/// replaces efficiencies: then only the simulation can tell.
void Rules::stepLength()
{
    const Model& m = m_scenario.model;
    const Layout& l = m_scenario.layout;
    const Training& t = m_scenario.training;
    const Cluster& c = m_scenario.cluster;
    const auto peak = c.gpu.peakTflops.find(t.precision);
    if (!sound({"/training", "/layout", "/cluster"}) || !m_worldIsSound || peak == c.gpu.peakTflops.end() ||
        !c.efficiency.profile.kernels.empty())
        return;
    const double product = c.efficiency.gemm * std::max(1.0, t.stack.gemm) * std::max(1.0, c.efficiency.fp8Gemm);
    const double linear = (m.lora.isOn() ? 4 : 6) * weights(m, m.numExpertsPerTok) / product;
    const double headWidth = m.isLatentAttention() ? m.qkNopeHeadDim + m.qkRopeHeadDim + m.vHeadDim : 2.0 * m.headDim;
    double fastest = t.flashAttention ? std::max(c.efficiency.attentionForward, c.efficiency.attentionBackward) : product;
    for (const AttentionRate& rate : c.efficiency.attention)
        fastest = std::max({fastest, rate.forward, rate.backward});
    const double attention = (t.causal ? 6.0 : 12.0) * m.numAttentionHeads * headWidth / fastest; // x keys seen
    const double rate = peak->second * 1e12 * l.tp * l.cp * l.dp;
    const auto seconds = [&](double batch, double sequence) {
        return batch * sequence * (linear + attention * leastKeysSeen(m, sequence)) / rate;
    };
    const double most = static_cast<double>(kLongestNs) * 1e-9;
    const double now = seconds(t.globalBatchSize, t.sequenceLength);
    if (now <= most)
        return;
    const std::string message = named("/training/global_batch_size", t.globalBatchSize) + " x " +
                                named("/training/sequence_length", t.sequenceLength) + " at " + roughly(peak->second) +
                                " TFLOP/s a GPU keep a copy of the model busy for " + roughly(now) +
                                " s; times are counted up to " + kLongestText;
    const std::int64_t unit = std::int64_t{t.microBatchSize} * l.dp;
    const std::int64_t units = largest(t.globalBatchSize / std::max<std::int64_t>(unit, 1) + 1, [&](std::int64_t value) {
        return seconds(static_cast<double>(value * unit), t.sequenceLength) <= most;
    });
    const bool isAttention = attention * leastKeysSeen(m, t.sequenceLength) > linear;
    const std::int64_t shorter = largest(
        t.sequenceLength, [&](std::int64_t value) { return seconds(t.globalBatchSize, static_cast<double>(value)) <= most; });
    if ((isAttention || units == 0) && shorter > 0)
        return error("/training/sequence_length", [&] {
            return message + nearest(shorter / sequenceUnit(m_scenario.layout) * sequenceUnit(m_scenario.layout));
        });
    if (units > 0)
        return error("/training/global_batch_size", [&] { return message + nearestBatches(unit, units * unit); });
    error("/cluster/gpu/peak_tflops/" + std::string(toWord(kPrecisionWords, t.precision)),
          [&] { return message + "; nearest: " + roughly(1.01 * peak->second * now / most); });
}

/// Factors on one rank multiply.
void Rules::slowness()
{
    const auto& list = m_scenario.perturbations;
    if (!sound({"/perturbations"}))
        return;
    std::map<std::pair<PerturbationKind, int>, double> factors;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].kind != PerturbationKind::slowGpu && list[i].kind != PerturbationKind::slowLink)
            continue;
        double& factor = factors.try_emplace({list[i].kind, list[i].rank}, 1).first->second;
        const double before = factor;
        factor *= list[i].factor;
        if (factor > kMostFactor) {
            const bool isGpu = list[i].kind == PerturbationKind::slowGpu;
            error("/perturbations/" + text(static_cast<std::int64_t>(i)) + "/factor", [&] {
                return roughly(list[i].factor) + " makes " + (isGpu ? "kernels" : "transfers") + " of rank " +
                       text(list[i].rank) + ", which others make " + roughly(before) + " times as long already, " +
                       roughly(factor) + " times as long, more than " + roughly(kMostFactor) +
                       nearest(static_cast<std::int64_t>(kMostFactor / before));
            });
            factor = before;
        }
    }
}

} // namespace sim
