// Who sends how much: closed forms of pure layouts, and what must hold in any.
#include "sim/analysis/traffic/link_load.h"
#include "sim/analysis/traffic/timed_transfers.h"
#include "sim/simulate/simulation.h"

#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <utility>

using namespace sim;

namespace {

struct Sent {
    std::shared_ptr<const Simulation> simulation;
    Traffic traffic;
    TrafficSums sums;
    explicit Sent(const Scenario& scenario, bool full = false)
        : simulation(simulate(scenario, {.full = full})), traffic(Traffic(*simulation)), sums(traffic.senders().total())
    {
    }
};

/// On one node of H100s that reduce in the network or not.
Scenario onOneNode(int tp, int pp, int dp)
{
    Scenario scenario = test::smallScenario(tp, pp, dp);
    scenario.cluster = test::h100Cluster(8);
    return scenario;
}

std::int64_t parameterElements(const Sent& step)
{
    return step.simulation->metrics().perPipelineRank[0].parameters;
}

LoadWindow wholeStep(const Sent& step, int bins)
{
    return {.beginNs = 0, .endNs = static_cast<std::int64_t>(step.simulation->metrics().stepTimeSeconds * 1e9) + 2, .bins = bins};
}

} // namespace

TEST(Traffic, OneRankSendsNothing)
{
    const Sent step(onOneNode(1, 1, 1));
    EXPECT_EQ(step.sums.total(), 0);
    std::vector<TrafficFlow> flows;
    step.traffic.appendSends(0, flows);
    EXPECT_TRUE(flows.empty());
}

TEST(Traffic, AllReduceOfGradientsSendsTwiceTheRing)
{
    for (const int dp : {2, 4, 8}) {
        const Sent step(onOneNode(1, 1, dp));
        const double gradients = 4.0 * static_cast<double>(parameterElements(step)); // accumulated in 32 bit
        EXPECT_NEAR(static_cast<double>(step.sums.ofDimension(Dimension::dp)), dp * 2 * gradients * (dp - 1) / dp, 100);
        EXPECT_EQ(step.sums.total(), step.sums.ofDimension(Dimension::dp));
    }
}

TEST(Traffic, AShardedOptimizerSendsGradientsAndParametersOnce)
{
    Scenario scenario = onOneNode(1, 1, 4);
    scenario.layout.zeroStage = 1;
    const Sent step(scenario);
    const double elements = static_cast<double>(parameterElements(step));
    EXPECT_NEAR(static_cast<double>(step.sums.ofDimension(Dimension::dp)), 4 * (4 + 2) * elements * 3 / 4, 100);
}

TEST(Traffic, SwitchesThatAddAreSentTheTensorAndOnePartOfTheSum)
{
    for (const int dp : {2, 8}) {
        Scenario scenario = onOneNode(1, 1, dp);
        const auto ring = static_cast<double>(Sent(scenario).sums.total());
        scenario.cluster.tiers[0].inNetworkReduction = true;
        // (n+1)/n in place of 2(n-1)/n: for two a ring stays.
        EXPECT_NEAR(static_cast<double>(Sent(scenario).sums.total()), dp == 2 ? ring : ring * 9 / 14, 100);
    }
}

TEST(Traffic, PipelineSendsEachActivationAndGradientOnce)
{
    const Sent step(onOneNode(1, 4, 1));
    const Training& training = step.simulation->scenario().training;
    const std::int64_t activation = std::int64_t{training.sequenceLength} * training.microBatchSize * 1024 * 2;
    const std::int64_t microbatches = step.simulation->scenario().microbatches();
    EXPECT_EQ(step.sums.ofDimension(Dimension::pp), 2 * 3 * microbatches * activation);
    EXPECT_EQ(step.sums.total(), step.sums.ofDimension(Dimension::pp));
    for (const int inner : {1, 2})
        EXPECT_EQ(step.traffic.sentBy(inner).total(), 2 * microbatches * activation);
    for (const int end : {0, 3})
        EXPECT_EQ(step.traffic.sentBy(end).total(), microbatches * activation);
}

