// What is searched: the layouts that a request leaves free, that are legal, and that its framework can do; what is held.
#include "sim/index.h"
#include "sim/planner/planner.h"
#include "sim/simulate/simulation.h"
#include "tests/sim/planner/tiny_job.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

using namespace sim;
using test::kTinyJob;
using test::requestOf;
using test::tinyJob;

TEST(PlanSpace, SaysOfWhatItDoesNotSearchThatItIsHeld)
{
    PlanRequest request = tinyJob();
    const PlanAnswer plain = plan(request, test::catalogue());
    EXPECT_EQ(plain.heldFixed.at("/training/offload/optimizer"), "0");
    EXPECT_EQ(plain.heldFixed.at("/training/loss_chunk_tokens"), "0");
    EXPECT_TRUE(plain.heldFixed.contains("/training/stack") || plain.heldRules.contains("/training/stack"));
    EXPECT_THAT(plain.heldRules.at("/training/overlap"), testing::HasSubstr("grad_reduce"));
    EXPECT_FALSE(plain.heldRules.contains("/cluster/tiers"));
    request.document.set("training.offload.optimizer", "1");
    EXPECT_EQ(plan(request, test::catalogue()).heldFixed.at("/training/offload/optimizer"), "1");
}

TEST(PlanSpace, SaysWhetherGradientsAreCutMicrobatchByMicrobatch)
{
    constexpr const char* kReduction = "/layout/reduce_each_microbatch";
    PlanRequest request = tinyJob();
    EXPECT_THAT(plan(request, test::catalogue()).heldRules.at(kReduction), testing::StartsWith("true: "));
    request.framework = "huggingface";
    EXPECT_THAT(plan(request, test::catalogue()).heldRules.at(kReduction), testing::StartsWith("false, as Accelerate"));
    for (const char* framework : {"nanotron", "picotron"}) {
        request.framework = framework;
        EXPECT_FALSE(plan(request, test::catalogue()).heldRules.contains(kReduction)) << framework << " shards no gradients";
    }
    request.framework = "megatron";
    EXPECT_THAT(plan(request, test::catalogue()).heldRules.at(kReduction), testing::StartsWith("true: with ZeRO 3 gradients"));
    request.framework.clear();
    request.document.set("layout.reduce_each_microbatch", "false");
    const PlanAnswer given = plan(request, test::catalogue());
    EXPECT_EQ(given.heldFixed.at(kReduction), "false");
    EXPECT_FALSE(given.heldRules.contains(kReduction));
    request = tinyJob({{"layout.zero_stage", "1"}});
    EXPECT_FALSE(plan(request, test::catalogue()).heldRules.contains(kReduction)) << "no gradients are sharded";
}

/// The document's batch is as long as 1,024 sequences, the smallest that is searched one of each replica.
TEST(Planner, LaysTheLeanestOutWithTheBatchThatIsSearched)
{
    PlanRequest request{.document = ScenarioDocument::parse(
                            R"({"format": "rankscope-scenario", "version": 1, "model": "llama3-405b", "cluster": )"
                            R"({"base": "h100-sxm-ib400", "nodes": 2}, "layout": {"tp": 8, "dp": 2}, )"
                            R"("training": {"sequence_length": 8192, "global_batch_size": 1024}})")};
    const auto laidOut = [&] {
        const PlanAnswer answer = plan(request, test::catalogue());
        return std::count_if(answer.rejected.begin(), answer.rejected.end(), [](const auto& one) { return one.needGib > 0; });
    };
    EXPECT_EQ(laidOut(), 0);
    request.freed = {"training.global_batch_size"};
    EXPECT_GT(laidOut(), 0);
}

