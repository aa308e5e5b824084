// What is held for a moment beside all that is kept: gradients of activations, what an optimizer works with, what a fused loss
// makes of the head's weights. And gradients that lie where the host's optimizer is.
#include "sim/model/operators.h"
#include "sim/program/program.h"
#include "sim/program/states.h"
#include "sim/schedule/schedule.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

using namespace sim;

namespace {

std::int64_t tokensOf(const Scenario& scenario)
{
    return std::int64_t{scenario.training.sequenceLength} * scenario.training.microBatchSize;
}

/// Of the first such kernel; nothing is added up.
std::int64_t heldBy(const Program& program, std::string_view name)
{
    for (const Pass& pass : program.passes)
        for (const Op& op : pass.ops)
            if (program.labels[op.label] == name)
                return op.allocBytes;
    ADD_FAILURE() << "no " << name;
    return 0;
}

std::int64_t leftOver(const Program& program)
{
    return static_cast<std::int64_t>(test::sumOf(program, "", [](const Op& op, const OpShape&) {
        return static_cast<double>(op.allocBytes) - static_cast<double>(op.freeBytes);
    }));
}

} // namespace

// Of T tokens in 16 bits: a product of k columns with n has 2 T n of its results' gradient and 2 T k of its inputs'.
TEST(HeldBeside, ABackwardKernelHasGradientsOfResultsAndInputs)
{
    Scenario scenario = test::smallScenario();
    scenario.model.gatedMlp = true;
    const std::int64_t t = tokensOf(scenario), h = scenario.model.hiddenSize, f = scenario.model.intermediateSize;
    EXPECT_EQ(heldBy(test::programOf(scenario), "mlp.up.dgrad"), 0) << "unless the software says so";
    scenario.training.stack.passesGradients = true;
    const Program program = test::programOf(scenario);
    EXPECT_EQ(heldBy(program, "mlp.down.dgrad"), 2 * t * (h + f));
    EXPECT_EQ(heldBy(program, "mlp.act.backward"), 2 * t * (f + 2 * f)) << "of the product, of gate and up";
    EXPECT_EQ(heldBy(program, "mlp.up.dgrad"), 2 * t * (2 * f + h));
    EXPECT_EQ(heldBy(program, "mlp.norm.backward"), 2 * t * 2 * h);
    EXPECT_EQ(heldBy(program, "attn.core.backward"), 2 * t * 3 * h)
        << "of queries, keys and values of half as many heads, and what comes of them";
    EXPECT_EQ(heldBy(program, "mlp.residual.backward"), 0) << "a sum hands on the gradient that it gets";
    EXPECT_EQ(heldBy(program, "loss.backward"), 0) << "has its gradients among what it keeps";
    EXPECT_EQ(leftOver(program), 0);
}

// Where the gradient of a product's weights comes later, that of its results is kept until then, and counted there.
TEST(HeldBeside, ASplitBackwardPassCountsTheGradientThatItKeepsOnce)
{
    Scenario scenario = test::smallScenario(1, 2);
    scenario.schedule.kind = "zb-h1";
    const std::int64_t t = tokensOf(scenario), h = scenario.model.hiddenSize;
    const std::int64_t kept = heldBy(test::programOf(scenario), "mlp.up.dgrad");
    EXPECT_GT(kept, 0);
    scenario.training.stack.passesGradients = true;
    EXPECT_EQ(heldBy(test::programOf(scenario), "mlp.up.dgrad"), kept + 2 * t * h);
    EXPECT_EQ(leftOver(test::programOf(scenario)), 0);
}

