// What each mechanism adds to a program, in closed form: one test a mechanism, so that a slip in one of them has a name.
#include "sim/model/parameters.h"
#include "sim/program/program.h"
#include "sim/schedule/families/families.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace sim;

namespace {

Scenario dataParallel(int zeroStage)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = zeroStage;
    return scenario;
}

Scenario withExperts()
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = scenario.model.intermediateSize / 4;
    scenario.layout.ep = 4;
    return scenario;
}

} // namespace

TEST(CostsOfProgram, GradientsTravelInTheirOwnNumberFormat)
{
    Scenario scenario = dataParallel(1);
    const double wide = test::bytesOf(test::programOf(scenario), "grad.reduce");
    scenario.training.gradientBytes = 2;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "grad.reduce"), wide / 2);
}

TEST(CostsOfProgram, ReplicasOfAShardingGroupReduceAShardEach)
{
    Scenario scenario = dataParallel(3);
    scenario.layout.dpShard = 2;
    const Program program = test::programOf(scenario);
    EXPECT_GT(test::bytesOf(program, "grad.reduce.replicas"), 0);
    // The shard's reduction has the whole gradient, the replicas' a half of it; "grad.reduce" begins both names.
    const double both = test::bytesOf(program, "grad.reduce");
    EXPECT_NEAR(test::bytesOf(program, "grad.reduce.replicas") / (both - test::bytesOf(program, "grad.reduce.replicas")), 0.5,
                1e-3);
}

TEST(CostsOfProgram, BlocksOfARingAreJoinedByKernelsOfTheirOwn)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    scenario.layout.cp = 4;
    const double passes = 4 * 8, tokens = 1024.0 / 4, queries = 16 * 64, keysAndValues = 2 * 8 * 64, joined = 3;
    const auto merged = [&](OpPurpose purpose) {
        return test::sumOf(test::programOf(scenario), "attn.merge", [&](const Op& op, const OpShape& shape) {
            return op.purpose == purpose ? static_cast<double>(shape.bytes) : 0.0;
        });
    };
    const auto sent = [&] { return test::bytesOf(test::programOf(scenario), "attn.ring"); };
    scenario.training.stack.ringMergeBytes = 6;
    scenario.training.stack.ringGradientBytes = 5;
    EXPECT_EQ(merged(OpPurpose::forward), passes * joined * tokens * queries * 6);
    EXPECT_EQ(merged(OpPurpose::backward), passes * joined * tokens * (queries + keysAndValues) * 5);
    EXPECT_EQ(sent(), passes * joined * tokens * keysAndValues * 2 * (1 + 2)) << "there, and back with gradients";
    scenario.training.stack.ringGradientsWide = true;
    EXPECT_EQ(sent(), passes * joined * tokens * keysAndValues * (2 + 2 + 4)) << "gradients in single precision";
    scenario.layout.cp = 1;
    EXPECT_EQ(merged(OpPurpose::forward), 0);
}

/// Names of a backward pass's transfers and waits for data parallelism, in the order of issue, and "kernels" between them.
std::vector<std::string> backwardOf(const Scenario& scenario)
{
    const Program program = test::programOf(scenario);
    for (const Pass& pass : program.passes) {
        std::vector<std::string> out;
        bool reduces = false;
        for (const Op& op : pass.ops) {
            const std::string& label = program.labels[op.label];
            const bool awaits = op.kind == OpKind::wait && (op.waits & maskOf(Stream::dp)) != 0;
            reduces = reduces || label == "grad.reduce";
            if (awaits || (op.kind == OpKind::collective && op.stream == Stream::dp))
                out.push_back(label);
            else if (op.kind == OpKind::compute && (out.empty() || out.back() != "kernels"))
                out.emplace_back("kernels");
        }
        if (reduces && std::find(out.begin(), out.end(), "param.gather") != out.end())
            return out;
    }
    return {};
}

TEST(CostsOfProgram, ALayersBackwardAwaitsItsParametersAndNotTheGradientsBeforeThem)
{
    Scenario scenario = dataParallel(3);
    using Names = std::vector<std::string>;
    const auto middle = [&] {
        const Names all = backwardOf(scenario);
        EXPECT_GT(all.size(), 12U);
        // From one reduction to the next.
        const auto first = std::find(all.begin(), all.end(), "grad.reduce");
        const auto second = std::find(std::next(first), all.end(), "grad.reduce");
        return Names(first, second);
    };
    EXPECT_EQ(middle(), (Names{"grad.reduce", "param.gather", "kernels", "wait"}));
    scenario.training.stack.gathersAfterReduction = true;
    EXPECT_EQ(middle(), (Names{"grad.reduce", "param.gather", "wait", "kernels"}));
    scenario.training.stack.gathersAfterReduction = false;
    scenario.training.overlap.paramGather = false;
    EXPECT_EQ(middle(), (Names{"grad.reduce", "kernels", "param.gather", "wait"})) << "nothing is gathered ahead";
}

