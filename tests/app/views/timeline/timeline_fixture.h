// A timeline view over a simulated step, touched through pointer events and commands alone.
#pragma once

#include "app/canvas/recorder_canvas.h"
#include "app/views/common/timeline_geometry.h"
#include "app/views/timeline/timeline_view.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <memory>

namespace test {

using namespace app;

inline constexpr Rect kArea{10, 20, 1110, 420};

inline sim::Scenario fourStages()
{
    sim::Scenario s = smallScenario(1, 4, 1, 8);
    s.model = llamaModel(32, 4096, 32, 8, 14336, 128256);
    s.schedule.layersPerStage.clear();
    s.training.sequenceLength = 4096;
    resolve(s);
    return s;
}

struct Timeline {
    Selection selection;
    TimelineView view{selection, lightTheme()};
    std::shared_ptr<const sim::Simulation> simulation;
    std::shared_ptr<const sim::Trace> trace;
    Rect area = kArea;

    explicit Timeline(const sim::Scenario& scenario, sim::TraceDetail detail = sim::TraceDetail::actions)
        : simulation(sim::simulate(scenario)), trace(std::make_shared<sim::Trace>(simulation->trace(detail)))
    {
        view.setStep({simulation, trace});
    }
    explicit Timeline(sim::Trace made) : trace(std::make_shared<sim::Trace>(std::move(made))) { view.setStep({nullptr, trace}); }

    RecorderCanvas draw(bool nodes = true)
    {
        RecorderCanvas canvas(area, nodes);
        view.draw(canvas);
        return canvas;
    }
    Rect rows() const { return TimelineFrame(area).rows; }
    bool send(PointerEvent::Kind kind, Point at, PointerButton button = PointerButton::none)
    {
        return view.pointer({.kind = kind, .at = at, .button = button}, area);
    }
    bool move(Point at) { return send(PointerEvent::Kind::move, at); }
    void drag(Point from, Point to, PointerButton button = PointerButton::left)
    {
        send(PointerEvent::Kind::press, from, button);
        send(PointerEvent::Kind::move, {(from.x + to.x) / 2, (from.y + to.y) / 2}, button);
        send(PointerEvent::Kind::move, to, button);
        send(PointerEvent::Kind::release, to, button);
    }
    void click(Point at)
    {
        send(PointerEvent::Kind::press, at, PointerButton::left);
        send(PointerEvent::Kind::release, at, PointerButton::left);
    }
    bool command(ViewCommand c, bool fast = false) { return view.command(c, fast, area); }
    Point centreOfSpan(std::uint32_t track, std::uint32_t span)
    {
        const RecorderCanvas canvas = draw();
        for (const Node& node : canvas.nodesOf("span"))
            if (node.id == (static_cast<std::uint64_t>(track) << 32 | span))
                return {(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
        ADD_FAILURE() << "span " << span << " of track " << track << " is not drawn by itself";
        return {};
    }
};

} // namespace test
