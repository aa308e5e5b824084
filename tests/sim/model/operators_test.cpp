#include "sim/model/flops.h"
#include "sim/model/operators.h"
#include "sim/model/parameters.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

using namespace sim;

namespace {

/// Korthikanti et al. 2022 measures in units of s*b*h bytes.
struct Paper {
    Model model = test::gptModel(1, 4096, 32);
    Sharding sharding{.sequenceLength = 2048, .microBatchSize = 4, .flashAttention = false};
    double sbh() const { return 2048.0 * 4 * 4096; }
    double scoresTerm() const { return 5.0 * 32 * 2048 / 4096; } // 5as/h
    double saved() const { return static_cast<double>(operatorsOf(model, sharding, ModelPart::dense).savedBytes()) / sbh(); }
};

} // namespace

TEST(LayerActivations, AreKorthikantisFormulaWithoutParallelism)
{
    const Paper paper;
    EXPECT_DOUBLE_EQ(paper.saved(), 34 + paper.scoresTerm()); // equation 1
}

TEST(LayerActivations, AreKorthikantisFormulaUnderTensorParallelism)
{
    for (const int t : {2, 4, 8}) {
        Paper paper;
        paper.sharding.tp = t;
        EXPECT_DOUBLE_EQ(paper.saved(), 10 + 24.0 / t + paper.scoresTerm() / t); // equation 2
    }
}

TEST(LayerActivations, AreKorthikantisFormulaUnderSequenceParallelism)
{
    for (const int t : {2, 4, 8}) {
        Paper paper;
        paper.sharding.tp = t;
        paper.sharding.sequenceParallel = true;
        EXPECT_DOUBLE_EQ(paper.saved(), (34 + paper.scoresTerm()) / t); // equation 4
    }
}

/// Of the 34 and of the 5as/h masks are 2 and as/h, and what attention's weights become is 2as/h (section 4.1).
TEST(LayerActivations, HaveMasksWhereDropoutIs)
{
    Paper paper;
    paper.model.hiddenDropout = 0;
    EXPECT_DOUBLE_EQ(paper.saved(), 32 + paper.scoresTerm());
    paper.model.attentionDropout = 0;
    EXPECT_DOUBLE_EQ(paper.saved(), 32 + paper.scoresTerm() * 2 / 5);
    paper.model.hiddenDropout = 0.3;
    EXPECT_DOUBLE_EQ(paper.saved(), 34 + paper.scoresTerm() * 2 / 5);
    paper.model.bias = false; // has nothing to do with it
    EXPECT_DOUBLE_EQ(paper.saved(), 34 + paper.scoresTerm() * 2 / 5);
}

TEST(LayerActivations, FusedAttentionKeepsNoScores)
{
    Paper paper;
    paper.sharding.flashAttention = true;
    EXPECT_NEAR(paper.saved(), 34, 0.05); // and the log-sum-exp
}

TEST(LayerActivations, ContextParallelismDividesThem)
{
    Paper paper;
    paper.sharding.flashAttention = true;
    const double whole = paper.saved();
    paper.sharding.cp = 4;
    EXPECT_NEAR(paper.saved(), whole / 4, 1e-9);
}

TEST(LayerActivations, WhatTheWeightGradientKeepsIsTheZeroBubblePapers32)
{
    const Paper paper;
    std::int64_t kept = 0;
    for (const Operator& op : operatorsOf(paper.model, paper.sharding, ModelPart::dense).operators)
        if (!op.weightless)
            kept += op.savedInputBytes + op.savedGradientBytes;
    EXPECT_DOUBLE_EQ(static_cast<double>(kept) / paper.sbh(), 32); // table 1: M_W = 32sbh
}

