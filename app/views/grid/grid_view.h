// The rank grid: every rank a cell, laid out by the mesh's axes or as the hardware lies, seen through one of seven lenses;
// hovering one lights up its process groups.
#pragma once

#include "app/step/grid_arrangement.h"
#include "app/step/selection.h"
#include "app/views/common/step_view.h"
#include "app/views/grid/grid_lens.h"

#include <functional>
#include <memory>

namespace app {

class GridView : public StepView {
public:
    GridView(Selection& selection, const Theme& theme);
    ~GridView() override;
    /// What the ranks of a live run hold and do, by rank, in place of what was predicted; empty: as predicted. O(ranks).
    void setNow(std::vector<RankNow>);
    /// What was measured of each rank of a recorded run, in place of what was predicted; empty: as predicted. O(ranks).
    void setMeasured(std::vector<MeasuredRank>);
    /// Of a recorded run. Where nobody knows how its ranks lie they are drawn in the order of their numbers, without axes and
    /// groups; an axis that nobody can name is told as such.
    void setKnown(KnownGrid);
    void setTheme(const Theme&) override;
    bool showNow() override; ///< with the lens of that name
    bool leaveNow() override;
    int mode() const override { return static_cast<int>(lens()); }

    void setLens(GridLens);
    GridLens lens() const;
    void setArrangement(GridArrangement);
    const GridArrangement& arrangement() const;
    /// False: cells jump to a new arrangement.
    void setAnimated(bool);
    /// In seconds from any moment on, for tests; by default the machine's.
    void setClock(std::function<double()>);

    std::string title() const override;
    void draw(Canvas&) override;
    bool pointer(const PointerEvent&, Rect area) override;
    bool command(ViewCommand, bool fast, Rect area) override;
    CursorShape cursor() const override;
    std::string tooltip() const override;
    bool animating() const override;

protected:
    void take(const ShownStep&, PictureModelPtr) override;
    Becauses becauseOf(std::optional<Point>) const override;

private:
    struct Data;
    std::unique_ptr<Data> m_data;
};

} // namespace app
