// The best layouts of the grids that come next after the first: one search over all of them, each grid only as far as its best
// may be among those. Private to sim/planner.
#pragma once

#include "sim/planner/planner.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sim {

/// A grid that may be among the nearest.
struct AskedGrid {
    PlanGrid grid;
    double floorSeconds = 0;            ///< of paceSeconds(): nothing of it takes less
    std::optional<PlannedLayout> known; ///< the best of it so far
    bool isDone() const { return known && known->paceSeconds() <= floorSeconds; }
};

struct NearestGrids {
    std::vector<PlannedLayout> layouts; ///< the best of each grid, fastest first
    std::int64_t laidOut = 0, simulated = 0;
    bool proved = false; ///< no other grid has a faster one than the last, nor these than theirs
};

/// The `count` grids whose best layouts take least. Looks at what is next by its floor, whichever grid it is of, and cuts what is
/// slower than the last of them, or than the best of its own grid. Throws Cancelled.
NearestGrids nearestGrids(const PlanRequest&, const Catalogue&, const std::vector<AskedGrid>&, std::size_t count);

} // namespace sim
