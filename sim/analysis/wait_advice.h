// One thing to try against a wait, by what the rank waits for and by what the scenario has not made use of yet.
#pragma once

#include "sim/analysis/wait_chain.h"

#include <string>

namespace sim {

/// "overlap.grad_reduce, which sends gradients while the backward pass still runs". Empty where there is nothing to say.
std::string waitAdvice(const Simulation&, const WaitChain&);

/// Whether a perturbation makes kernels or transfers of a class longer.
bool isSlowed(const Simulation&, int classIndex);

} // namespace sim
