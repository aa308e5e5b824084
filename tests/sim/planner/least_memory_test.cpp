// A job that no layout of has room for is refused before anything is searched, by what each holds at least; what fits never is.
#include "sim/planner/planner.h"

#include "tests/sim/planner/every_layout.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;
using test::EveryLayout;
using test::PlanDice;

namespace {

constexpr double kGpuGib = 80;

} // namespace

TEST(LeastMemory, RefusesWithoutASearchWhatNoLayoutHasRoomFor)
{
    for (const auto& [model, gpus, least] : {std::tuple{"llama3-405b", 8, 850}, {"gpt-oss-120b", 8, 240}, {"kimi-k2", 64, 260}}) {
        const PlanRequest request{.document =
                                      ScenarioDocument::parse(std::string(R"({"format": "rankscope-scenario", "version": 1,
                "model": {"base": ")") + model + R"("}, "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 8},
                "training": {"sequence_length": 8192, "global_batch_size": 2048}})"),
                                  .gpus = gpus};
        const PlanAnswer answer = plan(request, test::catalogue());
        EXPECT_TRUE(answer.best.empty());
        EXPECT_TRUE(answer.proved);
        EXPECT_GT(answer.covered, 1000);
        EXPECT_EQ(answer.evaluated + answer.tightened + answer.simulated, 0) << model;
        ASSERT_TRUE(answer.least) << model;
        EXPECT_EQ(answer.least->hasGib, kGpuGib);
        EXPECT_GT(answer.least->gib, least) << "18 bytes a parameter over all GPUs, and activations";
        EXPECT_LT(answer.least->gib, 1.3 * least);
        EXPECT_NEAR(static_cast<double>(answer.least->gpus), least * gpus / kGpuGib, 0.1 * least * gpus / kGpuGib) << model;
        for (const RejectedGrid& grid : answer.rejected)
            if (grid.reason != PlanReason::rule) {
                EXPECT_EQ(grid.reason, PlanReason::memory);
                EXPECT_THAT(grid.text, testing::HasSubstr("optimizer states"));
            }
    }
}

TEST(LeastMemory, SaysWhetherGpusAreTooFewOrSettingsTooMany)
{
    const LeastMemory least{.gib = 100, .hasGib = kGpuGib, .gpus = 16};
    const std::string holds = "the fullest GPU of any holds at least 100.0 GiB of 80.0 GiB";
    EXPECT_EQ(least.text(8), holds + "; fewer than 16 GPUs cannot hold its parameters, gradients and optimizer states");
    EXPECT_EQ(least.text(16), holds + "; with fewer settings fixed, or more sharded, it might fit");
}

TEST(LeastMemory, IsNoMoreThanTheLeanestOfAllLayoutsHolds)
{
    PlanDice dice(21);
    int jobs = 0;
    double sum = 0;
    for (int tried = 0; tried < test::tries(60); ++tried) {
        PlanRequest request = test::randomJob(dice, {2, 3, 4, 6, 8});
        test::holdSome(request, dice);
        if (dice.oneIn(3))
            request.document.set("training.offload.optimizer", "0.5");
        if (dice.oneIn(4))
            request.document.set("training.precision", "\"fp8\"");
        const EveryLayout every(request);
        double leanest = test::kNoLayout;
        for (const test::TriedLayout& layout : every.all())
            leanest = std::min(leanest, layout.fitsHost ? layout.peakMemoryGib : test::kNoLayout);
        if (leanest == test::kNoLayout)
            continue;
        SCOPED_TRACE(test::jobText(request));
        request.marginGib = kGpuGib - 1e-5;
        const PlanAnswer none = plan(request, test::catalogue());
        ASSERT_TRUE(none.least);
        EXPECT_EQ(none.covered, static_cast<std::int64_t>(every.all().size()));
        EXPECT_LE(none.least->gib, leanest);
        sum += none.least->gib / leanest;
        ++jobs;
        request.marginGib = kGpuGib - leanest * (1 + 1e-9);
        const PlanAnswer one = plan(request, test::catalogue());
        EXPECT_FALSE(one.least);
        EXPECT_FALSE(one.best.empty());
        request.marginGib = kGpuGib - leanest * (1 - 1e-6);
        EXPECT_TRUE(plan(request, test::catalogue()).best.empty());
    }
    ASSERT_GT(jobs, 0);
    EXPECT_GT(sum / jobs, 0.4) << "it says something";
}
