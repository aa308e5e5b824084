// What a rank stores, tensor by tensor: against what the program and the model count.
#include "sim/analysis/holdings.h"

#include "sim/model/parameters.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

using namespace sim;

namespace {

void expectSumsAreTheSimulations(const Scenario& scenario)
{
    SCOPED_TRACE(test::describe(scenario));
    const auto simulation = simulate(scenario);
    for (int c = 0; c < simulation->classCount(); ++c) {
        const int rank = simulation->representative(c);
        const Holdings holdings = holdingsOf(*simulation, rank);
        MemoryBreakdown sum;
        std::int64_t elements = 0;
        for (const HoldingGroup& group : holdings.groups)
            for (const TensorHolding& tensor : group.tensors) {
                elements += tensor.elements;
                sum.parameters += tensor.bytes.parameters;
                sum.gradients += tensor.bytes.gradients;
                sum.optimizer += tensor.bytes.optimizer;
                sum.buffers += tensor.bytes.buffers;
            }
        EXPECT_EQ(sum, holdings.bytes);
        EXPECT_EQ(sum, simulation->memoryCurves(c).states);
        EXPECT_EQ(elements, holdings.elements);
        const auto pp = static_cast<std::size_t>(simulation->mesh().coordinates(rank).pp);
        EXPECT_EQ(elements, simulation->metrics().perPipelineRank[pp].parameters);
    }
}

/// A piece of a layer's tensor: layer, name, and where its rows, columns and experts begin.
using Piece = std::tuple<int, std::string_view, std::int64_t, std::int64_t, std::int64_t>;

/// All ranks together hold each element of the model, and agree in who holds what.
void expectRanksHoldTheModel(const Scenario& scenario)
{
    SCOPED_TRACE(test::describe(scenario));
    const auto simulation = simulate(scenario);
    std::map<Piece, std::int64_t> pieces;
    std::map<Piece, std::set<int>> holders;
    std::vector<Holdings> all;
    for (int rank = 0; rank < scenario.layout.worldSize(); ++rank)
        all.push_back(holdingsOf(*simulation, rank));
    const auto inside = [](IndexRange range, std::int64_t size) {
        return std::min(range.end, size) - std::min(range.begin, size);
    };
    const auto pieceOf = [](const HoldingGroup& group, int layer, const TensorHolding& t) {
        const int end = group.part == ModelPart::head ? -2 : -1;
        return Piece{group.layers.empty() ? end : layer, t.name, t.rowRange().begin, t.columnRange().begin,
                     t.expertRange().begin};
    };
    const std::vector<int> none = {0};
    for (const Holdings& holdings : all)
        for (const HoldingGroup& group : holdings.groups)
            for (const int layer : group.layers.empty() ? none : group.layers)
                for (const TensorHolding& t : group.tensors) {
                    holders[pieceOf(group, layer, t)].insert(holdings.rank);
                    if (t.tied != TensorHolding::Tied::no)
                        continue;
                    const std::int64_t columns = inside(t.columnRange(), t.columns);
                    // A row-parallel layer's bias is whole on every rank.
                    const bool countsBias = t.biased && (t.split != TensorSplit::rows || t.piece == 0);
                    const std::int64_t one = inside(t.rowRange(), t.rows) * columns + (countsBias ? columns : 0);
                    pieces[pieceOf(group, layer, t)] = one * (t.isRouted() ? t.expertRange().length() : 1);
                }
    std::int64_t elements = 0;
    for (const auto& [piece, count] : pieces)
        elements += count;
    const std::int64_t adapters = scenario.model.lora.isOn() ? trainableParameterCount(scenario.model) : 0;
    EXPECT_EQ(elements, parameterCount(scenario.model) + predictionParameterCount(scenario.model) + adapters);

    for (const Holdings& holdings : all) {
        EXPECT_EQ(holdings.dense.ranks[static_cast<std::size_t>(holdings.dense.index)], holdings.rank);
        EXPECT_EQ(holdings.routed.ranks[static_cast<std::size_t>(holdings.routed.index)], holdings.rank);
        for (const HoldingGroup& group : holdings.groups)
            for (const TensorHolding& tensor : group.tensors) {
                ASSERT_EQ(tensor.owners.size(), static_cast<std::size_t>(tensor.pieces * tensor.expertBlocks)) << tensor.name;
                EXPECT_EQ(tensor.owners[static_cast<std::size_t>(tensor.expertBlock * tensor.pieces + tensor.piece)],
                          holdings.rank);
                for (int block = 0; block < tensor.expertBlocks; ++block)
                    for (int piece = 0; piece < tensor.pieces; ++piece) {
                        TensorHolding theirs = tensor;
                        theirs.expertBlock = block;
                        theirs.piece = piece;
                        const int layer = group.layers.empty() ? 0 : group.layers.front();
                        const int owner = tensor.owners[static_cast<std::size_t>(block * tensor.pieces + piece)];
                        EXPECT_TRUE(holders[pieceOf(group, layer, theirs)].contains(owner)) << tensor.name << " rank " << owner;
                    }
            }
    }
}

Scenario latentScenario(int tp, int pp, int dp, int ep, int qRank)
{
    Scenario scenario = test::smallScenario(tp, pp, dp);
    Model& m = scenario.model;
    m.qLoraRank = qRank;
    m.kvLoraRank = 128;
    m.qkNopeHeadDim = 64;
    m.qkRopeHeadDim = 32;
    m.vHeadDim = 64;
    m.numExperts = 8;
    m.numExpertsPerTok = 2;
    m.moeIntermediateSize = 512;
    m.numSharedExperts = 1;
    m.firstKDenseReplace = 3;
    m.routerBias = true;
    scenario.layout.ep = ep;
    scenario.layout.etp = 1;
    return scenario;
}

/// Any mixture of what a model may have: latent attention or not, biases here and there, either norm, experts, tied ends.
Scenario anyModel(std::mt19937& random)
{
    const auto maybe = [&random] { return random() % 2 == 0; };
    const auto pick = [&random](std::initializer_list<int> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    };
    const int tp = pick({1, 1, 2, 4}), pp = pick({1, 2});
    Scenario scenario =
        maybe() ? latentScenario(tp, pp, 8 / tp, pick({1, 2}), pick({0, 256})) : test::smallScenario(tp, pp, 8 / tp);
    Model& m = scenario.model;
    if (maybe())
        m.numExperts = 0;
    if (m.numExperts == 0)
        scenario.layout.ep = 1;
    else
        m.numSharedExperts = pick({0, 1, 2});
    m.bias = pick({0, 0, 1}) == 1;
    m.qkvBias = maybe();
    m.outputBias = maybe();
    m.qkNorm = maybe();
    m.attentionSinks = maybe();
    m.routerBias = maybe();
    m.expertBias = maybe();
    m.gatedMlp = maybe();
    m.tieWordEmbeddings = maybe();
    m.normalization = maybe() ? Normalization::layernorm : Normalization::rmsnorm;
    m.positionEmbedding = static_cast<PositionEmbedding>(random() % 3);
    m.vocabSize = pick({32000, 50257});
    m.numNextnPredictLayers = pick({0, 0, 1, 2});
    scenario.layout.zeroStage = pick({0, 1, 2, 3});
    return scenario;
}

} // namespace