TEST(LayerActivations, ThatProductsKeepNarrowAreAsNarrowAsTheProducts)
{
    // 16-bit activations; products in eight bits keep half of that, in four a quarter, of what they read and of its gradient.
    Scenario scenario = test::smallScenario();
    const auto kept = [&](bool gradients) {
        std::int64_t bytes = 0;
        for (const Operator& op : operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense).operators)
            if (op.kind == OperatorKind::gemm)
                bytes += gradients ? op.savedGradientBytes : op.savedInputBytes;
        return bytes;
    };
    // Heads of 64: 16 of queries, 8 each of keys and values; MLP of 2816, gate and up.
    const std::int64_t inputs = std::int64_t{1024} * (1024 + 1024 + 1024 + 2816);
    const std::int64_t gradients = std::int64_t{1024} * (2048 + 1024 + 2 * 2816 + 1024);
    for (const auto& [precision, narrower] : {std::pair{Precision::bf16, 1}, {Precision::fp8, 2}, {Precision::nvfp4, 4}}) {
        scenario.training.precision = precision;
        for (const bool isKeptNarrow : {false, true}) {
            scenario.training.stack.narrowSaved = isKeptNarrow;
            EXPECT_EQ(kept(false), 2 * inputs / (isKeptNarrow ? narrower : 1)) << narrower;
            EXPECT_EQ(kept(true), 2 * gradients / (isKeptNarrow ? narrower : 1)) << narrower;
        }
    }
}

TEST(LayerParameters, OfOneRankAddUpToTheModel)
{
    Model model = test::gptModel(3, 768, 12, 50257, 1024);
    const Sharding one{.sequenceLength = 128};
    std::int64_t sum =
        operatorsOf(model, one, ModelPart::embedding).parameters() + operatorsOf(model, one, ModelPart::head, true).parameters();
    sum += 3 * operatorsOf(model, one, ModelPart::dense).parameters();
    EXPECT_EQ(sum, parameterCount(model));

    model = test::llamaModel(2, 1024, 16, 4, 2816);
    model.numExperts = 8;
    model.numExpertsPerTok = 2;
    model.moeIntermediateSize = 512;
    model.numSharedExperts = 1;
    model.firstKDenseReplace = 1;
    sum = operatorsOf(model, one, ModelPart::embedding).parameters() + operatorsOf(model, one, ModelPart::head).parameters();
    sum += operatorsOf(model, one, ModelPart::dense).parameters() + operatorsOf(model, one, ModelPart::moe).parameters();
    EXPECT_EQ(sum, parameterCount(model));
    EXPECT_EQ(operatorsOf(model, one, ModelPart::moe).routedParameters(), std::int64_t{8} * 3 * 1024 * 512);
}

namespace {

/// Eight experts of which two are chosen, a token of 1,024 elements of two bytes.
struct FewExperts {
    Model model = test::llamaModel(1, 1024, 16, 4, 2816);
    Sharding sharding{.sequenceLength = 128};
    double routed = 128 * 2 * 1024 * 2; ///< bytes of all copies
    FewExperts()
    {
        model.numExperts = 8;
        model.numExpertsPerTok = 2;
        model.moeIntermediateSize = 512;
    }
    const Operator* find(std::string_view name)
    {
        list = operatorsOf(model, sharding, ModelPart::moe);
        for (const Operator& op : list.operators)
            if (op.name == name)
                return &op;
        return nullptr;
    }
    double permuted() { return static_cast<double>(find("moe.permute")->forwardBytes) / routed; }
    OperatorList list;
};

} // namespace

TEST(PermutedTokens, AreReadOnceAndWrittenForEachOfTheirExpertsAndSortedWhereRanksHaveSeveral)
{
    FewExperts of;
    EXPECT_DOUBLE_EQ(of.permuted(), 0.5 + 1);
    of.sharding.ep = 8;
    EXPECT_DOUBLE_EQ(of.permuted(), 0.5 + 1) << "one expert a rank";
    of.sharding.ep = 4;
    EXPECT_DOUBLE_EQ(of.permuted(), 0.5 + 1 + 2);
    of.sharding.keptNarrower = 2;
    EXPECT_DOUBLE_EQ(of.permuted(), 0.5 + 1 + 2 + 2) << "padded for products in 8 bits";
}

