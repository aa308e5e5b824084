#include "sim/engine/engine.h"

#include "tests/sim/engine/world.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>
#include <vector>

using namespace sim;
using test::apart;
using test::World;

namespace {

/// One rank whose ops are written down, with their times and what they take of its network port.
struct HandMade {
    struct Line {
        OpKind kind;
        Stream stream;
        StreamMask waits;
        std::int64_t ns;
        double use = 0;
    };
    explicit HandMade(const std::vector<Line>& lines)
    {
        program.labels = {""};
        program.ranks.emplace_back();
        classes.classOf = {0};
        classes.representative = {0};
        classes.size = {1};
        classes.pipelineRank = {0};
        classes.slowdown.resize(1);
        classes.geometry = {0};
        classes.geometries.resize(1);
        classes.pipelinePeers.resize(1);
        classes.groups.resize(1);
        classes.groups[0].fill(-1);
        for (const CommunicatorRole role :
             {CommunicatorRole::dpShard, CommunicatorRole::cp, CommunicatorRole::tp, CommunicatorRole::ep}) {
            classes.groups[0][static_cast<std::size_t>(role)] = static_cast<int>(classes.classGroups.size());
            classes.classGroups.push_back({.classes = {0}});
        }
        prices.durations.resize(1);
        prices.uses.resize(1);
        then(lines);
    }
    /// One more pass.
    void then(const std::vector<Line>& lines)
    {
        Pass pass;
        std::vector<std::int64_t> durations;
        std::vector<PortUse> uses;
        for (const Line& line : lines) {
            const CommunicatorRole group = line.stream == Stream::dp   ? CommunicatorRole::dpShard
                                           : line.stream == Stream::cp ? CommunicatorRole::cp
                                           : line.stream == Stream::tp ? CommunicatorRole::tp
                                           : line.stream == Stream::ep ? CommunicatorRole::ep
                                                                       : CommunicatorRole::none;
            pass.ops.push_back({.kind = line.kind, .stream = line.stream, .waits = line.waits, .group = group});
            pass.shapes.emplace_back();
            durations.push_back(line.ns);
            uses.push_back({});
            uses.back()[static_cast<std::size_t>(Port::network)] = static_cast<std::uint32_t>(line.use * kWholePort);
        }
        RankProgram& rank = program.ranks.front();
        rank.steps.push_back({.pass = static_cast<std::uint32_t>(program.passes.size())});
        rank.opCount += static_cast<std::int64_t>(lines.size());
        program.passes.push_back(std::move(pass));
        prices.durations[0].push_back(std::move(durations));
        prices.uses[0].push_back(std::move(uses));
    }
    EngineResult run() const { return runEngine(program, classes, prices); }
    Program program;
    RankClasses classes;
    PricedProgram prices;
};

constexpr auto kCollective = OpKind::collective;
constexpr auto kCompute = OpKind::compute;

/// Two ranks that exchange messages and have a group for data parallelism, and each one of its own for context parallelism.
struct TwoRanks {
    TwoRanks()
    {
        program.labels = {""};
        program.ranks.resize(2);
        classes.classOf = classes.representative = classes.pipelineRank = {0, 1};
        classes.size = {1, 1};
        classes.geometry = {0, 0};
        classes.geometries.resize(1);
        classes.slowdown.resize(2);
        classes.pipelinePeers = {{{.pipelineRank = 1, .classIndex = 1}}, {{.pipelineRank = 0, .classIndex = 0}}};
        classes.classGroups = {{.classes = {0, 1}}, {.classes = {0}}, {.classes = {1}}};
        classes.groups.resize(2);
        for (std::size_t rank = 0; rank < 2; ++rank) {
            program.ranks[rank].slots = 1;
            classes.groups[rank].fill(-1);
            classes.groups[rank][static_cast<std::size_t>(CommunicatorRole::dpShard)] = 0;
            classes.groups[rank][static_cast<std::size_t>(CommunicatorRole::cp)] = 1 + static_cast<int>(rank);
        }
        prices.durations.resize(1);
        prices.uses.resize(1);
        prices.sendNs = {0}; // each says its own
        prices.sendUse.resize(1);
        prices.sendUse[0][static_cast<std::size_t>(Port::network)] = kWholePort;
    }
    void then(std::size_t rank, const std::vector<HandMade::Line>& lines)
    {
        Step step{.pass = static_cast<std::uint32_t>(program.passes.size())};
        const int other = rank == 0 ? 1 : 0;
        Pass pass;
        std::vector<std::int64_t> durations;
        std::vector<PortUse> uses(lines.size());
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const HandMade::Line& line = lines[i];
            const bool isCollective = line.kind == OpKind::collective;
            pass.ops.push_back({.kind = line.kind,
                                .stream = line.stream,
                                .waits = line.waits,
                                .group = !isCollective               ? CommunicatorRole::none
                                         : line.stream == Stream::dp ? CommunicatorRole::dpShard
                                                                     : CommunicatorRole::cp});
            durations.push_back(line.ns);
            uses[i][static_cast<std::size_t>(Port::network)] = static_cast<std::uint32_t>(line.use * kWholePort);
            if (line.kind == OpKind::send)
                step.sendTo = other, step.sendSlot = 0;
            if (line.kind == OpKind::receive)
                step.receiveFrom = other, step.receiveSlot = 0;
        }
        pass.shapes.resize(lines.size());
        program.ranks[rank].steps.push_back(step);
        program.ranks[rank].opCount += static_cast<std::int64_t>(lines.size());
        program.passes.push_back(std::move(pass));
        prices.durations[0].push_back(std::move(durations));
        prices.uses[0].push_back(std::move(uses));
    }
    /// A rank's ops, in the order in which they were written down.
    std::vector<std::int64_t> ends(std::size_t rank) const
    {
        const EngineResult times = runEngine(program, classes, prices);
        return {times.opEndNs.begin() + static_cast<std::ptrdiff_t>(times.firstOp[rank]),
                times.opEndNs.begin() + static_cast<std::ptrdiff_t>(times.firstOp[rank + 1])};
    }
    Program program;
    RankClasses classes;
    PricedProgram prices;
};