TEST(Holdings, OfEachRankSumUpToItsModelStates)
{
    std::mt19937 random(31);
    for (int i = 0; i < 60; ++i)
        expectSumsAreTheSimulations(test::randomScenario(random, 96));
    for (int zero = 0; zero <= 3; ++zero)
        for (const int tp : {1, 2, 4}) {
            Scenario scenario = latentScenario(tp, 2, 8 / tp, 4, zero % 2 == 0 ? 256 : 0);
            scenario.layout.zeroStage = zero;
            expectSumsAreTheSimulations(scenario);
        }
}

TEST(Holdings, OfAllRanksAreTheModel)
{
    std::mt19937 random(32);
    for (int i = 0; i < 30; ++i)
        expectRanksHoldTheModel(test::randomScenario(random, 48));
    expectRanksHoldTheModel(latentScenario(2, 2, 4, 4, 256));

    Scenario gpt = test::smallScenario(4, 3, 2);
    gpt.model = test::gptModel(8, 512, 8, 50257, 1024); // uneven stages, a vocabulary that needs padding, biases, tied ends
    gpt.schedule.layersPerStage = {2, 3, 3};
    expectRanksHoldTheModel(gpt);
    expectSumsAreTheSimulations(gpt);

    Scenario every = test::smallScenario(2, 1, 2);
    every.model.qkNorm = every.model.attentionSinks = every.model.qkvBias = every.model.outputBias = true;
    expectRanksHoldTheModel(every);
    expectSumsAreTheSimulations(every);

    Scenario gathered = test::smallScenario(4, 1, 2); // a key-value head lies on two ranks, each half
    gathered.model.numKeyValueHeads = 2;
    gathered.training.stack.gathersHeads = true;
    expectRanksHoldTheModel(gathered);
    expectSumsAreTheSimulations(gathered);
}