TEST(Traffic, TensorParallelLayersMoveTheirActivationFourTimes)
{
    // Megatron-LM: two all-reduces forward, two backward a layer; with sequence parallelism they are split, and what the backward
    // pass needs is gathered again.
    Scenario scenario = onOneNode(4, 1, 1);
    scenario.layout.sequenceParallel = false;
    const Sent step(scenario);
    const Training& training = step.simulation->scenario().training;
    const std::int64_t activation = std::int64_t{training.sequenceLength} * training.microBatchSize * 1024 * 2;
    const std::int64_t layers = 8, microbatches = step.simulation->scenario().microbatches();
    const std::int64_t ofLayers = 4 * layers * 4 * microbatches * 2 * (activation * 3 / 4);
    const std::int64_t tp = step.sums.ofDimension(Dimension::tp);
    EXPECT_GE(tp, ofLayers);
    EXPECT_LE(tp, ofLayers + 4 * 4 * microbatches * 2 * activation) << "embedding, head and loss add less than two layers";
}

TEST(Traffic, ContextParallelismPassesBlocksToTheNextRank)
{
    Scenario scenario = onOneNode(1, 1, 1);
    scenario.layout.cp = 4;
    scenario.layout.dpShard = 0;
    test::resolve(scenario);
    const Sent step(scenario);
    for (int rank = 0; rank < 4; ++rank) {
        std::vector<TrafficFlow> flows;
        step.traffic.appendSends(rank, flows);
        std::int64_t bytes = 0;
        for (const TrafficFlow& flow : flows)
            if (flow.role == CommunicatorRole::cp) {
                EXPECT_EQ(flow.peer, (rank + 1) % 4);
                bytes += flow.bytes;
            }
        // Keys and values of a quarter of the sequence, three times forward; with their gradients backward: two, two and one
        // more.
        const std::int64_t block = std::int64_t{1024 / 4} * 2 * 8 * 64 * 2;
        const std::int64_t microbatches = step.simulation->scenario().microbatches();
        EXPECT_EQ(bytes % (block * microbatches), 0);
        EXPECT_GE(bytes, 3 * 3 * block * microbatches);
    }
}

TEST(Traffic, ExpertsSendToEveryOtherMemberAlike)
{
    Scenario scenario = onOneNode(1, 1, 4);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 256;
    scenario.layout.ep = 4;
    const Sent step(scenario);
    const Training& training = scenario.training;
    // To and fro, forward and backward: each token's activation to its experts, of which 3/4 are elsewhere.
    const std::int64_t routed = std::int64_t{training.sequenceLength} * training.microBatchSize * 2 * 1024 * 2;
    const std::int64_t perPeer = routed / 4 * 4 * 8 * step.simulation->scenario().microbatches();
    std::vector<TrafficFlow> flows;
    step.traffic.appendSends(1, flows);
    std::map<int, std::int64_t> toPeer;
    for (const TrafficFlow& flow : flows)
        if (flow.role == CommunicatorRole::ep)
            toPeer[flow.peer] += flow.bytes;
    EXPECT_EQ(toPeer, (std::map<int, std::int64_t>{{0, perPeer}, {2, perPeer}, {3, perPeer}}));
}

TEST(Traffic, TokensThatAreNotEvenlyRoutedAreAsManyInAll)
{
    for (const auto& [sendsOnce, imbalance] : {std::pair{false, 1.5}, {true, 1.5}, {false, 100.0}}) {
        Scenario scenario = onOneNode(2, 1, 4);
        scenario.model.numExperts = 8;
        scenario.model.numExpertsPerTok = 2;
        scenario.model.moeIntermediateSize = 256;
        scenario.layout.ep = 4;
        scenario.layout.etp = 2;
        scenario.training.moe.sendOncePerNode = sendsOnce;
        const Sent even(scenario);
        scenario.training.moe.imbalance = imbalance;
        const Sent uneven(scenario);
        EXPECT_GT(uneven.simulation->metrics().stepTimeSeconds, even.simulation->metrics().stepTimeSeconds);
        EXPECT_GT(even.sums.ofRole(CommunicatorRole::ep), 0);
        EXPECT_GT(even.sums.ofRole(CommunicatorRole::exptTp), 0);
        EXPECT_EQ(uneven.sums, even.sums);
        std::int64_t bytes = 0;
        const TimedTransfers timed(*uneven.simulation);
        for (const TimedTransfers::Row& row : timed.rows())
            bytes += row.bytes * uneven.simulation->classSize(row.rankClass);
        EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(even.sums.total()),
                    1e-6 * static_cast<double>(even.sums.total()));
    }
}