TEST(CostsOfProgram, SoftwareThatJoinsWhatWasGatheredMovesItOnceMore)
{
    Scenario scenario = dataParallel(3);
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "param.unpack"), 0);
    scenario.training.stack.gatherBytes = 4; // of parameters in 16 bits: read and written
    for (const bool ahead : {true, false}) {
        scenario.training.overlap.paramGather = ahead;
        const Program program = test::programOf(scenario);
        EXPECT_EQ(test::bytesOf(program, "param.unpack"), 2 * test::bytesOf(program, "param.gather"));
        for (const Pass& pass : program.passes) { // each behind its own gathering, before its layer's kernels
            std::size_t gathered = 0, joined = 0;
            for (const Op& op : pass.ops) {
                gathered += program.labels[op.label] == "param.gather" ? 1 : 0;
                joined += program.labels[op.label] == "param.unpack" ? 1 : 0;
                EXPECT_LE(joined, gathered);
            }
            EXPECT_EQ(joined, gathered);
        }
    }
    scenario.layout.zeroStage = 1;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "param.unpack"), 0);
    Scenario alone = test::smallScenario();
    alone.layout.zeroStage = 3;
    alone.training.stack.gatherBytes = 4;
    EXPECT_EQ(test::bytesOf(test::programOf(alone), "param.unpack"), 0) << "nothing was gathered";
}

TEST(CostsOfProgram, KernelsDoNotWaitForWhatIsGatheredAhead)
{
    const Program program = test::programOf(dataParallel(3));
    int gathers = 0;
    for (const Pass& pass : program.passes)
        for (const Op& op : pass.ops) {
            gathers += program.labels[op.label] == "param.gather" ? 1 : 0;
            if (op.kind == OpKind::compute && op.purpose != OpPurpose::optimizer) {
                EXPECT_EQ(op.waits & maskOf(Stream::dp), 0) << program.labels[op.label];
            }
        }
    EXPECT_GT(gathers, 2);
}

TEST(CostsOfProgram, ReplicasReduceBesideTheGathersAndTheUpdateAwaitsThem)
{
    Scenario scenario = dataParallel(3);
    scenario.layout.dpShard = 2;
    const Program program = test::programOf(scenario);
    int replicas = 0, updates = 0;
    for (const Pass& pass : program.passes)
        for (const Op& op : pass.ops) {
            const bool isReduction = program.labels[op.label] == "grad.reduce.replicas";
            EXPECT_EQ(op.stream == Stream::replicas, isReduction);
            if (isReduction) {
                ++replicas;
                EXPECT_EQ(op.waits, maskOf(Stream::compute) | maskOf(Stream::dp)) << "of what its sharding group has added up";
            }
            if (op.purpose == OpPurpose::optimizer) {
                ++updates;
                EXPECT_EQ(op.waits & kDataParallelStreams, kDataParallelStreams);
            }
        }
    EXPECT_GT(replicas, 0);
    EXPECT_GT(updates, 0);
}

/// Megatron Core's finalize_model_grads: finish_grad_sync of every chunk, then the exchange.
TEST(CostsOfProgram, TheTiedEmbeddingsGradientIsExchangedWhenItsReplicasAreReduced)
{
    Scenario scenario = test::smallScenario(1, 2, 4);
    scenario.model.tieWordEmbeddings = true;
    scenario.layout.zeroStage = 1;
    scenario.layout.dpShard = 2;
    const Program program = test::programOf(scenario);
    int exchanges = 0;
    for (const Pass& pass : program.passes)
        for (const Op& op : pass.ops)
            if (program.labels[op.label] == "grad.reduce.embedding") {
                ++exchanges;
                EXPECT_EQ(op.stream, Stream::dp) << "in the order of issue behind the sharding groups' reductions";
                EXPECT_EQ(op.waits & maskOf(Stream::replicas), maskOf(Stream::replicas));
            }
    EXPECT_GT(exchanges, 0);
}

