#include "app/views/timeline/timeline_pointer.h"

#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/timeline/timeline_dependencies.h"
#include "app/views/timeline/timeline_memory.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

std::string textAboutRow(const TimelineRow& row)
{
    std::string text = row.names.empty() ? std::string() : row.names.front();
    if (!row.details.empty())
        text += "\n" + row.details.front();
    return row.exposedShare ? text + "\nbusy: kernels run; exposed: only a transfer runs; bubble: neither" : text;
}

/// Of a lane where nothing is for a while, and nobody knows why: until when, and where the lane has something.
std::string emptyText(const TimelineModel& model, std::uint32_t track, std::int64_t ns)
{
    const sim::Track& lane = model.trace().tracks[track];
    const bool isOneOfMany = model.rows()[static_cast<std::size_t>(model.rowOf(track))].tracks.size() > 1;
    const std::string name = isOneOfMany ? lane.name + ": " : std::string();
    if (lane.size() == 0)
        return name + "nothing in the whole step";
    const auto next =
        static_cast<std::size_t>(std::upper_bound(lane.startNs.begin(), lane.startNs.end(), ns) - lane.startNs.begin());
    const std::int64_t begin = next > 0 ? model.endNs({track, static_cast<std::uint32_t>(next - 1)}) : 0;
    const bool isLast = next == lane.size();
    const std::int64_t end = isLast ? model.trace().endNs : lane.startNs[next];
    const auto at = [](std::int64_t time) { return durationText(static_cast<double>(time)); };
    const std::string before = "the last one ended at " + at(begin), after = "the next begins at " + at(end);
    const bool isOfWork = lane.role == sim::TrackRole::actions || lane.role == sim::TrackRole::compute;
    const std::string whyNot = isOfWork ? model.whyNoWait(lane.process) : std::string();
    return name + "nothing here for " + at(end - begin) +
           (isLast ? std::string(", to the end") : ", until " + model.spanLabels(track, next).front()) + "\n" +
           countText(static_cast<std::int64_t>(lane.size())) + " in the whole step; " +
           (isLast      ? before
            : next == 0 ? "the first begins at " + at(end)
                        : before + ", " + after) +
           (whyNot.empty() ? "" : "\n" + whyNot);
}

} // namespace

bool TimelinePointer::handle(const PointerEvent& event)
{
    m_at = event.at;
    m_inside = event.kind != PointerEvent::Kind::leave;
    switch (event.kind) {
    case PointerEvent::Kind::move:
        return move(event.at);
    case PointerEvent::Kind::press:
        return press(event);
    case PointerEvent::Kind::release:
        return release(event);
    case PointerEvent::Kind::doubleClick:
        return doubleClick(event);
    case PointerEvent::Kind::leave:
        return m_drag == Drag::none && hover(std::nullopt);
    case PointerEvent::Kind::wheel:
        return wheel(event);
    }
    return false;
}

bool TimelinePointer::wheel(const PointerEvent& event)
{
    bool changed = false;
    if (event.shift)
        changed = m_scene.window.pan(-static_cast<double>(event.wheelX + event.wheelY) * kPanShare);
    else if (event.control)
        changed = m_scene.zoomAt(event.at.x, std::pow(kZoomStep, static_cast<double>(event.wheelY)));
    else
        changed = m_scene.rows.scrollBy(-event.wheelY * kScrollPixels);
    if (event.wheelX != 0 && !event.shift && !event.control)
        changed = m_scene.window.pan(-static_cast<double>(event.wheelX) * kPanShare) || changed;
    return hover(event.at) || changed;
}

bool TimelinePointer::hover(std::optional<Point> at)
{
    Selection& selection = m_scene.selection;
    const int row = at ? m_scene.rowUnder(*at) : -1;
    const auto rank = row >= 0 ? std::optional(m_scene.model().rankOf(row, selection)) : std::nullopt;
    const auto span = at ? m_scene.spanUnder(*at) : std::nullopt;
    auto wait = at ? m_scene.waitUnder(*at) : std::nullopt;
    const bool waitsElsewhere = wait.has_value() != m_scene.wait.has_value() || (wait && wait->gap != m_scene.wait->gap);
    const bool changed = rank != selection.hoveredRank || span != selection.hoveredSpan || waitsElsewhere;
    selection.hoveredRank = rank;
    selection.hoveredSpan = span;
    m_scene.wait = std::move(wait);
    return changed;
}

