// What a scenario's passes cost, and the schedules planned by it.
#include "sim/simulate/plan_schedule.h"

#include "sim/schedule/check.h"
#include "sim/simulate/simulation.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sim;

TEST(PassCosts, AreWhatTheStepTakes)
{
    // One rank runs its passes back to back: their sum is what the step computes, but for the optimizer.
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    const PassCosts costs = measurePassCosts(scenario);
    ASSERT_EQ(costs.times.size(), 1U);
    const double step = simulate(scenario)->metrics().stepTimeSeconds * 1e9;
    EXPECT_LT(4 * costs.times[0].total(), step);
    EXPECT_GT(4 * costs.times[0].total(), 0.8 * step);
}

TEST(PassCosts, KnowTheEndsOfTheModel)
{
    Scenario scenario = test::smallScenario(2, 4, 2, 8);
    const PassCosts costs = measurePassCosts(scenario);
    ASSERT_EQ(costs.times.size(), 4U);
    EXPECT_DOUBLE_EQ(costs.times[1].forward, costs.times[2].forward);
    EXPECT_GT(costs.times[3].forward, costs.times[2].forward) << "the head";
    EXPECT_GT(costs.times[2].backwardWeight, 0);
    EXPECT_GT(costs.times[0].comm, 0);
    for (const PassMemory& memory : costs.memory) {
        EXPECT_GT(memory.full, memory.weight);
        EXPECT_GT(memory.weight, 0);
    }
    EXPECT_GT(costs.freeBytes, 0);
    EXPECT_LT(costs.freeBytes, 80.0 * 1024 * 1024 * 1024);
}

TEST(PassCosts, AreThoseOfEveryKindAndLayout)
{
    std::mt19937 random(21);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const PassCosts costs = measurePassCosts(scenario);
        EXPECT_EQ(static_cast<int>(costs.times.size()), scenario.stages());
        for (const PassTimes& times : costs.times)
            EXPECT_GE(times.forward, 0);
        EXPECT_THAT(checkSchedule(planSchedule(scenario)), testing::IsEmpty());
    }
}

TEST(PlanSchedule, GoesByTheScenariosOwnTimes)
{
    // With a heavy head the plan differs from that of equal stages, and is no slower.
    Scenario scenario = test::smallScenario(1, 4, 1, 16);
    scenario.model.vocabSize = 256000;
    scenario.schedule.kind = "zb-2p";
    const Schedule planned = planSchedule(scenario);
    const Schedule blind = makeSchedule({.kind = "zb-2p", .ranks = 4, .microbatches = 16});
    EXPECT_NE(planned.actions, blind.actions);
    const PassCosts costs = measurePassCosts(scenario);
    EXPECT_LE(evaluateSchedule(planned, costs.times, costs.memory).span, evaluateSchedule(blind, costs.times, costs.memory).span);
}

TEST(PlanSchedule, IsFoundUnderFullRecomputation)
{
    // The input gradient then makes activations that the forward pass had given up, and leaves some until the weight gradient.
    Scenario scenario = test::smallScenario(1, 4, 1, 8);
    scenario.training.recompute = Recompute::full;
    for (const PassMemory& memory : measurePassCosts(scenario).memory)
        EXPECT_GE(memory.full, memory.weight);
    for (const char* kind : {"zb-1p", "zb-2p", "auto"}) {
        scenario.schedule.kind = kind;
        EXPECT_THAT(checkSchedule(planSchedule(scenario)), testing::IsEmpty()) << kind;
    }
}