TEST(Holdings, OfAnyModelAreTheModel)
{
    std::mt19937 random(33);
    for (int i = 0; i < 150; ++i) {
        const Scenario scenario = anyModel(random);
        SCOPED_TRACE("model " + std::to_string(i));
        expectRanksHoldTheModel(scenario);
        expectSumsAreTheSimulations(scenario);
        if (HasFailure())
            return;
    }
}

TEST(Holdings, HaveTheNarrowCopiesOfWeights)
{
    for (const Precision precision : {Precision::fp8, Precision::mxfp8, Precision::nvfp4})
        for (Scenario scenario : {test::smallScenario(2, 2, 2), latentScenario(2, 2, 4, 4, 256)}) {
            scenario.cluster.gpu.peakTflops.try_emplace(precision, 2000); // of a GPU that knows them all
            scenario.training.precision = precision;
            scenario.training.stack.keepsNarrowWeights = true;
            scenario.model.bias = true;
            expectSumsAreTheSimulations(scenario);
            const auto simulation = simulate(scenario);
            EXPECT_GT(holdingsOf(*simulation, 0).bytes.buffers, 0);
            for (const HoldingGroup& group : holdingsOf(*simulation, 0).groups)
                for (const TensorHolding& tensor : group.tensors)
                    EXPECT_FALSE(tensor.isGathered());
        }
}

// DeepSeek-V2, section 2.1, with every linear layer biased and its norms with a bias beside their weight.
TEST(Holdings, OfLatentAttentionWithBiasAndLayerNormAreCountedByHand)
{
    Scenario scenario = latentScenario(1, 1, 1, 1, 256);
    Model& m = scenario.model;
    m.numExperts = 0;
    m.bias = true;
    m.normalization = Normalization::layernorm;
    const std::int64_t h = 1024, heads = 16, queries = heads * 96, up = heads * 128, down = 128 + 32;
    const std::int64_t attention =
        (h + 1) * 256 + 2 * 256 + 257 * queries + (h + 1) * down + 2 * 128 + 129 * up + (heads * 64 + 1) * h;
    const std::int64_t mlp = 2 * (h + 1) * 2816 + (2816 + 1) * h;
    EXPECT_EQ(parameterCount(m), 2 * 32000 * h + 8 * (attention + mlp + 4 * h) + 2 * h);
    EXPECT_EQ(holdingsOf(*simulate(scenario), 0).elements, parameterCount(m));
}

