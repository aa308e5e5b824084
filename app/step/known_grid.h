// How much is known of where the ranks of a run lie: all of a simulated one, and of a recorded one what its files tell.
#pragma once

#include <string>

namespace app {

struct KnownGrid {
    std::string whyUnknown; ///< why nobody knows how the ranks lie; empty where that is known
    std::string dataWord =
        "dp";                  ///< what the axis is told to be that the layout has as dp: "unnamed" where nobody knows that it is
    std::string whyUnnamed;    ///< why nobody knows what it is for; empty where it is dp
    bool areNodesKnown = true; ///< which ranks share a node

    bool isKnown() const { return whyUnknown.empty(); }
    /// "tp", "unnamed": on screen, of an axis of the layout.
    const std::string& wordOf(const std::string& axis) const { return axis == "dp" ? dataWord : axis; }
    bool operator==(const KnownGrid&) const = default;
};

} // namespace app
