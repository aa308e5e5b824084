// Time of the step in which no device computes or communicates, and that nothing else tells of.
#pragma once

#include "sim/recovery/run_answers.h"

#include <vector>

namespace sim {

/// What a device waits for or does besides is told from this part of the step on.
inline constexpr double kWorthTelling = 0.1;

/// Copies that nothing hides ("copying"), and idling ("idle") that is neither the host's doing, where `found` tells of that, nor
/// the schedule's own, where its family has a closed form. In a pipeline with other findings idling follows from them, and is not
/// told. O(ranks).
std::vector<RunFinding> unexplainedTime(const Recovered&, const RunAnswers&, const std::vector<RunFinding>& found);

} // namespace sim
