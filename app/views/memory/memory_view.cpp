#include "app/views/memory/memory_view.h"

#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/common/memory_parts.h"
#include "app/views/memory/memory_painter.h"
#include "sim/analysis/explain/explain_held.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kGrabPixels = 4; ///< beside the time cursor

} // namespace

struct MemoryView::Data {
    enum class Drag : std::uint8_t { none, pressed, range, cursor, pan };

    Selection& selection;
    Theme theme;
    std::shared_ptr<MemoryModel> model;
    TimeZoom ownZoom;
    TimeZoom& zoom; ///< its own, or one that is shared
    float scrollY = 0;
    std::int64_t leastBytes = 0;
    bool showsAllRows = false;
    int legendLines = 0; ///< below the header, as it was drawn last
    Point pointerAt{}, pressedAt{};
    bool pointerInside = false;
    Rect drawnIn{};
    Drag drag = Drag::none;
    TimeWindow draggedFrom;

    Data(Selection& s, const Theme& t, TimeZoom* shared) : selection(s), theme(t), zoom(shared ? *shared : ownZoom) {}

    std::optional<Point> pointed() const { return pointerInside ? std::optional(pointerAt) : std::nullopt; }
    MemoryFrame frame(Rect area) const { return {area, model->rows().size(), showsAllRows, legendLines}; }
    TimeAxis axis(const MemoryFrame& f) const { return {zoom.now().beginNs, zoom.now().endNs, f.plot.left, f.plot.right}; }
    void clampScroll(const MemoryFrame& f)
    {
        const float content = f.pitch * static_cast<float>(model->rows().size());
        scrollY = std::clamp(scrollY, 0.0F, std::max(0.0F, content - f.bars.height()));
    }
    /// By whole rows: half a row could not be read.
    float scrolled(const MemoryFrame& f) const { return std::round(scrollY / f.pitch) * f.pitch; }
    std::int64_t timeAt(const MemoryFrame& f, float x) const
    {
        return std::clamp<std::int64_t>(std::llround(axis(f).ns(std::clamp(x, f.plot.left, f.plot.right))), 0, model->endNs());
    }
    std::optional<int> rowUnder(const MemoryFrame& f, Point at) const
    {
        if (at.y < f.bars.top || at.y >= f.bars.bottom || at.x < f.names.left - 4 || at.x >= f.values.right + 4)
            return std::nullopt;
        const int row = static_cast<int>((at.y - f.bars.top + scrolled(f)) / f.pitch);
        return row < static_cast<int>(model->rows().size()) ? std::optional(row) : std::nullopt;
    }
    std::optional<std::int64_t> timeUnder(const MemoryFrame& f, Point at) const
    {
        if (!f.hasPlot() || !f.plot.contains(at) || axis(f).ns(at.x) > static_cast<double>(model->endNs()))
            return std::nullopt;
        return timeAt(f, at.x);
    }
    std::optional<std::int64_t> pointedNs(const MemoryFrame& f) const
    {
        return pointerInside && drag != Drag::pan ? timeUnder(f, pointerAt) : std::nullopt;
    }
    bool overCursor(const MemoryFrame& f, Point at) const
    {
        return selection.cursorNs > 0 && f.plot.contains(at) &&
               std::abs(axis(f).x(static_cast<double>(selection.cursorNs)) - at.x) <= kGrabPixels;
    }

