// One thing to try against a wait, by what the rank waits for and by what the scenario has not made use of yet. It was tried:
// what is told made the step of the same job faster, per token.
#pragma once

#include "sim/analysis/wait_chain.h"

#include <map>
#include <string>

namespace sim {

/// Of one simulation, which must outlive it.
class WaitAdviser {
public:
    explicit WaitAdviser(const Simulation& simulation) : m_simulation(simulation) {}
    /// "overlapped gradient reduction, which sends gradients while the backward pass still runs (3.1 % less time a token)". Empty
    /// where nothing that was tried helps, and for steps too large to be simulated while somebody points at them. Simulates each
    /// thing to try once.
    std::string advice(const WaitChain&);

private:
    double changeOf(const std::string& text, const Scenario&);

    const Simulation& m_simulation;
    std::map<std::string, double> m_changes; ///< of time a token, by what was tried; 0 or more: it does not help
};

/// Whether a perturbation makes kernels or transfers of a class longer.
bool isSlowed(const Simulation&, int classIndex);

} // namespace sim
