// Nodes as boxes with their GPUs inside, one above the other, so that GPUs of equal place, which share a rail, stand in one
// column. Links between nodes are arcs as wide as their bytes, one a purpose: down on the right, up on the left.
#pragma once

#include "app/views/traffic_scene.h"

#include <optional>
#include <vector>

namespace app {

/// Where the diagram was drawn last.
struct TrafficDiagramFrame {
    struct Link {
        TrafficPair pair;
        std::vector<Point> curve;
    };
    struct Gpu {
        int rank = 0;
        Rect rect;
    };
    std::vector<Rect> boxes; ///< [part]
    std::vector<Gpu> gpus;   ///< where they are drawn one by one
    std::vector<Link> links;
    Rect details;
    TrafficLevel level = TrafficLevel::nodes;
    int mostParts = 0; ///< as asked of the model
    std::optional<int> partAt(Point) const;
    std::optional<int> rankAt(Point) const;
    std::optional<TrafficPair> pairAt(Point) const;
};

TrafficDiagramFrame paintTrafficDiagram(Canvas&, const TrafficScene&, Rect);

} // namespace app