using Ends = std::vector<std::int64_t>;

} // namespace

TEST(SharedLinks, TwoTransfersOnAPortShareIt)
{
    const EngineResult times = HandMade({{kCollective, Stream::dp, 0, 1000, 1}, {kCollective, Stream::cp, 0, 1000, 1}}).run();
    EXPECT_EQ(times.opEndNs[0], 2000);
    EXPECT_EQ(times.opEndNs[1], 2000);
    EXPECT_EQ(times.stretchedByNs(0), 1000);
}

TEST(SharedLinks, TheLongerOneHasThePortToItselfAgain)
{
    // Half rate until the shorter one has ended at 800; 600 of 1000 are left then.
    const EngineResult times = HandMade({{kCollective, Stream::dp, 0, 1000, 1}, {kCollective, Stream::cp, 0, 400, 1}}).run();
    EXPECT_EQ(times.opEndNs[1], 800);
    EXPECT_EQ(times.opEndNs[0], 1400);
}

TEST(SharedLinks, WhoComesLaterIsMetFromThenOn)
{
    const EngineResult times = HandMade({{kCompute, Stream::compute, 0, 300},
                                         {kCollective, Stream::dp, 0, 1000, 1},
                                         {kCollective, Stream::cp, maskOf(Stream::compute), 1000, 1}})
                                   .run();
    EXPECT_EQ(times.opEndNs[1], 300 + 2 * 700);
    EXPECT_EQ(times.opEndNs[2], 2000) << "the port carried 2000 ns of work without a pause";
}

TEST(SharedLinks, TransfersThatLeaveRoomDoNotMeet)
{
    const EngineResult times = HandMade({{kCollective, Stream::dp, 0, 1000, 0.5}, {kCollective, Stream::cp, 0, 1000, 0.5}}).run();
    EXPECT_EQ(times.endNs, 1000);
    EXPECT_TRUE(times.stretched.empty());
}

TEST(SharedLinks, OnOneStreamTransfersFollowEachOther)
{
    const EngineResult times = HandMade({{kCollective, Stream::dp, 0, 1000, 1}, {kCollective, Stream::dp, 0, 500, 1}}).run();
    EXPECT_EQ(times.opEndNs[0], 1000);
    EXPECT_EQ(times.opEndNs[1], 1500);
}