TEST(HeldBeside, PiecesOfAProductWriteSlicesOfOneGradient)
{
    Scenario scenario = test::smallScenario(4);
    scenario.layout.sequenceParallel = scenario.training.overlap.tpComm = true;
    scenario.training.stack.passesGradients = true;
    const std::int64_t t = tokensOf(scenario), h = scenario.model.hiddenSize, f = scenario.model.intermediateSize;
    const Program program = test::programOf(scenario);
    EXPECT_EQ(heldBy(program, "mlp.down.dgrad"), 2 * t * (h + f / 4)) << "the first of them";
    std::vector<std::int64_t> made, dropped;
    for (const Op& op : program.passes[program.ranks[0].steps[1].pass].ops)
        if (op.layer == 7 && program.labels[op.label] == "mlp.down.dgrad") {
            made.push_back(op.allocBytes);
            dropped.push_back(op.freeBytes);
        }
    ASSERT_EQ(made.size(), 4U);
    EXPECT_EQ(made[1] + made[2] + made[3], 0);
    EXPECT_EQ(dropped[0] + dropped[1] + dropped[2], 0);
    EXPECT_GE(dropped[3], 2 * t * (h + f / 4));
    EXPECT_EQ(leftOver(program), 0);
}

// PyTorch's no_sync: with ZeRO 2 and 3 gradients are reduced once a step, and until then a rank has them whole. Its shard, of
// which it has none before they are reduced, counts as a part of them.
TEST(HeldBeside, GradientsThatAddUpWholeAreReducedOnce)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    const int microbatches = static_cast<int>(scenario.microbatches());
    ASSERT_GT(microbatches, 1);
    for (const int zero : {2, 3}) {
        scenario.layout.zeroStage = zero;
        scenario.layout.reduceEachMicrobatch = true;
        const Program each = test::programOf(scenario);
        scenario.layout.reduceEachMicrobatch = false;
        const Program whole = test::programOf(scenario);
        EXPECT_EQ(test::bytesOf(each, "grad.reduce"), microbatches * test::bytesOf(whole, "grad.reduce")) << zero;
        EXPECT_EQ(each.ranks[0].states.gradients, whole.ranks[0].states.gradients) << "the shard, among them";
        const std::int64_t others = 4 * whole.ranks[0].states.parameterElements - whole.ranks[0].states.gradients;
        EXPECT_EQ(whole.ranks[0].states.gradients, whole.ranks[0].states.parameterElements) << "4 bytes of each on 4 ranks";
        std::int64_t least = 0, most = 0, held = 0; // of what a pass leaves behind, over the step
        for (const Step& step : whole.ranks[0].steps) {
            for (const Op& op : whole.passes[step.pass].ops)
                held += op.buffer ? op.allocBytes - op.freeBytes : 0;
            least = std::min(least, held);
            most = std::max(most, held);
        }
        EXPECT_EQ(held, 0) << zero;
        EXPECT_EQ(least, 0) << zero;
        EXPECT_GE(most, others) << zero;
        EXPECT_TRUE(most == others || zero == 3) << "gathered parameters beside them";
        EXPECT_EQ(leftOver(each), 0);
    }
    scenario.training.globalBatchSize = 4;
    EXPECT_FALSE(addsUpWhole(scenario)) << "one micro-batch, whose gradients are cut as they come";
    scenario.layout.pp = 2;
    EXPECT_TRUE(addsUpWhole(scenario)) << "as always with a pipeline";
    scenario.layout.zeroStage = 1;
    EXPECT_FALSE(addsUpWhole(scenario)) << "not cut at all";
}

// Of every kind of schedule, also those whose micro-batches enter at both ends or come in slices: no more is given back than
// there is, at any time of the step, and none is left.
TEST(HeldBeside, MessagesAndOutputsAreGivenBackAsOftenAsTheyCame)
{
    for (const char* kind : {"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v", "dualpipe", "dualpipe-v", "seq-1f1b"})
        for (const bool scatters : {false, true}) {
            Scenario scenario = test::smallScenario(scatters ? 2 : 1, 2, 1, 8);
            scenario.layout.sequenceParallel = false;
            scenario.schedule.kind = kind;
            const ScheduleFamily& family = scheduleFamily(kind);
            scenario.schedule.virtualStages = std::max(1, family.chunks.least);
            scenario.schedule.sequenceSlices = family.cutsSequences() ? 2 : 1;
            scenario.training.stack.keepsMessages = scenario.training.stack.keepsOutputs = true;
            scenario.training.stack.scattersSends = scatters;
            const Program program = test::programOf(scenario);
            for (const RankProgram& rank : program.ranks) {
                std::int64_t held = rank.states.messageBuffers;
                for (const Step& step : rank.steps)
                    for (const Op& op : program.passes[step.pass].ops)
                        if (program.labels[op.label] == kKeptMessage) {
                            held += op.allocBytes - op.freeBytes;
                            EXPECT_GE(held, 0) << kind << scatters;
                        }
                EXPECT_EQ(held, rank.states.messageBuffers) << kind << scatters;
            }
        }
}

