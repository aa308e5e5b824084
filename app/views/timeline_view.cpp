#include "app/views/timeline_view.h"

#include "app/views/color.h"
#include "app/views/labels.h"
#include "app/views/timeline_dependencies.h"
#include "app/views/timeline_memory.h"
#include "app/views/timeline_painter.h"
#include "app/views/timeline_steps.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr double kZoomStep = 1.25;   ///< a notch or key press
constexpr double kPanShare = 0.08;   ///< of the window, a notch or key press
constexpr float kScrollPixels = 48;  ///< a notch
constexpr double kFastPresses = 4;   ///< Shift
constexpr float kDragPixels = 3;     ///< until a click is a drag
constexpr float kPointedSpan = 2;    ///< pixels from which a span can be pointed at
constexpr double kFrameMargin = 0.1; ///< of what F frames, on both sides

} // namespace

struct TimelineView::Data {
    enum class Drag : std::uint8_t { none, pressed, range, cursor, pan, overview, scroll };

    Selection& selection;
    Theme theme;
    std::unique_ptr<TimelineModel> model;
    std::vector<KindColors> colors;
    std::vector<float> opacityOfKind;
    std::optional<TimelineSteps> steps; ///< refers to the model
    TimeWindow window;
    TimeRange axisNs; ///< at least
    Around around;
    bool dense = false;

    RowStack stack;
    float scrollY = 0;
    Rect laidOutFor{};
    bool stale = true;
    std::vector<std::array<double, sim::kOpClassCount>> overview;

    Point pointerAt{}, pressedAt{};
    bool pointerInside = false;
    Drag drag = Drag::none;
    TimeWindow draggedFrom;
    float draggedScroll = 0;
    bool framed = false; ///< the last F framed the selection: the next one shows all

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    void makeColors()
    {
        colors = model ? model->colors(theme) : std::vector<KindColors>();
        for (std::size_t kind = 0; kind < std::min(colors.size(), opacityOfKind.size()); ++kind)
            for (Color* color : {&colors[kind].even, &colors[kind].odd, &colors[kind].text})
                *color = mix(theme.canvas, *color, opacityOfKind[kind]);
    }

    TimelineFrame frame() const { return frameOf(laidOutFor); }
    TimelineFrame frameOf(Rect area) const
    {
        return {area,
                {.memory = around.memory && model && !model->trace().counters.empty(),
                 .story = steps.has_value(),
                 .overview = around.overview,
                 .legend = around.legend,
                 .ruler = around.ruler}};
    }
    TimelineScene scene() const
    {
        return {*model, colors, theme, selection, frame(), window, stack, scrollY, overview, steps ? &*steps : nullptr};
    }
    TimeAxis axis() const
    {
        const Rect rows = frame().rows;
        return {window.beginNs, window.endNs, rows.left, rows.right};
    }

    /// Times of the pixel column there.
    TimeRange columnAt(float x) const
    {
        const TimeAxis a = axis();
        const float column = std::floor(x - a.left) + a.left;
        const std::int64_t begin = std::llround(a.ns(column));
        return {begin, std::max(begin + 1, static_cast<std::int64_t>(std::llround(a.ns(column + 1))))};
    }

    void prepare(Rect area)
    {
        if (!model || (!stale && area == laidOutFor))
            return;
        laidOutFor = area;
        stale = false;
        const TimelineFrame f = frameOf(area);
        std::vector<RowNeed> needs;
        for (const TimelineRow& row : model->rows())
            needs.push_back({std::max(1, static_cast<int>(row.tracks.size())), row.memory.has_value()});
        stack = stackRows(needs, f.rows.height(), dense ? kLowestDenseRow : kLowestRow);
        clampScroll();
        overview.clear();
        const auto length = model->trace().endNs;
        const auto columns = static_cast<std::int64_t>(std::max(0.0F, f.overview.width() / 2));
        if (f.overview.height() > 0 && length > 0)
            for (std::int64_t c = 0; c < columns; ++c)
                overview.push_back(
                    model->shares(length * c / columns, std::max(length * c / columns + 1, length * (c + 1) / columns)));
    }

    void clampScroll() { scrollY = std::clamp(scrollY, 0.0F, std::max(0.0F, stack.height - frame().rows.height())); }

