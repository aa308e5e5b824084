// Three to six steps on one axis.
#include "app/views/common/labels.h"
#include "app/views/compare/step_bars.h"
#include "sim/simulate/purpose_name.h"
#include "tests/app/views/compare/compare_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace app {
namespace {

std::vector<CompareView::Further> furtherOf(const CompareView::Side& a, std::initializer_list<const char*> kinds)
{
    std::vector<CompareView::Further> out;
    for (const char* kind : kinds)
        out.push_back(CompareView::prepareFurther({a.simulation, a.actions}, sideOf(pipeline(kind))));
    return out;
}

sim::Scenario deep(int stages)
{
    return test::smallScenario(1, stages, 1, 16);
}

TEST(SeveralCompared, LieOnOneAxisWithWhatEachIsMadeOf)
{
    Compare compare;
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2", "zb-1p", "zb-2p"}));
    ASSERT_TRUE(compare.view.showsSeveral());
    EXPECT_FALSE(compare.view.canBlend()) << "that is between two";
    const RecorderCanvas canvas = compare.draw();
    EXPECT_TRUE(canvas.clipsAreBalanced());
    EXPECT_EQ(canvas.nodesOf("bar").size(), 6U);
    const auto captions = canvas.nodesOf("caption");
    ASSERT_EQ(captions.size(), 6U);
    for (std::size_t i = 0; i < captions.size(); ++i) {
        EXPECT_EQ(captions[i].name.front(), static_cast<char>('A' + i));
        if (i > 0) {
            EXPECT_GT(captions[i].rect.top, captions[i - 1].rect.bottom) << "one below the other";
        }
    }
    std::int64_t longest = std::max(compare.a.actions->endNs, compare.b.actions->endNs);
    for (const CompareView::Further& further : compare.view.further())
        longest = std::max(longest, further.side.actions->endNs);
    EXPECT_EQ(compare.view.visibleRange().beginNs, 0);
    EXPECT_GE(compare.view.visibleRange().endNs, longest);
    EXPECT_LT(compare.view.visibleRange().endNs, longest + longest / 20) << "all of them, and a little room";
    compare.view.setFurther({});
    EXPECT_FALSE(compare.view.showsSeveral());
    EXPECT_EQ(compare.draw().nodesOf("caption").size(), 2U) << "the two alone again";
}

TEST(SeveralCompared, BarsAddUpToTheStepsAndSayTheDifferenceToA)
{
    Compare compare;
    std::vector<sim::Comparison> toA{*compare.view.comparison()};
    for (const CompareView::Further& further : furtherOf(compare.a, {"zb-h1"}))
        toA.push_back(further.toA);
    const StepBars bars(toA, {"gpipe", "1f1b", "zb-h1"});
    ASSERT_EQ(bars.steps().size(), 3U);
    for (const StepBars::Step& step : bars.steps()) {
        std::int64_t sum = 0;
        for (const auto& [part, ns] : step.parts)
            sum += ns;
        EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(step.ns), 16) << step.name;
    }
    EXPECT_TRUE(bars.steps()[0].difference.empty());
    EXPECT_TRUE(bars.steps()[2].difference.starts_with("−")) << "ZB-H1 is shorter than GPipe";
    const Rect area{0, 0, 900, bars.suitableHeight()};
    EXPECT_NE(bars.describe(area, {300, area.bottom - 16}).find("zb-h1"), std::string::npos);
    EXPECT_EQ(bars.describe(area, {300, 2}), "");
}

TEST(SeveralCompared, OneLegendTellsWhatIsInAnyOfThem)
{
    Compare compare; // GPipe and 1F1B have no I and W
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1"}));
    std::string all;
    for (const Node& node : compare.draw().nodesOf("class"))
        all += node.name + "\n";
    for (const char* name : {"forward", "input gradient", "weight gradient"})
        EXPECT_NE(all.find(name), std::string::npos) << name << " in " << all;
}

TEST(SeveralCompared, TheLegendNamesAColourByWhatItIsInAllOfThem)
{
    const auto namesOf = [](const sim::Scenario& first, const sim::Scenario& second) {
        Compare compare(first, second);
        std::string all;
        for (const Node& node : compare.draw().nodesOf("class"))
            all += node.name + "\n";
        return all;
    };
    sim::Scenario tied = deep(2);
    tied.model.tieWordEmbeddings = true;
    test::resolve(tied);
    const sim::Scenario copies = test::smallScenario(1, 2, 2, 16);
    EXPECT_THAT(namesOf(tied, tied), testing::HasSubstr("embedding comm"));
    for (const std::string& names : {namesOf(tied, copies), namesOf(copies, tied)}) {
        EXPECT_THAT(names, testing::HasSubstr("dp comm"));
        EXPECT_THAT(names, testing::Not(testing::HasSubstr("embedding")));
    }
}