TEST(CostsOfProgram, ReplicasThatHoldTheWholeReduceNoGradientBeforeItIsThere)
{
    for (const int zeroStage : {1, 2, 3}) {
        Scenario scenario = dataParallel(zeroStage);
        scenario.layout.dpShard = 1;
        const Program program = test::programOf(scenario);
        int reductions = 0;
        for (const Pass& pass : program.passes)
            for (const Op& op : pass.ops)
                if (program.labels[op.label] == "grad.reduce.replicas") {
                    ++reductions;
                    EXPECT_NE(op.waits & maskOf(Stream::compute), 0) << "no scatter that has waited comes before it";
                }
        EXPECT_GT(reductions, 0) << zeroStage;
    }
}

TEST(CostsOfProgram, ParametersAreGatheredAtTheEndOfTheStepWhereNothingOverlapsThem)
{
    for (const int zeroStage : {0, 1, 2, 3}) {
        Scenario scenario = dataParallel(zeroStage);
        scenario.training.overlap.paramGather = false;
        const Program program = test::programOf(scenario);
        const Pass& last = program.passes[program.ranks[0].steps.back().pass];
        const auto gathers = std::count_if(last.ops.begin(), last.ops.end(),
                                           [&](const Op& op) { return program.labels[op.label] == "param.gather"; });
        EXPECT_EQ(gathers, zeroStage == 1 || zeroStage == 2 ? 1 : 0) << "ZeRO " << zeroStage;
        if (gathers > 0) {
            EXPECT_EQ(last.ops.back().kind, OpKind::wait);
            EXPECT_EQ(last.ops.back().waits & maskOf(Stream::dp), maskOf(Stream::dp));
        }
    }
}

TEST(CostsOfProgram, TiedEmbeddingsOfTwoStagesAreReducedTogether)
{
    Scenario scenario = test::smallScenario(1, 2, 1);
    scenario.model.tieWordEmbeddings = true;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "grad.reduce.embedding"),
              4.0 * scenario.model.vocabSize * scenario.model.hiddenSize);
    scenario.model.tieWordEmbeddings = false;
    EXPECT_EQ(test::countOf(test::programOf(scenario), "grad.reduce.embedding"), 0);
}

TEST(CostsOfProgram, OfATiedEmbeddingTheShardsOfItsGradientAreReducedWhereZeroHasCutIt)
{
    Scenario scenario = test::smallScenario(1, 2, 4);
    scenario.model.tieWordEmbeddings = true;
    const double whole = 4.0 * scenario.model.vocabSize * scenario.model.hiddenSize;
    for (const int zeroStage : {0, 1, 2, 3}) {
        scenario.layout.zeroStage = zeroStage;
        EXPECT_EQ(test::bytesOf(test::programOf(scenario), "grad.reduce.embedding"), zeroStage >= 2 ? whole / 4 : whole)
            << "ZeRO " << zeroStage;
    }
}

TEST(CostsOfProgram, TheOptimizerMovesStatesGradientsAndWhatTheSoftwareAdds)
{
    Scenario scenario = dataParallel(0);
    scenario.training.stack.optimizerBytes = 7;
    scenario.training.stack.gradientBytes = 3;
    const Program program = test::programOf(scenario);
    const auto parameters = static_cast<double>(program.ranks[0].states.parameterElements);
    // AdamW in mixed precision: gradient 4, master copy and moments 12 read and written, 16-bit parameter 2.
    EXPECT_EQ(test::bytesOf(program, "optimizer"), parameters * (4 + 2 * 12 + 2 + 7 + 3));
    scenario.layout.zeroStage = 1;
    EXPECT_NEAR(test::bytesOf(test::programOf(scenario), "optimizer"), parameters * ((4 + 2 * 12 + 2 + 7) / 4.0 + 3),
                1e-3 * parameters);
}

TEST(CostsOfProgram, FusedAttentionRunsBackwardTwoAndAHalfTimes)
{
    Scenario scenario = test::smallScenario(1, 1, 1);
    scenario.training.flashAttention = true;
    const auto flops = [&](std::string_view name) {
        return test::sumOf(test::programOf(scenario), name, [](const Op&, const OpShape& shape) { return shape.flops; });
    };
    // "attn.core" begins "attn.core.backward".
    EXPECT_DOUBLE_EQ(flops("attn.core.backward") / (flops("attn.core") - flops("attn.core.backward")), 2.5);
    // Of heads of 192 against keys and 128 of values, five products of five lengths: 3 x 192 and 2 x 128 over 192 and 128.
    scenario.model.numKeyValueHeads = scenario.model.numAttentionHeads;
    scenario.model.kvLoraRank = 128;
    scenario.model.qkNopeHeadDim = 128;
    scenario.model.qkRopeHeadDim = 64;
    scenario.model.vHeadDim = 128;
    EXPECT_DOUBLE_EQ(flops("attn.core.backward") / (flops("attn.core") - flops("attn.core.backward")), 2.6);
}