TEST(HeldBeside, AnOptimizerHoldsWhatItWorksWithForSoManyParametersAtATime)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = 3;
    const std::int64_t shard = test::programOf(scenario).ranks[0].states.optimizer / 12;
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 0);
    scenario.training.stack.updateMoments = 1;
    scenario.training.gradientBytes = 2;
    EXPECT_NEAR(static_cast<double>(heldBy(test::programOf(scenario), "optimizer")), 4.0 * static_cast<double>(shard), 8);
    scenario.training.stack.updatedTogether = 1000;
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 4000);
    scenario.training.stack.joinsGradients = true;
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 4000 + 6000) << "gradients joined, and in single precision";
    scenario.training.gradientBytes = 4;
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 4000 + 4000) << "which they are already";
    scenario.training.momentBytes = 2;
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 2000 + 4000);
    scenario.training.optimizer = Optimizer::sgd; // has no moments
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 4000);
    scenario.training.offload.optimizer = 1; // all of it the host's
    EXPECT_EQ(heldBy(test::programOf(scenario), "optimizer"), 0);
    EXPECT_EQ(leftOver(test::programOf(scenario)), 0);
}

// Liger's fused linear cross-entropy: grad_weight += mm(...).float(). The gradient is kept; for each chunk there is another in 16
// bits, and one in 32.
TEST(HeldBeside, ALossInChunksMakesTheHeadsGradientTwiceBeforeItIsAdded)
{
    Scenario scenario = test::smallScenario();
    scenario.model.vocabSize = scenario.model.vocabSize / 64 * 64; // nothing to pad
    scenario.training.lossChunkTokens = static_cast<int>(tokensOf(scenario) / 4);
    const std::int64_t h = scenario.model.hiddenSize, v = scenario.model.vocabSize;
    const std::int64_t kept = 2 * h * v + 2 * tokensOf(scenario) * h;
    EXPECT_EQ(heldBy(test::programOf(scenario), "head.logits"), kept + (2 + 4) * h * v);
    scenario.model.lora.rank = 8; // whose head is frozen
    EXPECT_EQ(heldBy(test::programOf(scenario), "head.logits"), kept - 2 * h * v);
    scenario.model.lora.rank = 0;
    scenario.training.precision = Precision::fp32;
    EXPECT_EQ(heldBy(test::programOf(scenario), "head.logits"), 2 * kept + 4 * h * v) << "is in single precision";
}

// DeepSpeed's contiguous_gradients: 1,000 gradients come together in one buffer and are joined in another, 4 bytes each.
TEST(HeldBeside, GradientsComeTogetherInABufferOfTheirOwnAndAreJoinedInAnother)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.zeroStage = 3;
    const ModelStates plain = test::programOf(scenario).ranks[0].states;
    EXPECT_EQ(plain.buffers, 0);
    scenario.training.stack.reduceBucket = 1000;
    ModelStates states = test::programOf(scenario).ranks[0].states;
    EXPECT_EQ(states.reductionBuffers, (1000 + 1000) * 4);
    EXPECT_EQ(states.buffers, states.reductionBuffers);
    const std::int64_t all = states.parameterElements;
    scenario.training.stack.reduceBucket = 2 * all;
    scenario.training.gradientBytes = 2;
    EXPECT_EQ(test::programOf(scenario).ranks[0].states.reductionBuffers, (2 * all + all) * 2)
        << "no more is joined than there is";
    scenario.layout.zeroStage = 1;
    EXPECT_EQ(test::programOf(scenario).ranks[0].states.buffers, 0);
    scenario.layout.zeroStage = 3;
    scenario.model.lora.rank = 8;
    states = test::programOf(scenario).ranks[0].states;
    EXPECT_EQ(states.reductionBuffers, (2 * all + states.gradients / 2 * 4) * 2)
        << "of adapters alone; a rank has a quarter of them";
}

