// Orders of ranks: which of them are the same, and that searching one of each loses nothing.
#include "sim/planner/rank_orders.h"

#include "sim/index.h"
#include "sim/legal/legal.h"
#include "sim/planner/planner.h"
#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace sim;

namespace {

/// 16 GPUs on four nodes of four, two of which share a switch.
std::string jobOf(const char* layout, bool hasExperts)
{
    return std::string(R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 4, "hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8,
            "num_key_value_heads": 4, "vocab_size": 4096, "max_position_embeddings": 1024)") +
           (hasExperts ? R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512)" : "") + R"(},
  "cluster": {"base": "h100-sxm-ib400", "gpus_per_node": 4, "nodes": 4,
              "tiers": [{"name": "nvlink", "span": 4, "bandwidth_gbs": 450, "latency_us": 2},
                        {"name": "leaf", "span": 8, "bandwidth_gbs": 50, "latency_us": 6},
                        {"name": "spine", "span": "all", "bandwidth_gbs": 7, "latency_us": 10}]},
  "layout": )" +
           layout + R"(,
  "training": {"sequence_length": 512, "global_batch_size": 16, "micro_batch_size": 1}})";
}

std::vector<RankOrder> everyOrder(bool hasExperts)
{
    std::vector<RankOrder> orders;
    for (const PlacementRule placement : {PlacementRule::packed, PlacementRule::roundRobin})
        for (const std::string& axes : allAxisOrders(hasExperts))
            orders.push_back({axes, placement});
    return orders;
}

} // namespace

TEST(RankOrders, ThatAreAlikeTakeTheSameStepAndMemory)
{
    // The fourth on twice as many nodes as it needs: dealt in turn, its ranks lie on all of them. In the last, two GPUs have a
    // network card together: who of a node's are neighbours counts.
    for (const auto& [layout, hasExperts, nodes, gpusPerNic] :
         {std::tuple{R"({"tp": 2, "cp": 2, "pp": 2, "dp": 2})", false, 4, 1},
          {R"({"tp": 4, "pp": 2, "dp": 2, "zero_stage": 1})", false, 4, 1},
          {R"({"tp": 2, "pp": 2, "dp": 4, "ep": 4, "etp": 1})", true, 4, 1},
          {R"({"tp": 2, "pp": 2, "dp": 4})", false, 8, 1},
          {R"({"tp": 2, "pp": 2, "dp": 4})", false, 4, 2}}) {
        Scenario given = resolvedScenario(ScenarioDocument::parse(jobOf(layout, hasExperts)), test::catalogue());
        given.cluster.nodes = nodes;
        given.cluster.tiers[1].span = 2 * nodes;
        given.cluster.tiers[1].gpusPerNic = gpusPerNic;
        const std::vector<RankOrder> orders = everyOrder(hasExperts);
        const auto numbersOf = [&](const RankOrder& order) {
            Scenario scenario = given;
            scenario.layout.order = order.axes;
            scenario.layout.placement = order.placement;
            const auto simulation = simulate(scenario);
            return std::pair(simulation->metrics().stepTimeSeconds, simulation->metrics().peakMemoryGib);
        };
        std::set<std::pair<double, double>> different;
        int legal = 0, alikeOnes = 0;
        for (const RankOrder& order : orders) {
            Scenario scenario = given;
            scenario.layout.order = order.axes;
            legal += isLegal(scenario) ? 1 : 0;
        }
        for (const AlikeOrders& alike : alikeOrders(given, orders, false)) {
            alikeOnes += alike.count;
            different.insert(numbersOf(orders[asIndex(alike.first)]));
        }
        EXPECT_EQ(alikeOnes, legal) << layout;
        for (std::size_t i = 0; i < orders.size(); i += 5) { // each is one of them
            Scenario scenario = given;
            scenario.layout.order = orders[i].axes;
            if (isLegal(scenario)) {
                EXPECT_TRUE(different.contains(numbersOf(orders[i]))) << orders[i].axes << layout;
            }
            const std::vector<RankOrder> two{orders[0], orders[i]};
            if (const auto alike = alikeOrders(given, two, false); alike.size() == 1 && alike.front().count == 2) {
                EXPECT_EQ(numbersOf(two[0]), numbersOf(two[1])) << two[1].axes << layout;
            }
        }
        EXPECT_GT(different.size(), 3U);
    }
}

TEST(RankOrders, AreCountedAsOftenAsAFileMayHaveThem)
{
    for (const char* layout :
         {R"({"tp": 1, "pp": 2, "dp": 2, "ep": 1, "etp": 2})", R"({"tp": 2, "pp": 2, "dp": 2, "ep": 2, "etp": 1})",
          R"({"tp": 1, "pp": 2, "dp": 4, "ep": 2, "etp": 2})"}) {
        const Scenario given = resolvedScenario(ScenarioDocument::parse(jobOf(layout, true)), test::catalogue());
        const std::vector<RankOrder> orders = everyOrder(true);
        int legal = 0, counted = 0;
        for (const RankOrder& order : orders) {
            Scenario scenario = given;
            scenario.layout.order = order.axes;
            legal += isLegal(scenario) ? 1 : 0;
        }
        for (const AlikeOrders& alike : alikeOrders(given, orders, false))
            counted += alike.count;
        EXPECT_EQ(counted, legal) << layout;
    }
}

