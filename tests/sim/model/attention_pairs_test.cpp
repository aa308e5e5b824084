// What windows and chunks leave of attention, against counting pairs one by one.
#include "sim/model/attention_pairs.h"
#include "sim/model/flops.h"
#include "sim/model/operators.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;

namespace {

Model modelOf(int layers, int window, int chunk = 0)
{
    Model model = test::llamaModel(layers, 512, 8, 8, 1536);
    model.slidingWindow = window;
    model.attentionChunkSize = chunk;
    return model;
}

/// Of all queries; one by one.
double countedPairs(int length, auto firstKey)
{
    double pairs = 0;
    for (int query = 0; query < length; ++query)
        pairs += query + 1 - firstKey(query);
    return pairs;
}

const Operator& core(const OperatorList& list)
{
    return *std::find_if(list.operators.begin(), list.operators.end(),
                         [](const Operator& op) { return op.kind == OperatorKind::attention; });
}

bool hasRope(const OperatorList& list)
{
    return std::any_of(list.operators.begin(), list.operators.end(), [](const Operator& op) { return op.name == "attn.rope"; });
}

} // namespace

TEST(AttentionPairs, OfAWindowAreThoseThatAreLeft)
{
    for (const int window : {1, 7, 128, 900}) {
        const double counted = countedPairs(1024, [window](int query) { return std::max(0, query + 1 - window); });
        EXPECT_EQ(attentionPairs(modelOf(1, window), LayerType::sliding, 0, 1024, true), counted) << window;
        EXPECT_EQ(attentionPairs(modelOf(1, window), LayerType::sliding, 0, 1024, false), 2 * counted) << window;
    }
}

TEST(AttentionPairs, OfChunksAreThoseInsideThem)
{
    for (const int chunk : {1, 64, 100, 512}) { // 100 leaves a part of 24
        const double counted = countedPairs(1024, [chunk](int query) { return query / chunk * chunk; });
        EXPECT_EQ(attentionPairs(modelOf(1, 0, chunk), LayerType::chunked, 0, 1024, true), counted) << chunk;
    }
}

TEST(AttentionPairs, AreHalfTheSquareWhereEverythingIsSeenAndNeverMore)
{
    const double half = 1024.0 * 1024 / 2;
    EXPECT_EQ(attentionPairs(modelOf(1, 0), LayerType::full, 0, 1024, true), half);
    double before = 0;
    for (const int window : {1, 500, 1000, 1010, 1020, 1023, 1024, 5000}) {
        const double pairs = attentionPairs(modelOf(1, window), LayerType::sliding, 0, 1024, true);
        EXPECT_GE(pairs, before);
        EXPECT_LE(pairs, half);
        before = pairs;
    }
    EXPECT_EQ(before, half);
    EXPECT_EQ(attentionPairs(modelOf(1, 0, 1024), LayerType::chunked, 0, 1024, true), half);
}

TEST(AttentionPairs, OfPartsAddUpToTheWhole)
{
    for (const auto& [model, type] : {std::pair{modelOf(1, 300), LayerType::sliding}, {modelOf(1, 0, 300), LayerType::chunked}}) {
        double sum = 0;
        for (int slice = 0; slice < 4; ++slice)
            sum += attentionPairs(model, type, slice * 256, slice * 256 + 256, true);
        EXPECT_EQ(sum, attentionPairs(model, type, 0, 1024, true));
    }
}

TEST(LayerTypes, FollowTheIntervalsAsHuggingFaceCountsThem)
{
    Model model = modelOf(12, 128);
    EXPECT_EQ(model.layersOf(LayerType::sliding), 12);
    model.slidingWindowPattern = 6; // Gemma 3: five windows, then a layer that sees everything
    for (int layer = 0; layer < 12; ++layer)
        EXPECT_EQ(model.layerType(layer), layer == 5 || layer == 11 ? LayerType::full : LayerType::sliding) << layer;
    EXPECT_EQ(model.layersOf(LayerType::full), 2);

    Model chunks = modelOf(10, 0, 8192);
    chunks.noRopeLayerInterval = 4; // Llama 4: three chunks with positions, then a layer without either
    for (int layer = 0; layer < 10; ++layer) {
        const bool isFull = layer == 3 || layer == 7;
        EXPECT_EQ(chunks.layerKind(layer), (LayerKind{.type = isFull ? LayerType::full : LayerType::chunked, .rope = !isFull}));
    }
    EXPECT_EQ(chunks.layersOf(LayerType::chunked), 8);
    EXPECT_EQ(chunks.layersOf(LayerType::sliding), 0);

    model.layerTypes.assign(12, LayerType::full); // what is written goes before
    model.layerTypes[1] = LayerType::sliding;
    for (const LayerType type : kLayerTypes) {
        int layers = 0;
        for (int layer = 0; layer < 12; ++layer)
            layers += model.layerType(layer) == type ? 1 : 0;
        EXPECT_EQ(model.layersOf(type), layers);
    }
    EXPECT_EQ(model.layersOf(LayerType::sliding), 1);
}

