// The colours of what a step's time goes to: the same in every picture that tells it.
#pragma once

#include "app/views/common/theme.h"
#include "sim/simulate/step_part.h"

namespace app {

Color fillOf(sim::StepPart, const Theme&);

} // namespace app
