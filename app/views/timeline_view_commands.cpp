// What commands do, and how the window and the rows move.
#include "app/views/timeline_dependencies.h"
#include "app/views/timeline_view_data.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr double kFastPresses = 4;   ///< Shift
constexpr double kFrameMargin = 0.1; ///< of what F frames, on both sides

} // namespace

bool TimelineView::Data::command(ViewCommand command, bool fast)
{
    const Rect rows = frame().rows;
    const Point middle{(rows.left + rows.right) / 2, rows.top};
    const Point at = pointerInside && pointerAt.x >= rows.left && pointerAt.x < rows.right ? pointerAt : middle;
    const double presses = fast ? kFastPresses : 1;
    const auto many = static_cast<std::ptrdiff_t>(presses);
    switch (command) {
    case ViewCommand::zoomIn:
        return zoomAt(at, std::pow(kZoomStep, presses));
    case ViewCommand::zoomOut:
        return zoomAt(at, std::pow(kZoomStep, -presses));
    case ViewCommand::panLeft:
        return steps ? step(-many) : pan(-kPanShare * presses);
    case ViewCommand::panRight:
        return steps ? step(many) : pan(kPanShare * presses);
    case ViewCommand::panUp:
        return scrollBy(-kScrollPixels * static_cast<float>(presses));
    case ViewCommand::panDown:
        return scrollBy(kScrollPixels * static_cast<float>(presses));
    case ViewCommand::focusSelection:
        return focusSelection();
    case ViewCommand::fitAll:
        return show(window.whole());
    case ViewCommand::viewBack:
    case ViewCommand::viewForward: {
        const auto place = command == ViewCommand::viewBack ? history.back(window) : history.forward(window);
        if (!place)
            return false;
        window = window.to(place->beginNs, place->endNs);
        framed = false;
        return true;
    }
    case ViewCommand::next:
        return step(many);
    case ViewCommand::previous:
        return step(-many);
    case ViewCommand::followForward:
        return follow(true);
    case ViewCommand::followBack:
        return follow(false);
    case ViewCommand::nextMatch:
        return findNext(false);
    case ViewCommand::previousMatch:
        return findNext(true);
    case ViewCommand::mark:
        return mark();
    case ViewCommand::keepRange:
        return keepRange();
    case ViewCommand::rangeOfSpan:
        if (const auto times = timesOf(spanInFocus())) {
            selection.range = times;
            return true;
        }
        return false;
    case ViewCommand::pinRow:
        return selection.focusRank() && togglePin(model->rowOfRank(*selection.focusRank()));
    case ViewCommand::groupRows:
        return nextGrouping();
    case ViewCommand::sortRows:
        return nextSort();
    case ViewCommand::filterRows:
        return toggleFilter();
    case ViewCommand::criticalPath:
        pathShown = !pathShown;
        return true;
    case ViewCommand::clear:
        return clear();
    default:
        return false; // of other pictures
    }
}

TimeWindow TimelineView::Data::wholeWindow() const
{
    return TimeWindow::all(static_cast<double>(std::max(axisNs.endNs, model ? model->trace().endNs : 0)),
                           static_cast<double>(axisNs.beginNs));
}

/// `continued`: one of many small moves, which are one to go back over.
bool TimelineView::Data::show(const TimeWindow& next, bool continued)
{
    framed = false;
    if (next == window)
        return false;
    history.leave(window, continued);
    window = next;
    return true;
}

bool TimelineView::Data::zoomAt(Point at, double factor)
{
    const Rect rows = frame().rows;
    const double share = std::clamp(static_cast<double>((at.x - rows.left) / rows.width()), 0.0, 1.0);
    return show(window.zoomed(factor, share), true);
}

bool TimelineView::Data::scrollBy(float pixels)
{
    const float before = scrollY;
    scrollY += pixels;
    clampScroll();
    return scrollY != before;
}

