// What holds for every family: complete, in order, free of deadlock for random sizes; and what each refuses.
#include "sim/schedule/families/families.h"

#include "sim/error.h"
#include "sim/schedule/check.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/text/csv.h"
#include "tests/sim/schedule/golden.h"
#include "tests/sim/schedule/oracle.h"
#include "tests/sim/schedule/request.h"
#include "tests/support/refusal.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

namespace {

using sim::ActionKind;
using sim::Schedule;
using sim::ScheduleRequest;
using testing::HasSubstr;

/// What the lines say that the kinds are told by: of equal passes, with four micro-batches a rank.
TEST(ScheduleFamilies, AreWhatTheirLinesSay)
{
    const auto timesOf = [](const char* kind, int ranks, int chunks) {
        return sim::evaluateSchedule(sim::makeSchedule(request(kind, ranks, chunks, 4 * ranks)), sim::PassTimes{});
    };
    const auto most = [](const sim::ScheduleTimes& times) {
        return *std::max_element(times.peakActivations.begin(), times.peakActivations.end());
    };
    double gapToHalf = 1, gapToSlices = 1;
    for (const int p : {4, 8, 16}) {
        const auto plain = timesOf("1f1b", p, 1), h1 = timesOf("zb-h1", p, 1), h2 = timesOf("zb-h2", p, 1),
                   v = timesOf("zb-v", p, 2), half = timesOf("v-half", p, 2);
        EXPECT_NEAR(h1.idleOverIdeal, plain.idleOverIdeal / 3, 1e-9) << "a third of 1F1B's bubble";
        EXPECT_NEAR(h2.idleOfSpan, 0, 1e-9) << "no rank waits between its first and last pass";
        EXPECT_NEAR(h2.makespan, h1.makespan, 1e-9) << "yet a step takes as long as by ZB-H1";
        EXPECT_GT(most(h2), 1.7 * most(plain)) << "nearly twice as many";
        EXPECT_LE(most(h2), 2 * most(plain));
        EXPECT_NEAR(v.idleOfSpan, 0, 1e-9);
        EXPECT_LE(most(v) / 2, most(plain) + 1e-9) << "two chunks a rank";
        const double ratio = half.idleOverIdeal / plain.idleOverIdeal;
        EXPECT_LT(ratio, 0.5);
        EXPECT_LT(0.5 - ratio, gapToHalf) << "the more ranks, the nearer to half";
        gapToHalf = 0.5 - ratio;

        ScheduleRequest sliced = request("seq-1f1b", p, 1, 4 * p);
        sliced.slices = 4;
        const auto slices = sim::evaluateSchedule(sim::makeSchedule(sliced), sim::PassTimes{});
        EXPECT_NEAR(slices.idleOverIdeal, plain.idleOverIdeal / 4, 1e-9) << "its bubble is k times smaller";
        const double held = most(slices) / 4 / most(plain); // slices are quarters
        EXPECT_GT(held, 0.25);
        EXPECT_LT(held - 0.25, gapToSlices) << "the more ranks, the nearer";
        gapToSlices = held - 0.25;
    }
    EXPECT_LT(gapToHalf, 0.06);
    EXPECT_LT(gapToSlices, 0.06);
}

/// 1F1B's order always fits, so there is always one.
TEST(ZeroBubbleSchedules, AreFoundForStagesOfEverySizeAndHoldWhatTheyMay)
{
    std::mt19937 random(8);
    const auto upTo = [&](int most) { return 1 + static_cast<int>(random() % static_cast<unsigned>(most)); };
    int fallenBack = 0;
    for (int round = 0; round < 1500; ++round) {
        ScheduleRequest asked = request(round % 2 == 0 ? "zb-1p" : "zb-2p", 1 + upTo(6), 1, upTo(18));
        asked.times.clear();
        asked.memory.clear();
        double most = 0; // p of a stage's micro-batches, of the last stage one
        for (int stage = 0; stage < asked.ranks; ++stage) {
            const double layers = upTo(3), attention = upTo(6); // the latter's has no weight gradient
            asked.times.push_back({.forward = layers * (1 + attention),
                                   .backwardInput = layers * (1 + 2 * attention),
                                   .backwardWeight = layers,
                                   .comm = 0.1 * upTo(9)});
            asked.memory.push_back({.full = 2 * layers, .weight = layers});
            most = std::max(most, (stage > 0 && stage + 1 == asked.ranks ? 1 : asked.ranks) * 2 * layers);
        }
        SCOPED_TRACE(asked.kind + " p " + std::to_string(asked.ranks) + " m " + std::to_string(asked.microbatches));
        const Schedule schedule = sim::makeSchedule(asked);
        EXPECT_EQ(schedule.kind, asked.kind);
        EXPECT_THAT(sim::checkSchedule(schedule), testing::IsEmpty());
        for (const double held : sim::evaluateSchedule(schedule, asked.times, asked.memory).peakActivations)
            EXPECT_LE(held, (round % 2 == 0 ? 1 : 2) * most + 1e-9);
        Schedule oneFOneB = sim::makeSchedule(request("1f1b", asked.ranks, 1, asked.microbatches));
        for (auto& actions : oneFOneB.actions) {
            std::vector<sim::Action> split;
            for (const sim::Action& action : actions) {
                split.push_back(action);
                if (action.kind != ActionKind::backward)
                    continue;
                split.back().kind = ActionKind::backwardInput;
                split.push_back(split.back());
                split.back().kind = ActionKind::backwardWeight;
            }
            actions = split;
        }
        fallenBack += asked.ranks > 2 && asked.microbatches > 2 && schedule.actions == oneFOneB.actions ? 1 : 0;
    }
    EXPECT_GT(fallenBack, 0) << "none of these was one that the greedy does not find an order for";
}

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
    return test::refusalOf([&] { sim::makeSchedule(asked); });
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
        EXPECT_THAT(refusal(request(kind, 0, 1, 4)), HasSubstr("needs at least 1 pipeline rank; it has 0"));
        EXPECT_THAT(refusal(request(kind, 2, 1, 0)), HasSubstr("needs at least 1 micro-batch; it has 0"));
        EXPECT_THAT(refusal(request(kind, 2, 0, 4)), HasSubstr("a rank; it has 0; nearest: 1"));
        EXPECT_THAT(refusal(request(kind, 1 << 30, 1, 1 << 30)), HasSubstr("more than 100,000,000 actions"));
    }
    EXPECT_THAT(refusal(request("1f1b", 2, 3, 4)),
                HasSubstr("1f1b has exactly 1 chunk a rank; it has 3; nearest: 1, or interleaved-1f1b"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 2, 1, 4)), HasSubstr("a rank; it has 1; nearest: 2, or 1f1b"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 4, 2, -8)), HasSubstr("it has -8"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 4, 2, 8, -1)), HasSubstr("the interleaving group is -1"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 1 << 16, 1 << 16, 1 << 20)), HasSubstr("more than 100,000,000 actions"));

    // The nearest is one that the family takes: a multiple of the ranks.
    EXPECT_THAT(refusal(request("interleaved-1f1b", 8, 2, 8'000'000, 8)), HasSubstr("actions; nearest: 2,083,328 micro-batches"));

    ScheduleRequest overlapped = request("gpipe", 2, 1, 4);
    overlapped.overlapExpertComm = true;
    EXPECT_THAT(refusal(overlapped), HasSubstr("interleaved-1f1b have"));
    ScheduleRequest sliced = request("1f1b", 2, 1, 4);
    sliced.slices = 2;
    EXPECT_THAT(refusal(sliced), HasSubstr("asked for 2 slices; nearest: 1, or seq-1f1b"));
    EXPECT_THAT(refusal(request("dualpipe", 3, 2, 12)), HasSubstr("even number of pipeline ranks; it has 3; nearest: 2, 4"));
    EXPECT_THAT(refusal(request("dualpipe", 4, 2, 6)),
                HasSubstr("on pp 4 wants an even number, half for each direction, of at least 8; it has 6; nearest: 8"));
    EXPECT_THAT(refusal(request("dualpipe", 4, 2, 9)), HasSubstr("it has 9; nearest: 8, 10"));
    EXPECT_THAT(refusal(request("dualpipe-v", 4, 2, 6)), HasSubstr("it has 6; nearest: 8"));
    EXPECT_THAT(refusal(request("zb-v", 4, 1, 6)), HasSubstr("exactly 2 chunks a rank; it has 1; nearest: 2"));
    EXPECT_THAT(refusal(request("interleaved-zb", 4, 2, 10, 4)),
                HasSubstr("wants whole rounds of 4; it has 10; nearest: 8, 12, or groups of 5"));
    ScheduleRequest withActions = request("gpipe", 1, 1, 1);
    withActions.customActions = {"0F0,0B0"};
    EXPECT_THAT(refusal(withActions), HasSubstr("remove them, or use custom"));
}

