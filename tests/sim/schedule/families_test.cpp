// Orders exact against the frameworks' generators, closed forms, and what each family refuses.
#include "sim/schedule/families.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/csv.h"
#include "sim/schedule/evaluate.h"
#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

namespace {

using sim::ActionKind;
using sim::Schedule;
using sim::ScheduleRequest;
using testing::HasSubstr;

ScheduleRequest request(const std::string& kind, int ranks, int virtualStages, int microbatches, int group = 0)
{
    ScheduleRequest request;
    request.kind = kind;
    request.ranks = ranks;
    request.virtualStages = virtualStages;
    request.microbatches = microbatches;
    request.microbatchGroup = group;
    return request;
}

void expectOrder(const Schedule& schedule, const golden::Case& golden)
{
    EXPECT_EQ(schedule.stageToRank, golden.stageToRank);
    EXPECT_EQ(schedule.virtualStages, golden.virtualStages);
    ASSERT_EQ(schedule.actions.size(), golden.actions.size());
    for (std::size_t rank = 0; rank < golden.actions.size(); ++rank)
        EXPECT_EQ(golden::text(schedule.actions[rank]), golden.actions[rank]) << "rank " << rank;
}

TEST(GpipeSchedule, IsPyTorchs)
{
    for (const golden::Case& golden : golden::cases("pytorch_gpipe")) {
        SCOPED_TRACE(golden.id);
        expectOrder(sim::makeSchedule(request("gpipe", golden.ranks, 1, golden.microbatches)), golden);
    }
}

TEST(OneFOneBSchedule, IsPyTorchsAndMegatrons)
{
    for (const char* name : {"pytorch_1f1b", "megatron_1f1b"})
        for (const golden::Case& golden : golden::cases(name)) {
            SCOPED_TRACE(golden.id);
            expectOrder(sim::makeSchedule(request("1f1b", golden.ranks, 1, golden.microbatches)), golden);
        }
}

TEST(LoopedBfsSchedule, IsPyTorchs)
{
    for (const golden::Case& golden : golden::cases("pytorch_loopedbfs")) {
        SCOPED_TRACE(golden.id);
        expectOrder(sim::makeSchedule(request("looped-bfs", golden.ranks, golden.virtualStages, golden.microbatches)), golden);
    }
}

TEST(InterleavedSchedule, IsPyTorchs)
{
    for (const golden::Case& golden : golden::cases("pytorch_interleaved1f1b")) {
        SCOPED_TRACE(golden.id);
        const int rounds = std::max(1, golden.microbatches / golden.ranks);
        expectOrder(sim::makeSchedule(request("interleaved-1f1b", golden.ranks, golden.virtualStages, golden.microbatches,
                                              golden.microbatches / rounds)),
                    golden);
    }
}

TEST(InterleavedSchedule, IsMegatrons)
{
    for (const golden::Case& golden : golden::cases("megatron_interleaved")) {
        SCOPED_TRACE(golden.id);
        ScheduleRequest asked =
            request("interleaved-1f1b", golden.ranks, golden.virtualStages, golden.microbatches, golden.microbatchGroup);
        asked.overlapExpertComm = golden.overlapExpertComm;
        const Schedule schedule = sim::makeSchedule(asked);
        expectOrder(schedule, golden);
        for (std::size_t rank = 0; rank < schedule.actions.size(); ++rank) {
            const auto& actions = schedule.actions[rank];
            std::string table;
            std::string chunks;
            for (const sim::Action& action : actions) {
                const int chunk = action.stage / golden.ranks;
                const bool isForward = action.kind == ActionKind::forward;
                if (isForward)
                    table += (table.empty() ? "" : " ") + std::to_string(action.microbatch) + "." + std::to_string(chunk);
                chunks += (chunks.empty() ? "" : " ") + std::to_string(isForward ? chunk + 1 : -chunk - 1);
            }
            if (!golden.scheduleTable.empty()) { // the large cases leave it out
                EXPECT_EQ(table, golden.scheduleTable);
            }
            if (!golden.chunkOrder.empty()) {
                EXPECT_EQ(chunks, golden.chunkOrder[rank]);
            }
            const auto firstBackward = std::find_if(actions.begin(), actions.end(),
                                                    [](const sim::Action& action) { return action.kind != ActionKind::forward; });
            // A steady pair begins with its forward.
            const int most = golden.microbatches * golden.virtualStages;
            EXPECT_EQ(firstBackward - actions.begin(), std::min(most, golden.warmups[rank] + 1)) << "rank " << rank;
        }
    }
}

TEST(InterleavedSchedule, OrderOfMegatronsDocumentedExample)
{
    // Docstring of convert_schedule_table_to_order: 2 ranks, groups of 3, 5 micro-batches, 2 chunks.
    const Schedule schedule = sim::makeSchedule(request("interleaved-1f1b", 2, 2, 5, 3));
    EXPECT_EQ(golden::text({schedule.actions[0].begin(), schedule.actions[0].begin() + 7}), "0F0 0F1 0F2 2F0 2F1 2F2 2B0");
}

// Closed forms, in units of one chunk's passes: F, B = I + W, T = F + B.

constexpr sim::PassTimes kUneven{10, 12, 8, 0};
constexpr double kForwardBackward = 30;

TEST(GpipeSchedule, ClosedForms)
{
    for (const int p : {1, 2, 4, 7})
        for (const int m : {1, 2, 5, 16}) {
            const auto times = sim::evaluateSchedule(sim::makeSchedule(request("gpipe", p, 1, m)), kUneven);
            EXPECT_DOUBLE_EQ(times.makespan, (m + p - 1) * kForwardBackward);
            EXPECT_DOUBLE_EQ(times.bubbleOverIdeal, (p - 1.0) / m);
            EXPECT_DOUBLE_EQ(times.bubbleOfMakespan, (p - 1.0) / (m + p - 1));
            EXPECT_THAT(times.peakActivations, testing::Each(m));
        }
}

TEST(OneFOneBSchedule, ClosedForms)
{
    for (const int p : {1, 2, 4, 7})
        for (const int m : {1, 2, 4, 8, 14, 16, 28}) {
            const Schedule schedule = sim::makeSchedule(request("1f1b", p, 1, m));
            const auto times = sim::evaluateSchedule(schedule, kUneven);
            EXPECT_DOUBLE_EQ(times.makespan, (m + p - 1) * kForwardBackward);
            EXPECT_DOUBLE_EQ(times.bubbleOverIdeal, (p - 1.0) / m);
            for (int rank = 0; rank < p; ++rank)
                EXPECT_EQ(times.peakActivations[static_cast<std::size_t>(rank)], std::min(m, p - rank));
            if (p > 1 && m % p == 0) { // neighbours play ping-pong: latency is paid for each micro-batch
                const auto delayed = sim::evaluateSchedule(schedule, {10, 12, 8, 1});
                const int latencies = 2 * (p - 1) * (m / p + 1) - 2;
                EXPECT_DOUBLE_EQ(delayed.makespan - times.makespan, latencies) << "p " << p << " m " << m;
            }
        }
}

TEST(InterleavedSchedule, ClosedFormsForEveryLegalGroup)
{
    int cases = 0;
    for (const int p : {2, 3, 4, 8})
        for (const int v : {2, 3, 4})
            for (int m = p; m <= 3 * p + 1; ++m)
                for (int group = p; group <= m; ++group) {
                    if (m % group != 0 && m % group < p)
                        continue;
                    ++cases;
                    ScheduleRequest asked = request("interleaved-1f1b", p, v, m, group);
                    const Schedule schedule = sim::makeSchedule(asked);
                    const auto times = sim::evaluateSchedule(schedule, kUneven);
                    EXPECT_DOUBLE_EQ(times.makespan, (m * v + p - 1) * kForwardBackward);
                    if (group == p && m % p == 0) { // latency is paid once, whatever the number of micro-batches
                        EXPECT_DOUBLE_EQ(sim::evaluateSchedule(schedule, {10, 12, 8, 1}).makespan - times.makespan,
                                         2.0 * (p * v - 1));
                    }
                    asked.overlapExpertComm = true;
                    const auto overlapped = sim::evaluateSchedule(sim::makeSchedule(asked));
                    for (int rank = 0; rank < p; ++rank) {
                        const int held = (v - 1) * group + 2 * (p - 1 - rank) + 1;
                        EXPECT_EQ(times.peakActivations[static_cast<std::size_t>(rank)], std::min(m * v, held));
                        EXPECT_EQ(overlapped.peakActivations[static_cast<std::size_t>(rank)], std::min(m * v, held + 1));
                    }
                }
    EXPECT_GT(cases, 100);
}

TEST(InterleavedSchedule, BubbleShrinksByTheNumberOfChunks)
{
    // A stage of one unit, cut into v chunks.
    const auto plain = sim::evaluateSchedule(sim::makeSchedule(request("1f1b", 4, 1, 8)), {1, 1, 1, 0});
    for (const int v : {2, 4, 8}) {
        const double chunk = 1.0 / v;
        const auto interleaved =
            sim::evaluateSchedule(sim::makeSchedule(request("interleaved-1f1b", 4, v, 8)), {chunk, chunk, chunk, 0});
        EXPECT_NEAR(interleaved.bubbleOverIdeal, plain.bubbleOverIdeal / v, 1e-12);
    }
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("interleaved-1f1b", 4, 2, 8))).makespan, 57);
    EXPECT_DOUBLE_EQ(sim::evaluateSchedule(sim::makeSchedule(request("interleaved-1f1b", 8, 4, 32))).makespan, 405);
}

