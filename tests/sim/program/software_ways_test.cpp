// Ways of software that a stack names: how tensor parallelism reduces, who takes the loss, how gradients travel.
#include "sim/model/operators.h"
#include "sim/program/program.h"
#include "sim/scenario/head_exchange.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>

using namespace sim;

namespace {

Scenario tensorParallel(bool sequenceParallel)
{
    Scenario scenario = test::smallScenario(4);
    scenario.model.gatedMlp = true;
    scenario.layout.sequenceParallel = sequenceParallel;
    return scenario;
}

const Operator& operatorOf(const OperatorList& list, std::string_view name)
{
    for (const Operator& op : list.operators)
        if (op.name == name)
            return op;
    throw std::runtime_error("no " + std::string(name));
}

} // namespace

TEST(SoftwareWays, AutogradReducesTheInputGradientsOfGateAndUpByThemselves)
{
    Scenario scenario = tensorParallel(false);
    const Program fused = test::programOf(scenario);
    scenario.training.stack.plainTensorParallel = true;
    const Program plain = test::programOf(scenario);
    EXPECT_EQ(test::countOf(plain, "mlp.gather"), 2 * test::countOf(fused, "mlp.gather"));
    EXPECT_EQ(test::bytesOf(plain, "mlp.gather"), 2 * test::bytesOf(fused, "mlp.gather"));
    EXPECT_EQ(test::countOf(plain, "attn.gather"), test::countOf(fused, "attn.gather"))
        << "queries, keys and values are one product";
    scenario.model.gatedMlp = false;
    EXPECT_EQ(test::countOf(test::programOf(scenario), "mlp.gather"), test::countOf(fused, "mlp.gather"));
}

TEST(SoftwareWays, NothingRunsBesideAutogradsReductions)
{
    // In the order of a backward pass: a reduction behind both gradients of its product, or before the one of the weights.
    for (const bool plain : {false, true}) {
        Scenario scenario = tensorParallel(false);
        scenario.training.stack.plainTensorParallel = plain;
        const Program program = test::programOf(scenario);
        int found = 0;
        for (const Pass& pass : program.passes) {
            std::ptrdiff_t reduction = -1, weights = -1;
            for (std::size_t i = 0; i < pass.ops.size(); ++i) {
                if (program.labels[pass.ops[i].label] == "attn.gather" && reduction < 0)
                    reduction = static_cast<std::ptrdiff_t>(i);
                if (program.labels[pass.ops[i].label].starts_with("attn.qkv") &&
                    pass.shapes[i].pass == KernelPass::weightGradient && weights < 0)
                    weights = static_cast<std::ptrdiff_t>(i);
            }
            if (reduction < 0 || weights < 0)
                continue;
            ++found;
            EXPECT_EQ(weights < reduction, plain);
        }
        EXPECT_GT(found, 0);
    }
}

TEST(SoftwareWays, AutogradKeepsWhatSequenceParallelismHasGathered)
{
    Scenario scenario = tensorParallel(true);
    const auto kept = [&] {
        return operatorOf(operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense), "mlp.up").savedInputBytes;
    };
    const Program fused = test::programOf(scenario);
    const std::int64_t slice = kept();
    scenario.training.stack.plainTensorParallel = true;
    const Program plain = test::programOf(scenario);
    EXPECT_EQ(kept(), 4 * slice);
    const auto gathers = [](const Program& program) {
        double count = 0;
        for (const Step& step : program.ranks[0].steps)
            for (std::size_t i = 0; i < program.passes[step.pass].ops.size(); ++i)
                count += program.passes[step.pass].ops[i].kind == OpKind::collective &&
                         program.passes[step.pass].shapes[i].collective == CollectiveKind::allGather;
        return count;
    };
    EXPECT_LT(gathers(plain), gathers(fused));
    EXPECT_EQ(test::countOf(plain, "mlp.gather"), test::countOf(fused, "mlp.gather")) << "what both read is gathered once";
    // Nor is it gathered for gradients of weights that have a pass of their own.
    scenario.layout.pp = 2;
    scenario.cluster.nodes *= 2;
    scenario.schedule.kind = "zb-h1";
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    EXPECT_EQ(test::countOf(test::programOf(scenario), "regather"), 0);
    scenario.training.stack.plainTensorParallel = false;
    EXPECT_GT(test::countOf(test::programOf(scenario), "regather"), 0);
}

