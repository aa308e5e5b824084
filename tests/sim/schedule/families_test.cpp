// What holds for every family: complete, in order, free of deadlock for random sizes; and what each refuses.
#include "sim/schedule/families.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/csv.h"
#include "sim/schedule/evaluate.h"
#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/oracle.h"
#include "tests/sim/schedule/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace {

using sim::ActionKind;
using sim::Schedule;
using sim::ScheduleRequest;
using testing::HasSubstr;

TEST(Schedules, RunEveryPassOnceAndInOrderWhateverTheSizes)
{
    std::mt19937 random(5);
    for (int round = 0; round < 1000; ++round) {
        const ScheduleRequest asked = oracle::randomRequest(random);
        SCOPED_TRACE(asked.kind + " p " + std::to_string(asked.ranks) + " v " + std::to_string(asked.virtualStages) + " m " +
                     std::to_string(asked.microbatches) + " group " + std::to_string(asked.microbatchGroup));
        const Schedule schedule = sim::makeSchedule(asked);
        EXPECT_EQ(schedule.kind, asked.kind);
        ASSERT_EQ(schedule.stages(), asked.ranks * asked.virtualStages);
        std::set<sim::Action> seen;
        int passes = 0; // in halves of a pass, so that I and W make a B
        for (int rank = 0; rank < asked.ranks; ++rank) {
            EXPECT_EQ(static_cast<int>(schedule.stagesOfRank(rank).size()), asked.virtualStages);
            for (sim::Action action : schedule.actions[static_cast<std::size_t>(rank)]) {
                ASSERT_EQ(schedule.stageToRank[static_cast<std::size_t>(action.stage)], rank);
                action.overlapsNext = false;
                ASSERT_TRUE(seen.insert(action).second) << sim::actionText(action);
                passes += action.kind == ActionKind::forward || action.kind == ActionKind::backward ? 2 : 1;
                if (action.kind == ActionKind::backward || action.kind == ActionKind::backwardInput) {
                    ASSERT_TRUE(seen.contains({.stage = action.stage, .microbatch = action.microbatch}));
                }
            }
        }
        EXPECT_EQ(passes, 4 * schedule.stages() * schedule.microbatches / schedule.chains);
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

    ScheduleRequest overlapped = request("gpipe", 2, 1, 4);
    overlapped.overlapExpertComm = true;
    EXPECT_THAT(refusal(overlapped), HasSubstr("interleaved-1f1b have"));
    ScheduleRequest sliced = request("1f1b", 2, 1, 4);
    sliced.slices = 2;
    EXPECT_THAT(refusal(sliced), HasSubstr("asked for 2 slices; nearest: 1, or seq-1f1b"));
    EXPECT_THAT(refusal(request("dualpipe", 3, 2, 12)), HasSubstr("even number of pipeline ranks, it has 3; nearest: 2 or 4"));
    EXPECT_THAT(refusal(request("dualpipe", 4, 2, 6)), HasSubstr("at least 8 micro-batches"));
    EXPECT_THAT(refusal(request("dualpipe", 4, 2, 9)), HasSubstr("it has 9; nearest: 8 or 10"));
    EXPECT_THAT(refusal(request("dualpipe-v", 4, 2, 6)), HasSubstr("it has 6; nearest: 8"));
    EXPECT_THAT(refusal(request("zb-v", 4, 1, 6)), HasSubstr("exactly 2 virtual stages a rank, asked for 1; nearest: 2"));
    EXPECT_THAT(refusal(request("interleaved-zb", 4, 2, 10, 4)), HasSubstr("nearest: 8 or 12 micro-batches"));
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

TEST(Schedules, AreRefusedWhereTheirSlotsWouldFillTheMemory)
{
    const std::map<std::string, int> nearest = {{"v-half", 4081}, {"v-min", 4081}, {"zb-v", 7071}, {"auto", 16384}};
    for (const auto& [kind, ranks] : nearest) {
        const sim::ScheduleFamily& family = *sim::findScheduleFamily(kind);
        const auto unmet = [&](int asked) {
            return family.unmet({.kind = kind, .ranks = asked, .virtualStages = 2, .microbatches = 1});
        };
        EXPECT_THAT(unmet(1'000'000).value_or(""), HasSubstr("; nearest: " + std::to_string(ranks)));
        EXPECT_TRUE(unmet(ranks + 1)) << kind;
        EXPECT_EQ(unmet(ranks), std::nullopt) << kind;
    }
}

} // namespace
