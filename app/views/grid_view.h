// The rank grid: every rank a cell in nested boxes of its axes; hovering one lights up its process groups.
#pragma once

#include "app/views/grid_painter.h"
#include "app/views/selection.h"
#include "app/views/step_view.h"

#include <memory>

namespace app {

class GridView : public StepView {
public:
    GridView(Selection& selection, const Theme& theme);
    ~GridView() override;
    void setStep(SimulationPtr, TracePtr) override;
    /// What the ranks of a live run hold and do, by rank, in place of what was predicted; empty: as predicted. O(ranks).
    void setNow(std::vector<RankNow>);
    void setTheme(const Theme&) override;
    /// What is said below "No ranks yet".
    void setHint(std::string);

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