TEST(InterleavedSchedule, RefusesOnePipelineRankAsMegatronDoes)
{
    const std::string golden = golden::readFile("groups/megatron_error_w8_tp2_cp1_ep1_pp1_vpp2.json");
    ASSERT_THAT(golden, HasSubstr("size should be greater than 1 with interleaved schedule"));
    EXPECT_THAT(refusal(request("interleaved-1f1b", 1, 2, 8)), HasSubstr("at least 2 pipeline ranks; it has 1"));
}

TEST(InterleavedSchedule, SaysWhichGroupsAndMicrobatchesWouldDo)
{
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 10)),
              "interleaved-1f1b on pp 4 wants whole groups of 4 (default); it has 10; nearest: 8, 12, or groups of 5");
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 2)),
              "interleaved-1f1b on pp 4 wants at least 4 micro-batches, a whole group; it has 2; nearest: 4, or groups of 2");
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 8, 3)),
              "interleaved-1f1b on pp 4 wants groups of at least 4; it has 3; nearest: 4");
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 8, 9)),
              "interleaved-1f1b on pp 4 wants at least 9 micro-batches, a whole group; it has 8; nearest: 9, or groups of 8");
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 10, 8)),
              "interleaved-1f1b on pp 4 wants groups of 8, the last one whole or of at least 4; it has 10; nearest: 8, 12, or "
              "groups of 6, 10");
    EXPECT_EQ(refusal(request("interleaved-1f1b", 4, 2, 11, 7)), "accepted") << "the last group of 4 fills the pipeline";
}

