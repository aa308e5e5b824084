// What a timeline view keeps, how it lies on the screen and how it moves. Private to TimelineView: the pointer has a file, the
// commands have one, what is computed once for many frames has one.
#pragma once

#include "app/views/timeline_painter.h"
#include "app/views/timeline_search.h"
#include "app/views/timeline_steps.h"
#include "app/views/timeline_view.h"
#include "app/views/view_history.h"

namespace app {

constexpr double kZoomStep = 1.25;  ///< a notch of the wheel or a key press
constexpr double kPanShare = 0.08;  ///< of the window, a notch or key press
constexpr float kScrollPixels = 48; ///< a notch or key press

struct TimelineView::Data {
    enum class Drag : std::uint8_t { none, pressed, target, range, cursor, pan, zoom, overview, scroll };

    Selection& selection;
    Theme theme;
    std::unique_ptr<TimelineModel> model;
    std::optional<TimelineSteps> steps; ///< refers to the model
    TimeWindow window;
    std::optional<TimeRange> wantedRange; ///< to show once there is a trace
    ViewHistory<TimeWindow> history;
    TimeRange axisNs; ///< at least
    Around around;
    bool dense = false;
    TimelineMarks marks;

    // Rows.
    RowWishes wishes;
    std::vector<RowFacts> facts;
    RowArrangement arrangement;
    std::vector<int> selectedRows; ///< of several selected ranks; empty where these are all rows
    std::vector<int> arrangedFor;  ///< the ranks selected then
    RowStack stack;
    float scrollY = 0;
    Rect laidOutFor{};
    bool stale = true;

    // What takes longer than a frame may, kept until what it depends on changes.
    TimelineColors colors;
    std::vector<float> opacityOfKind;
    std::optional<std::pair<ClassMask, bool>> coloredFor; ///< classes that count, others lit
    ShareColumns overview;
    std::vector<ShareColumns> strips;
    TimeWindow stripsOf;
    std::optional<RangeStatistics> range;
    ClassMask rangeClasses = kAllClasses;
    bool pathShown = false;
    std::optional<sim::CriticalPath> path;
    SpanSet pathSpans, foundSpans;
    std::string searchText;
    std::optional<SpanSearch> search;    ///< refers to the model
    std::vector<TimelineTarget> targets; ///< of the picture drawn last

    // The pointer.
    Point pointerAt{}, pressedAt{};
    bool pointerInside = false;
    Drag drag = Drag::none;
    std::optional<TimelineTarget> pressedTarget;
    TimeWindow draggedFrom;
    float draggedScroll = 0;
    std::optional<TimeRange> zoomBox;
    bool framed = false; ///< the last F framed the selection: the next one shows all

    Data(Selection& s, const Theme& t) : selection(s), theme(t) {}

    // Layout.
    TimelineFrame frame() const { return frameOf(laidOutFor); }
    TimelineFrame frameOf(Rect area) const;
    TimelineScene scene();
    TimeAxis axis() const;
    void prepare(Rect area);
    void arrange();
    void prepareOverview();
    void prepareStrips();
    void prepareColors();
    void prepareRange();
    void preparePath();
    void prepareSearch();
    std::string foundText() const;
    void clampScroll();
    void setTrace(SimulationPtr, TracePtr);
    void dropStale();

    // What lies where.
    TimeRange columnAt(float x) const;
    std::int64_t timeAt(float x) const; ///< within the trace
    int lineUnder(Point) const;
    int rowUnder(Point) const; ///< -1: none, or the header of a group
    std::optional<std::uint32_t> trackUnder(Point) const;
    std::optional<SpanRef> spanUnder(Point) const;
    const TimelineTarget* targetUnder(Point) const;
    std::string tooltip() const;
    CursorShape cursor() const;

    // The window and the rows in it.
    TimeWindow wholeWindow() const;
    bool show(const TimeWindow&, bool continued = false);
    bool zoomAt(Point, double factor);
    bool pan(double shares) { return show(window.moved(window.span() * shares), true); }
    bool scrollBy(float pixels);
    bool overviewTo(float x);
    bool scrollTo(float y);
    bool keepCursorInSight();
    void keepInSight(SpanRef);
    std::optional<TimeRange> timesOf(const std::optional<SpanRef>&) const;
    const std::optional<SpanRef>& spanInFocus() const
    {
        return selection.selectedSpan ? selection.selectedSpan : selection.hoveredSpan;
    }
    bool focusSelection();
    void setRows(RowWishes);
    bool togglePin(int row);
    bool nextGrouping();
    bool nextSort();
    bool toggleFilter();
    void changeMarks() { stale = true; }

    // The pointer.
    bool pointer(const PointerEvent&);
    bool hover(Point);
    bool unhover();
    void click(const PointerEvent&);
    bool press(const PointerEvent&);
    bool move(const PointerEvent&);
    bool release(const PointerEvent&);
    bool wheel(const PointerEvent&);
    bool use(const TimelineTarget&, bool alone);
    bool toggleClass(sim::OpClass, bool alone);
    bool setCursor(float x);
    void dragRange(float x);

    // Commands.
    bool command(ViewCommand, bool fast);
    bool step(std::ptrdiff_t by);
    bool stepThrough(std::ptrdiff_t by);
    void showStep();
    bool select(SpanRef);
    bool follow(bool forward);
    bool findNext(bool backwards);
    bool mark();
    bool keepRange();
    bool addOrRemove(TimeRange, const std::string& label);
    bool clear();
};

} // namespace app