    TimeWindow wholeWindow() const
    {
        return TimeWindow::all(static_cast<double>(std::max(axisNs.endNs, model ? model->trace().endNs : 0)),
                               static_cast<double>(axisNs.beginNs));
    }
    bool show(const TimeWindow& next)
    {
        framed = false;
        if (next == window)
            return false;
        window = next;
        return true;
    }
    bool zoomAt(Point at, double factor)
    {
        const Rect rows = frame().rows;
        const double share = std::clamp(static_cast<double>((at.x - rows.left) / rows.width()), 0.0, 1.0);
        return show(window.zoomed(factor, share));
    }
    bool pan(double shares) { return show(window.moved(window.span() * shares)); }
    bool scrollBy(float pixels)
    {
        const float before = scrollY;
        scrollY += pixels;
        clampScroll();
        return scrollY != before;
    }

    int rowUnder(Point at) const
    {
        const Rect rows = frame().rows;
        const bool inside = at.x >= laidOutFor.left && at.x < rows.right && at.y >= rows.top && at.y < rows.bottom;
        return inside ? stack.rowAt(at.y - rows.top + scrollY) : -1;
    }
    std::optional<std::uint32_t> trackUnder(Point at) const
    {
        const int row = rowUnder(at);
        if (row < 0 || at.x < frame().rows.left)
            return std::nullopt;
        const RowPlace& place = stack.rows[static_cast<std::size_t>(row)];
        const auto& tracks = model->rows()[static_cast<std::size_t>(row)].tracks;
        const auto lane = static_cast<std::size_t>((at.y - frame().rows.top + scrollY - place.top) / place.laneHeight);
        return lane < tracks.size() ? std::optional(tracks[lane]) : std::nullopt;
    }
    std::optional<SpanRef> spanUnder(Point at) const
    {
        const auto track = trackUnder(at);
        if (!track)
            return std::nullopt;
        const TimeAxis a = axis();
        const auto span = model->spanAt(*track, a.ns(at.x), a.nsPerPixel());
        if (!span || (steps && !steps->isRevealed({*track, *span})))
            return std::nullopt;
        const auto length = static_cast<double>(model->trace().tracks[*track].durationNs[*span]);
        return length >= a.nsPerPixel() * static_cast<double>(kPointedSpan) ? std::optional(SpanRef{*track, *span})
                                                                            : std::nullopt;
    }

    bool hover(Point at)
    {
        const int row = rowUnder(at);
        const std::optional<int> rank = row >= 0 ? std::optional(model->rankOf(row, selection)) : std::nullopt;
        const std::optional<SpanRef> span = spanUnder(at);
        const bool changed = rank != selection.hoveredRank || span != selection.hoveredSpan;
        selection.hoveredRank = rank;
        selection.hoveredSpan = span;
        return changed;
    }
    bool unhover()
    {
        const bool changed = selection.hoveredRank || selection.hoveredSpan;
        selection.hoveredRank.reset();
        selection.hoveredSpan.reset();
        return changed;
    }
    void click(Point at)
    {
        const int row = rowUnder(at);
        if (row >= 0)
            selection.selectRank(model->rankOf(row, selection));
        selection.selectedSpan = spanUnder(at);
        selection.range.reset();
    }
    bool setCursor(float x)
    {
        const std::int64_t before = selection.cursorNs;
        const Rect rows = frame().rows;
        selection.cursorNs =
            std::clamp<std::int64_t>(std::llround(axis().ns(std::clamp(x, rows.left, rows.right))), 0, model->trace().endNs);
        return before != selection.cursorNs;
    }
    void dragRange(float x)
    {
        const Rect rows = frame().rows;
        const auto time = [&](float at) {
            return std::clamp<std::int64_t>(std::llround(axis().ns(std::clamp(at, rows.left, rows.right))), 0,
                                            model->trace().endNs);
        };
        const auto [begin, end] = std::minmax({time(pressedAt.x), time(x)});
        selection.range = TimeRange{begin, std::max(end, begin + 1)};
    }
    /// The overview shows all: the window's middle goes where the pointer is.
    bool overviewTo(float x)
    {
        const Rect area = frame().overview;
        const double middle =
            static_cast<double>((x - area.left) / area.width()) * (window.limitNs() - window.firstNs) + window.firstNs;
        return show(window.moved(middle - (window.beginNs + window.endNs) / 2));
    }
    bool scrollTo(float y)
    {
        const Rect bar = frame().scroll;
        return scrollBy((y - bar.top) / bar.height() * stack.height - frame().rows.height() / 2 - scrollY);
    }

