#include "app/views/timeline_view.h"

#include "app/views/labels.h"
#include "app/views/timeline_view_data.h"

#include <cmath>

namespace app {

TimelineView::TimelineView(Selection& selection, const Theme& theme) : m_data(std::make_unique<Data>(selection, theme)) {}
TimelineView::~TimelineView() = default;

void TimelineView::setStep(SimulationPtr simulation, TracePtr trace)
{
    m_data->setTrace(std::move(simulation), std::move(trace));
}

void TimelineView::setTheme(const Theme& theme)
{
    m_data->theme = theme;
    m_data->coloredFor.reset();
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
    m_data->window = m_data->window.to(static_cast<double>(range.beginNs), static_cast<double>(range.endNs));
    m_data->framed = false;
}

bool TimelineView::keepCursorInSight()
{
    return m_data->keepCursorInSight();
}

TimelineState TimelineView::state() const
{
    const Data& d = *m_data;
    TimelineState state{.visible = d.wantedRange, .marks = d.marks.all(), .rows = d.wishes, .criticalPath = d.pathShown};
    if (d.model && !d.window.showsAll())
        state.visible = visibleRange();
    return state;
}

void TimelineView::setState(const TimelineState& state)
{
    Data& d = *m_data;
    d.marks.set(state.marks);
    d.setRows(state.rows);
    d.pathShown = state.criticalPath;
    d.history.forget();
    d.wantedRange.reset();
    if (!d.model)
        d.wantedRange = state.visible;
    else if (state.visible)
        setVisibleRange(*state.visible);
    else
        d.window = d.wholeWindow();
}

const std::vector<TimelineMark>& TimelineView::marks() const
{
    return m_data->marks.all();
}

int TimelineView::addMark(TimeRange range, std::string label)
{
    m_data->changeMarks();
    return m_data->marks.add(range, std::move(label));
}

bool TimelineView::removeMark(int number)
{
    m_data->changeMarks();
    return m_data->marks.remove(number);
}

bool TimelineView::renameMark(int number, std::string label)
{
    return m_data->marks.rename(number, std::move(label));
}

const RowWishes& TimelineView::rows() const
{
    return m_data->wishes;
}

void TimelineView::setRows(RowWishes wishes)
{
    m_data->setRows(std::move(wishes));
}

void TimelineView::setRowFilter(RowFilter filter)
{
    RowWishes wishes = m_data->wishes;
    wishes.filter = filter;
    m_data->setRows(std::move(wishes));
}

void TimelineView::setCriticalPathShown(bool shown)
{
    m_data->pathShown = shown;
}

bool TimelineView::isCriticalPathShown() const
{
    return m_data->pathShown;
}

const sim::CriticalPath* TimelineView::criticalPath() const
{
    m_data->preparePath();
    return m_data->pathShown && m_data->path ? &*m_data->path : nullptr;
}

std::optional<RangeStatistics> TimelineView::rangeStatistics() const
{
    m_data->prepareRange();
    return m_data->range;
}

Table TimelineView::rangeTable() const
{
    const auto statistics = rangeStatistics();
    return statistics ? tableOf(*statistics, *m_data->model) : Table{};
}

std::size_t TimelineView::find(std::string_view text)
{
    m_data->searchText = text;
    m_data->prepareSearch();
    return m_data->search ? m_data->search->found().size() : 0;
}

bool TimelineView::findNext(bool backwards)
{
    return m_data->model && m_data->findNext(backwards);
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
    m_data->coloredFor.reset();
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
    d.targets.clear();
    if (!d.model || d.model->rows().empty()) {
        drawEmpty(canvas, d.theme, "No trace yet", hint());
        return;
    }
    d.prepare(canvas.area());
    d.prepareStrips();
    paintTimeline(canvas, d.scene());
}

bool TimelineView::pointer(const PointerEvent& event, Rect area)
{
    if (!m_data->model)
        return false;
    m_data->prepare(area);
    return m_data->pointer(event);
}

bool TimelineView::command(ViewCommand command, bool fast, Rect area)
{
    if (!m_data->model)
        return false;
    m_data->prepare(area);
    return m_data->command(command, fast);
}

CursorShape TimelineView::cursor() const
{
    return m_data->cursor();
}

std::string TimelineView::tooltip() const
{
    return m_data->tooltip();
}

} // namespace app
