#include "sim/engine/engine.h"

#include "sim/checked.h"
#include "sim/error.h"
#include "sim/legal/schedule_request.h"
#include "sim/scenario/document.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"
#include "tests/sim/engine/world.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace sim;
using test::World;

namespace {

/// Every action a single kernel of the given time, transfers free, the host ahead: the engine then must agree with the schedule's
/// own evaluation.
void flatten(World& world, const PassTimes& times)
{
    world.prices.launches.clear();
    std::vector<double> ofPass(world.program.passes.size(), 0);
    for (std::size_t rank = 0; rank < world.program.ranks.size(); ++rank)
        for (const Step& step : world.program.ranks[rank].steps) {
            if (step.action < 0)
                continue;
            const Action& action = world.schedule.actions[rank][static_cast<std::size_t>(step.action)];
            ofPass[step.pass] = action.kind == ActionKind::forward         ? times.forward
                                : action.kind == ActionKind::backward      ? times.backward()
                                : action.kind == ActionKind::backwardInput ? times.backwardInput
                                                                           : times.backwardWeight;
        }
    for (std::size_t pass = 0; pass < ofPass.size(); ++pass) {
        bool counted = false;
        for (std::size_t i = 0; i < world.program.passes[pass].ops.size(); ++i) {
            const bool counts = world.program.passes[pass].ops[i].kind == OpKind::compute && !std::exchange(counted, true);
            for (OpDurations& durations : world.prices.durations)
                durations[pass][i] = counts ? std::llround(1000 * ofPass[pass]) : 0;
        }
    }
    for (std::int64_t& ns : world.prices.sendNs)
        ns = 0;
}

/// It ends in a circle of waits that can be followed.
template <typename Run>
void expectCircle(Run&& run)
{
    try {
        run();
        FAIL() << "ran";
    } catch (const Deadlock& deadlock) {
        const std::vector<EngineWait>& circle = deadlock.circle();
        ASSERT_GT(circle.size(), 1U) << deadlock.what();
        for (std::size_t i = 0; i < circle.size(); ++i) {
            const EngineWait& next = circle[(i + 1) % circle.size()];
            EXPECT_EQ(circle[i].neededClass, next.classIndex) << deadlock.what();
            EXPECT_EQ(circle[i].neededStep, next.step) << deadlock.what();
            if (circle[i].reason == WaitReason::order) {
                EXPECT_EQ(circle[i].classIndex, circle[i].neededClass);
                EXPECT_LT(circle[i].neededStep, circle[i].step) << "what comes earlier holds up what comes later";
            }
        }
    }
}

} // namespace

TEST(Engine, AgreesWithTheScheduleWhenOnlyThePipelineTakesTime)
{
    constexpr PassTimes kTimes{3, 4, 2, 0};
    for (const ScheduleFamily& family : scheduleFamilies()) {
        if (family.isWrittenOut)
            continue;
        const std::string kind(family.kind);
        for (const int p : {2, 4, 8}) {
            Scenario scenario = test::smallScenario(1, p, 1, 3 * p);
            scenario.schedule = {.kind = kind, .virtualStages = std::max(family.chunks.least, kind == "looped-bfs" ? 2 : 1)};
            scenario.schedule.sequenceSlices = family.cutsSequences() ? 2 : 1;
            scenario.schedule.microbatchGroup = p;
            scenario.model.numHiddenLayers = scenario.layout.pp * scenario.schedule.virtualStages;
            if (family.firstUnmet(pipelineNumbers(scenario)))
                continue;
            test::resolve(scenario);
            World world(scenario);
            flatten(world, kTimes);
            for (auto& actions : world.schedule.actions) // kernels of a block's two passes run one after the other
                for (Action& action : actions)
                    action.overlapsNext = false;
            EXPECT_EQ(world.run().endNs, std::llround(evaluateSchedule(world.schedule, kTimes).makespan * 1000))
                << kind << " " << p;
        }
    }
}