TEST(SoftwareWays, ProductsThatGatherByThemselvesGatherAndReduceOnceEach)
{
    for (const bool sequenceParallel : {true, false}) {
        Scenario scenario = tensorParallel(sequenceParallel);
        scenario.training.stack.plainTensorParallel = true;
        const auto kept = [&](std::string_view name) {
            return operatorOf(operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense), name).savedInputBytes;
        };
        const Program shared = test::programOf(scenario);
        const std::int64_t qkv = kept("attn.qkv"), up = kept("mlp.up");
        scenario.training.stack.gathersApart = true;
        const Program apart = test::programOf(scenario);
        // Queries, keys and values; gate and up, which without anything to gather had reductions of their own already.
        EXPECT_EQ(test::countOf(apart, "attn.gather"), 3 * test::countOf(shared, "attn.gather"));
        EXPECT_EQ(test::countOf(apart, "mlp.gather"), (sequenceParallel ? 2 : 1) * test::countOf(shared, "mlp.gather"));
        EXPECT_EQ(test::countOf(apart, "head.gather"), test::countOf(shared, "head.gather"));
        // What each has gathered is a tensor of its own.
        EXPECT_EQ(kept("attn.qkv"), (sequenceParallel ? 3 : 1) * qkv);
        EXPECT_EQ(kept("mlp.up"), (sequenceParallel ? 2 : 1) * up);
        scenario.training.stack.plainTensorParallel = false;
        const Program megatron = test::programOf(scenario);
        scenario.training.stack.gathersApart = false;
        EXPECT_EQ(test::countOf(megatron, "attn.gather"), test::countOf(test::programOf(scenario), "attn.gather"));
    }
}

TEST(SoftwareWays, ProductsThatGatherByThemselvesDoSoBesideTheirPiecesToo)
{
    Scenario scenario = tensorParallel(true);
    scenario.training.stack.plainTensorParallel = scenario.training.stack.gathersApart = true;
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
        scenario.training.recompute = recompute;
        scenario.training.overlap.tpComm = false;
        const Program whole = test::programOf(scenario);
        scenario.training.overlap.tpComm = true;
        const Program pieces = test::programOf(scenario);
        for (const char* name : {"attn.gather", "mlp.gather", "head.gather", "attn.reduce", "mlp.reduce"})
            EXPECT_EQ(test::bytesOf(pieces, name), test::bytesOf(whole, name)) << name;
        EXPECT_GT(test::countOf(pieces, "attn.gather"), test::countOf(whole, "attn.gather"));
    }
}

TEST(SoftwareWays, WhatIsReducedBehindAProductGoesRoundARingOrAmongAll)
{
    Scenario scenario = tensorParallel(true);
    scenario.training.overlap.tpComm = true;
    for (const bool amongAll : {false, true}) {
        scenario.training.stack.reducesAmongAll = amongAll;
        const Program program = test::programOf(scenario);
        int reductions = 0, others = 0;
        for (const Pass& pass : program.passes)
            for (const OpShape& shape : pass.shapes)
                if (shape.piecesOfTrip > 1 && shape.collective == CollectiveKind::reduceScatter) {
                    ++reductions;
                    EXPECT_EQ(shape.amongAll, amongAll);
                } else if (shape.piecesOfTrip > 1) {
                    ++others;
                    EXPECT_FALSE(shape.amongAll) << "what is gathered goes round a ring";
                }
        EXPECT_GT(reductions, 0);
        EXPECT_GT(others, 0);
    }
}

