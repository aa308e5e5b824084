// One zoom of the time axis for all pictures that have one.
#include "app/canvas/recorder_canvas.h"
#include "app/views/pictures.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

namespace app {
namespace {

constexpr Rect kSharedArea{0, 0, 900, 500};

TEST(SharedZoom, WhoZoomsInOnOnePictureZoomsInOnAll)
{
    const SimulationPtr simulation = sim::simulate(test::smallScenario(2, 2, 2));
    const ShownStep step{simulation, std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions))};
    Selection selection;
    TimeZoom zoom;
    zoom.setTrace(step.trace->endNs);
    std::vector<std::unique_ptr<StepView>> views;
    const auto show = [&](StepView& view) {
        view.setStep(step);
        RecorderCanvas canvas(kSharedArea, true);
        view.draw(canvas);
    };
    for (const PictureInfo& info : pictures())
        show(*views.emplace_back(info.make(selection, lightTheme(), &zoom)));
    StepView &timeline = *views[1], &memory = *views[2];
    const TimeWindow all = zoom.now();
    EXPECT_TRUE(all.showsAll());
    EXPECT_TRUE(memory.command(ViewCommand::zoomIn, true, kSharedArea));
    const TimeWindow near = zoom.now();
    EXPECT_LT(near.span(), all.span());
    for (const auto& view : views) {
        show(*view);
        EXPECT_EQ(zoom.now(), near) << view->title() << ": a picture that is shown again leaves it alone";
    }
    EXPECT_TRUE(timeline.command(ViewCommand::viewBack, false, kSharedArea));
    EXPECT_EQ(zoom.now(), all);
    EXPECT_TRUE(memory.command(ViewCommand::viewForward, false, kSharedArea));
    EXPECT_EQ(zoom.now(), near);
    selection.range = TimeRange{step.trace->endNs / 4, step.trace->endNs / 2};
    EXPECT_TRUE(memory.command(ViewCommand::focusSelection, false, kSharedArea));
    EXPECT_TRUE(timeline.command(ViewCommand::focusSelection, false, kSharedArea))
        << "the second time shows all, wherever it is pressed";
    EXPECT_TRUE(zoom.now().showsAll());
}

TEST(SharedZoom, WhatWasLookedAtStaysInSight)
{
    TimeZoom zoom;
    zoom.setTrace(1'000'000);
    EXPECT_TRUE(zoom.zoom(10, 0.5));
    const TimeRange before = zoom.range();
    zoom.setTrace(2'000'000);
    EXPECT_EQ(zoom.range(), before);
    zoom.setTrace(std::nullopt);
    zoom.setTrace(3'000'000);
    EXPECT_TRUE(zoom.now().showsAll()) << "another scenario";
}

} // namespace
} // namespace app