bool TimelinePointer::forgetWaitThatLeft()
{
    if (!m_inside || m_drag != Drag::none || !m_scene.wait)
        return false;
    if (const auto under = m_scene.waitUnder(m_at); under && under->gap == m_scene.wait->gap)
        return false;
    m_scene.wait.reset();
    return true;
}

/// With Ctrl a rank joins the selected ones or leaves them.
void TimelinePointer::click(const PointerEvent& event)
{
    Selection& selection = m_scene.selection;
    const int line = m_scene.lineUnder(event.at), row = m_scene.rowUnder(event.at);
    if (line >= 0 && row < 0) {
        m_scene.rows.toggleGroup(m_scene.rows.line(line).group);
        return;
    }
    if (row >= 0 && event.control)
        selection.toggleRank(m_scene.model().rankOf(row, selection));
    else if (row >= 0)
        selection.selectRank(m_scene.model().rankOf(row, selection));
    selection.selectSpan(m_scene.spanUnder(event.at));
    if (const auto wait = m_scene.waitUnder(event.at))
        m_scene.selectWait(*wait);
    selection.range.reset();
}

bool TimelinePointer::doubleClick(const PointerEvent& event)
{
    m_drag = Drag::none;
    if (const TimelineTarget* target = m_scene.targetUnder(event.at))
        return target->kind == TimelineTarget::Kind::opClass && use(*target, true);
    if (!m_scene.frame.rows.contains(event.at))
        return false;
    click(event);
    return m_scene.window.frame(m_scene.timesInFocus());
}

bool TimelinePointer::press(const PointerEvent& event)
{
    const TimelineFrame& frame = m_scene.frame;
    m_pressedAt = event.at;
    m_draggedFrom = m_scene.window.now();
    m_draggedScroll = m_scene.rows.scrollY();
    m_scene.window.rest();
    const TimelineTarget* target = m_scene.targetUnder(event.at);
    if (event.button == PointerButton::middle)
        m_drag = Drag::zoom;
    else if (event.button != PointerButton::left || (event.shift && frame.rows.contains(event.at)))
        m_drag = Drag::pan;
    else if (target != nullptr)
        m_drag = Drag::target;
    else if (frame.ruler.contains(event.at))
        m_drag = Drag::cursor;
    else if (frame.overview.contains(event.at))
        m_drag = Drag::overview;
    else if (frame.scroll.contains(event.at) && m_scene.rows.stack().height > frame.rows.height())
        m_drag = Drag::scroll;
    else
        m_drag = Drag::pressed;
    if (m_drag == Drag::target)
        m_pressedTarget = *target;
    return (m_drag == Drag::cursor || m_drag == Drag::overview || m_drag == Drag::scroll) && move(event.at);
}

bool TimelinePointer::move(Point at)
{
    const TimelineFrame& frame = m_scene.frame;
    switch (m_drag) {
    case Drag::none:
        return hover(at);
    case Drag::target:
        return false;
    case Drag::pressed:
        if (std::abs(at.x - m_pressedAt.x) < kDragPixels ||
            !(frame.rows.contains(m_pressedAt) || frame.memory.contains(m_pressedAt)))
            return false;
        m_drag = Drag::range;
        [[fallthrough]];
    case Drag::range:
        m_scene.selection.range = m_scene.timesBetween(m_pressedAt.x, at.x);
        return true;
    case Drag::cursor: {
        const std::int64_t before = std::exchange(m_scene.selection.cursorNs, m_scene.timeAt(at.x));
        return before != m_scene.selection.cursorNs;
    }
    case Drag::pan: {
        const double byNs = static_cast<double>(m_pressedAt.x - at.x) * m_scene.axis().nsPerPixel();
        const bool moved = m_scene.window.show(m_draggedFrom.moved(byNs), true);
        return m_scene.rows.scrollTo(m_draggedScroll + m_pressedAt.y - at.y) || moved;
    }
    case Drag::zoom:
        m_scene.zoomBox = m_scene.timesBetween(m_pressedAt.x, at.x);
        return true;
    case Drag::overview: { // it shows all: the window's middle goes where the pointer is
        const TimeWindow whole = m_scene.window.now().whole();
        const auto share = static_cast<double>((at.x - frame.overview.left) / frame.overview.width());
        return m_scene.window.centre(whole.beginNs + share * whole.span());
    }
    case Drag::scroll: {
        const float middle = (at.y - frame.scroll.top) / frame.scroll.height() * m_scene.rows.stack().height;
        return m_scene.rows.scrollTo(middle - frame.rows.height() / 2);
    }
    }
    return false;
}

