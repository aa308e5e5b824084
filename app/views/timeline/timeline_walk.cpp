#include "app/views/timeline/timeline_walk.h"

#include "app/views/timeline/timeline_dependencies.h"

#include <cmath>

namespace app {
namespace {

constexpr double kLeastWait = 2;                        ///< pixels of one that is walked to: what is in sight
constexpr double kLeastAction = 24, kWantedAction = 40; ///< pixels of one that is told about: "F12" and air; and where it is less

/// Several selected ranks stay selected while one looks at what is theirs.
void selectRankOf(TimelineScene& scene, int row)
{
    Selection& selection = scene.selection;
    const int rank = scene.model().rankOf(row, selection);
    if (selection.contains(rank))
        selection.selectedRank = rank;
    else
        selection.selectRank(rank);
}

bool select(TimelineScene& scene, SpanRef next)
{
    Selection& selection = scene.selection;
    const bool changed = selection.selectedSpan != next;
    selection.selectSpan(next);
    selectRankOf(scene, scene.model().rowOf(next.track));
    scene.keepInSight(next);
    return changed;
}

void select(TimelineScene& scene, const TimelineWait& wait)
{
    scene.selection.selectSpan(std::nullopt);
    selectRankOf(scene, wait.gap.row);
    scene.selectWait(wait);
    scene.wait.reset(); // it is looked at now, not what the pointer happens to rest on
    scene.keepInSight(wait.gap.time, wait.gap.row);
}

bool walkSteps(TimelineScene& scene, std::ptrdiff_t by)
{
    TimelineSteps& steps = *scene.steps;
    const std::size_t before = steps.current();
    const auto last = std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(steps.count()) - 1, 0);
    steps.goTo(static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(before) + by, 0, last)));
    walkToStep(scene);
    return steps.current() != before;
}

/// Where a walk begins when no span is selected: the first in sight of the rank in focus.
std::optional<SpanRef> firstSpan(const TimelineScene& scene)
{
    const TimelineModel& model = scene.model();
    const auto focused = scene.selection.focusRank();
    const int row = focused ? std::max(0, model.rowOfRank(*focused)) : 0;
    if (model.rows().empty() || model.rows()[static_cast<std::size_t>(row)].tracks.empty())
        return std::nullopt;
    const std::uint32_t track = model.rows()[static_cast<std::size_t>(row)].tracks.front();
    const TimeWindow& window = scene.window.now();
    const auto span = model.spanAt(track, window.beginNs, window.limitNs());
    return span ? std::optional(SpanRef{track, *span}) : std::nullopt;
}

} // namespace

void walkToStep(TimelineScene& scene)
{
    if (const auto now = scene.steps->now()) {
        scene.selection.selectSpan(now);
        scene.selection.cursorNs = scene.model().trace().tracks[now->track].startNs[now->span];
        const TimeRange own = *scene.timesOf(now);
        const std::int64_t length = own.endNs - own.beginNs;
        const TimeRange around{std::max<std::int64_t>(0, own.beginNs - length),
                               std::min(own.endNs + length, scene.model().trace().endNs)};
        if (static_cast<double>(around.endNs - around.beginNs) <= scene.window.now().span())
            scene.window.keepInSight(around);
        scene.keepInSight(*now);
    }
}

void frameSteps(TimelineScene& scene)
{
    scene.framesSteps = false;
    const TimeWindow& seen = scene.window.now();
    const auto width = static_cast<double>(scene.frame.rows.width());
    const auto shortest = static_cast<double>(scene.steps ? scene.steps->shortActionNs() : 0);
    if (width <= 0 || shortest <= 0 || shortest / seen.span() * width >= kLeastAction)
        return;
    const TimeWindow before = seen;
    if (scene.window.zoom(seen.span() * kWantedAction / (shortest * width), 0)) {
        scene.beforeSteps = before;
        scene.stepsSpanNs = scene.window.now().span();
    }
}

void leaveSteps(TimelineScene& scene)
{
    scene.framesSteps = false;
    constexpr double kSame = 1e-6; // moves round
    if (scene.beforeSteps && std::abs(scene.window.now().span() - scene.stepsSpanNs) <= kSame * scene.stepsSpanNs)
        scene.window.show(*scene.beforeSteps);
    scene.beforeSteps.reset();
}

bool walk(TimelineScene& scene, std::ptrdiff_t by)
{
    if (scene.steps)
        return walkSteps(scene, by);
    if (!scene.selection.selectedSpan) {
        const auto first = firstSpan(scene);
        return first && select(scene, *first);
    }
    SpanRef next = *scene.selection.selectedSpan;
    const auto size = static_cast<std::ptrdiff_t>(scene.model().trace().tracks[next.track].size());
    const std::ptrdiff_t direction = by < 0 ? -1 : 1;
    std::ptrdiff_t left = std::abs(by);
    for (std::ptrdiff_t span = static_cast<std::ptrdiff_t>(next.span) + direction; left > 0 && span >= 0 && span < size;
         span += direction)
        if (scene.selection.shows(scene.model().opClass(next.track, static_cast<std::size_t>(span)))) {
            next.span = static_cast<std::uint32_t>(span);
            --left;
        }
    return select(scene, next);
}

bool walkToWait(TimelineScene& scene, bool backwards)
{
    Selection& selection = scene.selection;
    const TimelineModel& model = scene.model();
    if (scene.steps || model.rows().empty())
        return false;
    const TimeRange seen = scene.window.range();
    TimeRange from{seen.endNs, seen.beginNs}; // the first in sight, or the last
    int row = std::max(0, scene.focusRow());
    if (selection.idle) {
        row = model.rowOfRank(selection.idle->rank);
        from = selection.idle->time;
    } else if (selection.selectedSpan) {
        row = model.rowOf(selection.selectedSpan->track);
        from = *scene.timesOf(selection.selectedSpan);
    }
    if (row < 0)
        return false;
    const auto least = static_cast<std::int64_t>(std::ceil(scene.axis().nsPerPixel() * kLeastWait));
    const auto wait = model.waitBeside(row, backwards ? from.beginNs : from.endNs, backwards, std::max<std::int64_t>(1, least));
    if (!wait)
        return false;
    select(scene, *wait);
    return true;
}

bool walkToLongestWait(TimelineScene& scene)
{
    if (scene.steps)
        return false;
    const auto wait = scene.model().longestWaitIn(scene.model().allRows(), 0, scene.model().trace().endNs);
    if (wait)
        select(scene, *wait);
    return wait.has_value();
}

bool walkToDependency(TimelineScene& scene, bool forward)
{
    const auto span = scene.spanInFocus();
    if (!span)
        return false;
    const TimelineModel& model = scene.model();
    std::optional<SpanRef> best;
    const auto startNs = [&](SpanRef ref) { return model.trace().tracks[ref.track].startNs[ref.span]; };
    for (const Dependency& d : dependenciesOf(model, *span)) {
        const SpanRef other = forward ? d.to : d.from;
        if (other == *span || !scene.selection.shows(model.opClass(other.track, other.span)))
            continue;
        if (!best || (forward ? startNs(other) < startNs(*best) : model.endNs(other) > model.endNs(*best)))
            best = other;
    }
    return best && select(scene, *best);
}

bool walkToMatch(TimelineScene& scene, bool backwards)
{
    const SpanSearch* search = scene.search();
    const auto place = search != nullptr ? search->nextTo(scene.selection.selectedSpan, backwards) : std::nullopt;
    if (!place)
        return false;
    select(scene, search->found()[*place]);
    return true;
}

} // namespace app
