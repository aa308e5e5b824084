// How a person wants the ranks of the grid to lie: by the mesh's axes (found automatically, or each put on rows, columns or
// boxes), or as the hardware lies.
#pragma once

#include "sim/mesh/mesh.h"

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

} // namespace app
