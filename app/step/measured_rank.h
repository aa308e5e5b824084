// What was measured of a rank in a recorded step: what lenses of the grid read in place of what was predicted.
#pragma once

#include <cstdint>
#include <optional>

namespace app {

/// Shares of the rank's own step.
struct MeasuredRank {
    bool isRecorded = false;   ///< false: nothing is known of its device's time
    double busy = 0, idle = 0; ///< computes; neither computes nor communicates nor copies
    double againstPeers = 0;   ///< its computing over the mean of the other recorded ranks of its stage, less one
    std::optional<std::int64_t> peakBytes;
};

} // namespace app
