// Transfers that a rank waits for, in a trace that shows only its actions: those inside them, and those between them, where it
// would seem that nothing happens at all.
#pragma once

#include "sim/simulate/simulation.h"
#include "sim/trace/busy_mipmap.h"
#include "sim/trace/trace.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace app {

/// How much of an action's lane, from its bottom, shows what is waited for inside the action. Below 1: nothing.
inline float footOfWaits(float laneHeight)
{
    constexpr float kHighest = 8, kShare = 0.25F; // the action's name stays clear
    return std::min(kHighest, std::floor(laneHeight * kShare));
}

class ExposedWaits {
public:
    /// Of the ranks of a class, whose actions are on the track. O(ops of a rank).
    ExposedWaits(const sim::Simulation&, int classIndex, const sim::Track& actions);
    ExposedWaits(const ExposedWaits&) = delete;
    ExposedWaits& operator=(const ExposedWaits&) = delete;

    /// Spans whose kind is the place of their sim::OpClass; in order, without overlap.
    const sim::Track& inside() const { return m_inside; }   ///< while an action runs
    const sim::Track& between() const { return m_between; } ///< while none does
    const sim::BusyMipmap& busyInside() const { return *m_busyInside; }
    const sim::BusyMipmap& busyBetween() const { return *m_busyBetween; }
    static sim::OpClass classOf(const sim::Track& track, std::size_t span) { return static_cast<sim::OpClass>(track.kind[span]); }

private:
    sim::Track m_inside, m_between;
    std::unique_ptr<sim::BusyMipmap> m_busyInside, m_busyBetween;
};

} // namespace app