/// Of every family, over all small sizes: f(family, request, numbers).
template <typename Each>
void forManyRequests(Each&& each)
{
    test::Tried which;
    for (const sim::ScheduleFamily& family : sim::scheduleFamilies())
        for (int p = 1; p <= 6; ++p)
            for (int v = 1; v <= 3; ++v)
                for (int m = 1; m <= 20; ++m)
                    for (const int group : {0, 1, 3, 4, 5, 9, 20}) {
                        if (family.isWrittenOut || (group > 0 && !family.dealsInGroups()) || !which.next())
                            continue;
                        const ScheduleRequest asked = request(std::string(family.kind), p, v, m, group);
                        const int size = group > 0 || !family.dealsInGroups() ? group : family.usualGroup(p, m);
                        each(family, asked, sim::PipelineNumbers{.ranks = p, .chunks = v, .group = size, .microbatches = m});
                    }
}

TEST(ScheduleFamilies, RefuseByTheirTraitsAloneAndSuggestWhatTheyTake)
{
    int refused = 0, suggested = 0;
    forManyRequests([&](const sim::ScheduleFamily& family, const ScheduleRequest& asked, const sim::PipelineNumbers& numbers) {
        SCOPED_TRACE(refusal(asked));
        const auto unmet = family.unmetDemand(numbers, "");
        EXPECT_EQ(unmet.has_value(), family.unmet(asked).has_value());
        EXPECT_EQ(unmet.has_value(), family.firstUnmet(numbers).has_value());
        if (!unmet)
            return;
        ++refused;
        EXPECT_EQ(unmet->about, *family.firstUnmet(numbers));
        EXPECT_FALSE(unmet->nearest.empty());
        EXPECT_TRUE(unmet->otherKind.empty() || sim::findScheduleFamily(unmet->otherKind) != nullptr);
        const auto becomesLegal = [&](std::int64_t sim::PipelineNumbers::*number, std::int64_t value) {
            ++suggested;
            sim::PipelineNumbers changed = numbers;
            changed.*number = value;
            const auto next = family.firstUnmet(changed); // the next number may be wrong still
            EXPECT_TRUE(!next || *next > unmet->about) << value;
        };
        constexpr std::array kMembers{&sim::PipelineNumbers::ranks, &sim::PipelineNumbers::chunks, &sim::PipelineNumbers::lines,
                                      &sim::PipelineNumbers::group, &sim::PipelineNumbers::microbatches};
        for (const std::int64_t value : unmet->nearest)
            becomesLegal(kMembers[static_cast<std::size_t>(unmet->about)], value);
        for (const std::int64_t value : unmet->groups)
            becomesLegal(&sim::PipelineNumbers::group, value);
    });
    EXPECT_GT(refused, test::tries(3000));
    EXPECT_GT(suggested, refused);
}

