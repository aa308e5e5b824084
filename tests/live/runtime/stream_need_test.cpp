// How many GPUs a layout's streams fit on is known from its plan.
#include "live/runtime/run.h"
#include "live/runtime/stream_need.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace live::test {
namespace {

std::string streamRefusalOf(const CommPlan& plan, int gpus)
{
    return whyTooManyStreams(plan, gpus);
}

/// tp and two directions of a pipeline are three groups, the sums of all a fourth: a rank's queue and two streams for each.
TEST(StreamNeed, OfFewGroupsFitsOnAnyNumberOfGpus)
{
    const CommPlan plan = planRun(job(kTp2 + kPp2), {}, DType::f64, DType::f64);
    for (int gpus = 1; gpus <= 4; ++gpus)
        EXPECT_EQ(streamRefusalOf(plan, gpus), "") << gpus;
}

TEST(StreamNeed, OfManyIsRefusedWithNumbersOfGpusThatAreEnough)
{
    const sim::Scenario scenario =
        job({"layout.tp=2", "layout.cp=2", "layout.pp=2", "layout.dp=2", "schedule.kind=1f1b", "training.global_batch_size=4"});
    const CommPlan plan = planRun(scenario, {}, DType::f64, DType::f64);
    int refused = 0;
    for (int gpus = 1; gpus <= 16; ++gpus) {
        std::string why = streamRefusalOf(plan, gpus);
        if (why.empty())
            continue;
        ++refused;
        const std::regex named("--gpus ([0-9]+) \\(([0-9]+) streams\\)");
        std::smatch match;
        int nearest = 0;
        for (; std::regex_search(why, match, named); why = match.suffix(), ++nearest)
            EXPECT_EQ(streamRefusalOf(plan, std::stoi(match[1])), "") << "of " << gpus;
        EXPECT_GE(nearest, 1);
    }
    EXPECT_EQ(streamRefusalOf(plan, 1), "");
    EXPECT_EQ(streamRefusalOf(plan, 16), "") << "a GPU a rank";
    EXPECT_THAT(streamRefusalOf(plan, 3), testing::HasSubstr(" ranks that share a GPU use "));
    EXPECT_GE(refused, 1);
}

} // namespace
} // namespace live::test
