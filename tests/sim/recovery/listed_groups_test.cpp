// Calls that name no group: gloo's, in PyTorch's traces.
#include "sim/recovery/from_recording.h"
#include "sim/recovery/listed_groups.h"
#include "sim/recovery/recover.h"
#include "sim/recovery/run_answers.h"
#include "sim/trace/readers/read_recording.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

using namespace sim;

namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;

/// Two stages of two copies on one machine: each copy's gradients meet those of its stage, twenty times, whoever comes last;
/// every stage sends ten times and receives ten times.
RunEvidence twoByTwo(unsigned seed, bool areAlike = true)
{
    std::mt19937 random(seed);
    std::uniform_int_distribution<std::int64_t> late(0, 3 * kMillisecondNs);
    RunEvidence evidence;
    evidence.worldSize = 4;
    evidence.names = {"all_reduce", "send", "recv"};
    evidence.groups = {{.name = "0", .description = "default_pg", .ranks = {0, 1, 2, 3}, .evidence = {}},
                       {.name = "1", .description = "mesh_pp", .ranks = {0, 2}, .evidence = {}},
                       {.name = "2", .description = "mesh_pp", .ranks = {1, 3}, .evidence = {}},
                       {.name = "3", .description = "mesh_dp", .ranks = {0, 1}, .evidence = {}},
                       {.name = "4", .description = "mesh_dp", .ranks = {2, 3}, .evidence = {}}};
    for (int r = 0; r < 4; ++r)
        evidence.ranks.push_back({.rank = r,
                                  .coordinates = {},
                                  .host = "trainer-7",
                                  .comms = {},
                                  .asked = {},
                                  .work = {},
                                  .marks = {},
                                  .steps = {},
                                  .windows = {}});
    for (int stage = 0; stage < 2; ++stage)
        for (int k = 0; k < 20 + (areAlike ? 0 : stage); ++k) {
            const std::int64_t asked = (20 * k + 10 * stage) * kMillisecondNs, a = asked + late(random), b = asked + late(random);
            const std::int64_t end = std::max(a, b) + kMillisecondNs;
            for (const auto& [copy, start] : {std::pair{0, a}, {1, b}})
                evidence.ranks[static_cast<std::size_t>(2 * stage + copy)].comms.push_back(
                    {.startNs = start, .endNs = end + late(random) / 1000, .exchange = Exchange::allReduce});
        }
    for (RankEvidence& rank : evidence.ranks) {
        for (int k = 0; k < 10; ++k)
            for (const auto& [exchange, name] : {std::pair{Exchange::send, 1U}, {Exchange::receive, 2U}})
                rank.comms.push_back({.startNs = 40 * k * kMillisecondNs,
                                      .endNs = (40 * k + 2) * kMillisecondNs,
                                      .exchange = exchange,
                                      .name = name});
        std::stable_sort(rank.comms.begin(), rank.comms.end(),
                         [](const CommSpan& a, const CommSpan& b) { return a.startNs < b.startNs; });
    }
    return evidence;
}

} // namespace

TEST(ListedGroups, AreThoseWhoseMembersMeet)
{
    for (unsigned seed = 0; seed < 20; ++seed) {
        RunEvidence evidence = twoByTwo(seed);
        groupByLists(evidence);
        for (const RankEvidence& rank : evidence.ranks)
            for (const CommSpan& span : rank.comms) {
                const bool isCall = span.exchange == Exchange::allReduce;
                ASSERT_EQ(span.group, isCall ? 3 + rank.rank / 2 : 1 + rank.rank % 2) << rank.rank;
                ASSERT_EQ(span.peer, isCall ? -1 : (rank.rank + 2) % 4) << rank.rank;
            }
    }
}

TEST(ListedGroups, AreToldByTheCallsAloneWhereThoseDiffer)
{
    RunEvidence evidence = twoByTwo(1, false); // the second stage has one gradient more
    evidence.ranks[3].host = "trainer-8";
    groupByLists(evidence);
    for (const RankEvidence& rank : evidence.ranks)
        for (const CommSpan& span : rank.comms)
            if (span.exchange == Exchange::allReduce) {
                ASSERT_EQ(span.group, 3 + rank.rank / 2) << rank.rank;
            }
}

TEST(ListedGroups, StayOpenWhereNothingTellsThemApart)
{
    RunEvidence evidence = twoByTwo(1); // of two machines, whose clocks nobody has compared
    evidence.ranks[3].host = "trainer-8";
    groupByLists(evidence);
    for (const RankEvidence& rank : evidence.ranks)
        for (const CommSpan& span : rank.comms)
            ASSERT_EQ(span.group, -1) << rank.rank;
    RunEvidence inStep = twoByTwo(1); // all ranks call at the same moments: whoever they meet, they seem to meet all
    for (RankEvidence& rank : inStep.ranks)
        for (CommSpan& span : rank.comms)
            if (span.exchange == Exchange::allReduce && rank.rank >= 2) {
                span.startNs -= 10 * kMillisecondNs;
                span.endNs -= 10 * kMillisecondNs;
            }
    for (RankEvidence& rank : inStep.ranks)
        for (CommSpan& span : rank.comms)
            span.endNs += 4 * kMillisecondNs;
    groupByLists(inStep);
    for (const RankEvidence& rank : inStep.ranks)
        for (const CommSpan& span : rank.comms)
            ASSERT_TRUE(span.group == -1 || isTransfer(span.exchange)) << rank.rank;
    for (RankEvidence& rank : evidence.ranks)
        rank.host = "localhost"; // every machine is called so
    EXPECT_FALSE(isOfOneHost(evidence));
}