bool TimelinePointer::release(const PointerEvent& event)
{
    const Drag was = std::exchange(m_drag, Drag::none);
    const auto box = std::exchange(m_scene.zoomBox, std::nullopt);
    m_scene.window.rest();
    bool changed = box.has_value();
    if (was == Drag::pressed) {
        click(event);
        changed = true;
    } else if (was == Drag::target && m_pressedTarget.rect.contains(event.at)) {
        changed = use(m_pressedTarget, event.alt);
    } else if (was == Drag::zoom && box && std::abs(event.at.x - m_pressedAt.x) >= kDragPixels) {
        m_scene.window.show(*box);
    } else if (const auto span = m_scene.spanUnder(event.at); was == Drag::zoom && span) { // a click: what is under it
        m_scene.selection.selectSpan(span);
        m_scene.selection.range.reset();
        changed = m_scene.window.frame(m_scene.timesInFocus()) || changed;
    }
    return hover(event.at) || changed;
}

/// `alone`: with Alt, or by a double click.
bool TimelinePointer::use(const TimelineTarget& target, bool alone)
{
    switch (target.kind) {
    case TimelineTarget::Kind::opClass:
        return toggleClass(static_cast<sim::OpClass>(target.value), alone);
    case TimelineTarget::Kind::filter:
        return m_scene.rows.toggleFilter();
    case TimelineTarget::Kind::sort:
        return m_scene.rows.nextSort();
    case TimelineTarget::Kind::grouping:
        return m_scene.rows.nextGrouping();
    case TimelineTarget::Kind::pin:
        return m_scene.rows.togglePin(target.value);
    case TimelineTarget::Kind::group:
        return m_scene.rows.toggleGroup(target.value);
    case TimelineTarget::Kind::mark: {
        const TimelineMark* mark = m_scene.marks.find(target.value);
        if (mark == nullptr)
            return false;
        if (alone)
            m_scene.marks.remove(target.value);
        else if (mark->isInstant())
            m_scene.selection.cursorNs = std::min(mark->range.beginNs, m_scene.model().trace().endNs);
        else
            m_scene.selection.range = mark->range;
        return true;
    }
    case TimelineTarget::Kind::none: // it only says what it is
        return false;
    }
    return false;
}

bool TimelinePointer::toggleClass(sim::OpClass c, bool alone)
{
    ClassMask& classes = m_scene.selection.classes;
    ClassMask present = 0;
    for (const sim::OpClass each : m_scene.model().classesPresent())
        present |= maskOf(each);
    if (alone)
        classes = (classes & present) == maskOf(c) ? kAllClasses : maskOf(c);
    else
        classes = static_cast<ClassMask>(classes ^ maskOf(c));
    if ((classes & present) == 0) // nothing left: as if nobody had chosen
        classes = kAllClasses;
    return true;
}