    bool startDrag(const PointerEvent& event)
    {
        const TimelineFrame f = frame();
        pressedAt = event.at;
        draggedFrom = window;
        draggedScroll = scrollY;
        if (event.button != PointerButton::left || (event.shift && f.rows.contains(event.at))) {
            drag = Drag::pan;
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
    bool goOn(const PointerEvent& event)
    {
        switch (drag) {
        case Drag::none:
            return hover(event.at);
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
            const bool moved = show(draggedFrom.moved(static_cast<double>(pressedAt.x - event.at.x) * axis().nsPerPixel()));
            return scrollBy(draggedScroll + pressedAt.y - event.at.y - scrollY) || moved;
        }
        case Drag::overview:
            return overviewTo(event.at.x);
        case Drag::scroll:
            return scrollTo(event.at.y);
        }
        return false;
    }

    /// Times of what is selected: a range before a span, what was clicked before what is pointed at.
    std::optional<TimeRange> selectedTimes() const
    {
        if (selection.range)
            return selection.range;
        const auto& span = selection.selectedSpan ? selection.selectedSpan : selection.hoveredSpan;
        if (!span)
            return std::nullopt;
        return TimeRange{model->trace().tracks[span->track].startNs[span->span], model->endNs(*span)};
    }
    bool focusSelection()
    {
        const auto times = selectedTimes();
        if (!times || framed)
            return show(window.whole());
        const double margin = static_cast<double>(times->endNs - times->beginNs) * kFrameMargin;
        const bool changed =
            show(window.to(static_cast<double>(times->beginNs) - margin, static_cast<double>(times->endNs) + margin));
        framed = true;
        return changed;
    }
    bool mark()
    {
        const auto& span = selection.selectedSpan ? selection.selectedSpan : selection.hoveredSpan;
        if (!span)
            return false;
        selection.range = TimeRange{model->trace().tracks[span->track].startNs[span->span], model->endNs(*span)};
        return true;
    }
    void showStep()
    {
        if (!steps || !steps->now())
            return;
        selection.selectedSpan = steps->now();
        keepInSight(*steps->now());
    }
    bool stepThrough(std::ptrdiff_t by)
    {
        const std::size_t before = steps->current();
        const auto last = static_cast<std::ptrdiff_t>(steps->count()) - 1;
        steps->goTo(static_cast<std::size_t>(
            std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(before) + by, 0, std::max<std::ptrdiff_t>(last, 0))));
        showStep();
        return steps->current() != before;
    }
    void keepInSight(SpanRef ref)
    {
        const auto start = static_cast<double>(model->trace().tracks[ref.track].startNs[ref.span]);
        const auto end = static_cast<double>(model->endNs(ref));
        if (start < window.beginNs || end > window.endNs)
            show(window.moved((start + end) / 2 - (window.beginNs + window.endNs) / 2));
        const auto row = static_cast<std::size_t>(model->rowOf(ref.track));
        if (row < stack.rows.size())
            scrollY = std::clamp(scrollY, stack.rows[row].bottom - frame().rows.height(), stack.rows[row].top);
        clampScroll();
    }
    bool step(std::ptrdiff_t by)
    {
        if (steps)
            return stepThrough(by);
        SpanRef next{};
        const auto& tracks = model->trace().tracks;
        if (selection.selectedSpan) {
            next = *selection.selectedSpan;
            const auto last = static_cast<std::ptrdiff_t>(tracks[next.track].size()) - 1;
            next.span =
                static_cast<std::uint32_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(next.span) + by, 0, last));
        } else {
            const int row = selection.focusRank() ? std::max(0, model->rowOfRank(*selection.focusRank())) : 0;
            if (model->rows().empty() || model->rows()[static_cast<std::size_t>(row)].tracks.empty())
                return false;
            next.track = model->rows()[static_cast<std::size_t>(row)].tracks.front();
            const auto span = model->spanAt(next.track, window.beginNs, window.limitNs());
            if (!span)
                return false;
            next.span = *span;
        }
        const bool changed = selection.selectedSpan != next;
        selection.selectedSpan = next;
        selection.selectRank(model->rankOf(model->rowOf(next.track), selection));
        keepInSight(next);
        return changed;
    }
    bool clear()
    {
        const Selection before = selection;
        selection.range.reset();
        selection.selectedSpan.reset();
        selection.selectRank(std::nullopt);
        selection.cursorNs = 0;
        return !(before == selection);
    }
    /// References into a trace that is gone.
    void dropStale()
    {
        selection.hoveredSpan.reset();
        selection.selectedSpan.reset();
        const std::int64_t end = model ? model->trace().endNs : 0;
        if (selection.range && selection.range->endNs > end)
            selection.range.reset();
        selection.cursorNs = std::min(selection.cursorNs, end);
    }
};

TimelineView::TimelineView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
TimelineView::~TimelineView() = default;