TEST(CostsOfProgram, SelectiveRecomputationKeepsNoScoresAndMakesThemAgain)
{
    Scenario scenario = test::smallScenario(1, 1, 1);
    scenario.training.flashAttention = false;
    scenario.training.attention = AttentionKernel::unfused;
    const auto kept = [&] {
        return test::sumOf(test::programOf(scenario), "attn.softmax", [](const Op& op, const OpShape&) {
            return op.purpose == OpPurpose::forward ? static_cast<double>(op.allocBytes) : 0.0;
        });
    };
    const auto again = [&] {
        return test::sumOf(test::programOf(scenario), "attn.softmax",
                           [](const Op& op, const OpShape&) { return op.purpose == OpPurpose::recompute ? 1.0 : 0.0; });
    };
    EXPECT_GT(kept(), 0);
    EXPECT_EQ(again(), 0);
    scenario.training.recompute = Recompute::selective;
    EXPECT_EQ(kept(), 0);
    EXPECT_EQ(again(), scenario.model.numHiddenLayers * scenario.microbatches());
}

TEST(CostsOfProgram, TensorParallelPiecesAddUpToTheWhole)
{
    Scenario scenario = test::smallScenario(2, 1, 1);
    scenario.layout.sequenceParallel = true;
    const Program whole = test::programOf(scenario);
    scenario.training.overlap.tpComm = true;
    const Program pieces = test::programOf(scenario);
    for (const char* name : {"mlp.gather", "mlp.reduce", "attn.gather", "attn.reduce"}) {
        EXPECT_GT(test::countOf(pieces, name), test::countOf(whole, name)) << name;
        EXPECT_NEAR(test::bytesOf(pieces, name), test::bytesOf(whole, name), 1e-6 * test::bytesOf(whole, name)) << name;
    }
    const auto flops = [](const Op&, const OpShape& shape) { return shape.flops; };
    for (const char* name : {"mlp.up", "mlp.down", "attn.out"})
        EXPECT_NEAR(test::sumOf(pieces, name, flops), test::sumOf(whole, name, flops), 1e-6 * test::sumOf(whole, name, flops))
            << name;
    for (const Pass& pass : pieces.passes) // and a piece's shape is the one of its FLOPs
        for (std::size_t i = 0; i < pass.ops.size(); ++i)
            if (const OpShape& shape = pass.shapes[i]; pass.ops[i].kind == OpKind::compute && shape.kernel == KernelKind::gemm) {
                const double product = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                                       static_cast<double>(shape.k) * static_cast<double>(shape.batch);
                EXPECT_NEAR(shape.flops, product, 1e-6 * product) << pieces.labels[pass.ops[i].label];
            }
}

TEST(CostsOfProgram, PiecesServeThePurposeOfTheWhole)
{
    for (const char* kind : {"1f1b", "zb-h1"}) {
        Scenario scenario = test::smallScenario(2, 2, 1);
        scenario.schedule.kind = kind;
        const auto flopsOf = [&](OpPurpose purpose) {
            return test::sumOf(test::programOf(scenario), "",
                               [&](const Op& op, const OpShape& shape) { return op.purpose == purpose ? shape.flops : 0; });
        };
        for (const OpPurpose purpose :
             {OpPurpose::forward, OpPurpose::backward, OpPurpose::backwardInput, OpPurpose::backwardWeight}) {
            scenario.training.overlap.tpComm = false;
            const double whole = flopsOf(purpose);
            scenario.training.overlap.tpComm = true;
            EXPECT_NEAR(flopsOf(purpose), whole, 1e-6 * whole) << kind;
        }
    }
}

TEST(CostsOfProgram, ExpertsThatAreCutGatherTheirTokensAndReduceThem)
{
    for (const int etp : {1, 2, 4}) {
        Scenario scenario = test::smallScenario(etp, 1, 2);
        scenario.model.numExperts = 8;
        scenario.model.numExpertsPerTok = 2;
        scenario.model.moeIntermediateSize = 512;
        scenario.layout.ep = 2;
        // Of a slice of 1024 tokens each goes to two; of 1024 elements of two bytes; as many ranks bring theirs. Forward there,
        // and backward for the gradients.
        const double tokens = etp > 1 ? 2.0 * 1024 / etp * etp : 0;
        const double bytes = 2 * tokens * 1024 * 2 * scenario.model.numHiddenLayers * scenario.microbatches();
        EXPECT_EQ(test::bytesOf(test::programOf(scenario), "moe.gather"), bytes) << etp;
        EXPECT_EQ(test::bytesOf(test::programOf(scenario), "moe.reduce"), bytes) << etp;
    }
}