TEST(Traffic, WhereANodeTakesATokenOnceEachTierCarriesWhatThePortsArePricedFor)
{
    struct Case {
        std::vector<Tier> tiers;
        int gpusPerNode, ep;
    };
    const auto tier = [](const char* name, int span, double bandwidth) {
        return Tier{.name = name, .span = span, .bandwidthGBs = bandwidth, .latencyUs = 2};
    };
    const Tier nvlink = tier("nvlink", 8, 450), network = tier("network", 0, 50);
    for (const Case& of : {Case{{nvlink, network}, 8, 32},                                    // four nodes of eight
                           Case{{tier("pair", 2, 300), tier("pcie", 8, 60), network}, 8, 16}, // pairs share the node's copy, too
                           Case{{nvlink, tier("pod", 16, 50), tier("spine", 0, 7)}, 8, 32},   // a copy a node, not one a pod
                           Case{{tier("alone", 1, 450), network}, 1, 8}}) {                   // copies for one GPU
        Scenario scenario = test::smallScenario(1, 1, of.ep);
        scenario.model.numExperts = 64;
        scenario.model.numExpertsPerTok = 6;
        scenario.model.moeIntermediateSize = 256;
        scenario.layout.ep = of.ep;
        scenario.cluster.tiers = of.tiers;
        scenario.cluster.gpusPerNode = of.gpusPerNode;
        scenario.cluster.nodes = of.ep / of.gpusPerNode;
        test::resolve(scenario);
        SCOPED_TRACE(of.tiers[0].name);
        const std::int64_t direct = Sent(scenario).sums.bytes(static_cast<int>(of.tiers.size()) - 1, CommunicatorRole::ep);
        scenario.training.moe.sendOncePerNode = true;
        const Sent step(scenario);
        // The seconds that each port is busy, as the cost model takes them, and what it carries in them.
        const CostModel cost(scenario);
        const Program& program = step.simulation->program();
        const GroupShape group = step.simulation->classes().geometries[0].shapes[asIndex(CommunicatorRole::ep)];
        std::array<double, kPortCount> priced{}, counted{};
        for (const Step& each : program.ranks[0].steps)
            for (std::size_t op = 0; op < program.passes[each.pass].ops.size(); ++op)
                if (program.passes[each.pass].ops[op].group == CommunicatorRole::ep) {
                    const OpShape& shape = program.passes[each.pass].shapes[op];
                    const std::int64_t ns = cost.collectiveNs(shape, group, CommunicatorRole::ep);
                    const PortUse use = cost.collectiveUse(shape, group, ns);
                    for (std::size_t port = 0; port < kPortCount; ++port)
                        priced[port] += 1e-9 * static_cast<double>(ns) * use[port] / kWholePort;
                }
        const auto rate = [&](int t) {
            return scenario.cluster.tiers[asIndex(t)].bandwidthGBs * 1e9 * scenario.cluster.efficiency.network *
                   scenario.cluster.efficiency.allToAll;
        };
        int networkTier = 0;
        while (portOf(scenario.cluster, networkTier) < Port::network)
            ++networkTier;
        for (int t = 0; t < step.sums.tiers(); ++t) {
            const double bytes = static_cast<double>(step.sums.bytes(t, CommunicatorRole::ep)) / of.ep;
            counted[static_cast<std::size_t>(portOf(scenario.cluster, t))] += bytes / rate(t);
            if (portOf(scenario.cluster, t) == Port::spine) // through the network card, too
                counted[static_cast<std::size_t>(Port::network)] += bytes / rate(networkTier);
        }
        for (std::size_t port = 0; port < kPortCount; ++port)
            EXPECT_NEAR(counted[port], priced[port], 2e-4 * priced[port]) << port;
        EXPECT_LT(step.sums.bytes(step.sums.tiers() - 1, CommunicatorRole::ep), direct);
    }
}

