// The validator: every way to spoil a schedule is found and named, and nothing that runs is refused.
#include "sim/schedule/check.h"

#include "sim/error.h"
#include "sim/schedule/evaluate.h"
#include "sim/schedule/families/families.h"
#include "sim/schedule/text/csv.h"
#include "tests/sim/schedule/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Action;
using sim::ActionKind;
using sim::Schedule;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> problems(const std::string& csv)
{
    return sim::checkSchedule(sim::parseScheduleCsv(csv));
}

TEST(CheckSchedule, NamesWhatIsMissing)
{
    EXPECT_THAT(problems("0F0,0B0\n1F0\n"),
                ElementsAre("stage 1 on rank 1 misses the backward (B, or I and W) of micro-batch 0"));
    EXPECT_THAT(problems("0F0,0I0,0W0\n1F0,1I0\n"),
                ElementsAre("stage 1 on rank 1 misses the weight gradient (W) of micro-batch 0"));
    EXPECT_THAT(problems("0F0,0F1,0F2,0F4,0B4,0F3,0B3\n"),
                ElementsAre("stage 0 on rank 0 misses the backward (B, or I and W) of micro-batch 0-2"));
    EXPECT_THAT(problems("0F0,0B0,0F1,0B1,0F3,0B3\n"), Contains(HasSubstr("misses the forward (F) of micro-batch 2")));
}

TEST(CheckSchedule, NamesSlicesAsTheyAreWritten)
{
    EXPECT_THAT(problems("0F0.0,0F0.1,0B0.1\n"),
                ElementsAre("stage 0 on rank 0 misses the backward (B, or I and W) of micro-batch 0.0"));
    EXPECT_THAT(problems("0F0.1,0F0.0,0B0.1,0B0.0\n"), ElementsAre("0F0.1 on rank 0 comes before 0F0.0"));
    EXPECT_THAT(problems("0F0.0,0F0.1,0B0.0,0B0.1\n"), ElementsAre("0B0.0 on rank 0 comes before 0B0.1"));
}

TEST(CheckSchedule, NamesWhatComesTwiceOrTooEarly)
{
    EXPECT_THAT(problems("0F0,0F0,0B0\n"), ElementsAre("0F0 on rank 0 comes twice"));
    EXPECT_THAT(problems("0B0,0F0\n"), ElementsAre("0B0 on rank 0 comes before 0F0"));
    EXPECT_THAT(problems("0F0,0W0,0I0\n"), ElementsAre("0W0 on rank 0 comes before 0I0"));
    EXPECT_THAT(problems("0F0,0I0,0B0,0W0\n"),
                Contains("0B0 on rank 0 comes after 0I0; a full backward already contains I and W"));
    EXPECT_THAT(problems("0F0,0B0,0I0\n"), Contains("0I0 on rank 0 comes after 0B0, which already contains it"));
}

