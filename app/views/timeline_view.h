// The timeline: one row a pipeline rank (or rank), spans by op class; honest density when zoomed out, kernels when zoomed in.
#pragma once

#include "app/views/selection.h"
#include "app/views/step_view.h"

#include <memory>

namespace app {

class TimelineView : public StepView {
public:
    TimelineView(Selection& selection, const Theme& theme);
    ~TimelineView() override;
    /// Any trace. The simulation tells which rank a row stands for when it is one of many; may be nullptr.
    void setStep(SimulationPtr, TracePtr) override;
    void setTheme(const Theme&) override;
    /// Actions are revealed one by one, with next and previous, and told about.
    void setStepping(bool);
    bool isStepping() const;
    TimeRange visibleRange() const;
    void setVisibleRange(TimeRange);
    /// The time axis begins and ends at least there: as far as that of a trace beside it. It never begins after 0.
    void setAxis(TimeRange);
    /// Spans of a kind keep that share of their colour, 0 to 1; kinds beyond the list all of it. Until the next step.
    void setOpacityOfKinds(std::vector<float>);
    /// Rows that are scrolled out of sight above, in pixels.
    float scrolledBy() const;
    void setScrolledBy(float);
    /// What stands around the rows: the colours in use, times, the memory of one rank, the whole trace in small.
    struct Around {
        bool legend = true, ruler = true, memory = true, overview = true;
        bool operator==(const Around&) const = default;
    };
    void setAround(Around);
    /// Rows may become as low as text can be before they scroll.
    void setDense(bool);
    /// The colours in use, or what the selected range holds, at the right of some other place. Returns the width that it took.
    float drawLegend(Canvas&, Rect) const;

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
