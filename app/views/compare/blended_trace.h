// A step between two steps: actions that both have lie between their places, those that only one has come and go.
#pragma once

#include "sim/analysis/matched_actions.h"
#include "sim/trace/trace.h"

#include <vector>

namespace app {

struct BlendedTrace {
    sim::Trace trace; ///< rows of b that have a partner in a; actions only
    /// [kind] how much of its colour a span keeps: all, where both have it.
    std::vector<float> opacityOfKind;
};

/// `share` 0 is a, 1 is b. What only a has fades in the first half of the way, what only b has comes in the second; where what
/// moves needs their place, they make room. O(spans log spans).
BlendedTrace blend(const sim::Trace& a, const sim::Trace& b, const sim::MatchedActions&, double share);

} // namespace app
