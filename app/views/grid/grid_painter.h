// Draws the rank grid: boxes, cells, rulers, and over them what grid_overlays and grid_caption add. Reads only; GridView moves
// things.
#pragma once

#include "app/views/common/because.h"

#include "app/step/selection.h"
#include "app/views/common/theme.h"
#include "app/views/grid/grid_groups.h"
#include "app/views/grid/grid_layout.h"
#include "app/views/grid/grid_lens.h"
#include "sim/analysis/wait_chain.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace app {

/// The view's area, divided. Parts that have no room are empty.
struct GridFrame {
    Rect lenses;  ///< chips of the lenses and what the colours mean
    Rect caption; ///< how many ranks, chips of the axes
    Rect plot;    ///< rulers and cells
    Rect legend;  ///< about the rank in focus
    /// `meaningFirst`: what the colours mean is told before words on a rank.
    explicit GridFrame(Rect area, bool meaningFirst = false);
};

/// Layout coordinates to the screen.
struct GridTransform {
    float originX = 0, originY = 0, zoom = 1;
    float x(float layoutX) const { return originX + layoutX * zoom; }
    float y(float layoutY) const { return originY + layoutY * zoom; }
    Rect rect(Rect r) const { return {x(r.left), y(r.top), x(r.right), y(r.bottom)}; }
    Point back(Point screen) const { return {(screen.x - originX) / zoom, (screen.y - originY) / zoom}; }
};

/// Cells on their way to a new arrangement.
struct GridMotion {
    std::vector<Rect> from; ///< [rank] on screen
    float progress = 1;     ///< 0 … 1, eased
};

struct GridScene {
    const sim::Simulation& simulation;
    const GridLayout& layout;
    const GridReading& reading;
    const std::vector<std::uint8_t>& tones; ///< of the cells by row and column of the layout
    const Theme& theme;
    const Selection& selection;
    const std::vector<LitGroup>& groups; ///< of the rank in focus
    const Instants* instants = nullptr;  ///< nullptr: no trace
    const std::vector<int>& processOf;   ///< [rank] of the trace; empty: no trace
    sim::WaitChains* waits = nullptr;    ///< nullptr: what is shown was not simulated
    GridFrame frame;
    Rect cellsArea; ///< what the rulers leave of the plot
    GridTransform transform;
    const GridMotion* motion = nullptr; ///< nullptr: everything is in its place
    DrawnNumbers* numbers = nullptr;    ///< what was written can be asked; nullptr: nothing
    std::function<Becauses(int rank)> because = {};
    bool onlyTold = false; ///< nobody can point there

    /// Whole pixels, where the rank's cell is drawn now.
    Rect cellRect(int rank) const;
    std::optional<int> focusRank() const;
    /// Several selected ranks are lit; one alone lights its groups.
    bool severalSelected() const { return selection.ranks.size() > 1; }
    std::string sentenceOf(int rank) const { return reading.sentence(reading.unitOf(simulation, rank)); }
};
Rect snapped(Rect);

/// A title or a label of a ruler: pointing at it means all its ranks.
struct GridTarget {
    Rect rect;
    int level = 0;
    int place = -1;          ///< of a box; -1: a coordinate on the level's axis
    int first = 0, last = 0; ///< coordinates
    std::string name;        ///< "node 3", "tp 0"
};
using GridTargets = std::vector<GridTarget>;
std::vector<int> ranksOf(const GridTarget&, const GridLayout&);

/// Everything but the chips. Returns what can be pointed at besides cells.
GridTargets paintGrid(Canvas&, const GridScene&);

} // namespace app