TEST(Planner, CountsNoLayoutThatTheReaderRefuses)
{
    PlanRequest request = tinyJob({{"schedule.kind", "gpipe"}, {"training.recompute", "none"}, {"layout.zero_stage", "0"}});
    request.gpus = 8;
    request.fixed.emplace_back("layout.pp", "8"); // 4 layers for the six between the outer two
    const PlanAnswer none = plan(request, test::catalogue());
    EXPECT_EQ(none.covered, 0);
    ASSERT_EQ(none.rejected.size(), 1U);
    EXPECT_EQ(none.rejected.front().reason, PlanReason::rule);
    EXPECT_THAT(none.rejected.front().text, testing::HasSubstr("cannot fill pp 8"));
    request.fixed.back().second = "4";
    std::int64_t legal = 0;
    for (const auto& [tp, cp, dp] : {std::array{2, 1, 1}, std::array{1, 2, 1}, std::array{1, 1, 2}})
        for (const int microBatch : {1, 2, 4, 8})
            for (const bool sequenceParallel : {false, true}) {
                if (sequenceParallel && tp == 1)
                    continue; // says nothing
                ScenarioDocument document = request.document;
                for (const auto& [pointer, value] : request.fixed)
                    document.set(pointer, value);
                document.set("layout.tp", std::to_string(tp));
                document.set("layout.cp", std::to_string(cp));
                document.set("layout.dp", std::to_string(dp));
                document.set("training.micro_batch_size", std::to_string(microBatch));
                document.set("layout.sequence_parallel", sequenceParallel ? "true" : "false");
                legal += document.resolve(test::catalogue()).scenario ? 1 : 0;
            }
    EXPECT_EQ(plan(request, test::catalogue()).covered, legal);
}

TEST(Planner, HoldsAnEntryOfAListOfTheBaseBesideItsOtherEntries)
{
    PlanRequest request = tinyJob();
    hold(request, {"/cluster/tiers/0/bandwidth_gbs", "1"}, test::catalogue());
    const Cluster before = resolvedScenario(withSettings(tinyJob(), {}), test::catalogue()).cluster;
    const Cluster held = resolvedScenario(withSettings(request, {}), test::catalogue()).cluster;
    ASSERT_EQ(held.tiers.size(), before.tiers.size());
    EXPECT_EQ(held.tiers[0].latencyUs, before.tiers[0].latencyUs);
    EXPECT_EQ(held.tiers[0].bandwidthGBs, 1);
    EXPECT_NE(before.tiers[0].bandwidthGBs, 1);
    EXPECT_TRUE(plan(request, test::catalogue()).proved);
}

TEST(Planner, TakesNoLayoutThatTheRampOfItsBatchDoesNotReach)
{
    const auto valueOf = [](const PlannedLayout& layout, const char* pointer) {
        for (const auto& [key, value] : layout.settings)
            if (key == pointer)
                return value;
        return std::string();
    };
    PlanRequest request = tinyJob({{"schedule.kind", "\"1f1b\""}, {"training.recompute", "\"none\""}});
    const PlanAnswer whole = plan(request, test::catalogue());
    request.rampBatches = rampedBatches(request, test::catalogue(), 2, 2);
    EXPECT_EQ(request.rampBatches, (std::vector<int>{2, 4, 6}));
    const PlanAnswer ramped = plan(request, test::catalogue());
    ASSERT_FALSE(ramped.best.empty());
    EXPECT_TRUE(ramped.proved);
    // Every layout of which the replicas share each of the batches, and no other.
    double best = std::numeric_limits<double>::infinity();
    std::int64_t covered = 0;
    for (const auto& [dp, microBatch] : {std::pair{"1", "1"}, {"1", "2"}, {"2", "1"}}) {
        PlanRequest held = request;
        held.rampBatches.clear();
        held.fixed.emplace_back("layout.dp", dp);
        held.fixed.emplace_back("training.micro_batch_size", microBatch);
        const PlanAnswer answer = plan(held, test::catalogue());
        ASSERT_FALSE(answer.best.empty());
        best = std::min(best, answer.best.front().stepSeconds);
        covered += answer.covered;
    }
    EXPECT_EQ(ramped.best.front().stepSeconds, best);
    EXPECT_EQ(ramped.covered, covered);
    EXPECT_LT(ramped.covered, whole.covered);
    for (const PlannedLayout& layout : ramped.best)
        EXPECT_EQ(2 % (layout.grid.dp * std::stoi(valueOf(layout, "training.micro_batch_size"))), 0) << layout.grid.text();
    for (const RejectedGrid& rejected : ramped.rejected)
        if (rejected.grid.dp == 4) {
            EXPECT_EQ(rejected.reason, PlanReason::rule);
            EXPECT_THAT(rejected.text, testing::HasSubstr("while the batch is 2"));
        }
    EXPECT_THAT(ramped.heldRules.at("/training/global_batch_size"), testing::HasSubstr("from 2 to 8 in 3 steps"));
    EXPECT_THROW(rampedBatches(request, test::catalogue(), 3, 2), Error);
    EXPECT_THROW(rampedBatches(request, test::catalogue(), 8, 2), Error);
    EXPECT_THROW(rampedBatches(request, test::catalogue(), 2, 0), Error);
    PlanRequest held = request; // what is held need be no job beside the rest of the file
    held.fixed.emplace_back("layout.dp", "64");
    EXPECT_EQ(rampedBatches(held, test::catalogue(), 2, 2), request.rampBatches);
}

