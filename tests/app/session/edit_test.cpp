#include "app/session/edit.h"

#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

namespace app {
namespace {

using namespace test;

sim::ScenarioDocument edited(sim::ScenarioDocument document, const Edit& edit)
{
    apply(document, edit);
    return document;
}

TEST(Edit, DataParallelismGivesWayWhereTheGpusAreKept)
{
    const auto before = document(kSixteen);
    const auto legal = scenario(before);
    const Edit edit = makeEdit(before, &legal, Control::tp, 4, LayoutRule::keepGpus);
    const auto after = scenario(edited(before, edit));
    EXPECT_EQ(after.layout.tp, 4);
    EXPECT_EQ(after.layout.dp, 1);
    EXPECT_EQ(after.layout.worldSize(), legal.layout.worldSize());
    EXPECT_EQ(edit.text, "tp 2 → 4, dp 2 → 1");
}

TEST(Edit, NodesFollowTheWorldWhereItGrows)
{
    const auto before = document(kSixteen);
    const auto legal = scenario(before);
    const auto after = scenario(edited(before, makeEdit(before, &legal, Control::tp, 4, LayoutRule::resize)));
    EXPECT_EQ(after.layout.worldSize(), 32);
    EXPECT_EQ(after.layout.dp, 2);
    EXPECT_EQ(after.cluster.gpus(), 32);
}

TEST(Edit, APartlyUsedClusterStaysAsLargeAsItIs)
{
    auto before = document(kSixteen);
    before.set("cluster.nodes", "8");
    const auto legal = scenario(before);
    const auto after = scenario(edited(before, makeEdit(before, &legal, Control::tp, 4, LayoutRule::resize)));
    EXPECT_EQ(after.cluster.nodes, 8);
}

TEST(Edit, ASizeThatLeavesNoWholeDataParallelismChangesAlone)
{
    const auto before = document(kSixteen);
    const auto legal = scenario(before);
    EXPECT_FALSE(keepsGpus(before, &legal, Control::tp, 3));
    const Edit edit = makeEdit(before, &legal, Control::tp, 3, LayoutRule::keepGpus);
    EXPECT_EQ(edited(before, edit).get("/layout/dp"), "2");
}

TEST(Edit, AShardGroupThatIsAllOfDpAndCpFollowsThem)
{
    auto before = document(kSixteen); // cp 2, dp 2
    before.set("layout.zero_stage", "3");
    before.set("layout.dp_shard", "4");
    const auto legal = scenario(before);
    EXPECT_EQ(scenario(edited(before, makeEdit(before, &legal, Control::tp, 4, LayoutRule::keepGpus))).layout.dpShard, 2);
    EXPECT_EQ(scenario(edited(before, makeEdit(before, &legal, Control::pp, 1, LayoutRule::keepGpus))).layout.dpShard, 8);
    EXPECT_EQ(scenario(edited(before, makeEdit(before, &legal, Control::dp, 4, LayoutRule::resize))).layout.dpShard, 8);

    before.set("layout.dp_shard", "2"); // a part of them is meant: it stays
    const auto hybrid = scenario(before);
    EXPECT_EQ(scenario(edited(before, makeEdit(before, &hybrid, Control::pp, 1, LayoutRule::keepGpus))).layout.dpShard, 2);
}

TEST(Edit, ScheduleBringsItsChunks)
{
    const auto before = document(kSixteen);
    const auto legal = scenario(before);
    const auto interleaved = edited(before, makeScheduleEdit(before, &legal, "interleaved-1f1b"));
    const auto after = scenario(interleaved);
    EXPECT_EQ(after.schedule.kind, "interleaved-1f1b");
    EXPECT_GE(after.schedule.virtualStages, 2);
    const auto back = scenario(edited(interleaved, makeScheduleEdit(interleaved, &after, "1f1b")));
    EXPECT_EQ(back.schedule.virtualStages, 1);
}

TEST(Edit, LayersAreBalancedAnewWhereTheNumberOfStagesChanges)
{
    const auto before = document(kTiny); // names the layers of its two stages
    const auto legal = scenario(before);
    const auto after = scenario(edited(before, makeEdit(before, &legal, Control::pp, 4, LayoutRule::keepGpus)));
    EXPECT_EQ(after.schedule.layersPerStage, std::vector<int>(4, 1));
}

TEST(Edit, ModelAndClusterReplaceTheirBlocks)
{
    auto before = document(kSixteen);
    before.set("model.num_hidden_layers", "4");
    const auto legal = scenario(before);
    const auto model = scenario(edited(before, makeModelEdit(before, catalogue(), "llama3-70b")));
    EXPECT_EQ(model.model.base, "llama3-70b");
    EXPECT_EQ(model.model.numHiddenLayers, 80);
    const auto cluster = scenario(edited(before, makeClusterEdit(before, &legal, catalogue(), "dgx-a100")));
    EXPECT_EQ(cluster.cluster.base, "dgx-a100");
    EXPECT_EQ(cluster.cluster.gpus(), 16);
}

TEST(Edit, StringsAreQuotedAsJson)
{
    EXPECT_EQ(quoted("1f1b"), "\"1f1b\"");
    EXPECT_EQ(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
}

TEST(Edit, APartOfWhatTheClusterBringsIsWrittenOutAsAWhole)
{
    const auto before = document(kSixteen);
    const auto legal = scenario(before);
    const ScenarioState state(before, &legal, catalogue());
    const auto after = scenario(edited(before, makeEdit(state, "/cluster/tiers/1/bandwidth_gbs", "25", LayoutRule::keepGpus)));
    ASSERT_EQ(after.cluster.tiers.size(), legal.cluster.tiers.size());
    EXPECT_EQ(after.cluster.tiers[1].bandwidthGBs, 25);
    EXPECT_EQ(after.cluster.tiers[0], legal.cluster.tiers[0]);
}

TEST(Edit, WrittenTiersGoOnJoiningANode)
{
    auto written = document(kSixteen);
    auto legal = scenario(written);
    apply(written, makeEdit(ScenarioState(written, &legal, catalogue()), "/cluster/tiers/0/latency_us", "3", LayoutRule::resize));
    legal = scenario(written);
    const ScenarioState state(written, &legal, catalogue());
    const auto after = scenario(edited(written, makeEdit(state, "/cluster/gpus_per_node", "4", LayoutRule::resize)));
    EXPECT_EQ(after.cluster.tiers[0].span, 4);
    EXPECT_EQ(after.cluster.nodes, 4) << "as many GPUs as before";
}

TEST(Edit, RecomputeIsAWordOrSaysHowManyLayers)
{
    auto changed = document(kSixteen);
    const auto set = [&](std::string_view pointer, const std::optional<std::string>& json) {
        const auto legal = scenario(changed);
        apply(changed, makeEdit(ScenarioState(changed, &legal, catalogue()), pointer, json, LayoutRule::keepGpus));
    };
    set("/training/recompute", "\"full\"");
    set("/training/recompute/layers", "2");
    EXPECT_EQ(scenario(changed).training.recomputeLayers, 2);
    EXPECT_EQ(scenario(changed).training.recompute, sim::Recompute::full);
    set("/training/recompute/layers", std::nullopt);
    EXPECT_EQ(changed.get("/training/recompute"), "\"full\"");
    set("/training/recompute", "\"selective\"");
    set("/training/recompute/modules", R"(["layernorm","mlp"])");
    EXPECT_TRUE(scenario(changed).training.recomputes(sim::RecomputeModule::mlp));
    EXPECT_FALSE(scenario(changed).training.recomputes(sim::RecomputeModule::coreAttention));
    set("/training/recompute/modules", std::nullopt);
    EXPECT_EQ(changed.get("/training/recompute"), "\"selective\"");
}

TEST(Edit, AdaptersComeAndGoWithTheirRank)
{
    auto changed = document(kTiny);
    const auto set = [&](std::string_view pointer, const std::optional<std::string>& json) {
        const auto legal = scenario(changed);
        apply(changed, makeEdit(ScenarioState(changed, &legal, catalogue()), pointer, json, LayoutRule::keepGpus));
    };
    set("/training/lora/rank", "16");
    EXPECT_EQ(scenario(changed).model.lora.rank, 16);
    set("/training/lora/targets", R"(["q_proj","v_proj"])");
    EXPECT_TRUE(scenario(changed).model.lora.has(sim::LoraTarget::query));
    EXPECT_FALSE(scenario(changed).model.lora.has(sim::LoraTarget::up));
    set("/training/lora/rank", std::nullopt);
    EXPECT_FALSE(scenario(changed).model.lora.isOn()) << "targets alone are no legal file";
    EXPECT_FALSE(changed.get("/training/lora"));
}

TEST(Edit, TextOfSeveralLinesIsThatText)
{
    auto before = document(kSixteen);
    const std::string text = "One \"line\"\n\tand \\ another";
    before.set("/description", app::quoted(text));
    EXPECT_EQ(sim::ScenarioDocument::parse(before.text()).get("/description"), app::quoted(text));
    EXPECT_EQ(scenario(before).description, text);
}

} // namespace
} // namespace app
