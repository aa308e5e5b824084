#include "app/views/timeline/timeline_commands.h"

#include "app/views/timeline/timeline_dependencies.h"
#include "app/views/timeline/timeline_walk.h"

#include <cmath>

namespace app {
namespace {

bool addOrRemoveMark(TimelineMarks& marks, TimeRange times, const std::string& label = {})
{
    if (const auto number = marks.at(times))
        return marks.remove(*number);
    marks.add(times, label);
    return true;
}

/// The range if one is selected, else the time cursor, else the time under the pointer; again takes it away.
bool mark(TimelineScene& scene, std::optional<Point> pointer)
{
    const Selection& selection = scene.selection;
    if (selection.range)
        return addOrRemoveMark(scene.marks, *selection.range);
    if (selection.cursorNs <= 0 && (!pointer || !scene.frame.rows.contains(*pointer)))
        return false;
    const std::int64_t time = selection.cursorNs > 0 ? selection.cursorNs : scene.timeAt(pointer->x);
    return addOrRemoveMark(scene.marks, {time, time});
}

/// The range, or that of the span in focus, with its name.
bool keepRange(TimelineScene& scene)
{
    if (scene.selection.range)
        return addOrRemoveMark(scene.marks, *scene.selection.range);
    const auto span = scene.spanInFocus();
    return span && addOrRemoveMark(scene.marks, *scene.timesOf(span), scene.model().nameBeside(*span, -1));
}

bool selectRangeOfSpan(TimelineScene& scene)
{
    const auto times = scene.timesOf(scene.spanInFocus());
    if (times)
        scene.selection.range = times;
    return times.has_value();
}

bool clear(TimelineScene& scene)
{
    Selection& selection = scene.selection;
    const Selection before = selection;
    const bool searched = !std::exchange(scene.searchText, {}).empty();
    selection.clear();
    return searched || !(before == selection);
}

} // namespace

bool runCommand(TimelineScene& scene, ViewCommand command, bool fast, std::optional<Point> pointer)
{
    const Rect spans = scene.frame.rows;
    const bool pointsAtTime = pointer && pointer->x >= spans.left && pointer->x < spans.right;
    const float x = pointsAtTime ? pointer->x : (spans.left + spans.right) / 2;
    const int presses = fast ? kFastPresses : 1;
    switch (command) {
    case ViewCommand::zoomIn:
        return scene.zoomAt(x, std::pow(kZoomStep, presses));
    case ViewCommand::zoomOut:
        return scene.zoomAt(x, std::pow(kZoomStep, -presses));
    case ViewCommand::panLeft:
        return scene.steps ? walk(scene, -presses) : scene.window.pan(-kPanShare * presses);
    case ViewCommand::panRight:
        return scene.steps ? walk(scene, presses) : scene.window.pan(kPanShare * presses);
    case ViewCommand::panUp:
        return scene.rows.scrollBy(-kScrollPixels * static_cast<float>(presses));
    case ViewCommand::panDown:
        return scene.rows.scrollBy(kScrollPixels * static_cast<float>(presses));
    case ViewCommand::focusSelection:
        return scene.window.frameOrAll(scene.timesInFocus());
    case ViewCommand::fitAll:
        return scene.window.showAll();
    case ViewCommand::viewBack:
        return scene.window.back();
    case ViewCommand::viewForward:
        return scene.window.forward();
    case ViewCommand::next:
        return walk(scene, presses);
    case ViewCommand::previous:
        return walk(scene, -presses);
    case ViewCommand::followForward:
        return walkToDependency(scene, true);
    case ViewCommand::followBack:
        return walkToDependency(scene, false);
    case ViewCommand::nextWait:
        return walkToWait(scene, false);
    case ViewCommand::previousWait:
        return walkToWait(scene, true);
    case ViewCommand::longestWait:
        return walkToLongestWait(scene);
    case ViewCommand::nextMatch:
        return walkToMatch(scene, false);
    case ViewCommand::previousMatch:
        return walkToMatch(scene, true);
    case ViewCommand::mark:
        return mark(scene, pointer);
    case ViewCommand::keepRange:
        return keepRange(scene);
    case ViewCommand::rangeOfSpan:
        return selectRangeOfSpan(scene);
    case ViewCommand::pinRow:
        return scene.selection.focusRank() && scene.rows.togglePin(scene.model().rowOfRank(*scene.selection.focusRank()));
    case ViewCommand::groupRows:
        return scene.rows.nextGrouping();
    case ViewCommand::sortRows:
        return scene.rows.nextSort();
    case ViewCommand::filterRows:
        return scene.rows.toggleFilter();
    case ViewCommand::criticalPath:
        scene.pathShown = !scene.pathShown;
        return true;
    case ViewCommand::clear:
        return clear(scene);
    default:
        return false; // of other pictures
    }
}

} // namespace app
