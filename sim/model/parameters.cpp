#include "sim/model/parameters.h"

namespace sim {
namespace {

std::int64_t normParameters(const Model& model, std::int64_t width)
{
    return model.normalization == Normalization::layernorm ? 2 * width : width;
}

std::int64_t attentionParameters(const Model& model)
{
    const std::int64_t h = model.hiddenSize;
    const std::int64_t heads = model.numAttentionHeads;
    if (model.isLatentAttention()) { // DeepSeek-V2, section 2.1
        const std::int64_t qkDim = model.qkNopeHeadDim + model.qkRopeHeadDim;
        const std::int64_t qRank = model.qLoraRank;
        const std::int64_t kvRank = model.kvLoraRank;
        const std::int64_t query = qRank > 0 ? h * qRank + qRank + qRank * heads * qkDim : h * heads * qkDim;
        const std::int64_t keyValue =
            h * (kvRank + model.qkRopeHeadDim) + kvRank + kvRank * heads * (model.qkNopeHeadDim + model.vHeadDim);
        return query + keyValue + heads * model.vHeadDim * h;
    }
    const std::int64_t queryWidth = heads * model.headDim;
    const std::int64_t keyValueWidth = std::int64_t{2} * model.numKeyValueHeads * model.headDim;
    std::int64_t count = h * (queryWidth + keyValueWidth) + queryWidth * h;
    if (model.bias || model.qkvBias)
        count += queryWidth + keyValueWidth;
    if (model.bias || model.outputBias)
        count += h;
    if (model.qkNorm)
        count += std::int64_t{2} * model.headDim;
    if (model.attentionSinks)
        count += heads;
    return count;
}

std::int64_t mlpParameters(const Model& model, std::int64_t width, bool bias)
{
    const std::int64_t h = model.hiddenSize;
    const std::int64_t projections = model.gatedMlp ? 2 : 1;
    return (projections + 1) * h * width + (bias ? projections * width + h : 0);
}

std::int64_t layerParameters(const Model& model, int layer, std::int64_t routedExperts)
{
    std::int64_t count = 2 * normParameters(model, model.hiddenSize) + attentionParameters(model);
    if (!model.isMoeLayer(layer))
        return count + mlpParameters(model, model.intermediateSize, model.bias);
    count += std::int64_t{model.hiddenSize} * model.numExperts + (model.routerBias ? model.numExperts : 0);
    count += routedExperts * mlpParameters(model, model.moeIntermediateSize, model.bias || model.expertBias);
    const std::int64_t sharedWidth = std::int64_t{model.numSharedExperts} * model.moeIntermediateSize;
    return count + (sharedWidth > 0 ? mlpParameters(model, sharedWidth, model.bias) : 0);
}

std::int64_t count(const Model& model, std::int64_t routedExperts)
{
    const std::int64_t vocabulary = std::int64_t{model.vocabSize} * model.hiddenSize;
    std::int64_t total = vocabulary + (model.tieWordEmbeddings ? 0 : vocabulary);
    if (model.positionEmbedding == PositionEmbedding::learned)
        total += std::int64_t{model.maxPositionEmbeddings} * model.hiddenSize;
    for (int layer = 0; layer < model.numHiddenLayers; ++layer)
        total += layerParameters(model, layer, routedExperts);
    return total + normParameters(model, model.hiddenSize);
}

} // namespace

std::int64_t parameterCount(const Model& model)
{
    return count(model, model.numExperts);
}

std::int64_t activeParameterCount(const Model& model)
{
    return count(model, model.numExpertsPerTok);
}

} // namespace sim