TEST(LoopedBfsSchedule, ClosedForms)
{
    for (const int p : {1, 2, 4, 5})
        for (const int v : {1, 2, 4})
            for (const int m : {p, p + 1, 3 * p}) {
                const auto times = sim::evaluateSchedule(sim::makeSchedule(request("looped-bfs", p, v, m)), kUneven);
                EXPECT_DOUBLE_EQ(times.makespan, (m * v + p - 1) * kForwardBackward);
                EXPECT_THAT(times.peakActivations, testing::Each(m * v));
            }
}

TEST(Schedules, RunEveryPassOnceAndInOrderWhateverTheSizes)
{
    std::mt19937 random(5);
    for (int round = 0; round < 400; ++round) {
        const ScheduleRequest asked = oracle::randomRequest(random);
        SCOPED_TRACE(asked.kind + " p " + std::to_string(asked.ranks) + " v " + std::to_string(asked.virtualStages) + " m " +
                     std::to_string(asked.microbatches) + " group " + std::to_string(asked.microbatchGroup));
        const Schedule schedule = sim::makeSchedule(asked);
        EXPECT_EQ(schedule.kind, asked.kind);
        ASSERT_EQ(schedule.stages(), asked.ranks * asked.virtualStages);
        std::set<sim::Action> seen;
        for (int rank = 0; rank < asked.ranks; ++rank) {
            EXPECT_EQ(static_cast<int>(schedule.stagesOfRank(rank).size()), asked.virtualStages);
            for (const sim::Action& action : schedule.actions[static_cast<std::size_t>(rank)]) {
                ASSERT_EQ(schedule.stageToRank[static_cast<std::size_t>(action.stage)], rank);
                ASSERT_TRUE(seen.insert(action).second) << sim::actionText(action);
                if (action.kind == ActionKind::backward) {
                    ASSERT_TRUE(seen.contains({ActionKind::forward, action.stage, action.microbatch}));
                }
            }
        }
        EXPECT_EQ(static_cast<int>(seen.size()), 2 * schedule.stages() * asked.microbatches);
        EXPECT_THAT(sim::checkSchedule(schedule), testing::IsEmpty());
        const sim::PassTimes passTimes{1.0 + static_cast<double>(random() % 5), 1.0 + static_cast<double>(random() % 5),
                                       static_cast<double>(random() % 5), static_cast<double>(random() % 3)};
        const auto ends = oracle::longestPath(schedule, passTimes);
        ASSERT_TRUE(ends);
        EXPECT_EQ(sim::evaluateSchedule(schedule, passTimes).end, *ends);

        Schedule again = sim::parseScheduleCsv(sim::scheduleCsv(schedule));
        EXPECT_EQ(again.kind, "custom");
        again.kind = schedule.kind;
        EXPECT_EQ(again, schedule) << "through its CSV";
    }
}

