#include "app/views/timeline/timeline_scene.h"

#include "app/views/timeline/exposed_waits.h"
#include "app/views/timeline/range_because.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace app {
namespace {

constexpr float kPointedSpan = 2; ///< pixels from which a span can be pointed at

} // namespace

void TimelineScene::setTrace(std::shared_ptr<PreparedTrace> next)
{
    const bool wasStepping = steps.has_value();
    const std::size_t step = wasStepping ? steps->current() : 0;
    steps.reset();
    rows.setModel(nullptr);
    targets.clear();
    zoomBox.reset();
    wait.reset();
    selectedWait.reset();
    trace = std::move(next);
    const sim::Trace* shown = trace ? &model().trace() : nullptr;
    if (&window == &ownWindow) {       // else who owns it looks after the selection too
        selection.hoveredSpan.reset(); // of the trace that is gone
        selection.selectSpan(std::nullopt);
        selection.keepWithin(shown, std::numeric_limits<int>::max());
        window.setTrace(shown ? std::optional(shown->endNs) : std::nullopt);
    }
    if (!trace)
        return;
    rows.setModel(&model());
    if (wasStepping)
        steps.emplace(model()).goTo(step);
    else
        beforeSteps.reset();
}

void TimelineScene::prepare(Rect canvas)
{
    area = canvas;
    frame = {area, parts(area)};
    legendLines = wantedLegendLines;
    // Rows that touch each other are worth it where then all are in sight, half of the last at least, not where one scrolls to
    // the others anyway.
    const float seenRows = frame.rows.height() + kLowestDenseRow / 2;
    const bool isDense = dense && rows.heightIn(frame.rows.height(), kLowestDenseRow, selection.ranks) <= seenRows;
    const float lowestRow = isDense ? kLowestDenseRow : kLowestRow;
    rows.place(frame.rows, surroundings.isForAudience ? fitToPage(lowestRow) : lowestRow, selection.ranks);
}

float TimelineScene::fitToPage(float lowestRow)
{
    TimelineFrame::Parts around = parts(area);
    const auto fits = [&] {
        frame = {area, around};
        return rows.heightIn(frame.rows.height(), lowestRow, selection.ranks) <= frame.rows.height();
    };
    if (fits())
        return lowestRow;
    around.memory = false;
    if (fits())
        return lowestRow;
    around.overview = false;
    if (fits())
        return lowestRow;
    lowestRow = kLowestDenseRow;
    if (fits())
        return lowestRow;
    around.legendLines = legendLines = 1;
    return fits() ? lowestRow : kLowestPageRow;
}

TimelineFrame::Parts TimelineScene::parts(Rect canvas) const
{
    constexpr float kLegendBesideStory = 192;
    return {.memory = surroundings.memory && !model().trace().counters.empty(),
            .story = steps ? storyHeight : 0,
            .overview = surroundings.overview && (!surroundings.isForAudience || canvas.height() >= kRoomForEverything),
            .legend = surroundings.legend && (!steps || canvas.height() >= kLegendBesideStory),
            .ruler = surroundings.ruler,
            .marks = surroundings.ruler && !marks.all().empty(),
            .legendLines = wantedLegendLines,
            .lowLegend = true};
}

float TimelineScene::roomForStory(Rect canvas) const
{
    constexpr std::size_t kRowsToRead = 4;
    TimelineFrame::Parts others = parts(canvas);
    others.story = 0;
    others.memory = others.overview = false;
    const auto read = static_cast<float>(std::min(kRowsToRead, model().rows().size()));
    return TimelineFrame(canvas, others).rows.height() - read * kLowestRow;
}

const RangeStatistics* TimelineScene::rangeStatistics() const
{
    return trace && selection.range ? &trace->statistics(*selection.range, selection.classes) : nullptr;
}

const SpanSet* TimelineScene::lit() const
{
    if (const SpanSearch* found = search())
        return &found->spans();
    const PreparedTrace::Path* path = criticalPath();
    return path != nullptr ? &path->spans : nullptr;
}

std::int64_t TimelineScene::timeAt(float x) const
{
    const TimeAxis a = axis();
    return std::clamp<std::int64_t>(std::llround(a.ns(std::clamp(x, a.left, a.right))), 0, model().trace().endNs);
}

TimeRange TimelineScene::timesBetween(float x, float otherX) const
{
    const auto [begin, end] = std::minmax({timeAt(x), timeAt(otherX)});
    return {begin, std::max(end, begin + 1)};
}

int TimelineScene::lineUnder(Point at) const
{
    return at.x >= area.left && at.x < axis().right ? rows.lineAt(at.y) : -1;
}

int TimelineScene::rowUnder(Point at) const
{
    const int line = lineUnder(at);
    return line < 0 ? -1 : rows.line(line).row;
}

const RowGroup* TimelineScene::groupUnder(Point at) const
{
    const int line = lineUnder(at);
    return line >= 0 && rows.line(line).isHeader() ? &rows.arrangement().groups[static_cast<std::size_t>(rows.line(line).group)]
                                                   : nullptr;
}

std::optional<std::uint32_t> TimelineScene::trackUnder(Point at) const
{
    const TimeAxis a = axis();
    return at.x >= a.left && at.x < a.right ? rows.trackAt(at.y) : std::nullopt;
}

std::optional<SpanRef> TimelineScene::spanUnder(Point at) const
{
    const auto track = trackUnder(at);
    if (!track)
        return std::nullopt;
    const TimeAxis a = axis();
    const auto span = model().spanAt(*track, a.ns(at.x), a.nsPerPixel());
    if (!span || (steps && !steps->isRevealed({*track, *span})))
        return std::nullopt;
    const auto length = static_cast<double>(model().trace().tracks[*track].durationNs[*span]);
    return length >= a.nsPerPixel() * static_cast<double>(kPointedSpan) ? std::optional(SpanRef{*track, *span}) : std::nullopt;
}

