// The pictures of a plan say what the search found: ties as ties, margins that follow from the numbers, and pointer and keys
// choose the same.
#include "app/views/plan/plan_view.h"

#include "app/views/plan/plan_cost_view.h"
#include "app/views/plan/plan_sizes_view.h"
#include "tests/app/views/plan/plan_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace app {
namespace {

using testing::HasSubstr;

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
        PlanSize size{
            .gpus = gpus, .isSearched = true, .isProved = true, .isShown = gpus == 16, .best = foundPlan()->best.front()};
        size.best->runDays = days;
        size.best->tokensPerSecond = 1 / days;
        size.best->gpuHours = hours;
        sizes.push_back(size);
    }
    sizes.push_back({.gpus = 64, .best = std::nullopt}); // not searched
    PlanCostView view(lightTheme());
    view.setHint("Not known.");
    EXPECT_THAT(drawnPlan(view).texts(), testing::Contains("Not known."));
    view.set(sizes, 2);
    const RecorderCanvas canvas = drawnPlan(view);
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

TEST(PlanHeatMap, EveryCellSaysSomethingHoweverLowItIs)
{
    auto answer = std::make_shared<sim::PlanAnswer>(*foundPlan());
    answer->rejected.push_back(
        {.grid = {.tp = 1, .pp = 8, .dp = 2}, .reason = sim::PlanReason::open, .text = "not looked at yet"});
    answer->rejected.push_back(
        {.grid = {.tp = 1, .pp = 16}, .reason = sim::PlanReason::floor, .text = "cut", .leastFloorSeconds = 9});
    ShownPlan shown(pictureOfPlan(answer));
    for (const float width : {300.0F, 420.0F, 700.0F})
        for (float height = shown.map.leastHeight(width); height < 420; height += 7) {
            const RecorderCanvas canvas = drawnPlan(shown.map, {0, 0, width, height});
            EXPECT_THAT(canvas.texts(), testing::Contains(HasSubstr("≥: at least"))) << "a sign without a word";
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

TEST(PlanViews, SayTheSameToEyesAndToScreenReaders)
{
    const PlanPicture picture = pictureOfPlan(foundPlan());
    ShownPlan shown(picture);
    const RecorderCanvas map = drawnPlan(shown.map);
    EXPECT_TRUE(map.clipsAreBalanced());
    EXPECT_TRUE(map.cutTexts().empty());
    std::size_t named = 0;
    for (const Node& node : map.nodesOf("cell"))
        named += node.name.find("tp ") == 0 && node.name.find(", pp ") != std::string::npos ? 1U : 0U;
    EXPECT_EQ(named, map.nodesOf("cell").size());
    EXPECT_THAT(map.texts(), testing::Contains("best"));

    const RecorderCanvas best = drawnPlan(shown.best);
    EXPECT_TRUE(best.cutTexts().empty());
    ASSERT_EQ(best.nodesOf("cell").size(), foundPlan()->best.size());
    EXPECT_THAT(best.nodesOf("cell").front().name, HasSubstr("\ncomputing "));
    const RecorderCanvas scatter = drawnPlan(shown.scatter);
    EXPECT_TRUE(scatter.cutTexts().empty());
    EXPECT_EQ(scatter.nodesOf("cell").size(), picture.layouts().size());
}

TEST(PlanViews, CutNothingHoweverSmallTheyAre)
{
    ShownPlan shown(pictureOfPlan(foundPlan()));
    for (const Rect area : {Rect{0, 0, 120, 80}, {0, 0, 240, 120}, {0, 0, 320, 400}, {0, 0, 1200, 160}, {0, 0, 1, 1}})
        for (PlanView* view : shown.all()) {
            const RecorderCanvas canvas = drawnPlan(*view, area);
            EXPECT_TRUE(canvas.clipsAreBalanced());
            EXPECT_TRUE(canvas.cutTexts().empty())
                << view->title() << " " << area.right << "x" << area.bottom << ": " << canvas.cutTexts().front().text;
        }
}

TEST(PlanViews, ChooseByPointerAndKeysAlike)
{
    const PlanPicture picture = pictureOfPlan(foundPlan());
    ShownPlan shown(picture);
    int told = 0, opened = 0;
    shown.map.setChosen([&] { ++told; });
    shown.map.setOpened([&] { ++opened; });
    const RecorderCanvas before = drawnPlan(shown.map);
    const Node target = before.nodesOf("cell").back();
    const Point middle{(target.rect.left + target.rect.right) / 2, (target.rect.top + target.rect.bottom) / 2};
    EXPECT_TRUE(shown.map.pointer({.kind = PointerEvent::Kind::move, .at = middle}, kPlanArea));
    EXPECT_THAT(shown.map.tooltip(), HasSubstr(target.name));
    EXPECT_TRUE(shown.map.pointer({.kind = PointerEvent::Kind::press, .at = middle, .button = PointerButton::left}, kPlanArea));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(opened, 0);
    ASSERT_TRUE(shown.choice->has_value());
    const RecorderCanvas after = drawnPlan(shown.map);
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
    ShownPlan shown(pictureOfPlan(foundPlan()));
    *shown.choice = choiceOf(foundPlan()->best.back());
    for (PlanView* view : shown.all()) {
        int selected = 0;
        const RecorderCanvas canvas = drawnPlan(*view);
        for (const Node& node : canvas.nodesOf("cell"))
            selected += node.selected ? 1 : 0;
        EXPECT_LE(selected, 1) << view->title();
        if (view != &shown.map) {
            EXPECT_EQ(selected, 1) << view->title();
        }
    }
}

TEST(PlanSizes, OfASearchThatWasStoppedNothingIsSaidNotToFit)
{
    PlanSizesView view(lightTheme());
    for (const auto& [isSearched, isProved, said] :
         {std::tuple{true, true, "nothing fits"}, {true, false, "none found"}, {false, false, "not searched"}}) {
        view.set({{.gpus = 8, .isSearched = isSearched, .isProved = isProved, .best = std::nullopt}});
        EXPECT_THAT(drawnPlan(view).texts(), testing::Contains(said));
    }
}

TEST(PlanBest, ALowListStillSaysWhichLayoutIsWhich)
{
    ShownPlan shown(pictureOfPlan(foundPlan()));
    RecorderCanvas low({0, 0, 420, 60.0F + 22.0F * static_cast<float>(foundPlan()->best.size())});
    shown.best.draw(low);
    const std::string grid = foundPlan()->best.front().grid.text();
    EXPECT_TRUE(std::ranges::any_of(low.texts(), [&](const std::string& text) { return text.find(grid) != std::string::npos; }))
        << grid;
    EXPECT_TRUE(low.cutTexts().empty());
}

TEST(PlanViews, MineIsOfAsManySequencesAsTheOthers)
{
    sim::PlanAnswer answer = *foundPlan();
    PlanPicture picture = pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer));
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = 3.37, .peakGib = 30});
    EXPECT_EQ(picture.mineText(), "3.37 s");
    answer.paceBatch = 64;
    picture = pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer));
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = 3.37, .peakGib = 30});
    EXPECT_EQ(picture.mineText(), "3.37 s for 64 sequences");
    ShownPlan shown(picture);
    EXPECT_THAT(drawnPlan(shown.scatter).nodesOf("text").front().name, HasSubstr("3.37 s for 64 sequences"));
}

