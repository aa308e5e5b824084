// The pictures of a plan say what the search found: each cell one thing, ties as ties, margins that follow from the numbers, and
// pointer and keys choose the same.
#include "app/views/plan/plan_cost_view.h"
#include "app/views/plan/plan_guide_view.h"
#include "app/views/plan/plan_robust_view.h"
#include "app/views/plan/plan_sizes_view.h"
#include "app/views/plan/plan_view.h"

#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/theme.h"
#include "sim/planner/guide.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

using testing::HasSubstr;

constexpr Rect kPlanArea{0, 0, 700, 420};

constexpr const char* kPlannedJob = R"({
  "format": "rankscope-scenario", "version": 1,
  "model": {"num_hidden_layers": 8, "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32,
            "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096},
  "cluster": {"base": "h100-sxm-ib400"},
  "layout": {"tp": 4, "pp": 2, "dp": 2},
  "training": {"sequence_length": 4096, "global_batch_size": 16}
})";

const std::shared_ptr<const sim::PlanAnswer>& found()
{
    static const auto kFound = [] {
        const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
        return std::make_shared<const sim::PlanAnswer>(sim::plan(request, ::test::catalogue()));
    }();
    return kFound;
}

PlanPicture pictureOf(const std::shared_ptr<const sim::PlanAnswer>& answer)
{
    return {answer, sim::PlanObjective::time, 80};
}

struct Shown {
    PlanChoicePtr choice = std::make_shared<std::optional<PlanChoice>>();
    PlanHeatMap map{choice, lightTheme()};
    PlanBestLayouts best{choice, lightTheme()};
    PlanScatter scatter{choice, lightTheme()};
    explicit Shown(const PlanPicture& picture)
    {
        for (PlanView* view : all())
            view->setPicture(std::make_shared<const PlanPicture>(picture));
    }
    std::vector<PlanView*> all() { return {&map, &best, &scatter}; }
};

RecorderCanvas drawn(View& view, Rect area = kPlanArea)
{
    RecorderCanvas canvas(area);
    view.draw(canvas);
    return canvas;
}

TEST(PlanPicture, ComparesLayoutsOfOtherBatchesByAsManyTokens)
{
    sim::PlanAnswer answer = *found();
    answer.paceBatch = 16;
    sim::PlannedLayout& second = answer.best.at(1);
    second.settings.emplace_back("training.global_batch_size", "8");
    second.batches = 2;
    const PlanPicture picture = pictureOf(std::make_shared<const sim::PlanAnswer>(answer));
    EXPECT_DOUBLE_EQ(picture.marginOf(second), 2 * second.stepSeconds / answer.best.front().stepSeconds - 1);
    EXPECT_THAT(picture.differenceText(second), HasSubstr(" for 16 sequences ("));
    EXPECT_THAT(picture.differenceText(answer.best.front()), testing::EndsWith(" for 16 sequences"));
    EXPECT_THAT(layoutText(second), testing::EndsWith("batch 8"));
    EXPECT_EQ(PlanPicture::paceNs(second, sim::StepPart::computing), 2 * second.use[sim::StepPart::computing]);
}

TEST(PlanCost, SaysWhyItIsEmptyHoweverNarrowItIs)
{
    const std::string hint = "How long the run is, is not known: say how many tokens it trains.";
    PlanCostView view(lightTheme());
    view.setHint(hint);
    for (const float width : {160.0F, 325.0F, 900.0F}) {
        RecorderCanvas canvas({0, 0, width, 240});
        view.draw(canvas);
        std::string said;
        for (const Primitive& each : canvas.primitives())
            if (each.kind == Primitive::Kind::text)
                said += " " + each.text;
        EXPECT_NE(said.find(hint), std::string::npos) << said;
    }
}

