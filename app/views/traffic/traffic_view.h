// Who sends how much to whom: a matrix of bytes, a diagram of nodes and their links, the load of each tier over time. Chips at
// the top choose; next and previous go through the three, zooming in the matrix through its levels.
#pragma once

#include "app/step/selection.h"
#include "app/step/time_zoom.h"
#include "app/views/common/step_view.h"
#include "app/views/common/theme.h"

#include "sim/analysis/explain/explain.h"

#include <functional>
#include <memory>

namespace app {

class TrafficView : public StepView {
public:
    /// `zoom`: of the time axis, shared with other pictures; it is told of another trace by its owner. Without it the view has
    /// its own.
    TrafficView(Selection& selection, const Theme& theme, TimeZoom* zoom = nullptr);
    ~TrafficView() override;
    static PictureModelPtr prepare(const ShownStep&); ///< nullptr without a simulation
    void setTheme(const Theme&) override;
    bool showNow() override; ///< what is under way, in the diagram; the load over time has the cursor itself
    int mode() const override;

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

protected:
    void take(const ShownStep&, PictureModelPtr) override;
    Becauses becauseOf(std::optional<Point>) const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
