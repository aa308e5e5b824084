// FLOPs and parameters, from the shapes of the model.
#include "sim/analysis/explainer.h"

#include "sim/model/parameters.h"

#include <algorithm>

namespace sim {
namespace {

constexpr const char* kPalmB = "Chowdhery et al. 2022 (PaLM), appendix B";

int moeLayers(const Model& model)
{
    int count = 0;
    for (int layer = 0; layer < model.numHiddenLayers; ++layer)
        count += model.isMoeLayer(layer) ? 1 : 0;
    return count;
}

/// The model with a single layer of one kind, or with none: what a layer adds is the difference.
Model withLayers(Model model, int layers, bool moe)
{
    model.numHiddenLayers = layers;
    model.firstKDenseReplace = moe ? 0 : layers;
    return model;
}

double layerWeights(const Model& model, bool moe)
{
    const auto linear = [&](int layers) { return forwardFlopsPerToken(withLayers(model, layers, moe), 1).linear; };
    return (linear(1) - linear(0)) / 2;
}

double projections(const Model& model)
{
    return model.gatedMlp ? 3 : 2;
}

/// Matrices of one attention block.
Explanation attentionWeights(const Model& model, double whole)
{
    Account account("weights of attention", "A", whole, Unit::count);
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
Explanation mlpWeights(const Model& model, bool moe, bool allExperts, double whole)
{
    Account account(moe ? "weights of the experts" : "weights of the MLP", "M", whole, Unit::count);
    const Formula n = account.term("n", projections(model), Unit::count, model.gatedMlp ? "gate, up and down" : "up and down");
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

Explanation layerWeightsOf(const Model& model, bool moe)
{
    const double whole = layerWeights(model, moe), h = model.hiddenSize;
    Account account(moe ? "weights a token meets in a layer of experts" : "weights a token meets in a dense layer",
                    moe ? "w_moe" : "w", whole, Unit::count);
    const double mlp =
        moe ? projections(model) * h * model.moeIntermediateSize * (model.numExpertsPerTok + model.numSharedExperts)
            : projections(model) * h * model.intermediateSize;
    const double router = moe ? h * model.numExperts : 0;
    Formula sum = Formula::sum(
        {account.term(attentionWeights(model, whole - mlp - router)), account.term(mlpWeights(model, moe, false, mlp))});
    if (moe)
        sum = sum + account.term("r", router, Unit::count, "router: hidden size × experts");
    return account.close(sum, "", "");
}

} // namespace

Explanation Explainer::linearFlops() const
{
    const Model& model = m_scenario.model;
    const double linear = forwardFlopsPerToken(model, m_scenario.training.sequenceLength).linear;
    Account account("forward FLOPs a token in products with weights", "F_w", linear, Unit::flops);
    const int moe = moeLayers(model), dense = model.numHiddenLayers - moe;
    std::optional<Formula> weights;
    const auto add = [&](int layers, bool ofExperts) {
        if (layers == 0)
            return;
        const Formula count =
            account.term(ofExperts ? "L_moe" : "L", layers, Unit::count, ofExperts ? "layers of experts" : "dense layers");
        const Formula product = count * account.term(layerWeightsOf(model, ofExperts));
        weights = weights ? *weights + product : product;
    };
    add(dense, false);
    add(moe, true);
    const Formula head = Formula::product({account.term("h", model.hiddenSize, Unit::count, "hidden size"),
                                           account.term("V", model.vocabSize, Unit::count, "vocabulary: the output head")});
    return account.close(Formula::number(2) * (weights ? *weights + head : head),
                         "A multiply-add counts two. The embedding is looked up, not multiplied.", kPalmB);
}

Explanation Explainer::attentionFlops(bool full) const
{
    const Model& model = m_scenario.model;
    const ForwardFlops flops = forwardFlopsPerToken(model, m_scenario.training.sequenceLength);
    Account account("forward FLOPs a token in attention scores and values", "F_a",
                    full ? flops.attentionFull : flops.attentionCausal, Unit::flops);
    const bool latent = model.isLatentAttention();
    const Formula l = account.term("L", model.numHiddenLayers, Unit::count, "layers");
    const Formula s = account.term("s", m_scenario.training.sequenceLength, Unit::count, "tokens a sequence");
    const Formula a = account.term("a", model.numAttentionHeads, Unit::count, "attention heads");
    const Formula k = account.term("d_k", latent ? model.qkNopeHeadDim + model.qkRopeHeadDim : model.headDim, Unit::count,
                                   "dimension of queries and keys");
    const Formula v = account.term("d_v", latent ? model.vHeadDim : model.headDim, Unit::count, "dimension of values");
    const Formula product = l * s * a * (k + v);
    return account.close(full ? Formula::number(2) * product : product,
                         full ? "Every token attends to the whole sequence."
                              : "Causal: a token attends to half of the sequence on average, so the factor 2 is gone.",
                         kPalmB);
}

Explanation Explainer::modelFlops(bool fullAttention) const
{
    const double value = fullAttention ? m_flops.modelFull : m_flops.modelCausal;
    Account account("model FLOPs of a step", "C", value, Unit::flops);
    const Formula tokens = account.term(tokensPerStep());
    const Formula linear = account.term(linearFlops());
    return account.close(Formula::number(3) * tokens * (linear + account.term(attentionFlops(fullAttention))),
                         "The backward pass is twice the forward.", kPalmB);
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
    const Formula again = account.term("F_again", (m_flops.hardware - m_flops.modelCausal) / tokens, Unit::flops,
                                       t.recompute == Recompute::selective ? "attention scores and values of a token, run again"
                                                                           : "forward of the recomputed layers, a token");
    return account.close(model + account.term(tokensPerStep()) * again, "", source);
}

Explanation Explainer::layerParameters(bool moe) const
{
    const Model& model = m_scenario.model;
    const auto count = [&](int layers) { return static_cast<double>(parameterCount(withLayers(model, layers, moe))); };
    const double whole = count(1) - count(0), h = model.hiddenSize;
    const double mlp = moe ? projections(model) * h * model.moeIntermediateSize * (model.numExperts + model.numSharedExperts)
                           : projections(model) * h * model.intermediateSize;
    const double router = moe ? h * model.numExperts : 0;
    const double attention = layerWeights(model, false) - projections(model) * h * model.intermediateSize;
    Account account(moe ? "parameters of a layer of experts" : "parameters of a dense layer", moe ? "p_moe" : "p_layer", whole,
                    Unit::count);
    Formula sum =
        Formula::sum({account.term(attentionWeights(model, attention)), account.term(mlpWeights(model, moe, true, mlp))});
    if (moe)
        sum = sum + account.term("r", router, Unit::count, "router: hidden size × experts");
    const double rest = whole - attention - mlp - router;
    return account.close(sum + account.term("q", rest, Unit::count, "norms and biases"), "", "");
}

Explanation Explainer::parameters() const
{
    const Model& model = m_scenario.model;
    const int moe = moeLayers(model), dense = model.numHiddenLayers - moe;
    Account account("Parameters", "Ψ", static_cast<double>(parameterCount(model)), Unit::count);
    const double vocabulary = 1.0 * model.vocabSize * model.hiddenSize;
    Formula sum = account.term("E", vocabulary, Unit::count, "embedding: vocabulary × hidden size");
    if (!model.tieWordEmbeddings)
        sum = sum + account.term("H", vocabulary, Unit::count, "output head: vocabulary × hidden size");
    if (dense > 0)
        sum =
            sum + Formula::product({account.term("L", dense, Unit::count, "dense layers"), account.term(layerParameters(false))});
    if (moe > 0)
        sum = sum + Formula::product(
                        {account.term("L_moe", moe, Unit::count, "layers of experts"), account.term(layerParameters(true))});
    const double ends = static_cast<double>(parameterCount(withLayers(model, 0, false)));
    const double rest = ends - vocabulary * (model.tieWordEmbeddings ? 1 : 2);
    sum = sum + account.term("q", rest, Unit::count,
                             model.positionEmbedding == PositionEmbedding::learned ? "learned positions and the final norm"
                                                                                   : "final norm");
    return account.close(sum,
                         std::string("As in the published checkpoint: the vocabulary is not padded") +
                             (model.tieWordEmbeddings ? ", and the head is the embedding." : "."),
                         "");
}

} // namespace sim
