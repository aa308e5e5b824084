// Ops added up: what counts, how often, and that no cut of the same ops adds up to anything else.
#include "sim/analysis/op_table.h"

#include "sim/scenario/document.h"
#include "sim/simulate/simulation.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace {

using namespace sim;

constexpr std::uint32_t kGemm = 0, kReduce = 1, kPass = 2;

/// Rank 0 stands for two ranks: a pass, in which a GEMM runs from 0 to 100 and again from 100 to 300, and an all-reduce over
/// 250 to 450. Of rank 1 only a pass is known.
Trace handWritten()
{
    Trace trace;
    trace.endNs = 1000;
    trace.kinds = {{.name = "attn.qkv", .opClass = OpClass::forward, .stage = 0, .flops = 600},
                   {.name = "all-reduce", .opClass = OpClass::tpComm, .stage = -1, .group = "tp", .bytes = 800},
                   {.name = "0F", .opClass = OpClass::forward, .stage = 0, .flops = 0}};
    trace.processes = {{.rank = 0, .multiplicity = 2, .name = "rank 0"}, {.rank = 2, .multiplicity = 1, .name = "rank 2"}};
    const auto track = [](int process, TrackRole role, std::vector<std::array<std::int64_t, 3>> spans) {
        Track out{.process = process, .role = role};
        for (const auto& [start, duration, kind] : spans) {
            out.startNs.push_back(start);
            out.durationNs.push_back(duration);
            out.kind.push_back(static_cast<std::uint32_t>(kind));
            out.microbatch.push_back(0);
        }
        return out;
    };
    trace.tracks = {track(0, TrackRole::actions, {{0, 450, kPass}}),
                    track(0, TrackRole::compute, {{0, 100, kGemm}, {100, 200, kGemm}}),
                    track(0, TrackRole::communication, {{250, 200, kReduce}}), track(1, TrackRole::actions, {{500, 400, kPass}})};
    return trace;
}

const OpGroup& named(const OpTable& table, const std::string& name)
{
    const auto found = std::find_if(table.groups.begin(), table.groups.end(), [&](const OpGroup& g) { return g.name == name; });
    EXPECT_NE(found, table.groups.end()) << name;
    return found == table.groups.end() ? table.all : *found;
}

TEST(OpTable, CountsKernelsWhereTheyAreKnownAndPassesWhereNot)
{
    const Trace trace = handWritten();
    const OpTable table = opTable(trace, OpGrouping::name);
    ASSERT_EQ(table.groups.size(), 3U);
    EXPECT_EQ(table.groups.front().name, "attn.qkv"); // 2 ranks · 300 ns, before 400 and 400
    EXPECT_TRUE(table.ofKernels);
    EXPECT_EQ(table.ranks, 3);
    const OpGroup& gemm = named(table, "attn.qkv");
    EXPECT_EQ(gemm.count, 4);
    EXPECT_DOUBLE_EQ(gemm.totalNs, 600);
    EXPECT_DOUBLE_EQ(gemm.meanNs(), 150);
    EXPECT_EQ(gemm.shortestNs, 100);
    EXPECT_EQ(gemm.longestNs, 200);
    EXPECT_EQ(gemm.longestTrack, 1U);
    EXPECT_EQ(gemm.longestSpan, 1U);
    EXPECT_DOUBLE_EQ(gemm.flops, 2400);
    EXPECT_DOUBLE_EQ(gemm.flopsPerSecond(), 2400.0 / 600 * 1e9);
    EXPECT_DOUBLE_EQ(table.share(gemm), 600.0 / 3000);
    EXPECT_DOUBLE_EQ(named(table, "all-reduce").bytes, 1600);
    EXPECT_EQ(named(table, "all-reduce").flopsPerSecond(), 0);
    EXPECT_EQ(named(table, "0F").count, 1); // rank 2's alone
    EXPECT_DOUBLE_EQ(named(table, "0F").totalNs, 400);
}

TEST(OpTable, ARangeCutsTimeBytesAndWorkInProportionAndLeavesDurationsWhole)
{
    const Trace trace = handWritten();
    const OpTable table = opTable(trace, OpGrouping::name, {.beginNs = 200, .endNs = 300});
    const OpGroup& gemm = named(table, "attn.qkv");
    EXPECT_EQ(gemm.count, 2);
    EXPECT_DOUBLE_EQ(gemm.totalNs, 200);
    EXPECT_DOUBLE_EQ(gemm.flops, 600); // half of one op, on two ranks
    EXPECT_DOUBLE_EQ(gemm.meanNs(), 200);
    EXPECT_DOUBLE_EQ(named(table, "all-reduce").bytes, 2 * 800 * 50.0 / 200);
    EXPECT_EQ(table.groups.size(), 2U) << "what only touches the range does not count";
    EXPECT_DOUBLE_EQ(table.share(gemm), 200.0 / (3 * 100));
}

TEST(OpTable, CountsTheSelectedRanksClassesAndOpsOnly)
{
    const Trace trace = handWritten();
    const OpTable one = opTable(trace, OpGrouping::opClass, {.ranks = {1, 0}});
    EXPECT_EQ(one.ranks, 1);
    EXPECT_DOUBLE_EQ(named(one, "forward").totalNs, 300);
    EXPECT_DOUBLE_EQ(named(one, "tp comm").totalNs, 200);
    EXPECT_DOUBLE_EQ(one.share(named(one, "forward")), 0.3);

    const OpTable comm = opTable(trace, OpGrouping::name, {.classes = isCommunication});
    ASSERT_EQ(comm.groups.size(), 1U);
    EXPECT_EQ(comm.groups.front().opClass, OpClass::tpComm);

    const OpTable second =
        opTable(trace, OpGrouping::name, {.filter = [](std::uint32_t t, std::size_t i) { return t == 1 && i == 1; }});
    ASSERT_EQ(second.groups.size(), 1U);
    EXPECT_EQ(second.all.count, 2);

    EXPECT_FALSE(opTable(trace, OpGrouping::name, {.ranks = {0, 1}}).ofKernels);
    EXPECT_TRUE(opTable(trace, OpGrouping::name, {.ranks = {0, 0}}).groups.empty());
}

