// What a timeline shows, and what lies where in it. The pointer and the commands change it, painters read it; it knows none of
// them.
#pragma once

#include "app/step/time_zoom.h"
#include "app/views/common/because.h"
#include "app/views/timeline/prepared_trace.h"
#include "app/views/timeline/timeline_marks.h"
#include "app/views/timeline/timeline_steps.h"
#include "app/views/timeline/timeline_view.h"

namespace app {

inline constexpr double kWholeShare = 0.9995; ///< of a stretch of time: reads 100 %

/// Something drawn that answers to a click.
struct TimelineTarget {
    enum class Kind : std::uint8_t { opClass, filter, sort, grouping, pin, group, mark, none };
    Kind kind = Kind::opClass;
    int value = 0; ///< the class, row, group or mark
    Rect rect;
    std::string tip;
};

struct TimelineScene {
    Selection& selection;
    Theme theme;
    std::shared_ptr<PreparedTrace> trace; ///< nullptr: there is none
    std::optional<TimelineSteps> steps;   ///< of the trace; nothing: all actions are shown
    TimeZoom ownWindow;
    TimeZoom& window; ///< its own, or one that is shared
    RowPlacement rows;
    TimelineMarks marks;
    TimelineView::Surroundings surroundings;
    std::optional<TimelineView::Legend> legend; ///< nothing: of the trace alone
    int wantedLegendLines = 1;                  ///< that the colours in use take
    int legendLines = 1;                        ///< that they have
    float storyHeight = 0;                      ///< of the words on the present step
    std::optional<TimeWindow> beforeSteps;      ///< in sight before actions were revealed one by one, where that was too much
    double stepsSpanNs = 0;                     ///< that was chosen in its place
    bool framesSteps = false;                   ///< as soon as there is a place to
    bool dense = false, pathShown = false;
    std::string searchText;
    std::optional<TimeRange> zoomBox;            ///< dragged, to be zoomed to
    std::optional<TimelineWait> wait;            ///< of the idle time that is pointed at
    std::optional<TimelineWait> selectedWait;    ///< of the idle time that is selected, as long as it is
    std::optional<int> shownRank;                ///< the selected one whose row was brought into sight last
    Rect area{};                                 ///< drawn in last
    TimelineFrame frame{Rect{}};                 ///< of the area
    mutable std::vector<TimelineTarget> targets; ///< of the picture drawn last: told by painters
    DrawnNumbers* numbers = nullptr;             ///< what was written can be asked; nullptr: nothing

    TimelineScene(Selection& s, const Theme& t, TimeZoom* shared) : selection(s), theme(t), window(shared ? *shared : ownWindow)
    {
    }
    void setTrace(std::shared_ptr<PreparedTrace>);
    /// Call before anything that depends on places.
    void prepare(Rect area);
    /// What words on the present step may take and leave rows that can be read.
    float roomForStory(Rect area) const;

    // What there is to draw of the trace.
    const TimelineModel& model() const { return trace->model(); }
    double lengthNs() const { return static_cast<double>(model().trace().endNs); }
    int focusRow() const { return selection.focusRank() ? model().rowOfRank(*selection.focusRank()) : -1; }
    const TimelineColors& colors() const { return trace->colors(theme, selection.classes, lit() != nullptr); }
    const ShareColumns& overview() const { return trace->overview(frame.overview); }
    const ShareColumns& strip(std::size_t group) const { return trace->strip(rows, group, window.now()); }
    // nullptr: none is asked for, or there is no trace.
    const RangeStatistics* rangeStatistics() const;
    const PreparedTrace::Path* criticalPath() const { return trace && pathShown ? &trace->criticalPath() : nullptr; }
    const SpanSearch* search() const { return trace && !searchText.empty() ? &trace->find(searchText) : nullptr; }
    const SpanSet* lit() const; ///< while all others step back

    // What lies where.
    TimeAxis axis() const { return {window.now().beginNs, window.now().endNs, frame.rows.left, frame.rows.right}; }
    std::int64_t timeAt(float x) const;                  ///< within the trace
    TimeRange timesBetween(float x, float otherX) const; ///< the same, in order, not empty
    int lineUnder(Point) const;                          ///< -1: none
    int rowUnder(Point) const;                           ///< -1: none, or the header of a group
    const RowGroup* groupUnder(Point) const;             ///< whose header is there; nullptr: none's
    std::optional<std::uint32_t> trackUnder(Point) const;
    std::optional<SpanRef> spanUnder(Point) const;
    /// Why nothing is computed there: over idle time of a lane of work, and over a transfer for which a rank waits.
    std::optional<TimelineWait> waitUnder(Point) const;
    /// What is pointed at before what was selected.
    const std::optional<TimelineWait>& waitInFocus() const { return wait || !selection.idle ? wait : selectedWait; }
    void selectWait(const TimelineWait&);
    std::optional<Rect> placeOfWait() const;        ///< the rows that the way to what is waited for goes through
    const TimelineTarget* targetUnder(Point) const; ///< nullptr: none

    // What is in focus: a range before a span, what was clicked before what is pointed at.
    const std::optional<SpanRef>& spanInFocus() const
    {
        return selection.selectedSpan ? selection.selectedSpan : selection.hoveredSpan;
    }
    std::optional<TimeRange> timesOf(const std::optional<SpanRef>&) const;
    std::optional<TimeRange> timesInFocus() const { return selection.range ? selection.range : timesOf(spanInFocus()); }
    void keepInSight(TimeRange, int row);
    void keepInSight(SpanRef span) { keepInSight(*timesOf(span), model().rowOf(span.track)); }
    /// The row of a rank that was selected elsewhere; once, so that it can be scrolled away. Call when rows have their places.
    void showSelectedRank();
    bool zoomAt(float x, double factor);

    // Why; empty where the trace is of no simulation.
    bool hasBecause(int row) const { return model().isSimulated(row); }
    Becauses becauseOfRow(int row) const;
    Becauses becauseOfStep() const;
    /// Of the selected range, by what is to be said of it, when somebody asks.
    template <typename Of>
    GiveBecauses ofRange(Of of) const
    {
        return [kept = trace, range = selection.range, classes = selection.classes, of] {
            return range ? of(kept->model(), kept->statistics(*range, classes)) : Becauses{};
        };
    }
    Becauses becauseOfSpan(SpanRef) const;
    /// Of the span or row at a place; of nowhere: the range, span or row in focus.
    Becauses becauseOf(std::optional<Point>) const;

private:
    TimelineFrame::Parts parts(Rect area) const;
    /// Before an audience nobody scrolls: what stands around the rows gives way to them, and at last they are as low as they
    /// must be. Sets the frame; how low they may be in it.
    float fitToPage(float lowestRow);
};

} // namespace app
