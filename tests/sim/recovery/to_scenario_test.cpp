#include "sim/recovery/to_scenario.h"

#include "sim/recovery/rank_time.h"
#include "sim/recovery/stand_in.h"
#include "sim/scenario/document.h"
#include "tests/sim/recovery/simulated.h"
#include "tests/support/catalogue.h"
#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace {

using test::simulated;

TEST(RecoveredScenario, SimulatesToTheStepThatItWasRecoveredFrom)
{
    const sim::Scenario truth = test::smallScenario(2, 4, 2, 8);
    const auto simulation = simulated(truth);
    const sim::Recovered recovered = sim::recover(test::recordingOf(*simulation));
    const auto base = nlohmann::ordered_json::parse(sim::resolvedText(truth)); // the model and cluster that no trace names
    std::vector<sim::UnknownKey> unknown;
    const nlohmann::ordered_json scenario = sim::scenarioOf(recovered, base, unknown);
    EXPECT_EQ(scenario["layout"]["tp"], 2);
    EXPECT_EQ(scenario["layout"]["pp"], 4);
    EXPECT_EQ(scenario["layout"]["dp"], 2);
    EXPECT_EQ(scenario["layout"]["order"], "tp-cp-ep-dp-pp");
    EXPECT_EQ(scenario["layout"]["zero_stage"], truth.layout.zeroStage);
    EXPECT_EQ(scenario["schedule"]["kind"], "1f1b");
    EXPECT_EQ(scenario["training"]["global_batch_size"], 8 * 2 * scenario["training"]["micro_batch_size"].get<int>());
    EXPECT_TRUE(std::any_of(unknown.begin(), unknown.end(), [](const sim::UnknownKey& key) { return key.pointer == "/model"; }));
    const sim::Scenario again = sim::resolvedScenario(sim::ScenarioDocument::parse(scenario.dump()), test::catalogue());
    EXPECT_EQ(sim::simulate(again)->times().endNs, simulation->times().endNs);
}

/// An order that names ep, with pp not last, asks of experts that there are none of.
TEST(RecoveredScenario, NamesNoExpertsInTheOrderOfARunThatHasNone)
{
    sim::Scenario truth = test::smallScenario(2, 2, 2, 4);
    truth.layout.order = "tp-cp-pp-dp";
    const sim::Recovered recovered = sim::recover(test::recordingOf(*simulated(truth)));
    sim::Recovered withContext;
    withContext.axes.worldSize = 16;
    withContext.axes.axes = {{.name = "tp", .size = 2, .stride = 1},
                             {.name = "cp", .size = 2, .stride = 2},
                             {.name = "pp", .size = 2, .stride = 4},
                             {.name = "dp", .size = 2, .stride = 8}};
    for (const sim::Recovered* run : {&recovered, &std::as_const(withContext)}) {
        const nlohmann::ordered_json grid = sim::standInScenario(*run);
        EXPECT_EQ(grid["layout"]["order"], "tp-cp-pp-dp");
        const auto resolved = sim::ScenarioDocument::parse(grid.dump()).resolve(test::catalogue());
        ASSERT_TRUE(resolved.scenario) << resolved.problems.front().text();
        EXPECT_EQ(resolved.scenario->layout.worldSize(), run->axes.worldSize);
    }
    withContext.axes.axes.push_back({.name = "ep", .size = 2, .stride = 2});
    EXPECT_EQ(sim::standInScenario(withContext)["layout"]["order"], "tp-cp-ep-pp-dp");
}

TEST(RecoveredAxes, OfAGroupThatJoinsAnAxisWithoutANameAreNotKnown)
{
    sim::RecoveredAxes axes;
    axes.worldSize = 8;
    axes.axes = {{.name = "tp", .size = 2, .stride = 1, .parts = {{1, 2}}}, {.size = 4, .stride = 2, .parts = {{2, 4}}}};
    EXPECT_EQ(sim::axesOfGroup(axes, {0, 1}), "tp");
    EXPECT_EQ(sim::axesOfGroup(axes, {0, 2, 4, 6}), "");
    EXPECT_EQ(sim::axesOfGroup(axes, {0, 1, 2, 3, 4, 5, 6, 7}), "") << "it is not tensor parallelism alone";
}

