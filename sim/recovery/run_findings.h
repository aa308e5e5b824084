// What stands out in a recorded run, said for a person.
#pragma once

#include "sim/recovery/run_answers.h"
#include "sim/text/number_text.h"

#include <string>
#include <vector>

namespace sim {

/// Of answers that have all but these: causes first, then what follows from them, each the most expensive first.
std::vector<RunFinding> findingsOf(const Recovered&, const RunAnswers&);

/// "tp"; what is said where no axis is known.
inline std::string axisText(const std::string& axis)
{
    return axis.empty() ? "groups of unknown use" : axis;
}
inline double secondsOf(double ns)
{
    return ns * 1e-9;
}
inline std::string timeText(double seconds)
{
    return numberText(seconds, Unit::seconds);
}

} // namespace sim
