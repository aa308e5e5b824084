// What the rank grid shows, apart from where the pointer is: the step, its layout for an area, what the lens reads, ready to
// draw. Each part is made anew only when what it depends on has changed.
#pragma once

#include "app/step/grid_arrangement.h"
#include "app/views/grid/grid_camera.h"
#include "app/views/grid/grid_controls.h"
#include "app/views/grid/grid_groups.h"
#include "app/views/grid/grid_layout.h"
#include "app/views/grid/grid_lens.h"
#include "app/views/grid/grid_painter.h"

#include <memory>
#include <optional>

namespace app {

class GridModel {
public:
    /// Without instants they are made when a lens first asks, which takes its time; without a trace that too.
    void setStep(const ShownStep&);
    void setNow(std::vector<RankNow>);
    void setMeasured(std::vector<MeasuredRank>);
    bool setKnown(KnownGrid); ///< true: that is another
    void setLens(GridLens);
    void setArrangement(GridArrangement);
    /// Nobody can point or click there.
    void setOnlyTold(bool);

    const SimulationPtr& simulation() const { return m_step.simulation; }
    GridLens lens() const { return m_lens; }
    const KnownGrid& known() const { return m_known; }
    const GridArrangement& arrangement() const { return m_arrangement; }
    const GridLayout& layout() const { return m_layout; }
    const GridReading& reading() const { return m_reading; }
    const std::vector<std::uint8_t>& tones() const { return m_tones; }
    const std::vector<int>& processOf() const { return m_processOf; }
    const std::vector<RankNow>* live() const;
    const std::vector<MeasuredRank>* measured() const;
    /// Nothing while no lens has asked for it.
    const Instants* instants() const { return m_step.instants.get(); }
    /// Nothing of a run that is going on or was recorded.
    sim::WaitChains* waits();
    int ranks() const { return m_step.simulation ? m_step.simulation->mesh().worldSize() : 0; }
    GridChoices choices() const;

    GridFrame frame(Rect area) const { return GridFrame(area, m_isOnlyTold && m_lens != GridLens::groups); }
    /// Lays out for the area; true if that was anew.
    bool layOut(Rect area, GridCamera&);
    /// Reads the lens at the selection's cursor.
    void read(const Selection&);
    /// Groups of a rank, kept until another is asked for.
    const std::vector<LitGroup>& groupsOf(std::optional<int> rank);

private:
    GridPlan plan() const;
    GridPlan unnamedPlan() const; ///< by the layout's own names of its axes
    void prepareInstants();
    void placeProcesses();

    ShownStep m_step;
    std::optional<StepUse> m_use;
    std::unique_ptr<sim::WaitChains> m_waits; ///< of the step; made when first asked for
    std::vector<int> m_processOf;             ///< [rank]
    std::vector<RankNow> m_now;               ///< of a live run: as many as ranks, or none
    std::vector<MeasuredRank> m_measured;     ///< of a recorded run: likewise
    KnownGrid m_known;                        ///< of a recorded run: without axes and groups where it is not
    GridLens m_lens = GridLens::memory;
    GridArrangement m_arrangement;
    bool m_isOnlyTold = false;

    GridLayout m_layout;
    Rect m_laidOutFor{};
    bool m_layoutStale = true, m_readingStale = true, m_tonesStale = true;
    GridReading m_reading;
    std::int64_t m_readAtNs = 0;
    ClassMask m_readClasses = kAllClasses;
    std::vector<int> m_rankOfCell;     ///< by row and column, -1: none
    std::vector<std::uint8_t> m_tones; ///< by row and column

    std::optional<int> m_groupsOf;
    std::vector<LitGroup> m_groups;
};

} // namespace app