// The host is three buffers of 1,000 gradients ahead: 4 bytes of each, and 2 of each parameter, which ZeRO 3 gathers.
TEST(HeldBeside, WhatTheHostStartsAheadHasItsMemory)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 2);
    scenario.layout.zeroStage = 3;
    scenario.training.stack.reduceBucket = 1000;
    EXPECT_EQ(test::sumOf(test::programOf(scenario), kStartedAhead, [](const Op&, const OpShape&) { return 1; }), 0);
    scenario.training.stack.reductionsAhead = 3;
    const auto held = [](const Op& op, const OpShape&) { return static_cast<double>(op.allocBytes); };
    EXPECT_EQ(test::sumOf(test::programOf(scenario), kStartedAhead, held), 2 * 3000 * (4 + 2)) << "in each backward pass";
    EXPECT_EQ(leftOver(test::programOf(scenario)), 0);
    scenario.layout.zeroStage = 2;
    EXPECT_EQ(test::sumOf(test::programOf(scenario), kStartedAhead, held), 2 * 3000 * 4) << "parameters are there in any case";
    scenario.layout.zeroStage = 3;
    scenario.training.stack.reduceBucket = 1'000'000'000;
    const Program program = test::programOf(scenario);
    EXPECT_EQ(test::sumOf(program, kStartedAhead, held), 2.0 * static_cast<double>(program.ranks[0].states.parameterElements) * 6)
        << "no more than all of them";
    scenario.training.overlap.gradReduce = false;
    EXPECT_EQ(test::sumOf(test::programOf(scenario), kStartedAhead, held), 0) << "the host waits for each reduction";
}

// PyTorch's pipelines: of three micro-batches each, all but the last rank hold the outputs that they have sent, one message each,
// until the backward pass has ended; and they have a tensor for each of three gradients, all but the first for each input.
TEST(HeldBeside, PyTorchsStagesKeepWhatTheyHaveHandedOnAndHaveRoomForAllMessages)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 3);
    const std::int64_t plain = test::programOf(scenario).ranks[0].states.buffers;
    const std::int64_t message = test::programOf(scenario).sendBytes;
    EXPECT_EQ(message, 2 * tokensOf(scenario) * scenario.model.hiddenSize);
    scenario.training.stack.keepsMessages = true;
    const Program program = test::programOf(scenario);
    for (int rank = 0; rank < 4; ++rank) {
        const RankProgram& of = program.ranks[static_cast<std::size_t>(rank)];
        EXPECT_EQ(of.states.messageBuffers, ((rank < 3 ? 3 : 0) + (rank > 0 ? 3 : 0)) * message) << rank;
        EXPECT_EQ(of.states.buffers - of.states.messageBuffers, plain);
        std::int64_t held = 0, most = 0, changes = 0;
        for (const Step& step : of.steps)
            for (const Op& op : program.passes[step.pass].ops)
                if (program.labels[op.label] == kStageOutput) {
                    held += op.allocBytes - op.freeBytes;
                    most = std::max(most, held);
                    ++changes;
                    EXPECT_FALSE(op.buffer) << "it is the micro-batch's";
                }
        EXPECT_EQ(changes, rank < 3 ? 6 : 0) << rank;
        EXPECT_EQ(most, std::min(3, 4 - rank) * (rank < 3 ? message : 0)) << "as many as 1F1B has in flight";
        EXPECT_EQ(held, 0);
    }
}