TEST(CostsOfProgram, TokensThatAllHaveAreGatheredBehindExpertsAndTheirGradientsBeforeThem)
{
    Scenario scenario = test::smallScenario(4, 1, 2);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 512;
    scenario.layout.ep = 2;
    scenario.layout.sequenceParallel = true;
    const auto bytesOf = [&](std::string_view name) { return test::bytesOf(test::programOf(scenario), name); };
    const double dispatched = bytesOf("moe.dispatch");
    EXPECT_EQ(bytesOf("moe.collect") + bytesOf("moe.drop"), 0);
    scenario.layout.sequenceParallel = false;
    EXPECT_EQ(bytesOf("moe.dispatch"), dispatched);
    // 1024 tokens of 1024 elements of two bytes: once forward, once backward.
    const double once = 1024.0 * 1024 * 2 * scenario.model.numHiddenLayers * scenario.microbatches();
    EXPECT_EQ(bytesOf("moe.collect"), once);
    EXPECT_EQ(bytesOf("moe.drop"), once);
}

TEST(CostsOfProgram, MoreRanksThanKeyValueHeadsGatherAllHeadsOrKeepThemTwice)
{
    Scenario scenario = test::smallScenario(4, 1, 1);
    scenario.model.numKeyValueHeads = 2; // of 64 elements, beside 16 of queries
    const auto parameters = [&] { return test::programOf(scenario).ranks[0].states.parameterElements; };
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "attn.qkv.gather"), 0);
    const std::int64_t copied = parameters();
    scenario.training.stack.gathersHeads = true;
    EXPECT_EQ(copied - parameters(), 8 * 1024 * 2 * 64 / 2) << "keys' and values' weights are cut four times, not two";
    // Forward gathered, backward their gradients reduced; once more where layers run again.
    const double all = 8.0 * 1024 * (16 + 2 * 2) * 64 * 2 * scenario.microbatches();
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "attn.qkv.gather"), 2 * all);
    scenario.training.recompute = Recompute::full;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "attn.qkv.gather"), 3 * all);
    scenario.model.numKeyValueHeads = 4;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "attn.qkv.gather"), 0) << "one for each rank";
}

TEST(CostsOfProgram, APredictionModuleGathersTheEmbeddingAndTheHiddenState)
{
    Scenario scenario = test::smallScenario(2, 1, 1);
    scenario.model.numNextnPredictLayers = 3;
    // Side by side, forward; backward their gradients are reduced, and both are gathered once more for the weights'.
    const double both = 2.0 * 1024 * 1024 * 2;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "mtp.gather"), 3 * 2 * both * scenario.microbatches());
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "mtp.regather"), 3 * both * scenario.microbatches());
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "mtp.output"), 3 * 2 * both / 2 * scenario.microbatches());
}

TEST(CostsOfProgram, NarrowOperandsAreGatheredNarrowWhereTheSoftwareDoes)
{
    Scenario scenario = test::smallScenario(2, 1, 1);
    scenario.layout.sequenceParallel = true;
    scenario.training.precision = Precision::fp8;
    const double wide = test::bytesOf(test::programOf(scenario), "mlp.gather"),
                 head = test::bytesOf(test::programOf(scenario), "head.gather");
    const double reduced = test::bytesOf(test::programOf(scenario), "mlp.reduce");
    const auto slices = [&](std::string_view name) {
        return test::sumOf(test::programOf(scenario), name,
                           [](const Op&, const OpShape& shape) { return shape.narrowedBy - 1.0; });
    };
    for (const char* name : {"mlp.up", "mlp.down", "mlp.down.dgrad"})
        EXPECT_EQ(slices(name), 0) << name;
    scenario.training.stack.narrowGather = true;
    // What is gathered was cast in slices: inputs of column-parallel products, gradients of the others' results.
    for (const char* name : {"mlp.up", "attn.qkv", "mlp.down.dgrad", "attn.out.dgrad"})
        EXPECT_GT(slices(name), 0) << name;
    for (const char* name : {"mlp.down.wgrad", "mlp.up.dgrad", "attn.qkv.dgrad", "mlp.up.wgrad", "head.logits"})
        EXPECT_EQ(slices(name), 0) << name;
    EXPECT_EQ(slices("mlp.down"), slices("mlp.down.dgrad")); // whose name begins so: none forward
    // Backward; forward sums of 16 bits are reduced.
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "mlp.reduce"), reduced - reduced / 2 / 2);
    // Forward; the backward pass reduces gradients in 16 bits.
    const double passes = 2;
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "mlp.gather"), wide - wide / passes / 2);
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "head.gather"), head); // logits stay in 16 bits
}

