// Where the numbers in a finding's words come from.
#pragma once

#include "sim/analysis/explain/explain.h"
#include "sim/analysis/findings/findings.h"

#include <string>
#include <vector>

namespace sim {

/// Whether such a claim is computed, and has a formula.
bool hasBecause(ClaimOf);

struct ClaimBecause {
    std::string text; ///< as it stands in title or reason
    double value = 0; ///< of the claim, in the explanation's unit
    Explanation because;
};
/// Of the claims that are computed, in the order in which they are said; what the scenario gives (counts, sizes, bandwidths) has
/// no formula. A claim that is said twice comes once. `simulation` is the one that the finding is of.
std::vector<ClaimBecause> becauseOf(const Simulation&, const Finding&);

} // namespace sim
