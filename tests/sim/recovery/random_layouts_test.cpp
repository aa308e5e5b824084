// The simulator's own steps as profilers would have recorded them, with the names of groups removed: the grid must come back, and
// the schedule.
#include "sim/recovery/recover.h"
#include "sim/recovery/recovered_json.h"

#include "tests/support/recorded.h"
#include "tests/support/recovered_schedule.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

/// What a Mesh says of an axis: ranks between neighbours on it, and how many.
std::string gridText(const sim::Scenario& scenario, const sim::Mesh& mesh)
{
    std::string text;
    const auto add = [&](const char* name, sim::ProcessGroup group) {
        if (mesh.groupSize(group) > 1)
            text += std::string(name) + " " + std::to_string(mesh.groupSize(group)) + " by " +
                    std::to_string(mesh.member(group, 0, 1) - mesh.member(group, 0, 0)) + "; ";
    };
    add("tp", sim::ProcessGroup::tp);
    add("cp", sim::ProcessGroup::cp);
    add("dp", sim::ProcessGroup::dp);
    add("pp", sim::ProcessGroup::pp);
    if (scenario.model.numExperts > 0)
        add("ep", sim::ProcessGroup::ep);
    return text;
}

std::string gridText(const sim::RecoveredAxes& axes)
{
    std::string text;
    for (const char* name : {"tp", "cp", "dp", "pp", "ep"})
        if (const sim::RecoveredAxis* axis = axes.find(name))
            text += std::string(name) + " " + std::to_string(axis->size) + " by " + std::to_string(axis->stride) + "; ";
    for (const sim::RecoveredAxis& axis : axes.axes)
        if (axis.name.empty())
            text += "? " + std::to_string(axis.size) + " by " + std::to_string(axis.stride) + "; ";
    return text;
}

struct Rates {
    int jobs = 0, grids = 0, pipelines = 0;
    int named = 0;  ///< of its kind's own name
    int kinds = 0;  ///< isRecognised()
    int orders = 0; ///< isSameOrder()
    std::string wrong;
};

Rates recoverRandom(bool annotations, int jobs, unsigned seed)
{
    std::mt19937 random(seed);
    Rates rates;
    while (rates.jobs < jobs) {
        const sim::Scenario scenario = test::randomScenario(random, 32);
        if (scenario.layout.worldSize() < 2)
            continue;
        const auto simulation = sim::simulate(scenario, {.full = true});
        const sim::Recovered recovered = sim::recover(test::recordingOf(*simulation, {.annotations = annotations}));
        ++rates.jobs;
        const std::string expected = gridText(scenario, simulation->mesh()), found = gridText(recovered.axes);
        if (found == expected)
            ++rates.grids;
        else
            rates.wrong += test::describe(scenario) + "\n   is " + expected + "\n   found " + found + "\n";
        if (scenario.layout.pp == 1)
            continue;
        ++rates.pipelines;
        const bool isNamed = recovered.schedule && recovered.schedule->kind == scenario.schedule.kind;
        const bool isRecognised = test::isRecognised(recovered.schedule, scenario.schedule.kind);
        rates.named += isNamed ? 1 : 0;
        rates.kinds += isRecognised ? 1 : 0;
        rates.orders += test::isSameOrder(recovered.schedule, simulation->schedule()) ? 1 : 0;
        if (!isRecognised)
            rates.wrong += test::describe(scenario) + "\n   schedule found " +
                           (recovered.schedule ? recovered.schedule->kind + " " + recovered.schedule->evidence : "none") + "\n";
    }
    return rates;
}

TEST(RecoveredJobs, HaveTheGridAndTheScheduleThatTheyWereMadeWith)
{
    const Rates rates = recoverRandom(true, test::tries(200), 20240817);
    RecordProperty("grids", rates.grids);
    RecordProperty("kinds", rates.kinds);
    std::printf("[ rates    ] %d jobs: grid exact %d; %d pipelines: same order %d, kind recognised %d, by its own name %d\n",
                rates.jobs, rates.grids, rates.pipelines, rates.orders, rates.kinds, rates.named);
    EXPECT_EQ(rates.grids, rates.jobs) << rates.wrong;
    // Of two passes that run as one block either may begin first.
    EXPECT_GE(rates.orders * 100, rates.pipelines * 95) << rates.wrong;
    EXPECT_GE(rates.kinds * 100, rates.pipelines * 95) << rates.wrong;
}

TEST(RecoveredJobs, AreFoundWithoutAnnotationsToo)
{
    const Rates rates = recoverRandom(false, test::tries(200), 7);
    std::printf("[ rates    ] without annotations %d jobs: grid exact %d; %d pipelines: kind recognised %d, by its own name %d\n",
                rates.jobs, rates.grids, rates.pipelines, rates.kinds, rates.named);
    EXPECT_EQ(rates.grids, rates.jobs) << rates.wrong;
    // Whom a rank sends to leaves several schedules open; the right one is mostly among them.
    EXPECT_GE(rates.kinds * 10, rates.pipelines * 7) << rates.wrong;
}

TEST(RecoveredJobs, TakeNoMicrobatchForAStep)
{
    // Without data parallelism nothing but the optimizer happens once in a step, and micro-batches exchange the same.
    std::mt19937 random(1);
    int jobs = 0;
    while (jobs < 60) {
        const sim::Scenario scenario = test::randomScenario(random, 32);
        if (scenario.layout.worldSize() < 2 || scenario.layout.pp == 1 || scenario.layout.dp > 1)
            continue;
        ++jobs;
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = sim::simulate(scenario, {.full = true});
        const sim::Recovered recovered = sim::recover(test::recordingOf(*simulation, {.annotations = false}));
        EXPECT_EQ(recovered.steps.steps.size(), 1U) << recovered.steps.evidence;
        EXPECT_EQ(gridText(recovered.axes), gridText(scenario, simulation->mesh()));
    }
}

} // namespace
