// What holds for every mesh, over random layouts; and what is refused.
#include "sim/mesh/mesh.h"

#include "sim/error.h"
#include "sim/mesh/subgroups.h"
#include "tests/sim/mesh/allocations.h"
#include "tests/sim/mesh/golden.h"
#include "tests/support/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace {

using sim::Mesh;
using sim::ProcessGroup;
using testing::HasSubstr;

std::vector<ProcessGroup> allKinds()
{
    std::vector<ProcessGroup> kinds(sim::kProcessGroupCount);
    for (std::size_t i = 0; i < kinds.size(); ++i)
        kinds[i] = static_cast<ProcessGroup>(i);
    return kinds;
}

/// Layouts that Megatron Core serves: any order with pp last, or any at all where experts fold as the dense grid does.
sim::Layout randomLayout(std::mt19937& random)
{
    const auto oneOf = [&](const std::vector<int>& values) { return values[random() % values.size()]; };
    const auto divisorOf = [&](int number) {
        std::vector<int> divisors;
        for (int value = 1; value <= number; ++value)
            if (number % value == 0)
                divisors.push_back(value);
        return oneOf(divisors);
    };
    sim::Layout layout;
    layout.tp = oneOf({1, 2, 3, 4, 8});
    layout.cp = oneOf({1, 1, 2, 4});
    layout.pp = oneOf({1, 2, 3, 4});
    layout.dp = oneOf({1, 2, 3, 4, 6});
    std::vector<std::string> axes = {"tp", "cp", "ep", "dp"};
    std::shuffle(axes.begin(), axes.end(), random);
    const bool pipelineLast = random() % 2 == 0;
    if (pipelineLast) {
        layout.etp = divisorOf(layout.tp * layout.cp * layout.dp);
        layout.ep = divisorOf(layout.tp * layout.cp * layout.dp / layout.etp);
        axes.emplace_back("pp");
    } else {
        layout.etp = layout.tp;
        layout.ep = layout.cp;
        // Equal factors: then the pipelines of both grids agree wherever pp stands but between cp and ep.
        axes = {"tp", "cp", "ep", "dp"};
        axes.insert(axes.begin() + oneOf({0, 1, 3, 4}), "pp");
    }
    layout.order = axes[0];
    for (std::size_t i = 1; i < axes.size(); ++i)
        layout.order += "-" + axes[i];
    return layout;
}

std::string describe(const sim::Layout& layout)
{
    return layout.order + " tp " + std::to_string(layout.tp) + " cp " + std::to_string(layout.cp) + " pp " +
           std::to_string(layout.pp) + " dp " + std::to_string(layout.dp) + " ep " + std::to_string(layout.ep) + " etp " +
           std::to_string(layout.etp);
}

TEST(Mesh, RanksAndCoordinatesAreOneToOne)
{
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        const sim::Layout layout = randomLayout(random);
        SCOPED_TRACE(describe(layout));
        const Mesh mesh(layout);
        ASSERT_EQ(mesh.worldSize(), layout.worldSize());
        EXPECT_EQ(mesh.pipelineRanks(), layout.pp);
        for (int rank = 0; rank < mesh.worldSize(); ++rank) {
            const sim::Coordinates at = mesh.coordinates(rank);
            ASSERT_EQ(mesh.rank(at.tp, at.cp, at.dp, at.pp), rank);
            ASSERT_LT(at.tp, layout.tp);
            ASSERT_LT(at.cp, layout.cp);
            ASSERT_LT(at.dp, layout.dp);
            ASSERT_LT(at.pp, layout.pp);
            ASSERT_LT(at.ep, layout.ep);
            ASSERT_LT(at.exptTp, layout.etp);
        }
        for (int tp = 0; tp < layout.tp; ++tp)
            for (int pp = 0; pp < layout.pp; ++pp) {
                const sim::Coordinates at = mesh.coordinates(mesh.rank(tp, layout.cp - 1, layout.dp - 1, pp));
                EXPECT_EQ(at.tp, tp);
                EXPECT_EQ(at.cp, layout.cp - 1);
                EXPECT_EQ(at.dp, layout.dp - 1);
                EXPECT_EQ(at.pp, pp);
            }
    }
}

