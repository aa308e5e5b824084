// Which layout loses least where not all goes as planned.
#include "sim/planner/robust.h"

#include "sim/planner/nearest_grids.h"
#include "sim/planner/sensitivity.h"
#include "sim/simulate/simulation.h"
#include "sim/text/spoken_name.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;

namespace {

PlanRequest jobOf(const std::string& model, const std::string& layout, const std::string& training)
{
    return {.document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1,
        "model": {"num_hidden_layers": 8, "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 16,
                  "num_key_value_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048)" +
                                                model + R"(}, "cluster": {"base": "h100-sxm-ib400"}, "layout": )" + layout +
                                                R"(, "schedule": {"kind": "1f1b"},
        "training": {"sequence_length": 2048, "global_batch_size": 16)" +
                                                training + "}}"),
            .fixed = {{"training.recompute", "none"}, {"schedule.kind", "1f1b"}}};
}

RobustChoice choiceOf(const PlanRequest& request)
{
    const PlanAnswer answer = plan(request, test::catalogue());
    return robustChoice(request, test::catalogue(), robustLayouts(request, test::catalogue(), answer));
}

std::size_t caseNamed(const RobustChoice& choice, const std::string& name)
{
    for (std::size_t i = 0; i < choice.cases.size(); ++i)
        if (choice.cases[i].name == name)
            return i;
    ADD_FAILURE() << "no case " << name;
    return 0;
}

} // namespace

TEST(RobustChoice, EachStepIsTheEnginesOwn)
{
    const PlanRequest request = jobOf("", R"({"tp": 2, "pp": 2, "dp": 4})", "");
    const RobustChoice choice = choiceOf(request);
    ASSERT_GE(choice.layouts.size(), 3U);
    for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
        Scenario scenario = resolvedScenario(withSettings(request, choice.layouts[i].settings), test::catalogue());
        EXPECT_EQ(choice.seconds[i][0], choice.layouts[i].stepSeconds) << choice.names[i];
        Scenario slower = scenario;
        slower.cluster.tiers.back().bandwidthGBs *= 0.75;
        EXPECT_EQ(choice.seconds[i][caseNamed(choice, spokenNetwork(slower.cluster.tiers.back().name) + " gives a quarter less")],
                  simulate(slower)->metrics().stepTimeSeconds);
        // Whichever rank is slow, it holds up the others at least as much where most is computed.
        double slowest = 0;
        for (int rank = 0; rank < scenario.layout.worldSize(); ++rank) {
            Scenario slow = scenario;
            slow.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = rank, .factor = 1.1});
            slowest = std::max(slowest, simulate(slow)->metrics().stepTimeSeconds);
        }
        EXPECT_NEAR(choice.seconds[i][caseNamed(choice, "one GPU computes 10 % slower")], slowest, 1e-3 * slowest);
        for (std::size_t of = 1; of < choice.cases.size(); ++of)
            EXPECT_GE(choice.seconds[i][of], choice.seconds[i][0] * (1 - 1e-9)) << choice.cases[of].name;
    }
}

TEST(RobustLayouts, AreTheNearestGridsThereAre)
{
    PlanRequest request = jobOf("", R"({"tp": 2, "pp": 2, "dp": 2})", "");
    request.top = 1;
    request.mostSimulated = 3;
    const PlanAnswer answer = plan(request, test::catalogue());
    std::vector<double> nearest;
    int unknown = 0;
    for (const RejectedGrid& grid : answer.rejected) {
        if (grid.leastFloorSeconds <= 0)
            continue;
        unknown += grid.best ? 0 : 1;
        for (const PlannedLayout& best : planOfGrid(request, test::catalogue(), grid.grid).best)
            nearest.push_back(best.paceSeconds());
    }
    ASSERT_GT(unknown, 3) << "the search knew them all";
    ASSERT_GT(nearest.size(), 5U);
    std::sort(nearest.begin(), nearest.end());
    const std::vector<PlannedLayout> layouts = robustLayouts(request, test::catalogue(), answer);
    ASSERT_EQ(layouts.size(), 6U);
    EXPECT_EQ(layouts.front().settings, answer.best.front().settings);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_NEAR(layouts[i + 1].paceSeconds(), nearest[i], 1e-9) << layouts[i + 1].grid.text();
}

