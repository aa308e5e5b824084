// What the Live view is made of: compared timelines, curves, the grid of what ranks hold now.
#include "app/canvas/recorder_canvas.h"
#include "app/views/common/color.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/compare/compared_timelines_view.h"
#include "app/views/grid/grid_view.h"
#include "app/views/live/curves_view.h"
#include "sim/scenario/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr Rect kLiveArea{0, 0, 1200, 500};

/// Ranks that compute and then wait.
std::shared_ptr<const sim::Trace> trace(int ranks, std::int64_t endNs)
{
    auto out = std::make_shared<sim::Trace>();
    out->kinds = {{.name = "0F", .opClass = sim::OpClass::forward, .stage = 0},
                  {.name = "wait tp", .opClass = sim::OpClass::other, .group = "tp"}};
    for (int rank = 0; rank < ranks; ++rank) {
        out->processes.push_back({.rank = rank, .name = "rank " + std::to_string(rank)});
        sim::Track track{.process = rank, .name = "time use", .role = sim::TrackRole::actions};
        track.startNs = {0, endNs / 2};
        track.durationNs = {endNs / 2, endNs / 2};
        track.kind = {0, 1};
        track.microbatch = {3, -1};
        out->tracks.push_back(track);
    }
    out->endNs = endNs;
    return out;
}

struct Compared {
    Selection selection;
    ComparedTimelinesView view{selection, lightTheme()};
    explicit Compared(std::int64_t predictedNs = 8'000'000, std::int64_t measuredNs = 10'000'000)
    {
        view.setUpper({.trace = trace(4, predictedNs), .caption = "Predicted", .note = "8 ms"});
        view.setLower({.trace = trace(4, measuredNs), .caption = "Measured", .note = "10 ms"});
    }
    RecorderCanvas draw(Rect area = kLiveArea)
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas;
    }
    /// The span that ends farthest right, of the upper or the lower half.
    static float rightmost(const RecorderCanvas& canvas, bool upper)
    {
        float right = 0;
        const float middle = 0.42F * kLiveArea.height();
        for (const Node& node : canvas.nodesOf("span"))
            if ((node.rect.top < middle) == upper)
                right = std::max(right, node.rect.right);
        return right;
    }
};

TEST(ComparedTimelines, BothLieOnOneAxis)
{
    Compared compared;
    const RecorderCanvas canvas = compared.draw();
    EXPECT_TRUE(canvas.clipsAreBalanced());
    EXPECT_TRUE(canvas.cutTexts().empty());
    const float left = canvas.nodesOf("span").front().rect.left;
    const float upper = Compared::rightmost(canvas, true) - left, lower = Compared::rightmost(canvas, false) - left;
    EXPECT_NEAR(upper / lower, 0.8F, 0.01F);
}

TEST(ComparedTimelines, ZoomTogether)
{
    Compared compared;
    compared.draw();
    const TimeRange before = compared.view.visibleRange();
    compared.view.pointer({.kind = PointerEvent::Kind::wheel, .at = {600, 100}, .wheelY = 2, .control = true},
                          kLiveArea);                     // above
    const TimeRange after = compared.view.visibleRange(); // below
    EXPECT_LT(after.endNs - after.beginNs, before.endNs - before.beginNs);
    EXPECT_TRUE(compared.draw().clipsAreBalanced());
}

TEST(ComparedTimelines, SelectTogether)
{
    Compared compared;
    const RecorderCanvas canvas = compared.draw();
    const auto rows = canvas.nodesOf("row");
    const auto lowest =
        std::max_element(rows.begin(), rows.end(), [](const Node& a, const Node& b) { return a.rect.top < b.rect.top; });
    const Point at{lowest->rect.left + 20, (lowest->rect.top + lowest->rect.bottom) / 2};
    compared.view.pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, kLiveArea);
    compared.view.pointer({.kind = PointerEvent::Kind::release, .at = at, .button = PointerButton::left}, kLiveArea);
    ASSERT_TRUE(compared.selection.selectedRank);
    int marked = 0;
    for (const Node& row : compared.draw().nodesOf("row"))
        marked += row.selected ? 1 : 0;
    EXPECT_EQ(marked, 2); // the rank above and the rank below
}

