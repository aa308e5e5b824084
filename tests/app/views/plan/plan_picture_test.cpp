// A plan as its pictures have it: cells, layouts and costs, and the words that they are told in.
#include "app/views/plan/plan_robust_view.h"
#include "tests/app/views/plan/plan_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

using testing::HasSubstr;

TEST(PlanPicture, ComparesLayoutsOfOtherBatchesByAsManyTokens)
{
    sim::PlanAnswer answer = *foundPlan();
    answer.paceBatch = 16;
    sim::PlannedLayout& second = answer.best.at(1);
    second.settings.emplace_back("training.global_batch_size", "8");
    second.batches = 2;
    const PlanPicture picture = pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer));
    EXPECT_DOUBLE_EQ(picture.marginOf(second), 2 * second.stepSeconds / answer.best.front().stepSeconds - 1);
    EXPECT_THAT(picture.differenceText(second), HasSubstr(" for 16 sequences ("));
    EXPECT_THAT(picture.differenceText(answer.best.front()), testing::EndsWith(" for 16 sequences"));
    EXPECT_THAT(layoutText(second), testing::EndsWith("batch 8"));
    EXPECT_EQ(PlanPicture::paceNs(second, sim::StepPart::computing), 2 * second.use[sim::StepPart::computing]);
}

TEST(PlanPicture, HasACellForEachTpAndPpWithAReason)
{
    const PlanPicture picture = pictureOfPlan(foundPlan());
    const sim::PlannedLayout& first = foundPlan()->best.front();
    std::set<std::pair<int, int>> grids;
    for (const sim::RejectedGrid& grid : foundPlan()->rejected)
        grids.emplace(grid.grid.tp, grid.grid.pp);
    grids.emplace(first.grid.tp, first.grid.pp);
    int winners = 0;
    for (const PlanCell& cell : picture.cells()) {
        EXPECT_EQ(cell.kind != PlanCellKind::none, grids.contains({cell.tp, cell.pp})) << cell.tp << " " << cell.pp;
        EXPECT_FALSE(cell.reason.empty()) << cell.tp << " " << cell.pp;
        winners += cell.kind == PlanCellKind::winner ? 1 : 0;
        if (cell.best) {
            EXPECT_EQ(cell.best->grid.tp, cell.tp);
            EXPECT_EQ(cell.best->grid.pp, cell.pp);
            EXPECT_NEAR(cell.margin, cell.best->stepSeconds / first.stepSeconds - 1, 1e-12);
            EXPECT_GE(cell.margin, 0);
        }
        if (cell.kind == PlanCellKind::floor) {
            EXPECT_NEAR(cell.margin, cell.leastSeconds / first.stepSeconds - 1, 1e-12);
            EXPECT_THAT(marginText(picture, cell), HasSubstr("≥ +"));
        }
        EXPECT_EQ(cell.kind == PlanCellKind::tie, cell.kind != PlanCellKind::winner && cell.best && cell.best->tieWithFirst);
    }
    EXPECT_EQ(winners, 1);
    ASSERT_NE(picture.cell(first.grid.tp, first.grid.pp), nullptr);
    EXPECT_EQ(picture.cell(first.grid.tp, first.grid.pp)->kind, PlanCellKind::winner);
    EXPECT_EQ(picture.cell(3, 1), nullptr);
    EXPECT_EQ(planTable(picture).rows.size(), picture.cells().size());
}

