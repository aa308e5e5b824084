// A part of a canvas as a canvas of its own: for a view inside a view.
#pragma once

#include "app/canvas/forwarding_canvas.h"

namespace app {

class AreaCanvas final : public ForwardingCanvas {
public:
    /// `nodeIds` is added to the ids of all nodes, so that two parts' do not meet.
    AreaCanvas(Canvas& whole, Rect area, std::uint64_t nodeIds = 0) : ForwardingCanvas(whole), m_area(area), m_nodeIds(nodeIds)
    {
        m_whole.pushClip(area);
    }
    ~AreaCanvas() override { m_whole.popClip(); }
    AreaCanvas(const AreaCanvas&) = delete;
    AreaCanvas& operator=(const AreaCanvas&) = delete;

    Rect area() const override { return m_area; }
    void node(Node node) override
    {
        node.id += m_nodeIds;
        ForwardingCanvas::node(std::move(node));
    }

private:
    Rect m_area;
    std::uint64_t m_nodeIds;
};

} // namespace app