TEST(ComparedTimelines, WaitingHasItsNameAndIsPale)
{
    Compared compared;
    const RecorderCanvas canvas = compared.draw();
    const auto texts = canvas.texts();
    EXPECT_NE(std::find(texts.begin(), texts.end(), "waiting"), texts.end());
    EXPECT_TRUE(canvas.rectsOf(lightTheme().fill(sim::OpClass::other)).empty());
}

TEST(ComparedTimelines, WithoutAPredictionTheMeasurementHasAllTheRoom)
{
    Compared compared;
    compared.view.setUpper({.caption = "Predicted", .message = "too many ranks"});
    const RecorderCanvas canvas = compared.draw();
    EXPECT_EQ(canvas.nodesOf("row").size(), 4U);
    EXPECT_LT(canvas.nodesOf("row").front().rect.top, 100);
}

TEST(ComparedTimelines, SixteenRanksFitBothHalvesOfAUsualWindow)
{
    constexpr Rect kLowerPartOfAWindow{0, 0, 1600, 440}; // of 900 pixels
    Compared compared;
    compared.view.setUpper({.trace = trace(16, 8'000'000), .caption = "Predicted", .note = "8 ms"});
    compared.view.setLower({.trace = trace(16, 10'000'000), .caption = "Measured", .note = "10 ms"});
    const RecorderCanvas canvas = compared.draw(kLowerPartOfAWindow);
    EXPECT_EQ(canvas.nodesOf("row").size(), 32U);
    const auto texts = canvas.texts();
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "rank 0"), 2);
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "rank 15"), 2);
    EXPECT_GE(std::count_if(texts.begin(), texts.end(), [](const std::string& text) { return text == "F3"; }), 32);
    EXPECT_TRUE(canvas.cutTexts().empty());
}

TEST(ComparedTimelines, ManyRanksScrollAtRowsThatCanBeRead)
{
    Compared compared;
    compared.view.setUpper({.trace = trace(64, 8'000'000), .caption = "Predicted"});
    compared.view.setLower({.trace = trace(64, 10'000'000), .caption = "Measured"});
    for (const Node& row : compared.draw().nodesOf("row"))
        EXPECT_GE(row.rect.height(), kLowestDenseRow - 1);
}

TEST(ComparedTimelines, APredictionAloneIsSeenWhole)
{
    Selection selection;
    ComparedTimelinesView view(selection, lightTheme());
    view.setUpper({.trace = trace(4, 8'000'000), .caption = "Predicted"});
    view.setLower({.caption = "Measured", .message = "The first step is on its way."});
    RecorderCanvas canvas(kLiveArea);
    view.draw(canvas);
    EXPECT_EQ(canvas.nodesOf("span").size(), 8U); // not zoomed to the empty axis below
}

TEST(ComparedTimelines, NothingYetIsSaid)
{
    Selection selection;
    ComparedTimelinesView view(selection, darkTheme());
    view.setLower({.caption = "Measured", .message = "The first step is on its way."});
    RecorderCanvas canvas(kLiveArea);
    view.draw(canvas);
    const auto texts = canvas.texts();
    EXPECT_NE(std::find(texts.begin(), texts.end(), "The first step is on its way."), texts.end());
}

std::vector<CurvePoint> points(int first, int last)
{
    std::vector<CurvePoint> out;
    for (int step = first; step <= last; ++step)
        out.push_back({.step = step, .loss = 6.0 / step, .gradientNorm = 1, .tokensPerSecond = 1000, .seconds = 0.4});
    return out;
}

TEST(Curves, AStepIsToldAndChosenWhereItIsPointedAt)
{
    CurvesView view(lightTheme());
    int chosen = 0;
    view.setChosen([&](int step) { chosen = step; });
    view.add(points(1, 20));
    view.pointer({.kind = PointerEvent::Kind::move, .at = {kLiveArea.right - 13, 100}}, kLiveArea);
    EXPECT_EQ(view.tooltip().substr(0, 7), "step 20");
    view.pointer({.kind = PointerEvent::Kind::press, .at = {53, 100}, .button = PointerButton::left}, kLiveArea);
    EXPECT_EQ(chosen, 1);
}

TEST(Curves, NewPointsReplaceOldOnesOfTheSameStep)
{
    CurvesView view(lightTheme());
    view.add(points(1, 5));
    view.add({{.step = 3, .loss = 9, .seconds = 1}});
    ASSERT_EQ(view.points().size(), 5U);
    EXPECT_EQ(view.points()[2].loss, 9);
}