TEST(PlanPicture, OfSeveralGridsOfACellTellsTheOneThatRan)
{
    auto answer = std::make_shared<sim::PlanAnswer>();
    answer->gpus = 8;
    sim::PlannedLayout first{.grid = {.tp = 2, .dp = 4, .etp = 2}, .settings = {{"layout.tp", "2"}}, .stepSeconds = 1.0};
    sim::PlannedLayout slow{.grid = {.tp = 4, .dp = 2, .etp = 4}, .settings = {{"layout.tp", "4"}}, .stepSeconds = 1.5};
    sim::PlannedLayout tied = slow;
    tied.tieWithFirst = true;
    answer->best = {first};
    const auto rejected = [](sim::PlanGrid grid, sim::PlanReason reason, double floor, std::optional<sim::PlannedLayout> best) {
        return sim::RejectedGrid{.grid = grid,
                                 .reason = reason,
                                 .text = sim::planReasonName(reason),
                                 .leastFloorSeconds = floor,
                                 .best = std::move(best)};
    };
    answer->rejected = {rejected({.tp = 4, .cp = 2, .etp = 4}, sim::PlanReason::memory, 0, {}),
                        rejected({.tp = 4, .dp = 2, .etp = 4}, sim::PlanReason::slower, 1.2, slow),
                        rejected({.tp = 8, .etp = 8}, sim::PlanReason::floor, 1.25, {}),
                        rejected({.tp = 1, .pp = 8}, sim::PlanReason::rule, 0, {}),
                        rejected({.tp = 1, .dp = 8}, sim::PlanReason::memory, 0, {})};
    const PlanPicture picture = pictureOfPlan(answer);
    EXPECT_EQ(picture.cell(4, 1)->kind, PlanCellKind::slower);
    EXPECT_EQ(picture.cell(4, 1)->grids, 2);
    EXPECT_EQ(marginText(picture, *picture.cell(4, 1)), "≤ +50 %") << "others with them were not simulated";
    EXPECT_EQ(marginText(picture, *picture.cell(8, 1)), "≥ +25 %");
    EXPECT_EQ(picture.cell(1, 8)->kind, PlanCellKind::rule);
    EXPECT_EQ(picture.cell(1, 1)->kind, PlanCellKind::memory);
    EXPECT_EQ(picture.cell(8, 8)->kind, PlanCellKind::none) << "8 GPUs have no grid of 64";
    answer->rejected[1].best = tied;
    EXPECT_EQ(pictureOfPlan(answer).cell(4, 1)->kind, PlanCellKind::tie);

    PlanPicture asked = pictureOfPlan(answer);
    sim::PlanAnswer alone;
    alone.best = {{.grid = {.tp = 8, .etp = 8}, .settings = {{"layout.dp", "1"}}, .stepSeconds = 1.3}};
    alone.best.front().use[sim::StepPart::tp] = 300'000'000;
    alone.best.front().use[sim::StepPart::optimizer] = 1'980; // lost in the rounding of the others
    alone.proved = true;
    asked.setCell(8, 1, alone);
    EXPECT_EQ(asked.cell(8, 1)->kind, PlanCellKind::slower);
    EXPECT_EQ(marginText(asked, *asked.cell(8, 1)), "+30 %");
    EXPECT_THAT(asked.cell(8, 1)->reason, HasSubstr("takes 1.30 s, 300 ms more than the first: exposed tp +300 ms"));
    EXPECT_THAT(asked.cell(8, 1)->reason, testing::Not(HasSubstr("optimizer")));
}

TEST(PlanPicture, ACellOfWhichNothingFitsSaysSoOnceItWasSearched)
{
    auto found = std::make_shared<sim::PlanAnswer>();
    found->gpus = 16;
    found->best = {{.grid = {.tp = 4, .pp = 2, .dp = 2, .etp = 4}, .settings = {{"layout.dp", "2"}}, .stepSeconds = 1}};
    found->rejected = {{.grid = {.tp = 1, .pp = 2, .dp = 8},
                        .reason = sim::PlanReason::open,
                        .text = "nothing of it that may fit takes less than 1.001 s",
                        .leastFloorSeconds = 1.001}};
    PlanPicture picture(found, sim::PlanObjective::time, 80);
    ASSERT_EQ(picture.cell(1, 2)->kind, PlanCellKind::open);

    sim::PlanAnswer alone;
    alone.rejected = {{.grid = {.tp = 1, .cp = 2, .pp = 2, .dp = 4}, .reason = sim::PlanReason::rule, .text = "cp 2 is illegal"},
                      {.grid = {.tp = 1, .pp = 2, .dp = 8},
                       .reason = sim::PlanReason::memory,
                       .text = "pipeline rank 1 holds 224.7 GiB of 80.0 GiB"}};
    PlanPicture stopped = picture;
    stopped.setCell(1, 2, alone);
    EXPECT_EQ(stopped.cell(1, 2)->kind, PlanCellKind::open) << "a search that was stopped knows nothing of what it left";
    alone.proved = true;
    picture.setCell(1, 2, alone);
    EXPECT_EQ(picture.cell(1, 2)->kind, PlanCellKind::memory);
    EXPECT_THAT(picture.cell(1, 2)->reason, HasSubstr("pipeline rank 1 holds 224.7 GiB of 80.0 GiB"));
    EXPECT_THAT(cellText(picture, *picture.cell(1, 2)), testing::Not(HasSubstr("+0.0 %")));
}

