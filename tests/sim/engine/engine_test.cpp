#include "sim/engine/engine.h"

#include "sim/error.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

using namespace sim;

namespace {

struct World {
    explicit World(const Scenario& s, bool full = false)
        : scenario(s), mesh(s.layout), placement(s.layout, s.cluster),
          schedule(makeSchedule({.kind = s.schedule.kind,
                                 .ranks = s.layout.pp,
                                 .virtualStages = s.schedule.virtualStages,
                                 .microbatches = s.microbatches(),
                                 .microbatchGroup = s.schedule.microbatchGroup})),
          program(lowerProgram(s, schedule)), classes(makeRankClasses(s, mesh, placement, schedule, full)),
          prices(priceProgram(CostModel(s), program, classes))
    {
    }
    EngineResult run() const { return runEngine(program, classes, prices); }

    Scenario scenario;
    Mesh mesh;
    Placement placement;
    Schedule schedule;
    Program program;
    RankClasses classes;
    PricedProgram prices;
};

/// Every pass a single kernel of the given time, transfers free: the engine then must agree with the schedule's own evaluation.
void flatten(World& world, std::int64_t forward, std::int64_t backward)
{
    for (Pass& pass : world.program.passes) {
        bool first = true;
        for (std::size_t i = 0; i < pass.ops.size(); ++i) {
            const std::size_t index = static_cast<std::size_t>(&pass - world.program.passes.data());
            const Op& op = pass.ops[i];
            const bool counts = op.kind == OpKind::compute && op.purpose != OpPurpose::optimizer &&
                                std::exchange(first, first && op.kind != OpKind::compute);
            for (OpDurations& durations : world.prices.durations)
                durations[index][i] = counts ? (op.purpose == OpPurpose::forward ? forward : backward) : 0;
        }
    }
    for (std::int64_t& ns : world.prices.sendNs)
        ns = 0;
}

} // namespace

TEST(Engine, AgreesWithTheScheduleWhenOnlyThePipelineTakesTime)
{
    struct Case {
        const char* kind;
        int p, v, m;
    };
    for (const Case& c : {Case{"gpipe", 4, 1, 8}, Case{"1f1b", 4, 1, 8}, Case{"1f1b", 8, 1, 4}, Case{"interleaved-1f1b", 4, 2, 8},
                          Case{"looped-bfs", 4, 2, 8}}) {
        Scenario scenario = test::smallScenario(1, c.p, 1, c.m);
        scenario.model.numHiddenLayers = c.p * c.v;
        scenario.schedule = {.kind = c.kind, .virtualStages = c.v};
        test::resolve(scenario);
        World world(scenario);
        flatten(world, 1000, 2000);
        const ScheduleTimes times = evaluateSchedule(world.schedule, {.forward = 1, .backwardInput = 1, .backwardWeight = 1});
        EXPECT_EQ(world.run().endNs, std::llround(times.makespan * 1000)) << c.kind;
    }
}

TEST(Engine, OneRankRunsItsKernelsBackToBack)
{
    const World world(test::smallScenario(1, 1, 1, 2));
    const EngineResult result = world.run();
    std::int64_t sum = 0;
    for (const Step& step : world.program.ranks[0].steps)
        for (std::size_t i = 0; i < world.program.passes[step.pass].ops.size(); ++i)
            sum += world.prices.durations[0][step.pass][i];
    EXPECT_EQ(result.endNs, sum);
}

TEST(RankClasses, OfARegularJobAreItsPipelineRanks)
{
    Scenario scenario = test::smallScenario(8, 4, 16, 8);
    const World world(scenario);
    EXPECT_EQ(world.classes.count(), 4);
    for (int c = 0; c < 4; ++c)
        EXPECT_EQ(world.classes.size[static_cast<std::size_t>(c)], 128);
}

TEST(RankClasses, APerturbationSplitsOnlyWhatItTouches)
{
    Scenario scenario = test::smallScenario(4, 2, 8, 8);
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 5, .factor = 1.5});
    const World world(scenario);
    EXPECT_GT(world.classes.count(), 2);
    EXPECT_LE(world.classes.count(), 16);
    EXPECT_EQ(world.classes.size[static_cast<std::size_t>(world.classes.classOf[5])], 1);
}

TEST(RankClasses, CoverEveryRankOnce)
{
    std::mt19937 random(3);
    for (int i = 0; i < 30; ++i) {
        const World world(test::randomScenario(random, 128));
        std::vector<int> size(static_cast<std::size_t>(world.classes.count()), 0);
        for (std::size_t rank = 0; rank < world.classes.classOf.size(); ++rank) {
            const auto c = static_cast<std::size_t>(world.classes.classOf[rank]);
            ++size[c];
            EXPECT_LE(world.classes.representative[c], static_cast<int>(rank));
        }
        EXPECT_EQ(size, world.classes.size);
    }
}