TEST(Traffic, ARingOverNodesLeavesThemOverEveryPort)
{
    // 16 GPUs on two nodes: an eighth of a member's bytes to its own rail of the other node, the rest to its neighbour.
    const Sent step(test::smallScenario(1, 1, 16, 1));
    const std::int64_t sent = step.traffic.sentBy(0).total();
    for (int rank = 0; rank < 16; ++rank) {
        std::vector<TrafficFlow> flows;
        step.traffic.appendSends(rank, flows);
        ASSERT_EQ(flows.size(), 2U);
        EXPECT_EQ(flows[0].peer, rank / 8 * 8 + (rank + 1) % 8);
        EXPECT_EQ(flows[0].tier, 0);
        EXPECT_EQ(flows[1].peer, (rank + 8) % 16);
        EXPECT_EQ(flows[1].tier, 1);
        EXPECT_EQ(flows[1].bytes, sent / 8);
        EXPECT_EQ(flows[0].bytes + flows[1].bytes, sent);
    }
}

TEST(Traffic, WhatIsSentIsReceived)
{
    std::mt19937 random(31);
    for (int i = 0; i < 40; ++i) {
        Scenario scenario = test::randomScenario(random, 96);
        scenario.training.moe.sendOncePerNode = i % 2 == 0;
        SCOPED_TRACE(test::describe(scenario));
        const Sent step(scenario);
        std::map<std::tuple<int, int, CommunicatorRole, int>, std::int64_t> sent, received; // from, to, role, tier
        std::vector<TrafficFlow> flows;
        for (int rank = 0; rank < step.traffic.worldSize(); ++rank) {
            flows.clear();
            step.traffic.appendSends(rank, flows);
            for (const TrafficFlow& flow : flows) {
                EXPECT_NE(flow.peer, rank);
                EXPECT_GT(flow.bytes, 0);
                EXPECT_EQ(flow.tier, step.simulation->placement().tierBetween(rank, flow.peer));
                sent[{rank, flow.peer, flow.role, flow.tier}] += flow.bytes;
            }
            flows.clear();
            step.traffic.appendReceives(rank, flows);
            for (const TrafficFlow& flow : flows)
                received[{flow.peer, rank, flow.role, flow.tier}] += flow.bytes;
        }
        EXPECT_EQ(sent, received);
    }
}

TEST(Traffic, SumsOverTiersPurposesRanksAndPartsAgree)
{
    std::mt19937 random(32);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = test::randomScenario(random, 128);
        SCOPED_TRACE(test::describe(scenario));
        const Sent step(scenario);
        std::int64_t byTier = 0, byPurpose = 0, byRole = 0, byRank = 0;
        for (int tier = 0; tier < step.sums.tiers(); ++tier)
            byTier += step.sums.ofTier(tier);
        for (const Dimension dimension : kDimensions)
            byPurpose += step.sums.ofDimension(dimension);
        for (int role = 0; role < kCommunicatorRoleCount; ++role)
            byRole += step.sums.ofRole(static_cast<CommunicatorRole>(role));
        std::vector<int> partOf;
        for (int rank = 0; rank < step.traffic.worldSize(); ++rank) {
            byRank += step.traffic.sentBy(rank).total();
            partOf.push_back(step.simulation->placement().node(rank));
        }
        EXPECT_EQ(byTier, step.sums.total());
        EXPECT_EQ(byPurpose, step.sums.total());
        EXPECT_EQ(byRole, step.sums.total());
        EXPECT_EQ(byRank, step.sums.total());

        std::int64_t within = 0, inCells = 0;
        for (const TrafficMatrix::Cell& cell : step.traffic.between(partOf, scenario.cluster.nodes).cells) {
            const std::int64_t bytes = std::accumulate(cell.bytes.begin(), cell.bytes.end(), std::int64_t{0});
            inCells += bytes;
            within += cell.from == cell.to ? bytes : 0;
        }
        EXPECT_EQ(inCells, step.sums.total());
        EXPECT_EQ(within, step.sums.ofTier(0)) << "the inner tier is the node's";
    }
}

TEST(Traffic, FoldedIsFull)
{
    std::mt19937 random(33);
    for (int i = 0; i < 20; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const Sent folded(scenario), full(scenario, true);
        EXPECT_EQ(folded.sums, full.sums);
        for (int rank = 0; rank < folded.traffic.worldSize(); ++rank)
            ASSERT_EQ(folded.traffic.sentBy(rank), full.traffic.sentBy(rank)) << rank;

        const LinkLoad a = linkLoad(*folded.simulation, folded.traffic.senders(), wholeStep(folded, 7));
        const LinkLoad b = linkLoad(*full.simulation, full.traffic.senders(), wholeStep(full, 7));
        for (int tier = 0; tier < folded.traffic.tiers(); ++tier)
            for (int bin = 0; bin < 7; ++bin)
                EXPECT_NEAR(a.share(tier, bin), b.share(tier, bin), 1e-9);
    }
}

