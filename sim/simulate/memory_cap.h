// The memory cap of `auto`: whether an order keeps it, and what is said where none does. And whether a step fits at all.
#pragma once

#include "sim/schedule/families/families.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sim {

/// A cap that the order which needs least, of those that were simulated, does not keep.
struct MissedCap {
    double capGib = 0, gpuGib = 0;
    double peakGib = 0;    ///< of that order
    double nearestGib = 0; ///< in tenths: the least cap that it keeps
    /// It is proved: some rank holds so much of model states, and of activations of one micro-batch.
    bool byAnyOrder = false;
    double statesGib = 0, leastGib = 0;

    std::string capText() const;     ///< "3 GiB"
    std::string nearestText() const; ///< "10.9 GiB"
    /// "no order keeps a GPU within 3 GiB".
    std::string what() const;
    /// The same, with why and the nearest cap.
    std::string text() const;
};

/// By an order of `auto` that was simulated and has this peak. A few milliseconds where it is over the cap.
std::optional<MissedCap> missedCap(const Scenario&, double peakGib);
/// The cap that a file asks for. Of the GPU's own memory, which is the cap otherwise, Metrics::fits tells.
std::optional<MissedCap> missedCap(const Simulation&);

/// What a GPU may hold: its memory, or the cap that the file sets a searched order where that is less.
double capacityGib(const Scenario&);

/// What is too small for a step: its GPUs, the cap that the file sets them, or the hosts for what is offloaded to them.
struct Misfit {
    enum class Of : std::uint8_t { gpu, cap, host };
    Of of = Of::gpu;
    double neededGib = 0, heldGib = 0;

    std::string text() const; ///< "119 of 40 GiB", "10.9 of 3 GiB of the schedule's cap", "400 of 256 GiB of a host"
};
/// Nothing where the step can run.
std::optional<Misfit> misfit(const Simulation&);
bool fitsEverywhere(const Simulation&);

} // namespace sim
