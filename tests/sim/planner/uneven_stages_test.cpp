// Layers dealt to stages by what stages cost: no deal is faster that fits, and a plan with it is never slower than without.
#include "sim/planner/uneven_stages.h"

#include "sim/answers/plan.h"
#include "sim/index.h"
#include "sim/planner/planner.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace sim;

namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

DealtPipeline randomPipeline(std::mt19937& random, int ranks, int layers, bool alike)
{
    const auto from = [&](int least, int most) {
        return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
    };
    const auto part = [&](int most) {
        return DealtPipeline::Part{.ns = 1.0 * from(1, most), .states = 1.0 * from(0, 9), .kept = 1.0 * from(0, 3)};
    };
    DealtPipeline pipeline{.embedding = part(5), .head = part(25)};
    for (int rank = 0; rank < ranks; ++rank) {
        pipeline.rankOfStage.push_back(rank);
        pipeline.held.push_back(ranks - rank);
    }
    for (int layer = 0; layer < layers; ++layer)
        pipeline.layers.push_back(alike && layer > 0 ? pipeline.layers.front() : part(20));
    return pipeline;
}

/// The slowest rank's time; infinite where one holds more than it may.
double slowestOf(const DealtPipeline& pipeline, const std::vector<int>& layersOfStage)
{
    std::vector<DealtPipeline::Part> ranks(pipeline.held.size());
    const auto add = [&](int rank, const DealtPipeline::Part& part) {
        DealtPipeline::Part& of = ranks[asIndex(rank)];
        of = {.ns = of.ns + part.ns, .states = of.states + part.states, .kept = of.kept + part.kept};
    };
    add(pipeline.rankOfStage.front(), pipeline.embedding);
    add(pipeline.rankOfStage.back(), pipeline.head);
    std::size_t layer = 0;
    for (std::size_t stage = 0; stage < layersOfStage.size(); ++stage)
        for (int i = 0; i < layersOfStage[stage]; ++i)
            add(pipeline.rankOfStage[stage], pipeline.layers[layer++]);
    double slowest = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        slowest = ranks[rank].states + pipeline.held[rank] * ranks[rank].kept > pipeline.capacityBytes
                      ? kNoLimit
                      : std::max(slowest, ranks[rank].ns);
    return slowest;
}

double slowestOfTheBest(const DealtPipeline& pipeline)
{
    double best = kNoLimit;
    std::vector<int> deal(pipeline.rankOfStage.size());
    const std::function<void(std::size_t, int)> each = [&](std::size_t stage, int left) {
        if (stage + 1 == deal.size()) {
            deal[stage] = left;
            best = std::min(best, slowestOf(pipeline, deal));
            return;
        }
        for (deal[stage] = 0; deal[stage] <= left; ++deal[stage]) {
            const int here = deal[stage];
            each(stage + 1, left - here);
            deal[stage] = here;
        }
    };
    each(0, static_cast<int>(pipeline.layers.size()));
    return best;
}

constexpr const char* kHeavyHead = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 10, "hidden_size": 1024, "intermediate_size": 2816, "num_attention_heads": 16,
            "num_key_value_heads": 8, "vocab_size": 131072, "max_position_embeddings": 2048},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 1, "pp": 4, "dp": 1},
  "training": {"sequence_length": 2048, "global_batch_size": 16}
})";

PlanRequest heavyHead(const char* kind, bool uneven)
{
    return {.document = ScenarioDocument::parse(kHeavyHead),
            .fixed = {{"schedule.kind", kind}, {"layout.pp", "4"}},
            .freed = uneven ? std::vector<std::string>{"schedule.layers_per_stage"} : std::vector<std::string>{}};
}

std::string settingOf(const PlannedLayout& layout, std::string_view pointer)
{
    for (const auto& [key, value] : layout.settings)
        if (key == pointer)
            return value;
    return {};
}

} // namespace