    bool hover(const MemoryFrame& f, Point at)
    {
        const auto row = rowUnder(f, at);
        const std::optional<int> rank = row ? std::optional(model->rankOf(*row, selection)) : std::nullopt;
        const bool changed = rank != selection.hoveredRank;
        selection.hoveredRank = rank;
        return changed;
    }
    bool select(std::optional<int> row)
    {
        const Selection before = selection;
        if (row)
            selection.selectRanks(model->rows()[static_cast<std::size_t>(*row)].ranks, model->rankOf(*row, selection));
        else
            selection.selectRank(std::nullopt);
        return !(before == selection);
    }
    bool step(int by, const MemoryFrame& f)
    {
        const int last = static_cast<int>(model->rows().size()) - 1;
        const int from = selection.selectedRank ? model->rowOfRank(*selection.selectedRank) : by > 0 ? -1 : last + 1;
        const int row = std::clamp(from + by, 0, last);
        const float top = static_cast<float>(row) * f.pitch;
        scrollY = std::clamp(scrollY, top + f.pitch - f.bars.height(), top);
        clampScroll(f);
        return select(row);
    }
    bool setCursor(const MemoryFrame& f, float x)
    {
        const std::int64_t before = selection.cursorNs;
        selection.cursorNs = timeAt(f, x);
        return before != selection.cursorNs;
    }
    bool zoomAt(const MemoryFrame& f, float x, double factor)
    {
        return f.hasPlot() && zoom.zoom(factor, std::clamp(static_cast<double>((x - f.plot.left) / f.plot.width()), 0.0, 1.0));
    }
    bool scrollBy(const MemoryFrame& f, float pixels)
    {
        const float before = scrollY;
        scrollY += pixels;
        clampScroll(f);
        return scrollY != before;
    }
    bool clear()
    {
        const Selection before = selection;
        selection.clear();
        return !(before == selection);
    }

    bool press(const MemoryFrame& f, const PointerEvent& event)
    {
        pressedAt = event.at;
        draggedFrom = zoom.now();
        zoom.rest();
        if (event.button != PointerButton::left || (event.shift && f.plot.contains(event.at))) {
            drag = f.plot.contains(event.at) ? Drag::pan : Drag::none;
            return false;
        }
        if (const auto row = rowUnder(f, event.at))
            return select(row);
        if (f.hasPlot() && (f.ruler.contains(event.at) || overCursor(f, event.at))) {
            drag = Drag::cursor;
            return setCursor(f, event.at.x);
        }
        drag = Drag::pressed;
        return false;
    }
    bool goOn(const MemoryFrame& f, Point at)
    {
        switch (drag) {
        case Drag::none:
            return hover(f, at) || f.plot.contains(at);
        case Drag::pressed:
            if (std::abs(at.x - pressedAt.x) < kDragPixels || !f.plot.contains(pressedAt))
                return false;
            drag = Drag::range;
            [[fallthrough]];
        case Drag::range: {
            const auto [begin, end] = std::minmax({timeAt(f, pressedAt.x), timeAt(f, at.x)});
            selection.range = TimeRange{begin, std::max(end, begin + 1)};
            return true;
        }
        case Drag::cursor:
            return setCursor(f, at.x);
        case Drag::pan:
            return zoom.show(draggedFrom.moved(static_cast<double>(pressedAt.x - at.x) * axis(f).nsPerPixel()), true);
        }
        return false;
    }
    /// A click beside rows and ruler: nothing is selected any more.
    bool release(const MemoryFrame& f)
    {
        const bool clicked = drag == Drag::pressed;
        drag = Drag::none;
        zoom.rest();
        if (!clicked)
            return false;
        if (!f.plot.contains(pressedAt))
            return select(std::nullopt);
        const bool changed = selection.range.has_value();
        selection.range.reset();
        return changed;
    }
    bool wheel(const MemoryFrame& f, const PointerEvent& event)
    {
        const bool onTime = f.hasPlot() && event.at.y >= f.caption.top && event.at.x >= f.caption.left;
        if (event.control)
            return zoomAt(f, event.at.x, std::pow(kZoomStep, static_cast<double>(event.wheelY)));
        if (event.shift)
            return zoom.pan(-static_cast<double>(event.wheelX + event.wheelY) * kPanShare);
        if (onTime)
            return event.wheelX != 0 && zoom.pan(-static_cast<double>(event.wheelX) * kPanShare);
        return scrollBy(f, -event.wheelY * kScrollPixels);
    }
};