TEST(Engine, HidesExpertCommunicationInBlocks)
{
    Scenario scenario = test::smallScenario(1, 2, 8, 8);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 1024;
    scenario.layout.ep = 8;
    scenario.cluster = test::h100Cluster(16, 1); // the all-to-all crosses the network
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    const World plain(scenario);
    scenario.training.overlap.epComm = true;
    const World blocks(scenario);
    const auto expertCommNs = [](const World& world) {
        std::int64_t sum = 0;
        for (const Step& step : world.program.ranks[0].steps)
            for (std::size_t i = 0; i < world.program.passes[step.pass].ops.size(); ++i)
                if (world.program.passes[step.pass].ops[i].stream == Stream::ep)
                    sum += world.prices.durations[0][step.pass][i];
        return sum;
    };
    EXPECT_EQ(expertCommNs(plain), expertCommNs(blocks)) << "the same all-to-alls";
    const std::int64_t won = plain.run().endNs - blocks.run().endNs;
    EXPECT_GT(won, expertCommNs(plain) / 5);
    EXPECT_LT(won, expertCommNs(plain));
}

TEST(Engine, OneRankRunsItsKernelsBackToBack)
{
    World world(test::smallScenario(1, 1, 1, 2));
    world.prices.launches.clear();
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

TEST(RankClasses, AreNotSplitByJitterOfNothing)
{
    Scenario scenario = test::smallScenario(4, 2, 8, 8);
    const World without(scenario);
    scenario.perturbations.push_back({.kind = PerturbationKind::jitter, .sigma = 0, .seed = 3});
    const World with(scenario);
    EXPECT_EQ(with.classes.count(), without.classes.count());
    EXPECT_EQ(with.run().opEndNs, without.run().opEndNs);
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

TEST(RoleGroups, HaveAsManyMembersAsTheirCommunicatorAndNoneIsEmpty)
{
    std::mt19937 random(33);
    int copies = 0;
    for (int i = 0; i < 60; ++i) {
        Scenario scenario = test::randomScenario(random, 128);
        if (i % 20 == 0) { // two copies of the model in one pipeline
            scenario = test::smallScenario(2, i == 0 ? 2 : 4, 3, 8);
            scenario.schedule.kind = "dualpipe";
            scenario.schedule.virtualStages = 2;
        }
        SCOPED_TRACE(test::describe(scenario));
        const Mesh mesh(scenario.layout);
        for (const CommunicatorRole role :
             {CommunicatorRole::tp, CommunicatorRole::cp, CommunicatorRole::ep, CommunicatorRole::exptTp,
              CommunicatorRole::dpShard, CommunicatorRole::dpReplicate, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate,
              CommunicatorRole::embd, CommunicatorRole::copies, CommunicatorRole::pp}) {
            const int size = communicatorSize(role, scenario);
            if (size <= 1)
                continue;
            copies += role == CommunicatorRole::copies ? 1 : 0;
            const RoleGroups groups = roleGroups(role, mesh, scenario);
            for (int group = 0; group < groups.count(); ++group) {
                const auto first = static_cast<std::size_t>(groups.first[static_cast<std::size_t>(group)]);
                ASSERT_EQ(groups.first[static_cast<std::size_t>(group) + 1] - static_cast<int>(first), size)
                    << communicatorRoleName(role);
                for (std::size_t member = first; member < first + static_cast<std::size_t>(size); ++member)
                    EXPECT_EQ(groups.groupOf[static_cast<std::size_t>(groups.members[member])], group);
            }
            const auto outside = std::count(groups.groupOf.begin(), groups.groupOf.end(), -1);
            EXPECT_EQ(outside, scenario.layout.worldSize() - groups.count() * size) << communicatorRoleName(role);
            EXPECT_TRUE(outside == 0 || role == CommunicatorRole::embd) << communicatorRoleName(role);
        }
    }
    EXPECT_GE(copies, 3);
}

TEST(RoleGroups, ThatLieUnalikeAreCountedByTheTierThatHoldsThem)
{
    Scenario scenario = test::smallScenario();
    scenario.layout.tp = 4;
    scenario.layout.dp = scenario.layout.dpShard = 4;
    scenario.cluster.gpusPerNode = 6;
    scenario.cluster.nodes = 3;
    scenario.cluster.tiers = {{.name = "nvlink", .span = 6}, {.name = "ib", .span = 0}};
    const auto spanOf = [&](CommunicatorRole role) {
        return roleSpan(role, Mesh(scenario.layout), Placement(scenario.layout, scenario.cluster), scenario);
    };
    const RoleSpan tp = spanOf(CommunicatorRole::tp); // 0 … 3, 4 … 7, 8 … 11, 12 … 15
    EXPECT_EQ(tp.ranks, 4);
    EXPECT_EQ(tp.groupsSpanning, (std::vector<int>{3, 1}));
    EXPECT_EQ(tp.groups(), 4);
    EXPECT_EQ(tp.across(), 1);
    EXPECT_EQ(tp.widestTier(), 1);
    EXPECT_EQ(spanOf(CommunicatorRole::dpShard).groupsSpanning, (std::vector<int>{0, 4}));
    EXPECT_EQ(spanOf(CommunicatorRole::cp).groups(), 0) << "nobody has a partner";
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

TEST(Engine, SendsTakeAsLongAsTheTierThatTheyCross)
{
    for (const int tp : {1, 8}) { // two stages side by side, and eight ranks each on a node
        World world(test::smallScenario(tp, 2, 1));
        const std::size_t tier = tp == 1 ? 0 : 1;
        ASSERT_NE(world.prices.sendNs[0], world.prices.sendNs[1]);
        const EngineResult times = world.run();
        std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
        for (int c = 0; c < world.classes.count(); ++c) {
            std::size_t place = times.firstOp[static_cast<std::size_t>(c)];
            const auto rank = static_cast<std::size_t>(world.classes.pipelineRank[static_cast<std::size_t>(c)]);
            for (const Step& step : world.program.ranks[rank].steps)
                for (const Op& op : world.program.passes[step.pass].ops) {
                    if (op.kind == OpKind::receive)
                        shortest = std::min(shortest, times.opEndNs[place] - times.opStartNs[place]);
                    ++place;
                }
        }
        EXPECT_EQ(shortest, world.prices.sendNs[tier]) << "tp " << tp;
    }
}

TEST(Engine, ASlowGpuHoldsUpItsTensorParallelGroup)
{
    Scenario scenario = test::smallScenario(8, 1, 1, 4);
    const std::int64_t even = World(scenario).run().endNs;
    scenario.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 3, .factor = 2});
    const std::int64_t uneven = World(scenario).run().endNs;
    EXPECT_GT(uneven, even * 9 / 8);
    EXPECT_LT(uneven, even * 2);
}

TEST(Engine, ASlowLinkMakesCollectivesOfItsGroupLonger)
{
    Scenario scenario = test::smallScenario(8, 1, 1, 4);
    World even(scenario);
    const EngineResult before = even.run();
    scenario.perturbations.push_back({.kind = PerturbationKind::slowLink, .rank = 3, .factor = 3});
    World uneven(scenario);
    const EngineResult after = uneven.run();
    std::int64_t once = 0, thrice = 0;
    const auto collectives = [](const World& world, const EngineResult& result) {
        std::int64_t ns = 0;
        std::size_t place = 0; // of the first class
        for (const Step& step : world.program.ranks[0].steps)
            for (const Op& op : world.program.passes[step.pass].ops) {
                if (op.kind == OpKind::collective)
                    ns += result.opEndNs[place] - result.opStartNs[place];
                ++place;
            }
        return ns;
    };
    once = collectives(even, before);
    thrice = collectives(uneven, after);
    EXPECT_NEAR(static_cast<double>(thrice), 3.0 * static_cast<double>(once), 0.2 * static_cast<double>(once));
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

TEST(Engine, JitterOfKernelsIsNormalWithItsDeviation)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 16);
    constexpr double kSigma = 0.01;
    scenario.perturbations.push_back({.kind = PerturbationKind::jitter, .sigma = kSigma, .seed = 7});
    World world(scenario);
    world.prices.launches.clear(); // which have none
    const EngineResult times = world.run();
    double count = 0, mean = 0, square = 0, beyond = 0;
    std::size_t place = 0;
    for (const Step& step : world.program.ranks[0].steps)
        for (std::size_t i = 0; i < world.program.passes[step.pass].ops.size(); ++i, ++place)
            if (const std::int64_t price = world.prices.durations[0][step.pass][i]; price > 10'000) { // a nanosecond is little
                const double z =
                    (static_cast<double>(times.opEndNs[place] - times.opStartNs[place]) / static_cast<double>(price) - 1) /
                    kSigma;
                mean += z;
                square += z * z;
                beyond += std::abs(z) > 1 ? 1 : 0;
                ++count;
            }
    ASSERT_GT(count, 1000);
    const double error = 1 / std::sqrt(count);
    EXPECT_NEAR(mean / count, 0, 4 * error);
    EXPECT_NEAR(std::sqrt(square / count), 1, 4 * error);
    EXPECT_NEAR(beyond / count, 0.3173, 4 * error) << "as many as of a normal distribution";
}