TEST(PermutedTokens, ThatARankTakesOnceAreCopiedThere)
{
    FewExperts of;
    of.sharding.ep = 4;
    of.sharding.keptNarrower = 2;
    of.sharding.moe.sendOncePerNode = true;
    const double experts = of.model.numExperts, others = 0.75 * experts; // of three ranks
    const double nothing = others / experts * (others - 1) / (experts - 1);
    EXPECT_NEAR(of.permuted(), 4 * (1 - nothing) / 2 + 1, 1e-4); // copies that meet four ranks, of two
}

TEST(ExpertsWithBiases, AddThemPieceByPieceUnlessTheirSoftwareFusesAll)
{
    FewExperts of;
    const auto bytes = [&](std::string_view name) { return static_cast<double>(of.find(name)->forwardBytes); };
    const double act = bytes("moe.act"), elements = of.routed / 2, width = elements / 2;
    EXPECT_EQ(of.find("moe.bias"), nullptr);
    EXPECT_DOUBLE_EQ(act, 3 * 2 * width);
    of.model.expertBias = true;
    EXPECT_DOUBLE_EQ(bytes("moe.bias"), 28 * elements);
    EXPECT_DOUBLE_EQ(bytes("moe.act"), act + 8 * 2 * width) << "both halves are clamped and put together";
    of.model.expertBias = false;
    of.model.bias = true;
    EXPECT_DOUBLE_EQ(bytes("moe.bias"), 28 * elements) << "every matrix has one, experts' too";
    EXPECT_DOUBLE_EQ(bytes("moe.act"), act + 8 * 2 * width);
    of.sharding.fusesExperts = true;
    EXPECT_EQ(of.find("moe.bias"), nullptr);
    EXPECT_DOUBLE_EQ(bytes("moe.act"), 0);
}

namespace {

const Operator& operatorOf(const OperatorList& list, std::string_view name)
{
    for (const Operator& op : list.operators)
        if (op.name == name)
            return op;
    static const Operator none{.m = -1};
    EXPECT_TRUE(false) << name;
    return none;
}

bool has(const OperatorList& list, std::string_view name)
{
    return std::any_of(list.operators.begin(), list.operators.end(), [name](const Operator& op) { return op.name == name; });
}

} // namespace

TEST(Experts, MeetEveryTokenOnceHoweverManyTensorParallelRanksHoldIt)
{
    Scenario scenario = test::smallScenario();
    Model& model = scenario.model;
    model.numExperts = 8;
    model.numExpertsPerTok = 2;
    model.moeIntermediateSize = 512;
    constexpr std::int64_t kTokens = 1024, kHidden = 1024, kBytes = 2;
    const auto listOf = [&](int tp, int etp, bool sequenceParallel) {
        scenario.layout.tp = tp;
        scenario.layout.etp = etp;
        scenario.layout.ep = 2;
        scenario.layout.sequenceParallel = sequenceParallel;
        return operatorsOf(model, Sharding::of(scenario), ModelPart::moe);
    };
    for (const auto& [tp, etp] : {std::pair{2, 1}, {4, 1}, {4, 2}, {4, 4}}) {
        const OperatorList cut = listOf(tp, etp, true), whole = listOf(tp, etp, false);
        // Of each rank's tokens every one goes to two experts, an etp-th of each; as many ranks bring theirs.
        const double flops = 2.0 * (2.0 * kTokens / tp * etp) * kHidden * (2 * 512.0 / etp);
        for (const OperatorList* list : {&cut, &whole}) {
            EXPECT_DOUBLE_EQ(operatorOf(*list, "moe.up").flops, flops) << tp << " " << etp;
            EXPECT_EQ(operatorOf(*list, "moe.dispatch").commBytes, 2 * kTokens / tp * kHidden * kBytes);
            EXPECT_EQ(operatorOf(*list, "moe.up").savedInputBytes, 2 * kTokens / tp * etp * kHidden * kBytes);
        }
        EXPECT_EQ(operatorOf(whole, "moe.collect").commBytes, kTokens * kHidden * kBytes);
        EXPECT_EQ(operatorOf(whole, "moe.drop").commBytes, kTokens * kHidden * kBytes);
        EXPECT_FALSE(has(cut, "moe.collect") || has(cut, "moe.drop")) << "sequence parallelism has cut them already";
    }
}

