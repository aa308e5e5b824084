#include "app/views/plan/plan_guide_view.h"

#include "app/views/common/labels.h"
#include "app/views/plan/plan_sizes_view.h"
#include "sim/planner/guide.h"
#include "tests/app/views/plan/plan_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace app {
namespace {

using testing::HasSubstr;

TEST(PlanGuideView, ShowsGatesTrafficAndBothLayouts)
{
    const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
    const auto guide = std::make_shared<const sim::PlanGuide>(sim::planGuide(request, ::test::catalogue()));
    PlanGuideView view(lightTheme());
    view.set(guide, foundPlan()->best.front());
    int chosen = 0;
    view.setChosen([&](const sim::PlannedLayout& layout, bool isPath) {
        ++chosen;
        EXPECT_EQ(layout.settings, isPath ? guide->layout->settings : foundPlan()->best.front().settings);
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

TEST(PlanGuideView, APressBeforeTheNextFrameTakesNothingThatIsGone)
{
    const sim::PlanRequest request{.document = sim::ScenarioDocument::parse(kPlannedJob)};
    const auto guide = std::make_shared<const sim::PlanGuide>(sim::planGuide(request, ::test::catalogue()));
    PlanGuideView view(lightTheme());
    int chosen = 0;
    view.setChosen([&](const sim::PlannedLayout&, bool) { ++chosen; });
    view.set(guide, foundPlan()->best.front());
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

} // namespace
} // namespace app
