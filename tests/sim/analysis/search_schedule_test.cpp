// The search for a schedule, judged by the step that is simulated: never slower than any kind for the same stages, honest where
// the memory cap cannot be kept.
#include "sim/simulate/search_schedule.h"

#include "sim/cancel.h"
#include "sim/legal/schedule_request.h"
#include "sim/schedule/check.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/simulation.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sim;

namespace {

Scenario withKind(Scenario scenario, const std::string& kind)
{
    scenario.schedule.kind = kind;
    return scenario;
}

} // namespace

TEST(PassCosts, AreOfSplitAndOfWholeBackwards)
{
    // Sequence parallelism gathers the input again for weight gradients, and a whole backward hides one gradient's transfers
    // under the other's kernels.
    const PassCosts parallel = measurePassCosts(test::smallScenario(4, 4, 1, 8));
    for (const PassTimes& times : parallel.times) {
        EXPECT_GT(times.fused, 0);
        EXPECT_LT(times.fused, times.split());
    }
    for (const PassTimes& times : measurePassCosts(test::smallScenario(1, 4, 1, 8)).times)
        EXPECT_NEAR(times.fused, times.split(), 0.02 * times.split()) << "nothing to hide";
}

TEST(SearchSchedule, IsNoSlowerThanTheInterleavedOrderThatALargeJobHas)
{
    const auto opened = test::openNumber("45");
    const double now = opened.simulation->metrics().stepTimeSeconds;
    const auto found = simulate(withKind(opened.simulation->scenario(), "auto"));
    EXPECT_LE(found->metrics().stepTimeSeconds, now);
    EXPECT_TRUE(found->metrics().fits);

    const Scenario scenario = withKind(opened.simulation->scenario(), "auto");
    const SearchedSchedule searched = searchSchedule(scenario, planningRequest(scenario));
    ASSERT_TRUE(searched.synthesis);
    EXPECT_LE(searched.synthesis->bound * 1e-9, now) << "claims that there is no order that short";
    EXPECT_EQ(searched.synthesis->schedule.actions, searched.schedule.actions) << "what it tells is of what it returns";
    EXPECT_GE(searched.synthesis->times.span, searched.synthesis->bound);
}

TEST(SearchSchedule, IsNoSlowerThanAnyKindThatKeepsTheCap)
{
    std::mt19937 random(45);
    int jobs = 0, kinds = 0;
    while (jobs < 40) {
        const Scenario job = test::randomScenario(random, 32);
        if (job.layout.pp < 2 || job.modelCopies() > 1 || job.schedule.sequenceSlices > 1 ||
            job.stages() * job.microbatches() > 120)
            continue;
        ++jobs;
        SCOPED_TRACE(test::describe(job));
        const auto now = simulate(job);
        Scenario asked = withKind(job, "auto");
        asked.schedule.memoryCapGib = now->metrics().peakMemoryGib * (1 + static_cast<double>(random() % 3) / 4);
        const ScheduleRequest request = planningRequest(asked);
        const SearchedSchedule searched = searchSchedule(asked, request);
        EXPECT_THAT(checkSchedule(searched.schedule), testing::IsEmpty());
        const auto found = simulate(asked);
        EXPECT_EQ(found->schedule().actions, searched.schedule.actions) << "deterministic";
        EXPECT_LE(found->metrics().peakMemoryGib, asked.schedule.memoryCapGib);
        EXPECT_LE(found->metrics().stepTimeSeconds, now->metrics().stepTimeSeconds) << "slower than what was there";
        if (searched.synthesis) {
            EXPECT_GE(searched.synthesis->times.span, searched.synthesis->bound * (1 - 1e-9));
        }
        OrderJudge judge(asked, memoryCapGib(asked));
        for (const Schedule& order : ordersOfKinds(asked, request)) {
            judge.consider(order);
            ++kinds;
            // Whatever keeps the cap when simulated, also where planning counts memory with caution.
            OrderJudge alone(asked, memoryCapGib(asked));
            alone.consider(order);
            if (searched.synthesis && alone.verdict().keepsCap) {
                EXPECT_GE(evaluateSchedule(order, request.times, request.memory).span, searched.synthesis->bound * (1 - 1e-9))
                    << order.kind;
            }
        }
        if (judge.verdict().keepsCap) {
            EXPECT_LE(found->metrics().stepTimeSeconds, judge.verdict().stepSeconds);
        }
    }
    EXPECT_GT(kinds, 100);
}

TEST(OrderJudge, TimesAnOrderAsTheSimulationDoes)
{
    std::mt19937 random(3);
    for (int i = 0; i < 20; ++i) {
        const Scenario job = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(job));
        const auto simulation = simulate(job);
        OrderJudge judge(job, 80);
        judge.consider(simulation->schedule());
        EXPECT_DOUBLE_EQ(judge.verdict().stepSeconds, simulation->metrics().stepTimeSeconds);
        EXPECT_DOUBLE_EQ(judge.verdict().peakGib, simulation->metrics().peakMemoryGib);
    }
    OrderJudge cancelled(test::smallScenario(1, 2), 80);
    const Schedule order = makeSchedule({.kind = "1f1b", .ranks = 2, .microbatches = 4});
    const std::atomic<bool> flag = true;
    const CancelScope scope(flag);
    EXPECT_THROW(cancelled.consider(order), Cancelled);
    EXPECT_FALSE(cancelled.best());
}

TEST(SearchSchedule, KeepsTheLeastMemoryWhereTheCapCannotBeKept)
{
    for (const char* cap : {"0.1", "3", "10"}) {
        const auto opened = test::openNumber("73", {"schedule.memory_cap_gib=" + std::string(cap)});
        const Scenario& scenario = opened.simulation->scenario();
        EXPECT_THAT(checkSchedule(opened.simulation->schedule()), testing::IsEmpty());
        EXPECT_GT(opened.simulation->metrics().peakMemoryGib, memoryCapGib(scenario));
        EXPECT_TRUE(opened.simulation->metrics().fits) << "the GPU has room";
        for (const auto& missed : {missedCap(*opened.simulation), capOutOfReach(scenario, planningRequest(scenario))}) {
            ASSERT_TRUE(missed);
            EXPECT_THAT(missed->text(), testing::HasSubstr("model states take 7.56 GiB, and a single micro-batch on all chunks "
                                                           "of a rank 3.29 GiB; nearest cap that works: 10.9 GiB"));
        }
    }
    const auto enough = test::openNumber("73", {"schedule.memory_cap_gib=10.9"});
    EXPECT_LE(enough.simulation->metrics().peakMemoryGib, 10.9) << "what is named as the nearest works";
    EXPECT_FALSE(missedCap(*enough.simulation));
    EXPECT_FALSE(capOutOfReach(enough.simulation->scenario(), planningRequest(enough.simulation->scenario())));
}
