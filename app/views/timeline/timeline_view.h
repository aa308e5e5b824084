// The timeline: one row a pipeline rank (or rank), spans by op class; honest density when zoomed out, kernels when zoomed in.
#pragma once

#include "app/step/selection.h"
#include "app/step/time_zoom.h"
#include "app/step/timeline_state.h"
#include "app/views/common/step_view.h"
#include "app/views/timeline/range_statistics.h"
#include "app/views/timeline/span_bands.h"

#include <memory>
#include <string_view>

namespace sim {
struct CriticalPath;
}

namespace app {

class TimelineView : public StepView {
public:
    /// `zoom`: of the time axis, shared with other pictures; it is told of another trace by its owner. Without it the view has
    /// its own.
    TimelineView(Selection& selection, const Theme& theme, TimeZoom* zoom = nullptr);
    ~TimelineView() override;
    /// Any trace: the simulation, if there is one, tells which rank a row stands for when it is one of many.
    static PictureModelPtr prepare(const ShownStep&);
    void setTheme(const Theme&) override;
    /// Actions are revealed one by one, with next and previous, and told about.
    void setStepping(bool);
    bool isStepping() const;
    /// The action that is told about is the one at the time cursor, whoever moved that: a film, a slider. False: it was.
    bool stepToCursor();

    TimeRange visibleRange() const;
    void setVisibleRange(TimeRange);
    /// Moves the window on when the time cursor has left it, or is about to: for playing.
    bool keepCursorInSight();

    /// What a scenario file keeps. A range that is set before there is a trace waits for it.
    TimelineState state() const;
    void setState(const TimelineState&);

    const std::vector<TimelineMark>& marks() const;
    /// Returns its number. Marks stay when the trace changes.
    int addMark(TimeRange, std::string label = {});
    bool renameMark(int number, std::string label);

    const RowWishes& rows() const;
    void setRows(RowWishes);
    void setRowFilter(RowFilter);

    void setCriticalPathShown(bool);
    /// nullptr while it is not shown.
    const sim::CriticalPath* criticalPath() const;

    /// Of the selected range; nothing where none is.
    std::optional<RangeStatistics> rangeStatistics() const;
    /// A line a row; empty where no range is selected.
    Table rangeTable() const;

    /// Lights all spans that are called so, and says how many; see SpanSearch. An empty text ends the search.
    std::size_t find(std::string_view text);
    /// Selects the next match after the selected span, and shows it. False: there is none.
    bool findNext(bool backwards = false);

    /// The time axis begins and ends at least there: as far as that of a trace beside it. It never begins after 0.
    void setAxis(TimeRange);
    /// Spans of a kind keep that share of their colour, 0 to 1; kinds beyond the list all of it. Until the next step.
    void setOpacityOfKinds(std::vector<float>);
    /// Rows that are scrolled out of sight above, in pixels.
    float scrolledBy() const;
    void setScrolledBy(float);
    /// What stands around the rows: the colours in use, times, the memory of one rank, the whole trace in small.
    struct Surroundings {
        bool legend = true, ruler = true, memory = true, overview = true;
        bool isForAudience = false; ///< nothing to click; where there is no room for both, the legend, not how long the step is
        float magnification = 1;    ///< pixels that one is seen as
        bool operator==(const Surroundings&) const = default;
    };
    void setSurroundings(Surroundings);
    /// Rows may become as low as text can be where then none has to be scrolled to.
    void setDense(bool);
    /// What the legend explains: the classes of spans, and what bands along their tops mean.
    struct Legend {
        std::vector<sim::OpClass> classes; ///< in their order
        SpanBands bands;
        std::optional<ClassNames> names; ///< of the classes
        void add(const Legend&);
    };
    Legend legend() const;     ///< of its own trace
    void setLegend(Legend of); ///< of all that are drawn beside it, too
    /// The colours in use, or what the selected range holds, at the right of some other place. Returns the width that it took,
    /// with the room to what stands before it.
    float drawLegend(Canvas&, Rect);

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;
    std::string tooltipName() const override;
    std::optional<Rect> tooltipKeepsClearOf() const override;

protected:
    void take(const ShownStep&, PictureModelPtr) override;
    Becauses becauseOf(std::optional<Point>) const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