MemoryView::MemoryView(Selection& selection, const Theme& theme, TimeZoom* zoom)
    : m_data(std::make_unique<Data>(selection, theme, zoom))
{
}
MemoryView::~MemoryView() = default;

PictureModelPtr MemoryView::prepare(const ShownStep& step)
{
    if (!step.simulation)
        return nullptr;
    auto model = std::make_shared<MemoryModel>(step.simulation, step.trace);
    static_cast<void>(model->held(model->fullestRow())); // shown as long as no other is in focus
    return model;
}

void MemoryView::take(const ShownStep& step, PictureModelPtr prepared)
{
    Data& d = *m_data;
    d.model = std::static_pointer_cast<MemoryModel>(prepared ? std::move(prepared) : prepare(step));
    d.drag = Data::Drag::none;
    if (&d.zoom == &d.ownZoom)
        d.zoom.setTrace(d.model ? std::optional(d.model->endNs()) : std::nullopt);
    if (!d.model)
        return;
    d.selection.keepBelow(d.model->simulation().mesh().worldSize());
}

void MemoryView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
}

void MemoryView::setLeastBytes(std::int64_t bytes)
{
    m_data->leastBytes = bytes;
}

std::string MemoryView::title() const
{
    return "Memory";
}

void MemoryView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.model) {
        drawEmpty(canvas, d.theme, "No memory to show yet", hint());
        return;
    }
    d.showsAllRows = isForAudience();
    d.legendLines = legendLinesBelow(canvas, *d.model, canvas.area().width());
    const MemoryFrame frame = d.frame(d.drawnIn = canvas.area());
    d.clampScroll(frame);
    const std::optional<int> hovered = d.pointerInside ? d.rowUnder(frame, d.pointerAt) : std::nullopt;
    beginNumbers(d.pointed());
    paintMemoryPicture(canvas, {*d.model, d.theme, d.selection, frame, d.zoom.now(), d.scrolled(frame), hovered,
                                d.pointedNs(frame), &numbers(), d.leastBytes});
}

Becauses MemoryView::becauseOf(std::optional<Point> at) const
{
    const Data& d = *m_data;
    if (!d.model)
        return {};
    if (const auto ns = at ? d.timeUnder(d.frame(d.drawnIn), *at) : std::nullopt) {
        const int rank = d.model->explainedRank(d.model->shownRow(d.selection), d.selection);
        return {{"", [step = d.model->step(), rank, ns = *ns] {
                     return sim::explainHeld(*step, sim::MetricId::peakMemory, rank, ns);
                 }}};
    }
    if (at && !d.selection.hoveredRank)
        return {};
    return becauseOfMemory(d.model->step(),
                           at ? *d.selection.hoveredRank : d.model->rankOf(d.model->shownRow(d.selection), d.selection));
}

bool MemoryView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.model)
        return false;
    const MemoryFrame frame = d.frame(area);
    const bool wasPointing = d.pointedNs(frame).has_value(), wasOnNumber = isNumberAt(d.pointed());
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    switch (event.kind) {
    case PointerEvent::Kind::move:
        return d.goOn(frame, event.at) || wasPointing || wasOnNumber || isNumberAt(event.at);
    case PointerEvent::Kind::press:
        if (event.button == PointerButton::left && askNumber(event.at))
            return false;
        return d.press(frame, event);
    case PointerEvent::Kind::release:
        return d.release(frame);
    case PointerEvent::Kind::doubleClick:
        return frame.plot.contains(event.at) && d.zoom.frameOrAll(d.selection.range);
    case PointerEvent::Kind::leave: {
        const bool changed = d.selection.hoveredRank.has_value();
        if (d.drag == Data::Drag::none)
            d.selection.hoveredRank.reset();
        return changed || wasPointing;
    }
    case PointerEvent::Kind::wheel: {
        const bool moved = d.wheel(frame, event);
        return d.hover(frame, event.at) || moved;
    }
    }
    return false;
}