TEST(Mesh, EveryKindPartitionsTheWorld)
{
    std::mt19937 random(2);
    for (int round = 0; round < 200; ++round) {
        const sim::Layout layout = randomLayout(random);
        SCOPED_TRACE(describe(layout));
        const Mesh mesh(layout);
        for (const ProcessGroup kind : allKinds()) {
            SCOPED_TRACE(std::string(sim::processGroupName(kind)));
            std::vector<int> seen(static_cast<std::size_t>(mesh.worldSize()), 0);
            for (int group = 0; group < mesh.groupCount(kind); ++group) {
                const std::vector<int> ranks = mesh.members(kind, group);
                ASSERT_EQ(static_cast<int>(ranks.size()), mesh.groupSize(kind));
                for (std::size_t index = 0; index < ranks.size(); ++index) {
                    ++seen[static_cast<std::size_t>(ranks[index])];
                    ASSERT_EQ(mesh.member(kind, group, static_cast<int>(index)), ranks[index]);
                    ASSERT_EQ(mesh.groupOf(kind, ranks[index]), group);
                    ASSERT_EQ(mesh.indexInGroup(kind, ranks[index]), static_cast<int>(index));
                }
            }
            const bool endsOnly = kind == ProcessGroup::embd || kind == ProcessGroup::pos_embd;
            for (int rank = 0; rank < mesh.worldSize(); ++rank) {
                const int stage = mesh.coordinates(rank).pp;
                const bool isIn = !endsOnly || stage == 0 || (kind == ProcessGroup::embd && stage == layout.pp - 1);
                ASSERT_EQ(seen[static_cast<std::size_t>(rank)], isIn ? 1 : 0) << "rank " << rank;
                if (!isIn) {
                    ASSERT_EQ(mesh.groupOf(kind, rank), -1);
                    ASSERT_EQ(mesh.indexInGroup(kind, rank), -1);
                }
            }
        }
    }
}

TEST(Mesh, MembersOfAGroupDifferOnlyInItsAxes)
{
    std::mt19937 random(3);
    for (int round = 0; round < 100; ++round) {
        const sim::Layout layout = randomLayout(random);
        SCOPED_TRACE(describe(layout));
        const Mesh mesh(layout);
        for (int rank = 0; rank < mesh.worldSize(); ++rank) {
            const sim::Coordinates at = mesh.coordinates(rank);
            const auto first = [&](ProcessGroup kind) {
                return mesh.coordinates(mesh.member(kind, mesh.groupOf(kind, rank), 0));
            };
            const sim::Coordinates pipeline = first(ProcessGroup::pp);
            EXPECT_TRUE(pipeline.tp == at.tp && pipeline.cp == at.cp && pipeline.dp == at.dp && pipeline.ep == at.ep &&
                        pipeline.exptTp == at.exptTp && pipeline.exptDp == at.exptDp)
                << "a pipeline is one on both grids";
            const sim::Coordinates sharded = first(ProcessGroup::dp_cp);
            EXPECT_TRUE(sharded.tp == at.tp && sharded.pp == at.pp);
            const sim::Coordinates experts = first(ProcessGroup::ep);
            EXPECT_TRUE(experts.exptTp == at.exptTp && experts.exptDp == at.exptDp && experts.pp == at.pp);
        }
    }
}