void TimelineView::setStep(SimulationPtr simulation, TracePtr trace)
{
    Data& d = *m_data;
    const bool showedAll = !d.model || d.window.showsAll();
    const bool stepping = d.steps.has_value();
    const std::size_t stepBefore = stepping ? d.steps->current() : 0;
    d.steps.reset();
    d.model = trace ? std::make_unique<TimelineModel>(std::move(trace), std::move(simulation)) : nullptr;
    d.stale = true;
    d.framed = false;
    d.drag = Data::Drag::none;
    d.dropStale();
    d.opacityOfKind.clear();
    d.makeColors();
    if (!d.model)
        return;
    const TimeWindow all = d.wholeWindow();
    // What was looked at stays in sight while a slider changes the trace.
    d.window = showedAll ? all : all.to(d.window.beginNs, d.window.endNs);
    if (stepping) {
        d.steps.emplace(*d.model);
        d.steps->goTo(stepBefore);
    }
}

void TimelineView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
    m_data->makeColors();
}

void TimelineView::setStepping(bool on)
{
    Data& d = *m_data;
    if (on == d.steps.has_value() || !d.model)
        return;
    d.steps.reset();
    d.selection.selectedSpan.reset();
    d.selection.hoveredSpan.reset();
    d.stale = true;
    if (on) {
        d.steps.emplace(*d.model);
        d.showStep();
    }
}

bool TimelineView::isStepping() const
{
    return m_data->steps.has_value();
}

TimeRange TimelineView::visibleRange() const
{
    return {std::llround(m_data->window.beginNs), std::llround(m_data->window.endNs)};
}

void TimelineView::setVisibleRange(TimeRange range)
{
    m_data->show(m_data->window.to(static_cast<double>(range.beginNs), static_cast<double>(range.endNs)));
}

void TimelineView::setAxis(TimeRange range)
{
    Data& d = *m_data;
    d.axisNs = range;
    const TimeWindow all = d.wholeWindow();
    if (all.lengthNs != d.window.lengthNs || all.firstNs != d.window.firstNs)
        d.window = d.window.showsAll() ? all : all.to(d.window.beginNs, d.window.endNs);
}

void TimelineView::setOpacityOfKinds(std::vector<float> opacity)
{
    m_data->opacityOfKind = std::move(opacity);
    m_data->makeColors();
}

float TimelineView::scrolledBy() const
{
    return m_data->scrollY;
}

void TimelineView::setScrolledBy(float pixels)
{
    m_data->scrollY = pixels;
    m_data->clampScroll();
}

void TimelineView::setAround(Around around)
{
    m_data->stale = m_data->stale || !(around == m_data->around);
    m_data->around = around;
}

void TimelineView::setDense(bool dense)
{
    m_data->stale = m_data->stale || dense != m_data->dense;
    m_data->dense = dense;
}

float TimelineView::drawLegend(Canvas& canvas, Rect area) const
{
    return m_data->model ? paintLegend(canvas, m_data->scene(), area) : 0;
}

std::string TimelineView::title() const
{
    return "Timeline";
}

void TimelineView::draw(Canvas& canvas)
{
    Data& d = *m_data;
    if (!d.model || d.model->rows().empty()) {
        drawEmpty(canvas, d.theme, "No trace yet", "Open a scenario, or choose one in the gallery.");
        return;
    }
    d.prepare(canvas.area());
    paintTimeline(canvas, d.scene());
}

bool TimelineView::pointer(const PointerEvent& event, Rect area)
{
    Data& d = *m_data;
    if (!d.model)
        return false;
    d.prepare(area);
    d.pointerAt = event.at;
    d.pointerInside = event.kind != PointerEvent::Kind::leave;
    switch (event.kind) {
    case PointerEvent::Kind::move:
        return d.goOn(event);
    case PointerEvent::Kind::press:
        return d.startDrag(event);
    case PointerEvent::Kind::release: {
        const bool clicked = d.drag == Data::Drag::pressed;
        if (clicked)
            d.click(event.at);
        d.drag = Data::Drag::none;
        return d.hover(event.at) || clicked;
    }
    case PointerEvent::Kind::doubleClick:
        d.drag = Data::Drag::none;
        if (!d.frame().rows.contains(event.at))
            return false;
        d.click(event.at);
        d.framed = false;
        return d.focusSelection();
    case PointerEvent::Kind::leave:
        return d.drag == Data::Drag::none && d.unhover();
    case PointerEvent::Kind::wheel: {
        bool changed = false;
        if (event.control)
            changed = d.zoomAt(event.at, std::pow(kZoomStep, static_cast<double>(event.wheelY)));
        else if (event.shift)
            changed = d.pan(-static_cast<double>(event.wheelX + event.wheelY) * kPanShare);
        else {
            changed = d.scrollBy(-event.wheelY * kScrollPixels);
            changed = (event.wheelX != 0 && d.pan(-static_cast<double>(event.wheelX) * kPanShare)) || changed;
        }
        return d.hover(event.at) || changed;
    }
    }
    return false;
}