std::optional<TimelineWait> TimelineScene::waitUnder(Point at) const
{
    if (steps || at.x < frame.rows.left) // while actions are revealed one by one, what is not there yet is no wait
        return std::nullopt;
    const TimeAxis a = axis();
    const double left = a.ns(std::floor(at.x - a.left) + a.left);
    const std::int64_t begin = std::llround(left), end = std::llround(left + a.nsPerPixel());
    if (const RowGroup* group = groupUnder(at)) {
        const auto busy = model().shares(group->rows, std::array{begin, std::max(begin + 1, end)}).front();
        const bool isIdle = std::accumulate(busy.begin(), busy.end(), 0.0) < kWholeShare; // waits inside passes are theirs
        return isIdle ? model().longestWaitIn(group->rows, begin, end) : std::nullopt;
    }
    const auto track = trackUnder(at);
    if (!track)
        return std::nullopt;
    const int row = model().rowOf(*track);
    const sim::Track& of = model().trace().tracks[*track];
    if (of.role == sim::TrackRole::other) // a thread of the host, copies: nobody computes there
        return std::nullopt;
    const auto span = spanUnder(at);
    // On a lane of its own, or between what its rank computes.
    const bool overTransfer = of.role == sim::TrackRole::communication || (span && !model().computes(*span));
    const Rect lane = rows.laneOf(*track);
    const bool overFoot =
        !overTransfer && model().exposed(row) != nullptr && at.y >= lane.bottom - footOfWaits(lane.height()); // inside an action
    if (overTransfer != span.has_value() && !overFoot)
        return std::nullopt;
    // Where a pixel holds many passes and many waits, the longest.
    return model().longestWaitIn({row}, begin, end);
}

void TimelineScene::selectWait(const TimelineWait& of)
{
    selection.idle = {model().rankOf(of.gap.row, selection), of.gap.time, model().waitText(of)};
    selectedWait = of;
}

std::optional<Rect> TimelineScene::placeOfWait() const
{
    if (!wait)
        return std::nullopt;
    const TimeAxis a = axis();
    std::optional<Rect> place;
    const auto add = [&](const TimelineWait::Part& part) {
        const auto& [beginNs, endNs] = part.time;
        const Rect lane = rows.laneOf(model().rows()[static_cast<std::size_t>(part.row)].work);
        if (lane.height() <= 0)
            return;
        const float left = std::clamp(a.x(static_cast<double>(beginNs)), a.left, a.right);
        const float right = std::clamp(a.x(static_cast<double>(endNs)), a.left, a.right);
        place = place ? Rect{std::min(place->left, left), std::min(place->top, lane.top), std::max(place->right, right),
                             std::max(place->bottom, lane.bottom)}
                      : Rect{left, lane.top, right, lane.bottom};
    };
    add(wait->gap);
    for (const TimelineWait::Part& link : wait->links)
        add(link);
    return place;
}

const TimelineTarget* TimelineScene::targetUnder(Point at) const
{
    const auto found =
        std::find_if(targets.rbegin(), targets.rend(), [&](const TimelineTarget& t) { return t.rect.contains(at); });
    return found == targets.rend() ? nullptr : &*found;
}

std::optional<TimeRange> TimelineScene::timesOf(const std::optional<SpanRef>& span) const
{
    if (!span)
        return std::nullopt;
    return TimeRange{model().trace().tracks[span->track].startNs[span->span], model().endNs(*span)};
}

void TimelineScene::keepInSight(TimeRange time, int row)
{
    window.keepInSight(time);
    rows.keepInSight(row);
}

void TimelineScene::showSelectedRank()
{
    if (std::exchange(shownRank, selection.selectedRank) == selection.selectedRank || !selection.selectedRank)
        return;
    if (const int row = model().rowOfRank(*selection.selectedRank); row >= 0)
        rows.keepInSight(row);
}

bool TimelineScene::zoomAt(float x, double factor)
{
    const TimeAxis a = axis();
    return window.zoom(factor, std::clamp(static_cast<double>((x - a.left) / (a.right - a.left)), 0.0, 1.0));
}

Becauses TimelineScene::becauseOfRow(int row) const
{
    if (row < 0 || !hasBecause(row))
        return {};
    const int rank = model().trace().processes[static_cast<std::size_t>(row)].rank;
    Becauses out = becauseOfTime(model().step(), rank);
    out.push_back(becauseOfMemory(model().step(), rank).front());
    return out;
}

Becauses TimelineScene::becauseOfStep() const
{
    if (!hasBecause(0))
        return {};
    return {{"", [step = model().step()] { return sim::explain(*step, sim::MetricId::stepTime); }}};
}

Becauses TimelineScene::becauseOfSpan(SpanRef span) const
{
    const sim::Trace& of = model().trace();
    if (span.track >= of.tracks.size() || span.span >= of.tracks[span.track].size() || !hasBecause(of.tracks[span.track].process))
        return {};
    return {{"", [step = model().step(), shown = model().tracePtr(), span] {
                 return sim::explainSpan(*step, *shown, span.track, span.span);
             }}};
}

Becauses TimelineScene::becauseOf(std::optional<Point> at) const
{
    if (!trace)
        return {};
    if (const RangeStatistics* range = rangeStatistics(); range != nullptr && !at && !selection.selectedSpan)
        return becauseOfRange(model(), *range);
    const auto span = at ? spanUnder(*at) : spanInFocus();
    if (span)
        return becauseOfSpan(*span);
    return becauseOfRow(!at ? focusRow() : at->x < frame.rows.left ? rowUnder(*at) : -1); // beside spans it is idle
}

} // namespace app