TEST(SharedLinks, KernelsTakeLongerWhileACollectiveRunsBesideThem)
{
    HandMade job(
        {{kCollective, Stream::dp, 0, 500, 1}, {kCompute, Stream::compute, 0, 1000}, {kCompute, Stream::compute, 0, 100}});
    EXPECT_EQ(job.run().opEndNs[1], 1000);
    job.prices.besideTransfers = 1.25;
    const EngineResult times = job.run();
    EXPECT_EQ(times.opEndNs[0], 500);
    EXPECT_NEAR(static_cast<double>(times.opEndNs[1]), 500 + (1000 - 500 / 1.25), 1) << "400 of 1000 done beside it";
    EXPECT_EQ(times.opEndNs[2], times.opEndNs[1] + 100);
}

TEST(SharedLinks, AnAllToAllOfExpertsTokensSlowsKernelsByAFactorOfItsOwn)
{
    // Of 132 multiprocessors it keeps 20; 500 ns of a kernel of 1000 lie beside it.
    HandMade job({{kCollective, Stream::ep, 0, 500, 1}, {kCompute, Stream::compute, 0, 1000}});
    job.prices.besideTransfers = 1.07;
    const double others = 132.0 / 112;
    job.prices.besideAllToAll = others;
    EXPECT_NEAR(static_cast<double>(job.run().opEndNs[1]), 500 + (1000 - 500 / others), 1);
    job.prices.besideTransfers = 1; // also where nothing else slows them
    EXPECT_NEAR(static_cast<double>(job.run().opEndNs[1]), 500 + (1000 - 500 / others), 1);
    job.prices.besideAllToAll = 1.01;
    job.prices.besideTransfers = 1.25;
    EXPECT_NEAR(static_cast<double>(job.run().opEndNs[1]), 500 + (1000 - 500 / 1.25), 1) << "never less than any collective";

    // A reduction goes on behind it, beside which the kernel is slower than alone and faster than before.
    HandMade both(
        {{kCollective, Stream::ep, 0, 300, 0}, {kCollective, Stream::dp, 0, 700, 0}, {kCompute, Stream::compute, 0, 1000}});
    both.prices.besideTransfers = 1.25;
    both.prices.besideAllToAll = 2;
    EXPECT_NEAR(static_cast<double>(both.run().opEndNs[2]), 700 + (1000 - 300 / 2.0 - 400 / 1.25), 1);
}

TEST(SharedLinks, KernelsLoseToWhatIsIssuedBehindThemAndNeedNotWaitForThem)
{
    // One kernel or a run of them, before what is exchanged in the same pass, in the next, or behind one without kernels.
    for (const int kernels : {1, 6})
        for (const int between : {-1, 0, 1}) {
            std::vector<HandMade::Line> lines(static_cast<std::size_t>(kernels), {kCompute, Stream::compute, 0, 1000});
            const HandMade::Line exchange{kCollective, Stream::cp, 0, 400, 1},
                reader{kCompute, Stream::compute, maskOf(Stream::cp), 100};
            if (between < 0)
                lines.insert(lines.end(), {exchange, reader});
            HandMade job(lines);
            if (between == 1)
                job.then({{kCollective, Stream::tp, 0, 10, 0}});
            if (between >= 0)
                job.then({exchange, reader});
            job.prices.besideTransfers = 1.25;
            const EngineResult times = job.run();
            // It begins with the first kernel of its pass, or with the last one of the pass before.
            const int beside = between < 0 ? 0 : kernels - 1;
            const auto end = static_cast<std::size_t>(kernels + std::max(0, between));
            EXPECT_EQ(times.opStartNs[end], 1000 * beside) << kernels << " " << between;
            EXPECT_EQ(times.opEndNs[end], 1000 * beside + 400);
            for (int kernel = 0; kernel < kernels; ++kernel) {
                const auto k = static_cast<std::size_t>(kernel);
                EXPECT_NEAR(static_cast<double>(times.opEndNs[k] - times.opStartNs[k]), kernel == beside ? 1080 : 1000, 1)
                    << kernel << " of " << kernels << ", " << between;
            }
            EXPECT_NEAR(static_cast<double>(times.endNs), kernels * 1000 + 80 + 100, 1);
            EXPECT_EQ(times.opStartNs[end + 1], times.opEndNs[static_cast<std::size_t>(kernels - 1)]);
        }
}

