// Whether a group's sends and receives run to and fro along a line, as a pipeline's, or round a ring, as keys and values do.
#pragma once

#include "sim/recovery/evidence.h"

#include <cstdint>
#include <vector>

namespace sim {

enum class TransferWay : std::uint8_t {
    unknown, ///< peers are not told, of two ranks, or of too few recorded ones
    line,    ///< what goes from a rank to another comes back (activations and gradients), or the ends have nothing to do with
             ///< each other
    ring     ///< all goes one way, and from one end to the other too
};

/// [group], by who sends to whom. O(transfers log transfers).
std::vector<TransferWay> transferWays(const RunEvidence&);

} // namespace sim