// What is refused, and how.

std::string refusal(const ScheduleRequest& asked)
{
    try {
        sim::makeSchedule(asked);
    } catch (const sim::Error& error) {
        return error.what();
    }
    return "accepted";
}

TEST(ScheduleFamilies, AreTheContractsInItsOrder)
{
    std::vector<std::string> kinds;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        kinds.emplace_back(family.kind);
        EXPECT_FALSE(family.title.empty());
        EXPECT_FALSE(family.character.empty());
        EXPECT_FALSE(family.source.empty());
        EXPECT_EQ(sim::findScheduleFamily(family.kind), &family);
    }
    EXPECT_THAT(kinds, testing::ElementsAre("gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-h2", "zb-1p", "zb-2p",
                                            "zb-v", "v-half", "v-min", "interleaved-zb", "dualpipe", "dualpipe-v", "seq-1f1b",
                                            "auto", "custom"));
    EXPECT_EQ(sim::findScheduleFamily("2f2b"), nullptr);
}

TEST(ScheduleFamilies, SayPlainlyWhatIsNotAvailableYet)
{
    int unavailable = 0;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies()) {
        if (family.available)
            continue;
        ++unavailable;
        const ScheduleRequest asked = request(std::string(family.kind), 4, family.minVirtualStages, 8);
        EXPECT_EQ(refusal(asked),
                  "\"" + asked.kind + "\" is not available yet; available: gpipe, 1f1b, interleaved-1f1b, looped-bfs, custom");
        EXPECT_EQ(family.unmet(asked), refusal(asked));
        EXPECT_THROW(family.make(asked), sim::Error);
    }
    EXPECT_EQ(unavailable, 12);
}

