// The simulator's own steps as profilers would have recorded them, with the names of groups removed: the grid must come back, and
// the schedule.
#include "sim/recovery/recover.h"
#include "sim/recovery/recovered_json.h"
#include "sim/schedule/families/families.h"

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

/// Kernels whose names tell nothing: forwards from backwards only by who launched them, if at all.
void anonymise(sim::Recording& recording, bool keepsLaunchers)
{
    sim::NameTable names;
    std::vector<std::uint32_t> nameOf;
    for (std::uint32_t i = 0; i < recording.names.size(); ++i) {
        const std::string& name = recording.names[i];
        const bool isGradient = name.find("backward") != std::string::npos || name.find("grad") != std::string::npos;
        const bool isKernel = name.find('.') != std::string::npos;
        nameOf.push_back(names.add(!isKernel ? name : keepsLaunchers && isGradient ? "elementwise_backward" : "gemm"));
    }
    for (sim::RankRecording& rank : recording.ranks) {
        for (std::uint32_t& name : rank.spans.name.own())
            name = nameOf[name];
        for (sim::RecordedCollective& collective : rank.collectives) {
            collective.name = nameOf[collective.name];
            collective.dtype = nameOf[collective.dtype];
        }
    }
    recording.names = std::move(names);
}

TEST(UnannotatedPasses, AreToldBySendsAloneWhereKernelsTellNothingAndBetterWhereTheyDo)
{
    sim::Scenario scenario = test::smallScenario(1, 4, 1, 8);
    scenario.schedule.kind = "zb-h1";
    const sim::Recording recording = test::recordingOf(*sim::simulate(scenario, {.full = true}), {.annotations = false});
    const auto found = [](const sim::Recording& of) { return sim::recover(of).schedule.value(); };
    const sim::RecoveredSchedule named = found(recording);
    EXPECT_EQ(named.kind, "zb-h1") << named.evidence;
    EXPECT_EQ(named.alike, 1) << named.evidence;
    for (const char* other : {"1f1b", "gpipe", "zb-h2"}) // which send in the same order
        EXPECT_THAT(named.alsoPossible, testing::Not(testing::Contains(other))) << named.evidence;
    EXPECT_THAT(named.evidence, testing::HasSubstr("forwards, gradients and weight gradients"));

    // As torch records: what is backward is known, and not what of it is for weights.
    sim::Recording launched = test::recordingOf(*sim::simulate(scenario, {.full = true}), {.annotations = false});
    anonymise(launched, true);
    const sim::RecoveredSchedule halfNamed = found(launched);
    EXPECT_THAT(halfNamed.evidence, testing::HasSubstr("compute forwards and gradients"));
    EXPECT_TRUE(halfNamed.kind == "zb-h1" || testing::Value(halfNamed.alsoPossible, testing::Contains("zb-h1")))
        << halfNamed.evidence;

    sim::Recording bare = test::recordingOf(*sim::simulate(scenario, {.full = true}), {.annotations = false});
    anonymise(bare, false);
    const sim::RecoveredSchedule guessed = found(bare);
    EXPECT_THAT(guessed.evidence, testing::HasSubstr("ranks send to their neighbours in the order of"));
    EXPECT_TRUE(guessed.kind == "zb-h1" || testing::Value(guessed.alsoPossible, testing::Contains("zb-h1"))) << guessed.evidence;
    EXPECT_FALSE(guessed.alsoPossible.empty());
    EXPECT_LE(guessed.sure, halfNamed.sure);
    EXPECT_LT(halfNamed.sure, named.sure + 1e-9);
}