TEST(Curves, ALongRunThatHasJustBegunIsNotALine)
{
    CurvesView view(lightTheme());
    view.add(points(1, 10));
    view.setPlannedSteps(100'000);
    view.pointer({.kind = PointerEvent::Kind::move, .at = {200, 100}}, kLiveArea);
    EXPECT_FALSE(view.tooltip().empty());
    RecorderCanvas canvas(kLiveArea);
    view.draw(canvas);
    const auto texts = canvas.texts();
    EXPECT_NE(std::find(texts.begin(), texts.end(), "100"), texts.end());
    EXPECT_EQ(std::find(texts.begin(), texts.end(), "100,000"), texts.end());
}

TEST(Curves, DrawWhatTheyHave)
{
    CurvesView view(darkTheme());
    for (const auto& known : {std::vector<CurvePoint>{}, points(1, 1), points(1, 3), points(1, 100'000)}) {
        view.clear();
        view.add(known);
        view.setPlannedSteps(10);
        view.setPredictedSeconds(0.1);
        for (const Rect area : {kLiveArea, Rect{0, 0, 240, 140}}) {
            RecorderCanvas canvas(area);
            view.draw(canvas);
            EXPECT_TRUE(canvas.clipsAreBalanced());
            EXPECT_TRUE(canvas.cutTexts().empty()) << known.size() << " points in " << area.width();
            EXPECT_LT(canvas.primitives().size(), 5000U); // by pixels, not by steps
        }
    }
    CurvesView broken(lightTheme());
    broken.add({{.step = 1, .loss = std::nan(""), .seconds = std::nan("")}});
    RecorderCanvas canvas(kLiveArea);
    broken.draw(canvas);
    EXPECT_TRUE(canvas.clipsAreBalanced());
}

TEST(LiveGrid, ShowsWhatRanksHoldNow)
{
    const auto catalogue = sim::Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    const auto simulation =
        sim::simulate(sim::readScenario(RANKSCOPE_SOURCE_DIR "/scenarios/60-tiny-tp2-pp2-dp2.json", catalogue), {.full = true});
    Selection selection;
    GridView grid(selection, lightTheme());
    grid.setStep({simulation, nullptr});
    std::vector<RankNow> now(8, {.bytes = 1 << 20, .peakBytes = 2 << 20, .doing = "F3"});
    now[5].bytes = 2 << 20;
    grid.setNow(now);
    RecorderCanvas canvas({0, 0, 1200, 700});
    grid.draw(canvas);
    const auto cells = canvas.nodesOf("cell");
    ASSERT_EQ(cells.size(), 8U);
    const auto fifth = std::find_if(cells.begin(), cells.end(), [](const Node& node) { return node.id == 5; });
    EXPECT_NE(fifth->name.find("2.00 MiB"), std::string::npos) << fifth->name;
    const auto texts = canvas.texts();
    EXPECT_EQ(std::count(texts.begin(), texts.end(), "F3"), 8);
    EXPECT_NE(std::find(texts.begin(), texts.end(), "memory now"), texts.end());
}

std::string textsOf(CurvesView& view)
{
    RecorderCanvas canvas(kLiveArea);
    view.draw(canvas);
    std::string all;
    for (const std::string& text : canvas.texts())
        all += text + "\n";
    return all;
}

TEST(LiveCurves, LossOfTheRunBeforeLiesBeneath)
{
    CurvesView view(lightTheme());
    view.add({{.step = 1, .loss = 5.5, .seconds = 0.1}, {.step = 2, .loss = 5.25, .seconds = 0.1}});
    EXPECT_EQ(textsOf(view).find("dashed"), std::string::npos);
    view.setEarlier("one rank", view.points());
    view.clear();
    EXPECT_EQ(view.earlier().size(), 2U) << "it is kept over a new beginning";
    view.add({{.step = 1, .loss = 5.5, .seconds = 0.1}});
    EXPECT_NE(textsOf(view).find("dashed: one rank 5.5"), std::string::npos) << textsOf(view);
}

/// However many steps lie on a pixel, and whatever they do.
TEST(LiveCurves, TheRunBeforeIsDashedWithGapsThatAreSeen)
{
    for (const int count : {2, 40, 4000}) {
        SCOPED_TRACE(count);
        std::vector<CurvePoint> points;
        for (int step = 1; step <= count; ++step)
            points.push_back({.step = step, .loss = step % 2 == 0 ? 2.0 : 5.0, .seconds = 0.1});
        CurvesView view(lightTheme());
        view.setEarlier("before", points);
        view.add(points);
        RecorderCanvas canvas(kLiveArea);
        view.draw(canvas);
        std::vector<std::pair<float, float>> dashes; // of the loss: from and to
        for (const Primitive& p : canvas.primitives())
            if (p.kind == Primitive::Kind::polyline && p.color == mix(lightTheme().canvas, lightTheme().optimizer, 0.75F))
                dashes.emplace_back(p.points.front().x, p.points.back().x);
        ASSERT_GT(dashes.size(), 10U);
        for (std::size_t i = 0; i < dashes.size(); ++i) {
            EXPECT_LE(dashes[i].second - dashes[i].first, 10);
            if (i > 0 && dashes[i].first > dashes[i - 1].first) {
                EXPECT_GE(dashes[i].first - dashes[i - 1].second, 5);
            }
        }
    }
}

/// Wherever the measured step times lie around it.
TEST(LiveCurves, TheNameOfThePredictionIsNotAcrossTheCurve)
{
    const auto isAcross = [](double first, double last, double predicted) {
        CurvesView view(lightTheme());
        for (int step = 1; step <= 10; ++step) {
            view.add({{.step = step, .loss = 5, .seconds = 1}});
            view.setParallelSeconds(step, first + (last - first) * (step - 1) / 9);
        }
        view.setPredictedSeconds(predicted);
        view.setAsIfParallel(true);
        RecorderCanvas canvas(kLiveArea);
        view.draw(canvas);
        const auto& all = canvas.primitives();
        const auto name = std::find_if(all.begin(), all.end(), [](const Primitive& p) { return p.text == "predicted"; });
        const auto curve = std::find_if(all.begin(), all.end(), [](const Primitive& p) {
            return p.kind == Primitive::Kind::polyline && p.color == lightTheme().fill(sim::OpClass::optimizer);
        });
        if (name == all.end() || curve == all.end())
            return true;
        for (std::size_t i = 1; i < curve->points.size(); ++i)
            for (float part = 0; part <= 1; part += 0.05F) {
                const Point a = curve->points[i - 1], b = curve->points[i];
                if (name->rect.contains({a.x + (b.x - a.x) * part, a.y + (b.y - a.y) * part}))
                    return true;
            }
        return false;
    };
    EXPECT_FALSE(isAcross(0.0105, 0.0105, 0.01)) << "a little slower than predicted: below the line there is room";
    EXPECT_FALSE(isAcross(0.0095, 0.0095, 0.01));
    EXPECT_FALSE(isAcross(0.006, 0.0102, 0.01)) << "it comes from below";
    EXPECT_FALSE(isAcross(0.03, 0.01, 0.01)) << "and from above";
}

TEST(LiveCurves, StepTimesAreOnTheClockThatIsChosenAsThePredictionIs)
{
    CurvesView view(lightTheme());
    view.add({{.step = 1, .loss = 5.5, .seconds = 0.4}, {.step = 2, .loss = 5.25, .seconds = 0.4}});
    view.setPredictedSeconds(0.01);
    view.setParallelSeconds(2, 0.012);
    view.add({{.step = 2, .loss = 5.25, .seconds = 0.4}});
    EXPECT_NE(textsOf(view).find("Step time, wall clock\n400 ms"), std::string::npos) << textsOf(view);
    EXPECT_EQ(textsOf(view).find("predicted"), std::string::npos) << "cores that take turns are not what is predicted";
    view.setAsIfParallel(true);
    EXPECT_NE(textsOf(view).find("Step time, as if parallel\n12.0 ms"), std::string::npos) << textsOf(view);
    EXPECT_NE(textsOf(view).find("predicted"), std::string::npos);
    view.setEarlier({}, view.points());
    EXPECT_NE(textsOf(view).find("dashed: the run before 5.25"), std::string::npos) << "trained again, it has the same name";
}

} // namespace
} // namespace app
