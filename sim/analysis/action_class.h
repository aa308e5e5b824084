// What an action is as a span, for whoever draws or records one.
#pragma once

#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

namespace sim {

OpClass opClassOf(ActionKind);

} // namespace sim
