// Memory: what each pipeline rank holds at its peak against its GPU's, and what one of them holds over the step.
#pragma once

#include "app/step/selection.h"
#include "app/step/time_zoom.h"
#include "app/views/common/step_view.h"

#include <memory>

namespace app {

class MemoryView : public StepView {
public:
    /// `zoom`: of the time axis, shared with other pictures; it is told of another trace by its owner. Without it the view has
    /// its own.
    MemoryView(Selection& selection, const Theme& theme, TimeZoom* zoom = nullptr);
    ~MemoryView() override;
    static PictureModelPtr prepare(const ShownStep&); ///< nullptr without a simulation
    void setTheme(const Theme&) override;

    /// The axes of bytes reach at least there: as far as those of a step that was seen before. 0: as this step needs.
    void setLeastBytes(std::int64_t);

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
