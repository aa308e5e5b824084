// A scenario that breaks rules, with its own values: what a form shows of it while it is repaired.
#pragma once

#include "sim/scenario/document.h"

#include <optional>

namespace sim {

/// Every base and default filled in, whatever the rules between the values say; nothing where a value cannot be read at all, its
/// sizes are beyond counting, or the file is of an older version. Throws nothing. Not to be simulated: it may be illegal.
std::optional<Scenario> filledIn(const ScenarioDocument&, const Catalogue&);

} // namespace sim
