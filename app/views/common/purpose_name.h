// What communication is called beside the layout that needs it.
#pragma once

#include "sim/simulate/simulation.h"

#include <string>

namespace app {

/// "tp"; instead of "dp" what goes that way in a job without data parallelism: the gradients of a shared embedding, or of a
/// second copy of the model.
std::string purposeName(const sim::Simulation&, sim::Dimension);

} // namespace app
