// Links that are slow: groups, and pairs of a pipeline's ranks, whose transfers take longer than those of their siblings.
#pragma once

#include "sim/recovery/run_answers.h"

#include <vector>

namespace sim {

/// Of answers that have arrivals and times. Collectives that are alike but for their group, and sends and receives between the
/// same two stages: the transfer alone, once all are there. O(parts log parts).
std::vector<RunFinding> slowLinks(const Recovered&, const RunAnswers&);

} // namespace sim