TEST(LatentAttention, ProjectsDownWhatARankHoldsAndGathersLatents)
{
    Scenario scenario = test::smallScenario();
    Model& model = scenario.model;
    model.qLoraRank = 256;
    model.kvLoraRank = 128;
    model.qkNopeHeadDim = 64;
    model.qkRopeHeadDim = 32;
    model.vHeadDim = 48;
    constexpr std::int64_t kTokens = 1024, kHidden = 1024, kBytes = 2;
    const auto listOf = [&](int tp) {
        scenario.layout.tp = tp;
        scenario.layout.sequenceParallel = tp > 1;
        return operatorsOf(model, Sharding::of(scenario), ModelPart::dense);
    };
    for (const int tp : {1, 2, 4, 8}) {
        const OperatorList list = listOf(tp);
        EXPECT_DOUBLE_EQ(operatorOf(list, "attn.q_down").flops * tp, 2.0 * kTokens * kHidden * 256);
        EXPECT_DOUBLE_EQ(operatorOf(list, "attn.kv_down").flops * tp, 2.0 * kTokens * kHidden * (128 + 32));
        EXPECT_EQ(operatorOf(list, "attn.q_norm").forwardBytes, 2 * kTokens / tp * 256 * kBytes);
        EXPECT_EQ(operatorOf(list, "attn.q_up").savedInputBytes, kTokens / tp * 256 * kBytes) << "gathered again";
        EXPECT_EQ(operatorOf(list, "attn.q_up").m, kTokens);
        if (tp == 1)
            continue;
        EXPECT_EQ(operatorOf(list, "attn.q_gather").commBytes, kTokens * 256 * kBytes);
        EXPECT_EQ(operatorOf(list, "attn.kv_gather").commBytes, kTokens * 128 * kBytes);
        EXPECT_EQ(operatorOf(list, "attn.k_rope_gather").commBytes, kTokens * 32 * kBytes);
        EXPECT_FALSE(has(list, "attn.gather"));
    }
    scenario.training.stack.plainTensorParallel = true; // all ranks do the same with what is gathered before
    const OperatorList plain = listOf(4);
    EXPECT_EQ(operatorOf(plain, "attn.gather").commBytes, kTokens * kHidden * kBytes);
    EXPECT_EQ(operatorOf(plain, "attn.q_down").m, kTokens);
    EXPECT_FALSE(has(plain, "attn.q_gather"));
    scenario.training.stack.plainTensorParallel = false;
    model.qLoraRank = 0; // queries come of the whole input, keys and values of latents
    const OperatorList direct = listOf(4);
    EXPECT_EQ(operatorOf(direct, "attn.gather").commBytes, kTokens * kHidden * kBytes);
    EXPECT_EQ(operatorOf(direct, "attn.kv_down").m, kTokens / 4);
}

TEST(Head, PadsItsPartOfTheVocabularyUnlessTheSoftwareDoesNot)
{
    const Model model = test::gptModel(3, 768, 12, 50257, 1024);
    const auto words = [&](int tp, bool pads) {
        Sharding sharding{.tp = tp, .sequenceLength = 128, .padsVocabulary = pads};
        for (const Operator& op : operatorsOf(model, sharding, ModelPart::head).operators)
            if (op.name == "head.logits")
                return op.n;
        return std::int64_t{0};
    };
    EXPECT_EQ(words(1, true), 50304);
    EXPECT_EQ(words(2, true), 25152);
    EXPECT_EQ(words(1, false), 50257);
    EXPECT_EQ(words(2, false), 25128);
}

TEST(LayerParameters, LatentAttentionAddsUp)
{
    Model model = test::llamaModel(1, 2048, 16, 16, 8192);
    model.qLoraRank = 512;
    model.kvLoraRank = 256;
    model.qkNopeHeadDim = 128;
    model.qkRopeHeadDim = 64;
    model.vHeadDim = 128;
    const Sharding one{.sequenceLength = 128};
    EXPECT_EQ(operatorsOf(model, one, ModelPart::embedding).parameters() + operatorsOf(model, one, ModelPart::head).parameters() +
                  operatorsOf(model, one, ModelPart::dense).parameters(),
              parameterCount(model));
}