TEST(CostsOfProgram, WhatIsReducedBesideAProductIsNarrowWhereTheSoftwareWritesItSo)
{
    Scenario scenario = test::smallScenario(2, 1, 1);
    scenario.layout.sequenceParallel = true;
    scenario.training.precision = Precision::fp8;
    scenario.training.overlap.tpComm = true;
    const auto reduced = [&] { return test::bytesOf(test::programOf(scenario), "mlp.reduce"); };
    const double wide = reduced(); // forward a reduction, backward the gathering of its gradient
    scenario.training.stack.narrowReduce = true;
    EXPECT_EQ(reduced(), wide / 2 / 2 + wide / 2);
    scenario.training.stack.narrowGather = true;
    EXPECT_EQ(reduced(), wide / 2);
    scenario.training.stack.narrowGather = false;
    scenario.training.overlap.tpComm = false;
    EXPECT_EQ(reduced(), wide) << "the buffer is the overlap's";
    scenario.training.overlap.tpComm = true;
    scenario.training.precision = Precision::bf16;
    EXPECT_EQ(reduced(), wide);
}

TEST(CostsOfProgram, TokensTravelInTheFormatOfTheirWay)
{
    Scenario scenario = withExperts();
    const double there = test::bytesOf(test::programOf(scenario), "moe.dispatch"),
                 back = test::bytesOf(test::programOf(scenario), "moe.combine");
    EXPECT_GT(there, 0);
    scenario.training.moe.dispatchBytes = 1;
    // Forward there and, for the gradients, backward from the combination: half of what each sends in both passes.
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "moe.dispatch"), there * 3 / 4);
    EXPECT_EQ(test::bytesOf(test::programOf(scenario), "moe.combine"), back * 3 / 4);
}

TEST(CostsOfProgram, TheBusiestRanksTokensCount)
{
    Scenario scenario = withExperts();
    const double even = test::bytesOf(test::programOf(scenario), "moe.dispatch");
    scenario.training.moe.imbalance = 1.5;
    EXPECT_NEAR(test::bytesOf(test::programOf(scenario), "moe.dispatch"), 1.5 * even, 1e-3 * even);
    scenario.training.moe.imbalance = 8; // of four ranks the busiest has all tokens at most: four times the mean
    EXPECT_NEAR(test::bytesOf(test::programOf(scenario), "moe.dispatch"), 4 * even, 1e-3 * even);
}

TEST(CostsOfProgram, WeightGradientsTakeTheirOwnRoomForAMoment)
{
    Scenario scenario = test::smallScenario(1, 1, 1);
    const auto held = [&] {
        return test::sumOf(test::programOf(scenario), "mlp.up.wgrad",
                           [](const Op& op, const OpShape&) { return static_cast<double>(op.allocBytes); });
    };
    EXPECT_EQ(held(), 0);
    scenario.training.stack.weightGradientBytes = 6;
    const Model& model = scenario.model;
    const double up = (model.gatedMlp ? 2.0 : 1.0) *
                      (1.0 * model.hiddenSize * model.intermediateSize + (model.bias ? model.intermediateSize : 0));
    EXPECT_EQ(held(), 6 * up * model.numHiddenLayers * scenario.microbatches());
}

TEST(CostsOfProgram, ParametersThatAreKeptAreGatheredOnce)
{
    Scenario scenario = dataParallel(3);
    scenario.training.globalBatchSize = 4 * 4 * scenario.training.microBatchSize;
    ASSERT_EQ(scenario.microbatches(), 4);
    const double each = test::bytesOf(test::programOf(scenario), "param.gather");
    scenario.layout.reshardAfterForward = false;
    const Program kept = test::programOf(scenario);
    EXPECT_NEAR(test::bytesOf(kept, "param.gather") * 2 * 4, each, 1e-6 * each); // forward and backward of four
    EXPECT_GT(kept.ranks[0].states.buffers, 0);
}