TEST(RecoveredScenario, OfAnAxisWithoutANameHasItsRanksWhereTheyLie)
{
    sim::Recovered recovered;
    recovered.axes.worldSize = 8;
    recovered.axes.axes = {{.size = 4, .stride = 1, .parts = {{1, 4}}},
                           {.name = "tp", .size = 2, .stride = 4, .parts = {{4, 2}}}};
    const auto meshOf = [&recovered] {
        const auto resolved = sim::ScenarioDocument::parse(sim::standInScenario(recovered).dump()).resolve(test::catalogue());
        EXPECT_TRUE(resolved.scenario) << resolved.problems.front().text();
        return sim::Mesh(resolved.scenario->layout);
    };
    EXPECT_EQ(sim::standInScenario(recovered)["layout"]["dp"], 4);
    EXPECT_EQ(meshOf().coordinates(4).tp, 1) << "it counts as data parallel, and lies within tp";
    EXPECT_EQ(sim::misplacedAxisText(recovered.axes, meshOf()), "");
    EXPECT_EQ(sim::unnamedAxesText(recovered.axes), "what the 4 ranks that lie 1 apart have to do with another is not known");
    // In two parts with tp between them, as no layout has it.
    recovered.axes.axes = {{.size = 2, .stride = 1, .parts = {{1, 2}}},
                           {.name = "tp", .size = 2, .stride = 2, .parts = {{2, 2}}},
                           {.size = 2, .stride = 4, .parts = {{4, 2}}}};
    EXPECT_THAT(sim::misplacedAxisText(recovered.axes, meshOf()), testing::StartsWith("the ranks of tp lie as in no layout"));
    EXPECT_EQ(sim::unnamedAxesText(recovered.axes), "what the 2 ranks that lie 1 apart have to do with another is not known, and "
                                                    "what the 2 ranks that lie 4 apart have to do with another is not known");
    for (sim::RecoveredAxis& axis : recovered.axes.axes)
        axis.name.clear();
    EXPECT_EQ(sim::unnamedAxesText(recovered.axes), "") << "unknownGrid() tells";
    recovered.axes.axes = {{.name = "dp", .size = 8, .stride = 1, .parts = {{1, 8}}}};
    EXPECT_EQ(sim::unnamedAxesText(recovered.axes), "");
    EXPECT_EQ(sim::misplacedAxisText(recovered.axes, meshOf()), "");
}

TEST(RecoveredScenario, HasNodesOfAsManyGpusAsWereAtWorkInEach)
{
    sim::Recovered recovered;
    recovered.axes.worldSize = 8;
    for (int rank = 0; rank < 8; ++rank)
        recovered.evidence.ranks.push_back({.rank = rank, .coordinates = {}, .host = rank < 4 ? "a" : "b"});
    EXPECT_EQ(sim::recordedRanksOfANode(recovered), 4);
    const auto base = nlohmann::ordered_json::parse(
        R"({"cluster": {"gpus_per_node": 8, "nodes": 1, "tiers": [{"name": "nvlink", "span": 8}, {"name": "ib", "span": "all"}]}})");
    std::vector<sim::UnknownKey> unknown;
    const nlohmann::ordered_json scenario = sim::scenarioOf(recovered, base, unknown);
    EXPECT_EQ(scenario["cluster"]["gpus_per_node"], 4);
    EXPECT_EQ(scenario["cluster"]["nodes"], 2);
    EXPECT_EQ(scenario["cluster"]["tiers"][0]["span"], 4) << "the two hosts are joined by the network";
    recovered.evidence.ranks[3].host = "b"; // three and five
    EXPECT_EQ(sim::recordedRanksOfANode(recovered), std::nullopt);
    EXPECT_EQ(sim::scenarioOf(recovered, base, unknown)["cluster"]["gpus_per_node"], 8);
}

} // namespace
