// Nodes as boxes with their GPUs inside, one above the other, so that GPUs of equal place, which share a rail, stand in one
// column. Links between nodes are arcs as wide as their bytes, one a purpose: down on the right, up on the left.
#pragma once

#include "app/views/traffic/traffic_scene.h"

#include <optional>
#include <vector>

namespace app {

inline constexpr float kWithinRadius = 9; ///< of all that is drawn round what moves within a box: it stays in there

/// Where the diagram is drawn, and what the pointer meets.
struct TrafficDiagramFrame {
    struct Strand { ///< one purpose of a link
        TrafficPair pair;
        sim::Dimension purpose = sim::Dimension::tp;
        std::int64_t bytes = 0;
        std::vector<Point> curve; ///< from the sender to the receiver
    };
    struct Gpu {
        int rank = 0, part = 0;
        Rect rect;
    };
    TrafficLevel level = TrafficLevel::nodes; ///< nodes, or ranks where there is one node alone
    int mostParts = 0;                        ///< as asked of the model
    Rect caption, details;                    ///< no width where there is no room
    Rect drawn;                               ///< all boxes and arcs
    std::vector<Rect> boxes;                  ///< [part]
    std::vector<Gpu> gpus;                    ///< where each is large enough to be pointed at; by box, then by place
    int gpuRows = 1;                          ///< in a box; one: columns are rails
    std::vector<Strand> strands;              ///< largest first
    std::size_t hiddenStrands = 0;            ///< too many to be drawn
    float titleHeight = 0;                    ///< of a box; none where its name stands beside its GPUs

    std::optional<int> partAt(Point) const;
    std::optional<int> rankAt(Point) const;
    std::optional<TrafficPair> pairAt(Point) const;
    const Gpu* gpuOf(int rank) const;
    const Strand* strandOf(TrafficPair, sim::Dimension) const; ///< nullptr: none is drawn
    /// From GPU to GPU: below them within a node and in its box, else from edge to edge; over other nodes' heads along the arc of
    /// both nodes. Purposes lie beside each other.
    std::vector<Point> curveBetween(const Gpu& from, const Gpu& to, sim::Dimension) const;
};

TrafficDiagramFrame layOutTrafficDiagram(Canvas&, const TrafficScene&, Rect);
void paintTrafficDiagram(Canvas&, const TrafficScene&, const TrafficDiagramFrame&);

/// Is the time cursor inside the step? Then the diagram shows what is under way.
bool isMoving(const TrafficScene&);
/// What is under way at the time cursor, over the diagram: from GPU to GPU where they are few, else along the arcs; in place of
/// the panel beside it, how full that makes each tier.
void paintTrafficMotion(Canvas&, const TrafficScene&, const TrafficDiagramFrame&);

} // namespace app
