// Sequences packed from documents of uneven lengths, in which attention does not look beyond a document's ends: how much work
// that leaves of attention, micro-batch by micro-batch.
#pragma once

#include "sim/engine/classes.h"
#include "sim/scenario/scenario.h"

#include <vector>

namespace sim {

/// [replica][micro-batch]: time of attention's kernels over that of whole sequences, 0 to 1. A sequence is filled with documents
/// drawn by their weights, the last one cut; each takes len (len + h) where a whole sequence takes s (s + h), with h the keys at
/// which the kernel reaches half of its rate (twice as many queries see half as many where attention is causal). `step` numbers
/// the drawings. Empty without documents.
std::vector<std::vector<double>> attentionShares(const Scenario&, int step = 0);

/// FLOPs of attention that a step's documents need, over those of whole sequences.
double attentionFlopsShare(const Scenario&);

/// Of a kernel of this class in this micro-batch; 1 where documents change nothing.
double attentionShareOf(const RankClasses&, int classIndex, int microbatch, const OpShape&);

} // namespace sim