TEST(PlanCost, DrawsADotForEachSizeAndTheFrontierOfDaysAgainstCost)
{
    std::vector<PlanSize> sizes;
    for (const auto& [gpus, days, hours] : {std::tuple{8, 40.0, 7680.0}, {16, 19.0, 7296.0}, {32, 11.0, 8448.0}}) {
        PlanSize size{.gpus = gpus, .isSearched = true, .isProved = true, .isShown = gpus == 16, .best = found()->best.front()};
        size.best->runDays = days;
        size.best->tokensPerSecond = 1 / days;
        size.best->gpuHours = hours;
        sizes.push_back(size);
    }
    sizes.push_back({.gpus = 64, .best = std::nullopt}); // not searched
    PlanCostView view(lightTheme());
    view.setHint("Not known.");
    EXPECT_THAT(drawn(view).texts(), testing::Contains("Not known."));
    view.set(sizes, 2);
    const RecorderCanvas canvas = drawn(view);
    ASSERT_EQ(canvas.nodes().size(), 3U);
    EXPECT_THAT(canvas.nodes().at(0).name,
                testing::AllOf(HasSubstr("8 GPUs: done in 40.0 days for 15,360"), testing::Not(HasSubstr("none is sooner"))));
    EXPECT_THAT(canvas.nodes().at(1).name, HasSubstr("none is sooner for less"));
    EXPECT_THAT(canvas.nodes().at(2).name, HasSubstr("none is sooner for less"));
    int chosen = 0;
    view.setChosen([&](int gpus) { chosen = gpus; });
    const Rect dot = canvas.nodes().at(2).rect;
    view.pointer({.kind = PointerEvent::Kind::press, .at = {dot.left + 3, dot.top + 3}, .button = PointerButton::left},
                 kPlanArea);
    EXPECT_EQ(chosen, 32);
    EXPECT_TRUE(view.command(ViewCommand::previous, false, kPlanArea));
    EXPECT_EQ(chosen, 8);
}