TEST(UnevenDeals, AreAsFastAsTheBestOfAllThatFit)
{
    std::mt19937 random(7);
    int fitted = 0, limited = 0;
    for (int i = 0; i < 600; ++i) {
        const int ranks = 1 + static_cast<int>(random() % 4), layers = 1 + static_cast<int>(random() % 9);
        DealtPipeline pipeline = randomPipeline(random, ranks, layers, i % 3 == 0);
        pipeline.capacityBytes = kNoLimit;
        const double free = slowestOfTheBest(pipeline);
        if (i % 2 == 0)
            pipeline.capacityBytes = 10.0 + static_cast<double>(random() % 60);
        const double best = slowestOfTheBest(pipeline);
        const auto deals = unevenDeals(pipeline);
        ASSERT_EQ(deals.empty(), best == kNoLimit) << i;
        fitted += deals.empty() ? 0 : 1;
        limited += best > free ? 1 : 0;
        for (const std::vector<int>& deal : deals) {
            EXPECT_EQ(std::accumulate(deal.begin(), deal.end(), 0), layers) << i;
            EXPECT_NEAR(slowestOf(pipeline, deal), best, best * 1e-9) << i << testing::PrintToString(deal);
        }
    }
    EXPECT_GT(fitted, 300);
    EXPECT_GT(limited, 50);
}

TEST(UnevenDeals, OfSeveralStagesARankAreTheBestWhereLayersAreAlike)
{
    std::mt19937 random(8);
    for (int i = 0; i < 100; ++i) {
        const bool isV = i % 2 == 0;
        DealtPipeline pipeline = randomPipeline(random, 2, 1 + static_cast<int>(random() % 10), true);
        pipeline.rankOfStage = isV ? std::vector<int>{0, 1, 1, 0} : std::vector<int>{0, 1, 0, 1};
        pipeline.capacityBytes = kNoLimit;
        const double best = slowestOfTheBest(pipeline);
        for (const std::vector<int>& deal : unevenDeals(pipeline))
            EXPECT_NEAR(slowestOf(pipeline, deal), best, best * 1e-9) << testing::PrintToString(deal);
    }
}

TEST(UnevenStages, RelieveTheRankWithTheHead)
{
    for (const char* kind : {"1f1b", "interleaved-1f1b", "zb-v", "zb-h1"}) {
        const PlanAnswer even = plan(heavyHead(kind, false), test::catalogue());
        const PlanRequest request = heavyHead(kind, true);
        const PlanAnswer uneven = plan(request, test::catalogue());
        ASSERT_TRUE(even.proved && uneven.proved) << kind;
        const PlannedLayout& best = uneven.best.front();
        // Interleaved, the best deal has the embedding alone on a stage, which waits for its sum.
        const double atMost = std::string_view(kind) == "interleaved-1f1b" ? 0.998 : 0.985;
        EXPECT_LT(best.stepSeconds, even.best.front().stepSeconds * atMost) << kind;
        EXPECT_THAT(settingOf(best, "schedule.layers_per_stage"), testing::StartsWith("[")) << kind;
        EXPECT_EQ(simulate(resolvedScenario(uneven.firstDocument(request), test::catalogue()))->metrics().stepTimeSeconds,
                  best.stepSeconds)
            << kind;
        EXPECT_THAT(uneven.heldRules.at("/schedule/layers_per_stage"), testing::HasSubstr("slowest rank"));
        EXPECT_EQ(even.heldRules.at("/schedule/layers_per_stage"), "balanced");
    }
}

TEST(UnevenStages, AreTheSameForAnyNumberOfThreadsAndParts)
{
    PlanRequest request = heavyHead("1f1b", true);
    request.fixed.pop_back();
    request.jobs = 1;
    const auto said = [&] {
        Answer answer = planAnswer(plan(request, test::catalogue()), request);
        answer.erase("seconds");
        return answer;
    };
    const Answer one = said();
    request.jobs = 3;
    EXPECT_EQ(one.dump(), said().dump());
    std::vector<Answer> parts;
    request.parts = 2;
    request.isPart = true;
    for (request.part = 0; request.part < 2; ++request.part)
        parts.push_back(planAnswer(plan(request, test::catalogue()), request));
    const Answer merged = mergedPlans(parts, 5);
    EXPECT_EQ(merged["best"][0]["settings"].dump(), one["best"][0]["settings"].dump());
    EXPECT_EQ(merged["best"][0]["step_time_s"], one["best"][0]["step_time_s"]);
}

TEST(UnevenStages, AreNotForAFrameworkThatDealsEvenly)
{
    PlanRequest request = heavyHead("1f1b", true);
    request.framework = "picotron";
    const PlanAnswer answer = plan(request, test::catalogue());
    for (const PlannedLayout& layout : answer.best)
        EXPECT_EQ(settingOf(layout, "schedule.layers_per_stage"), "");
}