TEST(SoftwareWays, SequencesThatAreCutAlongTheSecondDimensionAreCopiedAroundEachCollective)
{
    Scenario scenario = tensorParallel(true);
    scenario.training.stack.plainTensorParallel = scenario.training.stack.gathersApart = true;
    const Program without = test::programOf(scenario);
    scenario.training.stack.sequenceCopyBytes = 4; // of 16 bits: read and written
    const Program program = test::programOf(scenario);
    for (const std::string name : {"attn.gather", "attn.reduce", "mlp.gather", "mlp.reduce", "head.gather"}) {
        EXPECT_GT(test::countOf(without, name), 0);
        EXPECT_EQ(test::countOf(without, name + ".copy"), 0);
        EXPECT_EQ(test::countOf(program, name + ".copy"), test::countOf(without, name)) << name;
        EXPECT_EQ(test::bytesOf(program, name + ".copy"), 2 * test::bytesOf(without, name)) << name;
    }
    scenario.layout.sequenceParallel = false;
    EXPECT_EQ(test::countOf(test::programOf(scenario), "attn.reduce.copy"), 0) << "nothing is cut";
}

TEST(SoftwareWays, AnEmbeddingThatIsWholeOnEachRankHasNothingToAddUp)
{
    for (const bool sequenceParallel : {true, false}) {
        Scenario scenario = tensorParallel(sequenceParallel);
        const auto parameters = [&] {
            return operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::embedding).parameters();
        };
        const std::int64_t part = parameters();
        const double before = test::countOf(test::programOf(scenario), "embed.reduce");
        scenario.training.stack.wholeEmbedding = true;
        EXPECT_EQ(parameters(), 4 * part);
        // Each goes on with its part of the sequence, and gathers that one's gradient.
        EXPECT_EQ(test::countOf(test::programOf(scenario), "embed.reduce"), sequenceParallel ? before / 2 : 0);
    }
}

TEST(SoftwareWays, AHeadThatIsWholeOnEachRankMakesAllLogitsThere)
{
    for (const bool sequenceParallel : {true, false}) {
        Scenario scenario = tensorParallel(sequenceParallel);
        scenario.training.stack.padsVocabulary = false;
        scenario.training.stack.shardedLossSaved = 7;
        const auto head = [&](std::string_view name) {
            return operatorOf(operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::head), name);
        };
        const double before = test::countOf(test::programOf(scenario), "head.gather");
        scenario.training.stack.wholeHead = true;
        EXPECT_EQ(head("head.logits").n, scenario.model.vocabSize);
        EXPECT_EQ(head("head.logits").parameters, std::int64_t{scenario.model.vocabSize} * scenario.model.hiddenSize);
        EXPECT_EQ(head("loss").n, scenario.model.vocabSize);
        EXPECT_EQ(head("loss").savedBytes, head("loss").m * head("loss").n * 4) << "no part, and so not what parts keep";
        const Program program = test::programOf(scenario);
        EXPECT_EQ(test::countOf(program, "loss.sync"), 0);
        EXPECT_EQ(test::countOf(program, "head.gather"), sequenceParallel ? before / 2 : 0) << "all have the same gradient";
    }
}

// What both ends of a pipeline have of it they add up, as much as each has.
TEST(SoftwareWays, AnEmbeddingThatIsWholeOnEachRankIsAddedUpWholeBetweenThePipelinesEnds)
{
    for (const bool tied : {true, false})
        for (const bool headSaysIt : {false, true}) {
            if (headSaysIt && !tied)
                continue;
            Scenario scenario = test::smallScenario(4, 2);
            scenario.model.vocabSize = 1024;
            scenario.model.tieWordEmbeddings = tied;
            scenario.model.numNextnPredictLayers = tied ? 0 : 1;
            const double part = test::bytesOf(test::programOf(scenario), "grad.reduce.embedding");
            ASSERT_GT(part, 0);
            (headSaysIt ? scenario.training.stack.wholeHead : scenario.training.stack.wholeEmbedding) = true;
            EXPECT_EQ(test::bytesOf(test::programOf(scenario), "grad.reduce.embedding"), 4 * part);
        }
}