TEST(Engine, AScheduleThatCannotRunSaysWhoWaitsForWhom)
{
    Scenario scenario = test::smallScenario(1, 2, 1, 2);
    World world(scenario);
    auto& row = world.schedule.actions[0];
    std::swap(row.front(), row.back()); // rank 0 wants its last backward before its first forward
    world.program = lowerProgram(scenario, world.schedule);
    world.prices = priceProgram(scenario, world.program, world.classes);
    try {
        world.run();
        FAIL() << "ran";
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("rank 0"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("waits for pipeline rank 1"), std::string::npos) << error.what();
    }
    expectCircle([&] { world.run(); });
}

TEST(Engine, AMessageBeginsWhenItIsMadeAndItsReceivePosted)
{
    World world(test::smallScenario(1, 2, 1, 4));
    world.postReceives(0);
    const EngineResult times = world.run();
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> sent(2), posted(2); // [receiver], by slot
    std::int64_t receives = 0;
    for (int c = 0; c < 2; ++c) {
        std::size_t place = times.firstOp[static_cast<std::size_t>(c)];
        const auto me = static_cast<std::size_t>(c);
        sent[1 - me].resize(static_cast<std::size_t>(world.program.ranks[1 - me].slots));
        posted[me].resize(static_cast<std::size_t>(world.program.ranks[me].slots));
        std::int64_t kernelEnd = 0, lastKernelStart = 0, lastPost = 0;
        for (const Step& step : world.program.ranks[me].steps)
            for (const Op& op : world.program.passes[step.pass].ops) {
                const std::pair<std::int64_t, std::int64_t> span{times.opStartNs[place], times.opEndNs[place]};
                if (op.kind == OpKind::send) {
                    sent[1 - me][static_cast<std::size_t>(step.sendSlot)] = span;
                    EXPECT_GE(span.first, kernelEnd);
                } else if (op.kind == OpKind::post) {
                    posted[me][static_cast<std::size_t>(step.receiveSlot)] = span;
                    EXPECT_GE(span.first, lastKernelStart) << "not before its pass is issued";
                    EXPECT_GE(span.first, lastPost) << "in order";
                    lastPost = span.second;
                    ++receives;
                } else if (op.kind == OpKind::compute) {
                    lastKernelStart = span.first;
                    kernelEnd = span.second;
                }
                ++place;
            }
    }
    EXPECT_EQ(receives, 8);
    EXPECT_EQ(sent, posted) << "both ends of a message are the same";
    Scenario slow = test::smallScenario(1, 4, 1, 8);
    slow.perturbations = {{.kind = PerturbationKind::slowLink, .rank = 3, .factor = 30},
                          {.kind = PerturbationKind::slowGpu, .rank = 3, .factor = 2}}; // for which messages lie ready
    World late(slow);
    const std::int64_t fetchedAhead = late.run().endNs;
    late.postReceives(0);
    EXPECT_GT(late.run().endNs, fetchedAhead);
}