/// Beside the annotations of the same run: of passes that were found without them, how many are those.
TEST(UnannotatedPasses, AreThoseThatAnnotationsWouldHaveNamed)
{
    int plain = 0, recomputed = 0;
    for (const char* kind : {"1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zb-v", "v-half"})
        for (const bool recomputes : {false, true}) {
            SCOPED_TRACE(std::string(kind) + (recomputes ? " recomputes" : ""));
            sim::Scenario scenario = test::smallScenario(2, 4, 1, 8);
            scenario.schedule.kind = kind;
            scenario.schedule.virtualStages = sim::scheduleFamily(kind).chunks.holds(1) ? 1 : 2;
            scenario.schedule.layersPerStage.clear();
            scenario.training.recompute = recomputes ? sim::Recompute::full : sim::Recompute::none;
            test::resolve(scenario);
            const auto simulation = sim::simulate(scenario, {.full = true});
            const sim::Recovered told = sim::recover(test::recordingOf(*simulation)),
                                 found = sim::recover(test::recordingOf(*simulation, {.annotations = false}));
            ASSERT_TRUE(found.schedule);
            if (recomputes && found.schedule->alike < 1)
                continue; // then none are claimed
            ++(recomputes ? recomputed : plain);
            EXPECT_EQ(found.schedule->kind, kind) << found.schedule->evidence;
            EXPECT_THAT(found.passes.evidence, testing::StartsWith("no annotations"));
            EXPECT_LT(found.passes.sure, told.passes.sure);
            std::size_t all = 0, same = 0, near = 0;
            for (std::size_t r = 0; r < told.passes.ranks.size(); ++r) {
                ASSERT_EQ(found.passes.ranks[r].size(), told.passes.ranks[r].size());
                for (std::size_t i = 0; i < told.passes.ranks[r].size(); ++i) {
                    const sim::RecoveredPass &a = told.passes.ranks[r][i], &b = found.passes.ranks[r][i];
                    ++all;
                    same += a.action == b.action ? 1 : 0;
                    const std::int64_t apart = std::abs(a.startNs - b.startNs) + std::abs(a.endNs - b.endNs);
                    near += apart * 10 <= a.endNs - a.startNs ? 1 : 0;
                }
            }
            EXPECT_EQ(same, all);
            EXPECT_GE(near * 100, all * (recomputes ? 60 : 95)) << near << " of " << all;
        }
    EXPECT_EQ(plain, 6);
    EXPECT_GE(recomputed, 3);
}

TEST(UnannotatedPasses, AreNotClaimedWhereAWholeBackwardRunsRightBesideOneOfItsHalves)
{
    sim::Scenario scenario = test::smallScenario(1, 4, 1, 8);
    scenario.schedule.kind = "dualpipe-v";
    scenario.schedule.virtualStages = 2;
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    const auto simulation = sim::simulate(scenario, {.full = true});
    const sim::Recovered told = sim::recover(test::recordingOf(*simulation)),
                         found = sim::recover(test::recordingOf(*simulation, {.annotations = false}));
    for (std::size_t r = 0; r < told.passes.ranks.size(); ++r)
        if (!found.passes.ranks[r].empty()) {
            EXPECT_EQ(found.passes.ranks[r].size(), told.passes.ranks[r].size()) << "none is lost";
        }
}

struct Rates {
    int jobs = 0, grids = 0, pipelines = 0;
    int named = 0;  ///< of its kind's own name
    int right = 0;  ///< isNamedRight()
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
        const bool isRight = test::isNamedRight(recovered.schedule, *simulation);
        rates.named += isNamed ? 1 : 0;
        rates.right += isRight ? 1 : 0;
        rates.kinds += isRecognised ? 1 : 0;
        rates.orders += test::isSameOrder(recovered.schedule, simulation->schedule()) ? 1 : 0;
        if (!isRight || !isRecognised)
            rates.wrong += test::describe(scenario) + "\n   schedule found " +
                           (recovered.schedule ? recovered.schedule->kind + " " + recovered.schedule->evidence : "none") + "\n";
    }
    return rates;
}

TEST(RecoveredJobs, HaveTheGridAndTheScheduleThatTheyWereMadeWith)
{
    const Rates rates = recoverRandom(true, test::tries(200), test::seed(20240817));
    RecordProperty("grids", rates.grids);
    RecordProperty("kinds", rates.kinds);
    std::printf("[ rates    ] %d jobs: grid exact %d; %d pipelines: same order %d, kind right %d, among those said %d, by its "
                "own name %d\n",
                rates.jobs, rates.grids, rates.pipelines, rates.orders, rates.right, rates.kinds, rates.named);
    EXPECT_EQ(rates.grids, rates.jobs) << rates.wrong;
    // Of two passes that run as one block either may begin first.
    EXPECT_GE(rates.orders * 100, rates.pipelines * 95) << rates.wrong;
    EXPECT_GE(rates.right * 100, rates.pipelines * 95) << rates.wrong;
    EXPECT_GE(rates.kinds * 100, rates.pipelines * 95) << rates.wrong;
}

TEST(RecoveredJobs, AreFoundWithoutAnnotationsToo)
{
    const Rates rates = recoverRandom(false, test::tries(200), test::seed(7));
    std::printf(
        "[ rates    ] without annotations %d jobs: grid exact %d; %d pipelines: kind right %d, among those said %d, by its own "
        "name %d\n",
        rates.jobs, rates.grids, rates.pipelines, rates.right, rates.kinds, rates.named);
    EXPECT_EQ(rates.grids, rates.jobs) << rates.wrong;
    EXPECT_GE(rates.right * 100, rates.pipelines * 95) << rates.wrong;
    EXPECT_GE(rates.kinds * 100, rates.pipelines * 95) << rates.wrong;
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
