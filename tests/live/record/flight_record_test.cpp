#include "live/record/flight_record.h"

#include <gtest/gtest.h>

namespace {

using live::describeStall;
using live::FlightEntry;
using live::FlightRecord;
using live::stalledRanks;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Ranks 0 and 1 share a group of all-reduces.
class TwoRanks : public testing::Test {
protected:
    FlightEntry entry(std::int64_t sequence, std::int64_t issuedNs) const
    {
        return {.kind = "all-reduce",
                .what = "attn.sum",
                .group = &m_group,
                .ranks = &m_ranks,
                .sequence = sequence,
                .issuedNs = issuedNs};
    }
    std::string stall(std::int64_t nowNs) const { return describeStall(stalledRanks({&m_first, &m_second}, nowNs)); }

    const std::string m_group = "tp";
    const std::vector<int> m_ranks = {0, 1};
    FlightRecord m_first{0}, m_second{1};
};

TEST_F(TwoRanks, NameWhoWaitsInWhatAndWhoHasNotCome)
{
    m_first.enter("0F3", 0);
    m_second.enter("0F2", 0);
    m_second.done(m_second.issued(entry(6, 0)), kSecond);
    m_first.issued(entry(7, kSecond));
    const std::string text = stall(7 * kSecond);
    EXPECT_NE(text.find("rank 0 has waited 6.0 s in all-reduce attn.sum of group tp {0,1}"), std::string::npos) << text;
    EXPECT_NE(text.find("to which rank 1 has not come: it is in 0F2"), std::string::npos) << text;
}

TEST_F(TwoRanks, NameTheCircleInWhichTheyWaitForEachOther)
{
    const std::string other = "dp";
    m_first.enter("0F3", 0);
    m_second.enter("0F2", 0);
    m_first.issued(entry(7, 0));
    FlightEntry second = entry(3, kSecond);
    second.group = &other;
    m_second.issued(second);
    const std::string text = stall(7 * kSecond);
    EXPECT_NE(text.find("rank 1 has waited 6.0 s in all-reduce attn.sum of group dp {0,1}, to which rank 0 has not come"),
              std::string::npos)
        << text;
    EXPECT_TRUE(text.ends_with("; they wait for each other in a circle: rank 0 -> 1 -> 0")) << text;
}

TEST_F(TwoRanks, NameWhoseGpuStandsStill)
{
    m_second.enter("0B1", kSecond);
    EXPECT_EQ(stall(7 * kSecond), "rank 1 has been in 0B1 for 6.0 s");
}

TEST_F(TwoRanks, ShowWhetherTheyMoveAndWait)
{
    const std::uint64_t before = m_first.state().progress;
    m_first.enter("0F3", 0);
    const std::uint64_t number = m_first.issued(entry(7, 0));
    m_first.waits(true);
    const FlightRecord::State waiting = m_first.state();
    EXPECT_TRUE(waiting.waits && waiting.inStep() && waiting.progress > before);
    m_first.waits(false);
    m_first.done(number, kSecond);
    EXPECT_FALSE(m_first.state().waits);
    EXPECT_GT(m_first.state().progress, waiting.progress);
    m_first.enter("", 2 * kSecond);
    EXPECT_FALSE(m_first.state().inStep());
}

TEST_F(TwoRanks, ForgetTheOldestEntriesFirst)
{
    for (int i = 0; i < 200; ++i)
        m_first.done(m_first.issued(entry(i, i)), i + 1);
    const FlightRecord::State state = m_first.state();
    ASSERT_EQ(state.entries.size(), FlightRecord::kKept);
    EXPECT_EQ(state.entries.front().sequence, 200 - static_cast<std::int64_t>(FlightRecord::kKept));
    EXPECT_EQ(state.entries.back().sequence, 199);
}

} // namespace