// One tensor cannot be cut at one end and whole at the other.
TEST(SoftwareWays, TiedWeightsAreWholeAtBothEndsOrAtNone)
{
    Scenario scenario = tensorParallel(true);
    scenario.model.tieWordEmbeddings = true;
    const auto rows = [&] {
        const Sharding sharding = Sharding::of(scenario);
        return std::pair(operatorsOf(scenario.model, sharding, ModelPart::embedding).parameters(),
                         operatorOf(operatorsOf(scenario.model, sharding, ModelPart::head), "head.logits").n);
    };
    scenario.training.stack.padsVocabulary = false;
    const auto [cut, cutWords] = rows();
    const std::int64_t states = test::programOf(scenario).ranks[0].states.parameterElements;
    scenario.training.stack.wholeEmbedding = true;
    const auto byEmbedding = rows();
    const std::int64_t wholeStates = test::programOf(scenario).ranks[0].states.parameterElements;
    scenario.training.stack.wholeEmbedding = false;
    scenario.training.stack.wholeHead = true;
    EXPECT_EQ(rows(), byEmbedding);
    EXPECT_EQ(test::programOf(scenario).ranks[0].states.parameterElements, wholeStates);
    EXPECT_EQ(byEmbedding.first, 4 * cut);
    EXPECT_EQ(byEmbedding.second, scenario.model.vocabSize);
    EXPECT_LT(cutWords, scenario.model.vocabSize);
    EXPECT_EQ(wholeStates - states, 3 * cut);
    scenario.model.tieWordEmbeddings = false;
    EXPECT_EQ(rows().first, cut) << "two tensors, each as its key says";
}

// DeepSpeed Ulysses: a rank has a part of the sequence, and of attention a part of the heads over all of it.
TEST(SoftwareWays, ContextParallelismMayExchangeTheSequenceForHeads)
{
    Scenario scenario = test::smallScenario();
    scenario.cluster.nodes *= 2;
    scenario.layout.cp = 2;
    scenario.training.flashAttention = true;
    const auto layer = [&] { return operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense); };
    const auto work = [](const OperatorList& list) {
        double flops = 0;
        for (const Operator& op : list.operators)
            flops += op.kind == OperatorKind::attention ? op.flops : 0;
        return flops;
    };
    const OperatorList ring = layer();
    const Operator block = operatorOf(ring, "attn.core");
    scenario.training.stack.exchangesHeads = true;
    const OperatorList exchanged = layer();
    const Operator whole = operatorOf(exchanged, "attn.core");
    EXPECT_DOUBLE_EQ(work(exchanged), work(ring));
    EXPECT_EQ(whole.m, 2 * block.m);
    EXPECT_EQ(whole.batch * 2, block.batch);
    const std::int64_t tokens = std::int64_t{scenario.training.sequenceLength} / 2 * scenario.training.microBatchSize;
    const std::int64_t width = std::int64_t{scenario.model.numAttentionHeads} * scenario.model.headDim,
                       keys = std::int64_t{scenario.model.numKeyValueHeads} * scenario.model.headDim;
    EXPECT_EQ(whole.savedBytes, block.savedBytes + tokens * width * 2) << "its own output, beside what the projection keeps";
    EXPECT_EQ(operatorOf(exchanged, "attn.out").savedInputBytes, tokens * width * 2);
    EXPECT_EQ(operatorOf(exchanged, "attn.exchange").commBytes, tokens * (width + 2 * keys) * 2);
    EXPECT_EQ(operatorOf(exchanged, "attn.exchange_back").commBytes, tokens * width * 2);
    const Program program = test::programOf(scenario);
    EXPECT_EQ(test::countOf(program, "attn.ring"), 0);
    EXPECT_EQ(test::countOf(program, "attn.merge"), 0);
    const double passes = 2.0 * scenario.microbatches() * scenario.model.numHiddenLayers;
    EXPECT_EQ(test::countOf(program, "attn.exchange_back"), passes) << "there, and the gradient's way back";
    EXPECT_EQ(test::countOf(program, "attn.exchange"), 2 * passes);
    scenario.training.moe.sendOncePerNode = true; // nothing to a model without experts
    EXPECT_EQ(operatorOf(layer(), "attn.core").m, whole.m);
    scenario.model.numExperts = 8; // whose all-to-alls are told by how experts' tokens travel
    EXPECT_EQ(operatorOf(layer(), "attn.core").m, block.m);
    scenario.training.moe.sendOncePerNode = false;
    scenario.model.numExperts = 0;
    scenario.model.numAttentionHeads = scenario.model.numKeyValueHeads = 3; // cannot be dealt to two
    EXPECT_EQ(operatorOf(layer(), "attn.core").m, block.m);
}

