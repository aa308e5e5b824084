// The parts that a job of torchtitan's is read in. Private to sim/frameworks/dialects.
#pragma once

#include "sim/frameworks/job.h"

#include <vector>

namespace sim::frameworks {

struct TitanStages {
    int layers = 0, stages = 1; ///< of all ranks; layers 0: not known
    std::vector<int> counts;    ///< layers of each, where they are known
};
/// The schedule and its stages; after the layout. `isOf2024`: stages are as even as they can be, and as many as micro-batches.
TitanStages readTitanStages(Job&, bool isOf2024);
/// Sequences and batches; after the stages.
void readTitanBatch(Job&, bool isOf2024);
/// Precision, recomputation, overlap, optimizer and loss; after the batch.
void readTitanTraining(Job&, const TitanStages&);

} // namespace sim::frameworks
