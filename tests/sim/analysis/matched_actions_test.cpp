#include "sim/analysis/matched_actions.h"

#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

namespace {

struct Pair {
    std::shared_ptr<const Simulation> a, b;
    Trace traceA, traceB;
    MatchedActions matched;
    Pair(const Scenario& first, const Scenario& second)
        : a(simulate(first)), b(simulate(second)), traceA(a->trace(TraceDetail::actions)), traceB(b->trace(TraceDetail::actions)),
          matched(matchActions(*a, traceA, *b, traceB))
    {
    }
};

Scenario pipeline(const char* kind, int virtualStages = 1, int microbatches = 8)
{
    Scenario scenario = test::smallScenario(1, 4, 1, microbatches);
    scenario.schedule = {.kind = kind, .virtualStages = virtualStages};
    test::resolve(scenario);
    return scenario;
}

std::size_t partners(const MatchedActions::Row& row)
{
    return static_cast<std::size_t>(
        std::count_if(row.ofB.begin(), row.ofB.end(), [](std::int32_t partner) { return partner != MatchedActions::kNone; }));
}

} // namespace

TEST(MatchedActions, OfAStepWithItselfAreAllOfThemInPlace)
{
    const Pair pair(pipeline("1f1b"), pipeline("1f1b"));
    ASSERT_EQ(pair.matched.rows.size(), pair.traceB.processes.size());
    for (const MatchedActions::Row& row : pair.matched.rows) {
        EXPECT_EQ(row.trackA, row.trackB);
        for (std::size_t i = 0; i < row.ofB.size(); ++i)
            EXPECT_EQ(row.ofB[i], static_cast<std::int32_t>(i));
    }
}

TEST(MatchedActions, EachIsThePartnerOfItsPartnerAndTheSameWork)
{
    const Pair pair(pipeline("1f1b"), pipeline("gpipe"));
    for (const MatchedActions::Row& row : pair.matched.rows) {
        const Track &a = pair.traceA.tracks[row.trackA], &b = pair.traceB.tracks[row.trackB];
        EXPECT_EQ(partners(row), b.size()) << "both do the same, in another order";
        for (std::size_t i = 0; i < row.ofB.size(); ++i) {
            const auto partner = static_cast<std::size_t>(row.ofB[i]);
            EXPECT_EQ(row.ofA[partner], static_cast<std::int32_t>(i));
            EXPECT_EQ(a.microbatch[partner], b.microbatch[i]);
            EXPECT_EQ(pair.traceA.kinds[a.kind[partner]].opClass, pair.traceB.kinds[b.kind[i]].opClass);
        }
    }
}

TEST(MatchedActions, AFullBackwardIsTheFirstHalfOfASplitOne)
{
    const Pair pair(pipeline("1f1b"), pipeline("zb-h1"));
    for (const MatchedActions::Row& row : pair.matched.rows) {
        const Track& b = pair.traceB.tracks[row.trackB];
        for (std::size_t i = 0; i < row.ofB.size(); ++i)
            EXPECT_EQ(row.ofB[i] == MatchedActions::kNone, pair.traceB.kinds[b.kind[i]].opClass == OpClass::backwardWeight);
    }
}

TEST(MatchedActions, MicroBatchesThatOnlyOneHasAreAlone)
{
    const Pair pair(pipeline("1f1b", 1, 4), pipeline("1f1b", 1, 8));
    for (const MatchedActions::Row& row : pair.matched.rows)
        EXPECT_EQ(partners(row), row.ofA.size());
}

TEST(MatchedActions, PipelinesOfOtherLengthsHaveNone)
{
    Scenario two = test::smallScenario(1, 2, 2, 8);
    const Pair pair(pipeline("1f1b"), two);
    EXPECT_TRUE(pair.matched.rows.empty());
    EXPECT_EQ(pair.matched.rowOfTrack(0, true), nullptr);
}

TEST(MatchedActions, EveryRowOfBHasItsStageWhateverTellsRanksApart)
{
    Scenario perturbed = test::smallScenario(2, 4, 2, 8);
    perturbed.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 3, .factor = 1.5});
    const Pair pair(test::smallScenario(2, 4, 2, 8), perturbed);
    ASSERT_EQ(pair.matched.rows.size(), pair.traceB.processes.size());
    EXPECT_GT(pair.traceB.processes.size(), pair.traceA.processes.size());
    for (const MatchedActions::Row& row : pair.matched.rows) {
        const auto stageOf = [](const Simulation& simulation, const Trace& trace, std::uint32_t track) {
            return simulation.mesh().coordinates(trace.processes[static_cast<std::size_t>(trace.tracks[track].process)].rank).pp;
        };
        EXPECT_EQ(stageOf(*pair.a, pair.traceA, row.trackA), row.pipelineRank);
        EXPECT_EQ(stageOf(*pair.b, pair.traceB, row.trackB), row.pipelineRank);
    }
}
