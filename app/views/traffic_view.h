// Who sends how much to whom: a matrix of bytes, a diagram of nodes and their links, the load of each tier over time. Chips at
// the top choose; next and previous go through the three, zooming in the matrix through its levels.
#pragma once

#include "app/views/selection.h"
#include "app/views/step_view.h"
#include "app/views/theme.h"

#include "sim/analysis/explain.h"

#include <functional>
#include <memory>

namespace app {

class TrafficView : public StepView {
public:
    TrafficView(Selection& selection, const Theme& theme);
    ~TrafficView() override;
    void setStep(SimulationPtr, TracePtr) override;
    void setTheme(const Theme&) override;

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;

    /// Called where somebody asks where bytes come from, with the place in the picture: a click on an equals sign, the other
    /// button on a cell, a link or a purpose, the key.
    using AskBecause = std::function<void(const sim::Explanation&, Rect at)>;
    void setAskBecause(AskBecause);

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