TEST(PlanPicture, HasACellForEachTpAndPpWithAReason)
{
    const PlanPicture picture = pictureOf(found());
    const sim::PlannedLayout& first = found()->best.front();
    std::set<std::pair<int, int>> grids;
    for (const sim::RejectedGrid& grid : found()->rejected)
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

TEST(PlanHeatMap, EveryCellSaysSomethingHoweverLowItIs)
{
    auto answer = std::make_shared<sim::PlanAnswer>(*found());
    answer->rejected.push_back(
        {.grid = {.tp = 1, .pp = 8, .dp = 2}, .reason = sim::PlanReason::open, .text = "not looked at yet"});
    answer->rejected.push_back(
        {.grid = {.tp = 1, .pp = 16}, .reason = sim::PlanReason::floor, .text = "cut", .leastFloorSeconds = 9});
    Shown shown(pictureOf(answer));
    const float least = shown.map.leastHeight();
    EXPECT_GT(least, 0);
    for (const float width : {300.0F, 420.0F, 700.0F})
        for (float height = least; height < 420; height += 7) {
            const RecorderCanvas canvas = drawn(shown.map, {0, 0, width, height});
            EXPECT_TRUE(canvas.cutTexts().empty());
            for (const Node& cell : canvas.nodesOf("cell"))
                EXPECT_TRUE(std::any_of(canvas.primitives().begin(), canvas.primitives().end(),
                                        [&](const Primitive& each) {
                                            return each.kind == Primitive::Kind::text &&
                                                   cell.rect.contains({(each.rect.left + each.rect.right) / 2,
                                                                       (each.rect.top + each.rect.bottom) / 2});
                                        }))
                    << width << " × " << height << ": " << cell.name;
        }
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
    const PlanPicture picture = pictureOf(answer);
    EXPECT_EQ(picture.cell(4, 1)->kind, PlanCellKind::slower);
    EXPECT_EQ(picture.cell(4, 1)->grids, 2);
    EXPECT_EQ(marginText(picture, *picture.cell(4, 1)), "≤ +50 %") << "others with them were not simulated";
    EXPECT_EQ(marginText(picture, *picture.cell(8, 1)), "≥ +25 %");
    EXPECT_EQ(picture.cell(1, 8)->kind, PlanCellKind::rule);
    EXPECT_EQ(picture.cell(1, 1)->kind, PlanCellKind::memory);
    EXPECT_EQ(picture.cell(8, 8)->kind, PlanCellKind::none) << "8 GPUs have no grid of 64";
    answer->rejected[1].best = tied;
    EXPECT_EQ(pictureOf(answer).cell(4, 1)->kind, PlanCellKind::tie);

    PlanPicture asked = pictureOf(answer);
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

TEST(PlanViews, SayTheSameToEyesAndToScreenReaders)
{
    const PlanPicture picture = pictureOf(found());
    Shown shown(picture);
    const RecorderCanvas map = drawn(shown.map);
    EXPECT_TRUE(map.clipsAreBalanced());
    EXPECT_TRUE(map.cutTexts().empty());
    std::size_t named = 0;
    for (const Node& node : map.nodesOf("cell"))
        named += node.name.find("tp ") == 0 && node.name.find(", pp ") != std::string::npos ? 1U : 0U;
    EXPECT_EQ(named, map.nodesOf("cell").size());
    EXPECT_THAT(map.texts(), testing::Contains("best"));

    const RecorderCanvas best = drawn(shown.best);
    EXPECT_TRUE(best.cutTexts().empty());
    ASSERT_EQ(best.nodesOf("cell").size(), found()->best.size());
    EXPECT_THAT(best.nodesOf("cell").front().name, HasSubstr("\ncomputing "));
    const RecorderCanvas scatter = drawn(shown.scatter);
    EXPECT_TRUE(scatter.cutTexts().empty());
    EXPECT_EQ(scatter.nodesOf("cell").size(), picture.layouts().size());
}

TEST(PlanViews, CutNothingHoweverSmallTheyAre)
{
    Shown shown(pictureOf(found()));
    for (const Rect area : {Rect{0, 0, 120, 80}, {0, 0, 240, 120}, {0, 0, 320, 400}, {0, 0, 1200, 160}, {0, 0, 1, 1}})
        for (PlanView* view : shown.all()) {
            const RecorderCanvas canvas = drawn(*view, area);
            EXPECT_TRUE(canvas.clipsAreBalanced());
            EXPECT_TRUE(canvas.cutTexts().empty())
                << view->title() << " " << area.right << "x" << area.bottom << ": " << canvas.cutTexts().front().text;
        }
}

TEST(PlanViews, ChooseByPointerAndKeysAlike)
{
    const PlanPicture picture = pictureOf(found());
    Shown shown(picture);
    int told = 0, opened = 0;
    shown.map.setChosen([&] { ++told; });
    shown.map.setOpened([&] { ++opened; });
    const RecorderCanvas before = drawn(shown.map);
    const Node target = before.nodesOf("cell").back();
    const Point middle{(target.rect.left + target.rect.right) / 2, (target.rect.top + target.rect.bottom) / 2};
    EXPECT_TRUE(shown.map.pointer({.kind = PointerEvent::Kind::move, .at = middle}, kPlanArea));
    EXPECT_THAT(shown.map.tooltip(), HasSubstr(target.name));
    EXPECT_TRUE(shown.map.pointer({.kind = PointerEvent::Kind::press, .at = middle, .button = PointerButton::left}, kPlanArea));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(opened, 0);
    ASSERT_TRUE(shown.choice->has_value());
    const RecorderCanvas after = drawn(shown.map);
    EXPECT_TRUE(after.nodesOf("cell").back().selected);
    EXPECT_TRUE(
        shown.map.pointer({.kind = PointerEvent::Kind::doubleClick, .at = middle, .button = PointerButton::left}, kPlanArea));
    EXPECT_EQ(opened, 1);

    // From there by keys to every cell, and back.
    *shown.choice = std::nullopt;
    std::set<std::pair<int, int>> seen;
    EXPECT_TRUE(shown.map.command(ViewCommand::next, false, kPlanArea));
    for (std::size_t i = 0; i < before.nodesOf("cell").size(); ++i) {
        seen.emplace((*shown.choice)->tp, (*shown.choice)->pp);
        shown.map.command(ViewCommand::next, false, kPlanArea);
    }
    EXPECT_EQ(seen.size(), before.nodesOf("cell").size());
    const auto at = std::pair((*shown.choice)->tp, (*shown.choice)->pp);
    ASSERT_TRUE(shown.map.command(ViewCommand::stepRight, false, kPlanArea));
    EXPECT_GT((*shown.choice)->tp, at.first);
    EXPECT_EQ((*shown.choice)->pp, at.second);
    ASSERT_TRUE(shown.map.command(ViewCommand::stepLeft, false, kPlanArea));
    EXPECT_EQ(std::pair((*shown.choice)->tp, (*shown.choice)->pp), at);
    ASSERT_TRUE(shown.map.command(ViewCommand::stepDown, false, kPlanArea));
    EXPECT_GT((*shown.choice)->pp, at.second);
}

TEST(PlanViews, OneChoiceIsShownInAllOfThem)
{
    Shown shown(pictureOf(found()));
    *shown.choice = choiceOf(found()->best.back());
    for (PlanView* view : shown.all()) {
        int selected = 0;
        const RecorderCanvas canvas = drawn(*view);
        for (const Node& node : canvas.nodesOf("cell"))
            selected += node.selected ? 1 : 0;
        EXPECT_LE(selected, 1) << view->title();
        if (view != &shown.map) {
            EXPECT_EQ(selected, 1) << view->title();
        }
    }
}

TEST(PlanGuideView, ShowsGatesTrafficAndBothLayouts)
{
    const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
    const auto guide = std::make_shared<const sim::PlanGuide>(sim::planGuide(request, ::test::catalogue()));
    PlanGuideView view(lightTheme());
    view.set(guide, found()->best.front());
    int chosen = 0;
    view.setChosen([&](const sim::PlannedLayout& layout, bool isPath) {
        ++chosen;
        EXPECT_EQ(layout.settings, isPath ? guide->layout->settings : found()->best.front().settings);
    });
    for (const Rect area : {Rect{0, 0, 900, 700}, {0, 0, 360, 1200}}) {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        EXPECT_TRUE(canvas.clipsAreBalanced());
        EXPECT_EQ(canvas.nodesOf("text").size(), guide->gates.size() + guide->traffic.size());
        ASSERT_EQ(canvas.nodesOf("button").size(), guide->layout ? 2U : 1U);
        for (const Node& node : canvas.nodesOf("button")) {
            const Point middle{(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
            EXPECT_TRUE(view.pointer({.kind = PointerEvent::Kind::press, .at = middle, .button = PointerButton::left}, area));
        }
        if (area.right > 800) {
            EXPECT_TRUE(canvas.cutTexts().empty());
        }
    }
    EXPECT_EQ(chosen, guide->layout ? 4 : 2);
    constexpr Rect kLow{0, 0, 360, 120};
    RecorderCanvas low(kLow);
    view.draw(low);
    EXPECT_TRUE(view.command(ViewCommand::stepDown, false, kLow)) << "what there is no room for is scrolled to";
    EXPECT_TRUE(view.command(ViewCommand::stepUp, false, kLow));
    EXPECT_FALSE(view.command(ViewCommand::stepUp, false, kLow));
}

TEST(PlanGuideView, ComparesASmallerBatchByAsManyTokens)
{
    const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
    const auto guide = std::make_shared<const sim::PlanGuide>(sim::planGuide(request, ::test::catalogue()));
    ASSERT_TRUE(guide->layout);
    sim::PlannedLayout half = *guide->layout; // the path's own, at half its batch and six tenths of its step
    half.stepSeconds *= 0.6;
    half.batches = 2;
    PlanGuideView view(lightTheme());
    view.set(guide, half);
    RecorderCanvas canvas({0, 0, 900, 700});
    view.draw(canvas);
    const Node card = canvas.nodesOf("button").at(1);
    EXPECT_THAT(card.name, HasSubstr("20.0 % longer"));
    EXPECT_THAT(card.name, HasSubstr(durationText(guide->layout->stepSeconds * 1.2e9) + " for the whole batch"));

    PlanSize size{.gpus = 8, .isSearched = true, .isProved = true, .isShown = true, .best = half};
    EXPECT_THAT(planSizeText(size), testing::Not(HasSubstr("step ")));
    size.best = *guide->layout;
    EXPECT_THAT(planSizeText(size), HasSubstr("step "));
}

TEST(PlanSizes, OfASearchThatWasStoppedNothingIsSaidNotToFit)
{
    PlanSizesView view(lightTheme());
    for (const auto& [isSearched, isProved, said] :
         {std::tuple{true, true, "nothing fits"}, {true, false, "none found"}, {false, false, "not searched"}}) {
        view.set({{.gpus = 8, .isSearched = isSearched, .isProved = isProved, .best = std::nullopt}});
        EXPECT_THAT(drawn(view).texts(), testing::Contains(said));
    }
}

TEST(PlanBest, ALowListStillSaysWhichLayoutIsWhich)
{
    Shown shown(pictureOf(found()));
    RecorderCanvas low({0, 0, 420, 60.0F + 22.0F * static_cast<float>(found()->best.size())});
    shown.best.draw(low);
    const std::string grid = found()->best.front().grid.text();
    EXPECT_TRUE(std::ranges::any_of(low.texts(), [&](const std::string& text) { return text.find(grid) != std::string::npos; }))
        << grid;
    EXPECT_TRUE(low.cutTexts().empty());
}

TEST(PlanViews, MineIsOfAsManySequencesAsTheOthers)
{
    sim::PlanAnswer answer = *found();
    PlanPicture picture = pictureOf(std::make_shared<const sim::PlanAnswer>(answer));
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = 3.37, .peakGib = 30});
    EXPECT_EQ(picture.mineText(), "3.37 s");
    answer.paceBatch = 64;
    picture = pictureOf(std::make_shared<const sim::PlanAnswer>(answer));
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = 3.37, .peakGib = 30});
    EXPECT_EQ(picture.mineText(), "3.37 s for 64 sequences");
    Shown shown(picture);
    EXPECT_THAT(drawn(shown.scatter).nodesOf("text").front().name, HasSubstr("3.37 s for 64 sequences"));
}