bool TimelineView::Data::keepCursorInSight()
{
    constexpr double kAhead = 0.9, kBehind = 0.1; // of the window: where it turns over, and where the cursor is then
    const auto cursorNs = static_cast<double>(selection.cursorNs);
    if (!model || (cursorNs >= window.beginNs && cursorNs <= window.beginNs + window.span() * kAhead))
        return false;
    const TimeWindow next = window.moved(cursorNs - window.beginNs - window.span() * kBehind);
    if (next == window)
        return false;
    window = next;
    return true;
}

void TimelineView::Data::keepInSight(SpanRef ref)
{
    const auto times = *timesOf(ref);
    const auto start = static_cast<double>(times.beginNs), end = static_cast<double>(times.endNs);
    if (start < window.beginNs || end > window.endNs)
        show(window.moved((start + end) / 2 - (window.beginNs + window.endNs) / 2), true);
    const auto row = static_cast<std::size_t>(model->rowOf(ref.track));
    const int line = row < arrangement.lineOfRow.size() ? arrangement.lineOfRow[row] : -1;
    if (line >= stack.pinned && line < static_cast<int>(stack.rows.size())) {
        const RowPlace& place = stack.rows[static_cast<std::size_t>(line)];
        scrollY = std::max(scrollY, place.bottom - frame().rows.height());
        scrollY = std::min(scrollY, place.top - stack.pinnedHeight);
    }
    clampScroll();
}

std::optional<TimeRange> TimelineView::Data::timesOf(const std::optional<SpanRef>& span) const
{
    if (!span)
        return std::nullopt;
    return TimeRange{model->trace().tracks[span->track].startNs[span->span], model->endNs(*span)};
}

/// A range before a span, what was clicked before what is pointed at; again: all.
bool TimelineView::Data::focusSelection()
{
    const auto times = selection.range ? selection.range : timesOf(spanInFocus());
    if (!times || framed)
        return show(window.whole());
    const double margin = static_cast<double>(times->endNs - times->beginNs) * kFrameMargin;
    const bool changed =
        show(window.to(static_cast<double>(times->beginNs) - margin, static_cast<double>(times->endNs) + margin));
    framed = true;
    return changed;
}

void TimelineView::Data::setRows(RowWishes next)
{
    stale = stale || !(next == wishes);
    wishes = std::move(next);
}

bool TimelineView::Data::togglePin(int row)
{
    if (row < 0)
        return false;
    RowWishes next = wishes;
    const int rank = facts[static_cast<std::size_t>(row)].rank;
    if (std::erase(next.pinnedRanks, rank) == 0)
        next.pinnedRanks.push_back(rank);
    setRows(std::move(next));
    return true;
}

bool TimelineView::Data::nextGrouping()
{
    const auto& ways = arrangement.groupings;
    if (ways.size() < 2)
        return false;
    RowWishes next = wishes;
    const auto now = std::find(ways.begin(), ways.end(), arrangement.grouping);
    next.grouping = now + 1 == ways.end() ? ways.front() : *(now + 1);
    next.turnedOver.clear();
    setRows(std::move(next));
    return true;
}

bool TimelineView::Data::nextSort()
{
    RowWishes next = wishes;
    next.sort = wishes.sort == RowSort::rank ? RowSort::busy : wishes.sort == RowSort::busy ? RowSort::end : RowSort::rank;
    setRows(std::move(next));
    return true;
}

bool TimelineView::Data::toggleFilter()
{
    if (selectedRows.empty() && wishes.filter == RowFilter::all)
        return false; // there is nothing to filter by
    RowWishes next = wishes;
    next.filter = wishes.filter == RowFilter::all ? RowFilter::selected : RowFilter::all;
    setRows(std::move(next));
    return true;
}

void TimelineView::Data::showStep()
{
    if (!steps || !steps->now())
        return;
    selection.selectedSpan = steps->now();
    keepInSight(*steps->now());
}

