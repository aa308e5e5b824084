// Memory: what each pipeline rank holds at its peak against its GPU's, and what one of them holds over the step.
#pragma once

#include "app/views/selection.h"
#include "app/views/step_view.h"

#include <memory>

namespace app {

class MemoryView : public StepView {
public:
    MemoryView(Selection& selection, const Theme& theme);
    ~MemoryView() override;
    void setStep(SimulationPtr, TracePtr) override;
    void setTheme(const Theme&) override;

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