TEST(SeveralCompared, TheLegendTellsWhatBandsMeanInAnyOfThem)
{
    const auto bands = [](Compare& compare) {
        std::string all;
        for (const Node& node : compare.draw().nodesOf("legend"))
            all += node.name;
        return all;
    };
    Compare two(pipeline("dualpipe"), pipeline("1f1b"));
    EXPECT_EQ(bands(two), "the other direction") << "of the upper one, too";
    Compare several(pipeline("zb-v"), pipeline("1f1b"));
    EXPECT_EQ(bands(several), "second chunk");
    several.view.setFurther(furtherOf(several.a, {"dualpipe"}));
    EXPECT_EQ(bands(several), "second chunk, or the other direction");
}

TEST(SeveralCompared, RowsKeepTheirNamesWhereSixDoNotFit)
{
    Compare compare;
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2", "zb-1p", "zb-2p"}));
    const Rect low{0, 0, 900, 480};
    const auto captions = [&] { return compare.draw(low).nodesOf("caption"); };
    const auto first = captions();
    ASSERT_LT(first.size(), 6U) << "the others are scrolled to";
    EXPECT_EQ(first.front().name.front(), 'A');
    for (std::size_t i = 0; i + 1 < first.size(); ++i)
        EXPECT_GE(first[i + 1].rect.top - first[i].rect.bottom, 4 * 14) << "four rows, each with its name";
    for (int notch = 0; notch < 6; ++notch)
        compare.view.pointer({.kind = PointerEvent::Kind::wheel, .at = {400, 400}, .wheelY = -1}, low);
    EXPECT_EQ(captions().back().name.front(), 'F');
    EXPECT_EQ(compare.draw({0, 0, 900, 1000}).nodesOf("caption").size(), 6U) << "with room all are there";
}

/// One row beside eight gets what a row takes, not a share of them, and none is squeezed to be there.
TEST(SeveralCompared, EveryRowIsHighEnoughForItsText)
{
    Compare compare(deep(1), deep(8));
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2"}));
    for (const float height : {420.0F, 500.0F, 640.0F, 760.0F}) {
        SCOPED_TRACE(height);
        const Rect area{0, 0, 900, height};
        const RecorderCanvas canvas = compare.draw(area);
        const auto captions = canvas.nodesOf("caption");
        const auto rows = canvas.nodesOf("row");
        ASSERT_FALSE(captions.empty());
        for (std::size_t i = 0; i < captions.size(); ++i) {
            const float top = captions[i].rect.bottom, bottom = i + 1 < captions.size() ? captions[i + 1].rect.top : height;
            const auto first = std::find_if(rows.begin(), rows.end(),
                                            [&](const Node& row) { return row.rect.top >= top && row.rect.top < bottom; });
            ASSERT_NE(first, rows.end()) << captions[i].name;
            EXPECT_GE(first->rect.height(), 10) << captions[i].name;
            EXPECT_LE(first->rect.bottom, bottom - 4) << captions[i].name << ": its row is cut";
        }
    }
    const float suitable = compare.view.suitableHeight(300);
    const RecorderCanvas figure = compare.draw({0, 0, 900, suitable});
    EXPECT_EQ(figure.nodesOf("caption").size(), 4U);
    EXPECT_EQ(figure.nodesOf("row").size(), 1U + 8 + 4 + 4) << "nobody scrolls on paper";
    for (const Node& row : figure.nodesOf("row"))
        EXPECT_GE(row.rect.height(), 12) << row.name;
    EXPECT_EQ(Compare().view.suitableHeight(300), 300) << "two are laid out in what there is";
}

/// Lit rows are alike in all; where the pointer is gone, and on paper, none is.
TEST(SeveralCompared, NothingStaysLitWhereThePointerIsGone)
{
    Compare compare;
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2"}));
    const auto lit = [](const RecorderCanvas& canvas) {
        const auto rows = canvas.nodesOf("row");
        return std::count_if(rows.begin(), rows.end(), [](const Node& row) { return row.selected; });
    };
    const auto rows = compare.draw().nodesOf("row");
    ASSERT_FALSE(rows.empty());
    const Point at{rows[1].rect.left + 20, (rows[1].rect.top + rows[1].rect.bottom) / 2};
    compare.view.pointer({.kind = PointerEvent::Kind::move, .at = at}, kCompareArea);
    ASSERT_EQ(lit(compare.draw()), 4) << "the same row of each";
    EXPECT_TRUE(compare.view.pointer({.kind = PointerEvent::Kind::leave, .at = {-1, -1}}, kCompareArea));
    EXPECT_EQ(lit(compare.draw()), 0);
    compare.view.pointer({.kind = PointerEvent::Kind::move, .at = at}, kCompareArea);
    RecorderCanvas paper(kCompareArea);
    drawOnPaper(compare.view, paper);
    EXPECT_EQ(lit(paper), 0);
    EXPECT_FALSE(compare.view.isOnPaper());
}