TEST(OpTable, RanksAndStagesComeInTheirOrder)
{
    const Trace trace = handWritten();
    const OpTable ranks = opTable(trace, OpGrouping::rank, {.beginNs = 400});
    ASSERT_EQ(ranks.groups.size(), 2U);
    EXPECT_EQ(ranks.groups[0].name, "rank 0"); // 50 ns before 400
    EXPECT_EQ(ranks.groups[1].name, "rank 2");
    const OpTable stages = opTable(trace, OpGrouping::stage);
    ASSERT_EQ(stages.groups.size(), 2U);
    EXPECT_EQ(stages.groups[0].name, "none");
    EXPECT_EQ(stages.groups[1].name, "stage 0");
}

TEST(OpHistogram, FourBucketsAnOctaveHoldEveryDuration)
{
    int before = -1;
    for (std::int64_t ns = 1; ns < 4096; ++ns) {
        const int bucket = OpHistogram::bucketOf(ns);
        EXPECT_GE(bucket, before);
        before = bucket;
        EXPECT_LE(OpHistogram::beginNs(bucket), static_cast<double>(ns));
        if (ns >= 4) { // below, there are fewer whole numbers than buckets
            EXPECT_GT(OpHistogram::beginNs(bucket + 1), static_cast<double>(ns));
        }
    }
    EXPECT_EQ(OpHistogram::bucketOf(1024) + 4, OpHistogram::bucketOf(2048));
    EXPECT_EQ(OpHistogram::bucketOf(0), 0);
    OpHistogram histogram;
    histogram.add(1024, 3);
    histogram.add(1025, 2);
    EXPECT_EQ(histogram.counts().back(), 5);
    EXPECT_EQ(static_cast<int>(histogram.counts().size()), OpHistogram::bucketOf(1024) + 1);
}

/// However the same ops are cut, they are the same; and what a folded trace says of all ranks is what each rank for itself says.
TEST(OpTable, AddsUpTheSameByNameClassRankAndStageFoldedOrNot)
{
    const auto catalogue = Catalogue::load(Catalogue::findAssets());
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios")) {
        const std::string file = entry.path().filename();
        if (!file.starts_with("05-") && !file.starts_with("03-"))
            continue;
        const Scenario scenario = readScenario(entry.path(), catalogue);
        const auto folded = simulate(scenario), full = simulate(scenario, {.full = true});
        const Trace trace = folded->trace(TraceDetail::kernels), every = full->trace(TraceDetail::kernels);
        const OpTable byName = opTable(trace, OpGrouping::name);
        std::int64_t buckets = 0;
        for (const std::int64_t count : byName.all.durations.counts())
            buckets += count;
        EXPECT_EQ(buckets, byName.all.count);
        const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); };
        for (const OpGrouping grouping : kOpGroupings) {
            const OpTable cut = opTable(trace, grouping), ofEvery = opTable(every, grouping);
            for (const OpTable& other : {cut, ofEvery}) {
                EXPECT_EQ(other.all.count, byName.all.count) << file << opGroupingName(grouping);
                EXPECT_EQ(other.ranks, scenario.layout.worldSize());
                EXPECT_TRUE(near(other.all.totalNs, byName.all.totalNs));
                EXPECT_TRUE(near(other.all.bytes, byName.all.bytes));
                EXPECT_TRUE(near(other.all.flops, byName.all.flops));
                EXPECT_EQ(other.all.longestNs, byName.all.longestNs);
            }
            if (grouping != OpGrouping::rank) {
                EXPECT_EQ(cut.groups.size(), ofEvery.groups.size());
            }
        }
        // Two halves of the step are the step.
        double halves = 0;
        for (const OpSelection& half : {OpSelection{.endNs = trace.endNs / 2}, OpSelection{.beginNs = trace.endNs / 2}})
            halves += opTable(trace, OpGrouping::opClass, half).all.totalNs;
        EXPECT_TRUE(near(halves, byName.all.totalNs));
    }
}

TEST(OpTable, UnevenRoutingMakesNeitherTokensNorWorkAndProductsNoSlower)
{
    Scenario scenario = test::smallScenario(1, 1, 4);
    scenario.layout.ep = 4;
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 2048;
    scenario.training.stack.launchUs = scenario.training.stack.backwardLaunchUs = 0;
    const auto tableOf = [&scenario](double imbalance) {
        scenario.training.moe.imbalance = imbalance;
        return opTable(simulate(scenario)->trace(TraceDetail::kernels), OpGrouping::name);
    };
    const OpTable even = tableOf(1), uneven = tableOf(2);
    EXPECT_NEAR(uneven.all.flops, even.all.flops, 1e-9 * even.all.flops);
    EXPECT_NEAR(uneven.all.bytes, even.all.bytes, 1e-9 * even.all.bytes);
    for (const char* name : {"moe.up", "moe.down", "moe.up.wgrad"}) {
        EXPECT_GE(named(uneven, name).flopsPerSecond(), 0.99 * named(even, name).flopsPerSecond()) << name;
        EXPECT_LE(named(uneven, name).flopsPerSecond(), 989e12) << name;
    }
    EXPECT_GT(static_cast<double>(named(uneven, "moe.up").longestNs), 1.5 * static_cast<double>(named(even, "moe.up").longestNs));
}

} // namespace