TEST(AttentionOperators, DoTheWorkThatTheModelsFlopsCount)
{
    for (const auto& [window, chunk] : {std::pair{100, 0}, {0, 100}})
        for (const int cp : {1, 4})
            for (const int slices : {1, 4}) {
                if (cp > 1 && slices > 1)
                    continue;
                Model model = modelOf(3, window, chunk);
                model.slidingWindowPattern = model.noRopeLayerInterval = 3;
                Sharding sharding{.cp = cp, .sequenceLength = 1024, .microBatchSize = 2, .slices = slices};
                double flops = 0;
                for (sharding.slice = 0; sharding.slice < slices; ++sharding.slice)
                    for (int layer = 0; layer < 3; ++layer)
                        for (const Operator& op : operatorsOf(model, sharding, model.layerKind(layer)).operators)
                            flops += op.isAttentionCore() ? op.flops : 0;
                const double counted = forwardFlopsPerToken(model, 1024).attentionCausal * 1024 * 2;
                EXPECT_NEAR(flops * cp, counted, counted * 1e-12) << window << " " << cp << " " << slices;
            }
}

TEST(AttentionOperators, OfAWindowReadTheKeysThatItReaches)
{
    Model model = modelOf(1, 257);
    Sharding sharding{.sequenceLength = 1024, .slices = 4, .slice = 3};
    const std::int64_t tensor = std::int64_t{256} * 512 * 2; // queries, results; keys and values are two of it
    EXPECT_EQ(core(operatorsOf(model, sharding, LayerKind{})).forwardBytes, 2 * tensor + 4 * 2 * tensor);
    EXPECT_EQ(core(operatorsOf(model, sharding, {.type = LayerType::sliding})).forwardBytes, 2 * tensor + 2 * 2 * tensor)
        << "the first of the slice's queries sees 256 keys of the slice before";
    model.slidingWindow = 258;
    EXPECT_EQ(core(operatorsOf(model, sharding, {.type = LayerType::sliding})).forwardBytes,
              2 * tensor + 2 * 2 * tensor + 2 * tensor / 256);
    model.attentionChunkSize = 512;
    EXPECT_EQ(core(operatorsOf(model, sharding, {.type = LayerType::chunked})).forwardBytes, 2 * tensor + 2 * 2 * tensor);
}

TEST(AttentionOperators, OfWindowsGatherWhatARingWouldSend)
{
    const Sharding sharding{.cp = 4, .sequenceLength = 1024};
    const auto sent = [&](LayerType type, OperatorKind kind) {
        std::int64_t bytes = 0;
        for (const Operator& op : operatorsOf(modelOf(1, 64), sharding, {.type = type}).operators)
            bytes += op.kind == kind ? op.commBytes : 0;
        return bytes;
    };
    const std::int64_t block = 256 * std::int64_t{512} * 2 * 2;
    EXPECT_EQ(sent(LayerType::full, OperatorKind::ringExchange), 3 * block);
    EXPECT_EQ(sent(LayerType::full, OperatorKind::gatherKeys), 0);
    EXPECT_EQ(sent(LayerType::sliding, OperatorKind::ringExchange), 0);
    EXPECT_EQ(sent(LayerType::sliding, OperatorKind::gatherKeys), 4 * block) << "the whole tensor, of which each rank has one";
}

TEST(AttentionOperators, OfWindowsReadOfWhatIsGatheredWhatTheirQueriesReach)
{
    // 8 parts of 128 queries, two a rank: all but the first see 63 keys before their own.
    const Sharding sharding{.cp = 4, .sequenceLength = 1024};
    const std::int64_t key = std::int64_t{512} * 2 * 2, queriesAndResults = std::int64_t{256} * 512 * 2 * 2;
    const Model model = modelOf(1, 64, 256);
    EXPECT_EQ(core(operatorsOf(model, sharding, {.type = LayerType::sliding})).forwardBytes,
              queriesAndResults + (8 * 128 + 7 * 63) * key / 4);
    EXPECT_EQ(core(operatorsOf(model, sharding, {.type = LayerType::chunked})).forwardBytes,
              queriesAndResults + 4 * (128 + 256) * key / 4)
        << "half of the parts begin a chunk";
    Sharding both = sharding;
    both.causal = false;
    EXPECT_EQ(core(operatorsOf(model, both, {.type = LayerType::sliding})).forwardBytes,
              queriesAndResults + (8 * 128 + 14 * 63) * key / 4);
    EXPECT_EQ(core(operatorsOf(modelOf(1, 4096), both, {.type = LayerType::sliding})).forwardBytes,
              queriesAndResults + 8 * 1024 * key / 4)
        << "a window over everything, each part by itself";
}

TEST(AttentionOperators, DoNotRotateWhereALayerHasNoPositions)
{
    const Model model = modelOf(1, 0);
    EXPECT_TRUE(hasRope(operatorsOf(model, {.sequenceLength = 64}, LayerKind{})));
    EXPECT_FALSE(hasRope(operatorsOf(model, {.sequenceLength = 64}, LayerKind{.rope = false})));
}

TEST(Flops, OfRecomputedLayersAreThoseOfTheirTypes)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 1);
    scenario.model.slidingWindow = 100;
    scenario.model.slidingWindowPattern = 2;
    scenario.training.recompute = Recompute::full;
    scenario.training.recomputeLayers = 1; // the first, which slides
    const StepFlops flops = stepFlops(scenario);
    const double pairs = attentionPairs(scenario.model, LayerType::sliding, 0, 1024, true);
    const double weights = 1024.0 * 1024 * 3 + 3.0 * 1024 * 2816; // 16 heads of 64, 8 for keys and values; gated MLP
    EXPECT_NEAR(flops.hardware - flops.modelCausal, 1024 * 2 * weights + pairs * 2 * 16 * (64 + 64), 1e3);
}