TEST(PlanViews, SayWhatToDoWhereThereIsNoPlan)
{
    ShownPlan shown{PlanPicture()};
    for (PlanView* view : shown.all()) {
        view->setHint("No plan yet", "Press Plan.");
        const RecorderCanvas canvas = drawnPlan(*view);
        EXPECT_THAT(canvas.texts(), testing::ElementsAre("No plan yet", "Press Plan."));
        EXPECT_TRUE(canvas.nodes().empty());
        EXPECT_FALSE(view->command(ViewCommand::next, false, kPlanArea));
    }
}

TEST(PlanViews, TellLittleMemoryInItsUnit)
{
    sim::PlanAnswer answer = *foundPlan();
    for (std::vector<sim::PlannedLayout>* layouts : {&answer.best, &answer.pareto})
        for (sim::PlannedLayout& layout : *layouts)
            layout.peakMemoryGib = 4.4 / 1024;
    PlanPicture picture = pictureOfPlan(std::make_shared<const sim::PlanAnswer>(answer));
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = answer.best.front().stepSeconds * 1.1, .peakGib = 8.8 / 1024});
    ShownPlan shown(picture);
    const RecorderCanvas best = drawnPlan(shown.best, {0, 0, 900, 400});
    EXPECT_THAT(best.texts(), testing::Contains(HasSubstr(" · 4.40 MiB")));
    EXPECT_THAT(best.nodesOf("cell").front().name, HasSubstr(", 4.40 MiB"));
    const RecorderCanvas scatter = drawnPlan(shown.scatter);
    EXPECT_THAT(scatter.nodesOf("text").front().name, HasSubstr("8.80 MiB"));
    for (const Node& node : scatter.nodesOf("cell"))
        EXPECT_THAT(node.name, testing::Not(HasSubstr(" 0.0 GiB")));
}

