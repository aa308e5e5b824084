// Layers dealt to a pipeline's ranks by what each costs and how much each may hold, where an even deal leaves the ranks with the
// embedding or the head behind the others. Private to sim/planner.
#pragma once

#include <vector>

namespace sim {

/// A pipeline's shape and what its parts cost. Times are of both passes of one micro-batch in nanoseconds, states are what a rank
/// holds all the time, kept is what a micro-batch leaves until its backward pass; both in bytes.
struct DealtPipeline {
    struct Part {
        double ns = 0, states = 0, kept = 0;
    };
    std::vector<int> rankOfStage; ///< in model order
    std::vector<Part> layers;     ///< in model order
    Part embedding, head;         ///< of the first stage and of the last
    std::vector<double> held; ///< [rank]: micro-batches whose activations it holds at once; of several stages, of each its share
    double capacityBytes = 0; ///< of a rank
};

/// Layers of each stage, with which the slowest rank is as fast as it can be while each holds what it may: with the surplus on
/// the last ranks, on the first, and spread; those that are alike once. None where they do not fit in any deal. Exact where a
/// rank has one stage: a rank takes neighbouring layers and fewer of them are never slower, so that filling each as far as a
/// bound allows finds whether that bound can be kept (the bottleneck partition of a chain). Where ranks have several stages
/// layers count as their mean.
std::vector<std::vector<int>> unevenDeals(const DealtPipeline&);

} // namespace sim
