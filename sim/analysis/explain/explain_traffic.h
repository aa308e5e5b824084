// Why a step sends as many bytes as it does: what traffic counts, as closed forms of the scenario's shapes. Like explain(), and
// shown the same way. Bytes are those that all ranks together send in a step.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/traffic/traffic.h"

#include <string>

namespace sim {

/// Over one communicator: how often which tensor, times what a collective makes its members send of it.
Explanation explainTraffic(const Simulation&, GroupRole);
/// Of all communicators of a purpose.
Explanation explainTraffic(const Simulation&, TrafficPurpose);
/// What a tier of the interconnect carries, of each purpose its share.
Explanation explainTier(const Simulation&, int tier);
/// What one part of the world sends another: `name` says which, `bytes` how much.
Explanation explainFlow(const Simulation&, const std::string& name, const BytesByPurpose& bytes);

/// "all-gathers and reduce-scatters of activations, all-gathers of inputs, again for weight gradients": what waits where
/// communication of the purpose is exposed. Empty where there is none.
std::string collectivesText(const Simulation&, TrafficPurpose);

} // namespace sim