TEST(CostsOfProgram, ShardsThatAreSentAloneAreAsManyMessagesAsRanksOrTensors)
{
    Scenario scenario = dataParallel(1);
    scenario.training.stack.sendsShards = true;
    const auto messages = [](const Program& program) {
        return test::sumOf(program, "param.gather",
                           [](const Op&, const OpShape& shape) { return static_cast<double>(shape.batch); });
    };
    const double buckets = scenario.model.numHiddenLayers + 2; // each at least one
    EXPECT_GE(messages(test::programOf(scenario)), 4);
    EXPECT_LE(messages(test::programOf(scenario)), 4 + buckets);

    Scenario wide = scenario; // a rank has a tensor, the others none
    wide.layout.dp = wide.layout.dpShard = 1 << 16;
    wide.cluster.nodes = wide.layout.dp / wide.cluster.gpusPerNode;
    wide.training.globalBatchSize = wide.layout.dp * wide.training.microBatchSize;
    const auto tensors = static_cast<double>(trainableTensorCount(wide.model));
    ASSERT_LT(tensors, wide.layout.dp);
    EXPECT_NEAR(messages(test::programOf(wide)), tensors, buckets);
}

TEST(CostsOfProgram, WhereShardsAreSentAloneEachRankIsGivenAllGradients)
{
    Scenario scenario = dataParallel(1);
    const auto reductions = [](const Program& program, CollectiveKind kind) {
        return test::sumOf(program, "grad.reduce",
                           [kind](const Op&, const OpShape& shape) { return shape.collective == kind ? 1.0 : 0.0; });
    };
    EXPECT_EQ(reductions(test::programOf(scenario), CollectiveKind::allReduce), 0);
    scenario.training.stack.sendsShards = true;
    EXPECT_GT(reductions(test::programOf(scenario), CollectiveKind::allReduce), 0);
    EXPECT_EQ(reductions(test::programOf(scenario), CollectiveKind::reduceScatter), 0);
}

TEST(CostsOfProgram, ExpertsWithoutAReplicaAreNeitherGatheredNorHeldTwice)
{
    // Four ranks, a quarter of the experts each: nobody else has them, whatever ZeRO does to the rest.
    for (const int zero : {2, 3})
        for (const bool reshards : {true, false}) {
            Scenario scenario = withExperts();
            scenario.training.globalBatchSize = scenario.training.microBatchSize * scenario.layout.dp; // one micro-batch
            scenario.layout.zeroStage = zero;
            scenario.layout.reshardAfterForward = reshards;
            const Program program = test::programOf(scenario);
            const Sharding sharding = Sharding::of(scenario);
            double dense = 0;
            for (const ModelPart part : {ModelPart::embedding, ModelPart::moe, ModelPart::head}) {
                const OperatorList list = operatorsOf(scenario.model, sharding, part);
                const auto elements = static_cast<double>(list.parameters() - list.routedParameters());
                dense += elements * (part == ModelPart::moe ? scenario.model.numHiddenLayers : 1);
            }
            const auto buffer = [](const Op& op, const OpShape&) { return op.buffer ? static_cast<double>(op.allocBytes) : 0.0; };
            EXPECT_EQ(test::sumOf(program, "grad.reduce", buffer), dense * 4) << "whole gradients under ZeRO " << zero;
            const bool isTransient = zero == 3 && reshards;
            EXPECT_EQ(test::sumOf(program, "param.gather", buffer), isTransient ? 2 * dense * 2 : 0.0) << "in both passes";
            EXPECT_EQ(static_cast<double>(program.ranks[0].states.buffers), zero == 3 && !reshards ? dense * 2 : 0.0);
        }
}

