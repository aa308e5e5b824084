// Marks that no job writes: numbers that would take all memory, and steps that few ranks hold.
#include "sim/recovery/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

sim::RunEvidence ofMarks(const std::vector<std::string>& marks)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 1;
    evidence.names = marks;
    sim::RankEvidence& rank = evidence.ranks.emplace_back();
    for (std::size_t i = 0; i < marks.size(); ++i)
        rank.marks.push_back({.startNs = static_cast<std::int64_t>(i) * 10,
                              .endNs = static_cast<std::int64_t>(i) * 10 + 5,
                              .name = static_cast<std::uint32_t>(i)});
    return evidence;
}

TEST(NumbersOfMarks, AboveAnyJobsAreNoPasses)
{
    for (const char* mark : {"999999999F0", "0F999999999", "1048577F0", "0F0.1048577", "PP:2147483647F0"})
        EXPECT_TRUE(sim::actionsFromMark(mark, -1, 1 << 24).empty()) << mark;
    EXPECT_EQ(sim::actionsFromMark("1048576F0", -1, 1).size(), 1U);
    EXPECT_TRUE(sim::actionsFromMark("0F1048576.0", -1, 1 << 24).empty()); // their product is no int
}

TEST(NumbersOfMarks, MakeNoScheduleOfMoreThanWasRecorded)
{
    for (const char* mark : {"999999999F0", "1048576F0"})
        EXPECT_EQ(sim::recover(ofMarks({mark})).problems.size(), 0U) << mark;
    const sim::Recovered recovered = sim::recover(ofMarks({"0F0", "0F1048576", "0B0"}));
    ASSERT_TRUE(recovered.schedule);
    EXPECT_EQ(recovered.schedule->kind, "custom");
    EXPECT_EQ(recovered.schedule->microbatches, 2);
    EXPECT_THAT(recovered.schedule->evidence, HasSubstr("only 3 are recorded"));
}

/// Four steps of two passes; what is exchanged after each pass is for the next step.
TEST(StepsByPasses, AreAlikeToTheLast)
{
    sim::RunEvidence evidence;
    evidence.worldSize = 1;
    evidence.names = {"0F0", "0B0", "gather"};
    sim::RankEvidence& rank = evidence.ranks.emplace_back();
    for (std::int64_t step = 0; step < 4; ++step) {
        rank.marks.push_back({.startNs = step * 100, .endNs = step * 100 + 30, .name = 0});
        rank.marks.push_back({.startNs = step * 100 + 30, .endNs = step * 100 + 60, .name = 1});
        rank.work.push_back({.startNs = step * 100, .endNs = step * 100 + 60});
        rank.comms.push_back(
            {.startNs = step * 100 + 65, .endNs = step * 100 + 95, .exchange = sim::Exchange::allGather, .name = 2});
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence);
    ASSERT_EQ(steps.steps.size(), 4U) << steps.evidence;
    for (std::size_t i = 1; i < 3; ++i) // until the next one's exchange, 5 after the last pass
        EXPECT_EQ(steps.steps[i].endNs - steps.steps[i].startNs, 100) << i;
    EXPECT_EQ(steps.steps[3].endNs - steps.steps[3].startNs, 95);
    EXPECT_FALSE(steps.steps[3].isOutlier);
}

TEST(StepsThatRanksLack, AreOneLineAndCounted)
{
    sim::RunEvidence evidence;
    for (int r = 0; r < 3; ++r) {
        sim::RankEvidence& rank = evidence.ranks.emplace_back();
        rank.rank = r;
        for (int step = 0; step < (r == 2 ? 2 : 10); ++step)
            rank.steps.push_back({.number = step, .startNs = step * 100, .endNs = step * 100 + 90});
    }
    const sim::RecoveredSteps steps = sim::recoverSteps(evidence);
    EXPECT_EQ(steps.steps.size(), 2U);
    EXPECT_THAT(steps.problems,
                ElementsAre("rank 2 holds no step 2; it and 7 other steps that some rank lacks are left out, of 10"));
}

} // namespace