TEST(CheckSchedule, TellsADeadlocksCycle)
{
    // Rank 0 goes depth first, rank 1 breadth first: each waits for the other.
    EXPECT_THAT(problems("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
                ElementsAre("deadlock: rank 0 waits at 0B0 for 1B0 of rank 1, which waits at 1F1 for 0F1 of rank 0"));
    EXPECT_THAT(problems("0F0,0I0,0F1,0I1,0W0,0W1\n1F0,1F1,1I0,1W0,1I1,1W1\n"),
                ElementsAre("deadlock: rank 0 waits at 0I0 for 1I0 of rank 1, which waits at 1F1 for 0F1 of rank 0"));
    // Three ranks; the first two only wait for the cycle.
    EXPECT_THAT(problems("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n2F0,2F1,2B0,2B1\n"),
                ElementsAre("deadlock: rank 1 waits at 1B0 for 2B0 of rank 2, which waits at 2F1 for 1F1 of rank 1",
                            "there are fewer micro-batches (2) than ranks (3), and orders made for a pipeline that fills hang in "
                            "one that does not: 3 or more may do"));
    // On one rank: its own list asks for what comes later in it.
    EXPECT_THAT(problems("1F0,0F0,1B0,0B0\n"),
                ElementsAre("deadlock: rank 0 waits at 1F0 for 0F0 of rank 0, which comes later in its own list"));
}

TEST(CheckSchedule, JudgesTheFrameBeforeTheActions)
{
    EXPECT_THAT(sim::checkSchedule(Schedule{}), Not(IsEmpty()));
    Schedule schedule = sim::parseScheduleCsv("0F0,0B0\n1F0,1B0\n");
    schedule.ranks = 3;
    EXPECT_THAT(sim::checkSchedule(schedule), Contains("there are 2 lists of actions for 3 pipeline ranks"));
    schedule = sim::parseScheduleCsv("0F0,0B0\n1F0,1B0\n");
    schedule.stageToRank[1] = 7;
    EXPECT_THAT(sim::checkSchedule(schedule), Contains("stage 1 is placed on rank 7 of 2 ranks"));
    schedule.stageToRank[1] = 0;
    EXPECT_THAT(sim::checkSchedule(schedule), Contains("1F0 on rank 1: stage 1 lives on rank 0"));
    schedule = sim::parseScheduleCsv("0F0,0B0\n");
    schedule.actions[0].push_back({.kind = ActionKind::forward, .stage = 5, .microbatch = -1});
    EXPECT_THAT(sim::checkSchedule(schedule), Contains(HasSubstr("is outside of 1 stages and 1 micro-batches")));
    schedule = sim::parseScheduleCsv("0F0,0B0\n");
    schedule.microbatches = 2'000'000'000; // must not be allocated
    EXPECT_THAT(sim::checkSchedule(schedule), Contains(HasSubstr("need at least 4000000000 actions; there are 2")));
}

TEST(CheckSchedule, StopsListingAfterTwenty)
{
    Schedule schedule = sim::makeSchedule({.kind = "gpipe", .ranks = 40, .microbatches = 2});
    for (auto& actions : schedule.actions)
        actions.pop_back();
    const auto found = sim::checkSchedule(schedule);
    ASSERT_EQ(found.size(), 21U);
    EXPECT_EQ(found.back(), "... and 20 more");
}

/// One change that no schedule survives.
std::string spoil(Schedule& schedule, std::mt19937& random)
{
    const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    const std::size_t rank = below(schedule.actions.size());
    std::vector<Action>& actions = schedule.actions[rank];
    const std::size_t index = below(actions.size());
    const Action chosen = actions[index];
    const auto moveTo = [&](std::size_t from, std::size_t to) {
        const Action moved = actions[from];
        actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(from));
        actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(to), moved);
    };
    switch (random() % 6) {
    case 0:
        actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(index));
        return "lost " + sim::actionText(chosen);
    case 1:
        actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(below(actions.size() + 1)), chosen);
        return "doubled " + sim::actionText(chosen);
    case 2:
        actions[index].microbatch += schedule.microbatches;
        return "renumbered " + sim::actionText(chosen);
    case 3:
        actions[index].stage += 1;
        return "restaged " + sim::actionText(chosen);
    case 4: { // something before the forward it needs
        const auto forward = std::find_if(actions.begin(), actions.end(), [&](const Action& action) {
            return action.kind == ActionKind::forward && action.stage == chosen.stage && action.microbatch == chosen.microbatch;
        });
        if (chosen.kind == ActionKind::forward)
            moveTo(index, actions.size() - 1); // the last place is behind its backward
        else
            moveTo(index, static_cast<std::size_t>(forward - actions.begin()));
        return "reordered " + sim::actionText(chosen);
    }
    default:
        actions[index].kind = chosen.kind == ActionKind::forward ? ActionKind::backward : ActionKind::forward;
        return "turned " + sim::actionText(chosen);
    }
}

TEST(CheckSchedule, FindsEveryKindOfDamage)
{
    std::mt19937 random(29);
    for (int round = 0; round < 1000; ++round) {
        Schedule schedule = sim::makeSchedule(oracle::randomRequest(random));
        if (round % 2 == 0)
            schedule = oracle::withSplitBackwards(schedule, random);
        ASSERT_THAT(sim::checkSchedule(schedule), IsEmpty());
        const std::string damage = spoil(schedule, random);
        EXPECT_THAT(sim::checkSchedule(schedule), Not(IsEmpty())) << damage << " in\n" << sim::scheduleCsv(schedule);
        EXPECT_THROW(sim::evaluateSchedule(schedule), sim::Error) << damage;
    }
}

TEST(CheckSchedule, FindsDeadlocksExactlyWhereTheGraphHasACycle)
{
    std::mt19937 random(31);
    int deadlocks = 0;
    constexpr int kRounds = 600;
    for (int round = 0; round < kRounds; ++round) {
        // Few swaps of neighbours that keep each rank's own F before B.
        Schedule schedule = sim::makeSchedule(oracle::randomRequest(random));
        schedule.slices = 1; // blocks and slices have rules of their own
        for (auto& actions : schedule.actions)
            for (Action& action : actions)
                action.overlapsNext = false;
        for (int swaps = static_cast<int>(random() % 12); swaps > 0; --swaps) {
            auto& actions = schedule.actions[random() % schedule.actions.size()];
            const std::size_t first = random() % actions.size();
            const std::size_t second = first + 1;
            if (second < actions.size() &&
                (actions[first].stage != actions[second].stage || actions[first].microbatch != actions[second].microbatch))
                std::swap(actions[first], actions[second]);
        }
        const auto found = sim::checkSchedule(schedule);
        const bool canRun = oracle::longestPath(schedule, {}).has_value();
        EXPECT_EQ(found.empty(), canRun) << sim::scheduleCsv(schedule);
        if (canRun) {
            EXPECT_NO_THROW(sim::evaluateSchedule(schedule));
        } else {
            ++deadlocks;
            EXPECT_THAT(found.front(), testing::StartsWith("deadlock: rank "));
            EXPECT_EQ(found.size(), schedule.microbatches < schedule.ranks ? 2U : 1U);
            EXPECT_THROW(sim::evaluateSchedule(schedule), sim::Error);
        }
    }
    EXPECT_GT(deadlocks, kRounds / 20);
    EXPECT_LT(deadlocks, kRounds * 19 / 20);
}

} // namespace