// An input that has come is the micro-batch's until its backward pass has ended, so that it is not held twice. Then the tensor is
// the stage's again, and the gradient that was made of it stays beside it until the step has ended.
TEST(HeldBeside, PyTorchsStagesKeepTheGradientsThatTheyHaveHandedBack)
{
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
        Scenario scenario = test::smallScenario(1, 4, 1, 3);
        scenario.training.recompute = recompute;
        scenario.training.stack.keepsMessages = true;
        const Program program = test::programOf(scenario);
        const std::int64_t message = program.sendBytes;
        for (int rank = 0; rank < 4; ++rank) {
            std::int64_t held = 0;
            for (const Step& step : program.ranks[static_cast<std::size_t>(rank)].steps) {
                std::int64_t change = 0;
                for (const Op& op : program.passes[step.pass].ops)
                    if (program.labels[op.label] == kKeptMessage) {
                        EXPECT_TRUE(op.buffer);
                        change += op.allocBytes - op.freeBytes;
                    }
                if (rank == 0)
                    EXPECT_EQ(change, 0) << "it gets no inputs";
                else if (step.stage < 0)
                    EXPECT_EQ(change, -3 * message) << "the step's end";
                else
                    EXPECT_TRUE(change == -message || change == 2 * message) << change;
                held += change;
                EXPECT_GE(held, -3 * message) << "there are no more tensors";
                EXPECT_LE(held, 3 * message);
            }
            EXPECT_EQ(held, 0);
        }
        EXPECT_EQ(leftOver(program), 0);
    }
}

// 4 stages, 3 micro-batches: the last has their logits, 2 bytes a token and word, and no copy of those that it computes with.
TEST(HeldBeside, PyTorchsLastStageKeepsLogitsToTheEndOfTheStep)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 3);
    scenario.model.vocabSize = scenario.model.vocabSize / 64 * 64;
    const auto keptBy = [&](int rank) {
        const Program program = test::programOf(scenario);
        EXPECT_EQ(leftOver(program), 0);
        std::int64_t kept = 0;
        for (const Step& step : program.ranks[static_cast<std::size_t>(rank)].steps)
            for (const Op& op : program.passes[step.pass].ops)
                if (program.labels[op.label] == kKeptMessage)
                    kept += op.allocBytes;
        return kept;
    };
    EXPECT_EQ(keptBy(3), 0) << "unless the software says so";
    scenario.training.stack.keepsOutputs = true;
    EXPECT_EQ(keptBy(3), 3 * 2 * tokensOf(scenario) * scenario.model.vocabSize);
    EXPECT_EQ(keptBy(2), 0);
    scenario.training.lossChunkTokens = 16;
    EXPECT_EQ(keptBy(3), 0) << "a loss that makes its own logits gives none";
    scenario = test::smallScenario(1, 1, 1, 3);
    scenario.training.stack.keepsOutputs = true;
    EXPECT_EQ(keptBy(0), 0) << "no pipeline";
}

// With Liger's loss under DeepSpeed's ZeRO 3 the head is gathered once a micro-batch, and dropped behind all else.
TEST(HeldBeside, AHeadThatALossInChunksReadsStaysGatheredToTheEndOfTheBackwardPass)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 2);
    scenario.layout.zeroStage = 3;
    const double before = test::countOf(test::programOf(scenario), "param.gather");
    scenario.training.stack.keepsLossHead = true;
    EXPECT_EQ(test::countOf(test::programOf(scenario), "param.gather"), before) << "another loss has the head's module compute";
    scenario.training.lossChunkTokens = static_cast<int>(tokensOf(scenario) / 4);
    const Program program = test::programOf(scenario);
    EXPECT_EQ(test::countOf(program, "param.gather"), before - 2);
    EXPECT_EQ(leftOver(program), 0);
    const RankProgram& rank = program.ranks[0];
    std::int64_t headBytes = 0;
    for (const Op& op : program.passes[rank.steps[0].pass].ops) // a forward pass, whose last gathering is the head's
        if (program.labels[op.label] == "param.gather")
            headBytes = op.allocBytes;
    EXPECT_GE(headBytes, 2 * std::int64_t{scenario.model.vocabSize} * scenario.model.hiddenSize);
    const std::vector<Op>& backward = program.passes[rank.steps[1].pass].ops;
    const auto dropsHead = [&](const Op& op) { return op.kind == OpKind::wait && op.freeBytes == headBytes; };
    const auto dropped = std::find_if(backward.begin(), backward.end(), dropsHead);
    ASSERT_NE(dropped, backward.end());
    EXPECT_TRUE(std::none_of(dropped, backward.end(), [](const Op& op) { return op.kind == OpKind::compute; }));
}

