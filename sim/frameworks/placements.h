// How frameworks place layers and experts by themselves: what their exports cannot choose, and what they refuse.
#pragma once

#include "sim/scenario/scenario.h"

#include <vector>

namespace sim::frameworks {

struct NanotronSizes {
    int layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0;
};
/// Decoder layers of each stage as nanotron's build_model (models/base.py) deals blocks out: by what they compute, each block on
/// the stage on which the sum before it ends, so the first stages have more and the output counts as so many layers. Empty where
/// a size is not known.
std::vector<int> nanotronLayers(const NanotronSizes&, int stages);

/// torchtitan's data_parallel_shard_degree: 1 of plain data parallelism, which is all replicas.
int titanShards(const Layout&);

/// What torchtitan lays experts over (distributed/parallel_dims.py): context-parallel ranks, where they are not cut over
/// tensor-parallel ones these, too, and a part of the shards of data parallelism.
struct TitanDegrees {
    int shards = 1, cp = 1, tp = 1, etp = 1;
};
/// Ranks that are taken whole, and all that there are.
int titanExpertUnit(const TitanDegrees&);
int titanExpertRanks(const TitanDegrees&);
/// As v0.2.0 and before check it.
bool titanExpertsFit(const TitanDegrees&, int ep);

} // namespace sim::frameworks
