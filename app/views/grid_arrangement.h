// How the ranks of the grid are to lie: by the mesh's axes (found automatically, or each put on rows, columns or boxes by the
// user), or as the hardware lies. From it comes the plan that GridLayout gives a size.
#pragma once

#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <string>
#include <vector>

namespace app {

enum class AxisPlace : std::uint8_t { columns, rows, boxes };
const char* axisPlaceName(AxisPlace); ///< "columns"

struct AxisSeat {
    std::string axis; ///< "tp"
    AxisPlace place = AxisPlace::boxes;
    bool operator==(const AxisSeat&) const = default;
};
/// Axes above 1, each once; of those in one place the innermost comes first.
using AxisSeats = std::vector<AxisSeat>;

struct GridArrangement {
    bool physical = false; ///< nodes and rails instead of axes
    AxisSeats seats;       ///< empty: found automatically
    bool operator==(const GridArrangement&) const = default;
};

/// The axis in the next place (columns, rows, boxes, columns …), outermost there.
AxisSeats inNextPlace(AxisSeats, const std::string& axis);
/// One step outwards among those in its place; the outermost becomes the innermost.
AxisSeats oneOutwards(AxisSeats, const std::string& axis);
/// In that place, with `inside` axes inside it.
AxisSeats movedTo(AxisSeats, const std::string& axis, AxisPlace, int inside);
/// For another mesh: axes that it has not above 1 go, new ones become boxes.
AxisSeats fitted(AxisSeats, const sim::Mesh&);

/// One axis of the mesh or of the hardware, or a part of one that a node's edge cuts in two. Its `size` children lie left to
/// right, then down.
struct GridLevel {
    enum class Run : std::uint8_t { any, across, down };

    std::string axis; ///< "tp", "node"
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
GridPlan seatedPlan(const sim::Mesh&, const AxisSeats&);
/// GPUs in nodes, nodes in domains of the first tier that joins several but not all of them; up to the last node in use.
GridPlan physicalPlan(const sim::Placement&, const sim::Cluster&, int ranks);

} // namespace app
