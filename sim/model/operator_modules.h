// Which of Megatron Core's modules an operator is part of. Private to sim/model.
#pragma once

#include "sim/model/operators.h"

namespace sim {

/// By its name: what is run again with it, and whose input it keeps.
void assignModules(Operator&);

} // namespace sim
