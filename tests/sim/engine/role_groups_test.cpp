// Groups of a communicator are as large as its operators are priced.
#include "sim/engine/classes.h"
#include "sim/program/program.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <random>

using namespace sim;

namespace {

void expectSizes(const Scenario& scenario)
{
    const Mesh mesh(scenario.layout);
    for (int i = 1; i < kCommunicatorRoleCount; ++i) {
        const auto role = static_cast<CommunicatorRole>(i);
        const bool isOfExperts = role == CommunicatorRole::ep || role == CommunicatorRole::exptTp ||
                                 role == CommunicatorRole::exptDp || role == CommunicatorRole::exptReplicate;
        const int size = communicatorSize(role, scenario);
        if (size < 2 || (isOfExperts && scenario.model.numExperts == 0))
            continue;
        const RoleGroups groups = roleGroups(role, mesh, scenario);
        ASSERT_GT(groups.count(), 0) << communicatorRoleName(role);
        for (int group = 0; group < groups.count(); ++group)
            ASSERT_EQ(groups.first[static_cast<std::size_t>(group) + 1] - groups.first[static_cast<std::size_t>(group)], size)
                << communicatorRoleName(role) << " " << group;
    }
}

} // namespace

TEST(RoleGroups, AreAsLargeAsTheirOperatorsArePriced)
{
    std::mt19937 random(5);
    for (int i = 0; i < test::tries(200); ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        expectSizes(scenario);
    }
}

TEST(RoleGroups, OfExpertsOnTheDenseGridGoOverContextParallelismToo)
{
    Scenario scenario = test::smallScenario(1, 2, 4, 2);
    scenario.model.numExperts = 8;
    scenario.layout.order = "tp-cp-pp-dp"; // without ep: the expert grid is the dense grid
    scenario.layout.cp = 2;
    scenario.layout.zeroStage = 1;
    scenario.layout.dpShard = 2;
    EXPECT_EQ(communicatorSize(CommunicatorRole::exptReplicate, scenario) * communicatorSize(CommunicatorRole::exptDp, scenario),
              8);
    expectSizes(scenario);
}
