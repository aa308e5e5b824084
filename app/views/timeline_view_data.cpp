// Layout, what is computed once for many frames, and what lies where.
#include "app/views/timeline_view_data.h"

#include "app/views/color.h"
#include "app/views/labels.h"
#include "app/views/timeline_dependencies.h"
#include "app/views/timeline_memory.h"

#include <algorithm>
#include <cmath>

namespace app {
namespace {

constexpr float kPointedSpan = 2;     ///< pixels from which a span can be pointed at
constexpr float kFiltered = 0.84F;    ///< of the canvas's colour in spans whose class does not count
constexpr float kSteppedBack = 0.66F; ///< the same while others are lit
constexpr std::size_t kFewestColumns = 48;
constexpr std::size_t kMostSums = 250000; ///< of a row over a stretch of time, for one picture of shares

/// Of [beginNs, endNs): as many stretches as can be seen on so many pixels, and as few as can be summed within a frame. Each
/// takes some time.
std::vector<std::int64_t> edgesFor(double beginNs, double endNs, float width, std::size_t rows)
{
    const auto seen = static_cast<std::size_t>(std::max(1.0F, width / 2));
    const std::size_t columns = std::min(seen, std::max<std::size_t>(kFewestColumns, kMostSums / std::max<std::size_t>(rows, 1)));
    std::vector<std::int64_t> edges;
    for (std::size_t c = 0; c <= columns; ++c) {
        const std::int64_t edge =
            std::llround(beginNs + (endNs - beginNs) * static_cast<double>(c) / static_cast<double>(columns));
        edges.push_back(edges.empty() ? edge : std::max(edges.back() + 1, edge));
    }
    return edges;
}

} // namespace

TimelineFrame TimelineView::Data::frameOf(Rect area) const
{
    return {area,
            {.memory = around.memory && model && !model->trace().counters.empty(),
             .story = steps.has_value(),
             .overview = around.overview,
             .legend = around.legend,
             .ruler = around.ruler,
             .marks = around.ruler && !marks.all().empty()}};
}

TimelineScene TimelineView::Data::scene()
{
    prepareColors();
    prepareRange();
    preparePath();
    return {.model = *model,
            .colors = colors,
            .theme = theme,
            .selection = selection,
            .frame = frame(),
            .window = window,
            .arrangement = arrangement,
            .wishes = wishes,
            .stack = stack,
            .scrollY = scrollY,
            .overview = overview,
            .strips = strips,
            .marks = marks,
            .targets = targets,
            .selectedRows = static_cast<int>(selectedRows.size()),
            .range = range ? &*range : nullptr,
            .path = pathShown && path ? &*path : nullptr,
            .lit = search      ? &foundSpans
                   : pathShown ? &pathSpans
                               : nullptr,
            .search = search ? &*search : nullptr,
            .found = foundText(),
            .zoomBox = zoomBox,
            .steps = steps ? &*steps : nullptr};
}

TimeAxis TimelineView::Data::axis() const
{
    const Rect rows = frame().rows;
    return {window.beginNs, window.endNs, rows.left, rows.right};
}

void TimelineView::Data::prepare(Rect area)
{
    if (!model || (!stale && area == laidOutFor && selection.ranks == arrangedFor))
        return;
    const bool sameOverview = !stale && area.width() == laidOutFor.width() && !overview.empty();
    laidOutFor = area;
    stale = false;
    arrange();
    std::vector<RowNeed> needs;
    for (const RowLine& line : arrangement.lines) {
        if (line.isHeader()) {
            needs.push_back({.lanes = 1, .header = true});
            continue;
        }
        const TimelineRow& row = model->rows()[static_cast<std::size_t>(line.row)];
        needs.push_back({.lanes = std::max(1, static_cast<int>(row.tracks.size())),
                         .sparkline = row.memory.has_value(),
                         .thinLanes = row.thinLanes});
    }
    stack = stackRows(needs, frame().rows.height(), dense ? kLowestDenseRow : kLowestRow, arrangement.pinned);
    clampScroll();
    strips.clear();
    if (!sameOverview)
        prepareOverview();
}

void TimelineView::Data::arrange()
{
    arrangedFor = selection.ranks;
    selectedRows.clear();
    if (selection.ranks.size() > 1) {
        for (const int rank : selection.ranks)
            if (const int row = model->rowOfRank(rank); row >= 0)
                selectedRows.push_back(row);
        std::sort(selectedRows.begin(), selectedRows.end());
        selectedRows.erase(std::unique(selectedRows.begin(), selectedRows.end()), selectedRows.end());
        if (selectedRows.size() == facts.size())
            selectedRows.clear();
    }
    RowWishes now = wishes;
    if (selectedRows.empty())
        now.filter = RowFilter::all;
    arrangement = arrangeRows(facts, now, selectedRows);
}

void TimelineView::Data::prepareOverview()
{
    overview.clear();
    const Rect area = frame().overview;
    const auto length = static_cast<double>(model->trace().endNs);
    if (area.height() > 0 && length > 0)
        overview = model->shares(model->allRows(), edgesFor(0, length, area.width(), model->rows().size()));
}

/// Of the groups in sight, over the window.
void TimelineView::Data::prepareStrips()
{
    if (!(stripsOf == window) || strips.size() != arrangement.groups.size())
        strips.assign(arrangement.groups.size(), {});
    stripsOf = window;
    if (strips.empty())
        return;
    const std::vector<std::int64_t> edges = edgesFor(window.beginNs, window.endNs, frame().rows.width(), model->rows().size());
    scene().forLinesInSight([&](int line) {
        const RowLine& what = arrangement.lines[static_cast<std::size_t>(line)];
        if (!what.isHeader())
            return;
        const auto group = static_cast<std::size_t>(what.group);
        if (strips[group].empty())
            strips[group] = model->shares(arrangement.groups[group].rows, edges);
    });
}

void TimelineView::Data::prepareColors()
{
    const bool others = search.has_value() || pathShown;
    if (!model || coloredFor == std::pair(selection.classes, others))
        return;
    coloredFor = {selection.classes, others};
    colors.own = model->colors(theme);
    for (std::size_t k = 0; k < std::min(colors.own.size(), opacityOfKind.size()); ++k)
        for (Color* color : {&colors.own[k].even, &colors.own[k].odd, &colors.own[k].text})
            *color = mix(theme.canvas, *color, opacityOfKind[k]);
    colors.shown = colors.own;
    colors.ownFills = theme.opClass;
    const auto paleness = [&](sim::OpClass c) { return !selection.shows(c) ? kFiltered : others ? kSteppedBack : 0.0F; };
    for (std::size_t k = 0; k < colors.shown.size(); ++k)
        if (const float share = paleness(model->trace().kinds[k].opClass); share > 0) {
            KindColors& kind = colors.shown[k];
            kind = {mix(kind.even, theme.canvas, share), mix(kind.odd, theme.canvas, share), theme.text};
            if (share == kFiltered)
                kind.text = theme.mutedText;
        }
    for (std::size_t c = 0; c < colors.fills.size(); ++c)
        colors.fills[c] = mix(theme.opClass[c], theme.canvas, paleness(static_cast<sim::OpClass>(c)));
}

void TimelineView::Data::prepareRange()
{
    if (!model || !selection.range) {
        range.reset();
        return;
    }
    if (range && range->range == *selection.range && rangeClasses == selection.classes)
        return;
    rangeClasses = selection.classes;
    range = app::rangeStatistics(*model, *selection.range, selection.classes);
}

void TimelineView::Data::preparePath()
{
    if (!model || !pathShown || path)
        return;
    path = sim::criticalPath(model->trace());
    std::vector<SpanRef> spans;
    for (const sim::CriticalStep& step : path->steps)
        spans.push_back({step.track, step.span});
    pathSpans = SpanSet(std::move(spans));
}

void TimelineView::Data::prepareSearch()
{
    search.reset();
    foundSpans = {};
    if (!model || searchText.empty())
        return;
    search.emplace(*model, searchText);
    foundSpans = SpanSet(search->found());
}

std::string TimelineView::Data::foundText() const
{
    if (!search)
        return {};
    const auto& found = search->found();
    const std::string quoted = "“" + search->text() + "”";
    if (found.empty())
        return "nothing is called " + quoted;
    const auto count = countText(static_cast<std::int64_t>(found.size()));
    if (selection.selectedSpan)
        if (const auto at = std::find(found.begin(), found.end(), *selection.selectedSpan); at != found.end())
            return countText(at - found.begin() + 1) + " of " + count + " called " + quoted;
    return count + (found.size() == 1 ? " span is called " : " spans are called ") + quoted;
}

void TimelineView::Data::clampScroll()
{
    scrollY = std::clamp(scrollY, 0.0F, std::max(0.0F, stack.height - frame().rows.height()));
}

void TimelineView::Data::setTrace(SimulationPtr simulation, TracePtr trace)
{
    const bool showedAll = !model || window.showsAll();
    const bool stepped = steps.has_value();
    const std::size_t stepBefore = stepped ? steps->current() : 0;
    steps.reset();
    search.reset();
    model = trace ? std::make_unique<TimelineModel>(std::move(trace), std::move(simulation)) : nullptr;
    stale = true;
    framed = false;
    drag = Drag::none;
    zoomBox.reset();
    targets.clear();
    opacityOfKind.clear();
    coloredFor.reset();
    range.reset();
    path.reset();
    history.forget();
    dropStale();
    prepareSearch();
    facts = model ? rowFacts(*model) : std::vector<RowFacts>{};
    if (!model)
        return;
    const TimeWindow all = wholeWindow();
    // What was looked at stays in sight while a slider changes the trace.
    window = showedAll ? all : all.to(window.beginNs, window.endNs);
    if (wantedRange)
        window = all.to(static_cast<double>(wantedRange->beginNs), static_cast<double>(wantedRange->endNs));
    wantedRange.reset();
    if (stepped) {
        steps.emplace(*model);
        steps->goTo(stepBefore);
    }
}

/// References into a trace that is gone.
void TimelineView::Data::dropStale()
{
    selection.hoveredSpan.reset();
    selection.selectedSpan.reset();
    const std::int64_t end = model ? model->trace().endNs : 0;
    if (selection.range && selection.range->endNs > end)
        selection.range.reset();
    selection.cursorNs = std::min(selection.cursorNs, end);
}

/// Times of the pixel column there.
TimeRange TimelineView::Data::columnAt(float x) const
{
    const TimeAxis a = axis();
    const float column = std::floor(x - a.left) + a.left;
    const std::int64_t begin = std::llround(a.ns(column));
    return {begin, std::max(begin + 1, static_cast<std::int64_t>(std::llround(a.ns(column + 1))))};
}

std::int64_t TimelineView::Data::timeAt(float x) const
{
    const Rect rows = frame().rows;
    return std::clamp<std::int64_t>(std::llround(axis().ns(std::clamp(x, rows.left, rows.right))), 0, model->trace().endNs);
}

int TimelineView::Data::lineUnder(Point at) const
{
    const Rect rows = frame().rows;
    if (at.x < laidOutFor.left || at.x >= rows.right || at.y < rows.top || at.y >= rows.bottom)
        return -1;
    const float y = at.y - rows.top;
    return stack.rowAt(y < stack.pinnedHeight ? y : y + scrollY);
}

int TimelineView::Data::rowUnder(Point at) const
{
    const int line = lineUnder(at);
    return line < 0 ? -1 : arrangement.lines[static_cast<std::size_t>(line)].row;
}

std::optional<std::uint32_t> TimelineView::Data::trackUnder(Point at) const
{
    const int line = lineUnder(at), row = rowUnder(at);
    if (row < 0 || at.x < frame().rows.left)
        return std::nullopt;
    const auto& tracks = model->rows()[static_cast<std::size_t>(row)].tracks;
    const float y = at.y - frame().rows.top + stack.scrolled(line, scrollY);
    const int lane = stack.rows[static_cast<std::size_t>(line)].laneAt(y, static_cast<int>(tracks.size()));
    return lane >= 0 ? std::optional(tracks[static_cast<std::size_t>(lane)]) : std::nullopt;
}

std::optional<SpanRef> TimelineView::Data::spanUnder(Point at) const
{
    const auto track = trackUnder(at);
    if (!track)
        return std::nullopt;
    const TimeAxis a = axis();
    const auto span = model->spanAt(*track, a.ns(at.x), a.nsPerPixel());
    if (!span || (steps && !steps->isRevealed({*track, *span})))
        return std::nullopt;
    const auto length = static_cast<double>(model->trace().tracks[*track].durationNs[*span]);
    return length >= a.nsPerPixel() * static_cast<double>(kPointedSpan) ? std::optional(SpanRef{*track, *span}) : std::nullopt;
}

const TimelineTarget* TimelineView::Data::targetUnder(Point at) const
{
    const auto found =
        std::find_if(targets.rbegin(), targets.rend(), [&](const TimelineTarget& t) { return t.rect.contains(at); });
    return found == targets.rend() ? nullptr : &*found;
}

std::string TimelineView::Data::tooltip() const
{
    if (!model || !pointerInside || drag != Drag::none)
        return {};
    if (const TimelineTarget* target = targetUnder(pointerAt))
        return target->tip;
    if (selection.hoveredSpan) {
        const std::string depends = dependencyText(*model, *selection.hoveredSpan);
        return model->describe(*selection.hoveredSpan) + (depends.empty() ? "" : "\n" + depends);
    }
    const auto [begin, end] = columnAt(pointerAt.x);
    if (frame().memory.contains(pointerAt)) {
        const auto curve = memoryCurve(*model, selection);
        return curve && begin < model->trace().endNs ? memoryText(*model, *curve, begin, end) : std::string();
    }
    const int line = lineUnder(pointerAt), row = rowUnder(pointerAt);
    if (line < 0)
        return {};
    if (pointerAt.x < frame().rows.left) { // a row's name
        const TimelineRow& data = model->rows()[static_cast<std::size_t>(row)];
        std::string text = data.names.empty() ? std::string() : data.names.front();
        if (!data.details.empty())
            text += "\n" + data.details.front();
        return data.exposedShare ? text + "\nbusy: kernels run; exposed: only a transfer runs; bubble: neither" : text;
    }
    // Spans too small to point at, or nothing: what the pixel column holds.
    const auto track = trackUnder(pointerAt);
    if (begin >= model->trace().endNs || (row >= 0 && !track))
        return {};
    const auto whole = static_cast<double>(end - begin);
    std::array<double, sim::kOpClassCount> share{};
    if (track) {
        const sim::BusyByClass busy = model->busy(*track).busyNs(begin, end);
        for (std::size_t c = 0; c < busy.size(); ++c)
            share[c] = static_cast<double>(busy[c]) / whole;
    } else {
        const int group = arrangement.lines[static_cast<std::size_t>(line)].group;
        share = model->shares(arrangement.groups[static_cast<std::size_t>(group)].rows, std::array{begin, end}).front();
    }
    std::string text;
    double sum = 0;
    for (std::size_t c = 0; c < share.size(); ++c) {
        if (share[c] <= 0)
            continue;
        sum += share[c];
        text += model->className(static_cast<sim::OpClass>(c)) + " " + percentText(share[c]) + "\n";
    }
    if (sum == 0)
        return "idle at " + durationText(axis().ns(pointerAt.x));
    return text + "idle " + percentText(std::max(0.0, 1 - sum)) + "\nin " + durationText(whole) + " at " +
           durationText(static_cast<double>(begin));
}

CursorShape TimelineView::Data::cursor() const
{
    if (!model || !pointerInside)
        return CursorShape::arrow;
    const TimelineFrame f = frame();
    if (drag == Drag::pan)
        return CursorShape::grab;
    if (drag == Drag::range || drag == Drag::zoom)
        return CursorShape::crosshair;
    if (drag == Drag::none && targetUnder(pointerAt) != nullptr)
        return CursorShape::pointingHand;
    if (drag == Drag::cursor || f.ruler.contains(pointerAt) || f.overview.contains(pointerAt))
        return CursorShape::resizeHorizontal;
    return selection.hoveredSpan ? CursorShape::pointingHand : CursorShape::arrow;
}

} // namespace app