TEST(Mesh, OfAMillionRanksStoresNothingPerRank)
{
    sim::Layout layout;
    layout.tp = 8;
    layout.cp = 16;
    layout.pp = 16;
    layout.dp = 512;
    layout.ep = 64;
    layout.etp = 1;
    ASSERT_EQ(layout.worldSize(), 1'048'576);
    const std::size_t before = allocatedBytes();
    const Mesh mesh(layout);
    std::int64_t sum = 0;
    for (int rank = 0; rank < mesh.worldSize(); rank += 37)
        for (const ProcessGroup kind : {ProcessGroup::tp, ProcessGroup::dp_cp, ProcessGroup::pp, ProcessGroup::mp,
                                        ProcessGroup::ep, ProcessGroup::expt_dp}) {
            const int back = mesh.member(kind, mesh.groupOf(kind, rank), mesh.indexInGroup(kind, rank));
            ASSERT_EQ(back, rank);
            sum += back;
        }
    EXPECT_GT(sum, 0);
    EXPECT_LT(allocatedBytes() - before, 16'384U);
    EXPECT_EQ(mesh.groupCount(ProcessGroup::pp), 65'536);
    EXPECT_EQ(mesh.groupSize(ProcessGroup::tp_dp_cp), 65'536);
    EXPECT_EQ(mesh.coordinates(1'048'575), (sim::Coordinates{7, 15, 511, 15, 63, 0, 1023}));
}

TEST(Mesh, KindsHaveNamesAndPurposes)
{
    for (const ProcessGroup kind : allKinds()) {
        EXPECT_EQ(sim::processGroupFromName(sim::processGroupName(kind)), kind);
        EXPECT_FALSE(sim::processGroupPurpose(kind).empty());
    }
    EXPECT_EQ(sim::processGroupName(ProcessGroup::tp_ep_pp), "tp_ep_pp");
    EXPECT_FALSE(sim::processGroupFromName("tensor"));
    EXPECT_FALSE(sim::processGroupFromName(""));
}

std::string refusal(const sim::Layout& layout)
{
    return test::refusalOf([&] { const Mesh mesh(layout); });
}

sim::Layout layoutOf(int tp, int cp, int pp, int dp, const std::string& order)
{
    sim::Layout layout;
    layout.tp = layout.etp = tp;
    layout.cp = cp;
    layout.pp = pp;
    layout.dp = dp;
    layout.order = order;
    return layout;
}

TEST(Mesh, RefusesImpossibleLayoutsWithTheirNumbers)
{
    const std::string order = "tp-cp-ep-dp-pp";
    EXPECT_THAT(refusal(layoutOf(0, 1, 1, 1, order)), HasSubstr("tp 0 must be at least 1"));
    EXPECT_THAT(refusal(layoutOf(1, 1, -4, 1, order)), HasSubstr("pp -4 must be at least 1"));
    EXPECT_THAT(refusal(layoutOf(65536, 65536, 65536, 65536, order)), HasSubstr("is more than 2147483647 ranks"));
    EXPECT_THAT(refusal(layoutOf(2, 1, 1, 1, "")), HasSubstr("axes are tp, cp, ep, dp, pp"));
    EXPECT_THAT(refusal(layoutOf(2, 1, 1, 1, "tp-")), HasSubstr("names \"\""));
    EXPECT_THAT(refusal(layoutOf(2, 1, 1, 1, "tp-xp")), HasSubstr("names \"xp\""));
    EXPECT_THAT(refusal(layoutOf(2, 1, 1, 1, "tp-tp-dp")), HasSubstr("axis tp comes twice"));
    EXPECT_THAT(refusal(layoutOf(2, 1, 1, 2, "tp-pp")), HasSubstr("no place for dp, which is 2"));
    EXPECT_EQ(refusal(layoutOf(2, 1, 1, 1, "tp")), "accepted") << "axes of size 1 need no place";

    sim::Layout experts = layoutOf(2, 1, 2, 2, order);
    experts.ep = 3;
    EXPECT_THAT(refusal(experts), HasSubstr("2 x 3 x 2 = 12"));
    EXPECT_THAT(refusal(experts), HasSubstr("ep 1, 2 (with this etp)"));
    experts.ep = experts.etp = 2'000'000'000; // their product with pp does not fit 64 bits
    experts.pp = 4;
    experts.dp = 1;
    EXPECT_THAT(refusal(experts), HasSubstr("does not divide the world size 8"));
}

TEST(Mesh, PipelinesOfBothGridsMustAgree)
{
    // pp before the data-parallel axis, etp x ep unequal tp x cp: the grids put pipelines elsewhere.
    sim::Layout layout = layoutOf(2, 1, 2, 4, "tp-cp-ep-pp-dp");
    layout.ep = 2;
    EXPECT_THAT(refusal(layout), HasSubstr("make etp x ep equal tp x cp"));
    layout.etp = 1;
    EXPECT_EQ(refusal(layout), "accepted");
    // Equal data parallelism alone is not enough when pp stands between the factors.
    layout = layoutOf(4, 1, 2, 2, "tp-pp-ep-cp-dp");
    layout.etp = 2;
    layout.ep = 2;
    EXPECT_THAT(refusal(layout), HasSubstr("pipelines differ"));
}

TEST(RankGrid, RefusesUnknownAxesAndSizesBelowOne)
{
    EXPECT_THROW(sim::RankGrid({{"a", 0}}), sim::Error);
    EXPECT_THROW(sim::RankGrid({{"a", 2}, {"a", 2}}), sim::Error);
    EXPECT_THROW(sim::RankGrid({{"a", 1 << 16}, {"b", 1 << 16}}), sim::Error);
    const sim::RankGrid grid({{"a", 2}, {"b", 3}});
    const std::string_view unknown = "c";
    EXPECT_THROW(grid.groups(std::span(&unknown, 1)), sim::Error);
    EXPECT_EQ(grid.axisIndex("c"), -1);
    EXPECT_EQ(sim::RankGrid({}).size(), 1);
}

TEST(RankGrid, GroupsOverNoAxisAreSingleRanksAndOverAllAxesTheWorld)
{
    const sim::RankGrid grid({{"a", 2}, {"b", 3}});
    EXPECT_EQ(golden::lists(grid, {}).size(), 6U);
    EXPECT_EQ(golden::lists(grid, {"b", "a"}), golden::Lists{golden::world(6)});
}

TEST(Subgroups, RefuseSizesThatDoNotMakeTheGroup)
{
    EXPECT_THROW(sim::subgroups(golden::world(8), {2, 3}, 0), sim::Error);
    EXPECT_THROW(sim::subgroups(golden::world(8), {2, 4}, 2), sim::Error);
    EXPECT_THROW(sim::subgroups(golden::world(8), {2, 4}, -1), sim::Error);
    EXPECT_THROW(sim::subgroups(golden::world(8), {}, 0), sim::Error);
    EXPECT_THROW(sim::optimizerInstanceGroups(Mesh(layoutOf(1, 1, 1, 4, "tp-dp")), 0), sim::Error);
}

TEST(Mesh, OfAPipelineWhoseEndsMeetHasEmbeddingGroupsOfOne)
{
    sim::Layout shape;
    shape.tp = 2;
    shape.pp = 4;
    const sim::Mesh mesh(shape, sim::PipelineEnds{0, 0});
    EXPECT_EQ(mesh.groupSize(sim::ProcessGroup::embd), 1);
    EXPECT_EQ(mesh.groupCount(sim::ProcessGroup::embd), 2);
    for (int rank = 0; rank < mesh.worldSize(); ++rank)
        EXPECT_EQ(mesh.groupOf(sim::ProcessGroup::embd, rank) >= 0, mesh.coordinates(rank).pp == 0) << rank;
    EXPECT_EQ(mesh.members(sim::ProcessGroup::embd, 1), std::vector<int>{1});
}

TEST(Mesh, OfAScheduleThatIsWrittenOutHasItsEndsWhereTheModelBeginsAndEnds)
{
    sim::Layout shape;
    shape.tp = 2;
    shape.pp = 3;
    const sim::Mesh mesh(shape, sim::PipelineEnds{1, 2});
    EXPECT_EQ(mesh.groupOf(sim::ProcessGroup::embd, 0), -1);
    const std::vector<int> first{2, 4}, second{3, 5};
    EXPECT_EQ(mesh.members(sim::ProcessGroup::embd, 0), first);
    EXPECT_EQ(mesh.members(sim::ProcessGroup::embd, 1), second);
    for (const int rank : first)
        EXPECT_EQ(mesh.groupOf(sim::ProcessGroup::embd, rank), 0);
    EXPECT_EQ(mesh.members(sim::ProcessGroup::pos_embd, 0), std::vector<int>{2});
}

} // namespace