TEST(Engine, FoldedTimesAreTheFullOnesForEveryRankAndOp)
{
    std::mt19937 random(4);
    for (int i = 0; i < 60; ++i) {
        const Scenario scenario = test::randomScenario(random, i % 10 == 0 ? 512 : 96);
        SCOPED_TRACE(test::describe(scenario));
        const World folded(scenario), full(scenario, true);
        const EngineResult a = folded.run(), b = full.run();
        ASSERT_EQ(a.endNs, b.endNs);
        for (int rank = 0; rank < scenario.layout.worldSize(); ++rank) {
            const auto c = static_cast<std::size_t>(folded.classes.classOf[static_cast<std::size_t>(rank)]);
            const auto r = static_cast<std::size_t>(rank);
            const std::size_t count = a.firstOp[c + 1] - a.firstOp[c];
            ASSERT_EQ(count, b.firstOp[r + 1] - b.firstOp[r]);
            for (std::size_t op = 0; op < count; ++op) {
                ASSERT_EQ(a.opStartNs[a.firstOp[c] + op], b.opStartNs[b.firstOp[r] + op]) << "rank " << rank << " op " << op;
                ASSERT_EQ(a.opEndNs[a.firstOp[c] + op], b.opEndNs[b.firstOp[r] + op]) << "rank " << rank << " op " << op;
            }
            ASSERT_EQ(a.memory[c].activations, b.memory[r].activations);
            ASSERT_EQ(a.memory[c].buffers, b.memory[r].buffers);
        }
    }
}

TEST(Engine, OpsOfAStreamNeverOverlapAndCollectivesEndTogether)
{
    std::mt19937 random(5);
    for (int i = 0; i < 20; ++i) {
        const World world(test::randomScenario(random, 64), true);
        const EngineResult result = world.run();
        for (int c = 0; c < world.classes.count(); ++c) {
            std::size_t place = result.firstOp[static_cast<std::size_t>(c)];
            std::array<std::int64_t, kStreamCount> tail{};
            for (const Step& step :
                 world.program.ranks[static_cast<std::size_t>(world.classes.pipelineRank[static_cast<std::size_t>(c)])].steps)
                for (const Op& op : world.program.passes[step.pass].ops) {
                    if (op.kind != OpKind::receive) {
                        EXPECT_GE(result.opStartNs[place], tail[static_cast<std::size_t>(op.stream)]);
                    }
                    EXPECT_GE(result.opEndNs[place], result.opStartNs[place]);
                    tail[static_cast<std::size_t>(op.stream)] = result.opEndNs[place];
                    ++place;
                }
        }
    }
}

TEST(Engine, ASlowGpuHoldsUpItsTensorParallelGroup)
{
    Scenario scenario = test::smallScenario(8, 1, 1, 4);
    const std::int64_t even = World(scenario).run().endNs;
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 3, .factor = 2});
    const std::int64_t uneven = World(scenario).run().endNs;
    EXPECT_GT(uneven, even * 5 / 4);
    EXPECT_LT(uneven, even * 2);
}

TEST(Engine, JitterIsTheSameOnEveryRun)
{
    Scenario scenario = test::smallScenario(2, 2, 2, 4);
    scenario.perturbations.push_back({.kind = PerturbationKind::jitter, .sigma = 0.05, .seed = 7});
    const World world(scenario);
    EXPECT_EQ(world.classes.count(), 8);
    EXPECT_EQ(world.run().opEndNs, World(scenario).run().opEndNs);
    scenario.perturbations[0].seed = 8;
    EXPECT_NE(world.run().opEndNs, World(scenario).run().opEndNs);
}

TEST(Engine, AScheduleThatCannotRunSaysWhoWaitsForWhom)
{
    Scenario scenario = test::smallScenario(1, 2, 1, 2);
    World world(scenario);
    auto& row = world.schedule.actions[0];
    std::swap(row.front(), row.back()); // rank 0 wants its last backward before its first forward
    world.program = lowerProgram(scenario, world.schedule);
    world.prices = priceProgram(CostModel(scenario), world.program, world.classes);
    try {
        world.run();
        FAIL() << "ran";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("waits for pipeline rank 1"), std::string::npos) << error.what();
    }
}

TEST(Engine, FailuresAreRefusedPlainly)
{
    Scenario scenario = test::smallScenario();
    scenario.perturbations.push_back({.kind = PerturbationKind::failure, .rank = 0});
    EXPECT_THROW(World{scenario}, Error);
}
