// A job of the recovered grid with a model that is nobody's: for pictures of the ranks alone, where nobody has said what was
// trained.
#pragma once

#include "sim/recovery/recover.h"

#include <nlohmann/json_fwd.hpp>

namespace sim {

/// A scenario file's JSON: the recovered layout, as few layers, heads and experts as it can cut, and as many nodes as hosts were
/// recorded. Its times and bytes mean nothing; who belongs to whom, and which ranks share a node, is the recording's.
nlohmann::ordered_json standInScenario(const Recovered&);

} // namespace sim
