// Draws the rank grid: boxes, cells, rulers, the groups of the rank in focus, legend. Reads only; GridView moves things.
#pragma once

#include "app/views/grid_groups.h"
#include "app/views/grid_layout.h"
#include "app/views/selection.h"
#include "app/views/theme.h"
#include "sim/simulation.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace app {

/// The view's area, divided.
struct GridFrame {
    Rect caption, plot, legend; ///< plot: rulers and cells
    explicit GridFrame(Rect area);
};

/// What a rank of a live run holds, and what it did last.
struct RankNow {
    std::int64_t bytes = 0, peakBytes = 0;
    std::string doing; ///< "F3"; may be empty
};

/// How full each rank's GPU is at its peak, ready to draw: one byte a cell, by row and column of the layout.
struct GridHeat {
    static constexpr std::uint8_t kEmpty = 0, kFull = 250, kOver = 251; ///< 1 … 250: share of the GPU's memory; 251: too much
    std::vector<std::uint8_t> cells;
    std::int64_t leastBytes = 0, mostBytes = 0, capacityBytes = 0;
    bool anyOver = false;
};
GridHeat makeHeat(const sim::Simulation&, const GridLayout&);
/// Of what was measured; full is what the fullest rank ever held.
GridHeat makeHeat(const std::vector<RankNow>&, const GridLayout&);

/// Layout coordinates to the screen.
struct GridTransform {
    float originX = 0, originY = 0, zoom = 1;
    float x(float layoutX) const { return originX + layoutX * zoom; }
    float y(float layoutY) const { return originY + layoutY * zoom; }
    Rect rect(Rect r) const { return {x(r.left), y(r.top), x(r.right), y(r.bottom)}; }
    Point back(Point screen) const { return {(screen.x - originX) / zoom, (screen.y - originY) / zoom}; }
};

struct GridScene {
    const sim::Simulation& simulation;
    const GridLayout& layout;
    const GridHeat& heat;
    const Theme& theme;
    const Selection& selection;
    const std::vector<LitGroup>& groups; ///< of the rank in focus
    GridFrame frame;
    Rect cellsArea; ///< what the rulers leave of the plot
    GridTransform transform;
    const std::vector<RankNow>* now = nullptr; ///< by rank, of a live run; nullptr: as predicted
    std::int64_t bytesOf(int rank) const;
};

void paintGrid(Canvas&, const GridScene&);

} // namespace app
