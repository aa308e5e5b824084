// Which collectives of several ranks are the same.
#include "sim/recovery/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

/// Two ranks that each recorded one all-reduce, of so many bytes, which no library counted.
sim::RunEvidence oneEach(std::int64_t bytes, std::int64_t otherBytes)
{
    sim::RunEvidence evidence;
    evidence.names = {"ncclDevKernel_AllReduce"};
    evidence.groups = {{.name = "tp 0", .description = {}, .ranks = {0, 1}, .evidence = {}}};
    evidence.ranks.resize(2);
    for (const int rank : {0, 1}) {
        sim::RankEvidence& of = evidence.ranks[static_cast<std::size_t>(rank)];
        of.rank = rank;
        of.comms.push_back({.startNs = 1000,
                            .endNs = 2000,
                            .exchange = sim::Exchange::allReduce,
                            .group = 0,
                            .sequence = -1,
                            .bytes = rank == 0 ? bytes : otherBytes});
    }
    return evidence;
}

TEST(MatchedCollectives, AreAlikeInSizeAndThoseWithoutALikeOneAreSaid)
{
    const sim::Meetings alike = sim::matchCollectives(oneEach(1024, 1024));
    EXPECT_EQ(alike.meetings.size(), 1U);
    EXPECT_THAT(alike.problems, testing::IsEmpty());
    const sim::Meetings apart = sim::matchCollectives(oneEach(1024, 2048));
    EXPECT_THAT(apart.meetings, testing::IsEmpty());
    EXPECT_THAT(
        apart.problems,
        testing::ElementsAre("group \"tp 0\": rank 1 recorded 1 collective, and none has the kind and size of one that rank "
                             "0 recorded: they have no partner"));
}

/// Ranks 0, 3 and 4 recorded three collectives of one size, 1 and 2 five of another.
TEST(MatchedCollectives, OfRanksUnlikeTheOthersMeetAmongThemselves)
{
    sim::RunEvidence evidence;
    evidence.names = {"ncclDevKernel_AllReduce"};
    evidence.groups = {{.name = "tp 0", .description = {}, .ranks = {0, 1, 2, 3, 4}, .evidence = {}}};
    for (int rank = 0; rank < 5; ++rank) {
        sim::RankEvidence& of = evidence.ranks.emplace_back();
        of.rank = rank;
        const bool isUnlike = rank == 1 || rank == 2;
        for (int k = 0; k < (isUnlike ? 5 : 3); ++k)
            of.comms.push_back({.startNs = 1000 * k,
                                .endNs = 1000 * k + 100,
                                .exchange = sim::Exchange::allReduce,
                                .group = 0,
                                .sequence = -1,
                                .bytes = isUnlike ? 8192 : 131072});
    }
    const sim::Meetings found = sim::matchCollectives(evidence);
    const auto ofParts = [&found](std::size_t parts) {
        return std::count_if(found.meetings.begin(), found.meetings.end(),
                             [parts](const sim::Meeting& meeting) { return meeting.parts.size() == parts; });
    };
    EXPECT_EQ(ofParts(3), 3);
    EXPECT_EQ(ofParts(2), 5);
    EXPECT_EQ(found.matched, 19U);
    EXPECT_EQ(found.unmatched, 0U);
    EXPECT_THAT(found.problems,
                testing::ElementsAre("group \"tp 0\": ranks 1 and 2 recorded collectives, and none has the kind and size of one "
                                     "that rank 0 recorded: they are of these ranks alone"));
}

} // namespace