TEST(SharedLinks, WhatDoesNotWaitGoesOnBehindWhatDoes)
{
    // The second exchange follows the first on its stream while a kernel before it waits for the reduction.
    const EngineResult times = HandMade({{kCollective, Stream::dp, 0, 1000, 0.4},
                                         {kCollective, Stream::cp, 0, 100, 0.4},
                                         {kCompute, Stream::compute, maskOf(Stream::dp), 50},
                                         {kCollective, Stream::cp, 0, 100, 0.4}})
                                   .run();
    EXPECT_EQ(times.opEndNs[3], 200);
    EXPECT_EQ(times.opEndNs[2], 1050);
}

TEST(SharedLinks, WhatGoesOnBehindAWaitingKernelMeetsWhatItWaitsFor)
{
    const EngineResult times = HandMade({{kCollective, Stream::dp, 0, 1000, 1},
                                         {kCompute, Stream::compute, maskOf(Stream::dp), 50},
                                         {kCollective, Stream::cp, 0, 100, 1}})
                                   .run();
    EXPECT_EQ(times.opEndNs[2], 200);
    EXPECT_EQ(times.opEndNs[0], 1100);
    EXPECT_EQ(times.opEndNs[1], 1150);
}

TEST(SharedLinks, AMessageSharesTheWayOutOfItsSenderAndTheWayInOfItsReceiver)
{
    const HandMade::Line send{OpKind::send, Stream::sendForward, 0, 1000}, receive{OpKind::receive, Stream::receive, 0, 0},
        collective{kCollective, Stream::cp, 0, 600, 1};
    TwoRanks alone;
    alone.then(0, {send});
    alone.then(1, {receive});
    EXPECT_EQ(alone.ends(1), (Ends{1000}));
    TwoRanks sender;
    sender.then(0, {send, collective});
    sender.then(1, {receive});
    EXPECT_EQ(sender.ends(0), (Ends{1600, 1200})) << "half each until the shorter one has gone through";
    EXPECT_EQ(sender.ends(1), (Ends{1600}));
    TwoRanks receiver;
    receiver.then(0, {send});
    receiver.then(1, {receive, collective});
    EXPECT_EQ(receiver.ends(0), (Ends{1600}));
    EXPECT_EQ(receiver.ends(1), (Ends{1600, 1200}));
    receiver.prices.sendUse[0][static_cast<std::size_t>(Port::network)] = kWholePort / 2;
    receiver.prices.uses[0][1][1][static_cast<std::size_t>(Port::network)] = kWholePort / 2;
    EXPECT_EQ(receiver.ends(1), (Ends{1000, 600})) << "there is room for both";
}

TEST(SharedLinks, WhoWaitsForASlowLinkHasRoomOnItsOwnPort)
{
    TwoRanks job;
    job.classes.slowdown[1].link = 2;
    job.classes.classGroups[0].linkFactor = job.classes.classGroups[2].linkFactor = 2;
    const std::vector<HandMade::Line> both{{kCollective, Stream::dp, 0, 1000, 1}, {kCollective, Stream::cp, 0, 1000, 0.5}};
    job.then(0, both);
    job.then(1, {both.front()});
    EXPECT_EQ(job.ends(0), (Ends{2000, 1000})) << "half of its port, as the other's brings half as much";
    EXPECT_EQ(job.ends(1), (Ends{2000}));
}

TEST(SharedLinks, AHangBehindAKernelThatWaitsIsFollowedThroughIt)
{
    // Each sends what the other waits for in a later pass; the pass is not issued while a kernel of the one before waits.
    TwoRanks job;
    const HandMade::Line receive{OpKind::receive, Stream::receive, 0, 0},
        kernel{kCompute, Stream::compute, maskOf(Stream::receive), 10},
        send{OpKind::send, Stream::sendForward, maskOf(Stream::compute), 10};
    for (const std::size_t rank : {0U, 1U}) {
        job.then(rank, {receive, kernel, {kCollective, Stream::cp, 0, 100, 0.5}});
        job.then(rank, {send});
    }
    try {
        job.ends(0);
        FAIL() << "ran";
    } catch (const Deadlock& deadlock) {
        const std::vector<EngineWait>& circle = deadlock.circle();
        ASSERT_EQ(circle.size(), 4U) << deadlock.what();
        for (std::size_t i = 0; i < circle.size(); ++i) {
            EXPECT_EQ(circle[i].neededClass, circle[(i + 1) % 4].classIndex);
            EXPECT_EQ(circle[i].neededStep, circle[(i + 1) % 4].step);
        }
    }
}