TEST(PlanPicture, UnderLeastMemoryACellKeepsTheLayoutThatNeedsLess)
{
    PlanPicture picture(foundPlan(), sim::PlanObjective::headroom, 80);
    const auto cell = std::find_if(picture.cells().begin(), picture.cells().end(),
                                   [](const PlanCell& of) { return of.kind != PlanCellKind::winner; });
    ASSERT_NE(cell, picture.cells().end());
    const int tp = cell->tp, pp = cell->pp;
    const sim::PlannedLayout before = foundPlan()->best.front();
    sim::PlanAnswer first;
    first.best.push_back(before);
    picture.setCell(tp, pp, first);
    ASSERT_TRUE(picture.cell(tp, pp)->best);
    sim::PlanAnswer answer;
    answer.best.push_back(before);
    answer.best.front().stepSeconds = before.stepSeconds / 2; // faster, but with more memory
    answer.best.front().peakMemoryGib = before.peakMemoryGib + 1;
    picture.setCell(tp, pp, answer);
    EXPECT_EQ(picture.cell(tp, pp)->best->peakMemoryGib, before.peakMemoryGib);
    answer.best.front().peakMemoryGib = before.peakMemoryGib - 1;
    picture.setCell(tp, pp, answer);
    EXPECT_EQ(picture.cell(tp, pp)->best->peakMemoryGib, before.peakMemoryGib - 1);
}

/// The window speaks as its form does, the file and the command line in keys.
TEST(PlanPicture, LayoutsSpeakInTheWordsOfTheForm)
{
    sim::PlannedLayout first{.grid = {.tp = 2, .pp = 4, .dp = 2, .etp = 2}}, second = first;
    first.settings = {{"schedule.kind", "\"1f1b\""}, {"schedule.virtual_stages", "1"}, {"layout.zero_stage", "0"}};
    second.settings = {{"schedule.kind", "\"dualpipe-v\""}, {"schedule.virtual_stages", "2"}, {"layout.zero_stage", "1"}};
    EXPECT_THAT(layoutText(first), testing::EndsWith(" · 1F1B"));
    EXPECT_THAT(layoutText(second), testing::EndsWith(" · DualPipeV × 2 · ZeRO 1"));
    EXPECT_EQ(differingText(second, first), "DualPipeV × 2 · ZeRO 1");

    auto choice = std::make_shared<sim::RobustChoice>();
    choice->cases = {{"as given", ""}, {"one GPU computes 10 % slower", ""}};
    choice->layouts = {first, second};
    choice->names = {"tp 2, pp 4, dp 2", "kind dualpipe-v, virtual_stages 2, zero_stage 1"};
    choice->seconds = {{1.00, 1.30}, {1.02, 1.04}};
    PlanRobustView view(lightTheme());
    view.set(choice);
    const std::vector<std::string> texts = drawnPlan(view, {0, 0, 700, 420}).texts();
    EXPECT_THAT(texts, testing::Contains("A  " + layoutText(first)));
    EXPECT_THAT(texts, testing::Contains("B  DualPipeV × 2 · ZeRO 1"));
}

TEST(PlanPicture, LayoutsOfOneGridSayWhatTellsThemApart)
{
    sim::PlannedLayout first = foundPlan()->best.front(), second = first, third = first;
    const auto set = [](sim::PlannedLayout& of, const std::string& pointer, const std::string& json) {
        std::erase_if(of.settings, [&](const sim::PlanSetting& setting) { return setting.first == pointer; });
        of.settings.emplace_back(pointer, json);
    };
    for (sim::PlannedLayout* layout : {&first, &second, &third}) {
        set(*layout, "layout.zero_stage", "0");
        set(*layout, "training.recompute", "\"none\"");
    }
    set(second, "layout.zero_stage", "1");
    set(third, "training.recompute", "\"full\"");
    const std::vector<std::string> telling = tellingTexts({first, second, third});
    EXPECT_EQ(telling[0], "no ZeRO · no recomputation");
    EXPECT_EQ(telling[1], "ZeRO 1 · no recomputation");
    EXPECT_EQ(telling[2], "no ZeRO · full recomputation");
    EXPECT_EQ(tellingTexts({first}).front(), first.grid.text());
    EXPECT_EQ(differingText(second, first), "ZeRO 1");
    EXPECT_EQ(differingText(first, third), "no recomputation");
    EXPECT_EQ(differingText(first, first), first.grid.text());

    // Where the whole has no room, that is what stands there.
    sim::PlanAnswer answer = *foundPlan();
    answer.best = {first, second, third};
    ShownPlan shown(pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer)));
    for (const float width : {170.0F, 200.0F, 240.0F, 700.0F}) {
        std::set<std::string> rows;
        const RecorderCanvas canvas = drawnPlan(shown.best, {0, 0, width, 300});
        for (const std::string& text : canvas.texts())
            if (text.find("ZeRO") != std::string::npos || text.find("dp ") == 0)
                rows.insert(text);
        EXPECT_EQ(rows.size(), 3U) << "each row says something else, " << width << " wide";
    }

    // What all have is said once, above them: what the best layout is can be read without pointing at it.
    const std::vector<std::string> shared = sharedTexts(answer.best);
    ASSERT_FALSE(shared.empty());
    EXPECT_EQ(shared.front(), first.grid.text());
    for (const Rect area : {Rect{0, 0, 700, 300}, Rect{0, 0, 420, 120}, Rect{0, 0, 300, 86}})
        EXPECT_THAT(drawnPlan(shown.best, area).texts(), testing::Contains(testing::StartsWith("All: " + first.grid.text())))
            << area.right << "x" << area.bottom;
}

