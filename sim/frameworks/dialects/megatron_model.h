// The model block of Megatron's arguments: sizes, attention, activation, experts.
#pragma once

#include "sim/frameworks/job.h"

namespace sim::frameworks {

void readMegatronModel(Job&, const MegatronRules&);

} // namespace sim::frameworks
