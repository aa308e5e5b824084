// What a step may add up to, against sums by hand.
#include "sim/engine/range.h"

#include "sim/scenario/about_key.h"
#include "tests/sim/engine/world.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

using namespace sim;
using test::World;

namespace {

const double kMost = std::ldexp(1.0, 62);

/// What is said of it; empty where nothing is.
std::string refusal(const World& world)
{
    try {
        requireRange(world.scenario, world.program, world.classes, world.prices);
    } catch (const ScenarioError& error) {
        return error.problems().front().message;
    }
    return {};
}

/// All of a step's passes, as often as ranks of a pipeline execute them.
void forEachStep(const World& world, const std::function<void(const Step&)>& visit)
{
    for (const RankProgram& rank : world.program.ranks)
        for (const Step& step : rank.steps)
            visit(step);
}

} // namespace

TEST(Range, OfBytesSentCountsRingsThatGoRoundTwiceTwice)
{
    for (const auto& [kind, times] : {std::pair{CollectiveKind::allReduce, 2}, {CollectiveKind::allGather, 1}})
        for (const double part : {0.999, 1.001}) {
            World world(test::smallScenario(2));
            const std::uint32_t forward = world.program.ranks[0].steps.front().pass;
            int count = 0;
            forEachStep(world, [&](const Step& step) { count += step.pass == forward ? 1 : 0; });
            ASSERT_EQ(count, 4);
            bool isFirst = true;
            for (std::uint32_t pass = 0; pass < world.program.passes.size(); ++pass)
                for (std::size_t i = 0; i < world.program.passes[pass].ops.size(); ++i) {
                    OpShape& shape = world.program.passes[pass].shapes[i];
                    shape.bytes = 0;
                    if (pass == forward && world.program.passes[pass].ops[i].kind == OpKind::collective &&
                        std::exchange(isFirst, false)) {
                        shape.collective = kind;
                        shape.bytes = static_cast<std::int64_t>(part * kMost / (times * 2 * count)); // two ranks
                    }
                }
            ASSERT_FALSE(isFirst);
            EXPECT_EQ(refusal(world).find("what all ranks send in a step would be") != std::string::npos, part > 1) << times;
            EXPECT_EQ(refusal(world).empty(), part < 1) << times;
        }
}

TEST(Range, OfTimesCountsMessagesAsSlowAsTheSlowestLink)
{
    for (const double part : {0.999, 1.001}) {
        World world(test::smallScenario(1, 2));
        int sends = 0;
        forEachStep(world, [&](const Step& step) { sends += step.sendTo >= 0 ? 1 : 0; });
        ASSERT_EQ(sends, 2 * 4);
        for (OpDurations& geometry : world.prices.durations)
            for (std::vector<std::int64_t>& pass : geometry)
                std::fill(pass.begin(), pass.end(), 0);
        world.classes.slowdown.back().link = 3;
        for (std::int64_t& ns : world.prices.sendNs)
            ns = static_cast<std::int64_t>(part * kMost / (3 * sends));
        EXPECT_EQ(refusal(world).empty(), part < 1) << refusal(world);
    }
}

TEST(Range, OfTimesCountsKernelsAsSlowAsTheSlowestRankBesideTransfers)
{
    for (const double part : {0.999, 1.001}) {
        World world(test::smallScenario(1));
        for (std::vector<std::int64_t>& pass : world.prices.durations[0])
            std::fill(pass.begin(), pass.end(), 0);
        const std::uint32_t forward = world.program.ranks[0].steps.front().pass;
        world.classes.slowdown[0] = {.compute = 1.5, .jitter = 0.5};
        world.prices.besideAllToAll = 1.25; // the larger one counts
        const double factor = 1.25 * 1.5 * (1 + kFarthestJitter * 0.5);
        world.prices.durations[0][forward][0] = static_cast<std::int64_t>(part * kMost / (4 * factor)); // four micro-batches
        EXPECT_EQ(refusal(world).empty(), part < 1) << refusal(world);
    }
}

TEST(Range, OfBytesAllocatedIsTheLargestRanks)
{
    for (const double part : {0.999, 1.001}) {
        World world(test::smallScenario(1, 2));
        for (RankProgram& rank : world.program.ranks)
            rank.states = {};
        for (Pass& pass : world.program.passes)
            for (Op& op : pass.ops)
                op.allocBytes = 0;
        world.program.ranks[0].states.optimizer = 1;
        const std::uint32_t forward = world.program.ranks[1].steps.front().pass;
        world.program.passes[forward].ops[0].allocBytes = static_cast<std::int64_t>(part * kMost / 4);
        EXPECT_EQ(refusal(world).empty(), part < 1) << refusal(world);
    }
}
