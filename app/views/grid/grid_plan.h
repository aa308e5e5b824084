// Where the ranks of the grid lie before anything has a size, as their arrangement wants it. From it comes GridLayout.
#pragma once

#include "app/step/grid_arrangement.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"

#include <string>
#include <vector>

namespace app {

/// One axis of the mesh or of the hardware, or a part of one that a node's edge cuts in two. Its `size` children lie left to
/// right, then down.
struct GridLevel {
    enum class Run : std::uint8_t { any, across, down };

    std::string axis; ///< "tp", "node"
    std::string word; ///< what it is called on screen; empty: as `axis`
    int axisStride = 1, axisSize = 1;
    int size = 1, stride = 1; ///< stride: places from one child to the next
    Run run = Run::any;       ///< any: as many columns as make the best picture
    bool isNode = false;      ///< the box is one node of the cluster
    bool inTable = false;     ///< its children stand in rows or columns of a table without a box of their own
    bool titled = false;      ///< children always carry their name, no ruler does
    int columns = 1, rows = 1;
    float gap = 0;         ///< between children
    float padding = 0;     ///< inside the box around all children
    float title = 0;       ///< height of the title inside that box
    bool numbered = false; ///< children carry their name as title because no ruler can: they fill several rows

    const std::string& shown() const { return word.empty() ? axis : word; }
    bool wrapped() const { return columns > 1 && rows > 1; }
};

/// Levels without a size yet, innermost first. A place is a mixed-radix number over them; a rank lies in one place.
struct GridPlan {
    std::vector<GridLevel> levels; ///< never empty
    int ranks = 0;
    std::vector<int> placeOfRank; ///< empty: rank r lies in place r
    bool physical = false;        ///< places are GPUs
    bool fixed = false;           ///< the user has chosen: cells may be stretched
};

/// Axes in the mesh's order; where a node ends inside one, two levels. `gpusPerNode` 0: nodes are not boxes (ranks are
/// scattered).
GridPlan automaticPlan(const sim::Mesh&, int gpusPerNode);
/// In the order of their numbers, where nobody knows the axes.
GridPlan numberedPlan(int ranks);
GridPlan seatedPlan(const sim::Mesh&, const AxisSeats&);
/// GPUs in nodes, nodes in domains of the first tier that joins several but not all of them; up to the last node in use.
GridPlan physicalPlan(const sim::Placement&, const sim::Cluster&, int ranks);

} // namespace app