TEST(Engine, FoldedIsFullWhereSendsWaitForTheirReceivers)
{
    std::mt19937 random(31);
    int hung = 0, ran = 0;
    for (int i = 0; i < 70; ++i) {
        Scenario scenario = test::randomScenario(random, 48);
        if (scenario.layout.pp == 1)
            continue;
        if (i % 4 == 0)
            scenario.perturbations = {
                {.kind = PerturbationKind::slowLink, .rank = scenario.layout.worldSize() / 2, .factor = 1.7}};
        if (i % 4 == 1)
            scenario.perturbations = {{.kind = PerturbationKind::jitter, .rank = 0, .sigma = 0.05, .seed = 5}};
        scenario.cluster.efficiency.besideTransfers = i % 3 == 0 ? 1.15 : 1;
        scenario.cluster.efficiency.network = i % 2 == 0 ? 0.1 : 0.8;
        SCOPED_TRACE(test::describe(scenario));
        World folded(scenario), full(scenario, true);
        const std::size_t ahead = random() % 4;
        folded.postReceives(ahead);
        full.postReceives(ahead);
        EngineResult a;
        try {
            a = folded.run();
        } catch (const Deadlock&) {
            ++hung;
            expectCircle([&] { folded.run(); });
            expectCircle([&] { full.run(); });
            continue;
        }
        ++ran;
        const EngineResult b = full.run();
        ASSERT_EQ(a.endNs, b.endNs);
        for (std::size_t rank = 0; rank < full.classes.classOf.size(); ++rank) {
            const auto c = static_cast<std::size_t>(folded.classes.classOf[rank]);
            for (std::size_t op = 0; op < a.firstOp[c + 1] - a.firstOp[c]; ++op) {
                ASSERT_EQ(a.opStartNs[a.firstOp[c] + op], b.opStartNs[b.firstOp[rank] + op]) << "rank " << rank << " op " << op;
                ASSERT_EQ(a.opEndNs[a.firstOp[c] + op], b.opEndNs[b.firstOp[rank] + op]) << "rank " << rank << " op " << op;
            }
        }
    }
    EXPECT_GT(hung, 2);
    EXPECT_GT(ran, 15);
}

