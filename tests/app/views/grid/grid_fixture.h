// A rank grid over a simulation, drawn on the recorder and touched by pointer events.
#pragma once

#include "app/canvas/recorder_canvas.h"
#include "app/views/grid/grid_view.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

namespace app {

inline constexpr Rect kGridArea{10, 20, 910, 440};

inline sim::Scenario teachingGrid()
{
    sim::Scenario s = test::smallScenario(2, 2, 2, 8);
    s.layout.cp = 2;
    s.layout.order = "tp-cp-pp-dp";
    s.layout.dpShard = 0;
    s.cluster = test::h100Cluster(16);
    test::resolve(s);
    return s;
}

struct Grid {
    Selection selection;
    GridView view{selection, lightTheme()};
    std::shared_ptr<const sim::Simulation> simulation;

    explicit Grid(const sim::Scenario& scenario) : simulation(sim::simulate(scenario)) { view.setStep({simulation, nullptr}); }
    RecorderCanvas draw(Rect area = kGridArea)
    {
        RecorderCanvas canvas(area);
        view.draw(canvas);
        return canvas;
    }
    Point centreOf(int rank)
    {
        const RecorderCanvas canvas = draw();
        for (const Node& node : canvas.nodesOf("cell"))
            if (node.id == static_cast<std::uint64_t>(rank))
                return {(node.rect.left + node.rect.right) / 2, (node.rect.top + node.rect.bottom) / 2};
        ADD_FAILURE() << "rank " << rank << " is not on the picture";
        return {};
    }
    bool move(Point at) { return view.pointer({.kind = PointerEvent::Kind::move, .at = at}, kGridArea); }
    bool click(Point at)
    {
        const bool changed =
            view.pointer({.kind = PointerEvent::Kind::press, .at = at, .button = PointerButton::left}, kGridArea);
        view.pointer({.kind = PointerEvent::Kind::release, .at = at, .button = PointerButton::left}, kGridArea);
        return changed;
    }
    bool command(ViewCommand command, bool fast = false) { return view.command(command, fast, kGridArea); }
    /// The node of that role whose name begins so.
    Node node(const std::string& role, const std::string& begin)
    {
        const RecorderCanvas canvas = draw();
        for (const Node& n : canvas.nodesOf(role))
            if (n.name.starts_with(begin))
                return n;
        ADD_FAILURE() << "no " << role << " " << begin;
        return {};
    }
    Point middleOf(const Node& n) const { return {(n.rect.left + n.rect.right) / 2, (n.rect.top + n.rect.bottom) / 2}; }
    void zoom(Point at, float notches)
    {
        view.pointer({.kind = PointerEvent::Kind::wheel, .at = at, .wheelY = notches, .control = true}, kGridArea);
    }
};

/// Texts neither leave the area nor lie on each other.
inline void expectCleanText(const RecorderCanvas& canvas)
{
    for (const Primitive& text : canvas.cutTexts())
        ADD_FAILURE() << "cut: " << text.text;
    std::vector<Primitive> texts;
    for (const Primitive& p : canvas.primitives())
        if (p.kind == Primitive::Kind::text)
            texts.push_back(p);
    for (std::size_t i = 0; i < texts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            if (texts[i].text == texts[j].text && texts[i].rect == texts[j].rect)
                continue; // a lit cell repeats its number
            const Rect common = intersected(texts[i].rect.inset(1), texts[j].rect.inset(1));
            EXPECT_FALSE(common.width() > 0 && common.height() > 0) << texts[i].text << " lies on " << texts[j].text;
        }
}

} // namespace app