TEST(Planner, RunsNoMoreLayersAgainThanItTakesWhereDenseLayersComeFirst)
{
    ScenarioDocument document = ScenarioDocument::parse(kTinyJob);
    for (const auto& [pointer, value] : std::initializer_list<PlanSetting>{{"model.num_hidden_layers", "12"},
                                                                           {"model.num_experts", "32"},
                                                                           {"model.num_experts_per_tok", "4"},
                                                                           {"model.moe_intermediate_size", "2048"},
                                                                           {"model.first_k_dense_replace", "4"},
                                                                           {"training.sequence_length", "1024"},
                                                                           {"training.micro_batch_size", "2"},
                                                                           {"layout.tp", "1"},
                                                                           {"layout.pp", "1"},
                                                                           {"layout.dp", "2"},
                                                                           {"layout.zero_stage", "3"},
                                                                           {"layout.ep", "1"}})
        document.set(pointer, value);
    std::vector<double> peaks(1, 0);
    for (int layers = 1; layers <= 12; ++layers) {
        document.set("training.recompute", R"({"kind":"full","layers":)" + std::to_string(layers) + "}");
        peaks.push_back(simulate(resolvedScenario(document, test::catalogue()))->metrics().peakMemoryGib);
    }
    document.set("training.recompute", R"({"kind":"full","layers":1})");
    for (int needed = 2; needed < 12; ++needed) {
        PlanRequest request{.document = document, .freed = {"training.recompute"}};
        for (const char* held : {"layout.tp", "layout.cp", "layout.pp", "layout.ep", "layout.etp"})
            request.fixed.emplace_back(held, "1");
        for (const char* held : {"layout.dp", "layout.dp_shard", "training.micro_batch_size"})
            request.fixed.emplace_back(held, "2");
        request.fixed.emplace_back("layout.zero_stage", "3");
        request.marginGib = 80 - peaks[asIndex(needed)] - 1e-6;
        const PlanAnswer answer = plan(request, test::catalogue());
        ASSERT_FALSE(answer.best.empty()) << needed;
        int least = 1; // of what fits
        while (peaks[asIndex(least)] > peaks[asIndex(needed)] + 1e-6)
            ++least;
        const auto& settings = answer.best.front().settings;
        const auto again =
            std::find_if(settings.begin(), settings.end(), [](const PlanSetting& s) { return s.first == "training.recompute"; });
        ASSERT_NE(again, settings.end());
        EXPECT_EQ(again->second, R"({"kind":"full","layers":)" + std::to_string(least) + "}") << needed;
    }
}