TEST(PlanViews, SayWhatToDoWhereThereIsNoPlan)
{
    Shown shown{PlanPicture()};
    for (PlanView* view : shown.all()) {
        view->setHint("No plan yet", "Press Plan.");
        const RecorderCanvas canvas = drawn(*view);
        EXPECT_THAT(canvas.texts(), testing::ElementsAre("No plan yet", "Press Plan."));
        EXPECT_TRUE(canvas.nodes().empty());
        EXPECT_FALSE(view->command(ViewCommand::next, false, kPlanArea));
    }
}

TEST(PlanPicture, UnderLeastMemoryACellKeepsTheLayoutThatNeedsLess)
{
    PlanPicture picture(found(), sim::PlanObjective::headroom, 80);
    const auto cell = std::find_if(picture.cells().begin(), picture.cells().end(),
                                   [](const PlanCell& of) { return of.kind != PlanCellKind::winner; });
    ASSERT_NE(cell, picture.cells().end());
    const int tp = cell->tp, pp = cell->pp;
    const sim::PlannedLayout before = found()->best.front();
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

TEST(PlanGuideView, APressBeforeTheNextFrameTakesNothingThatIsGone)
{
    const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
    const auto guide = std::make_shared<const sim::PlanGuide>(sim::planGuide(request, ::test::catalogue()));
    PlanGuideView view(lightTheme());
    int chosen = 0;
    view.setChosen([&](const sim::PlannedLayout&, bool) { ++chosen; });
    view.set(guide, found()->best.front());
    constexpr Rect kTall{0, 0, 700, 2000};
    RecorderCanvas canvas(kTall);
    view.draw(canvas);
    const auto pressEverywhere = [&] {
        chosen = 0;
        for (float y = 1; y < kTall.bottom; y += 8)
            for (float x = 1; x < kTall.right; x += 16)
                view.pointer({.kind = PointerEvent::Kind::press, .at = {x, y}, .button = PointerButton::left}, kTall);
        return chosen;
    };
    EXPECT_GT(pressEverywhere(), 0);
    view.set(guide, std::nullopt);
    pressEverywhere();
    EXPECT_EQ(chosen, 0);
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
    const std::vector<std::string> texts = drawn(view, {0, 0, 700, 420}).texts();
    EXPECT_THAT(texts, testing::Contains("A  " + layoutText(first)));
    EXPECT_THAT(texts, testing::Contains("B  DualPipeV × 2 · ZeRO 1"));
}

TEST(PlanPicture, LayoutsOfOneGridSayWhatTellsThemApart)
{
    sim::PlannedLayout first = found()->best.front(), second = first, third = first;
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
    sim::PlanAnswer answer = *found();
    answer.best = {first, second, third};
    Shown shown(pictureOf(std::make_shared<const sim::PlanAnswer>(answer)));
    for (const float width : {170.0F, 200.0F, 240.0F, 700.0F}) {
        std::set<std::string> rows;
        const RecorderCanvas canvas = drawn(shown.best, {0, 0, width, 300});
        for (const std::string& text : canvas.texts())
            if (text.find("ZeRO") != std::string::npos || text.find("dp ") == 0)
                rows.insert(text);
        EXPECT_EQ(rows.size(), 3U) << "each row says something else, " << width << " wide";
    }
}

TEST(PlanPicture, SaysCostsAndWhatIsTight)
{
    PlanPicture picture = pictureOf(found());
    sim::PlannedLayout layout = found()->best.front();
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

    sim::PlanAnswer answer = *found();
    answer.best.front().headroomGib = 0.01;
    PlanPicture tight = pictureOf(std::make_shared<const sim::PlanAnswer>(answer));
    tight.setPrice(2.5, false);
    Shown shown(tight);
    const RecorderCanvas best = drawn(shown.best, {0, 0, 900, 400});
    EXPECT_THAT(best.texts(), testing::Contains(HasSubstr("only 10 MiB of 80 GiB left")));
    EXPECT_THAT(best.texts(), testing::Contains(HasSubstr("costs ")));
    EXPECT_THAT(best.nodesOf("cell").front().name, testing::AllOf(HasSubstr("costs "), HasSubstr("only 10 MiB of 80 GiB left")));
}

TEST(PlanViews, TellLittleMemoryInItsUnit)
{
    sim::PlanAnswer answer = *found();
    for (std::vector<sim::PlannedLayout>* layouts : {&answer.best, &answer.pareto})
        for (sim::PlannedLayout& layout : *layouts)
            layout.peakMemoryGib = 4.4 / 1024;
    PlanPicture picture = pictureOf(std::make_shared<const sim::PlanAnswer>(answer));
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = answer.best.front().stepSeconds * 1.1, .peakGib = 8.8 / 1024});
    Shown shown(picture);
    const RecorderCanvas best = drawn(shown.best, {0, 0, 900, 400});
    EXPECT_THAT(best.texts(), testing::Contains(HasSubstr(" · 4.40 MiB")));
    EXPECT_THAT(best.nodesOf("cell").front().name, HasSubstr(", 4.40 MiB"));
    const RecorderCanvas scatter = drawn(shown.scatter);
    EXPECT_THAT(scatter.nodesOf("text").front().name, HasSubstr("8.80 MiB"));
    for (const Node& node : scatter.nodesOf("cell"))
        EXPECT_THAT(node.name, testing::Not(HasSubstr(" 0.0 GiB")));
}