TEST(ListedGroups, AMachineHasOneClockUnlessItsCallsSayOtherwise)
{
    RunEvidence evidence = twoByTwo(1);
    for (RankEvidence& rank : evidence.ranks) // nothing joins the stages
        std::erase_if(rank.comms, [](const CommSpan& span) { return isTransfer(span.exchange); });
    groupByLists(evidence);
    const ClockAlignment one = alignClocks(evidence, matchCollectives(evidence));
    EXPECT_TRUE(one.isAligned);
    EXPECT_NE(one.why.find("recorded on host trainer-7"), std::string::npos) << one.why;
    for (CommSpan& span : evidence.ranks[2].comms) { // a name that two machines share
        span.startNs += 500 * kMillisecondNs;
        span.endNs += 500 * kMillisecondNs;
    }
    for (std::size_t i = 0; i < evidence.ranks[2].comms.size(); ++i)
        evidence.ranks[2].comms[i].endNs += static_cast<std::int64_t>(i % 3) * kMillisecondNs;
    const ClockAlignment two = alignClocks(evidence, matchCollectives(evidence));
    EXPECT_EQ(two.why.find("recorded on host"), std::string::npos) << two.why;
}

/// Four processes of PyTorch and gloo, one of which waits for its input: it is named, across data-parallel copies and stages.
TEST(ListedGroups, NameTheRankThatWaitsForItsInput)
{
    std::vector<std::filesystem::path> files;
    for (int rank = 0; rank < 4; ++rank)
        files.push_back(std::filesystem::path(RANKSCOPE_TEST_DATA) / "torch-parallel" / "gloo-late-input" /
                        ("rank" + std::to_string(rank) + ".pt.trace.json.gz"));
    const Recovered run = recover(readRecording(files));
    EXPECT_TRUE(run.clock.isAligned) << run.clock.why;
    ASSERT_NE(run.axes.find("dp"), nullptr);
    ASSERT_NE(run.axes.find("pp"), nullptr);
    for (const std::string& problem : run.problems)
        ADD_FAILURE() << problem;
    const Arrivals late = arrivalsOf(run);
    EXPECT_EQ(late.straggler, 0) << late.text;
    EXPECT_GT(static_cast<double>(late.ranks[0].causedNs), 0.9 * static_cast<double>(late.causedNs)) << late.text;
    EXPECT_EQ(late.text.find("device"), std::string::npos) << "there is none: " << late.text;
    ASSERT_TRUE(run.schedule);
    EXPECT_EQ(run.schedule->kind, "1f1b");
    EXPECT_EQ(run.schedule->microbatches, 2);
}

/// Tensor pairs, data pairs and pipelines of two; kernels that send and receive, as graphs launch them, say nothing of their
/// group, and all replicas end them together.
TEST(ListedGroups, OfPipelinesHaveTheSendsThatNameNone)
{
    for (const bool areListed : {true, false}) {
        RunEvidence evidence;
        evidence.worldSize = 8;
        evidence.names = {"gemm", "ncclDevKernel_SendRecv"};
        for (int r = 0; r < 4 && areListed; ++r)
            evidence.groups.push_back(
                {.name = std::to_string(r), .description = "PIPELINE_MODEL_PARALLEL_GROUP", .ranks = {r, r + 4}, .evidence = {}});
        for (int r = 0; r < 8; ++r) {
            RankEvidence& rank = evidence.ranks.emplace_back();
            rank.rank = r;
            for (std::int64_t step = 0; step < 3; ++step) {
                const std::int64_t begin = step * 100 * kMillisecondNs;
                rank.steps.push_back({.number = step, .startNs = begin, .endNs = begin + 100 * kMillisecondNs});
                for (std::int64_t k = 0; k < 5; ++k) {
                    const std::int64_t at = begin + k * 10 * kMillisecondNs;
                    rank.work.push_back({.startNs = at, .endNs = at + 8 * kMillisecondNs, .name = 0});
                    rank.comms.push_back({.startNs = at + 8 * kMillisecondNs,
                                          .endNs = at + 9 * kMillisecondNs + r * 100,
                                          .exchange = Exchange::sendReceive,
                                          .stream = 20,
                                          .name = 1});
                }
            }
        }
        const Recovered run = recover(evidence);
        const RecoveredAxis* const experts = run.axes.find("ep");
        if (areListed) {
            EXPECT_EQ(experts, nullptr) << experts->evidence;
            EXPECT_EQ(run.axes.sizeOf("pp"), 2);
        } else if (experts != nullptr) {
            EXPECT_LE(experts->sure, 0.4) << experts->evidence;
        }
    }
}