TEST(Planner, NamesTheLimitsOfTheSearchThatLeaveSomethingOut)
{
    const auto held = [](const std::vector<PlanSetting>& fixed, const char* pointer) {
        PlanRequest request = tinyJob(fixed);
        request.part = 15, request.parts = 16; // what is held does not depend on the part
        const PlanAnswer answer = plan(request, test::catalogue());
        const auto value = answer.heldFixed.find(pointer), rule = answer.heldRules.find(pointer);
        return value != answer.heldFixed.end() ? value->second : rule != answer.heldRules.end() ? rule->second : std::string();
    };
    EXPECT_EQ(held({}, "/training/micro_batch_size"), "");
    EXPECT_EQ(held({{"training.global_batch_size", "128"}}, "/training/micro_batch_size"), "at most 64");
    EXPECT_EQ(held({{"training.micro_batch_size", "2"}}, "/training/micro_batch_size"), "2");
    EXPECT_EQ(held({}, "/schedule/virtual_stages"), "");
    EXPECT_EQ(held({{"model.num_hidden_layers", "160"}}, "/schedule/virtual_stages"), "at most 64");
    EXPECT_THAT(held({}, "/schedule/kind"), testing::HasSubstr("pp is 1"));
    EXPECT_THAT(held({{"layout.pp", "2"}}, "/schedule/kind"), testing::Not(testing::HasSubstr("pp is 1")));
    EXPECT_THAT(held({}, "/training/recompute"), testing::HasSubstr("its usual modules"));
    EXPECT_THAT(
        held({{"training.recompute.kind", "selective"}, {"training.recompute.modules", R"(["mlp"])"}}, "/training/recompute"),
        testing::HasSubstr("one set"));
    PlanRequest request{.document = ScenarioDocument::parse(kTinyJob)};
    request.document.set("training.recompute", R"({"kind":"selective","modules":["mlp"]})");
    EXPECT_THAT(plan(request, test::catalogue()).heldRules.at("/training/recompute"), testing::HasSubstr("the scenario gives"));
}

TEST(Planner, RefusesWhatCannotBeSearched)
{
    PlanRequest request = tinyJob();
    request.freed = {"training.sequence_length"};
    EXPECT_THROW(plan(request, test::catalogue()), Error);
    request = tinyJob();
    request.framework = "megatrn";
    EXPECT_THROW(plan(request, test::catalogue()), Error);
    EXPECT_THROW(plan(tinyJob({{"layout.tp", "\"two\""}}), test::catalogue()), Error);
    EXPECT_TRUE(plan(tinyJob({{"layout.tp", "3"}}), test::catalogue()).best.empty());
}

/// A size that is held is not quietly another.
TEST(Planner, HoldsWhatIsSaidOfExpertsThatADenseModelDoesNotHave)
{
    PlanRequest request = tinyJob({{"layout.ep", "2"}});
    try {
        plan(request, test::catalogue());
        ADD_FAILURE() << "experts of a model that has none";
    } catch (const ScenarioError& error) {
        EXPECT_NE(std::string(error.what()).find("/layout/ep: 2 needs experts"), std::string::npos) << error.what();
    }
    request = tinyJob({{"layout.etp", "2"}, {"layout.pp", "4"}});
    request.gpus = 4;
    const PlanAnswer answer = plan(request, test::catalogue());
    EXPECT_TRUE(answer.best.empty());
    ASSERT_FALSE(answer.rejected.empty());
    EXPECT_EQ(answer.rejected.front().text.find("/layout/etp: experts are laid out as"), 0U) << answer.rejected.front().text;
}

TEST(Planner, KeepsToWhatAFrameworkCanDo)
{
    PlanRequest request = tinyJob();
    request.framework = "megatron";
    const PlanAnswer answer = plan(request, test::catalogue());
    for (const PlannedLayout& layout : answer.best)
        for (const auto& [pointer, value] : layout.settings) {
            if (pointer == "schedule.kind") {
                EXPECT_THAT(value, testing::AnyOf("\"1f1b\"", "\"interleaved-1f1b\""));
            }
        }
    EXPECT_LT(answer.covered, plan(tinyJob(), test::catalogue()).covered);
}

