#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/search_schedule.h"
#include "sim/simulate/simulation.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

using namespace sim;

namespace {

Scenario slowedBy(Scenario scenario, std::vector<Perturbation> perturbations)
{
    scenario.perturbations = std::move(perturbations);
    return scenario;
}

double stepOf(const Scenario& scenario)
{
    return simulate(scenario)->metrics().stepTimeSeconds;
}

} // namespace

TEST(Slowness, AnOrderIsMadeBeforeAnybodyIsSlow)
{
    int told = 0;
    for (const char* const kind : {"zb-1p", "zb-2p"})
        for (const double factor : {1.02, 1.3, 2.5})
            for (const int rank : {0, 2, 3}) {
                Scenario asked = test::smallScenario(1, 4, 1, 8);
                asked.schedule.kind = kind;
                const auto without = simulate(asked);
                const auto slow =
                    simulate(slowedBy(asked, {{.kind = PerturbationKind::slowGpu, .rank = rank, .factor = factor}}));
                EXPECT_EQ(slow->schedule().actions, without->schedule().actions) << kind << " " << rank << " " << factor;
                EXPECT_GE(slow->metrics().stepTimeSeconds, without->metrics().stepTimeSeconds);
                const auto slowness = slow->slowness();
                ASSERT_TRUE(slowness);
                EXPECT_DOUBLE_EQ(slowness->secondsWithout, without->metrics().stepTimeSeconds);
                EXPECT_DOUBLE_EQ(slowness->bubbleWithout, without->metrics().bubbleFraction);
                told += stragglerWait(slowness, slow->metrics()) ? 1 : 0;
            }
    EXPECT_GE(told, 6);
}

TEST(Slowness, OfASearchIsThatOfTheOrderItFound)
{
    int searchedOtherwise = 0;
    for (const int rank : {0, 2, 3}) {
        Scenario asked = test::smallScenario(1, 4, 1, 8);
        asked.schedule.kind = "auto";
        const auto slow = simulate(slowedBy(asked, {{.kind = PerturbationKind::slowGpu, .rank = rank, .factor = 2.5}}));
        searchedOtherwise += simulate(asked)->schedule().actions != slow->schedule().actions ? 1 : 0;
        OrderJudge judge(asked, memoryCapGib(asked));
        judge.consider(slow->schedule());
        EXPECT_DOUBLE_EQ(slow->slowness()->secondsWithout, judge.verdict().stepSeconds);
    }
    EXPECT_GT(searchedOtherwise, 0) << "else it would not matter";
}

TEST(Slowness, FactorsOfAGpuAndOfALinkAreNotCompared)
{
    const Scenario asked = test::smallScenario(2, 4, 1, 8);
    int told = 0;
    for (double gpuFactor = 1.25; gpuFactor <= 4; gpuFactor += 0.25) {
        const Perturbation gpu{.kind = PerturbationKind::slowGpu, .rank = 1, .factor = gpuFactor};
        for (const double by : {0.8, 0.9, 0.95, 1.05, 1.1, 1.25}) {
            const Perturbation link{.kind = PerturbationKind::slowLink, .rank = 2, .factor = 1 + (gpuFactor - 1) * by};
            const bool isGpu = stepOf(slowedBy(asked, {gpu})) > stepOf(slowedBy(asked, {link}));
            if (isGpu != (gpu.factor < link.factor)) // the larger factor costs more
                continue;
            ++told;
            for (const auto& both : {std::vector{gpu, link}, std::vector{link, gpu}})
                EXPECT_EQ(simulate(slowedBy(asked, both))->slowness()->worst, isGpu ? gpu : link);
        }
    }
    EXPECT_GT(told, 0) << "else it would not matter";
}

TEST(Slowness, OneIsAloneWhereTheOthersCostNothing)
{
    const Perturbation slow{.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 2};
    const Perturbation hardly{.kind = PerturbationKind::slowGpu, .rank = 2, .factor = 1.0001};
    const Perturbation alsoSlow{.kind = PerturbationKind::slowGpu, .rank = 2, .factor = 1.9};
    const Scenario asked = test::smallScenario(1, 4, 1, 8);
    const auto isAlone = [&](const std::vector<Perturbation>& all) {
        return simulate(slowedBy(asked, all))->slowness()->isAlone;
    };
    EXPECT_TRUE(isAlone({slow}));
    EXPECT_TRUE(isAlone({hardly, slow}));
    EXPECT_FALSE(isAlone({alsoSlow, slow}));
    EXPECT_FALSE(simulate(asked)->slowness());
}

TEST(Slowness, WhoAsksMeanwhileCanBeCancelled)
{
    const auto slow =
        simulate(slowedBy(test::smallScenario(1, 4, 1, 8), {{.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 2}}));
    std::atomic<bool> hasAsked = false;
    std::future<bool> other;
    const CancelScope whileItSimulates([&] {
        if (!hasAsked.exchange(true)) {
            other = std::async(std::launch::async, [&slow] {
                const CancelScope cancelled([] { return true; });
                try {
                    slow->slowness();
                } catch (const Cancelled&) {
                    return true;
                }
                return false;
            });
            EXPECT_EQ(other.wait_for(std::chrono::seconds(20)), std::future_status::ready) << "it waits for the other";
        }
        return false;
    });
    EXPECT_TRUE(slow->slowness());
    ASSERT_TRUE(other.valid());
    EXPECT_TRUE(other.get());
}

/// Findings ask, and so does each formula of the bubble.
TEST(Slowness, IsFoundOnce)
{
    const auto slow =
        simulate(slowedBy(test::smallScenario(1, 4, 1, 8), {{.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 2}}));
    {
        const CancelScope cancelled([] { return true; });
        EXPECT_THROW(slow->slowness(), Cancelled) << "it simulates";
    }
    const std::optional<Slowness> found = slow->slowness();
    const CancelScope cancelled([] { return true; });
    EXPECT_EQ(slow->slowness()->secondsWithout, found->secondsWithout) << "it does not simulate again";
    EXPECT_LT(stragglerWait(slow->slowness(), slow->metrics())->bubbleWithout, slow->metrics().bubbleFraction);
}