TEST(PlanViews, MarkTheScenarioAsItIs)
{
    PlanPicture picture = pictureOfPlan(foundPlan());
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = foundPlan()->best.front().stepSeconds * 1.1, .peakGib = 30});
    ShownPlan shown(picture);
    const RecorderCanvas map = drawnPlan(shown.map), scatter = drawnPlan(shown.scatter);
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
    ShownPlan without(pictureOfPlan(foundPlan()));
    EXPECT_THAT(drawnPlan(without.map).texts(), testing::Not(testing::Contains(HasSubstr("yours"))));
}

TEST(PlanViews, TheMarkOfTheScenarioCoversNothingThatIsWritten)
{
    PlanPicture picture = pictureOfPlan(foundPlan());
    picture.setMine(PlanMine{.tp = 4, .pp = 2, .paceSeconds = foundPlan()->best.front().stepSeconds * 1.1, .peakGib = 30});
    ShownPlan shown(picture);
    constexpr float kSmallest = 5;
    std::size_t seen = 0;
    for (float width = 240; width <= 700; width += 20)
        for (const float height : {120.0F, 160.0F, 220.0F, 420.0F}) {
            const RecorderCanvas map = drawnPlan(shown.map, {0, 0, width, height});
            for (const Node& cell : map.nodesOf("cell"))
                for (const Primitive& mark : map.primitives()) {
                    if (cell.name.find(", yours") == std::string::npos || mark.kind != Primitive::Kind::fillConvex ||
                        mark.color != lightTheme().text || mark.rect.left != cell.rect.left || mark.rect.top != cell.rect.top)
                        continue;
                    for (const Primitive& text : map.primitives())
                        if (text.kind == Primitive::Kind::text && cell.rect.contains({text.rect.left, text.rect.top + 4})) {
                            ++seen;
                            const float slope = text.rect.left - cell.rect.left + text.rect.top - cell.rect.top;
                            EXPECT_LE(mark.rect.width(), std::max(kSmallest, slope)) << text.text << " at " << width;
                        }
                }
        }
    EXPECT_GT(seen, 20U);
}

TEST(PlanViews, TheLegendHasTheWordsOfTheCellsAndAllOfThem)
{
    const PlanPicture picture = pictureOfPlan(foundPlan());
    ShownPlan shown(picture);
    for (const float width : {300.0F, 420.0F, 700.0F}) {
        const RecorderCanvas map = drawnPlan(shown.map, {0, 0, width, 420});
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
                EXPECT_THAT(legend, HasSubstr("≥: at least so much more")) << width;
            } else if (cell.kind == PlanCellKind::open) {
                EXPECT_THAT(legend, HasSubstr("open: not looked at")) << width;
            }
        }
        EXPECT_TRUE(map.cutTexts().empty());
    }
}