TEST(PlanViews, MarkTheScenarioAsItIs)
{
    PlanPicture picture = pictureOf(found());
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = found()->best.front().stepSeconds * 1.1, .peakGib = 30});
    Shown shown(picture);
    const RecorderCanvas map = drawn(shown.map), scatter = drawn(shown.scatter);
    EXPECT_THAT(map.texts(), testing::Contains(HasSubstr("yours")));
    std::size_t mine = 0;
    for (const Node& node : map.nodesOf("cell"))
        if (node.name.find(", yours") != std::string::npos) {
            EXPECT_THAT(node.name, testing::StartsWith("tp 4, pp 2"));
            EXPECT_THAT(node.name, HasSubstr("as it is: "))
                << "the cell's own number is that of the best layout of its tp and pp";
            ++mine;
        }
    EXPECT_EQ(mine, 1U);
    EXPECT_THAT(scatter.texts(), testing::Contains("yours"));
    ASSERT_EQ(scatter.nodesOf("text").size(), 1U);
    EXPECT_THAT(scatter.nodesOf("text").front().name, HasSubstr("30.0 GiB"));
    Shown without(pictureOf(found()));
    EXPECT_THAT(drawn(without.map).texts(), testing::Not(testing::Contains(HasSubstr("yours"))));
}

