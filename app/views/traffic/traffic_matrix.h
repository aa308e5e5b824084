// Bytes between parts of the world as a heat map: rows send, columns receive, on a logarithmic scale.
#pragma once

#include "app/views/traffic/traffic_scene.h"

#include <optional>

namespace app {

/// Where the matrix was drawn last.
struct TrafficMatrixFrame {
    Rect cells;   ///< all of them
    Rect labels;  ///< of the rows, left of the cells
    Rect details; ///< beside it; no width where there is no room
    Rect scale;
    float cellWidth = 0, cellHeight = 0;
    int parts = 0;
    std::optional<TrafficPair> pairAt(Point) const;
    /// Of the row's label too.
    std::optional<int> rowAt(Point) const;
    Rect cell(int from, int to) const;
};

TrafficMatrixFrame paintTrafficMatrix(Canvas&, const TrafficScene&, TrafficLevel, Rect);

} // namespace app
