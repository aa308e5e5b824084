// A tighter floor of one layout: its own program, lowered as for the engine, each pass laid behind the one before and behind the
// message that it waits for; and what its fullest rank holds, which is the engine's number, since memory follows the order in
// which ops are issued. Of what shares links and disturbs kernels that is counted which cannot be otherwise (stream_clock.h);
// what is left out only makes a step longer. Private to sim/planner.
#pragma once

#include "sim/program/program.h"
#include "sim/scenario/scenario.h"
#include "sim/simulate/plan_schedule.h"
#include "sim/simulate/prepared_step.h"

#include <functional>
#include <memory>
#include <span>

namespace sim {

struct TightFloor {
    double stepNs = 0;
    double peakBytes = 0; ///< of the fullest rank, model states included
    int fullestRank = 0;  ///< pipeline coordinate
};

/// Throws what lowerProgram does. O(passes' ops, steps).
TightFloor tightFloor(const Scenario&, const Schedule&);
/// With its own schedule; throws what planSchedule does, too.
inline TightFloor tightFloor(const Scenario& scenario)
{
    return tightFloor(scenario, planSchedule(scenario));
}

/// The same of a program that is lowered already.
class StepFloor {
public:
    StepFloor(const Scenario&, const Program&); ///< the program outlives it
    ~StepFloor();
    StepFloor(const StepFloor&) = delete;
    double ns() { return ns(KnownEnds{}); }
    /// Behind what the engine has found so far, in running this program.
    double ns(const PreparedStep&, const EngineProgress&);

private:
    struct Parts;
    /// Of a rank: when the last kernel up to a step of its program has ended, of as many steps as that is known of.
    using KnownEnds = std::function<std::span<const double>(int rank)>;
    double ns(const KnownEnds&);
    std::unique_ptr<Parts> m_parts;
};

} // namespace sim
