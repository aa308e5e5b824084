// One thing to try against a wait: of what might help against what the rank waits for, and of what the scenario has not made use
// of yet, all is tried, and the best is told.
#pragma once

#include "sim/analysis/likely_ratio.h"
#include "sim/analysis/wait_chain.h"

#include <map>
#include <string>

namespace sim {

/// Of one simulation, which must outlive it.
class WaitAdviser {
public:
    explicit WaitAdviser(const Simulation& simulation) : m_simulation(simulation) {}
    /// "try: overlapped gradient reduction, which sends gradients while the backward pass still runs (3.1 % less time a token,
    /// likely -4.0 % to -2.2 %)". What another batch gains, which changes what is trained, counts less beside what does not.
    /// Empty where nothing that was tried helps; of steps too large to be simulated while somebody points at them it says so.
    /// Simulates each thing to try once.
    std::string advice(const WaitChain&);

private:
    const LikelyRatio& changeOf(const std::string& text, const Scenario&);

    const Simulation& m_simulation;
    std::map<std::string, LikelyRatio> m_changes; ///< of time a token, by what was tried; 1 or more: it does not help
};

/// Whether a perturbation makes kernels or transfers of a class longer.
bool isSlowed(const Simulation&, int classIndex);

} // namespace sim