TEST(Flops, OfGpt3MatchTheMegatronFormula)
{
    // 96Bslh^2(1 + s/6h + V/16lh) of Narayanan et al. 2021 counts recomputation; without it the factor is 72.
    const Model model = test::gptModel(96, 12288, 96, 51200);
    const double s = 2048, l = 96, h = 12288, v = 51200;
    const ForwardFlops flops = forwardFlopsPerToken(model, 2048);
    const double formula = 72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
    EXPECT_NEAR(3 * (flops.linear + flops.attentionFull), formula, formula * 1e-12);
    EXPECT_EQ(flops.attentionCausal, flops.attentionFull / 2);
}

TEST(Flops, OperatorsOfAllRanksAddUpToTheModels)
{
    Scenario scenario = test::smallScenario(2, 1, 1);
    scenario.layout.cp = 2;
    const Sharding sharding = Sharding::of(scenario);
    double perRank = 0;
    for (int layer = 0; layer < scenario.model.numHiddenLayers; ++layer)
        for (const Operator& op : operatorsOf(scenario.model, sharding, ModelPart::dense).operators)
            perRank += op.flops;
    for (const Operator& op : operatorsOf(scenario.model, sharding, ModelPart::head).operators)
        perRank += op.flops;
    const ForwardFlops whole = forwardFlopsPerToken(scenario.model, 1024);
    EXPECT_NEAR(perRank * 4, (whole.linear + whole.attentionCausal) * 1024, 1);
}

TEST(Flops, OfMultiTokenPredictionAreThoseOfItsOperators)
{
    Scenario scenario = test::smallScenario(2, 1, 1);
    scenario.model.numNextnPredictLayers = 3;
    scenario.model.slidingWindow = 100;
    scenario.model.slidingWindowPattern = 8; // the last layer sees everything, and so do the modules
    const Sharding sharding = Sharding::of(scenario);
    double module = 0;
    for (const ModelPart part : {ModelPart::prediction, ModelPart::head})
        for (const Operator& op : operatorsOf(scenario.model, sharding, part).operators)
            module += op.flops;
    const ForwardFlops with = forwardFlopsPerToken(scenario.model, 1024);
    scenario.model.numNextnPredictLayers = 0;
    const ForwardFlops without = forwardFlopsPerToken(scenario.model, 1024);
    const double more = with.linear + with.attentionCausal - without.linear - without.attentionCausal;
    EXPECT_NEAR(2 * 3 * module, more * 1024, more * 1e-9);
    // A layer of the model, a projection from 2h to h, the head again.
    const double h = 1024, layer = 2 * (3 * h * h + 3 * h * 2816) + 2 * 16 * (64 + 64) * 512.0;
    EXPECT_NEAR(more, 3 * (layer + 2 * 2 * h * h + 2 * h * 32000), 1);
}

TEST(Flops, RecomputationCountsInTheHardwaresOnly)
{
    Scenario scenario = test::smallScenario();
    const StepFlops none = stepFlops(scenario);
    EXPECT_EQ(none.hardware, none.modelCausal);
    scenario.training.recompute = Recompute::full;
    const StepFlops full = stepFlops(scenario);
    EXPECT_EQ(full.modelCausal, none.modelCausal);
    const double head = 2.0 * 1024 * 32000 * 1024 * 4;
    EXPECT_NEAR(full.hardware, none.modelCausal / 3 * 4 - head, head * 1e-9); // the head is not recomputed
}

TEST(Sharding, FollowsTheSequenceFromTwoTensorParallelRanksOn)
{
    for (const int tp : {1, 2, 8}) {
        Scenario scenario = test::smallScenario(tp);
        scenario.layout.sequenceParallel = true;
        const Sharding sharding = Sharding::of(scenario);
        EXPECT_EQ(sharding.sequenceParallel, tp > 1);
        EXPECT_EQ(sharding.localTokens(), sharding.tokens() / tp);
    }
}

