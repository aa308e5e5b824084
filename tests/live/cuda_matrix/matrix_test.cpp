// The layouts that are equal to serial training on the CPU, all their ranks on one real GPU: bit for bit where they add in serial
// training's order, else but for rounding; and serial training on the GPU against that on the CPU. Skipped where there is no GPU.
#include "live/comm/gpu_modules.h"
#include "live/tasks/worker_pool.h"
#include "sim/scenario/document.h"
#include "tests/live/support/matrix.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

namespace live::test {
namespace {

constexpr int kWorkers = 4;

std::unique_ptr<Device> gpu(DType type, std::string* why)
{
    const auto* const module = static_cast<const CudaModule*>(loadModule("rankscope_live_cuda", "rankscopeCudaModule", why));
    return module && countGpus(why) > 0 ? module->makeDevice(0, type) : nullptr;
}

TrainedSteps trainOnGpu(const sim::Scenario& scenario, const TrainOptions& options)
{
    std::string why;
    WorkerPool pool(kWorkers);
    const std::unique_ptr<Device> device = gpu(scenario.live.dtype == "bf16" ? DType::bf16 : DType::f32, &why);
    const auto communicator = makeLocalGpuCommunicator(pool);
    pool.setPoller([&] { return communicator->poll(); });
    return trainSteps(scenario, options, pool, *device, *communicator);
}

/// Remembered from one test to the next.
const TrainedSteps& serialOnGpu(const sim::Scenario& scenario, const TrainOptions& options)
{
    static std::map<std::string, TrainedSteps> known;
    const sim::Scenario serial = serialTwin(scenario);
    const std::string key =
        sim::resolvedText(serial) + std::to_string(options.steps) + " " + std::to_string(options.training.epsilon);
    const auto place = known.find(key);
    if (place != known.end())
        return place->second;
    TrainOptions reference = options;
    reference.training.separateTiedGradients = true;
    return known[key] = trainOnGpu(serial, reference);
}

/// A GPU adds in another order than a CPU, and its exponential and error functions are others: measured, with room.
Limits limitsAgainstCpu()
{
    return {.loss = 1e-5, .firstStepNorm = 1e-5, .gradientNorm = 1e-3, .gradients = 1e-4, .values = 2e-2};
}

template <class Parameter>
class OnRealGpu : public testing::TestWithParam<Parameter> {
protected:
    void SetUp() override
    {
        std::string why;
        if (!gpu(DType::f32, &why))
            GTEST_SKIP() << "no GPU to test on: " << why;
    }
};

using PipelineOnGpu = OnRealGpu<Pipeline>;

TEST_P(PipelineOnGpu, IsSerialBitForBit)
{
    TrainOptions train{.steps = 2};
    train.training.separateTiedGradients = true;
    const Settings base = settingsOf(GetParam()) + Settings{"live.dtype=fp32"};
    for (const Settings& more : {Settings{}, kLlama + kTied + Settings{"live.dropout=0.1"}, kExperts}) {
        const sim::Scenario scenario = job(base + more);
        const TrainedSteps steps = trainOnGpu(scenario, train);
        EXPECT_TRUE(isIdentical(compareSteps(serialOnGpu(scenario, train), steps)));
        EXPECT_TRUE(isWithin(compareSteps(serialSteps(scenario, train), steps), limitsAgainstCpu()));
    }
}

INSTANTIATE_TEST_SUITE_P(, PipelineOnGpu, testing::ValuesIn(pipelines()), [](const auto& of) { return nameOf(of.param); });

using TwinsOnGpu = OnRealGpu<Twins>;

TEST_P(TwinsOnGpu, AreEqualBitForBit)
{
    TrainOptions train{.steps = 2};
    train.training.separateTiedGradients = true;
    const Settings both = GetParam().both + Settings{"live.dtype=fp32"};
    const TrainedSteps first = trainOnGpu(job(both + GetParam().first), train);
    EXPECT_TRUE(isIdentical(compareSteps(first, trainOnGpu(job(both + GetParam().second), train))));
}

INSTANTIATE_TEST_SUITE_P(, TwinsOnGpu, testing::ValuesIn(twins()), [](const auto& of) { return std::string(of.param.name); });

using LayoutOnGpu = OnRealGpu<Variant>;

TEST_P(LayoutOnGpu, IsSerialButForRounding)
{
    TrainOptions train = optionsOfVariants();
    train.steps = 2;
    const sim::Scenario scenario = jobOf(GetParam(), "fp32");
    const TrainedSteps steps = trainOnGpu(scenario, train);
    EXPECT_TRUE(isWithin(compareSteps(serialOnGpu(scenario, train), steps), limitsOf(scenario)));
    EXPECT_TRUE(isWithin(compareSteps(serialSteps(scenario, train), steps), limitsAgainstCpu()));
}

/// bf16 keeps eight bits of a number: the loss of the first steps is that of fp32 to about as many.
TEST_P(LayoutOnGpu, TrainsInBf16)
{
    TrainOptions train = optionsOfVariants();
    train.steps = 2;
    sim::Scenario scenario = jobOf(GetParam(), "fp32");
    const std::vector<double> expected = serialSteps(scenario, train).losses;
    scenario.live.dtype = "bf16";
    const std::vector<double> losses = trainOnGpu(scenario, train).losses;
    ASSERT_EQ(losses.size(), expected.size());
    for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], expected[i], 0.01 * expected[i]);
}

INSTANTIATE_TEST_SUITE_P(, LayoutOnGpu, testing::ValuesIn(variants()), [](const auto& of) { return std::string(of.param.name); });

/// In parts, which may run beside each other.
using PairwiseOnGpu = OnRealGpu<std::size_t>;
constexpr std::size_t kParts = 6;

TEST_P(PairwiseOnGpu, EveryPairOfChoicesThatMayMeetTrainsAsSerial)
{
    const std::vector<PairwiseJob> jobs = pairwiseJobs().jobs;
    for (std::size_t i = GetParam(); i < jobs.size(); i += kParts) {
        SCOPED_TRACE(jobs[i].text);
        const sim::Scenario scenario = job(jobs[i].settings + Settings{"live.dtype=fp32"});
        const TrainedSteps steps = trainOnGpu(scenario, jobs[i].options);
        EXPECT_TRUE(isWithin(compareSteps(serialOnGpu(scenario, jobs[i].options), steps), limitsOf(scenario)));
    }
}

INSTANTIATE_TEST_SUITE_P(Part, PairwiseOnGpu, testing::Range<std::size_t>(0, kParts));

} // namespace
} // namespace live::test
