// The layouts that are equal to serial training on the CPU are so on the machine, in orders drawn by seed: all ranks on one GPU,
// a GPU and a process a rank with NCCL between them, and several ranks on each of a few GPUs. Nothing hangs, and nothing is
// touched that nothing orders.
#include "live/emulated/emulated_run.h"
#include "sim/error.h"
#include "tests/live/support/matrix.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace live::test {
namespace {

using emulated::EmulationOptions, emulated::Placement;

/// RANKSCOPE_ORDERS: how many of each layout (nightly: dozens).
int orders()
{
    const char* const wanted = std::getenv("RANKSCOPE_ORDERS"); // NOLINT(concurrency-mt-unsafe)
    return wanted ? std::stoi(wanted) : 1;
}

/// Each layout has orders of its own, from hosts that run far ahead to GPUs that keep up.
std::uint64_t firstOrder()
{
    static std::uint64_t next = std::hash<std::string>()(testing::UnitTest::GetInstance()->current_test_info()->name()) % 1000;
    return next++;
}

enum class Expected : std::uint8_t { identical, rounding };

/// All ranks on one GPU, and a GPU a rank.
const std::vector<EmulationOptions> kBoth = {{.placement = Placement::oneGpu}, {.placement = Placement::gpuARank}};

void expectSteps(const TrainedSteps& expected, const sim::Scenario& scenario, const TrainOptions& train, Expected how,
                 const std::vector<EmulationOptions>& placements = kBoth)
{
    for (EmulationOptions options : placements)
        for (int i = 0; i < orders(); ++i) {
            options.train = train;
            options.machine.orderSeed = firstOrder();
            SCOPED_TRACE(emulated::placementName(options) + ", order " + std::to_string(options.machine.orderSeed));
            SerialCheck check;
            try {
                check = compareSteps(expected, emulated::trainOnMachine(scenario, options));
            } catch (const sim::Error& error) {
                // Several ranks a GPU with every dimension: refused before the run, with the nearest that works.
                const bool isRefused = std::string(error.what()).find("a GPU has 32 hardware queues") != std::string::npos;
                EXPECT_TRUE(isRefused && options.placement == Placement::someGpus && scenario.layout.worldSize() >= 8)
                    << error.what();
                continue;
            }
            if (how == Expected::identical)
                EXPECT_TRUE(isIdentical(check));
            else
                EXPECT_TRUE(isWithin(check, limitsOf(scenario)));
        }
}

class PipelineOnMachine : public testing::TestWithParam<Pipeline> {};

TEST_P(PipelineOnMachine, IsSerialBitForBit)
{
    TrainOptions train{.steps = 2};
    train.training.separateTiedGradients = true;
    const Settings base = settingsOf(GetParam());
    for (const Settings& more : {Settings{"live.dtype=fp32"}, kLlama + kTied + Settings{"live.dropout=0.1"}, kExperts}) {
        const sim::Scenario scenario = job(base + more);
        expectSteps(serialSteps(scenario, train), scenario, train, Expected::identical);
    }
}

INSTANTIATE_TEST_SUITE_P(, PipelineOnMachine, testing::ValuesIn(pipelines()), [](const auto& of) { return nameOf(of.param); });

class TwinsOnMachine : public testing::TestWithParam<Twins> {};

TEST_P(TwinsOnMachine, HaveTheBitsOfTheCpu)
{
    TrainOptions train{.steps = 2};
    train.training.separateTiedGradients = true;
    for (const Settings& one : {GetParam().first, GetParam().second}) {
        const sim::Scenario scenario = job(GetParam().both + one);
        expectSteps(trainSteps(scenario, train), scenario, train, Expected::identical);
    }
}

INSTANTIATE_TEST_SUITE_P(, TwinsOnMachine, testing::ValuesIn(twins()), [](const auto& of) { return std::string(of.param.name); });

class LayoutOnMachine : public testing::TestWithParam<Variant> {};

TEST_P(LayoutOnMachine, IsSerialButForRounding)
{
    TrainOptions train = optionsOfVariants();
    train.steps = 2;
    const sim::Scenario scenario = jobOf(GetParam(), "fp64");
    expectSteps(serialSteps(scenario, train), scenario, train, Expected::rounding);
}

INSTANTIATE_TEST_SUITE_P(, LayoutOnMachine, testing::ValuesIn(variants()),
                         [](const auto& of) { return std::string(of.param.name); });

/// In parts, which may run beside each other.
class PairwiseOnMachine : public testing::TestWithParam<std::size_t> {};
constexpr std::size_t kParts = 6;

TEST_P(PairwiseOnMachine, EveryPairOfChoicesThatMayMeetTrainsAsSerial)
{
    const std::vector<PairwiseJob> jobs = ::test::tried(pairwiseJobs().jobs); // the CPU's ranks train all of them
    for (std::size_t i = GetParam(); i < jobs.size(); i += kParts) {
        SCOPED_TRACE(jobs[i].text);
        const sim::Scenario scenario = job(jobs[i].settings);
        expectSteps(serialSteps(scenario, jobs[i].options), scenario, jobs[i].options, Expected::rounding);
    }
}

INSTANTIATE_TEST_SUITE_P(Part, PairwiseOnMachine, testing::Range<std::size_t>(0, kParts));

/// Fewer GPUs than ranks: members of a group share one, alike on all or not.
std::vector<EmulationOptions> fewerGpus(int world)
{
    std::vector<EmulationOptions> placements;
    for (const int gpus : {2, 3})
        if (gpus < world)
            placements.push_back({.placement = Placement::someGpus, .gpus = gpus});
    return placements;
}

class PipelineOnFewGpus : public testing::TestWithParam<Pipeline> {};

TEST_P(PipelineOnFewGpus, IsSerialButForRounding)
{
    TrainOptions train{.steps = 2};
    train.training.separateTiedGradients = true;
    const sim::Scenario scenario = job(settingsOf(GetParam()) + kExperts);
    expectSteps(serialSteps(scenario, train), scenario, train, Expected::rounding, fewerGpus(scenario.layout.worldSize()));
}

INSTANTIATE_TEST_SUITE_P(, PipelineOnFewGpus, testing::ValuesIn(pipelines()), [](const auto& of) { return nameOf(of.param); });

class LayoutOnFewGpus : public testing::TestWithParam<Variant> {};

TEST_P(LayoutOnFewGpus, IsSerialButForRounding)
{
    TrainOptions train = optionsOfVariants();
    train.steps = 2;
    const sim::Scenario scenario = jobOf(GetParam(), "fp64");
    expectSteps(serialSteps(scenario, train), scenario, train, Expected::rounding, fewerGpus(scenario.layout.worldSize()));
}

INSTANTIATE_TEST_SUITE_P(, LayoutOnFewGpus, testing::ValuesIn(variants()),
                         [](const auto& of) { return std::string(of.param.name); });

/// 8 and 16 ranks with every dimension, on 1, 2 and 8 GPUs.
TEST(RanksOnGpus, EightAndSixteenRanksTrainOnOneTwoAndEight)
{
    const Settings eight = {"layout.tp=2",         "layout.pp=2",
                            "layout.dp=2",         "layout.sequence_parallel=true",
                            "layout.zero_stage=2", "training.global_batch_size=8"};
    const Settings sixteen = {"layout.tp=4", "layout.pp=2", "layout.dp=2", "training.global_batch_size=8"};
    const Settings experts = kExperts + Settings{"layout.pp=2", "layout.dp=4", "layout.ep=4", "training.global_batch_size=8"};
    TrainOptions train{.steps = 2};
    for (const Settings& settings : {eight, sixteen, experts}) {
        const sim::Scenario scenario = job(settings);
        expectSteps(serialSteps(scenario, train), scenario, train, Expected::rounding,
                    {{.placement = Placement::oneGpu},
                     {.placement = Placement::someGpus, .gpus = 2},
                     {.placement = Placement::someGpus, .gpus = 8}});
    }
}

} // namespace
} // namespace live::test
