// How ranks are numbered and where they sit: orders of the axes and rules of placement that may be searched, and which of them
// are the same for a layout. Private to sim/planner.
#pragma once

#include "sim/scenario/scenario.h"

#include <span>
#include <string>
#include <vector>

namespace sim {

struct RankOrder {
    std::string axes; ///< fastest first: "tp-cp-ep-dp-pp"
    PlacementRule placement = PlacementRule::packed;
    bool operator==(const RankOrder&) const = default;
};

/// Every order of the axes, with and without one of the experts' where the model has some.
std::vector<std::string> allAxisOrders(bool hasExperts);

/// Of a model without experts the same order: their axis says nothing there.
std::string withoutExpertAxis(std::string order);

/// Orders of which the same ranks share every domain of every tier, whatever the numbers of these: no group and no message knows
/// one from another. The first of them, and how many they are.
struct AlikeOrders {
    int first = 0, count = 1;
};

/// Of a layout, whichever order is in it. Those with which it is no mesh are left out; `byNumber`: what ranks are called counts,
/// too, as where one of them is slow. O(orders x ranks x tiers).
std::vector<AlikeOrders> alikeOrders(Scenario, std::span<const RankOrder>, bool byNumber);

} // namespace sim
