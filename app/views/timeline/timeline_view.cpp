#include "app/views/timeline/timeline_view.h"

#include "app/views/common/labels.h"
#include "app/views/common/measures.h"
#include "app/views/timeline/timeline_commands.h"
#include "app/views/timeline/timeline_painter.h"
#include "app/views/timeline/timeline_pointer.h"
#include "app/views/timeline/timeline_walk.h"

#include <algorithm>
#include <utility>

namespace app {

struct TimelineView::Data {
    TimelineScene scene;
    TimelinePointer pointer{scene};
    Data(Selection& s, const Theme& t, TimeZoom* zoom) : scene(s, t, zoom) {}
};

TimelineView::TimelineView(Selection& selection, const Theme& theme, TimeZoom* zoom)
    : m_data(std::make_unique<Data>(selection, theme, zoom))
{
}
TimelineView::~TimelineView() = default;

PictureModelPtr TimelineView::prepare(const ShownStep& step)
{
    return step.trace ? std::make_shared<PreparedTrace>(step) : nullptr;
}

void TimelineView::take(const ShownStep& step, PictureModelPtr prepared)
{
    m_data->scene.setTrace(std::static_pointer_cast<PreparedTrace>(prepared ? std::move(prepared) : prepare(step)));
    m_data->pointer.letGo();
}

void TimelineView::setTheme(const Theme& theme)
{
    m_data->scene.theme = theme;
    if (m_data->scene.trace)
        m_data->scene.trace->forgetColors();
}

void TimelineView::setStepping(bool on)
{
    TimelineScene& scene = m_data->scene;
    if (on == scene.steps.has_value() || !scene.trace)
        return;
    scene.steps.reset();
    scene.selection.selectSpan(std::nullopt);
    scene.selection.hoveredSpan.reset();
    if (on) {
        scene.steps.emplace(scene.model());
        if (scene.selection.cursorNs < scene.model().trace().endNs) // what has been played to its end begins anew
            scene.steps->goToMoment(scene.selection.cursorNs);
        scene.framesSteps = true;
        if (scene.rows.timesPlaced() > 0) {
            scene.prepare(scene.area); // the story takes room
            frameSteps(scene);
        }
        walkToStep(scene);
    } else {
        leaveSteps(scene);
    }
}

bool TimelineView::isStepping() const
{
    return m_data->scene.steps.has_value();
}

bool TimelineView::stepToCursor()
{
    TimelineScene& scene = m_data->scene;
    if (!scene.steps || !scene.steps->goToMoment(scene.selection.cursorNs))
        return false;
    scene.selection.selectSpan(scene.steps->now());
    return true;
}

TimeRange TimelineView::visibleRange() const
{
    return m_data->scene.window.range();
}

void TimelineView::setVisibleRange(TimeRange range)
{
    m_data->scene.window.setRange(range);
}

bool TimelineView::keepCursorInSight()
{
    return m_data->scene.window.follow(m_data->scene.selection.cursorNs);
}

TimelineState TimelineView::state() const
{
    const TimelineScene& scene = m_data->scene;
    return {
        .visible = scene.window.kept(), .marks = scene.marks.all(), .rows = scene.rows.wishes(), .criticalPath = scene.pathShown};
}

void TimelineView::setState(const TimelineState& state)
{
    TimelineScene& scene = m_data->scene;
    scene.window.restore(state.visible);
    scene.marks.set(state.marks);
    scene.rows.setWishes(state.rows);
    scene.pathShown = state.criticalPath;
}

const std::vector<TimelineMark>& TimelineView::marks() const
{
    return m_data->scene.marks.all();
}

int TimelineView::addMark(TimeRange range, std::string label)
{
    return m_data->scene.marks.add(range, std::move(label));
}

bool TimelineView::renameMark(int number, std::string label)
{
    return m_data->scene.marks.rename(number, std::move(label));
}

const RowWishes& TimelineView::rows() const
{
    return m_data->scene.rows.wishes();
}

void TimelineView::setRows(RowWishes wishes)
{
    m_data->scene.rows.setWishes(std::move(wishes));
}

void TimelineView::setRowFilter(RowFilter filter)
{
    RowWishes wishes = rows();
    wishes.filter = filter;
    setRows(std::move(wishes));
}

void TimelineView::setCriticalPathShown(bool shown)
{
    m_data->scene.pathShown = shown;
}

const sim::CriticalPath* TimelineView::criticalPath() const
{
    const PreparedTrace::Path* path = m_data->scene.criticalPath();
    return path != nullptr ? &path->path : nullptr;
}

std::optional<RangeStatistics> TimelineView::rangeStatistics() const
{
    const RangeStatistics* statistics = m_data->scene.rangeStatistics();
    return statistics != nullptr ? std::optional(*statistics) : std::nullopt;
}

Table TimelineView::rangeTable() const
{
    const RangeStatistics* statistics = m_data->scene.rangeStatistics();
    return statistics != nullptr ? tableOf(*statistics, m_data->scene.model()) : Table{};
}

std::size_t TimelineView::find(std::string_view text)
{
    m_data->scene.searchText = text;
    const SpanSearch* search = m_data->scene.search();
    return search != nullptr ? search->found().size() : 0;
}

bool TimelineView::findNext(bool backwards)
{
    return walkToMatch(m_data->scene, backwards);
}

void TimelineView::setAxis(TimeRange range)
{
    m_data->scene.window.setAxis(range);
}

void TimelineView::setOpacityOfKinds(std::vector<float> opacity)
{
    if (m_data->scene.trace)
        m_data->scene.trace->setOpacityOfKinds(std::move(opacity));
}

float TimelineView::scrolledBy() const
{
    return m_data->scene.rows.scrollY();
}

void TimelineView::setScrolledBy(float pixels)
{
    m_data->scene.rows.scrollTo(pixels);
}

void TimelineView::setSurroundings(Surroundings surroundings)
{
    m_data->scene.surroundings = surroundings;
}

void TimelineView::setDense(bool dense)
{
    m_data->scene.dense = dense;
}

void TimelineView::Legend::add(const Legend& other)
{
    classes.insert(classes.end(), other.classes.begin(), other.classes.end());
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    bands.add(other.bands);
    if (names && other.names)
        names->joinWith(*other.names);
    else if (other.names)
        names = other.names;
}

TimelineView::Legend TimelineView::legend() const
{
    const TimelineScene& scene = m_data->scene;
    return scene.trace ? Legend{scene.model().classesPresent(), scene.model().bands(), scene.model().classNames()} : Legend{};
}

void TimelineView::setLegend(Legend of)
{
    m_data->scene.legend = std::move(of);
}

float TimelineView::drawLegend(Canvas& canvas, Rect area)
{
    TimelineScene& scene = m_data->scene;
    scene.numbers = &numbers();
    const float width = scene.trace ? paintLegend(canvas, scene, area) : 0;
    scene.numbers = nullptr;
    return width > 0 ? width + kMargin : 0;
}

std::string TimelineView::title() const
{
    return "Timeline";
}

void TimelineView::draw(Canvas& canvas)
{
    TimelineScene& scene = m_data->scene;
    scene.targets.clear();
    if (!scene.trace || scene.model().rows().empty()) {
        drawEmpty(canvas, scene.theme, "No trace yet", hint());
        return;
    }
    scene.surroundings.isForAudience = isForAudience();
    scene.surroundings.magnification = magnification();
    constexpr float kRoomForLegend = 200; // of some lines, and rows below them
    const float roomForLines = isForAudience() ? kLowTimeline : kRoomForLegend;
    scene.wantedLegendLines =
        canvas.area().height() < roomForLines || !scene.surroundings.legend ? 1 : legendLines(canvas, scene);
    // It does not shrink again while the view keeps its size: rows would jump from step to step.
    const float story =
        std::max(storyHeight(canvas, scene), scene.steps && canvas.area() == scene.area ? scene.storyHeight : 0.0F);
    const bool movesRows = std::exchange(scene.storyHeight, story) != story;
    scene.prepare(canvas.area());
    scene.showSelectedRank();
    if (scene.framesSteps) {
        frameSteps(scene);
        walkToStep(scene);
    }
    if (scene.steps && movesRows && scene.steps->now())
        scene.rows.keepInSight(scene.model().rowOf(scene.steps->now()->track));
    beginNumbers(m_data->pointer.at());
    scene.numbers = &numbers();
    paintTimeline(canvas, scene);
    scene.numbers = nullptr;
}

Becauses TimelineView::becauseOf(std::optional<Point> at) const
{
    return m_data->scene.becauseOf(at);
}

bool TimelineView::pointer(const PointerEvent& event, Rect area)
{
    if (!m_data->scene.trace)
        return false;
    m_data->scene.prepare(area);
    const bool wasOnNumber = isNumberAt(m_data->pointer.at());
    if (event.kind == PointerEvent::Kind::press && event.button == PointerButton::left && askNumber(event.at))
        return false;
    const bool changed = m_data->pointer.handle(event);
    m_data->scene.shownRank = m_data->scene.selection.selectedRank; // its row was pointed at, and stays where it is
    return changed || wasOnNumber != isNumberAt(m_data->pointer.at());
}

bool TimelineView::command(ViewCommand command, bool fast, Rect area)
{
    if (!m_data->scene.trace)
        return false;
    m_data->scene.prepare(area);
    if (command == ViewCommand::because) {
        askBecause(m_data->pointer.at(), m_data->scene.frame.rows);
        return false;
    }
    const bool changed = runCommand(m_data->scene, command, fast, m_data->pointer.at());
    m_data->scene.prepare(area); // rows may lie elsewhere now
    return m_data->pointer.forgetWaitThatLeft() || changed;
}

CursorShape TimelineView::cursor() const
{
    return isNumberAt(m_data->pointer.at()) ? CursorShape::pointingHand : m_data->pointer.cursor();
}

std::optional<Rect> TimelineView::tooltipKeepsClearOf() const
{
    return m_data->scene.trace ? m_data->scene.placeOfWait() : std::nullopt;
}

std::string TimelineView::tooltip() const
{
    const auto at = m_data->pointer.at();
    if (isNumberAt(at))
        return kAskNumber;
    std::string text = m_data->pointer.tooltip();
    const bool hasWhy = !text.empty() && at && m_data->scene.targetUnder(*at) == nullptr && !m_data->scene.becauseOf(at).empty();
    return hasWhy ? text + askHint() : text;
}

/// A span is called by its class: which collective it is, or what is waited for, may be what is asked.
std::string TimelineView::tooltipName() const
{
    const TimelineScene& scene = m_data->scene;
    if (!scene.trace || tooltip().empty())
        return {};
    if (const auto& span = scene.selection.hoveredSpan)
        return scene.model().className(scene.model().opClass(span->track, span->span));
    return scene.wait ? "waiting" : View::tooltipName();
}

} // namespace app