TEST(SoftwareWays, HeadsAreExchangedForAttentionThatIsNotFusedToo)
{
    Scenario scenario = test::smallScenario();
    scenario.cluster.nodes *= 2;
    scenario.layout.cp = 2;
    scenario.training.flashAttention = false;
    const auto layer = [&] { return operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense); };
    const OperatorList gathered = layer();
    scenario.training.stack.exchangesHeads = true;
    const OperatorList exchanged = layer();
    const Operator before = operatorOf(gathered, "attn.scores"), scores = operatorOf(exchanged, "attn.scores");
    EXPECT_EQ(scores.m, 2 * before.m);
    EXPECT_EQ(scores.n, before.n);
    EXPECT_EQ(2 * scores.batch, before.batch);
    EXPECT_DOUBLE_EQ(scores.flops, before.flops);
    EXPECT_EQ(operatorOf(exchanged, "attn.softmax").savedBytes, operatorOf(gathered, "attn.softmax").savedBytes);
    const Program program = test::programOf(scenario);
    EXPECT_EQ(test::countOf(program, "attn.keys"), 0);
    EXPECT_EQ(test::countOf(program, "attn.exchange"), 2 * test::countOf(program, "attn.exchange_back"))
        << "both, and one of them";
    EXPECT_GT(test::countOf(program, "attn.exchange"), 0);
}

// Transformer Engine asks for as many for each rank; DeepSpeed copies them.
TEST(SoftwareWays, ExchangedKeyHeadsAreCopiedWhereRanksShareThem)
{
    EXPECT_EQ(exchangedKeyHeads(32, 8, 8), 8);
    EXPECT_EQ(exchangedKeyHeads(32, 8, 32), 32) << "one for every rank";
    EXPECT_EQ(exchangedKeyHeads(24, 6, 4), 4 * 2) << "six queries of two heads' four each";
    EXPECT_EQ(exchangedKeyHeads(30, 10, 6), 6 * 3) << "queries 5 to 9 look at heads 1 to 3";
    Scenario scenario = test::smallScenario();
    scenario.cluster.nodes *= 4;
    scenario.layout.cp = 4;
    scenario.model.numAttentionHeads = 24;
    scenario.model.numKeyValueHeads = 6;
    scenario.training.flashAttention = scenario.training.stack.exchangesHeads = true;
    const OperatorList list = operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::dense);
    const std::int64_t tokens = std::int64_t{scenario.training.sequenceLength} / 4 * scenario.training.microBatchSize;
    EXPECT_EQ(operatorOf(list, "attn.exchange").commBytes, tokens * (24 + 2 * 8) * scenario.model.headDim * 2);
}

// The checkpoint is around the whole of it (Megatron-Core, _checkpointed_attention_forward), and keeps what has not been
// exchanged.
TEST(SoftwareWays, AttentionThatRunsAgainExchangesHeadsAgain)
{
    Scenario scenario = test::smallScenario();
    scenario.cluster.nodes *= 8;
    scenario.layout.cp = 8;
    scenario.model.numAttentionHeads = 16;
    scenario.model.numKeyValueHeads = 4; // of which each rank has one
    scenario.training.flashAttention = scenario.training.stack.exchangesHeads = true;
    for (const bool isFused : {true, false}) {
        scenario.training.flashAttention = isFused;
        scenario.training.recompute = Recompute::none;
        const Program kept = test::programOf(scenario);
        scenario.training.recompute = Recompute::selective;
        scenario.training.recomputeModules = {RecomputeModule::coreAttention};
        const Program again = test::programOf(scenario);
        for (const char* name : {"attn.exchange", "attn.exchange_back"})
            EXPECT_EQ(2 * test::countOf(again, name), 3 * test::countOf(kept, name)) << name;
        const auto first = [](const Program& program, std::string_view name) {
            std::int64_t bytes = -1; // the first op's: of the forward pass
            for (const Pass& pass : program.passes)
                for (const Op& op : pass.ops)
                    if (bytes < 0 && program.labels[op.label] == name)
                        bytes = op.allocBytes;
            return bytes;
        };
        const std::int64_t tokens = std::int64_t{scenario.training.sequenceLength} / 8 * scenario.training.microBatchSize;
        const std::int64_t head = tokens * scenario.model.headDim * 2;
        if (isFused) {
            EXPECT_EQ(first(again, "attn.core"), (16 + 2 * 4) * head);
            EXPECT_EQ(first(kept, "attn.core"), (16 + 2 * 8 + 16) * head + tokens * 16 * 4);
        } else {
            EXPECT_EQ(first(again, "attn.scores"), (16 + 4) * head);
            EXPECT_EQ(first(again, "attn.context"), 4 * head);
            EXPECT_EQ(first(kept, "attn.scores"), (16 + 8) * head);
        }
    }
}

