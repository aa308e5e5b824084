// A stack as JSON: the keys of `training.stack` and of assets/stacks. Private to this folder.
#pragma once

#include "sim/scenario/json_text.h"
#include "sim/scenario/stack.h"

namespace sim {

/// Overwrites what the object says, which the schema has checked; the rest stays.
void readStack(const Json&, Stack&);
Json toJson(const Stack&);

} // namespace sim
