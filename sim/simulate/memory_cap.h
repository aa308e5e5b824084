// The memory cap of `auto`: whether an order keeps it, and what is said where none does.
#pragma once

#include "sim/schedule/families/families.h"
#include "sim/simulate/simulation.h"

#include <optional>
#include <string>

namespace sim {

/// A cap that is not kept. What may be said of it before anything is simulated, and after.
struct MissedCap {
    double capGib = 0;
    double nearestGib = 0; ///< in tenths: the least cap that would be kept
    bool byAnyOrder = false;
    double statesGib = 0, leastGib = 0; ///< model states, and the least activations of any order
    double peakGib = 0;                 ///< of the order that was simulated

    std::string capText() const; ///< "3.00 GiB"
    /// "no order keeps a GPU within 3.00 GiB".
    std::string what() const;
    /// The same, with why and the nearest cap.
    std::string text() const;
};

/// By what model states and activations take alone; `request` is the scenario's planningRequest.
std::optional<MissedCap> capOutOfReach(const Scenario&, const ScheduleRequest& request);
/// By an order of `auto` that was simulated and has this peak.
std::optional<MissedCap> missedCap(const Scenario&, const ScheduleRequest& request, double peakGib);
/// The cap that a file asks for. Of the GPU's own memory, which is the cap otherwise, Metrics::fits tells.
std::optional<MissedCap> missedCap(const Simulation&);

} // namespace sim
