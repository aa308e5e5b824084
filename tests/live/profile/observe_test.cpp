// What short runs that are watched record: that the trainer does in a step what the simulator lays out.
#include "live/profile/calibrate.h"
#include "live/profile/observe.h"
#include "sim/scenario/document.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <string>

using namespace live;

namespace {

sim::Scenario job(const std::string& model, const std::string& layout, const std::string& training)
{
    const auto resolved =
        sim::ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":")" + model +
                                     R"(","cluster":"laptop","layout":)" + layout +
                                     R"(,"training":{"sequence_length":32,"micro_batch_size":1,"precision":"fp32",)" + training +
                                     R"(},"live":{"dtype":"fp32"}})")
            .resolve(sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets"));
    return resolved.scenario.value();
}

/// Rank 0's spans of one step.
std::vector<SpanRecord> firstRank(const ObservedRun& run, const std::string& name)
{
    std::vector<SpanRecord> found;
    for (const RankSpan& each : run.steps.at(0))
        if (each.rank == 0 && run.kinds[each.span.kind].name == name)
            found.push_back(each.span);
    return found;
}

std::size_t count(const sim::Scenario& scenario, const std::string& name)
{
    return firstRank(observeRun(scenario, {.warmUp = 0, .steps = 1}), name).size();
}

/// Gatherings that were begun before layer 0's first kernel.
int gatheredBeforeFirstLayer(const sim::Scenario& scenario)
{
    const ObservedRun run = observeRun(scenario, {.warmUp = 0, .steps = 1});
    std::int64_t firstKernel = std::numeric_limits<std::int64_t>::max();
    for (const RankSpan& each : run.steps.at(0))
        if (each.rank == 0 && each.span.track == SpanTrack::compute && run.kinds[each.span.kind].layer == 0)
            firstKernel = std::min(firstKernel, each.span.startNs);
    const auto gathers = firstRank(run, "weights.gather");
    return static_cast<int>(
        std::count_if(gathers.begin(), gathers.end(), [&](const SpanRecord& span) { return span.startNs < firstKernel; }));
}

} // namespace

TEST(ObservedRun, ShardedGradientsAreReducedAfterEachMicrobatch)
{
    const std::string batch = R"("global_batch_size":6)"; // three micro-batches on two ranks
    const std::size_t once = count(job("tiny-gpt", R"({"dp":2,"zero_stage":1})", batch), "gradient.reduce");
    const std::size_t ofTable = 1; // the embedding is the head too and complete at the end of the step
    for (const char* stage : {"2", "3"}) {
        const sim::Scenario sharded = job("tiny-gpt", std::string(R"({"dp":2,"zero_stage":)") + stage + "}", batch);
        EXPECT_EQ(count(sharded, "gradient.reduce"), 3 * (once - ofTable) + ofTable) << "ZeRO " << stage;
    }
    const sim::Scenario pipeline = job("tiny-gpt", R"({"dp":2,"pp":2,"zero_stage":2})", batch);
    const sim::Scenario whole = job("tiny-gpt", R"({"dp":2,"pp":2,"zero_stage":1})", batch);
    EXPECT_EQ(count(pipeline, "gradient.reduce"), count(whole, "gradient.reduce")) << "chunks accumulate in a pipeline";
}

TEST(ObservedRun, WeightsAreGatheredALayerAheadWhereTheScenarioSaysSo)
{
    for (const char* stage : {"1", "2", "3"}) {
        const std::string layout = std::string(R"({"dp":2,"zero_stage":)") + stage + "}";
        const std::string inTurn = R"("global_batch_size":2,"overlap":{"param_gather":false})";
        EXPECT_EQ(gatheredBeforeFirstLayer(job("tiny-gpt", layout, R"("global_batch_size":2)")),
                  gatheredBeforeFirstLayer(job("tiny-gpt", layout, inTurn)) + 1)
            << "ZeRO " << stage;
    }
}

TEST(ObservedRun, GradientsOfKeysGoHomeInOneHopLessThanThereAreRanks)
{
    const sim::Scenario ring = job("tiny-gpt", R"({"cp":4})", R"("global_batch_size":2)");
    const auto passes = static_cast<std::size_t>(2 * ring.model.numHiddenLayers);
    EXPECT_EQ(count(ring, "ring.dkv"), 3 * passes);
    EXPECT_EQ(count(ring, "ring.kv"), (3 + 3) * passes) << "forward and backward";
}

TEST(ObservedRun, TellsHowTokensChoseExperts)
{
    const sim::Scenario scenario = job("tiny-moe", R"({"dp":2,"ep":2})", R"("global_batch_size":4)");
    const ObservedRun run = observeRun(scenario, {.warmUp = 1, .steps = 2});
    const sim::Model& model = scenario.model;
    ASSERT_EQ(run.routings.size(), static_cast<std::size_t>(2 * 2 * model.numHiddenLayers)) << "steps, micro-batches, layers";
    for (const auto& tokens : run.routings) {
        ASSERT_EQ(tokens.size(), static_cast<std::size_t>(model.numExperts));
        EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}), 2 * 32 * model.numExpertsPerTok);
    }
    Calibration calibration;
    calibration.add(run);
    const double two = calibration.imbalance(scenario).value();
    EXPECT_GT(two, 1);
    EXPECT_LT(two, 2);
    sim::Scenario four = scenario;
    four.layout.ep = four.layout.dp = 4;
    EXPECT_GE(calibration.imbalance(four).value(), two) << "the busiest of smaller shares";
    EXPECT_FALSE(calibration.imbalance(job("tiny-gpt", "{}", R"("global_batch_size":2)")));
}

TEST(Calibration, TheBusiestRankHasTheExpertsThatWereChosen)
{
    sim::Scenario scenario = job("tiny-moe", R"({"dp":2,"ep":2})", R"("global_batch_size":4)");
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(scenario.model.numExperts), 10);
    tokens.back() += 10 * scenario.model.numExperts; // twice as many in all
    ObservedRun run{.scenario = scenario, .routings = {tokens}};
    Calibration calibration;
    calibration.add(run);
    EXPECT_DOUBLE_EQ(calibration.imbalance(scenario).value(), 1.5) << "half of the half that is even, and the rest";
}
