// Traffic while the step plays: what is under way between parts of the world at one moment, how far it has come, and how full
// that makes the links. Times are those of the simulated step; transfers that move alike between the same two parts are one
// packet.
#pragma once

#include "app/canvas/canvas.h"
#include "sim/analysis/traffic/timed_transfers.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace app {

/// What moves from one part to another, or within one.
struct TrafficPacket {
    int from = 0, to = 0;
    sim::Dimension purpose = sim::Dimension::tp;
    double way = 0;   ///< it has come, 0 to 1
    double bytes = 0; ///< that it carries
    std::int32_t microbatch = -1;
    double stretch = 1; ///< so many times as long under way as with the links to itself
};

/// What has passed between two parts during the exposure.
struct TrafficNow {
    int from = 0, to = 0;
    sim::Dimension purpose = sim::Dimension::tp;
    double bytes = 0;
    double load = 0; ///< mean rate, of what the ports of the part that sends carry
};

/// At one moment.
struct TrafficMoment {
    std::int64_t atNs = 0;
    std::int64_t exposureNs = 0;        ///< before it: what flows and tiers are means over
    std::vector<TrafficPacket> packets; ///< under way at the moment itself, by parts and purpose
    std::vector<TrafficNow> flows;      ///< by parts and purpose
    double bytes = 0;                   ///< of all packets
    struct TierNow {
        sim::ByDimension<double> bytesPerSecond{};
        double capacityBytesPerSecond = 0; ///< of all ports of the senders, one direction
        double share() const;
    };
    std::vector<TierNow> tiers;
};

class TrafficMotion {
public:
    /// Of what these ranks send, or all if there are none. O(flows).
    TrafficMotion(const sim::Simulation&, const sim::Traffic&, std::shared_ptr<const sim::TimedTransfers>,
                  std::span<const int> partOf, std::span<const int> senders = {});
    /// Kept until another is asked for. An exposure of at least 1 ns. O(links + what is under way).
    const TrafficMoment& at(std::int64_t ns, std::int64_t exposureNs);
    /// Of any packet in the step.
    double mostBytes() const { return m_mostBytes; }

private:
    /// Between two parts, of one row of transfers.
    struct Link {
        int from = 0, to = 0;
        std::size_t row = 0;
        int tier = 0;
        double bytes = 0;    ///< in the whole step
        double capacity = 0; ///< bytes/s that the ports of the part that sends carry on this tier
    };
    std::shared_ptr<const sim::TimedTransfers> m_transfers;
    std::vector<Link> m_links; ///< by parts, purpose, row, tier
    std::vector<double> m_capacity;
    double m_mostBytes = 1;
    TrafficMoment m_moment;
};

/// The point that lies at a share of a curve's length.
Point pointAlong(const std::vector<Point>& curve, double share);
/// The part of a curve between two shares of its length.
std::vector<Point> piece(const std::vector<Point>& curve, double from, double to);

} // namespace app