CursorShape TimelinePointer::cursor() const
{
    if (!m_scene.trace || !m_inside)
        return CursorShape::arrow;
    const TimelineFrame& frame = m_scene.frame;
    if (m_drag == Drag::pan)
        return CursorShape::grab;
    if (m_drag == Drag::range || m_drag == Drag::zoom)
        return CursorShape::crosshair;
    if (const TimelineTarget* target = m_scene.targetUnder(m_at); m_drag == Drag::none && target != nullptr)
        return target->kind == TimelineTarget::Kind::none ? CursorShape::arrow : CursorShape::pointingHand;
    if (m_drag == Drag::cursor || frame.ruler.contains(m_at) || frame.overview.contains(m_at))
        return CursorShape::resizeHorizontal;
    return m_scene.selection.hoveredSpan ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string TimelinePointer::tooltip() const
{
    if (!m_scene.trace || !m_inside || m_drag != Drag::none)
        return {};
    if (const TimelineTarget* target = m_scene.targetUnder(m_at))
        return target->tip;
    if (m_scene.selection.hoveredSpan) {
        const std::string depends = dependencyText(m_scene.model(), *m_scene.selection.hoveredSpan);
        return m_scene.model().describe(*m_scene.selection.hoveredSpan) + (depends.empty() ? "" : "\n" + depends) +
               (m_scene.wait ? "\n\n" + m_scene.model().waitText(*m_scene.wait) : "");
    }
    const TimeAxis a = m_scene.axis();
    const float column = std::floor(m_at.x - a.left) + a.left;
    const std::int64_t begin = std::llround(a.ns(column));
    const std::int64_t end = std::max(begin + 1, static_cast<std::int64_t>(std::llround(a.ns(column + 1))));
    const bool over = begin >= m_scene.model().trace().endNs;
    if (m_scene.frame.memory.contains(m_at)) {
        const auto curve = memoryCurve(m_scene.model(), m_scene.selection);
        return curve && !over ? memoryText(m_scene.model(), *curve, begin, end) : std::string();
    }
    const int line = m_scene.lineUnder(m_at), row = m_scene.rowUnder(m_at);
    if (line < 0 || (m_at.x < a.left && row < 0))
        return {};
    if (m_at.x < a.left)
        return textAboutRow(m_scene.model().rows()[static_cast<std::size_t>(row)]);
    // Spans too small to point at, or nothing: what the pixel column holds.
    const auto track = m_scene.trackUnder(m_at);
    if (over || (row >= 0 && !track))
        return {};
    const auto whole = static_cast<double>(end - begin);
    std::array<double, sim::kOpClassCount> share{};
    std::string text;
    if (track) {
        const sim::BusyByClass busy = m_scene.model().busy(*track).busyNs(begin, end);
        for (std::size_t c = 0; c < busy.size(); ++c)
            share[c] = static_cast<double>(busy[c]) / whole;
        if (const ExposedWaits* waits = m_scene.model().exposed(m_scene.model().rowOf(*track))) {
            const sim::BusyByClass waited = waits->busyBetween().busyNs(begin, end);
            for (std::size_t c = 0; c < waited.size(); ++c)
                share[c] += static_cast<double>(waited[c]) / whole;
        }
    } else {
        const RowGroup& group = *m_scene.groupUnder(m_at);
        share = m_scene.model().shares(group.rows, std::array{begin, end}).front();
        text = group.name + ", " + group.countedRows() + "\n";
    }
    double sum = 0;
    for (std::size_t c = 0; c < share.size(); ++c) {
        if (share[c] <= 0)
            continue;
        sum += share[c];
        text += m_scene.model().className(static_cast<sim::OpClass>(c)) + " " + percentText(share[c]) + "\n";
    }
    const bool isOneWait =
        track && m_scene.wait && m_scene.wait->gap.time.beginNs <= begin && m_scene.wait->gap.time.endNs >= end;
    if (isOneWait || (sum == 0 && track))
        return m_scene.wait ? m_scene.model().waitText(*m_scene.wait) : emptyText(m_scene.model(), *track, begin);
    // A link that carries nothing waits for nobody.
    const bool isLink = track && m_scene.model().trace().tracks[*track].role == sim::TrackRole::communication;
    if (sum < kWholeShare)
        text += (isLink ? "nothing on the way " : "idle ") + percentText(1 - sum) + "\n";
    text += "in " + durationText(whole) + " at " + durationText(static_cast<double>(begin));
    if (!m_scene.wait)
        return text;
    // Of several rows, whose it is.
    const std::vector<std::string>& names = m_scene.model().rows()[static_cast<std::size_t>(m_scene.wait->gap.row)].names;
    const std::string whose = track || names.empty() ? std::string() : ", of " + names.front();
    return text + "\n\nlongest" + whose + ": " + m_scene.model().waitText(*m_scene.wait);
}

} // namespace app