// LlamaRMSNorm keeps its input in fp32 and what it has normed in 16 bits: 6 bytes; in fp32 the first is the input itself, so 8.
// torch's loss: log-softmax and two gradients in fp32, 12 bytes a logit, and in 16 bits the block of the logits.
TEST(HeldBeside, InSinglePrecisionNothingIsKeptAgainInIt)
{
    Scenario scenario = test::smallScenario();
    scenario.model.vocabSize = scenario.model.vocabSize / 64 * 64;
    scenario.training.stack.parts[0].saved = 3;
    scenario.training.stack.parts[5].saved = 3.5;
    const std::int64_t t = tokensOf(scenario), h = scenario.model.hiddenSize, v = scenario.model.vocabSize;
    EXPECT_EQ(heldBy(test::programOf(scenario), "mlp.norm"), 6 * t * h);
    EXPECT_EQ(heldBy(test::programOf(scenario), "loss"), 14 * t * v);
    scenario.training.precision = Precision::fp32;
    EXPECT_EQ(heldBy(test::programOf(scenario), "mlp.norm"), 8 * t * h);
    EXPECT_EQ(heldBy(test::programOf(scenario), "loss"), 12 * t * v);
    scenario.training.stack.parts[5].saved = 0.5; // the gradient in place of logits
    EXPECT_EQ(heldBy(test::programOf(scenario), "loss"), 4 * t * v);
}

TEST(HeldBeside, GradientsMayLieWhereTheHostsOptimizerIs)
{
    for (const double fraction : {0.25, 1.0}) {
        Scenario scenario = test::offloadedScenario(fraction, 0);
        const ModelStates here = test::programOf(scenario).ranks[0].states;
        EXPECT_EQ(here.gradients, test::programOf(test::smallScenario()).ranks[0].states.gradients);
        scenario.training.stack.offloadsGradients = true;
        EXPECT_EQ(test::programOf(scenario).ranks[0].states.gradients, here.gradients) << "where they add up whole they stay";
        scenario.layout.zeroStage = 3;
        const ModelStates there = test::programOf(scenario).ranks[0].states;
        EXPECT_NEAR(static_cast<double>(there.gradients), (1 - fraction) * static_cast<double>(here.gradients), 1);
        EXPECT_EQ(there.gradients + there.hostOptimizer, here.gradients + here.hostOptimizer);
        EXPECT_EQ(there.optimizer, here.optimizer);
    }
}

// DeepSpeed's partition_grads: with each micro-batch the sum comes to the GPU and goes back. Here 2 bytes of each gradient.
TEST(HeldBeside, GradientsOnTheHostComeAndGoWithEachMicrobatch)
{
    for (const int microbatches : {1, 2, 4})
        for (const int ranks : {1, 2}) {
            Scenario scenario = test::smallScenario(1, 1, ranks, microbatches);
            scenario.layout.zeroStage = 3;
            scenario.training.offload.optimizer = 1;
            scenario.training.gradientBytes = 2;
            scenario.training.stack.offloadsGradients = true;
            const Program program = test::programOf(scenario);
            const auto all = static_cast<double>(program.ranks[0].states.parameterElements) / ranks * 2 * microbatches;
            EXPECT_NEAR(test::bytesOf(program, "gradient sums from host"), all, 100);
            EXPECT_NEAR(test::bytesOf(program, "gradient sums to host"), all, 100);
            const auto held = [](const Op& op, const OpShape&) { return static_cast<double>(op.allocBytes); };
            EXPECT_NEAR(test::sumOf(program, "gradient sums from host", held), 2 * all, 200) << "and what is added to it";
            EXPECT_EQ(leftOver(program), 0);
        }
}