TEST(SoftwareWays, EachRankTakesTheLossOfAllLogitsWhereTheyAreGathered)
{
    Scenario scenario = tensorParallel(false);
    const auto head = [&] { return operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::head); };
    const Operator part = operatorOf(head(), "loss");
    const Program cut = test::programOf(scenario);
    scenario.training.stack.gathersLogits = true;
    const Operator whole = operatorOf(head(), "loss");
    const Operator product = operatorOf(head(), "head.logits");
    EXPECT_EQ(whole.n, 4 * part.n);
    EXPECT_EQ(whole.forwardBytes, 4 * part.forwardBytes);
    EXPECT_EQ(whole.savedBytes, 4 * part.savedBytes);
    const Program gathered = test::programOf(scenario);
    EXPECT_EQ(test::countOf(gathered, "loss.sync"), 0);
    EXPECT_GT(test::countOf(cut, "loss.sync"), 0);
    EXPECT_EQ(test::bytesOf(gathered, "head.output") / test::countOf(gathered, "head.output"),
              static_cast<double>(product.m * whole.n * 2));
    EXPECT_EQ(test::countOf(gathered, "head.output"), scenario.microbatches()) << "its gradient is cut without a word";
}

TEST(SoftwareWays, ALossOfPartsOfTheVocabularyMayKeepMore)
{
    for (const auto& [tp, saved] : {std::pair{1, 3}, {4, 4}}) {
        Scenario scenario = test::smallScenario(tp);
        const auto loss = [&] {
            return operatorOf(operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::head), "loss");
        };
        const std::int64_t fused = loss().savedBytes;
        scenario.training.stack.parts[static_cast<std::size_t>(StackPart::loss)].saved = 3;
        EXPECT_EQ(loss().savedBytes, 3 * fused);
        scenario.training.stack.shardedLossSaved = 4;
        EXPECT_EQ(loss().savedBytes, saved * fused) << "tp " << tp;
        scenario.training.stack.gathersLogits = true; // then none has a part
        EXPECT_EQ(loss().savedBytes, 3 * tp * fused);
    }
}

// Liger's fused linear cross-entropy: of a micro-batch of T tokens what the head reads has its gradient in its place, and the
// head's weights have theirs; of logits there are those of a chunk, while the loss runs.
TEST(SoftwareWays, ALossInChunksKeepsGradientsInPlaceOfLogits)
{
    Scenario scenario = test::smallScenario();
    const std::int64_t tokens = std::int64_t{scenario.training.sequenceLength} * scenario.training.microBatchSize,
                       h = scenario.model.hiddenSize, v = scenario.model.vocabSize;
    scenario.model.vocabSize = static_cast<int>(v / 64 * 64); // nothing to pad
    const std::int64_t vocabulary = scenario.model.vocabSize;
    const auto head = [&] { return operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::head); };
    EXPECT_EQ(head().savedBytes(), tokens * (2 * h + 2 * h + 4 * vocabulary)) << "inputs of norm and product, and logits";
    scenario.training.lossChunkTokens = static_cast<int>(tokens / 4);
    EXPECT_EQ(head().savedBytes(), tokens * (2 * h + 2 * h) + 2 * h * vocabulary);
    EXPECT_EQ(operatorOf(head(), "loss").passingBytes, tokens / 4 * 4 * vocabulary);
    EXPECT_EQ(operatorOf(head(), "loss").pieces, 4);
    scenario.training.lossChunkTokens = static_cast<int>(2 * tokens); // more than there are: one chunk, of all
    EXPECT_EQ(operatorOf(head(), "loss").passingBytes, tokens * 4 * vocabulary);
    EXPECT_EQ(operatorOf(head(), "head.logits").pieces, 1);
    scenario.model.lora.rank = 8; // whose head is frozen
    EXPECT_EQ(head().savedBytes(), tokens * (2 * h + 2 * h));
}

