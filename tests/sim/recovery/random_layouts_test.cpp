// The simulator's own steps as profilers would have recorded them, with the names of groups removed: the grid must come back, and
// the schedule.
#include "sim/recovery/recover.h"
#include "sim/recovery/recovered_json.h"

#include "tests/support/recorded.h"
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
    int jobs = 0, grids = 0, pipelines = 0, kinds = 0, orders = 0;
    int named = 0; ///< the kind, or among those that are said to be possible too
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
        if (recovered.schedule)
            rates.named += recovered.schedule->kind == scenario.schedule.kind ||
                                   std::count(recovered.schedule->alsoPossible.begin(), recovered.schedule->alsoPossible.end(),
                                              scenario.schedule.kind) > 0
                               ? 1
                               : 0;
        if (recovered.schedule && recovered.schedule->kind == scenario.schedule.kind) {
            ++rates.kinds;
            ++rates.orders;
        } else if (recovered.schedule && recovered.schedule->alike >= 1) {
            ++rates.orders; // another kind's name for the same order
        } else {
            rates.wrong += test::describe(scenario) + "\n   schedule found " +
                           (recovered.schedule ? recovered.schedule->kind + " " + recovered.schedule->evidence : "none") + "\n";
        }
    }
    return rates;
}

TEST(RecoveredJobs, HaveTheGridAndTheScheduleThatTheyWereMadeWith)
{
    const Rates rates = recoverRandom(true, test::tries(200), 20240817);
    RecordProperty("grids", rates.grids);
    RecordProperty("kinds", rates.kinds);
    std::printf("[ rates    ] %d jobs: grid exact %d; %d pipelines: same order %d, kind by name %d, kind among the possible %d\n",
                rates.jobs, rates.grids, rates.pipelines, rates.orders, rates.kinds, rates.named);
    EXPECT_EQ(rates.grids, rates.jobs) << rates.wrong;
    EXPECT_GE(rates.orders, rates.pipelines * 95 / 100) << rates.wrong;
}

TEST(RecoveredJobs, AreFoundWithoutAnnotationsToo)
{
    const Rates rates = recoverRandom(false, test::tries(200), 7);
    std::printf(
        "[ rates    ] without annotations %d jobs: grid exact %d; %d pipelines: kind by name %d, kind among the possible %d\n",
        rates.jobs, rates.grids, rates.pipelines, rates.kinds, rates.named);
    EXPECT_EQ(rates.grids, rates.jobs) << rates.wrong;
    // Whom a rank sends to leaves several schedules open; the right one is mostly among them.
    EXPECT_GE(rates.named, rates.pipelines * 6 / 10) << rates.wrong;
}

} // namespace