TEST(ScheduleFamilies, NameTheNearestKindToAMisspeltOne)
{
    EXPECT_THAT(refusal(request("1F1B", 2, 1, 4)), HasSubstr("nearest: \"1f1b\""));
    EXPECT_THAT(refusal(request("interleaved", 2, 1, 4)), HasSubstr("no schedule \"interleaved\"; nearest: \"interleaved-"));
    EXPECT_THAT(refusal(request("g-pipe", 2, 1, 4)), HasSubstr("nearest: \"gpipe\""));
    EXPECT_THAT(refusal(request("", 2, 1, 4)), HasSubstr("known: gpipe, 1f1b"));
}

TEST(ScheduleFamilies, RefuseSizesThatCannotBe)
{
    for (const char* kind : {"gpipe", "1f1b", "looped-bfs"}) {
        EXPECT_THAT(refusal(request(kind, 0, 1, 4)), HasSubstr("needs at least 1 pipeline rank, it has 0"));
        EXPECT_THAT(refusal(request(kind, 2, 1, 0)), HasSubstr("needs at least 1 micro-batch, it has 0"));
        EXPECT_THAT(refusal(request(kind, 2, 0, 4)), HasSubstr("asked for 0; nearest: 1"));
        EXPECT_THAT(refusal(request(kind, 1 << 30, 1, 1 << 30)), HasSubstr("more than 100000000 actions"));
    }
    EXPECT_THAT(refusal(request("1f1b", 2, 3, 4)),
                HasSubstr("1f1b has exactly 1 virtual stage a rank, asked for 3; nearest: 1, or interleaved-1f1b"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 2, 1, 4)), HasSubstr("asked for 1; nearest: 2, or 1f1b"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 4, 2, -8)), HasSubstr("it has -8"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 4, 2, 8, -1)), HasSubstr("the interleaving group is -1"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 1 << 16, 1 << 16, 1 << 20)), HasSubstr("more than 100000000 actions"));

    ScheduleRequest overlapped = request("1f1b", 2, 1, 4);
    overlapped.overlapExpertComm = true;
    EXPECT_THAT(refusal(overlapped), HasSubstr("interleaved-1f1b has"));
    ScheduleRequest withActions = request("gpipe", 1, 1, 1);
    withActions.customActions = {"0F0,0B0"};
    EXPECT_THAT(refusal(withActions), HasSubstr("remove them, or use custom"));
}

