// Ranks that compute longer than those that do the same: whole hosts, and single ones.
#pragma once

#include "sim/recovery/run_answers.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sim {

/// Ranks that have the same to compute, those of one stage and one slice of the sequence, as indices into RunEvidence::ranks.
std::vector<std::vector<std::size_t>> peersOf(const Recovered&);

/// Of answers that have times. Ranks of one host beside those of the same stage on others: a host that is slow in all of its
/// ranks keeps no single one late.
std::vector<RunFinding> slowHosts(const Recovered&, const RunAnswers&);

/// Ranks that compute clearly longer than their peers, whoever waits for them; but for those that are `told` of, and those that
/// have most tokens of their experts.
std::vector<RunFinding> slowRanks(const Recovered&, const RunAnswers&, std::span<const int> told);

} // namespace sim