/// ZB-2p orders its passes by what they hold: with more layers run again it may hold more.
TEST(Planner, LooksAtEachDepthWhereTheOrderIsPlannedByCost)
{
    ScenarioDocument document = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1, "model": {"base": "deepseek-v2-lite"},
      "cluster": {"base": "h100-sxm-ib400", "nodes": 1}, "layout": {"tp": 1, "pp": 4, "dp": 1},
      "schedule": {"kind": "zb-2p", "virtual_stages": 1},
      "training": {"sequence_length": 1024, "micro_batch_size": 1, "global_batch_size": 16, "recompute": "none",
                   "stack": "megatron-te-2024"}})");
    double least = 1e9;
    for (int layers = 1; layers <= 7; ++layers) {
        document.set("training.recompute", R"({"kind": "full", "layers": )" + std::to_string(layers) + "}");
        least = std::min(least, simulate(resolvedScenario(document, test::catalogue()))->metrics().peakMemoryGib);
    }
    PlanRequest request{.document = document};
    for (const char* key : {"layout.tp", "layout.cp", "layout.dp", "training.micro_batch_size"})
        request.fixed.emplace_back(key, "1");
    request.fixed.insert(request.fixed.end(), {{"layout.pp", "4"}, {"schedule.kind", "zb-2p"}, {"schedule.virtual_stages", "1"}});
    request.marginGib = 80 - least - 1e-6;
    const PlanAnswer answer = plan(request, test::catalogue());
    ASSERT_FALSE(answer.best.empty());
    EXPECT_LE(answer.best.front().peakMemoryGib, least + 1e-6);
}

TEST(Planner, HoldsNoBlockOfWhatIsSearchedNorAPartOfIt)
{
    const auto refusal = [](const PlanSetting& fixed, int gpus = 0) {
        PlanRequest request = tinyJob({fixed});
        request.gpus = gpus;
        try {
            (void)plan(request, test::catalogue());
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(refusal({"layout", R"({"tp":2})"}), testing::HasSubstr("as layout.tp"));
    EXPECT_THAT(refusal({"/schedule", R"({"kind":"gpipe"})"}), testing::HasSubstr("as schedule.kind"));
    EXPECT_THAT(refusal({"training.recompute.layers", "30"}), testing::HasSubstr("training.recompute is searched as a whole"));
    EXPECT_THAT(refusal({"training.recompute.kind", "full"}), testing::HasSubstr("training.recompute is searched as a whole"));
    EXPECT_THAT(refusal({"cluster.nodes", "4"}, 16), testing::HasSubstr("16 GPUs are 2 nodes of 8"));
    EXPECT_EQ(refusal({"cluster.nodes", "2"}, 16), "");
}

TEST(Planner, RunsBlocksOnOnePipelineRankWhereTheyHideExpertsTransfers)
{
    constexpr const char* kExperts = R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"vocab_size": 32000, "max_position_embeddings": 8192, "num_hidden_layers": 4, "hidden_size": 2048,
                "intermediate_size": 4096, "num_attention_heads": 16, "num_key_value_heads": 4, "num_experts": 16,
                "num_experts_per_tok": 4, "moe_intermediate_size": 1024},
      "cluster": {"base": "h100-sxm-ib400"}, "layout": {"tp": 1, "dp": 1},
      "training": {"sequence_length": 4096, "global_batch_size": 64, "micro_batch_size": 1}})";
    const std::vector<PlanSetting> held{{"layout.dp", "16"},
                                        {"layout.ep", "16"},
                                        {"layout.zero_stage", "1"},
                                        {"layout.dp_shard", "16"},
                                        {"training.recompute", "none"}};
    const PlanAnswer answer = plan(requestOf(kExperts, 16, held), test::catalogue());
    const auto bestOf = [&](const char* kind) {
        std::vector<PlanSetting> fixed = held;
        fixed.emplace_back("schedule.kind", kind);
        return plan(requestOf(kExperts, 16, fixed), test::catalogue()).best.front().stepSeconds;
    };
    ASSERT_TRUE(answer.proved);
    EXPECT_LT(bestOf("dualpipe-v"), 0.95 * bestOf("1f1b"));
    EXPECT_EQ(answer.best.front().stepSeconds, bestOf("dualpipe-v"));
    EXPECT_THAT(answer.heldRules.at("/schedule/kind"), testing::HasSubstr("dualpipe-v where experts are spread"));
    EXPECT_THAT(plan(tinyJob(), test::catalogue()).heldRules.at("/schedule/kind"),
                testing::Not(testing::HasSubstr("dualpipe-v")));
}

