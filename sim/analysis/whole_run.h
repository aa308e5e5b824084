// What a training run of so many tokens takes: steps of this length, one after the other, without failures and pauses (with
// them: lastingRun of goodput.h).
#pragma once

#include "sim/simulate/simulation.h"

#include <optional>
#include <string>

namespace sim {

/// What is told of a run whose scenario does not say how many tokens it trains on.
inline constexpr double kTokensUnlessSaid = 1e12;

struct WholeRun {
    double tokens = 0;
    double steps = 0; ///< whole: the last one may have more tokens than are left
    double days = 0;
    double gpuHours = 0;
    double gpuWatts = 0; ///< power limit of a GPU; 0: not known

    /// All GPUs at their power limit all the time, which they reach at most; hosts, network and cooling come on top. Nothing
    /// where the limit is not known.
    std::optional<double> mostEnergyKwh() const;
    std::string text() const; ///< "15.6 trillion tokens: 929,833 steps, 54.2 days, 21,300,000 GPU hours"
    /// "at most 14.9 GWh of the GPUs"; where it is not known, what it takes.
    std::string energyText() const;
    /// "53,200,000 at 2.5 a GPU hour", in whatever the price is in.
    std::string priceText(double perGpuHour) const;
};

/// Those of the scenario, where it says no number those to compare by.
double tokensToTell(const Scenario&);
/// Nothing where training.tokens is not given.
std::optional<WholeRun> wholeRun(const Simulation&);
WholeRun wholeRun(const Simulation&, double tokens);

/// "15.6 trillion tokens", "800,000 tokens"
std::string tokensText(double tokens);
/// "812 kWh", "14.9 MWh", "3.21 GWh"
std::string energyText(double kwh);

} // namespace sim
