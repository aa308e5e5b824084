#include "sim/model/parameters.h"

#include "sim/checked.h"

namespace sim {
namespace {

Checked normParameters(const Model& model, Checked width)
{
    return model.normalization == Normalization::layernorm ? 2 * width : width;
}

Checked attentionParameters(const Model& model)
{
    const Checked h = model.hiddenSize;
    const Checked heads = model.numAttentionHeads;
    const Checked outputBias = model.bias || model.outputBias ? h : Checked(0);
    if (model.isLatentAttention()) { // DeepSeek-V2, section 2.1
        const Checked qkDim = model.qkNopeHeadDim + model.qkRopeHeadDim;
        const Checked qRank = model.qLoraRank;
        const Checked kvRank = model.kvLoraRank;
        const Checked downWidth = kvRank + model.qkRopeHeadDim, upWidth = heads * (model.qkNopeHeadDim + model.vHeadDim);
        Checked count = h * downWidth + normParameters(model, kvRank) + kvRank * upWidth;
        count += qRank > 0 ? h * qRank + normParameters(model, qRank) + qRank * heads * qkDim : h * heads * qkDim;
        if (model.bias || model.qkvBias)
            count += downWidth + upWidth + qRank + heads * qkDim;
        return count + heads * model.vHeadDim * h + outputBias;
    }
    const Checked queryWidth = heads * model.headDim;
    const Checked keyValueWidth = Checked{2} * model.numKeyValueHeads * model.headDim;
    Checked count = h * (queryWidth + keyValueWidth) + queryWidth * h + outputBias;
    if (model.bias || model.qkvBias)
        count += queryWidth + keyValueWidth;
    if (model.qkNorm)
        count += Checked{2} * model.headDim;
    if (model.attentionSinks)
        count += heads;
    return count;
}

Checked mlpParameters(const Model& model, Checked width, bool bias)
{
    const Checked h = model.hiddenSize;
    const Checked projections = model.gatedMlp ? 2 : 1;
    return (projections + 1) * h * width + (bias ? projections * width + h : Checked(0));
}

Checked layerParameters(const Model& model, int layer, Checked routedExperts)
{
    Checked count = 2 * normParameters(model, model.hiddenSize) + attentionParameters(model);
    if (!model.isMoeLayer(layer))
        return count + mlpParameters(model, model.intermediateSize, model.bias);
    count += Checked{model.hiddenSize} * model.numExperts + (model.routerBias ? model.numExperts : 0);
    count += routedExperts * mlpParameters(model, model.moeIntermediateSize, model.bias || model.expertBias);
    const Checked sharedWidth = Checked{model.numSharedExperts} * model.moeIntermediateSize;
    return count + (sharedWidth > 0 ? mlpParameters(model, sharedWidth, model.bias) : Checked(0));
}

Checked count(const Model& model, Checked routedExperts)
{
    const Checked vocabulary = Checked{model.vocabSize} * model.hiddenSize;
    Checked total = vocabulary + (model.tieWordEmbeddings ? Checked(0) : vocabulary);
    if (model.positionEmbedding == PositionEmbedding::learned)
        total += Checked{model.maxPositionEmbeddings} * model.hiddenSize;
    for (int layer = 0; layer < model.numHiddenLayers; ++layer)
        total += layerParameters(model, layer, routedExperts);
    return total + normParameters(model, model.hiddenSize);
}

} // namespace

std::int64_t parameterCount(const Model& model)
{
    return countedAs("parameters of the model", [&] { return count(model, model.numExperts); });
}

std::int64_t activeParameterCount(const Model& model)
{
    return countedAs("parameters of the model", [&] { return count(model, model.numExpertsPerTok); });
}

} // namespace sim