TEST(Engine, AStepIsAsWithoutFailures)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    const World without(scenario);
    scenario.perturbations.push_back({.kind = PerturbationKind::failure});
    const World with(scenario);
    EXPECT_EQ(with.run().opEndNs, without.run().opEndNs);
    EXPECT_EQ(with.classes.classOf, without.classes.classOf) << "no rank differs by it";
}

TEST(RankClasses, OfALongPipelineKnowTheirNeighboursAndNoOthers)
{
    Scenario scenario = test::smallScenario(1, 256, 8, 256);
    scenario.model.numHiddenLayers = 256;
    scenario.schedule.layersPerStage.clear();
    test::resolve(scenario);
    const World world(scenario, true);
    ASSERT_EQ(world.classes.count(), 2048);
    for (int c = 0; c < world.classes.count(); ++c) {
        EXPECT_LE(world.classes.pipelinePeers[static_cast<std::size_t>(c)].size(), 2U);
        for (const PipelinePeer& peer : world.classes.pipelinePeers[static_cast<std::size_t>(c)]) {
            EXPECT_EQ(world.classes.pipelineRank[static_cast<std::size_t>(peer.classIndex)], peer.pipelineRank);
            EXPECT_EQ(peer.tier, world.placement.tierBetween(c, peer.classIndex)) << "a class a rank: the same numbers";
        }
    }
}