bool TimelineView::Data::stepThrough(std::ptrdiff_t by)
{
    const std::size_t before = steps->current();
    const auto last = static_cast<std::ptrdiff_t>(steps->count()) - 1;
    steps->goTo(static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(before) + by, 0, std::max<std::ptrdiff_t>(last, 0))));
    showStep();
    return steps->current() != before;
}

/// Along the row, past what does not count.
bool TimelineView::Data::step(std::ptrdiff_t by)
{
    if (steps)
        return stepThrough(by);
    SpanRef next{};
    const auto& tracks = model->trace().tracks;
    if (selection.selectedSpan) {
        next = *selection.selectedSpan;
        const auto size = static_cast<std::ptrdiff_t>(tracks[next.track].size());
        const std::ptrdiff_t direction = by < 0 ? -1 : 1;
        std::ptrdiff_t left = std::abs(by);
        for (std::ptrdiff_t span = static_cast<std::ptrdiff_t>(next.span) + direction; left > 0 && span >= 0 && span < size;
             span += direction)
            if (selection.shows(model->opClass(next.track, static_cast<std::size_t>(span)))) {
                next.span = static_cast<std::uint32_t>(span);
                --left;
            }
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
    return select(next);
}

bool TimelineView::Data::select(SpanRef next)
{
    const bool changed = selection.selectedSpan != next;
    selection.selectedSpan = next;
    // Several selected ranks stay selected while one looks at their spans.
    const int rank = model->rankOf(model->rowOf(next.track), selection);
    if (selection.contains(rank))
        selection.selectedRank = rank;
    else
        selection.selectRank(rank);
    keepInSight(next);
    return changed;
}

/// Backwards to the input that came last, forwards to the output that is used first.
bool TimelineView::Data::follow(bool forward)
{
    const auto span = spanInFocus();
    if (!span)
        return false;
    std::optional<SpanRef> best;
    const auto startNs = [&](SpanRef ref) { return model->trace().tracks[ref.track].startNs[ref.span]; };
    for (const Dependency& d : dependenciesOf(*model, *span)) {
        const SpanRef other = forward ? d.to : d.from;
        if (other == *span || !selection.shows(model->opClass(other.track, other.span)))
            continue;
        if (!best || (forward ? startNs(other) < startNs(*best) : model->endNs(other) > model->endNs(*best)))
            best = other;
    }
    return best && select(*best);
}

bool TimelineView::Data::findNext(bool backwards)
{
    if (!search)
        return false;
    const auto place = search->nextTo(selection.selectedSpan, backwards);
    if (!place)
        return false;
    select(search->found()[*place]);
    return true;
}

/// The range if one is selected, else the time cursor, else the time under the pointer; again takes it away.
bool TimelineView::Data::mark()
{
    if (selection.range)
        return addOrRemove(*selection.range, {});
    if (selection.cursorNs > 0)
        return addOrRemove({selection.cursorNs, selection.cursorNs}, {});
    if (!pointerInside || !frame().rows.contains(pointerAt))
        return false;
    const std::int64_t time = timeAt(pointerAt.x);
    return addOrRemove({time, time}, {});
}

/// The range, or that of the span in focus, with its name.
bool TimelineView::Data::keepRange()
{
    if (selection.range)
        return addOrRemove(*selection.range, {});
    const auto span = spanInFocus();
    return span && addOrRemove(*timesOf(span), actionName(*model, *span));
}

bool TimelineView::Data::addOrRemove(TimeRange times, const std::string& label)
{
    changeMarks();
    if (const auto number = marks.at(times))
        return marks.remove(*number);
    marks.add(times, label);
    return true;
}

bool TimelineView::Data::clear()
{
    const Selection before = selection;
    const bool searched = search.has_value();
    searchText.clear();
    prepareSearch();
    selection.range.reset();
    selection.selectedSpan.reset();
    selection.selectRank(std::nullopt);
    selection.cursorNs = 0;
    return searched || !(before == selection);
}

} // namespace app