TEST(Operators, SoftmaxAndDropoutOfScoresHaveARowForEveryQueryOfEveryHead)
{
    const Paper paper;
    int found = 0;
    for (const Operator& op : operatorsOf(paper.model, paper.sharding, ModelPart::dense).operators)
        if (op.name == "attn.softmax" || op.name == "attn.dropout") {
            ++found;
            EXPECT_EQ(op.m, 4 * 32 * 2048);
            EXPECT_EQ(op.n, 2048);
            EXPECT_EQ(op.family, KernelFamily::softmax);
        }
    EXPECT_EQ(found, 2);
}

TEST(Operators, NormsReadAndWriteTheirTensorOnceForwardAndFourTimesBackward)
{
    Sharding sharding{.sequenceLength = 2048, .microBatchSize = 4, .flashAttention = true};
    int norms = 0;
    for (const Operator& op : operatorsOf(test::gptModel(1, 4096, 32), sharding, ModelPart::dense).operators)
        if (op.family == KernelFamily::norm) {
            ++norms;
            const std::int64_t tensor = op.m * op.n * sharding.bytesPerElement;
            EXPECT_EQ(tensor, std::int64_t{2048} * 4 * 4096 * 2);
            EXPECT_EQ(op.forwardBytes, 2 * tensor);
            EXPECT_EQ(op.backwardBytes, 4 * tensor) << "gradient, input and normalised value in, gradient out";
        }
    EXPECT_EQ(norms, 2);
}

TEST(Operators, AreAsManyTimesNarrowerAsTheirBitsAreFewer)
{
    for (const auto& [precision, bytes, narrower] : {std::tuple{Precision::fp32, 4, 1},
                                                     {Precision::tf32, 4, 1},
                                                     {Precision::bf16, 2, 1},
                                                     {Precision::fp16, 2, 1},
                                                     {Precision::fp8, 2, 2},
                                                     {Precision::mxfp8, 2, 2},
                                                     {Precision::nvfp4, 2, 4}}) {
        EXPECT_EQ(elementBytes(precision), bytes);
        EXPECT_EQ(narrowingOf(precision), narrower);
    }
}

TEST(Operators, KeysAndValuesThatAreRepeatedAreAsManyAsQueries)
{
    Model grouped = test::gptModel(1, 4096, 32);
    Sharding sharding{.cp = 2, .sequenceLength = 2048, .microBatchSize = 4, .flashAttention = true};
    const auto facts = [&](const Model& model) {
        std::int64_t sent = 0, copied = 0;
        const OperatorList list = operatorsOf(model, sharding, ModelPart::dense);
        for (const Operator& op : list.operators) {
            sent += op.kind == OperatorKind::ringExchange ? op.commBytes : 0;
            copied += op.name == "attn.repeat_kv" ? op.forwardBytes : 0;
        }
        return std::tuple{sent, copied, list.savedBytes()};
    };
    const auto [sentOfAll, copiedOfAll, savedOfAll] = facts(grouped);
    grouped.numKeyValueHeads = 8;
    const auto [sentOfGroups, copiedOfGroups, savedOfGroups] = facts(grouped);
    EXPECT_EQ(4 * sentOfGroups, sentOfAll);
    EXPECT_EQ(copiedOfGroups, 0);
    sharding.repeatsKeys = true;
    const auto [sent, copied, saved] = facts(grouped);
    const std::int64_t each = std::int64_t{1024} * 4 * 2 * 128 * 2; // tokens, key and value of a head in 16 bits
    EXPECT_EQ(sent, sentOfAll);
    EXPECT_EQ(copied, (8 + 32) * each);
    EXPECT_EQ(saved - savedOfGroups, (32 - 8) * each);
    EXPECT_EQ(saved, savedOfAll);
    grouped.numKeyValueHeads = 32;
    EXPECT_EQ(facts(grouped), (std::tuple{sentOfAll, std::int64_t{0}, savedOfAll})) << "nothing to repeat";
    EXPECT_EQ(copiedOfAll, 0);
}