TEST(Holdings, FewKeyValueHeadsAreKeptBySeveralRanks)
{
    Scenario scenario = test::smallScenario(8);
    scenario.model.numKeyValueHeads = 2;
    const auto simulation = simulate(scenario);
    for (int rank = 0; rank < 8; ++rank) {
        const Holdings holdings = holdingsOf(*simulation, rank);
        const auto& tensors = holdings.groups.at(1).tensors;
        const auto key = std::find_if(tensors.begin(), tensors.end(), [](const TensorHolding& t) { return t.name == "key"; });
        ASSERT_NE(key, tensors.end());
        EXPECT_EQ(key->columns, 2 * 64);
        EXPECT_EQ(key->columnRange(), (IndexRange{rank / 4 * 64, rank / 4 * 64 + 64})) << "one head, with three others";
        EXPECT_EQ(key->rowRange(), (IndexRange{0, 1024}));
    }
    expectSumsAreTheSimulations(scenario);
}

TEST(Holdings, SayWhoKeepsWhichLayersAndEnds)
{
    Scenario scenario = test::smallScenario(1, 2, 1, 4);
    scenario.schedule = {.kind = "interleaved-1f1b", .virtualStages = 2};
    test::resolve(scenario);
    const auto simulation = simulate(scenario);
    const Holdings first = holdingsOf(*simulation, 0), last = holdingsOf(*simulation, 1);
    EXPECT_EQ(first.layers, (std::vector<int>{0, 1, 4, 5}));
    EXPECT_EQ(last.layers, (std::vector<int>{2, 3, 6, 7}));
    EXPECT_EQ(first.groups.front().part, ModelPart::embedding);
    EXPECT_EQ(first.groups.back().part, ModelPart::dense);
    EXPECT_EQ(last.groups.front().part, ModelPart::dense);
    EXPECT_EQ(last.groups.back().part, ModelPart::head);
}

TEST(Holdings, ATiedEmbeddingTakesMemoryOnceARank)
{
    Scenario scenario = test::smallScenario(1, 1);
    scenario.model.tieWordEmbeddings = true;
    const TensorHolding alone = holdingsOf(*simulate(scenario), 0).groups.back().tensors.back();
    EXPECT_EQ(alone.tied, TensorHolding::Tied::same);
    EXPECT_EQ(alone.bytes, MemoryBreakdown{});
    scenario = test::smallScenario(1, 2);
    scenario.model.tieWordEmbeddings = true;
    const TensorHolding copy = holdingsOf(*simulate(scenario), 1).groups.back().tensors.back();
    EXPECT_EQ(copy.tied, TensorHolding::Tied::copy);
    EXPECT_EQ(copy.elements, std::int64_t{32000} * 1024);
}

TEST(Holdings, ZeroSharesOutOneStateAfterTheOther)
{
    for (int zero = 0; zero <= 3; ++zero) {
        Scenario scenario = test::smallScenario(1, 1, 4);
        scenario.layout.zeroStage = zero;
        const Holdings holdings = holdingsOf(*simulate(scenario), 2);
        const std::int64_t n = holdings.elements, quarter = (n + 3) / 4;
        EXPECT_EQ(holdings.bytes.parameters, 2 * (zero >= 3 ? quarter : n));
        EXPECT_EQ(holdings.bytes.gradients, 4 * (zero >= 2 ? quarter : n));
        EXPECT_EQ(holdings.bytes.optimizer, 12 * (zero >= 1 ? quarter : n));
        EXPECT_EQ(holdings.dense.ranks, zero == 0 ? std::vector<int>{2} : (std::vector<int>{0, 1, 2, 3}));
        EXPECT_EQ(holdings.dense.index, zero == 0 ? 0 : 2);
    }
}

TEST(Holdings, OfAdaptersAreTheSimulations)
{
    for (const Scenario& scenario : test::adaptedScenarios()) {
        expectSumsAreTheSimulations(scenario);
        expectRanksHoldTheModel(scenario);
    }
}
