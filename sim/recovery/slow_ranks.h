// Ranks that compute longer than those that do the same: whole hosts, and single ones.
#pragma once

#include "sim/recovery/run_answers.h"

#include <span>
#include <vector>

namespace sim {

/// Of answers that have times. Ranks of one host beside those of the same stage on others: a host that is slow in all of its
/// ranks keeps no single one late.
std::vector<RunFinding> slowHosts(const Recovered&, const RunAnswers&);

/// Ranks that compute clearly longer than their peers, those of their stage and their slice of the sequence, whoever waits for
/// them; but for those that are `told` of, and those that have most tokens of their experts.
std::vector<RunFinding> slowRanks(const Recovered&, const RunAnswers&, std::span<const int> told);

} // namespace sim
