// What the pointer does to the scene of a timeline: hover, click, drag, wheel.
#pragma once

#include "app/views/timeline/timeline_scene.h"

namespace app {

class TimelinePointer {
public:
    explicit TimelinePointer(TimelineScene& scene) : m_scene(scene) {}

    bool handle(const PointerEvent&);
    /// One that keys have moved away from below it is pointed at no more.
    bool forgetWaitThatLeft();
    /// What was pressed is gone.
    void letGo() { m_drag = Drag::none; }
    std::optional<Point> at() const { return m_inside ? std::optional(m_at) : std::nullopt; } ///< nothing outside
    CursorShape cursor() const;
    std::string tooltip() const;

private:
    enum class Drag : std::uint8_t { none, pressed, target, range, cursor, pan, zoom, overview, scroll };

    bool press(const PointerEvent&);
    bool move(Point);
    bool release(const PointerEvent&);
    bool wheel(const PointerEvent&);
    bool doubleClick(const PointerEvent&);
    bool hover(std::optional<Point>);
    void click(const PointerEvent&);
    bool use(const TimelineTarget&, bool alone);
    bool toggleClass(sim::OpClass, bool alone);

    TimelineScene& m_scene;
    Point m_at{}, m_pressedAt{};
    bool m_inside = false;
    Drag m_drag = Drag::none;
    TimelineTarget m_pressedTarget;
    TimeWindow m_draggedFrom;
    float m_draggedScroll = 0;
};

} // namespace app