TEST(SharedLinks, APassIsIssuedWhenTheLastKernelOfTheOneBeforeHasBegun)
{
    HandMade job({{kCollective, Stream::dp, 0, 1000, 0.4},
                  {kCompute, Stream::compute, maskOf(Stream::dp), 50},
                  {kCollective, Stream::cp, 0, 100, 0.4}});
    job.then({{kCollective, Stream::cp, 0, 100, 0.4}});
    const EngineResult times = job.run();
    EXPECT_EQ(times.opEndNs[2], 100) << "behind a kernel that waits, in the same pass";
    EXPECT_EQ(times.opStartNs[1], 1000);
    EXPECT_EQ(times.opStartNs[3], 1000);
}

TEST(SharedLinks, ABacklogOfTransfersHoldsUpNothingElse)
{
    // Thirty reductions, of which each takes as long as three kernels; what does not wait for them goes on.
    std::vector<HandMade::Line> lines;
    for (int i = 0; i < 30; ++i) {
        lines.push_back({kCompute, Stream::compute, 0, 100});
        lines.push_back({kCollective, Stream::dp, maskOf(Stream::compute), 300, 0.5});
    }
    lines.push_back({kCollective, Stream::cp, maskOf(Stream::compute), 50, 0.5});
    lines.push_back({kCompute, Stream::compute, maskOf(Stream::cp), 100});
    HandMade job(lines);
    EngineResult times = job.run();
    EXPECT_EQ(times.opEndNs[58], 3000) << "kernels do not wait for reductions";
    EXPECT_EQ(times.opEndNs[60], 3050);
    EXPECT_EQ(times.endNs, 100 + 30 * 300);

    job.prices.besideTransfers = 1.25;
    times = job.run();
    for (std::size_t kernel = 2; kernel < 60; kernel += 2)
        EXPECT_NEAR(static_cast<double>(times.opEndNs[kernel] - times.opStartNs[kernel]), 125, 1) << kernel;
}