TEST(Traffic, SendersAreTheSumOfTheirRanks)
{
    std::mt19937 random(34);
    const Sent step(test::randomScenario(random, 64));
    std::vector<int> some;
    TrafficSums sum(step.traffic.tiers());
    for (int rank = 0; rank < step.traffic.worldSize(); rank += 3) {
        some.push_back(rank);
        sum += step.traffic.sentBy(rank);
    }
    EXPECT_EQ(step.traffic.senders(some).total(), sum);
    EXPECT_EQ(step.traffic.senders(some).ranks, static_cast<int>(some.size()));
}

TEST(LinkLoad, CarriesEveryByteOfTheStepHoweverItIsCut)
{
    std::mt19937 random(35);
    for (int i = 0; i < 25; ++i) {
        Scenario scenario = test::randomScenario(random, 64);
        // Where a node takes one copy, a share of a message is rounded to whole bytes, one by one here and all together there.
        const bool isOnce = scenario.training.moe.sendOncePerNode = i % 2 == 0;
        SCOPED_TRACE(test::describe(scenario));
        const Sent step(scenario);
        for (const int bins : {1, 13, 400}) {
            const LinkLoad load = linkLoad(*step.simulation, step.traffic.senders(), wholeStep(step, bins));
            for (int tier = 0; tier < step.traffic.tiers(); ++tier)
                for (const Dimension p : kDimensions) {
                    const auto& bytes = load.tiers[static_cast<std::size_t>(tier)].bytes[p];
                    const auto all = static_cast<double>(step.sums.bytes(tier, p));
                    EXPECT_NEAR(std::accumulate(bytes.begin(), bytes.end(), 0.0), all, (isOnce ? 3e-5 : 1e-6) * all + 1e-3);
                    for (const double inBin : bytes)
                        EXPECT_GE(inBin, 0);
                }
        }
    }
}

TEST(LinkLoad, OfAPartOfTheStepIsThatPartOfTheWhole)
{
    std::mt19937 random(36);
    const Sent step(test::randomScenario(random, 64));
    LoadWindow whole = wholeStep(step, 100);
    whole.endNs = whole.endNs / 100 * 100 + 100; // bins of whole nanoseconds
    const std::int64_t binNs = whole.endNs / 100;
    const LinkLoad all = linkLoad(*step.simulation, step.traffic.senders(), whole);
    const LinkLoad part =
        linkLoad(*step.simulation, step.traffic.senders(), {.beginNs = 20 * binNs, .endNs = 50 * binNs, .bins = 30});
    for (int tier = 0; tier < step.traffic.tiers(); ++tier)
        for (int bin = 0; bin < 30; ++bin)
            EXPECT_NEAR(part.share(tier, bin), all.share(tier, bin + 20), 1e-9);
}

TEST(LinkLoad, ARingFillsItsLinksToWhatNetworksReach)
{
    // Data parallelism on one node, a single large all-reduce at the end: while it runs, ports are as full as `network` allows.
    Scenario scenario = onOneNode(1, 1, 8);
    scenario.model = test::llamaModel(8, 4096, 32, 32, 11008);
    scenario.schedule.layersPerStage.clear();
    scenario.training.overlap.gradReduce = false;
    test::resolve(scenario);
    const Sent step(scenario);
    const LinkLoad load = linkLoad(*step.simulation, step.traffic.senders(), wholeStep(step, 1000));
    double peak = 0;
    for (int bin = 0; bin < 1000; ++bin)
        peak = std::max(peak, load.share(0, bin));
    EXPECT_NEAR(peak, scenario.cluster.efficiency.network, 0.05);
}

