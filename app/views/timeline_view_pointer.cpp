// What the pointer does: hover, click, drag, wheel.
#include "app/views/timeline_view_data.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kDragPixels = 3; ///< until a click is a drag

} // namespace

bool TimelineView::Data::pointer(const PointerEvent& event)
{
    pointerAt = event.at;
    pointerInside = event.kind != PointerEvent::Kind::leave;
    switch (event.kind) {
    case PointerEvent::Kind::move:
        return move(event);
    case PointerEvent::Kind::press:
        return press(event);
    case PointerEvent::Kind::release:
        return release(event);
    case PointerEvent::Kind::doubleClick:
        drag = Drag::none;
        if (const TimelineTarget* target = targetUnder(event.at))
            return target->kind == TimelineTarget::Kind::opClass && use(TimelineTarget(*target), true);
        if (!frame().rows.contains(event.at))
            return false;
        click(event);
        framed = false;
        return focusSelection();
    case PointerEvent::Kind::leave:
        return drag == Drag::none && unhover();
    case PointerEvent::Kind::wheel:
        return wheel(event);
    }
    return false;
}

bool TimelineView::Data::wheel(const PointerEvent& event)
{
    bool changed = false;
    if (event.shift)
        changed = pan(-static_cast<double>(event.wheelX + event.wheelY) * kPanShare);
    else if (event.control)
        changed = zoomAt(event.at, std::pow(kZoomStep, static_cast<double>(event.wheelY)));
    else
        changed = scrollBy(-event.wheelY * kScrollPixels);
    if (event.wheelX != 0 && !event.shift && !event.control)
        changed = pan(-static_cast<double>(event.wheelX) * kPanShare) || changed;
    return hover(event.at) || changed;
}

bool TimelineView::Data::hover(Point at)
{
    const int row = rowUnder(at);
    const std::optional<int> rank = row >= 0 ? std::optional(model->rankOf(row, selection)) : std::nullopt;
    const std::optional<SpanRef> span = spanUnder(at);
    const bool changed = rank != selection.hoveredRank || span != selection.hoveredSpan;
    selection.hoveredRank = rank;
    selection.hoveredSpan = span;
    return changed;
}

bool TimelineView::Data::unhover()
{
    const bool changed = selection.hoveredRank || selection.hoveredSpan;
    selection.hoveredRank.reset();
    selection.hoveredSpan.reset();
    return changed;
}

/// With Ctrl a rank joins the selected ones or leaves them.
void TimelineView::Data::click(const PointerEvent& event)
{
    const int line = lineUnder(event.at), row = rowUnder(event.at);
    if (line >= 0 && row < 0) {
        use({.kind = TimelineTarget::Kind::group, .value = arrangement.lines[static_cast<std::size_t>(line)].group}, false);
        return;
    }
    if (row >= 0 && event.control)
        selection.toggleRank(model->rankOf(row, selection));
    else if (row >= 0)
        selection.selectRank(model->rankOf(row, selection));
    selection.selectedSpan = spanUnder(event.at);
    selection.range.reset();
}

bool TimelineView::Data::press(const PointerEvent& event)
{
    const TimelineFrame f = frame();
    pressedAt = event.at;
    draggedFrom = window;
    draggedScroll = scrollY;
    history.rest();
    if (event.button == PointerButton::middle) {
        drag = Drag::zoom;
        return false;
    }
    if (event.button != PointerButton::left || (event.shift && f.rows.contains(event.at))) {
        drag = Drag::pan;
        return false;
    }
    if (const TimelineTarget* target = targetUnder(event.at)) {
        pressedTarget = *target;
        drag = Drag::target;
        return false;
    }
    if (f.ruler.contains(event.at)) {
        drag = Drag::cursor;
        return setCursor(event.at.x);
    }
    if (f.overview.contains(event.at)) {
        drag = Drag::overview;
        return overviewTo(event.at.x);
    }
    if (f.scroll.contains(event.at) && stack.height > f.rows.height()) {
        drag = Drag::scroll;
        return scrollTo(event.at.y);
    }
    drag = Drag::pressed;
    return false;
}