TEST(ScheduleFamilies, MakeWhatTheirTraitsPromise)
{
    const auto hasBlocks = [](const Schedule& schedule) {
        return std::any_of(schedule.actions.begin(), schedule.actions.end(), [](const auto& actions) {
            return std::any_of(actions.begin(), actions.end(), [](const sim::Action& action) { return action.overlapsNext; });
        });
    };
    int made = 0;
    forManyRequests([&](const sim::ScheduleFamily& family, ScheduleRequest asked, const sim::PipelineNumbers& numbers) {
        if (family.isSearched || family.firstUnmet(numbers) || numbers.microbatches > 12)
            return;
        SCOPED_TRACE(asked.kind + " p " + std::to_string(asked.ranks) + " m " + std::to_string(asked.microbatches));
        const Schedule schedule = family.make(asked);
        ++made;
        EXPECT_EQ(schedule.chains, family.modelCopies);
        const bool isUsual = numbers.group == 0 || numbers.group == numbers.ranks || numbers.group == numbers.microbatches;
        if (family.bubble.of != nullptr && isUsual) {
            const auto [idle, all] = family.bubble.of(asked.ranks, asked.virtualStages, asked.microbatches);
            const sim::ScheduleTimes times = sim::evaluateSchedule(schedule, sim::PassTimes{1, 1, 1, 0});
            EXPECT_NEAR(times.makespan, 3.0 * all, 1e-9) << "in times of a forward and a backward of a chunk";
            EXPECT_EQ(all - idle, asked.virtualStages * asked.microbatches);
        }
        asked.slices = 2;
        EXPECT_EQ(!family.unmet(asked), family.cutsSequences());
        EXPECT_EQ(schedule.slices, 1);
        if (family.cutsSequences()) {
            EXPECT_EQ(family.make(asked).slices, 2);
        }
        asked.slices = 1;
        asked.overlapExpertComm = true;
        EXPECT_EQ(!family.unmet(asked), family.overlapsExperts);
        if (family.overlapsExperts) {
            EXPECT_FALSE(hasBlocks(schedule));
            EXPECT_TRUE(asked.microbatches == 1 || hasBlocks(family.make(asked)));
        }
    });
    EXPECT_GT(made, test::tries(1000));
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