TEST(RobustLayouts, AreFoundWithFewLaidOut)
{
    PlanRequest request = jobOf("", R"({"tp": 2, "pp": 2, "dp": 2})", "");
    request.top = 1;
    const PlanAnswer answer = plan(request, test::catalogue());
    std::vector<AskedGrid> asked;
    std::vector<double> paces;
    std::int64_t laidOut = 0, simulated = 0; // were each grid searched by itself
    for (const RejectedGrid& grid : answer.rejected) {
        if (grid.leastFloorSeconds <= 0)
            continue;
        asked.push_back({.grid = grid.grid, .floorSeconds = grid.leastFloorSeconds, .known = std::nullopt});
        const PlanAnswer alone = planOfGrid(request, test::catalogue(), grid.grid);
        ASSERT_TRUE(alone.proved);
        ASSERT_FALSE(alone.best.empty());
        laidOut += alone.tightened;
        simulated += alone.simulated;
        for (const PlannedLayout& best : alone.best)
            paces.push_back(best.paceSeconds());
    }
    std::sort(paces.begin(), paces.end());
    for (const std::size_t count : {std::size_t{1}, std::size_t{3}, paces.size()}) {
        const NearestGrids nearest = nearestGrids(request, test::catalogue(), asked, count);
        EXPECT_TRUE(nearest.proved);
        ASSERT_EQ(nearest.layouts.size(), count);
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_NEAR(nearest.layouts[i].paceSeconds(), paces[i], 1e-9) << nearest.layouts[i].grid.text();
        if (count <= 3) {
            EXPECT_LT(2 * nearest.laidOut, laidOut) << count;
            EXPECT_LT(2 * nearest.simulated, simulated) << count;
        }
    }
    for (AskedGrid& of : asked) { // what is known is not looked for again
        of.known = planOfGrid(request, test::catalogue(), of.grid).best.front();
        of.floorSeconds = of.known->paceSeconds();
    }
    EXPECT_EQ(nearestGrids(request, test::catalogue(), asked, 5).laidOut, 0);
}

TEST(RobustChoice, TheBestLosesLeastInItsWorstCase)
{
    // Made up: the first wins as given and loses most with a slow GPU.
    RobustChoice choice;
    choice.cases = {{"as given", ""}, {"a slow GPU", ""}, {"a slow link", ""}};
    choice.layouts = {{.grid = {.tp = 8, .etp = 8}}, {.grid = {.tp = 4, .etp = 4}}, {.grid = {.tp = 2, .etp = 2}}};
    choice.seconds = {{1.00, 1.30, 1.10}, {1.02, 1.10, 1.12}, {1.05, 1.21, 1.05}};
    choice.best = 1;
    EXPECT_EQ(choice.worstCase(0), 1U);
    EXPECT_NEAR(choice.worstRegret(0), 1.30 / 1.10 - 1, 1e-12);
    EXPECT_NEAR(choice.worstRegret(1), 1.12 / 1.05 - 1, 1e-12);
    EXPECT_EQ(robustText(choice), "Loses least: tp 4, at most 6.7 % behind the best of these (a slow link); the first is at most "
                                  "18.2 % behind the best of these (a slow GPU).");
}

TEST(RobustChoice, BusierExpertsHurtOnlyThoseThatAreSpread)
{
    PlanRequest request = jobOf(R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 1408)",
                                R"({"tp": 1, "pp": 1, "dp": 8, "ep": 8, "zero_stage": 1})", "");
    std::vector<PlannedLayout> layouts;
    for (const char* ep : {"1", "8"}) {
        PlanRequest held = request;
        held.fixed.emplace_back("layout.ep", ep);
        layouts.push_back(plan(held, test::catalogue()).best.front());
        layouts.back().settings.emplace_back("layout.ep", ep);
    }
    const RobustChoice choice = robustChoice(request, test::catalogue(), layouts);
    const std::size_t busier = caseNamed(choice, "the busiest experts get half as much again");
    bool isSpread = false;
    for (std::size_t i = 0; i < choice.layouts.size(); ++i) {
        if (choice.layouts[i].grid.ep == 1)
            EXPECT_EQ(choice.seconds[i][busier], choice.seconds[i][0]);
        else
            EXPECT_GT(choice.seconds[i][busier], choice.seconds[i][0]);
        isSpread = isSpread || choice.layouts[i].grid.ep > 1;
    }
    EXPECT_TRUE(isSpread);
    double least = choice.worstRegret(0);
    for (std::size_t i = 0; i < choice.layouts.size(); ++i)
        least = std::min(least, choice.worstRegret(i));
    EXPECT_EQ(choice.worstRegret(choice.best), least);
}

TEST(RobustChoice, IsTheSameForAnyNumberOfThreads)
{
    PlanRequest request = jobOf("", R"({"tp": 2, "pp": 2, "dp": 2})", "");
    request.jobs = 1;
    const RobustChoice one = choiceOf(request);
    request.jobs = 3;
    const RobustChoice three = choiceOf(request);
    EXPECT_EQ(one.seconds, three.seconds);
    EXPECT_EQ(one.best, three.best);
    EXPECT_TRUE(robustChoice(request, test::catalogue(), {}).cases.empty());
    EXPECT_EQ(robustText({}), "");
}
