// Two steps compared, drawn by the canvas recorder and touched by the pointer.
#pragma once

#include "app/canvas/recorder_canvas.h"
#include "app/views/compare/compare_view.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

namespace app {

inline constexpr Rect kCompareArea{0, 0, 1200, 760};

inline sim::Scenario pipeline(const char* kind, int stages = 4)
{
    sim::Scenario scenario = test::smallScenario(1, stages, 1, 8);
    scenario.name = kind;
    scenario.schedule = {.kind = kind, .virtualStages = sim::findScheduleFamily(kind)->chunks.least};
    test::resolve(scenario);
    return scenario;
}

inline CompareView::Side sideOf(const sim::Scenario& scenario)
{
    const SimulationPtr simulation = sim::simulate(scenario);
    return {.simulation = simulation,
            .actions = std::make_shared<const sim::Trace>(simulation->trace(sim::TraceDetail::actions)),
            .name = scenario.name,
            .message = {}};
}

struct Compare {
    Selection selection;
    CompareView view{selection, lightTheme()};
    CompareView::Side a, b;
    explicit Compare(const sim::Scenario& first = pipeline("gpipe"), const sim::Scenario& second = pipeline("1f1b"))
        : a(sideOf(first)), b(sideOf(second))
    {
        view.setSides(a, b);
    }
    RecorderCanvas draw(Rect area = kCompareArea)
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas;
    }
    Node node(const std::string& role, const std::string& start)
    {
        for (const Node& node : draw().nodesOf(role))
            if (node.name.starts_with(start))
                return node;
        ADD_FAILURE() << "no " << role << " " << start;
        return {};
    }
    void press(Point at)
    {
        view.pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, kCompareArea);
    }
    void release(Point at)
    {
        view.pointer({.kind = PointerEvent::Kind::release, .at = at, .button = PointerButton::left}, kCompareArea);
    }
    void click(const Node& node)
    {
        const Point middle{(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
        press(middle);
        release(middle);
    }
};

} // namespace app