bool TimelineView::command(ViewCommand command, bool fast, Rect area)
{
    Data& d = *m_data;
    if (!d.model)
        return false;
    d.prepare(area);
    const Rect rows = d.frame().rows;
    const Point middle{(rows.left + rows.right) / 2, rows.top};
    const Point at = d.pointerInside && d.pointerAt.x >= rows.left && d.pointerAt.x < rows.right ? d.pointerAt : middle;
    const double presses = fast ? kFastPresses : 1;
    switch (command) {
    case ViewCommand::zoomIn:
        return d.zoomAt(at, std::pow(kZoomStep, presses));
    case ViewCommand::zoomOut:
        return d.zoomAt(at, std::pow(kZoomStep, -presses));
    case ViewCommand::panLeft:
        if (d.steps)
            return d.step(fast ? -static_cast<std::ptrdiff_t>(kFastPresses) : -1);
        return d.pan(-kPanShare * presses);
    case ViewCommand::panRight:
        if (d.steps)
            return d.step(fast ? static_cast<std::ptrdiff_t>(kFastPresses) : 1);
        return d.pan(kPanShare * presses);
    case ViewCommand::panUp:
        return d.scrollBy(-kScrollPixels * static_cast<float>(presses));
    case ViewCommand::panDown:
        return d.scrollBy(kScrollPixels * static_cast<float>(presses));
    case ViewCommand::focusSelection:
        return d.focusSelection();
    case ViewCommand::fitAll:
        return d.show(d.window.whole());
    case ViewCommand::next:
        return d.step(fast ? static_cast<std::ptrdiff_t>(kFastPresses) : 1);
    case ViewCommand::previous:
        return d.step(fast ? -static_cast<std::ptrdiff_t>(kFastPresses) : -1);
    case ViewCommand::mark:
        return d.mark();
    case ViewCommand::clear:
        return d.clear();
    default: // other views'
        return false;
    }
}

CursorShape TimelineView::cursor() const
{
    const Data& d = *m_data;
    if (!d.model || !d.pointerInside)
        return CursorShape::arrow;
    const TimelineFrame f = d.frame();
    if (d.drag == Data::Drag::pan)
        return CursorShape::grab;
    if (d.drag == Data::Drag::cursor || f.ruler.contains(d.pointerAt) || f.overview.contains(d.pointerAt))
        return CursorShape::resizeHorizontal;
    if (d.drag == Data::Drag::range)
        return CursorShape::crosshair;
    return d.selection.hoveredSpan ? CursorShape::pointingHand : CursorShape::arrow;
}

std::string TimelineView::tooltip() const
{
    const Data& d = *m_data;
    if (!d.model || !d.pointerInside || d.drag != Data::Drag::none)
        return {};
    if (d.selection.hoveredSpan) {
        const std::string depends = dependencyText(*d.model, *d.selection.hoveredSpan);
        return d.model->describe(*d.selection.hoveredSpan) + (depends.empty() ? "" : "\n" + depends);
    }
    if (d.frame().memory.contains(d.pointerAt)) {
        const auto curve = memoryCurve(*d.model, d.selection);
        const auto [begin, end] = d.columnAt(d.pointerAt.x);
        return curve && begin < d.model->trace().endNs ? memoryText(*d.model, *curve, begin, end) : std::string();
    }
    const auto track = d.trackUnder(d.pointerAt);
    if (!track)
        return {};
    // Spans too small to point at, or nothing: what the pixel column holds.
    const auto [begin, end] = d.columnAt(d.pointerAt.x);
    if (begin >= d.model->trace().endNs)
        return {};
    const sim::BusyByClass busy = d.model->busy(*track).busyNs(begin, end);
    const auto whole = static_cast<double>(end - begin);
    std::string text;
    double sum = 0;
    for (std::size_t c = 0; c < busy.size(); ++c) {
        if (busy[c] <= 0)
            continue;
        sum += static_cast<double>(busy[c]);
        text += std::string(sim::opClassName(static_cast<sim::OpClass>(c))) + " " +
                percentText(static_cast<double>(busy[c]) / whole) + "\n";
    }
    if (sum == 0)
        return "idle at " + durationText(d.axis().ns(d.pointerAt.x));
    return text + "idle " + percentText(std::max(0.0, 1 - sum / whole)) + "\nin " + durationText(whole) + " at " +
           durationText(static_cast<double>(begin));
}

} // namespace app
