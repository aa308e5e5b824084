// That it is training at all: the loss starts where ignorance is and goes down, and what a step reads does not depend on the
// layout.
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace live::test {
namespace {

double meanOf(const std::vector<double>& losses, std::size_t first, std::size_t count)
{
    const auto begin = losses.begin() + static_cast<std::ptrdiff_t>(first);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0) / static_cast<double>(count);
}

/// Ranks are many and words are not: what each adds to the step's sums fits so often as there are ranks.
TEST(Training, SumsOverRanksAreOfCarriedWords)
{
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f64, &pool);
    int sums = 0;
    CommunicatorDecorator communicator(makeLocalCommunicator(pool), [&](Communicator&, const CommRequest& request, Completion&) {
        if (request.what != "sums")
            return false;
        ++sums;
        for (std::int64_t row = 0; row < request.input.rows; ++row)
            for (std::int64_t i = 0; i + 2 < kExactSumWords; ++i) {
                const std::int64_t word = request.input.rowRange(row, 1).as<std::int64_t>()[i];
                EXPECT_TRUE(word >= 0 && word <= 0xFFFFFFFF) << "row " << row << ", word " << i << ": " << word;
            }
        return false;
    });
    live::Run run(job({"layout.dp=2"}), {.pool = &pool, .device = device.get(), .communicator = &communicator});
    run.train(1);
    EXPECT_EQ(sums, 2);
}

TEST(Training, LearnsTheBuiltInText)
{
    for (const Settings& model : {Settings{}, kTied, kLlama, kExperts}) {
        const sim::Scenario scenario =
            job(model + Settings{"live.dtype=fp32", "live.learning_rate=0.01", "layout.dp=2", "training.global_batch_size=8"});
        const TrainedSteps trained = trainSteps(scenario, {.steps = 30});
        EXPECT_NEAR(trained.losses.front(), std::log(61), 0.1) << "weights near 0 know nothing";
        EXPECT_LT(meanOf(trained.losses, 25, 5), meanOf(trained.losses, 0, 5) - 0.5);
        for (const double loss : trained.losses)
            EXPECT_TRUE(std::isfinite(loss));
    }
}

TEST(Training, WithoutALearningRateNothingMoves)
{
    const sim::Scenario still = job({"live.learning_rate=1e-300"});
    const TrainedSteps once = trainSteps(still, {.steps = 1}), thrice = trainSteps(still, {.steps = 3});
    EXPECT_LE(compare(once.values, thrice.values).largest, 1e-250);
}

TEST(Training, ClippingBoundsTheStepAndNotTheReportedNorm)
{
    const Settings sgd = {"training.optimizer=sgd", "live.learning_rate=1"};
    const TrainedSteps free = trainSteps(job(sgd + Settings{"live.clip_norm=0"}), {.steps = 1});
    const TrainedSteps clipped = trainSteps(job(sgd + Settings{"live.clip_norm=0.01"}), {.steps = 1});
    EXPECT_EQ(free.gradientNorms, clipped.gradientNorms);
    const TrainedSteps start = trainSteps(job({"live.learning_rate=1e-300", "training.optimizer=sgd"}), {.steps = 1});
    double squares = 0;
    for (const auto& [name, values] : clipped.values)
        for (std::size_t i = 0; i < values.size(); ++i)
            squares += std::pow(values[i] - start.values.at(name)[i], 2);
    EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-6);
}

