// What communication is called beside the layout that needs it.
#pragma once

#include "sim/simulate/simulation.h"
#include "sim/simulate/step_part.h"

#include <span>
#include <string>

namespace sim {

/// "tp"; instead of "dp" what goes that way in a job without data parallelism: the gradients of a shared embedding, or of a
/// second copy of the model.
std::string purposeName(const Simulation&, Dimension);
/// "exposed tp communication", "exposed embedding communication": of one job, in a sentence.
std::string partTitle(const Simulation&, StepPart);
/// "t_tp", "t_embedding": the same in a formula.
std::string partSymbol(const Simulation&, StepPart);
/// What goes the way of dp in each of them; "dp / embedding" where they do not call it alike.
std::string dataTransfersOf(std::span<const Simulation* const>);
/// "exposed tp"; what goes the way of dp as it is called: "exposed embedding".
std::string partName(StepPart, const std::string& dataTransfers);
/// The same in a sentence: "exposed embedding communication".
std::string partTitle(StepPart, const std::string& dataTransfers);

} // namespace sim
