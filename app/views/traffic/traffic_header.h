// The top of the traffic picture: chips for what is shown, and a strip that sums up the step by purpose. Clicking a purpose
// leaves it out, everywhere.
#pragma once

#include "app/views/traffic/traffic_scene.h"

#include <optional>
#include <vector>

namespace app {

struct TrafficChoice {
    TrafficMode mode = TrafficMode::matrix;
    TrafficLevel level = TrafficLevel::ranks; ///< of the matrix
    bool onlyTold = false;                    ///< nobody can click: the mode is named, nothing offered
};

/// Where the header's parts were drawn last.
struct TrafficHeader {
    struct Chip {
        Rect rect;
        std::optional<TrafficMode> mode;
        std::optional<TrafficLevel> level;
        std::optional<sim::Dimension> purpose;
    };
    std::vector<Chip> chips;
    float bottom = 0;
    const Chip* under(Point) const;
};

TrafficHeader paintTrafficHeader(Canvas&, const TrafficScene&, const TrafficChoice&);

/// "tp 412 GiB, NVLink, 7.9 % of the step exposed"
std::string purposeText(const TrafficScene&, sim::Dimension);

} // namespace app