TEST(SoftwareWays, ALossInChunksGivesUpItsLogitsInTheForwardPass)
{
    for (const char* kind : {"1f1b", "zb-h1"})
        for (const int tp : {1, 4}) {
            Scenario scenario = test::smallScenario(tp); // with sequence parallelism
            scenario.schedule.kind = kind;
            scenario.training.overlap.tpComm = tp > 1;
            scenario.training.lossChunkTokens = 100;
            const Program program = test::programOf(scenario);
            const auto held = [&](std::string_view name) {
                return test::sumOf(program, name, [](const Op& op, const OpShape&) {
                    return static_cast<double>(op.allocBytes - op.freeBytes);
                });
            };
            EXPECT_EQ(held(""), 0) << kind << tp;
            EXPECT_EQ(held("loss"), 0) << kind << tp;
            const double passing =
                test::sumOf(program, "loss", [](const Op& op, const OpShape&) { return static_cast<double>(op.allocBytes); });
            EXPECT_EQ(
                passing,
                static_cast<double>(scenario.microbatches()) *
                    static_cast<double>(
                        operatorOf(operatorsOf(scenario.model, Sharding::of(scenario), ModelPart::head), "loss").passingBytes));
            EXPECT_GT(passing, 0);
        }
}

// Each chunk's sums are reduced, or its logits gathered, before the next chunk's are made.
TEST(SoftwareWays, ALossInChunksTalksOncePerChunk)
{
    for (const bool gathers : {false, true}) {
        Scenario scenario = test::smallScenario(4);
        scenario.training.stack.gathersLogits = gathers;
        const char* name = gathers ? "head.output" : "loss.sync";
        const auto pieces = [&] {
            return test::sumOf(test::programOf(scenario), name, [](const Op&, const OpShape& shape) { return shape.pieces; });
        };
        const double bytes = test::bytesOf(test::programOf(scenario), name);
        EXPECT_EQ(pieces(), scenario.microbatches());
        scenario.training.lossChunkTokens = scenario.training.sequenceLength / 8;
        EXPECT_EQ(pieces(), 8 * scenario.microbatches()) << name;
        EXPECT_EQ(test::bytesOf(test::programOf(scenario), name), bytes) << "as much in all";
        EXPECT_EQ(
            test::sumOf(test::programOf(scenario), "head.gather", [](const Op&, const OpShape& shape) { return shape.pieces; }),
            test::countOf(test::programOf(scenario), "head.gather"))
            << "what the head reads is gathered once";
    }
}

// As it is on a GPU: the stream that has asked for a sum waits for it, whatever it runs next.
TEST(SoftwareWays, WhatFollowsTheLossWaitsForItsSums)
{
    for (const int chunk : {0, 256}) {
        Scenario scenario = test::smallScenario(4);
        scenario.training.lossChunkTokens = chunk;
        const Program program = test::programOf(scenario);
        int sums = 0;
        bool isAwaited = true;
        for (const Step& step : program.ranks[0].steps)
            for (const Op& op : program.passes[step.pass].ops) {
                isAwaited = isAwaited || (op.waits & maskOf(Stream::tp)) != 0;
                EXPECT_TRUE(isAwaited || op.kind != OpKind::compute) << program.labels[op.label];
                if (program.labels[op.label] == "loss.sync") {
                    isAwaited = false;
                    ++sums;
                }
            }
        EXPECT_EQ(sums, scenario.microbatches());
        EXPECT_TRUE(isAwaited);
    }
}

