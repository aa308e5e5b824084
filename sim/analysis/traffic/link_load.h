// How full the links are over time: what is in flight at each moment of a step, each transfer spread evenly over its duration,
// against what the senders' ports could carry: of network cards that several GPUs have each card once. Volumes and tiers as in
// traffic.h. What shares a port does not go evenly, so that for a moment more can seem to pass than it carries.
#pragma once

#include "sim/analysis/traffic/traffic.h"

#include <array>
#include <cstdint>
#include <vector>

namespace sim {

/// Equal bins over [beginNs, endNs).
struct LoadWindow {
    std::int64_t beginNs = 0, endNs = 1;
    int bins = 1;
    double binNs() const { return static_cast<double>(endNs - beginNs) / bins; }
    bool operator==(const LoadWindow&) const = default;
};

struct LinkLoad {
    struct TierLoad {
        ByDimension<std::vector<double>> bytes; ///< [purpose][bin]: sent during the bin
        double capacityBytesPerSecond = 0;      ///< of all ports of the senders on this tier while no others send, one direction
    };
    LoadWindow window;
    std::vector<TierLoad> tiers;

    /// Of the capacity, mean over the bin. A ring reaches Efficiency::network of it at best.
    double share(int tier, Dimension, int bin) const;
    double share(int tier, int bin) const; ///< of all purposes
};

/// Throws Error for a window without length or bins.
LinkLoad linkLoad(const Simulation&, const TrafficSenders&, const LoadWindow&);

} // namespace sim