/// A slide of two deep pipelines: nobody scrolls there, and rows that are too low for a name each are named now and then.
TEST(SeveralCompared, AnAudienceSeesAllOfThem)
{
    const Compare compare(deep(16), deep(32));
    StackedTimelinesView pair(lightTheme());
    pair.setSteps(compare.view.steps());
    const Rect slide{0, 0, 620, 270};
    const auto draw = [&](bool isForAudience) {
        pair.setForAudience(isForAudience, 2);
        RecorderCanvas canvas(slide);
        pair.draw(canvas);
        return canvas;
    };
    EXPECT_EQ(draw(false).nodesOf("caption").size(), 1U) << "the other is scrolled to";
    const RecorderCanvas canvas = draw(true);
    const auto captions = canvas.nodesOf("caption");
    const auto isInCaption = [&](const Primitive& text) {
        return std::any_of(captions.begin(), captions.end(), [&](const Node& caption) {
            return caption.rect.contains({text.rect.left, (text.rect.top + text.rect.bottom) / 2});
        });
    };
    EXPECT_EQ(captions.size(), 2U);
    std::vector<Rect> names;
    for (const Primitive& one : canvas.primitives())
        if (one.kind == Primitive::Kind::text && one.rect.left < 60 && !isInCaption(one))
            names.push_back(one.rect);
    EXPECT_GE(names.size(), 6U);
    for (std::size_t i = 1; i < names.size(); ++i)
        EXPECT_GE(names[i].top, names[i - 1].bottom) << "names touch each other";
}

/// On a slide nobody points at a colour to learn what it means.
TEST(SeveralCompared, TallBarsHaveALegend)
{
    Compare compare;
    StepBars bars({*compare.view.comparison()}, {"a", "b"});
    const Rect area{0, 0, 620, 160};
    const auto textsOf = [&] {
        RecorderCanvas canvas(area);
        bars.paint(canvas, lightTheme(), area);
        EXPECT_TRUE(canvas.cutTexts().empty());
        return canvas.texts();
    };
    const auto before = textsOf();
    bars.setTall(true);
    const auto texts = textsOf();
    EXPECT_GT(texts.size(), before.size());
    for (const StepBars::Step& step : bars.steps())
        for (const auto& [part, ns] : step.parts)
            EXPECT_GE(std::count(texts.begin(), texts.end(), sim::partName(part, "dp")), 1) << sim::partName(part, "dp");
    EXPECT_EQ(bars.describe(area, {300, 40}).substr(0, 1), "A");
    EXPECT_EQ(bars.describe(area, {300, 150}), "") << "the legend";
}

/// Who is who comes before what the colours mean.
TEST(SeveralCompared, LowBarsKeepTheirLetters)
{
    Compare compare;
    const std::vector<sim::Comparison> toA(5, *compare.view.comparison());
    StepBars bars(toA, {"a", "b", "c", "d", "e", "f"});
    bars.setTall(true);
    for (float height = 110; height < 300; height += 5) {
        const Rect area{0, 0, 620, height};
        RecorderCanvas canvas(area);
        bars.paint(canvas, lightTheme(), area);
        const auto texts = canvas.texts();
        for (const char* letter : {"A", "B", "C", "D", "E", "F"})
            EXPECT_EQ(std::count(texts.begin(), texts.end(), letter), 1) << letter << " at height " << height;
    }
}

TEST(SeveralCompared, AStepThatDoesNotFitSaysSo)
{
    sim::Scenario small = pipeline("1f1b");
    small.cluster.gpu.memoryGib = 0.999 * sim::simulate(small)->metrics().peakMemoryGib;
    Compare compare(pipeline("gpipe"), small);
    const StepBars bars({*compare.view.comparison()}, {"a", "b"});
    EXPECT_TRUE(bars.steps()[0].fits);
    EXPECT_FALSE(bars.steps()[1].fits);
    const Rect area{0, 0, 900, bars.suitableHeight()};
    EXPECT_EQ(bars.describe(area, {300, 30}).find("does not fit"), std::string::npos);
    EXPECT_NE(bars.describe(area, {300, area.bottom - 16}).find("does not fit"), std::string::npos);
    EXPECT_EQ(bars.describe(area, {300, area.bottom - 16}).find("does not fit into"), std::string::npos) << "a cap may be missed";
}

