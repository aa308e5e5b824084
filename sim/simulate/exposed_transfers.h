// When a rank waits for a transfer and computes nothing: what Metrics' exposed communication is the sum of.
#pragma once

#include "sim/mesh/dimension.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sim {

struct ExposedTransfer {
    std::int64_t beginNs = 0, endNs = 0;
    std::optional<Dimension> dimension; ///< nothing: of the host
    bool operator==(const ExposedTransfer&) const = default;
};

/// Of the ranks of a class, in order of time; every instant once, as in TimeShares. O(ops of a rank).
std::vector<ExposedTransfer> exposedTransfers(const Simulation&, int classIndex);

} // namespace sim
