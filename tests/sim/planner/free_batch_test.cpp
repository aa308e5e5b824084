// A global batch that may be smaller: layouts go by what a token takes, and of all batches none is better than the one found.
#include "sim/planner/planner.h"

#include "sim/answers/plan.h"
#include "sim/schedule/schedule.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include "tests/sim/planner/tiny_job.h"
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

using namespace sim;

TEST(FreeBatch, TakesOfAllBatchesUpToTheLargestTheOneWhoseTokensTakeLeast)
{
    // Under the margin no layout of as many sequences fits that holds all of them at once.
    for (const auto& [kind, margin] : {std::pair{"1f1b", 0.0}, {"interleaved-1f1b", 0.0}, {"gpipe", 79.92}}) {
        const auto job = [&, margin = margin, kind = kind](int batch) {
            PlanRequest request = test::tinyJob({{"schedule.kind", kind}, {"training.recompute", "none"}});
            request.marginGib = margin;
            request.document.set("training.global_batch_size", std::to_string(batch));
            request.gpus = 6;
            return request;
        };
        constexpr int kMost = 7;
        double least = std::numeric_limits<double>::infinity();
        std::int64_t covered = 0;
        for (int batch = 1; batch <= kMost; ++batch) { // one exact search after the other
            const PlanAnswer exact = plan(job(batch), test::catalogue());
            covered += exact.covered;
            if (!exact.best.empty())
                least = std::min(least, exact.best.front().stepSeconds * kMost / batch);
        }
        PlanRequest request = job(kMost);
        request.freed = {"training.global_batch_size"};
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty());
        const PlannedLayout& first = answer.best.front();
        EXPECT_TRUE(answer.proved);
        EXPECT_EQ(answer.covered, covered);
        EXPECT_DOUBLE_EQ(first.paceSeconds(), least);
        EXPECT_EQ(simulate(resolvedScenario(withSettings(request, first.settings), test::catalogue()))->metrics().stepTimeSeconds,
                  first.stepSeconds);
        for (const PlannedLayout& layout : answer.best)
            EXPECT_NEAR(kMost * 512 / layout.paceSeconds(), layout.tokensPerSecond, 1e-6 * layout.tokensPerSecond);
        const Answer said = planAnswer(answer, request);
        EXPECT_EQ(said.at("pace_batch"), kMost);
        EXPECT_THAT(planProof(said), testing::HasSubstr("by the time that a token takes, told for each 7 sequences"));
        for (const RejectedGrid& grid : answer.rejected)
            if (grid.reason == PlanReason::floor || grid.reason == PlanReason::slower) {
                EXPECT_THAT(grid.text, testing::HasSubstr(" for each 7 sequences, "));
            }
    }
}

// What the search leaves out by it: where nothing fits with some micro-batches, nothing does with more.
TEST(FreeBatch, FewerMicroBatchesHoldNoMore)
{
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.isSearched || family.isWrittenOut || family.plansByCost || family.cutsSequences() ||
            family.kind.starts_with("v-")) // with ZeRO 3 four micro-batches of V-Half hold more than five
            continue;
        for (const auto& [pp, zero] : {std::pair{2, 0}, {4, 1}, {4, 3}}) {
            double before = 0;
            for (int microbatches = 1; microbatches <= 10; ++microbatches) {
                ScenarioDocument document = test::tinyJob().document;
                document.set("layout.tp", "1");
                document.set("layout.pp", std::to_string(pp));
                document.set("layout.dp", "2");
                document.set("layout.zero_stage", std::to_string(zero));
                document.set("schedule.kind", '"' + std::string(family.kind) + '"');
                document.set("training.micro_batch_size", "1");
                document.set("training.global_batch_size", std::to_string(2 * microbatches));
                document.set("model.num_hidden_layers", "8");
                const auto resolved = document.resolve(test::catalogue());
                if (!resolved.scenario)
                    continue; // not so many with this kind
                const double peak = simulate(*resolved.scenario)->metrics().peakMemoryGib;
                EXPECT_GE(peak, before) << family.kind << ", pp " << pp << ", ZeRO " << zero << ", " << microbatches;
                before = peak;
            }
        }
    }
}

TEST(FreeBatch, GivesReplicasThatCannotShareTheBatchAsManyAsTheyCan)
{
    PlanRequest request = test::tinyJob({{"layout.tp", "1"}, {"layout.cp", "1"}, {"layout.pp", "1"}});
    request.gpus = 6; // 8 sequences
    EXPECT_TRUE(plan(request, test::catalogue()).best.empty());
    request.freed = {"training.global_batch_size"};
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    EXPECT_THAT(answer.best.front().settings, testing::Contains(PlanSetting("training.global_batch_size", "6")));
}

TEST(FreeBatch, SaysTheSameOfAFreeBatchForAnyNumberOfThreads)
{
    PlanRequest one = test::tinyJob({{"training.recompute", "none"}});
    one.freed = {"training.global_batch_size"};
    PlanRequest three = one;
    one.jobs = 1;
    three.jobs = 3;
    const auto said = [](const PlanRequest& request) {
        Answer answer = planAnswer(plan(request, test::catalogue()), request);
        answer.erase("seconds");
        return answer.dump();
    };
    EXPECT_EQ(said(one), said(three));
}

TEST(FreeBatch, FreesNoBatchWhereThatSaysNothing)
{
    PlanRequest request = test::tinyJob();
    request.freed = {"training.global_batch_size"};
    request.objective = PlanObjective::headroom;
    EXPECT_THROW(plan(request, test::catalogue()), Error);
    request.objective = PlanObjective::tokens;
    request.rampBatches = {4};
    EXPECT_THROW(plan(request, test::catalogue()), Error);
    request.rampBatches.clear();
    request.document.erase("training.global_batch_size");
    EXPECT_THROW(plan(request, test::catalogue()), Error);
}