TEST(CostsOfProgram, WeightsThatAreUsedAgainStayGatheredAndTheirGradientsWholeInBetween)
{
    struct Case {
        bool tied;
        int modules;
    };
    for (const Case& each : {Case{true, 0}, Case{false, 2}, Case{true, 1}, Case{false, 0}})
        for (const bool prefetches : {true, false}) {
            Scenario scenario = dataParallel(3);
            scenario.training.globalBatchSize = scenario.training.microBatchSize * scenario.layout.dp; // one micro-batch
            scenario.model.tieWordEmbeddings = each.tied;
            scenario.model.numNextnPredictLayers = each.modules;
            scenario.training.overlap.paramGather = prefetches;
            const Program program = test::programOf(scenario);
            const double all = static_cast<double>(program.ranks[0].states.parameterElements);
            const double matrix = static_cast<double>(scenario.model.vocabSize) * scenario.model.hiddenSize,
                         headUnit = matrix + scenario.model.hiddenSize;          // with the norm before it
            const double embedding = each.tied || each.modules > 0 ? matrix : 0, // used again, and by whom is left open
                head = !each.tied && each.modules > 0 ? headUnit : 0;
            EXPECT_EQ(test::bytesOf(program, "param.gather"), 2 * (2 * all - embedding - head))
                << each.tied << " " << each.modules;
            EXPECT_EQ(test::bytesOf(program, "grad.reduce"), 4 * all);

            double held = 0;
            bool isBackward = false;
            for (const Step& step : program.ranks[0].steps)
                for (const Op& op : program.passes[step.pass].ops) {
                    held += op.buffer ? static_cast<double>(op.allocBytes) : 0;
                    const std::string& label = program.labels[op.label];
                    isBackward = isBackward || label == "loss.backward";
                    const double least = label == "head.logits"                         ? 2 * (embedding + head)
                                         : isBackward && label == "attn.out.wgrad"      ? 6 * embedding
                                         : isBackward && label == "mtp.concat.backward" ? 6 * (embedding + head)
                                                                                        : 0;
                    EXPECT_GE(held, least) << label;
                    held -= op.buffer ? static_cast<double>(op.freeBytes) : 0;
                    ASSERT_GE(held, 0) << label;
                }
            EXPECT_EQ(held, 0);
        }
}

TEST(CostsOfProgram, RanksWithTheSameOutputSendAPartOfItEachAndGatherWhatTheyReceive)
{
    const auto with = [](int tp, bool sequenceParallel, bool scatters) {
        Scenario scenario = test::smallScenario(tp, 2, 1);
        scenario.layout.sequenceParallel = sequenceParallel;
        scenario.training.stack.scattersSends = scatters;
        return scenario;
    };
    const Scenario scattering = with(4, false, true);
    const std::int64_t tensor = Sharding::of(scattering).tokens() * scattering.model.hiddenSize * 2;
    const Program parts = test::programOf(scattering);
    EXPECT_EQ(parts.sendBytes, tensor / 4);
    EXPECT_EQ(test::countOf(parts, "receive.gather"), scattering.microbatches())
        << "of each gradient that the first rank receives";
    EXPECT_EQ(test::bytesOf(parts, "receive.gather"), static_cast<double>(tensor * scattering.microbatches()));
    // Whole where the software does not, where ranks have slices already, and where there is one.
    for (const auto& [scenario, sent] :
         {std::pair{with(4, false, false), tensor}, {with(4, true, true), tensor / 4}, {with(1, false, true), tensor}}) {
        const Program program = test::programOf(scenario);
        EXPECT_EQ(program.sendBytes, sent);
        EXPECT_EQ(test::countOf(program, "receive.gather"), 0);
    }
}

/// Megatron-LM's align_param_gather: a chunk's layers are gathered while the chunk before it runs, and not one by one as they
/// run, where each stage in turn would hold up the next ones for the whole of a gathering.
TEST(CostsOfProgram, ChunksAreGatheredWholeWhileTheOneBeforeRuns)
{
    Scenario scenario = test::smallScenario(1, 2, 2);
    scenario.schedule = {.kind = "interleaved-1f1b", .virtualStages = 2}; // of two layers each
    test::resolve(scenario);
    scenario.layout.zeroStage = 1;
    scenario.training.overlap.paramGather = scenario.training.overlap.gradReduce = true;
    /// What is gathered before and in each of the second rank's passes that wait for it, and whether their input is awaited
    /// first.
    const auto gathered = [&](bool whole) {
        scenario.training.stack.gathersChunks = whole;
        const Program program = test::programOf(scenario);
        std::vector<std::string> passes;
        for (const Step& step : program.ranks[1].steps) {
            std::string names;
            for (const Op& op : program.passes[step.pass].ops)
                if (const std::string& label = program.labels[op.label]; label == "param.gather")
                    names += "g";
                else if (op.kind == OpKind::receive)
                    names += "r";
            if (names.find('g') != std::string::npos)
                passes.push_back(names);
        }
        return passes;
    };
    using Passes = std::vector<std::string>;
    EXPECT_EQ(gathered(false), (Passes{"g", "rgg", "rgg"})) << "a layer while the one before it runs; the head is the last";
    EXPECT_EQ(gathered(true), (Passes{"gg", "gggr"})) << "the second chunk before the first one's input has come";
    scenario.layout.zeroStage = 3;
    scenario.layout.reshardAfterForward = false;
    EXPECT_EQ(gathered(true), gathered(false)) << "there each takes memory";
    scenario.layout.zeroStage = 1;
    scenario.training.overlap.paramGather = false;
    EXPECT_EQ(gathered(true), gathered(false));
}