TEST(Engine, JitterMakesNoKernelFasterThanThePeaksOfItsGpu)
{
    Scenario scenario = test::smallScenario(1, 2, 2);
    scenario.cluster.efficiency.launchUs = 0;
    scenario.perturbations = {{.kind = PerturbationKind::jitter, .sigma = 1, .seed = 4}};
    World world(scenario);
    world.prices.launches.clear();
    const CostModel cost(scenario);
    const EngineResult result = world.run();
    int atThePeak = 0;
    for (int c = 0; c < world.classes.count(); ++c) {
        std::size_t place = result.firstOp[static_cast<std::size_t>(c)];
        const int pipelineRank = world.classes.pipelineRank[static_cast<std::size_t>(c)];
        for (const Step& step : world.program.ranks[static_cast<std::size_t>(pipelineRank)].steps)
            for (std::size_t i = 0; i < world.program.passes[step.pass].ops.size(); ++i, ++place) {
                const Pass& pass = world.program.passes[step.pass];
                if (pass.ops[i].kind != OpKind::compute)
                    continue;
                const std::int64_t fastest = cost.fastestNs(pass.shapes[i]);
                EXPECT_GE(result.opEndNs[place] - result.opStartNs[place], fastest);
                atThePeak += result.opEndNs[place] - result.opStartNs[place] == fastest ? 1 : 0;
            }
    }
    EXPECT_GT(atThePeak, 100);
}

TEST(Engine, RefusesWhatAddsUpBeyondTheTimesThatAreCounted)
{
    Scenario scenario = test::smallScenario(1, 2, 2);
    const auto problemOf = [&] {
        try {
            const World world(scenario);
        } catch (const ScenarioError& error) {
            return error.problems().front();
        }
        return Problem{};
    };
    scenario.perturbations = {{.kind = PerturbationKind::slowLink, .rank = 0, .factor = 1e15}};
    EXPECT_EQ(problemOf().pointer, "/training/sequence_length") << "one micro-batch is too long already";
    scenario.perturbations.front().factor = 1e6;
    EXPECT_GT(World(scenario).run().endNs, 0);
    scenario.perturbations = {{.kind = PerturbationKind::slowGpu, .rank = 0, .factor = 1e9}};
    while (problemOf().pointer.empty())
        scenario.perturbations.front().factor *= 2;
    scenario.perturbations.front().factor /= 4; // far from too long
    EXPECT_EQ(problemOf().pointer, "");
    scenario.cluster.efficiency.besideTransfers = 10;
    EXPECT_NE(problemOf().pointer, "") << "ten times as long beside transfers";
    scenario.cluster.efficiency.besideTransfers = 1;
    scenario.perturbations = {{.kind = PerturbationKind::slowLink, .rank = 0, .factor = 1e6}};
    // The nearest batch is the largest that is counted, but for what comes once.
    scenario.training.globalBatchSize = 1 << 20;
    scenario.perturbations.front().factor = 1e8;
    const Problem problem = problemOf();
    EXPECT_EQ(problem.pointer, "/training/global_batch_size");
    const std::size_t at = problem.message.find("nearest: ");
    ASSERT_NE(at, std::string::npos) << problem.message;
    const int nearest = std::stoi(problem.message.substr(at + 9));
    scenario.training.globalBatchSize = nearest;
    EXPECT_EQ(problemOf().message, "");
    scenario.training.globalBatchSize = nearest + nearest / 50 * 2;
    EXPECT_EQ(problemOf().pointer, "/training/global_batch_size");
}