TEST(SeveralCompared, WhatReadsTheSameIsEquallyLong)
{
    Compare compare;
    sim::Comparison c = *compare.view.comparison();
    c.stepNs.b = c.stepNs.a + 1;
    EXPECT_EQ(StepBars({c}, {"a", "b"}).steps()[1].difference, "equally long");
}

TEST(SeveralCompared, OneCursorStepsThroughAll)
{
    Compare compare;
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1"}));
    compare.draw();
    std::int64_t before = compare.view.cursorNs();
    EXPECT_EQ(before, 0);
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(compare.view.command(ViewCommand::next, false, kCompareArea));
        const double onePixel = static_cast<double>(compare.view.visibleRange().endNs) / static_cast<double>(kCompareArea.right);
        EXPECT_GT(static_cast<double>(compare.view.cursorNs() - before), onePixel) << "the next change that can be seen";
        before = compare.view.cursorNs();
    }
    const auto captions = compare.draw().nodesOf("caption");
    for (const Node& caption : captions)
        EXPECT_NE(caption.name.find("at the cursor: "), std::string::npos) << caption.name;
    EXPECT_TRUE(compare.view.command(ViewCommand::previous, false, kCompareArea));
    EXPECT_LT(compare.view.cursorNs(), before);
    while (compare.view.command(ViewCommand::next, true, kCompareArea)) {
    }
    EXPECT_FALSE(compare.view.command(ViewCommand::next, false, kCompareArea)) << "there is nothing after the last";
}

TEST(SeveralCompared, ZoomTogetherAndFitSmallPlaces)
{
    Compare compare;
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2"}));
    compare.draw();
    const TimeRange all = compare.view.visibleRange();
    const Node caption = compare.draw().nodesOf("caption").back();
    const Point at{600, caption.rect.bottom + 20};
    compare.view.pointer({.kind = PointerEvent::Kind::move, .at = at}, kCompareArea);
    EXPECT_TRUE(compare.view.command(ViewCommand::zoomIn, true, kCompareArea)) << "over the last of them";
    const TimeRange zoomed = compare.view.visibleRange();
    EXPECT_LT(zoomed.endNs - zoomed.beginNs, all.endNs - all.beginNs) << "and the first went along";
    for (const Rect small : {Rect{0, 0, 640, 420}, Rect{0, 0, 360, 300}, Rect{0, 0, 300, 90}})
        EXPECT_TRUE(compare.draw(small).clipsAreBalanced());
}

TEST(SeveralCompared, WhatIsPinnedUnderThePointerStaysInAllOfThem)
{
    Compare compare;
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1"}));
    compare.draw();
    const Node second = [&] {
        std::vector<Node> rows = compare.draw().nodesOf("row");
        return rows.at(4 + 2); // of B, its third
    }();
    const auto countOfPinned = [&] {
        const auto nodes = compare.draw().nodes();
        return std::ranges::count_if(nodes, [](const Node& node) { return node.name == "unpin row"; });
    };
    EXPECT_EQ(countOfPinned(), 0);
    compare.view.pointer(
        {.kind = PointerEvent::Kind::move, .at = {kCompareArea.right / 2, (second.rect.top + second.rect.bottom) / 2}},
        kCompareArea);
    EXPECT_TRUE(compare.view.command(ViewCommand::pinRow, false, kCompareArea));
    EXPECT_EQ(countOfPinned(), 3) << "one in each of A, B and C";
    EXPECT_TRUE(compare.view.command(ViewCommand::pinRow, false, kCompareArea));
    EXPECT_EQ(countOfPinned(), 0);
}

TEST(SeveralCompared, WhatIsTheSameStandsThereOnce)
{
    Compare compare(pipeline("1f1b"), pipeline("1f1b"));
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2"}), true);
    ASSERT_TRUE(compare.view.showsSeveral());
    const auto lettersOf = [&](const char* role) {
        std::string out;
        for (const Node& node : compare.draw().nodesOf(role))
            out += node.name.front();
        return out;
    };
    EXPECT_EQ(lettersOf("bar"), "ACD");
    EXPECT_EQ(lettersOf("caption"), "ACD");
    compare.view.setFurther(furtherOf(compare.a, {"zb-h1", "zb-h2"}));
    EXPECT_EQ(lettersOf("bar"), "ABCD");
}

} // namespace
} // namespace app