bool MemoryView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.model)
        return false;
    const MemoryFrame frame = d.frame(area);
    const double presses = fast ? kFastPresses : 1;
    const bool pointing = d.pointerInside && d.pointerAt.x >= frame.plot.left && d.pointerAt.x < frame.plot.right;
    const float x = pointing ? d.pointerAt.x : (frame.plot.left + frame.plot.right) / 2;
    switch (command) {
    case ViewCommand::zoomIn:
        return d.zoomAt(frame, x, std::pow(kZoomStep, presses));
    case ViewCommand::zoomOut:
        return d.zoomAt(frame, x, std::pow(kZoomStep, -presses));
    case ViewCommand::panLeft:
        return d.zoom.pan(-kPanShare * presses);
    case ViewCommand::panRight:
        return d.zoom.pan(kPanShare * presses);
    case ViewCommand::panUp:
        return d.scrollBy(frame, -kScrollPixels * static_cast<float>(presses));
    case ViewCommand::panDown:
        return d.scrollBy(frame, kScrollPixels * static_cast<float>(presses));
    case ViewCommand::focusSelection:
        return d.zoom.frameOrAll(d.selection.range);
    case ViewCommand::fitAll:
        return d.zoom.showAll();
    case ViewCommand::viewBack:
        return d.zoom.back();
    case ViewCommand::viewForward:
        return d.zoom.forward();
    case ViewCommand::next:
        return d.step(static_cast<int>(presses), frame);
    case ViewCommand::previous:
        return d.step(-static_cast<int>(presses), frame);
    case ViewCommand::mark:
        return d.selection.hoveredRank && d.select(d.model->rowOfRank(*d.selection.hoveredRank));
    case ViewCommand::clear:
        return d.clear();
    case ViewCommand::because:
        askBecause(d.pointed(), frame.bars);
        return false;
    default: // other views'
        return false;
    }
}

CursorShape MemoryView::cursor() const
{
    const Data& d = *m_data;
    if (!d.model || !d.pointerInside)
        return CursorShape::arrow;
    switch (d.drag) {
    case Data::Drag::pan:
        return CursorShape::grab;
    case Data::Drag::cursor:
        return CursorShape::resizeHorizontal;
    case Data::Drag::range:
        return CursorShape::crosshair;
    default:
        return d.selection.hoveredRank || isNumberAt(d.pointed()) ? CursorShape::pointingHand : CursorShape::arrow;
    }
}

std::string MemoryView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.model || !d.pointerInside || d.drag != Data::Drag::none)
        return {};
    if (isNumberAt(d.pointed()))
        return kAskNumber;
    if (const auto ns = d.pointedNs(d.frame(d.drawnIn))) {
        const std::int64_t bytes = d.model->contents(d.model->shownRow(d.selection), *ns).sum.total();
        return bytesText(static_cast<double>(bytes)) + " at " + durationText(static_cast<double>(*ns)) + askHint();
    }
    if (!d.selection.hoveredRank)
        return {};
    const MemoryRow& row = d.model->rows()[static_cast<std::size_t>(d.model->rowOfRank(*d.selection.hoveredRank))];
    std::string text = row.names.front() + (row.ranks.size() == 1 ? "\nrank " : "\nranks ") + rankListText(row.ranks);
    for (const MemoryPart& part : memoryParts(row.peak, d.theme))
        if (part.bytes > 0)
            text += "\n" + bytesText(static_cast<double>(part.bytes)) + " " + part.name;
    const auto total = static_cast<double>(row.peak.total()), capacity = static_cast<double>(d.model->capacity());
    text += "\n" + bytesText(total) + " at its peak";
    if (capacity > 0)
        text += total > capacity ? ": " + bytesText(total - capacity) + " more than the GPU has"
                                 : ": " + bytesText(capacity - total) + " of the GPU's " + bytesText(capacity) + " stay free";
    return text + askHint();
}

} // namespace app
