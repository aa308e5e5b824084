// Layouts that train to the very bits of serial training: what they cut or move does not change the order of any sum.
#include "tests/live/support/matrix.h"

#include <gtest/gtest.h>

namespace live::test {
namespace {

class PipelineIsSerial : public testing::TestWithParam<Pipeline> {};

TEST_P(PipelineIsSerial, BitForBit)
{
    for (const char* dtype : {"fp64", "fp32"})
        for (const bool tied : {false, true}) {
            SCOPED_TRACE(std::string(dtype) + (tied ? " tied" : " untied"));
            const sim::Scenario hybrid =
                job(settingsOf(GetParam()) + (tied ? kTied : Settings{}) + Settings{std::string("live.dtype=") + dtype});
            TrainOptions options;
            options.training.separateTiedGradients = true;
            EXPECT_TRUE(isIdentical(against(hybrid, options)));
        }
}

TEST_P(PipelineIsSerial, WithDropoutAndAllElseOfALlama)
{
    TrainOptions options{.steps = 2};
    options.training.separateTiedGradients = true;
    EXPECT_TRUE(isIdentical(against(job(settingsOf(GetParam()) + kLlama + kTied + Settings{"live.dropout=0.1"}), options)));
}

TEST_P(PipelineIsSerial, WithExperts)
{
    EXPECT_TRUE(isIdentical(against(job(settingsOf(GetParam()) + kExperts), {.steps = 2})));
}

TEST_P(PipelineIsSerial, WithLatentAttentionAndSharedExperts)
{
    EXPECT_TRUE(isIdentical(against(job(settingsOf(GetParam()) + kDeepSeek), {.steps = 1})));
}

INSTANTIATE_TEST_SUITE_P(, PipelineIsSerial, testing::ValuesIn(pipelines()), [](const auto& of) { return nameOf(of.param); });

class TwinsAreEqual : public testing::TestWithParam<Twins> {};

TEST_P(TwinsAreEqual, BitForBit)
{
    const Twins& pair = GetParam();
    for (const char* dtype : {"fp64", "fp32"}) {
        SCOPED_TRACE(dtype);
        const Settings both = pair.both + Settings{std::string("live.dtype=") + dtype};
        EXPECT_TRUE(isIdentical(compareLayouts(job(both + pair.first), job(both + pair.second))));
        const Settings dropout = both + Settings{"live.dropout=0.2"};
        EXPECT_TRUE(isIdentical(compareLayouts(job(dropout + pair.first), job(dropout + pair.second), {.steps = 2})))
            << "dropout";
    }
}

INSTANTIATE_TEST_SUITE_P(, TwinsAreEqual, testing::ValuesIn(twins()), [](const auto& of) { return std::string(of.param.name); });

TEST(Exact, ARerunGivesTheSameBits)
{
    const sim::Scenario scenario = job({"layout.tp=2", "layout.cp=2", "layout.pp=2", "layout.dp=2"});
    EXPECT_TRUE(isIdentical(compareLayouts(scenario, scenario)));
}

TEST(Exact, SoDoesAnyNumberOfWorkers)
{
    for (const char* dtype : {"fp64", "fp32"}) {
        const sim::Scenario scenario = job({"layout.tp=2", "layout.sequence_parallel=true", "layout.pp=2", "layout.dp=2",
                                            "layout.zero_stage=2", std::string("live.dtype=") + dtype});
        const TrainedSteps one = trainSteps(scenario, {.workers = 1});
        for (const int workers : {2, 3})
            EXPECT_TRUE(isIdentical(compareSteps(one, trainSteps(scenario, {.workers = workers})))) << workers << " workers";
    }
}

/// Experts get their rows in the order of source ranks, which is the order of tokens, and a product's row does not depend on how
/// many there are: the forward pass, and so the loss of the first step, is exact. The experts' gradients are not: serial training
/// adds the micro-batches of all dp ranks up one by one, here an expert takes those of a whole round in one product.
TEST(Exact, ExpertParallelismKeepsTheForwardPass)
{
    for (const char* dtype : {"fp64", "fp32"})
        for (const Settings& ways : {Settings{"layout.dp=2", "layout.ep=2"}, Settings{"layout.dp=4", "layout.ep=4"}}) {
            const sim::Scenario scenario = job(kExperts + ways + Settings{std::string("live.dtype=") + dtype});
            const TrainedSteps serial = trainSteps(serialTwin(scenario), {.steps = 1});
            const TrainedSteps hybrid = trainSteps(scenario, {.steps = 1});
            EXPECT_EQ(serial.losses, hybrid.losses);
        }
}

} // namespace
} // namespace live::test