TEST(RankOrders, OfAModelWithoutExpertsAreThoseOfFourAxes)
{
    PlanRequest request{.document = ScenarioDocument::parse(jobOf(R"({"tp": 2, "pp": 2, "dp": 4})", false))};
    request.fixed = {{"layout.tp", "2"}, {"layout.pp", "2"}, {"schedule.kind", "1f1b"}, {"training.recompute", "none"}};
    const std::int64_t held = plan(request, test::catalogue()).covered;
    request.freed = {"layout.order"};
    EXPECT_EQ(plan(request, test::catalogue()).covered, 24 * held);
    EXPECT_EQ(withoutExpertAxis("tp-cp-ep-dp-pp"), "tp-cp-dp-pp");
    EXPECT_EQ(withoutExpertAxis("ep-tp-cp-dp-pp"), "tp-cp-dp-pp");
    EXPECT_EQ(withoutExpertAxis("tp-cp-dp-pp-ep"), "tp-cp-dp-pp");
}

TEST(RankOrders, OfWhichOneHasASlowRankAreTheSameByNumberAlone)
{
    const Scenario given = resolvedScenario(ScenarioDocument::parse(jobOf(R"({"tp": 4, "dp": 4})", false)), test::catalogue());
    const std::vector<RankOrder> orders = everyOrder(false);
    const auto byDomain = alikeOrders(given, orders, false), byNumber = alikeOrders(given, orders, true);
    EXPECT_LT(byDomain.size(), byNumber.size());
    EXPECT_EQ(byNumber.size(), 4U) << "tensor parallelism inside or outside, packed or in turn";
}

/// Three stages dealt in turn to two nodes: the last and the first lie on one, and chunks that go round send inside it.
TEST(RankOrders, ThatBringTheEndsOfThePipelineTogetherAreNotCutForIt)
{
    PlanRequest request{.document = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"num_hidden_layers": 18, "hidden_size": 512, "intermediate_size": 1408, "num_attention_heads": 8,
                "num_key_value_heads": 4, "vocab_size": 4096, "max_position_embeddings": 4096},
      "cluster": {"base": "h100-sxm-ib400", "gpus_per_node": 2, "nodes": 2,
                  "tiers": [{"name": "nvlink", "span": 2, "bandwidth_gbs": 450, "latency_us": 2},
                            {"name": "net", "span": "all", "bandwidth_gbs": 50, "latency_us": 300}]},
      "layout": {"tp": 1, "pp": 3, "dp": 1, "placement": "round-robin"},
      "training": {"sequence_length": 4096, "global_batch_size": 3, "micro_batch_size": 1}})"),
                        .fixed = {{"layout.tp", "1"},
                                  {"layout.cp", "1"},
                                  {"layout.pp", "3"},
                                  {"training.micro_batch_size", "1"},
                                  {"training.recompute", "none"}},
                        .top = 1,
                        .jobs = 1};
    const PlanAnswer all = plan(request, test::catalogue());
    request.fixed.emplace_back("schedule.kind", "interleaved-zb");
    request.fixed.emplace_back("schedule.virtual_stages", "2");
    const PlanAnswer one = plan(request, test::catalogue());
    EXPECT_TRUE(all.proved);
    EXPECT_LE(all.best.front().stepSeconds, one.best.front().stepSeconds);
    EXPECT_LE(one.best.front().closedFormSeconds, one.best.front().stepSeconds * (1 + 1e-9));
}

TEST(RankOrders, TheBestOfAllOrdersIsWhatTheSearchFinds)
{
    PlanRequest request{.document = ScenarioDocument::parse(jobOf(R"({"tp": 2, "pp": 2, "dp": 4})", false)),
                        .fixed = {{"layout.tp", "4"},
                                  {"layout.pp", "2"},
                                  {"schedule.kind", "1f1b"},
                                  {"training.recompute", "none"},
                                  {"layout.zero_stage", "0"},
                                  {"layout.sequence_parallel", "false"}}};
    double least = std::numeric_limits<double>::infinity();
    std::int64_t covered = 0;
    for (const std::string& axes : allAxisOrders(false)) {
        PlanRequest held = request;
        held.fixed.emplace_back("layout.order", '"' + axes + '"');
        const PlanAnswer answer = plan(held, test::catalogue());
        covered += answer.covered;
        least = std::min(least, answer.best.front().stepSeconds);
    }
    const PlanAnswer usual = plan(request, test::catalogue());
    request.freed = {"layout.order"};
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_TRUE(answer.proved);
    EXPECT_EQ(answer.best.front().stepSeconds, least);
    EXPECT_EQ(answer.covered, covered) << "the job's own, which names an axis of experts besides, is one of them";
    EXPECT_LE(answer.best.front().stepSeconds, usual.best.front().stepSeconds);
    EXPECT_EQ(simulate(resolvedScenario(answer.firstDocument(request), test::catalogue()))->metrics().stepTimeSeconds, least);
    request.framework = "megatron";
    request.freed = {"layout.placement"};
    EXPECT_THROW(plan(request, test::catalogue()), Error);
}
