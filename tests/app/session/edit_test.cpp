#include "app/session/edit.h"

#include "app/session/legal_values.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <random>

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

TEST(LegalValues, StepAlongWhatThereIs)
{
    const LegalValues values{.values = {1, 2, 4, 8}, .whyNotLess = {}, .whyNotMore = {}};
    EXPECT_EQ(values.stepped(2, 1), 4);
    EXPECT_EQ(values.stepped(3, 1), 4);
    EXPECT_EQ(values.stepped(3, -1), 2);
    EXPECT_EQ(values.stepped(8, 1), 8);
    EXPECT_EQ(values.stepped(1, -3), 1);
    EXPECT_EQ(values.indexOfNearest(7), 3);
    EXPECT_TRUE(values.contains(4));
    EXPECT_FALSE(values.contains(3));
}

TEST(LegalValues, EndWithAReason)
{
    const auto before = document(kSixteen);
    const LegalValues tp = legalValues(before, catalogue(), scenario(before), Control::tp, LayoutRule::keepGpus);
    EXPECT_EQ(tp.values, (std::vector{1, 2, 4}));
    EXPECT_NE(tp.whyNotMore.find('8'), std::string::npos) << tp.whyNotMore;
}

/// Every value a slider stops at makes a scenario that can be resolved, whichever came before.
TEST(LegalValues, AreLegalAlongRandomWalks)
{
    std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed)
    for (const char* name : {kSixteen, kTiny, "50-mixtral-8x7b-ep8.json", "18-schedule-interleaved-1f1b.json"}) {
        auto walked = document(name);
        for (int step = 0; step < 8; ++step) {
            const auto legal = scenario(walked);
            const auto rule = random() % 2 == 0 ? LayoutRule::keepGpus : LayoutRule::resize;
            const Control control = kControls[random() % kControls.size()];
            const LegalValues values = legalValues(walked, catalogue(), legal, control, rule);
            ASSERT_TRUE(values.contains(controlValue(walked, &legal, control))) << name << " " << controlName(control);
            const int value = values.values[random() % values.values.size()];
            const Edit edit = makeEdit(walked, &legal, control, value, rule);
            apply(walked, edit);
            ASSERT_NO_THROW(scenario(walked)) << name << ": " << edit.text;
        }
    }
}

} // namespace
} // namespace app