TEST(PlanViews, TheLegendHasTheWordsOfTheCellsAndAllOfThem)
{
    const PlanPicture picture = pictureOf(found());
    Shown shown(picture);
    for (const float width : {300.0F, 420.0F, 700.0F}) {
        const RecorderCanvas map = drawn(shown.map, {0, 0, width, 420});
        const auto texts = map.texts();
        std::string legend;
        for (const std::string& text : texts)
            if (text.find(": ") != std::string::npos)
                legend += text + "\n";
        for (const PlanCell& cell : picture.cells()) {
            if (cell.kind == PlanCellKind::memory) {
                EXPECT_THAT(legend, HasSubstr("mem: too large")) << width;
            } else if (cell.kind == PlanCellKind::rule) {
                EXPECT_THAT(legend, HasSubstr("no: not legal")) << width;
            } else if (cell.kind == PlanCellKind::floor) {
                EXPECT_THAT(legend, HasSubstr("≥: cut by its floor")) << width;
            } else if (cell.kind == PlanCellKind::open) {
                EXPECT_THAT(legend, HasSubstr("open: not looked at")) << width;
            }
        }
        EXPECT_TRUE(map.cutTexts().empty());
    }
}

TEST(PlanRobustView, ShowsEachStepAndHowFarItIsBehind)
{
    auto choice = std::make_shared<sim::RobustChoice>();
    choice->cases = {{"as given", ""}, {"one GPU computes 10 % slower", ""}};
    choice->layouts = {{.grid = {.tp = 8, .etp = 8}}, {.grid = {.tp = 4, .etp = 4}}};
    choice->seconds = {{1.00, 1.30}, {1.02, 1.04}};
    choice->best = 1;
    PlanRobustView view(lightTheme());
    view.setHint("No plan yet", "");
    EXPECT_THAT(drawn(view).texts(), testing::Contains("No plan yet"));
    view.set(choice);
    std::optional<sim::PlanGrid> chosen;
    view.setChosen([&](const sim::PlannedLayout& layout) { chosen = layout.grid; });
    const Rect area{0, 0, 520, 320};
    const RecorderCanvas canvas = drawn(view, area);
    EXPECT_TRUE(canvas.cutTexts().empty());
    EXPECT_THAT(canvas.texts(), testing::IsSupersetOf({"1.30 s", "1.04 s", "25.0 %", "2.0 %", "as given"}));
    std::vector<std::string> said;
    for (const Node& node : canvas.nodesOf("cell"))
        said.push_back(node.name);
    EXPECT_THAT(said,
                testing::IsSupersetOf({std::string("one GPU computes 10 % slower: A 1.30 s, 25.0 % behind the best of these"),
                                       std::string("as given: A 1.00 s, the best of these"),
                                       std::string("B at most 2.0 % behind the best of these")}));
    const auto luminanceAt = [&](const std::string& name) {
        std::uint32_t light = 0;
        for (const Node& node : canvas.nodesOf("cell"))
            for (const Primitive& primitive : canvas.primitives())
                if (node.name == name && primitive.kind == Primitive::Kind::fillRect && primitive.rect == node.rect)
                    light = 2 * (primitive.color.value & 0xFF) + 5 * (primitive.color.value >> 8 & 0xFF) +
                            (primitive.color.value >> 16 & 0xFF);
        EXPECT_GT(light, 0U) << name;
        return light;
    };
    EXPECT_LT(luminanceAt("as given: A 1.00 s, the best of these"),
              luminanceAt("one GPU computes 10 % slower: A 1.30 s, 25.0 % behind the best of these"))
        << "the best is the strongest, as on the map";
    EXPECT_TRUE(view.command(ViewCommand::previous, false, area)); // it stands at the one that loses least
    EXPECT_EQ(chosen, choice->layouts[0].grid);
    EXPECT_FALSE(view.command(ViewCommand::previous, false, area));
    const std::vector<Node> cells = canvas.nodesOf("cell");
    view.pointer(
        {.kind = PointerEvent::Kind::press, .at = {cells[1].rect.left + 3, cells[1].rect.top + 3}, .button = PointerButton::left},
        area);
    EXPECT_EQ(chosen, choice->layouts[1].grid);
    // So narrow that names of cases do not fit: numbers still do.
    const RecorderCanvas narrow = drawn(view, {0, 0, 160, 640});
    EXPECT_TRUE(narrow.cutTexts().empty());
    EXPECT_THAT(narrow.texts(), testing::Contains("1.30 s"));
    // They are numbered then, and told below.
    const RecorderCanvas numbered = drawn(view, {0, 0, 260, 640});
    EXPECT_THAT(numbered.texts(), testing::Contains("case 1"));
    EXPECT_THAT(numbered.texts(), testing::Contains(testing::StartsWith("case 1  one GPU computes")));
}

TEST(PlanRobustView, NamesCasesAboveTheirNumbersWhereItIsNarrow)
{
    auto choice = std::make_shared<sim::RobustChoice>();
    choice->cases = {{"as given", ""}, {"one GPU computes 10 % slower", ""}};
    for (const int tp : {1, 2, 4, 8, 16, 32}) {
        choice->layouts.push_back({.grid = {.tp = tp, .etp = tp}});
        choice->seconds.push_back({10.1e-3, 11.5e-3});
    }
    PlanRobustView view(lightTheme());
    view.set(choice);
    const Rect area{0, 0, 330, 640};
    const RecorderCanvas canvas = drawn(view, area);
    EXPECT_TRUE(canvas.cutTexts().empty());
    EXPECT_THAT(canvas.texts(),
                testing::IsSupersetOf({"as given", "one GPU computes 10 % slower", "most behind the best of them"}));
    EXPECT_EQ(std::ranges::count(canvas.texts(), "11.5 ms"), 6);
    for (const Node& cell : canvas.nodesOf("cell"))
        EXPECT_LE(cell.rect.right, area.right - kMargin) << cell.name;
}

} // namespace
} // namespace app