TEST(PlanPicture, CountsTheLayersThatAreRecomputedHoweverNarrowItIs)
{
    sim::PlannedLayout first = foundPlan()->best.front(), second = first;
    for (sim::PlannedLayout* layout : {&first, &second})
        std::erase_if(layout->settings, [](const sim::PlanSetting& setting) { return setting.first == "training.recompute"; });
    first.settings.emplace_back("training.recompute", R"({"layers":4})");
    second.settings.emplace_back("training.recompute", R"({"layers":1})");
    sim::PlanAnswer answer = *foundPlan();
    answer.best = {first, second};
    ShownPlan shown(pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer)));
    std::set<std::string> seen;
    for (float width = 700; width >= 60; width -= 4) {
        const RecorderCanvas canvas = drawnPlan(shown.best, {0, 0, width, 300});
        for (const std::string& text : canvas.texts())
            if (text.find("recompute ") == 0 || text.find("recomputes ") == 0) {
                seen.insert(text);
                EXPECT_THAT(text, HasSubstr("layer")) << width;
            } else if (text.find("rl ") == 0 && width > 300) {
                EXPECT_THAT(canvas.texts(), testing::Contains(HasSubstr("rl: layers that a chunk recomputes"))) << width;
            }
    }
    EXPECT_THAT(seen, testing::Contains("recompute 4 layers"));
    EXPECT_THAT(seen, testing::Contains("recomputes 1 layer a chunk"));
}

TEST(PlanPicture, SaysCostsAndWhatIsTight)
{
    PlanPicture picture = pictureOfPlan(foundPlan());
    sim::PlannedLayout layout = foundPlan()->best.front();
    EXPECT_EQ(picture.costText(layout), "") << "no price, no cost";
    layout.gpuHours = 0.02;
    picture.setPrice(2.5, false);
    EXPECT_EQ(picture.costText(layout), "costs 0.05 a step");
    layout.gpuHours = 0.0033;
    EXPECT_EQ(picture.costText(layout), "costs 8.25 for 1,000 steps") << "never 0.00";
    layout.gpuHours = 2e-6;
    EXPECT_EQ(picture.costText(layout), "costs 5.00 for 1,000,000 steps");
    layout.gpuHours = 400000;
    picture.setPrice(2.5, true);
    EXPECT_EQ(picture.costText(layout), "costs 1,000,000 for all tokens");
    layout.headroomGib = 4.0;
    EXPECT_EQ(picture.tightText(layout), "");
    layout.headroomGib = 3.9;
    EXPECT_EQ(picture.tightText(layout), "only 3.9 GiB of 80 left");

    sim::PlanAnswer answer = *foundPlan();
    answer.best.front().headroomGib = 0.01;
    PlanPicture tight = pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer));
    tight.setPrice(2.5, false);
    ShownPlan shown(tight);
    const RecorderCanvas best = drawnPlan(shown.best, {0, 0, 900, 400});
    EXPECT_THAT(best.texts(), testing::Contains(HasSubstr("only 10 MiB of 80 GiB left")));
    EXPECT_THAT(best.texts(), testing::Contains(HasSubstr("costs ")));
    EXPECT_THAT(best.nodesOf("cell").front().name, testing::AllOf(HasSubstr("costs "), HasSubstr("only 10 MiB of 80 GiB left")));
}

} // namespace
} // namespace app