bool TimelineView::Data::move(const PointerEvent& event)
{
    switch (drag) {
    case Drag::none: {
        const bool changed = hover(event.at);
        return changed;
    }
    case Drag::target:
        return false;
    case Drag::pressed:
        if (std::abs(event.at.x - pressedAt.x) < kDragPixels ||
            !(frame().rows.contains(pressedAt) || frame().memory.contains(pressedAt)))
            return false;
        drag = Drag::range;
        [[fallthrough]];
    case Drag::range:
        dragRange(event.at.x);
        return true;
    case Drag::cursor:
        return setCursor(event.at.x);
    case Drag::pan: {
        const bool moved = show(draggedFrom.moved(static_cast<double>(pressedAt.x - event.at.x) * axis().nsPerPixel()), true);
        return scrollBy(draggedScroll + pressedAt.y - event.at.y - scrollY) || moved;
    }
    case Drag::zoom: {
        const auto [begin, end] = std::minmax({timeAt(pressedAt.x), timeAt(event.at.x)});
        zoomBox = TimeRange{begin, std::max(end, begin + 1)};
        return true;
    }
    case Drag::overview:
        return overviewTo(event.at.x);
    case Drag::scroll:
        return scrollTo(event.at.y);
    }
    return false;
}

bool TimelineView::Data::release(const PointerEvent& event)
{
    const Drag was = std::exchange(drag, Drag::none);
    history.rest();
    bool changed = false;
    if (was == Drag::pressed) {
        click(event);
        changed = true;
    } else if (was == Drag::target && pressedTarget && pressedTarget->rect.contains(event.at)) {
        changed = use(TimelineTarget(*pressedTarget), event.alt);
    } else if (was == Drag::zoom) {
        const auto box = std::exchange(zoomBox, std::nullopt);
        if (box && std::abs(event.at.x - pressedAt.x) >= kDragPixels) {
            changed = show(window.to(static_cast<double>(box->beginNs), static_cast<double>(box->endNs)));
        } else if (const auto span = spanUnder(event.at)) { // a click: what is under the pointer
            selection.selectedSpan = span;
            selection.range.reset();
            framed = false;
            changed = focusSelection();
        }
        changed = changed || box.has_value();
    }
    return hover(event.at) || changed;
}

/// `alone`: with Alt, or by a double click.
bool TimelineView::Data::use(const TimelineTarget& target, bool alone)
{
    switch (target.kind) {
    case TimelineTarget::Kind::opClass:
        return toggleClass(static_cast<sim::OpClass>(target.value), alone);
    case TimelineTarget::Kind::filter:
        return toggleFilter();
    case TimelineTarget::Kind::sort:
        return nextSort();
    case TimelineTarget::Kind::grouping:
        return nextGrouping();
    case TimelineTarget::Kind::pin:
        return togglePin(target.value);
    case TimelineTarget::Kind::group: {
        RowWishes next = wishes;
        const std::string& name = arrangement.groups[static_cast<std::size_t>(target.value)].name;
        if (next.turnedOver.erase(name) == 0)
            next.turnedOver.insert(name);
        setRows(std::move(next));
        return true;
    }
    case TimelineTarget::Kind::mark: {
        const TimelineMark* mark = marks.find(target.value);
        if (mark == nullptr)
            return false;
        if (alone) {
            marks.remove(target.value);
            changeMarks();
        } else if (mark->isInstant()) {
            selection.cursorNs = std::min(mark->range.beginNs, model->trace().endNs);
        } else {
            selection.range = mark->range;
        }
        return true;
    }
    }
    return false;
}

bool TimelineView::Data::toggleClass(sim::OpClass c, bool alone)
{
    ClassMask present = 0;
    for (const sim::OpClass each : model->classesPresent())
        present |= maskOf(each);
    if (alone)
        selection.classes = (selection.classes & present) == maskOf(c) ? kAllClasses : maskOf(c);
    else
        selection.classes = static_cast<ClassMask>(selection.classes ^ maskOf(c));
    if ((selection.classes & present) == 0) // nothing left: as if nobody had chosen
        selection.classes = kAllClasses;
    return true;
}

bool TimelineView::Data::setCursor(float x)
{
    const std::int64_t before = selection.cursorNs;
    selection.cursorNs = timeAt(x);
    return before != selection.cursorNs;
}

void TimelineView::Data::dragRange(float x)
{
    const auto [begin, end] = std::minmax({timeAt(pressedAt.x), timeAt(x)});
    selection.range = TimeRange{begin, std::max(end, begin + 1)};
}

/// The overview shows all: the window's middle goes where the pointer is.
bool TimelineView::Data::overviewTo(float x)
{
    const Rect area = frame().overview;
    const TimeWindow whole = window.whole();
    const double middle = whole.beginNs + static_cast<double>((x - area.left) / area.width()) * whole.span();
    return show(window.moved(middle - (window.beginNs + window.endNs) / 2), true);
}

bool TimelineView::Data::scrollTo(float y)
{
    const Rect bar = frame().scroll;
    return scrollBy((y - bar.top) / bar.height() * stack.height - frame().rows.height() / 2 - scrollY);
}

} // namespace app
