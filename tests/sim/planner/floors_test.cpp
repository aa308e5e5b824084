// The bounds that a plan is proved by: no step of the engine goes below them, and memory is the engine's own.
#include "sim/planner/floors.h"
#include "sim/planner/tight_floor.h"

#include "sim/memory_limit.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

using namespace sim;

namespace {

bool canBePlanned(const Scenario& scenario)
{
    return !scenario.training.documents.areGiven() && scenario.layout.placement != PlacementRule::explicitList &&
           !scheduleFamily(scenario.schedule.kind).isWrittenOut &&
           std::all_of(scenario.perturbations.begin(), scenario.perturbations.end(),
                       [](const Perturbation& of) { return of.kind == PerturbationKind::failure; });
}

/// The choice that a scenario has made.
Choice choiceOf(const Scenario& scenario)
{
    const Layout& layout = scenario.layout;
    return {.grid = {.tp = layout.tp, .cp = layout.cp, .pp = layout.pp, .dp = layout.dp, .ep = layout.ep, .etp = layout.etp},
            .microBatch = scenario.training.microBatchSize,
            .sequenceParallel = layout.sequenceParallel,
            .zeroStage = layout.zeroStage,
            .dpShard = layout.dpShard,
            .chunks = scenario.schedule.virtualStages,
            .recompute = scenario.training.recompute,
            .recomputeLayers = scenario.training.recomputeLayers};
}

} // namespace

TEST(TightFloor, IsNoMoreThanTheStepAndHoldsWhatTheEngineHolds)
{
    std::mt19937 random(181);
    std::vector<double> errors;
    for (int i = 0; i < 90; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        scenario.perturbations.clear();
        if (!canBePlanned(scenario))
            continue;
        SCOPED_TRACE(test::describe(scenario));
        const TightFloor floor = tightFloor(scenario);
        const auto step = simulate(scenario);
        const double ns = step->metrics().stepTimeSeconds * 1e9;
        EXPECT_LE(floor.stepNs, ns + 1);
        EXPECT_NEAR(floor.peakBytes / kBytesPerGib, step->metrics().peakMemoryGib, 1e-9);
        errors.push_back(1 - floor.stepNs / ns);
    }
    ASSERT_GT(errors.size(), 40U);
    std::sort(errors.begin(), errors.end());
    const double p50 = errors[errors.size() / 2], p95 = errors[errors.size() * 95 / 100];
    std::printf("closed form below the engine by %.2f %% (median), %.2f %% (p95), %.2f %% (most) of %zu\n", 100 * p50, 100 * p95,
                100 * errors.back(), errors.size());
    EXPECT_LT(p50, 0.03);
}

TEST(Floor, IsNoMoreThanTheStepNorTheMemory)
{
    std::mt19937 random(182);
    double sum = 0;
    int count = 0;
    for (int i = 0; i < 130; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        scenario.perturbations.clear();
        if (!canBePlanned(scenario) || scheduleFamily(scenario.schedule.kind).cutsSequences())
            continue;
        SCOPED_TRACE(test::describe(scenario));
        PlanRequest request{.document = ScenarioDocument::parse(resolvedText(scenario))};
        request.fixed = {{"schedule.kind", scenario.schedule.kind},
                         {"schedule.layers_per_stage", *request.document.get("schedule.layers_per_stage")}};
        const PlanSpace space(request, test::catalogue());
        const Choice choice = choiceOf(scenario);
        const Scenario made = space.scenarioOf(choice);
        ASSERT_EQ(made.layout, scenario.layout);
        ASSERT_EQ(made.schedule, scenario.schedule);
        ASSERT_EQ(made.training, scenario.training);
        ASSERT_EQ(made.cluster, scenario.cluster);
        const Floors floors(space);
        const auto parts = floors.partsOf(choice, made);
        const LayoutFloor floor = floors.floorOf(choice, made, *parts, *floors.shardsOf(choice, made));
        const auto step = simulate(scenario);
        const double ns = step->metrics().stepTimeSeconds * 1e9;
        EXPECT_LE(floor.stepNs, ns + 1);
        EXPECT_LE(floors.leastOf(choice, made,
                                 scenario.modelCopies() > 1 || scenario.schedule.kind == "dualpipe-v" ||
                                     scenario.training.overlap.epComm),
                  ns + 1);
        EXPECT_LE(floor.bytes, step->metrics().peakMemoryGib * kBytesPerGib + 1);
        sum += floor.stepNs / ns;
        ++count;
    }
    ASSERT_GT(count, 50);
    std::printf("floor is %.1f %% of the step on average of %d\n", 100 * sum / count, count);
    EXPECT_GT(sum / count, 0.6);
}