TEST(Planner, SearchesTwoCopiesOnAsManyRanksAsTheirOuterStagesCanBeWithoutLayers)
{
    const PlanAnswer answer =
        plan(requestOf(kTinyJob, 6, {{"schedule.kind", "dualpipe"}, {"layout.pp", "6"}, {"training.global_batch_size", "12"}}),
             test::catalogue());
    EXPECT_GT(answer.covered, 0);
    EXPECT_FALSE(answer.best.empty());
}

TEST(Planner, TakesAListOfStagesThatIsLongerThanItWouldLookItself)
{
    PlanRequest request = requestOf(kTinyJob, 2, {{"layout.pp", "2"}});
    request.document.set("schedule.layers_per_stage", "[0,1,0,1,1,0,1,0]");
    const PlanAnswer ofFile = plan(request, test::catalogue());
    request.fixed.emplace_back("schedule.layers_per_stage", "[0,1,0,1,1,0,1,0]");
    const PlanAnswer held = plan(request, test::catalogue());
    EXPECT_GT(held.covered, 0);
    ASSERT_FALSE(held.best.empty());
    EXPECT_GT(ofFile.covered, held.covered) << "other numbers of stages, too";
}

TEST(Planner, HoldsToThePlannedOrdersMemoryCap)
{
    PlanRequest request = requestOf(kTinyJob, 4,
                                    {{"layout.pp", "4"},
                                     {"schedule.kind", "auto"},
                                     {"schedule.virtual_stages", "1"},
                                     {"training.recompute", "none"},
                                     {"training.micro_batch_size", "1"},
                                     {"training.global_batch_size", "16"}});
    const PlanAnswer free = plan(request, test::catalogue());
    ASSERT_FALSE(free.best.empty());
    const auto peakOf = [&](const PlanAnswer& answer) { return answer.best.front().peakMemoryGib; };
    const double cap = 0.95 * peakOf(free);
    request.document.set("schedule.memory_cap_gib", std::to_string(cap));
    const PlanAnswer capped = plan(request, test::catalogue());
    ASSERT_FALSE(capped.best.empty());
    EXPECT_LE(peakOf(capped), cap);
    EXPECT_EQ(capped.heldFixed.count("/schedule/memory_cap_gib"), 1U);
    request.marginGib = 80 - peakOf(capped) * (1 + 1e-9); // as much as that takes is enough
    const PlanAnswer tight = plan(request, test::catalogue());
    ASSERT_FALSE(tight.best.empty());
    EXPECT_EQ(tight.best.front().stepSeconds, capped.best.front().stepSeconds);
    request.marginGib = 0;
    request.document.set("schedule.memory_cap_gib", "0.001");
    EXPECT_TRUE(plan(request, test::catalogue()).best.empty()) << "what misses its cap does not fit";
}

TEST(Planner, CountsNoRecomputationThatIsDeeperThanItsChunks)
{
    const auto answerOf = [](const char* recompute) {
        return plan(requestOf(kTinyJob, 4, {{"training.recompute", recompute}}), test::catalogue());
    };
    const PlanAnswer tooDeep = answerOf(R"({"kind":"full","layers":9})");
    EXPECT_EQ(tooDeep.covered, 0);
    ASSERT_FALSE(tooDeep.rejected.empty());
    EXPECT_TRUE(std::any_of(tooDeep.rejected.begin(), tooDeep.rejected.end(), [](const RejectedGrid& grid) {
        return grid.text.find("9 layers of each chunk cannot be recomputed") != std::string::npos;
    }));
    const PlanAnswer ofAll = answerOf(R"({"kind":"full","layers":4})"), ofOne = answerOf(R"({"kind":"full","layers":1})");
    EXPECT_GT(ofAll.covered, 0);
    EXPECT_LT(ofAll.covered, ofOne.covered);
    EXPECT_EQ(ofAll.best.front().grid.pp, 1);
}