TEST(PlanBest, SaysThatLaterPlacesAreOfWhatWasSimulated)
{
    ShownPlan shown(pictureOfPlan(foundPlan()));
    ASSERT_GT(foundPlan()->best.size(), 1U);
    for (const float width : {260.0F, 420.0F, 900.0F}) {
        const RecorderCanvas list = drawnPlan(shown.best, {0, 0, width, 340});
        EXPECT_THAT(list.texts(), testing::Contains(HasSubstr("simulated"))) << width;
        EXPECT_TRUE(list.cutTexts().empty());
        EXPECT_THAT(list.nodesOf("cell").at(0).name, testing::Not(HasSubstr("may not have been")));
        EXPECT_THAT(list.nodesOf("cell").at(1).name, HasSubstr("others between it and the first may not have been"));
    }
}

TEST(PlanBest, AtItsLeastSizeEachLayoutHasItsRowAndThePlacesAreSaid)
{
    ShownPlan shown(pictureOfPlan(foundPlan()));
    const std::size_t rows = foundPlan()->best.size();
    ASSERT_GT(rows, 1U);
    for (const bool hasWordsAboveBars : {false, true})
        for (const float width : {300.0F, 620.0F}) {
            const RecorderCanvas list = drawnPlan(shown.best, {0, 0, width, shown.best.leastHeight(hasWordsAboveBars)});
            EXPECT_EQ(list.nodesOf("cell").size(), rows) << width;
            EXPECT_THAT(list.texts(), testing::Contains(HasSubstr("simulated"))) << width;
            EXPECT_TRUE(list.cutTexts().empty()) << width;
        }
}

/// Columns with room for a number, and each sign in the legend.
TEST(PlanMap, AtItsLeastSizeEveryCellAndSignIsSaid)
{
    const PlanPicture picture = pictureOfPlan(foundPlan());
    ShownPlan shown(picture);
    const float width = shown.map.leastWidth();
    const RecorderCanvas map = drawnPlan(shown.map, {0, 0, width, shown.map.leastHeight(width)});
    for (const int tp : picture.tps())
        if (std::any_of(picture.cells().begin(), picture.cells().end(), [&](const PlanCell& cell) {
                return cell.tp == tp && cell.kind != PlanCellKind::rule && cell.kind != PlanCellKind::none;
            })) {
            EXPECT_THAT(map.texts(), testing::Contains(testing::AnyOf(std::to_string(tp), "tp " + std::to_string(tp))));
        }
    for (const Node& cell : map.nodesOf("cell"))
        EXPECT_TRUE(std::any_of(map.primitives().begin(), map.primitives().end(), [&](const Primitive& each) {
            return each.kind == Primitive::Kind::text &&
                   cell.rect.contains({(each.rect.left + each.rect.right) / 2, (each.rect.top + each.rect.bottom) / 2});
        })) << cell.name;
    EXPECT_THAT(map.texts(), testing::Contains("best"));
}

/// As in a window of 1366 × 768.
TEST(PlanViews, TheLegendTellsInFewWordsWhereThereIsLittleRoom)
{
    const PlanPicture picture = pictureOfPlan(foundPlan());
    ShownPlan shown(picture);
    const auto kinds = [&](PlanCellKind kind) {
        return std::any_of(picture.cells().begin(), picture.cells().end(),
                           [&](const PlanCell& cell) { return cell.kind == kind; });
    };
    for (const float width : {230.0F, 260.0F, 320.0F}) {
        const RecorderCanvas map = drawnPlan(shown.map, {0, 0, width, std::max(190.0F, shown.map.leastHeight(width))});
        std::string texts;
        for (const std::string& text : map.texts())
            texts += text + "\n";
        std::size_t told = 0, all = 0;
        for (const auto& [kind, words] : {std::pair(PlanCellKind::memory, "too large"),
                                          {PlanCellKind::rule, "not legal"},
                                          {PlanCellKind::floor, "≥: at least"},
                                          {PlanCellKind::open, "not looked at"},
                                          {PlanCellKind::tie, "tie"}})
            if (kinds(kind)) {
                ++all;
                told += texts.find(words) != std::string::npos ? 1U : 0U;
            }
        EXPECT_GT(all, 1U);
        EXPECT_EQ(told, all) << width << ": " << texts;
        EXPECT_TRUE(map.cutTexts().empty());
    }
}

} // namespace
} // namespace app
