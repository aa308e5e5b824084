// What is held for a moment beside all that is kept: gradients of activations, what an optimizer works with, what a fused loss
// makes of the head's weights. And gradients that lie where the host's optimizer is.
#include "sim/model/operators.h"
#include "sim/program/program.h"
#include "sim/program/states.h"
#include "tests/support/programs.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

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
