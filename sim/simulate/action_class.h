// What actions, ops and transfers are as spans, for whoever draws or records one.
#pragma once

#include "sim/mesh/dimension.h"
#include "sim/program/program.h"
#include "sim/schedule/schedule.h"
#include "sim/trace/trace.h"

namespace sim {

OpClass opClassOf(ActionKind);
OpClass opClassOf(const Op&);
OpClass opClassOf(Dimension); ///< of its communication

} // namespace sim
