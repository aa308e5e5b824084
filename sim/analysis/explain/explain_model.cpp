// FLOPs and parameters, from the shapes of the model.
#include "sim/analysis/explain/explainer.h"

#include "sim/engine/documents.h"
#include "sim/model/attention_pairs.h"
#include "sim/model/parameters.h"
#include "sim/scenario/words.h"

#include <algorithm>
#include <tuple>

namespace sim {
namespace {

/// Matrices of one attention block.
Explanation attentionWeights(const Model& model, ModelPart part)
{
    Account account("weights of attention", "A", weightsOf(model, part, TensorRole::attention), Unit::count);
    if (model.isLatentAttention())
        return account.close({},
                             "Multi-head latent attention: down and up projections of queries, keys and values, and the output.",
                             "DeepSeek-V2, section 2.1");
    const Formula h = account.term("h", model.hiddenSize, Unit::count, "hidden size");
    const Formula d = account.term("d", model.headDim, Unit::count, "head dimension");
    const Formula a = account.term("a", model.numAttentionHeads, Unit::count, "attention heads");
    const Formula k = account.term("k", model.numKeyValueHeads, Unit::count, "key and value heads");
    return account.close(h * d * (Formula::number(2) * a + Formula::number(2) * k),
                         "Query and output projections have all heads, keys and values those they have.", "");
}

/// Matrices that a token is multiplied with in one MLP; in a layer of experts those of all the experts it goes to.
Explanation mlpWeights(const Model& model, ModelPart part, Experts experts)
{
    const bool moe = part == ModelPart::moe, allExperts = experts == Experts::all;
    Account account(moe ? "weights of the experts" : "weights of the MLP", "M", weightsOf(model, part, TensorRole::mlp, experts),
                    Unit::count);
    const Formula n =
        account.term("n", model.gatedMlp ? 3 : 2, Unit::count, model.gatedMlp ? "gate, up and down" : "up and down");
    const Formula h = account.term("h", model.hiddenSize, Unit::count, "hidden size");
    if (!moe)
        return account.close(n * h * account.term("f", model.intermediateSize, Unit::count, "intermediate size"), "", "");
    const Formula f = account.term("f", model.moeIntermediateSize, Unit::count, "intermediate size of an expert");
    const Formula routed = account.term("k_e", allExperts ? model.numExperts : model.numExpertsPerTok, Unit::count,
                                        allExperts ? "experts" : "experts a token goes to");
    if (model.numSharedExperts == 0)
        return account.close(n * h * f * routed, "", "");
    return account.close(n * h * f * (routed + account.term("k_s", model.numSharedExperts, Unit::count, "shared experts")), "",
                         "");
}

/// Attention, MLP and router: the matrices of a layer, of these experts.
Formula matrices(Account& account, const Model& model, ModelPart part, Experts experts)
{
    const Formula sum =
        Formula::sum({account.term(attentionWeights(model, part)), account.term(mlpWeights(model, part, experts))});
    if (part == ModelPart::dense)
        return sum;
    return sum + account.term("r", weightsOf(model, part, TensorRole::router), Unit::count, "router: hidden size × experts");
}

double layerMatrices(const Model& model, ModelPart part, Experts experts)
{
    return weightsOf(model, part, TensorRole::attention) + weightsOf(model, part, TensorRole::mlp, experts) +
           weightsOf(model, part, TensorRole::router);
}

Explanation layerWeights(const Model& model, ModelPart part)
{
    const bool moe = part == ModelPart::moe;
    Account account(moe ? "weights a token meets in a layer of experts" : "weights a token meets in a dense layer",
                    moe ? "w_moe" : "w", layerMatrices(model, part, Experts::ofToken), Unit::count);
    return account.close(matrices(account, model, part, Experts::ofToken), "", "");
}

double adapterWeights(const Model& model)
{
    double weights = 0;
    for (const ModelPart part : kModelParts)
        weights += partCount(model, part) * weightsOf(model, part, TensorRole::adapter);
    return weights;
}

double multipliedWeights(const Model& model, ModelPart part)
{
    return layerMatrices(model, part, Experts::ofToken) + weightsOf(model, part, TensorRole::projection) +
           weightsOf(model, part, TensorRole::head);
}

} // namespace

Explanation Explainer::linearFlops() const
{
    const Model& model = m_scenario.model;
    const double linear = forwardFlopsPerToken(model, m_scenario.training.sequenceLength).linear;
    Account account("forward FLOPs a token in products with weights", "F_w", linear, Unit::flops);
    std::vector<Formula> weights;
    for (const ModelPart part : {ModelPart::dense, ModelPart::moe}) {
        const int layers = partCount(model, part);
        if (layers == 0)
            continue;
        const bool moe = part == ModelPart::moe;
        const Formula count = account.term(moe ? "L_moe" : "L", layers, Unit::count, moe ? "layers of experts" : "dense layers");
        weights.push_back(count * account.term(layerWeights(model, part)));
    }
    weights.push_back(Formula::product({account.term("h", model.hiddenSize, Unit::count, "hidden size"),
                                        account.term("V", model.vocabSize, Unit::count, "vocabulary: the output head")}));
    if (const int modules = model.numNextnPredictLayers; modules > 0)
        weights.push_back(
            Formula::product({account.term("D", modules, Unit::count, "modules of multi-token prediction"),
                              account.term("w_D", multipliedWeights(model, ModelPart::prediction), Unit::count,
                                           "weights a token meets in one: projection, layer and the output head again")}));
    if (model.lora.isOn())
        weights.push_back(account.term("w_r", adapterWeights(model), Unit::count, "weights of adapters"));
    return account.close(Formula::number(2) * Formula::sum(std::move(weights)),
                         "A multiply-add counts two. The embedding is looked up, not multiplied.", kPalmB);
}

Explanation Explainer::attentionFlops(bool full) const
{
    const Model& model = m_scenario.model;
    const ForwardFlops flops = forwardFlopsPerToken(model, m_scenario.training.sequenceLength);
    Account account("forward FLOPs a token in attention scores and values", "F_a",
                    full ? flops.attentionFull : flops.attentionCausal, Unit::flops);
    const HeadSize head = HeadSize::of(model);
    // Twice the keys that a causal token sees on average: where it sees everything, the length of the sequence.
    const std::int64_t length = m_scenario.training.sequenceLength;
    std::vector<Formula> seen;
    const int all = model.numHiddenLayers + model.numNextnPredictLayers;
    const std::string ahead = model.numNextnPredictLayers > 0 ? ", those of multi-token prediction among them" : "";
    if (const int layers = attendingLayers(model, LayerType::full); layers > 0)
        seen.push_back(Formula::product(
            {account.term("L", layers, Unit::count, (layers == all ? "layers" : "layers that see everything") + ahead),
             account.term("s", m_scenario.training.sequenceLength, Unit::count, "tokens a sequence")}));
    for (const auto& [type, symbol, of] : {std::tuple{LayerType::sliding, "w", "with a sliding window"},
                                           std::tuple{LayerType::chunked, "c", "that attend inside chunks"}})
        if (const int layers = attendingLayers(model, type); layers > 0) {
            const double keys = 2 * attentionPairs(model, type, 0, length, true) / static_cast<double>(length);
            seen.push_back(
                Formula::product({account.term(std::string("L_") + symbol, layers, Unit::count, std::string("layers ") + of),
                                  account.term(std::string("s_") + symbol, keys, Unit::number,
                                               "twice the keys that a token sees there on average")}));
        }
    const Formula a = account.term("a", model.numAttentionHeads, Unit::count, "attention heads");
    const Formula k = account.term("d_k", head.queryKey, Unit::count, "dimension of queries and keys");
    const Formula v = account.term("d_v", head.value, Unit::count, "dimension of values");
    const std::string limits = seen.size() > 1 || attendingLayers(model, LayerType::full) == 0
                                   ? " or of what its layer's window or chunk leaves of it"
                                   : "";
    const Formula product = Formula::sum(std::move(seen)) * a * (k + v);
    return account.close(full ? Formula::number(2) * product : product,
                         full ? "Every token attends to the whole sequence" + limits + "."
                              : "Causal: a token attends to half of the sequence on average" + limits +
                                    ", so the factor 2 is gone.",
                         full ? kPalmB : kPalmBHalved);
}

Explanation Explainer::modelFlops(bool fullAttention) const
{
    // Counted in full where it is causal, attention is a convention; else the work that there is.
    const bool isConvention = fullAttention && m_scenario.training.causal;
    const double value = isConvention ? m_flops.modelFull : m_flops.modelCausal;
    Account account("model FLOPs of a step", "C", value, Unit::flops);
    const Formula tokens = account.term(tokensPerStep());
    const Formula linear = account.term(linearFlops());
    const auto attention = [&] {
        Formula out = account.term(attentionFlops(fullAttention));
        if (const double share = attentionFlopsShare(m_scenario); share < 1)
            out *= account.term("u", share, Unit::fraction, "of whole sequences' attention: documents are shorter");
        return out;
    };
    if (const Model& model = m_scenario.model; model.lora.isOn()) {
        const Formula trained =
            account.term("F_r", 2 * adapterWeights(model), Unit::flops, "of those, in products with adapters");
        return account.close(tokens * (Formula::number(2) * linear + trained + Formula::number(3) * attention()),
                             "Frozen weights need the gradient of their input alone: 4 FLOPs a parameter and token instead of 6.",
                             fullAttention ? kPalmB : kPalmBHalved);
    }
    return account.close(Formula::number(3) * tokens * (linear + attention()), "The backward pass is twice the forward.",
                         fullAttention ? kPalmB : kPalmBHalved);
}

Explanation Explainer::hardwareFlops() const
{
    Account account("FLOPs of a step with recomputation", "C_hw", m_flops.hardware, Unit::flops);
    const Formula model = account.term(modelFlops(!m_scenario.training.causal));
    const std::string source = "Korthikanti et al. 2022, section 6";
    const Training& t = m_scenario.training;
    if (t.recompute == Recompute::none)
        return account.close(model, "Nothing is recomputed.", source);
    const double tokens = 1.0 * t.globalBatchSize * t.sequenceLength;
    const std::string unread = t.stack.rerunsUnread ? "" : ", but for what no backward pass reads";
    const Formula again =
        account.term("F_again", (m_flops.hardware - m_flops.modelCausal) / tokens, Unit::flops,
                     t.recompute != Recompute::selective        ? "forward of the recomputed layers, a token" + unread
                     : t.recomputes(RecomputeModule::operators) ? "every other product of a token, run again"
                     : t.recomputeModules == Training().recomputeModules
                         ? "attention scores and values of a token, run again"
                         : "products of " + spokenModules(t.recomputeModules) + " for a token, run again" + unread);
    return account.close(model + account.term(tokensPerStep()) * again, "", source);
}

Explanation Explainer::layerParameters(ModelPart part) const
{
    const Model& model = m_scenario.model;
    const bool moe = part == ModelPart::moe;
    const auto whole = static_cast<double>(parameterCount(model, part));
    Account account(moe ? "parameters of a layer of experts" : "parameters of a dense layer", moe ? "p_moe" : "p_layer", whole,
                    Unit::count);
    const Formula sum = matrices(account, model, part, Experts::all);
    const double rest = whole - layerMatrices(model, part, Experts::all);
    return account.close(sum + account.term("q", rest, Unit::count, "norms and biases"), "", "");
}

Explanation Explainer::parameters() const
{
    const Model& model = m_scenario.model;
    Account account("Parameters", "Ψ", static_cast<double>(parameterCount(model)), Unit::count);
    const double embedding = weightsOf(model, ModelPart::embedding, TensorRole::lookup);
    const double head = model.tieWordEmbeddings ? 0 : weightsOf(model, ModelPart::head, TensorRole::head);
    Formula sum = account.term("E", embedding, Unit::count, "embedding: vocabulary × hidden size");
    if (head > 0)
        sum = sum + account.term("H", head, Unit::count, "output head: vocabulary × hidden size");
    for (const ModelPart part : {ModelPart::dense, ModelPart::moe})
        if (const int layers = partCount(model, part); layers > 0) {
            const bool moe = part == ModelPart::moe;
            sum = sum + Formula::product(
                            {account.term(moe ? "L_moe" : "L", layers, Unit::count, moe ? "layers of experts" : "dense layers"),
                             account.term(layerParameters(part))});
        }
    const auto ends = static_cast<double>(parameterCount(model, ModelPart::embedding) + parameterCount(model, ModelPart::head));
    sum = sum + account.term("q", ends - embedding - head, Unit::count,
                             model.positionEmbedding == PositionEmbedding::learned ? "learned positions and the final norm"
                                                                                   : "final norm");
    return account.close(sum,
                         std::string("As in the published checkpoint: the vocabulary is not padded") +
                             (model.numNextnPredictLayers > 0 ? ", multi-token prediction is counted apart" : "") +
                             (model.tieWordEmbeddings ? ", and the head is the embedding." : "."),
                         "");
}

} // namespace sim
