// Two scenarios laid on each other: the way from A's time to B's, ribbons, blend, memory, and what pointer and keys do.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/labels.h"
#include "app/views/common/step_part_color.h"
#include "app/views/compare/blended_trace.h"
#include "app/views/compare/caption_text.h"
#include "app/views/compare/compare_geometry.h"
#include "app/views/compare/compare_view.h"
#include "app/views/compare/compared_timelines_view.h"
#include "app/views/compare/delta_ribbons.h"
#include "app/views/compare/memory_pair.h"
#include "app/views/compare/step_bars.h"
#include "app/views/compare/waterfall.h"
#include "sim/simulate/purpose_name.h"
#include "tests/app/views/compare/compare_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace app {
namespace {

std::size_t spansOf(const sim::Trace& trace)
{
    return std::accumulate(trace.tracks.begin(), trace.tracks.end(), std::size_t{0},
                           [](std::size_t sum, const sim::Track& track) { return sum + track.size(); });
}

TEST(Waterfall, LeadsFromOneStepToTheOtherWithoutAGap)
{
    std::mt19937 random(91);
    for (int i = 0; i < 10; ++i) {
        const auto first = sim::simulate(test::randomScenario(random, 32)), second = sim::simulate(pipeline("1f1b"));
        const sim::Comparison comparison = sim::compare(*first, *second);
        const Waterfall waterfall(comparison);
        const auto& bars = waterfall.bars();
        EXPECT_EQ(bars.front().deltaNs(), comparison.stepNs.a);
        EXPECT_EQ(bars.back().deltaNs(), comparison.stepNs.b);
        for (std::size_t bar = 1; bar + 1 < bars.size(); ++bar)
            EXPECT_EQ(bars[bar].fromNs, bars[bar - 1].toNs);
        EXPECT_EQ(bars[bars.size() - 2].toNs, comparison.stepNs.b);
    }
}

TEST(Waterfall, BarsHaveTheColoursOfTheirSwatches)
{
    const auto first = sim::simulate(pipeline("gpipe")), second = sim::simulate(pipeline("1f1b", 2));
    const Waterfall waterfall(sim::compare(*first, *second));
    RecorderCanvas canvas({0, 0, 900, 300});
    waterfall.paint(canvas, lightTheme(), canvas.area(), nullptr, {first, second});
    int coloured = 0;
    for (const Waterfall::Bar& bar : waterfall.bars())
        if (bar.parts.size() == 1) {
            EXPECT_EQ(canvas.rectsOf(fillOf(bar.parts.front(), lightTheme())).size(), 2U) << "the bar and its swatch";
            ++coloured;
        }
    EXPECT_GT(coloured, 0);
}

/// A difference is told as it is, rounded once; where figures beside it do not add up it says why.
TEST(Waterfall, DifferencesAreTrueAndRoundedOnce)
{
    constexpr std::int64_t kMs = 1'000'000;
    sim::Comparison c;
    c.use.a[sim::StepPart::tp] = 1'234 * kMs; // "1.23 s"
    c.use.b[sim::StepPart::tp] = 2'236 * kMs; // "2.24 s": 1.01 s more as they are told, 1.00 s more in truth
    c.use.a[sim::StepPart::computing] = c.use.b[sim::StepPart::computing] = 5'000 * kMs;
    c.stepNs = {6'234 * kMs, 7'236 * kMs};
    const Waterfall waterfall(c);
    ASSERT_EQ(waterfall.bars().size(), 3U);
    EXPECT_EQ(waterfall.bars()[1].description, "exposed tp +1.00 s: 1.23 s in A, 2.24 s in B");
    RecorderCanvas canvas({0, 0, 900, 300});
    waterfall.paint(canvas, lightTheme(), canvas.area());
    EXPECT_THAT(canvas.texts(), testing::AllOf(testing::Contains("+1.00 s"),
                                               testing::Contains(testing::HasSubstr("each figure is rounded by itself"))));
}

/// One name for one thing: what goes the way of dp without data parallelism is the gradient of a shared embedding.
TEST(Waterfall, CallsTheTransfersOfASharedEmbeddingThat)
{
    sim::Scenario tied = test::smallScenario(1, 4, 1, 8);
    tied.model.tieWordEmbeddings = true;
    sim::Scenario larger = tied;
    larger.model.vocabSize *= 2;
    Compare compare(tied, larger);
    const SimulationPtr first = compare.a.simulation, second = compare.b.simulation;
    ASSERT_NE(sim::compare(*first, *second).deltaNs(sim::StepPart::dp), 0);
    std::string all;
    for (const Node& node : compare.draw().nodesOf("bar"))
        all += node.name + "\n";
    EXPECT_THAT(all, testing::HasSubstr("exposed embedding"));
    EXPECT_THAT(all, testing::Not(testing::HasSubstr("exposed dp")));
    const std::vector<const sim::Simulation*> both{first.get(), second.get()};
    EXPECT_EQ(sim::partTitle(sim::StepPart::dp, sim::dataTransfersOf(both)), "exposed embedding communication");
    const auto data = sim::simulate(test::smallScenario(1, 2, 2, 8));
    const std::vector<const sim::Simulation*> unlike{first.get(), data.get()};
    EXPECT_EQ(sim::partName(sim::StepPart::dp, sim::dataTransfersOf(unlike)), "exposed embedding / dp");
}

/// Two steps of seconds that differ in four parts, one of them by no more than the others' rounding.
sim::Comparison almostAlike()
{
    constexpr std::int64_t kMs = 1'000'000;
    sim::Comparison c;
    c.stepNs = {7'780 * kMs, 7'780 * kMs};
    c.use.a[sim::StepPart::computing] = c.use.b[sim::StepPart::computing] = 7'000 * kMs;
    const auto change = [&](sim::StepPart part, std::int64_t byNs) {
        c.use.a[part] = 200 * kMs;
        c.use.b[part] = 200 * kMs + byNs;
        c.stepNs.b += byNs;
    };
    change(sim::StepPart::bubble, -170 * kMs);
    change(sim::StepPart::tp, 97 * kMs);
    change(sim::StepPart::pp, -29 * kMs);
    change(sim::StepPart::optimizer, 1'980);
    return c;
}

TEST(Waterfall, NumbersKeepTheirUnitsHoweverNarrowTheirColumns)
{
    const Waterfall waterfall(almostAlike());
    for (const float width : {560.0F, 260.0F}) {
        RecorderCanvas canvas({0, 0, width, 220});
        waterfall.paint(canvas, lightTheme(), canvas.area().inset(4));
        std::string texts;
        for (const std::string& text : canvas.texts())
            texts += text + " ";
        for (const char* shown : {"7.78 s", "−170 ms", "+97.0 ms", "−29.0 ms", "≈0", "7.68 s"}) {
            const std::string number(shown),
                digits = number.substr(0, number.find(' ')),
                unit = number.find(' ') == std::string::npos ? "" : number.substr(number.find(' ') + 1);
            EXPECT_TRUE(texts.find(number) != std::string::npos || texts.find(unit + " " + digits + " ") != std::string::npos)
                << number << " in " << texts;
        }
        EXPECT_EQ(texts.find("1.98"), std::string::npos) << "noise beside milliseconds";
        EXPECT_TRUE(canvas.cutTexts().empty());
    }
}

TEST(Waterfall, BarsSayTheDifferenceRoundedOnceAndTheHeadlineThatFiguresAreRounded)
{
    sim::Comparison c;
    c.use.a[sim::StepPart::bubble] = 25'350'000; // told as 25.4 ms
    c.use.b[sim::StepPart::bubble] = 44'410'000; // 44.4 ms
    c.stepNs = {100'000'000, 119'060'000};
    const Waterfall waterfall(c);
    EXPECT_EQ(waterfall.bars().at(1).change, "+19.1 ms");
    EXPECT_EQ(waterfall.bars().at(1).description, "bubble +19.1 ms: 25.4 ms in A, 44.4 ms in B");
    EXPECT_THAT(waterfall.headlines().front(), testing::EndsWith(std::string("(") + kFiguresAreRounded + ")"));
    EXPECT_EQ(waterfall.headlines().back(), "+19.1 ms") << "the note goes where there is no room";
    EXPECT_THAT(Waterfall(almostAlike()).headlines().front(), testing::Not(testing::HasSubstr(kFiguresAreRounded)));
}

TEST(Waterfall, EveryBarThatDoesNotBeginAtZeroIsBroken)
{
    const Waterfall waterfall(almostAlike());
    for (const float height : {300.0F, 84.0F}) {
        RecorderCanvas canvas({0, 0, 560, height});
        waterfall.paint(canvas, lightTheme(), canvas.area().inset(4));
        const auto breaks = std::count_if(canvas.primitives().begin(), canvas.primitives().end(), [](const Primitive& each) {
            return each.kind == Primitive::Kind::fillConvex && each.color == lightTheme().canvas;
        });
        EXPECT_EQ(breaks, 2) << height;
    }
}

TEST(Waterfall, SaysWhenNothingDiffers)
{
    const auto step = sim::simulate(pipeline("1f1b"));
    const Waterfall waterfall(sim::compare(*step, *step));
    EXPECT_EQ(waterfall.bars().size(), 2U);
    EXPECT_TRUE(waterfall.headlines().front().ends_with("equally long"));
}

TEST(Waterfall, WordsOfChanges)
{
    EXPECT_EQ(signedDurationText(12.3e6), "+12.3 ms");
    EXPECT_EQ(signedDurationText(-12.3e6), "−12.3 ms");
    EXPECT_EQ(signedDurationText(0), "0");
    constexpr double kGib = 1024.0 * 1024 * 1024;
    EXPECT_EQ(bytesChangeText(2 * kGib, kGib), "−1.00 GiB");
    EXPECT_EQ(bytesChangeText(kGib, kGib), "0");
    EXPECT_EQ(bytesText(30.34 * kGib), "30.3 GiB");
    EXPECT_EQ(bytesChangeText(30.34 * kGib, 24.47 * kGib), "−5.87 GiB") << "beside 30.3 and 24.5: rounded once";
    EXPECT_EQ(ratioText(100, 114.3), "+14.3 %");
    EXPECT_EQ(ratioText(100, 50), "−50.0 %");
    EXPECT_EQ(ratioText(100, 320), "3.20 times as much");
    EXPECT_EQ(ratioText(100, 100), "unchanged");
}

TEST(MemoryPair, SaysWhichPartsChanged)
{
    sim::Comparison comparison;
    comparison.memory.a = {.parameters = 1 << 30, .activations = 2 << 20};
    comparison.memory.b = {.parameters = 1 << 30, .gradients = 1 << 20, .activations = 8 << 20};
    EXPECT_EQ(memoryChangeTexts(comparison).front(), "+7.00 MiB: activations +6.00 MiB, gradients +1.00 MiB");
    EXPECT_EQ(memoryChangeTexts(comparison)[1], "+7.00 MiB: activations +6.00 MiB, …");
    EXPECT_EQ(memoryChangeTexts(comparison).back(), "+7.00 MiB");
    comparison.memory.b = comparison.memory.a;
    EXPECT_EQ(memoryChangeTexts(comparison).front(), "Both hold the same");
}

TEST(BlendedTrace, AtItsEndsIsEitherStep)
{
    const Compare compare(pipeline("1f1b"), pipeline("zb-h1"));
    const auto matched = sim::matchActions(*compare.a.simulation, *compare.a.actions, *compare.b.simulation, *compare.b.actions);
    for (const bool atB : {false, true}) {
        const sim::Trace& wanted = atB ? *compare.b.actions : *compare.a.actions;
        const sim::Trace made = blend(*compare.a.actions, *compare.b.actions, matched, atB ? 1 : 0).trace;
        EXPECT_EQ(made.endNs, wanted.endNs);
        ASSERT_EQ(spansOf(made), spansOf(wanted));
        for (std::size_t track = 0; track < made.tracks.size(); ++track) {
            EXPECT_EQ(made.tracks[track].startNs, wanted.tracks[track].startNs);
            EXPECT_EQ(made.tracks[track].durationNs, wanted.tracks[track].durationNs);
        }
    }
}

TEST(BlendedTrace, HalfWayEveryActionOfBothIsHalfWay)
{
    const Compare compare;
    const auto matched = sim::matchActions(*compare.a.simulation, *compare.a.actions, *compare.b.simulation, *compare.b.actions);
    const BlendedTrace made = blend(*compare.a.actions, *compare.b.actions, matched, 0.5);
    for (std::size_t r = 0; r < matched.rows.size(); ++r) {
        const sim::Track &a = compare.a.actions->tracks[matched.rows[r].trackA],
                         &b = compare.b.actions->tracks[matched.rows[r].trackB];
        std::vector<std::int64_t> middles;
        for (std::size_t i = 0; i < b.size(); ++i)
            middles.push_back((a.startNs[static_cast<std::size_t>(matched.rows[r].ofB[i])] + b.startNs[i] + 1) / 2);
        std::sort(middles.begin(), middles.end());
        EXPECT_EQ(made.trace.tracks[r].startNs, middles);
    }
    EXPECT_TRUE(std::all_of(made.opacityOfKind.begin(), made.opacityOfKind.end(), [](float share) { return share == 1; }));
}

TEST(BlendedTrace, WhatOnlyOneHasFadesAndIsNeverInTheMiddle)
{
    const Compare compare(pipeline("1f1b"), pipeline("zb-h1"));
    const auto matched = sim::matchActions(*compare.a.simulation, *compare.a.actions, *compare.b.simulation, *compare.b.actions);
    const auto at = [&](double share) { return blend(*compare.a.actions, *compare.b.actions, matched, share); };
    EXPECT_LT(spansOf(at(0.5).trace), spansOf(at(0.75).trace));
    const BlendedTrace late = at(0.75);
    EXPECT_NEAR(*std::min_element(late.opacityOfKind.begin(), late.opacityOfKind.end()), 0.5F, 1e-6F);
    for (const sim::Track& track : late.trace.tracks) {
        EXPECT_TRUE(std::is_sorted(track.startNs.begin(), track.startNs.end()));
        for (std::size_t i = 1; i < track.size(); ++i)
            if (late.opacityOfKind[track.kind[i]] < 1 || late.opacityOfKind[track.kind[i - 1]] < 1) {
                EXPECT_GE(track.startNs[i], track.startNs[i - 1] + track.durationNs[i - 1]) << "they make room";
            }
    }
}

TEST(DeltaRibbons, HaveTheDifferencesOfTheStarts)
{
    const Compare compare;
    const auto matched = sim::matchActions(*compare.a.simulation, *compare.a.actions, *compare.b.simulation, *compare.b.actions);
    const DeltaRibbons same(matched, *compare.b.actions, *compare.b.actions, [](double ns) { return ns; });
    EXPECT_GT(same.rows().size(), 0U);
    const DeltaRibbons ribbons(matched, *compare.a.actions, *compare.b.actions, [](double ns) { return ns; });
    ASSERT_EQ(ribbons.rows().size(), matched.rows.size());
    double largest = 0;
    for (std::size_t r = 0; r < matched.rows.size(); ++r) {
        const auto& b = compare.b.actions->tracks[matched.rows[r].trackB];
        const auto& a = compare.a.actions->tracks[matched.rows[r].trackA];
        ASSERT_EQ(ribbons.rows()[r].pieces.size(), b.size());
        for (std::size_t i = 0; i < b.size(); ++i) {
            const auto delta = static_cast<double>(b.startNs[i] - a.startNs[static_cast<std::size_t>(matched.rows[r].ofB[i])]);
            EXPECT_EQ(ribbons.rows()[r].pieces[i].deltaNs, delta);
            largest = std::max(largest, std::abs(delta));
        }
    }
    EXPECT_EQ(ribbons.largestNs(), largest);
}

TEST(CompareView, SaysOfAStepThatMissesItsCapThatItDoesNotFit)
{
    sim::Scenario capped = pipeline("auto");
    const auto isTold = [](const sim::Scenario& scenario) {
        Compare compare(pipeline("1f1b"), scenario);
        return compare.node("caption", "B: ").name.find("(does not fit)") != std::string::npos;
    };
    EXPECT_FALSE(isTold(capped));
    capped.schedule.memoryCapGib = 0.1 * sim::simulate(capped)->metrics().peakMemoryGib;
    EXPECT_TRUE(isTold(capped)) << "though its GPUs hold it";
}

TEST(CompareView, NothingPinnedSaysHowToGetABaseline)
{
    Selection selection;
    CompareView view(selection, lightTheme());
    RecorderCanvas canvas(kCompareArea);
    view.draw(canvas);
    const auto texts = canvas.texts();
    EXPECT_NE(std::find(texts.begin(), texts.end(), "Pin a baseline with Ctrl+B, or drop a second scenario here. Esc goes back."),
              texts.end());
    EXPECT_FALSE(view.comparison());
    EXPECT_FALSE(view.pointer({.kind = PointerEvent::Kind::press, .at = {10, 10}}, kCompareArea));
    view.setSides({.message = "Simulating another…"}, sideOf(pipeline("1f1b")));
    RecorderCanvas waiting(kCompareArea);
    view.draw(waiting);
    const auto words = waiting.texts();
    EXPECT_NE(std::find(words.begin(), words.end(), "Simulating another…"), words.end());
}

TEST(CompareView, DrawsNoCutTextAtAnySize)
{
    Compare compare;
    for (const bool blends : {false, true}) {
        blends ? compare.view.setBlend(0.4) : compare.view.setAlignment(Alignment::end);
        for (const Rect area : {Rect{0, 0, 300, 200}, Rect{0, 0, 420, 620}, Rect{0, 0, 640, 360}, Rect{0, 0, 1280, 720},
                                Rect{0, 0, 1600, 900}, Rect{40, 30, 900, 530}}) {
            const RecorderCanvas canvas = compare.draw(area);
            EXPECT_TRUE(canvas.clipsAreBalanced());
            for (const Primitive& cut : canvas.cutTexts())
                ADD_FAILURE() << area.width() << "x" << area.height() << ": " << cut.text;
            EXPECT_FALSE(canvas.nodesOf("bar").empty());
        }
    }
}

/// Of a legend that has no room for all of its chips some are drawn, and a sign: a name beside them ends before the first.
TEST(CompareView, NamesLieUnderNoLegendAtAnyWidth)
{
    sim::Scenario first = test::smallScenario(2, 2, 2, 8), second = test::smallScenario(4, 2, 2, 8);
    first.name = "Two-way tensor parallelism in two stages on 8 GPUs";
    second.name = "Four-way tensor parallelism in two stages on 16 GPUs";
    Compare two(first, second), three(first, second);
    sim::Scenario third = second;
    third.name = "The same again, which is the third of those that are compared";
    three.view.setFurther({CompareView::prepareFurther({three.a.simulation, three.a.actions}, sideOf(third))});
    for (Compare* compare : {&two, &three}) {
        for (float width = 240; width < 900; width += 10) {
            const RecorderCanvas canvas = compare->draw({0, 0, width, 560});
            for (const Node& chip : canvas.nodesOf("class"))
                for (const Primitive& text : canvas.primitives())
                    if (text.kind == Primitive::Kind::text &&
                        (text.text.find("GPUs") != std::string::npos || text.text.find("compared") != std::string::npos)) {
                        const Rect common = intersected(text.rect.inset(1), chip.rect.inset(2));
                        EXPECT_FALSE(common.width() > 0 && common.height() > 0)
                            << text.text << " lies on " << chip.name << " at " << width;
                    }
        }
    }
}

TEST(CompareView, NamesItsBarsWithTheirNumbers)
{
    Compare compare(pipeline("gpipe"), pipeline("zb-h1")); // whose bubble is shorter: 1F1B's is as long as GPipe's
    EXPECT_TRUE(compare.node("bar", "A: step ").name.ends_with("ms"));
    const Node bubble = compare.node("bar", "bubble");
    EXPECT_NE(bubble.name.find(" in A, "), std::string::npos);
    compare.view.pointer(
        {.kind = PointerEvent::Kind::move, .at = {(bubble.rect.left + bubble.rect.right) / 2, bubble.rect.top + 30}},
        kCompareArea);
    EXPECT_EQ(compare.view.tooltip(), bubble.name);
}

TEST(CompareView, ShowsARibbonForEveryStageBothHave)
{
    Compare compare;
    EXPECT_EQ(compare.draw().nodesOf("ribbon").size(), 4U);
    Compare others(pipeline("1f1b", 2), pipeline("1f1b", 4));
    EXPECT_TRUE(others.draw().nodesOf("ribbon").empty());
    EXPECT_FALSE(others.view.canBlend());
    EXPECT_NE(others.node("button", "Blend").name.find("2 and 4"), std::string::npos);
    others.view.setBlend(0.5);
    EXPECT_FALSE(others.view.isBlending());
}

TEST(CompareView, AlignmentMovesTheShorterStepToTheEnd)
{
    Compare compare(pipeline("gpipe"), pipeline("zb-h1"));
    const auto edges = [&] {
        float left = kCompareArea.right, right = 0;
        for (const Node& node : compare.draw().nodesOf("span"))
            if (node.id < (std::uint64_t{1} << 61)) { // of B
                left = std::min(left, node.rect.left);
                right = std::max(right, node.rect.right);
            }
        return std::pair{left, right};
    };
    const auto [startLeft, startRight] = edges();
    compare.click(compare.node("button", "Same end"));
    EXPECT_EQ(compare.view.alignment(), Alignment::end);
    const auto [endLeft, endRight] = edges();
    EXPECT_GT(endLeft, startLeft + 10);
    EXPECT_GT(endRight, startRight + 10);
    EXPECT_NEAR(endRight - endLeft, startRight - startLeft, 3);
    compare.click(compare.node("button", "Equal length"));
    const auto [scaledLeft, scaledRight] = edges();
    EXPECT_NEAR(scaledLeft, startLeft, 3);
    EXPECT_NEAR(scaledRight, endRight, 3);
    EXPECT_EQ(compare.selection.cursorNs, 0) << "nobody moved the cursor";
}

TEST(CompareView, TheSliderIsDraggedAndTheKeysMoveIt)
{
    Compare compare;
    const Node slider = compare.node("slider", "Blend");
    const float y = (slider.rect.top + slider.rect.bottom) / 2;
    compare.press({slider.rect.left + 8, y});
    EXPECT_TRUE(compare.view.isBlending());
    EXPECT_NEAR(compare.view.blend(), 0, 0.02);
    compare.view.pointer(
        {.kind = PointerEvent::Kind::move, .at = {slider.rect.right + 300, y + 200}, .button = PointerButton::left},
        kCompareArea);
    EXPECT_EQ(compare.view.blend(), 1);
    compare.release({slider.rect.right + 300, y + 200});
    compare.view.pointer({.kind = PointerEvent::Kind::move, .at = {slider.rect.left + 8, y}}, kCompareArea);
    EXPECT_EQ(compare.view.blend(), 1) << "let go";
    EXPECT_TRUE(compare.view.command(ViewCommand::previous, false, kCompareArea));
    EXPECT_NEAR(compare.view.blend(), 0.95, 1e-9);
    EXPECT_TRUE(compare.view.command(ViewCommand::next, true, kCompareArea));
    EXPECT_FALSE(compare.view.command(ViewCommand::next, true, kCompareArea));
    EXPECT_TRUE(compare.draw().nodesOf("ribbon").empty());
    EXPECT_EQ(compare.draw().nodesOf("row").size(), 4U);
    compare.click(compare.node("button", "Same start"));
    EXPECT_FALSE(compare.view.isBlending());
    EXPECT_EQ(compare.draw().nodesOf("row").size(), 8U);
}

TEST(CompareView, TheSameWorkIsLitInBoth)
{
    Compare compare;
    for (const Node& node : compare.draw().nodesOf("span"))
        if (node.name == "F3") {
            compare.click(node);
            break;
        }
    int lit = 0;
    for (const Node& node : compare.draw().nodesOf("span"))
        lit += node.selected ? 1 : 0;
    EXPECT_EQ(lit, 2);
}

TEST(ComparedTimelines, GoTogetherWithTheTimeCursorThatLeavesThem)
{
    const CompareView::Side upper = sideOf(pipeline("gpipe")), lower = sideOf(pipeline("1f1b"));
    Selection selection;
    ComparedTimelinesView view(selection, lightTheme());
    view.setUpper({.trace = upper.actions, .simulation = upper.simulation, .caption = "Predicted", .note = {}, .message = {}});
    view.setLower({.trace = lower.actions, .simulation = lower.simulation, .caption = "Measured", .note = {}, .message = {}});
    RecorderCanvas canvas(kCompareArea);
    view.draw(canvas);
    const std::int64_t endNs = lower.actions->endNs;
    selection.cursorNs = endNs / 2;
    EXPECT_FALSE(view.keepCursorInSight()) << "all of it is in sight";
    view.pointer({.kind = PointerEvent::Kind::move, .at = {600, 600}}, kCompareArea);
    for (int i = 0; i < 8; ++i)
        view.command(ViewCommand::zoomIn, false, kCompareArea);
    for (const std::int64_t now : {endNs / 20, endNs * 19 / 20}) {
        selection.cursorNs = now;
        view.keepCursorInSight();
        for (const bool isUpper : {false, true}) {
            const TimeAxis axis = view.axis(isUpper, kCompareArea);
            EXPECT_LT(axis.beginNs, static_cast<double>(now)) << isUpper;
            EXPECT_GT(axis.endNs, static_cast<double>(now)) << isUpper;
            EXPECT_LT(axis.endNs - axis.beginNs, static_cast<double>(endNs) / 2) << "as far into it as before";
        }
    }
}

TEST(CompareView, SixteenThousandRanksAreFoldedRows)
{
    sim::Scenario scenario = test::smallScenario(8, 8, 256, 16);
    scenario.training.globalBatchSize = 16 * 256;
    Compare compare(scenario, scenario);
    EXPECT_EQ(compare.view.comparison()->worldSize.a, 16384);
    EXPECT_LE(compare.draw().nodesOf("row").size(), 64U);
}

TEST(CompareFrame, PartsNeverLeaveTheAreaNorLieOnEachOther)
{
    for (float width = 300; width <= 1600; width += 130)
        for (float height = 200; height <= 900; height += 70) {
            const Rect area{10, 20, 10 + width, 20 + height};
            const CompareFrame f(area);
            for (const Rect part : {f.waterfall, f.memory, f.controls, f.timelines}) {
                EXPECT_GE(part.left, area.left);
                EXPECT_LE(part.right, area.right);
                EXPECT_LE(part.bottom, area.bottom) << width << "x" << height;
                EXPECT_GE(part.width(), 0);
            }
            EXPECT_GE(f.waterfall.width(), 250);
            EXPECT_TRUE(intersected(f.waterfall, f.memory) == Rect{});
            EXPECT_LE(f.controls.bottom, f.timelines.top);
        }
}

TEST(CaptionText, KeepsTheEndOfANameWhereAllOfItHasNoRoom)
{
    RecorderCanvas canvas(kCompareArea, false);
    const std::string name = "A name that somebody gave to a scenario, now placement round-robin";
    const float all = canvas.textWidth(name, FontFace::small);
    EXPECT_EQ(captionThatFits(canvas, {name}, name, all), name);
    EXPECT_EQ(captionThatFits(canvas, {name}, name, canvas.textWidth("… now placement round-robin", FontFace::small)),
              "… now placement round-robin");
    EXPECT_EQ(captionThatFits(canvas, {name}, name, 4), "");
}

} // namespace
} // namespace app