// What is sent is the sum, and the next micro-batch's kernels come behind it as they do behind a layer's.
TEST(SoftwareWays, WhatFollowsAnEmbeddingAloneOnItsStageWaitsForItsSum)
{
    for (const bool sequenceParallel : {false, true}) {
        Scenario scenario = test::smallScenario(2, 2, 1);
        scenario.layout.sequenceParallel = sequenceParallel;
        scenario.schedule.layersPerStage = {0, scenario.model.numHiddenLayers};
        const Program program = test::programOf(scenario);
        int sums = 0, sent = 0;
        bool isAwaited = true;
        for (const Step& step : program.ranks[0].steps)
            for (std::size_t i = 0; i < program.passes[step.pass].ops.size(); ++i) {
                const Op& op = program.passes[step.pass].ops[i];
                isAwaited = isAwaited || (op.stream == Stream::compute && (op.waits & maskOf(Stream::tp)) != 0);
                EXPECT_TRUE(isAwaited || op.kind != OpKind::compute) << program.labels[op.label];
                EXPECT_TRUE(isAwaited || op.kind != OpKind::send);
                sent += op.kind == OpKind::send ? 1 : 0;
                const bool isGather = program.passes[step.pass].shapes[i].collective == CollectiveKind::allGather; // backward
                if (program.labels[op.label] == "embed.reduce" && !isGather) {
                    isAwaited = false;
                    ++sums;
                }
            }
        EXPECT_EQ(sums, scenario.microbatches());
        EXPECT_EQ(sent, sums);
        EXPECT_TRUE(isAwaited);
    }
}

TEST(SoftwareWays, RecomputationByOperatorsMayKeepWhatNobodyReads)
{
    // Of query, key, value, output, gate, up and down each second runs again: the seventh is on the list of what is kept. With
    // one matrix to go up it is the sixth, and is not.
    const auto freedMinusAllocated = [](const Op& op, const OpShape&) {
        return static_cast<double>(op.freeBytes) - static_cast<double>(op.allocBytes);
    };
    const auto keptMore = [&](bool gated, int tp) {
        Scenario scenario = test::smallScenario(tp);
        scenario.model.gatedMlp = gated;
        scenario.layout.sequenceParallel = tp > 1;
        scenario.training.recompute = Recompute::selective;
        scenario.training.recomputeModules = {RecomputeModule::operators};
        const auto kept = [&] {
            const Program program = test::programOf(scenario);
            std::int64_t bytes = 0;
            for (const Op& op : program.passes[program.ranks[0].steps.front().pass].ops)
                bytes += op.allocBytes - op.freeBytes;
            return bytes;
        };
        const std::int64_t before = kept();
        scenario.training.stack.keepsUnread = true;
        const std::int64_t more = kept() - before;
        EXPECT_EQ(test::sumOf(test::programOf(scenario), "", freedMinusAllocated), 0) << "what is kept is freed";
        const auto tensor =
            std::int64_t{scenario.training.sequenceLength} * scenario.training.microBatchSize * scenario.model.hiddenSize * 2;
        return static_cast<double>(more) / static_cast<double>(tensor * scenario.model.numHiddenLayers);
    };
    EXPECT_DOUBLE_EQ(keptMore(true, 1), 1);
    EXPECT_DOUBLE_EQ(keptMore(false, 1), 0);
    EXPECT_DOUBLE_EQ(keptMore(true, 4), 1) << "a sum of which others have parts is as large";
}

TEST(SoftwareWays, GradientsMayTravelWholeAndWide)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = 1;
    scenario.training.gradientBytes = 2;
    const auto reductions = [&](CollectiveKind kind) {
        return test::sumOf(test::programOf(scenario), "grad.reduce",
                           [kind](const Op&, const OpShape& shape) { return shape.collective == kind ? 1.0 : 0.0; });
    };
    const double narrow = test::bytesOf(test::programOf(scenario), "grad.reduce");
    const double gathered = test::bytesOf(test::programOf(scenario), "param.gather");
    EXPECT_EQ(reductions(CollectiveKind::allReduce), 0);
    scenario.training.stack.reducesWhole = true;
    EXPECT_EQ(reductions(CollectiveKind::reduceScatter), 0);
    EXPECT_GT(reductions(CollectiveKind::allReduce), 0);
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "param.gather"), gathered);
    const std::int64_t states = test::programOf(scenario).ranks[0].states.gradients;
    scenario.training.stack.reducesWide = true;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "grad.reduce"), 2 * narrow);
    EXPECT_EQ(test::programOf(scenario).ranks[0].states.gradients, states) << "they are kept as before";
    scenario.training.gradientBytes = 4;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "grad.reduce"), 2 * narrow);
}