/// Many layers at the end of a backward, and groups larger than what is looked at to see whether a collective is alone.
TEST(SharedLinks, FoldedIsFullWithBacklogsInLargeGroups)
{
    std::mt19937 random(24);
    const auto draw = [&random](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
    for (int i = 0; i < 10; ++i) {
        Scenario scenario = test::smallScenario(1 + draw(1), 1, 72, 1 + draw(1));
        scenario.layout.cp = 1 + draw(1);
        scenario.layout.sequenceParallel = scenario.layout.tp > 1;
        scenario.layout.zeroStage = draw(3);
        scenario.layout.order = i % 2 == 0 ? "tp-cp-ep-dp-pp" : "tp-cp-ep-pp-dp";
        scenario.model.numHiddenLayers = 40;
        scenario.schedule.layersPerStage.clear();
        scenario.training.sequenceLength = 512;
        scenario.training.overlap.gradReduce = true;
        scenario.cluster = test::h100Cluster(scenario.layout.worldSize());
        scenario.cluster.efficiency.besideTransfers = draw(1) == 0 ? 1 : 1.07;
        scenario.cluster.efficiency.network = draw(1) == 0 ? 0.1 : 0.8;
        test::resolve(scenario);
        SCOPED_TRACE(test::describe(scenario));
        const World folded(scenario), full(scenario, true);
        const EngineResult a = folded.run(), b = full.run();
        ASSERT_EQ(a.endNs, b.endNs);
        for (int rank = 0; rank < scenario.layout.worldSize(); rank += 7) {
            const auto c = static_cast<std::size_t>(folded.classes.classOf[static_cast<std::size_t>(rank)]);
            ASSERT_TRUE(std::equal(a.opEndNs.begin() + static_cast<std::ptrdiff_t>(a.firstOp[c]),
                                   a.opEndNs.begin() + static_cast<std::ptrdiff_t>(a.firstOp[c + 1]),
                                   b.opEndNs.begin() + static_cast<std::ptrdiff_t>(b.firstOp[static_cast<std::size_t>(rank)])))
                << "rank " << rank;
        }
    }
}

TEST(SharedLinks, SlowerKernelsNeverMakeAnOpEarlierWhereNothingIsShared)
{
    for (const int dp : {2, 8}) {
        Scenario scenario = test::smallScenario(1, 1, dp, 4);
        scenario.layout.zeroStage = 3; // gathers and reductions, on a stream of their own
        World world(scenario);
        world.prices.besideTransfers = 1.07;
        const EngineResult before = world.run();
        world.prices.besideTransfers = 1.2;
        const EngineResult after = world.run();
        EXPECT_GT(after.endNs, before.endNs);
        for (std::size_t op = 0; op < before.opEndNs.size(); ++op)
            ASSERT_GE(after.opEndNs[op], before.opEndNs[op]) << op;
    }
}

TEST(SharedLinks, SharingNeverMakesAnOpEarlier)
{
    std::mt19937 random(21);
    int stretched = 0;
    for (int i = 0; i < 60; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        scenario.cluster.efficiency.besideTransfers = i % 3 == 0 ? 1.2 : 1;
        SCOPED_TRACE(test::describe(scenario));
        World world(scenario);
        const EngineResult shared = world.run();
        world.prices = apart(world.prices);
        const EngineResult alone = world.run();
        for (std::size_t op = 0; op < shared.opEndNs.size(); ++op)
            ASSERT_GE(shared.opEndNs[op], alone.opEndNs[op]) << op;
        stretched += shared.endNs > alone.endNs ? 1 : 0;
    }
    EXPECT_GT(stretched, 10) << "or nothing was shared";
}

TEST(SharedLinks, FoldedIsFullWithKernelsBesideTransfersAndPerturbations)
{
    std::mt19937 random(22);
    for (int i = 0; i < 40; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        scenario.cluster.efficiency.besideTransfers = 1.15;
        scenario.cluster.efficiency.besideAllToAll = i % 2 == 0 ? 1.3 : 0;
        if (i % 4 == 0)
            scenario.perturbations = {
                {.kind = PerturbationKind::slowLink, .rank = scenario.layout.worldSize() / 2, .factor = 1.7}};
        if (i % 4 == 1)
            scenario.perturbations = {{.kind = PerturbationKind::jitter, .rank = 0, .sigma = 0.05, .seed = 5}};
        SCOPED_TRACE(test::describe(scenario));
        const World folded(scenario), full(scenario, true);
        const EngineResult a = folded.run(), b = full.run();
        ASSERT_EQ(a.endNs, b.endNs);
        for (int rank = 0; rank < scenario.layout.worldSize(); ++rank) {
            const auto c = static_cast<std::size_t>(folded.classes.classOf[static_cast<std::size_t>(rank)]);
            const auto r = static_cast<std::size_t>(rank);
            ASSERT_TRUE(std::equal(a.opEndNs.begin() + static_cast<std::ptrdiff_t>(a.firstOp[c]),
                                   a.opEndNs.begin() + static_cast<std::ptrdiff_t>(a.firstOp[c + 1]),
                                   b.opEndNs.begin() + static_cast<std::ptrdiff_t>(b.firstOp[r])))
                << "rank " << rank;
        }
    }
}

TEST(SharedLinks, OfANodesCardThoseHaveTheirPartThatSend)
{
    // Four pipelines of four stages, two stages to a node of eight GPUs: only the four ranks of the second stage send to the next
    // node. They have a quarter of its card each, not an eighth.
    Scenario scenario = test::smallScenario(1, 4, 4, 8);
    scenario.cluster.efficiency.besideTransfers = 1;
    scenario.cluster.tiers.back().latencyUs = 0;
    const auto stepNs = [&](double bandwidthGBs, int gpusPerNic) {
        scenario.cluster.tiers.back().bandwidthGBs = bandwidthGBs;
        scenario.cluster.tiers.back().gpusPerNic = gpusPerNic;
        return World(scenario).run().endNs;
    };
    const std::int64_t shared = stepNs(1, 8);
    EXPECT_NEAR(static_cast<double>(shared), static_cast<double>(stepNs(1.0 / 4, 1)), 1e-5 * static_cast<double>(shared));
    EXPECT_LT(shared, stepNs(1.0 / 8, 1));
    EXPECT_GT(shared, stepNs(1, 1));
    // Of four cards each serves two of them.
    EXPECT_NEAR(static_cast<double>(stepNs(1, 2)), static_cast<double>(stepNs(1.0 / 2, 1)), 1e-5 * static_cast<double>(shared));
}

TEST(SharedLinks, AStageThatReducesAloneHasTheCardOfItsNode)
{
    // Two stages of two tensor-parallel ranks in a node of four with one card; data parallelism joins two nodes. What is reduced
    // at the end of a stage's last backward pass is through before the stage before it has ended its own: each time two ranks
    // send, half of the card each.
    Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.cluster = test::h100Cluster(8, 4);
    scenario.layout.order = "tp-pp-cp-ep-dp";
    scenario.training.overlap.gradReduce = false;
    scenario.training.stack.network = 1;
    scenario.cluster.efficiency.besideTransfers = 1;
    scenario.cluster.tiers.back().latencyUs = 0;
    const auto stepNs = [&](double bandwidthGBs, int gpusPerNic) {
        scenario.cluster.tiers.back().bandwidthGBs = bandwidthGBs;
        scenario.cluster.tiers.back().gpusPerNic = gpusPerNic;
        return static_cast<double>(World(scenario).run().endNs);
    };
    const double apart = stepNs(100'000, 4);
    EXPECT_NEAR(apart, stepNs(100'000 / 2.0, 1), 1e-6 * apart);
    EXPECT_LT(apart, stepNs(100'000 / 4.0, 1));
    // Where reducing takes so long that both stages are at it, all four share the card, and none of it is counted twice: never
    // slower than with a quarter each from the beginning, and the same but for the start where both have as much to send.
    const double together = stepNs(0.01, 4), quarters = stepNs(0.01 / 4, 1);
    EXPECT_LE(together, quarters * (1 + 1e-5));
    EXPECT_GT(together, 0.9 * quarters);
}

TEST(SharedLinks, AStageOnPartsOfTwoNodesHasBothCardsWhole)
{
    // Six ranks a stage: those of the second lie on two GPUs of one node and on four of the next. They reduce around one ring,
    // which leaves each node once; the first stage's stay in their node.
    Scenario scenario = test::smallScenario(1, 4, 6, 8);
    scenario.cluster.tiers.back().gpusPerNic = 8;
    const World world(scenario);
    const auto shapesOf = [&](int rank) {
        const auto c = static_cast<std::size_t>(world.classes.classOf[static_cast<std::size_t>(rank)]);
        return world.classes.geometries[static_cast<std::size_t>(world.classes.geometry[c])].shapes;
    };
    int groups = 0;
    for (std::size_t role = 0; role < kCommunicatorRoleCount; ++role) {
        if (shapesOf(0)[role].size != 6)
            continue;
        ++groups;
        EXPECT_TRUE(shapesOf(0)[role].cards.empty());
        for (const int rank : {6, 8}) {
            const GroupShape shape = shapesOf(rank)[role];
            ASSERT_FALSE(shape.cards.empty());
            EXPECT_DOUBLE_EQ(shape.cards.front(), 1);
            EXPECT_EQ(shape.senders, rank == 6 ? 2 : 4);
        }
    }
    EXPECT_GT(groups, 0);
}

TEST(SharedLinks, OfAGroupOfAllRanksAreFoundTogether)
{
    // Each of 65,536 ranks asks who sends over its card: the group is walked once, not by each of them, or this would never end.
    Scenario scenario = test::smallScenario(1, 1, 65'536);
    scenario.cluster = test::h100Cluster(65'536, 8);
    scenario.cluster.tiers.back().gpusPerNic = 2;
    const Mesh mesh(scenario.layout);
    const Placement placement(scenario.layout, scenario.cluster);
    const Schedule schedule = makeSchedule(scheduleRequest(scenario));
    const RankClasses classes = makeRankClasses(scenario, mesh, placement, schedule, false);
    EXPECT_EQ(classes.count(), 1);
    int groups = 0;
    for (const GroupShape& shape : classes.geometries.front().shapes) {
        if (shape.size != scenario.layout.dp)
            continue;
        ++groups;
        EXPECT_EQ(shape.senders, 2);
        EXPECT_EQ(shape.cards, (std::vector{4.0, 4.0 * 8192})) << "of a node, and of all";
    }
    EXPECT_GT(groups, 0);
}

TEST(SharedLinks, FoldedIsFullWhereRanksHaveCardsTogether)
{
    std::mt19937 random(25);
    int stretched = 0;
    for (int i = 0; i < 80; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        scenario.cluster.tiers.back().gpusPerNic = std::array{2, 4, 3, 8}[static_cast<std::size_t>(i % 4)];
        scenario.cluster.tiers.back().bandwidthGBs = i % 3 == 0 ? 5 : 50;
        scenario.cluster.efficiency.besideTransfers = i % 2 == 0 ? 1 : 1.15;
        SCOPED_TRACE(test::describe(scenario));
        const World folded(scenario), full(scenario, true);
        const EngineResult a = folded.run(), b = full.run();
        ASSERT_EQ(a.endNs, b.endNs);
        for (int rank = 0; rank < scenario.layout.worldSize(); ++rank) {
            const auto c = static_cast<std::size_t>(folded.classes.classOf[static_cast<std::size_t>(rank)]);
            ASSERT_TRUE(std::equal(a.opEndNs.begin() + static_cast<std::ptrdiff_t>(a.firstOp[c]),
                                   a.opEndNs.begin() + static_cast<std::ptrdiff_t>(a.firstOp[c + 1]),
                                   b.opEndNs.begin() + static_cast<std::ptrdiff_t>(b.firstOp[static_cast<std::size_t>(rank)])))
                << "rank " << rank;
        }
        stretched += a.stretched.empty() ? 0 : 1;
    }
    EXPECT_GT(stretched, 20);
}

/// Work of collectives that begin and end within a window fits into it, on every port and in every window.
TEST(SharedLinks, APortNeverCarriesMoreThanItCan)
{
    std::mt19937 random(23);
    int met = 0;
    for (int i = 0; i < 100; ++i) {
        Scenario scenario = test::randomScenario(random, 32);
        SCOPED_TRACE(test::describe(scenario));
        const World world(scenario);
        const EngineResult times = world.run();
        met += times.stretched.empty() ? 0 : 1;
        struct Carried {
            std::int64_t begin, end;
            double work;
        };
        std::array<std::vector<Carried>, kPortCount> carried;
        std::size_t place = 0; // of the first class
        for (const Step& step : world.program.ranks[static_cast<std::size_t>(world.classes.pipelineRank[0])].steps) {
            const Pass& pass = world.program.passes[step.pass];
            for (std::size_t op = 0; op < pass.ops.size(); ++op, ++place) {
                if (pass.ops[op].kind != kCollective)
                    continue;
                const std::int64_t alone = opDurationNs(world.prices, world.classes, world.program, 0, step, op, 0);
                const std::int64_t begin = times.opEndNs[place] - alone - times.stretchedByNs(place);
                for (std::size_t port = 0; port < kPortCount; ++port)
                    carried[port].push_back(
                        {begin, times.opEndNs[place],
                         static_cast<double>(alone) * world.prices.uses[0][step.pass][op][port] / kWholePort});
            }
        }
        for (std::vector<Carried>& of : carried) {
            std::sort(of.begin(), of.end(), [](const Carried& a, const Carried& b) { return a.end < b.end; });
            for (std::size_t from = 0; from < of.size(); from += 7) {
                double work = 0;
                const std::int64_t begin = of[from].begin;
                for (const Carried& one : of) {
                    if (one.begin < begin)
                        continue;
                    work += one.work;
                    ASSERT_LE(work, static_cast<double>(one.end - begin) * 1.0001 + 10);
                }
            }
        }
    }
    EXPECT_GT(met, 3) << "or nothing was shared";
}