TEST(InterleavedSchedule, RefusesOnePipelineRankAsMegatronDoes)
{
    const std::string golden = golden::readFile("groups/megatron_error_w8_tp2_cp1_ep1_pp1_vpp2.json");
    ASSERT_THAT(golden, HasSubstr("size should be greater than 1 with interleaved schedule"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 1, 2, 8)), HasSubstr("at least 2 pipeline ranks, it has 1"));
}

TEST(InterleavedSchedule, SaysWhichGroupsAndMicrobatchesWouldDo)
{
    EXPECT_EQ(
        refusal(request("interleaved-1f1b", 4, 2, 10)),
        "interleaved-1f1b on 4 pipeline ranks, groups of 4 (default: as many as ranks): 10 micro-batches leave a last group "
        "of 2, which is neither 0 nor at least 4; nearest: 8 or 12 micro-batches, or groups of 5, 6 or 10");
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 2)),
              "interleaved-1f1b on 4 pipeline ranks needs at least 4 micro-batches, it has 2; nearest: 4");
    EXPECT_THAT(refusal(request("interleaved-1f1b", 4, 2, 8, 3)),
                HasSubstr("a group must hold at least 4 micro-batches; nearest: groups of 4"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 4, 2, 8, 9)), HasSubstr("groups of 9 out of 8 micro-batches; nearest: 9"));
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 11, 7)), "accepted") << "the last group of 4 fills the pipeline";
}

TEST(InterleavedSchedule, WhatItSuggestsIsLegal)
{
    int refused = 0;
    for (int p = 2; p <= 6; ++p)
        for (int m = 1; m <= 20; ++m)
            for (int group = 0; group <= 20; ++group) {
                const ScheduleRequest asked = request("interleaved-1f1b", p, 2, m, group);
                const std::string message = refusal(asked);
                if (message == "accepted")
                    continue;
                ++refused;
                SCOPED_TRACE(message);
                const auto numbersAfter = [&](const std::string& words) {
                    std::vector<int> numbers;
                    const std::size_t begin = message.find(words, message.find("nearest:"));
                    if (begin == std::string::npos)
                        return numbers;
                    std::size_t end = message.find_first_not_of("0123456789, or", begin + words.size());
                    const std::string list = message.substr(begin + words.size(), end - begin - words.size());
                    const std::regex number("[0-9]+");
                    for (std::sregex_iterator it(list.begin(), list.end(), number); it != std::sregex_iterator(); ++it)
                        numbers.push_back(std::stoi(it->str()));
                    return numbers;
                };
                int suggested = 0;
                for (const int size : numbersAfter("groups of ")) {
                    ++suggested;
                    const int microbatches = m < p ? size : m;
                    EXPECT_EQ(refusal(request("interleaved-1f1b", p, 2, microbatches, size)), "accepted");
                }
                for (const int count : numbersAfter("nearest: ")) {
                    ++suggested;
                    const bool hasGroup = message.find(" in groups of ") != std::string::npos;
                    EXPECT_EQ(refusal(request("interleaved-1f1b", p, 2, count, hasGroup ? p : group)), "accepted");
                }
                EXPECT_GT(suggested, 0);
            }
    EXPECT_GT(refused, 500);
}

} // namespace