TEST(Training, GathersWeightsAsOftenAsTheLayoutSays)
{
    const Settings zero3 = {"layout.dp=2", "layout.zero_stage=3"};
    const auto gathers = [](const Settings& settings) {
        WorkerPool pool(1);
        const auto device = makeCpuDevice(DType::f64, &pool);
        const auto communicator = makeLocalCommunicator(pool);
        const live::Run run(job(settings), {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
        const auto& requests = run.plan().requests.front();
        return std::count_if(requests.begin(), requests.end(),
                             [](const PlannedRequest& request) { return request.kind == CommKind::allGather; });
    };
    for (const Settings& layout : {zero3, zero3 + kPp2}) {
        const Settings dropped = layout + Settings{"layout.reshard_after_forward=true"},
                       kept = layout + Settings{"layout.reshard_after_forward=false"};
        EXPECT_GT(gathers(dropped), gathers(kept)) << layout.back();
        EXPECT_TRUE(compareLayouts(job(dropped), job(kept), {}).identical) << layout.back();
    }
}

TEST(Training, GradientsThatAddUpWholeAreThoseThatAreReducedEachTime)
{
    for (const char* zero : {"layout.zero_stage=2", "layout.zero_stage=3"}) {
        const Settings cut = {"layout.dp=2", zero, "training.global_batch_size=8"};
        EXPECT_TRUE(compareLayouts(job(cut), job(cut + Settings{"layout.reduce_each_microbatch=false"}), {}).isRounding("fp64"))
            << zero;
    }
}

TEST(Training, RotatesAndNormalisesAsTheModelSays)
{
    const Settings small = {"live.learning_rate=1e-300"}; // what the first step finds
    const auto lossWith = [&](const Settings& settings) {
        return trainSteps(job(kLlama + small + settings), {.steps = 1}).losses.front();
    };
    const double usual = lossWith({});
    EXPECT_EQ(lossWith({"model.rope_theta=10000", "model.rms_norm_eps=0.00001"}), usual);
    EXPECT_EQ(lossWith({"model.layer_norm_epsilon=0.01"}), usual) << "that of the other norm";
    EXPECT_NE(lossWith({"model.rope_theta=500000"}), usual);
    EXPECT_NE(lossWith({"model.rms_norm_eps=0.01"}), usual);
    const auto layerNormLoss = [&](const Settings& settings) {
        return trainSteps(job(small + settings), {.steps = 1}).losses.front();
    };
    EXPECT_NE(layerNormLoss({"model.layer_norm_epsilon=0.01"}), layerNormLoss({}));
    // A large epsilon leaves nothing of the tokens: all words are alike.
    EXPECT_NEAR(lossWith({"model.rms_norm_eps=1", "live.dropout=0"}), std::log(61), 0.02);
}

/// bfloat16 has 8 significant bits; by way of a float, as numbers are converted.
double toBf16(double value)
{
    int exponent = 0;
    const double mantissa = std::frexp(static_cast<double>(static_cast<float>(value)), &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

/// Moments are rounded to be kept, and read so in the next step; the step itself is made before.
TEST(Training, KeepsMomentsInBf16WhereTheScenarioSaysSo)
{
    constexpr double kBeta1 = 0.9;
    const auto after = [](int steps, const Settings& settings) {
        return trainSteps(job(Settings{"live.clip_norm=0"} + settings), {.steps = steps});
    };
    const Settings narrow = {"training.moment_dtype=bf16"};
    const TrainedSteps one = after(1, {}), oneNarrow = after(1, narrow), two = after(2, {}), twoNarrow = after(2, narrow);
    EXPECT_TRUE(compare(one.values, oneNarrow.values).identical);
    EXPECT_FALSE(compare(two.values, twoNarrow.values).identical);
    EXPECT_LT(compare(two.values, twoNarrow.values).relative, 1e-3);
    for (const auto& [name, moments] : one.firstMoments)
        for (std::size_t i = 0; i < moments.size(); ++i) {
            const double kept = toBf16(moments[i]);
            ASSERT_EQ(oneNarrow.firstMoments.at(name)[i], kept) << name;
            // The second gradient is the same, as the weights are.
            const double added = two.firstMoments.at(name)[i] - kBeta1 * moments[i];
            const double expected = kBeta1 * kept + added;
            ASSERT_NEAR(twoNarrow.firstMoments.at(name)[i], expected, std::abs(expected) / 256 + 1e-18) << name;
            ASSERT_EQ(twoNarrow.firstMoments.at(name)[i], toBf16(twoNarrow.firstMoments.at(name)[i])) << name;
        }
}

TEST(Training, AnotherSeedStartsFromOtherWeights)
{
    const TrainedSteps one = trainSteps(job({}), {.steps = 1}), two = trainSteps(job({"live.seed=2"}), {.steps = 1});
    EXPECT_NE(one.losses, two.losses);
    EXPECT_GT(compare(one.values, two.values).relative, 0.1);
}

} // namespace
} // namespace live::test
