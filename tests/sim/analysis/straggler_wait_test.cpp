#include "sim/analysis/straggler_wait.h"

#include "sim/schedule/text/csv.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/search_schedule.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace sim;

TEST(StragglerWait, IsOfTheOrderThatWasSimulated)
{
    int told = 0, searchedOtherwise = 0;
    for (const double factor : {1.3, 1.7, 2.5})
        for (const int rank : {0, 2, 3}) {
            Scenario asked = test::smallScenario(1, 4, 1, 8);
            asked.schedule.kind = "auto";
            Scenario slow = asked;
            slow.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = rank, .factor = factor});
            const auto simulation = simulate(slow);
            const auto wait = stragglerWait(*simulation);
            if (!wait)
                continue;
            ++told;
            OrderJudge judge(asked, memoryCapGib(asked));
            judge.consider(simulation->schedule());
            const auto searched = simulate(asked);
            searchedOtherwise += searched->schedule().actions != simulation->schedule().actions ? 1 : 0;
            Scenario same = asked;
            same.schedule.kind = "custom";
            std::istringstream csv(scheduleCsv(simulation->schedule()));
            for (std::string line; std::getline(csv, line);)
                same.schedule.actions.push_back(line);
            const auto without = simulate(same);
            EXPECT_DOUBLE_EQ(without->metrics().stepTimeSeconds, judge.verdict().stepSeconds);
            EXPECT_DOUBLE_EQ(wait->bubbleWithout, without->metrics().bubbleFraction);
        }
    EXPECT_GE(told, 3);
    EXPECT_GT(searchedOtherwise, 0) << "else it would not matter";
}
