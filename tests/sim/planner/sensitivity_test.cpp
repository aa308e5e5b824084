// Where a constant makes another layout the first.
#include "sim/planner/sensitivity.h"

#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

using namespace sim;

namespace {

constexpr const char* kTurningJob = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 8, "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 16,
            "num_key_value_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 2, "pp": 2, "dp": 4},
  "schedule": {"kind": "1f1b"},
  "training": {"sequence_length": 2048, "global_batch_size": 16}
})";

PlanRequest turningJob()
{
    return {.document = ScenarioDocument::parse(kTurningJob),
            .fixed = {{"training.recompute", "none"}, {"schedule.kind", "1f1b"}}};
}

/// Of a layout, with the constant at a value.
double stepWith(const PlannedLayout& layout, const PlanSensitivity& of, double value)
{
    ScenarioDocument document = withSettings(turningJob(), layout.settings);
    Scenario scenario = resolvedScenario(document, test::catalogue());
    Cluster& cluster = scenario.cluster;
    if (of.pointer == "/cluster/gpu/memory_bandwidth_gbs")
        cluster.gpu.memoryBandwidthGBs = value;
    else if (of.pointer.starts_with("/cluster/gpu/peak_tflops"))
        cluster.gpu.peakTflops[scenario.training.precision] = value;
    for (std::size_t i = 0; i < cluster.tiers.size(); ++i) {
        const std::string tier = "/cluster/tiers/" + std::to_string(i);
        if (of.pointer == tier + "/bandwidth_gbs")
            cluster.tiers[i].bandwidthGBs = value;
        if (of.pointer == tier + "/latency_us")
            cluster.tiers[i].latencyUs = value;
    }
    return simulate(scenario)->metrics().stepTimeSeconds;
}

} // namespace

TEST(PlanSensitivities, AnotherIsFirstBeyondATurnAndNotBefore)
{
    const PlanAnswer answer = plan(turningJob(), test::catalogue());
    const std::vector<PlannedLayout> layouts = comparedLayouts(turningJob(), test::catalogue(), answer);
    ASSERT_GE(layouts.size(), 3U);
    std::set<PlanGrid> grids;
    for (const PlannedLayout& layout : layouts)
        grids.insert(layout.grid);
    EXPECT_GE(grids.size(), 4U) << "the first's and three others";
    const std::vector<PlanSensitivity> all = planSensitivities(turningJob(), test::catalogue(), layouts);
    int turned = 0;
    for (const PlanSensitivity& of : all) {
        SCOPED_TRACE(sensitivityText(of));
        if (of.pointer == "/cluster/gpu/memory_gib")
            continue;
        for (const auto& [turn, outwards] : {std::pair{of.below, 0.995}, std::pair{of.above, 1.005}}) {
            if (!turn)
                continue;
            ++turned;
            ASSERT_TRUE(turn->other);
            EXPECT_LT(stepWith(*turn->other, of, turn->value * outwards), stepWith(layouts.front(), of, turn->value * outwards));
            for (const PlannedLayout& other : layouts)
                EXPECT_LE(stepWith(layouts.front(), of, turn->value / outwards), stepWith(other, of, turn->value / outwards));
            EXPECT_THAT(sensitivityText(of), testing::HasSubstr(turn->differs));
        }
    }
    EXPECT_GT(turned, 0) << "some constant decides";
}

TEST(PlanSensitivities, OfMemoryIsWhatTheFirstHolds)
{
    const PlanAnswer answer = plan(turningJob(), test::catalogue());
    const std::vector<PlannedLayout> layouts = comparedLayouts(turningJob(), test::catalogue(), answer);
    const std::vector<PlanSensitivity> all = planSensitivities(turningJob(), test::catalogue(), layouts);
    ASSERT_FALSE(all.empty());
    const PlanSensitivity& memory = all.back();
    EXPECT_EQ(memory.pointer, "/cluster/gpu/memory_gib");
    EXPECT_FALSE(memory.above);
    ASSERT_TRUE(memory.below) << "with less it does not fit, whatever else does";
    EXPECT_DOUBLE_EQ(memory.below->value, layouts.front().peakMemoryGib);
    if (memory.below->other) {
        EXPECT_LT(memory.below->other->peakMemoryGib, memory.below->value);
    }
    const std::vector<PlannedLayout> leanest{layouts.front(), layouts.front()};
    const std::string text = sensitivityText(planSensitivities(turningJob(), test::catalogue(), leanest).back());
    EXPECT_THAT(text, testing::EndsWith("; below it none of those compared fits"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("sixteenth")));
}

/// What is told of a turn is what a plan there says.
TEST(PlanSensitivities, WhereItIsSearchedAPlanOnEitherSideOfATurnSaysTheSame)
{
    PlanRequest request = turningJob();
    request.fixed.pop_back(); // any schedule
    request.top = 1;
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_TRUE(isSoonSearched(answer));
    const auto layouts = comparedLayouts(request, test::catalogue(), answer);
    const auto plannedWith = [&](const PlanSensitivity& of, double value) {
        PlanRequest with = request;
        hold(with, {of.pointer, std::to_string(value)}, test::catalogue());
        return plan(with, test::catalogue());
    };
    int turned = 0;
    for (const PlanSensitivity& of : planSensitivities(request, test::catalogue(), layouts, true)) {
        SCOPED_TRACE(sensitivityText(of));
        EXPECT_TRUE(of.isSearched);
        const bool isMemory = of.pointer == "/cluster/gpu/memory_gib";
        for (const auto& [turn, outwards] : {std::pair{of.below, 0.99}, std::pair{of.above, 1.01}}) {
            const bool isBelow = outwards < 1;
            if (!turn && isMemory)
                continue;
            const double before = turn ? turn->value / outwards : isBelow ? of.now / 16 : of.now * 16;
            const PlanAnswer inside = plannedWith(of, before);
            ASSERT_FALSE(inside.best.empty());
            EXPECT_EQ(inside.best.front().settings, answer.best.front().settings) << before;
            if (!turn)
                continue;
            ++turned;
            const PlanAnswer outside = plannedWith(of, turn->value * outwards);
            ASSERT_EQ(outside.best.empty(), !turn->other.has_value());
            if (turn->other) {
                EXPECT_NE(outside.best.front().settings, answer.best.front().settings) << turn->value;
            }
        }
    }
    EXPECT_GT(turned, 2);
}

TEST(PlanSensitivities, IsTheSameForAnyNumberOfThreads)
{
    PlanRequest one = turningJob(), two = turningJob();
    one.jobs = 1;
    two.jobs = 2;
    const PlanAnswer answer = plan(one, test::catalogue());
    const auto layouts = comparedLayouts(one, test::catalogue(), answer);
    const auto a = planSensitivities(one, test::catalogue(), layouts), b = planSensitivities(two, test::catalogue(), layouts);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(sensitivityText(a[i]), sensitivityText(b[i]));
}

TEST(PlanSensitivities, NothingIsComparedWhereThereIsOneLayoutOrNone)
{
    EXPECT_TRUE(planSensitivities(turningJob(), test::catalogue(), {}).empty());
    EXPECT_TRUE(comparedLayouts(turningJob(), test::catalogue(), PlanAnswer()).empty());
}

TEST(PlanSensitivities, AreOfWhatWasFreedToo)
{
    PlanRequest request = turningJob();
    request.freed = {"layout.tp"};
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_GT(comparedLayouts(request, test::catalogue(), answer).size(), 3U);
}