// What links carry is what their cards do, each counted once, whoever of its GPUs sends.
TEST(LinkLoad, OfCardsThatGpusShareIsOfTheCardsOfThoseThatSend)
{
    const auto stepOf = [](int dp, const std::vector<int>& placement) {
        Scenario scenario = test::smallScenario(1, 1, dp, 1);
        scenario.cluster = test::h100Cluster(16);
        scenario.cluster.tiers.back().gpusPerNic = 2;
        scenario.layout.explicitPlacement = placement;
        if (!placement.empty())
            scenario.layout.placement = PlacementRule::explicitList;
        return Sent(scenario);
    };
    const auto capacityGBs = [](const Sent& step, const std::vector<int>& ranks) {
        return linkLoad(*step.simulation, step.traffic.senders(ranks), wholeStep(step, 1)).tiers[1].capacityBytesPerSecond * 1e-9;
    };
    const Sent each = stepOf(8, {0, 2, 4, 6, 8, 10, 12, 14}), both = stepOf(16, {});
    EXPECT_DOUBLE_EQ(capacityGBs(each, {}), 8 * 50) << "one rank on each card";
    EXPECT_DOUBLE_EQ(capacityGBs(both, {}), 8 * 50) << "two";
    EXPECT_DOUBLE_EQ(capacityGBs(both, {5}), 50) << "the whole card while the other sends nothing";
    EXPECT_DOUBLE_EQ(capacityGBs(both, {4, 5}), 50);
    EXPECT_DOUBLE_EQ(capacityGBs(both, {5, 6}), 2 * 50);
    for (const Sent* step : {&each, &both}) {
        const double load = linkLoad(*step->simulation, step->traffic.senders(), wholeStep(*step, 1)).share(1, 0);
        EXPECT_GT(load, 0);
        EXPECT_LT(load, 1);
    }
}

TEST(LinkLoad, WantsAWindowWithBinsAndLength)
{
    const Sent step(onOneNode(1, 1, 2));
    const TrafficSenders senders = step.traffic.senders();
    EXPECT_THROW(linkLoad(*step.simulation, senders, {.beginNs = 0, .endNs = 10, .bins = 0}), Error);
    EXPECT_THROW(linkLoad(*step.simulation, senders, {.beginNs = 10, .endNs = 10, .bins = 4}), Error);
}

TEST(TimedTransfers, SendEveryByteOfTheirRanks)
{
    std::mt19937 random(37);
    for (int i = 0; i < 25; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const Sent step(scenario);
        const TimedTransfers transfers(*step.simulation);
        std::array<std::int64_t, kCommunicatorRoleCount> bytes{};
        for (const TimedTransfers::Row& row : transfers.rows()) {
            std::int64_t ofRow = 0, before = 0;
            for (const TimedTransfer& transfer : row.transfers) {
                ofRow += transfer.bytes;
                EXPECT_LE(before, transfer.beginNs);
                EXPECT_LE(transfer.beginNs, transfer.endNs);
                before = transfer.beginNs;
            }
            EXPECT_EQ(ofRow, row.bytes);
            bytes[static_cast<std::size_t>(row.role)] += row.bytes * step.simulation->classSize(row.rankClass);
        }
        for (const CommunicatorRole role : kTrafficRoles) { // flows round parts down
            const auto all = static_cast<double>(step.sums.ofRole(role));
            EXPECT_NEAR(static_cast<double>(bytes[static_cast<std::size_t>(role)]), all, 1e-6 * all + 1e-3);
        }
    }
}

TEST(TimedTransfers, UnderWayAreThoseThatHaveBegunAndNotEnded)
{
    std::mt19937 random(38);
    for (int i = 0; i < 10; ++i) {
        const Sent step(test::randomScenario(random, 64));
        const TimedTransfers transfers(*step.simulation);
        for (const std::int64_t ns : {std::int64_t{0}, step.simulation->times().endNs / 3, step.simulation->times().endNs}) {
            for (const TimedTransfers::Row& row : transfers.rows()) {
                std::vector<const TimedTransfer*> found;
                TimedTransfers::appendUnderWay(row, ns, ns, found);
                std::size_t wanted = 0;
                for (const TimedTransfer& t : row.transfers)
                    wanted += t.beginNs <= ns && ns < t.endNs;
                EXPECT_EQ(found.size(), wanted);
                for (const TimedTransfer* t : found)
                    EXPECT_DOUBLE_EQ(t->wayAt(t->beginNs + (t->endNs - t->beginNs) / 2),
                                     static_cast<double>((t->endNs - t->beginNs) / 2) /
                                         static_cast<double>(t->endNs - t->beginNs));
            }
        }
    }
}
