// Which year's Megatron runs a script.
#pragma once

#include "sim/frameworks/job.h"

namespace sim::frameworks {

/// training.stack where a flag of a plain Megatron script proves it; else a note that says why it is left open. Under Megatron's
/// names as useMegatronNames makes them.
void putSoftwareOfMegatron(Job&);

} // namespace sim::frameworks
