// What the simulator would have each recorded rank run in a step, one entry for ops alike in name, kind and shape.
#pragma once

#include "sim/recovery/recover.h"
#include "sim/simulate/simulation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

struct PredictedKernel {
    std::string label, curve; ///< curve: name in a profile; empty where it has none
    OpClass opClass = OpClass::other;
    OpShape shape;
    double ns = 0;    ///< of one
    double count = 0; ///< of a step, sum over the recorded ranks
};

struct PredictedTransfer {
    std::string label, curve;
    std::string axes; ///< "tp", "dp_cp"; of sends "pp"
    Exchange exchange = Exchange::unknown;
    CollectiveKind kind = CollectiveKind::allReduce; ///< of what is no send
    std::int64_t bytes = 0;                          ///< of the whole tensor; of a send what is sent
    int members = 2;
    int tier = 0; ///< innermost that joins the members
    double ns = 0;
    double latencyNs = 0; ///< of it, what an empty message takes
    double count = 0;
};

struct PredictedOps {
    std::vector<PredictedKernel> kernels;
    std::vector<PredictedTransfer> transfers;
    std::size_t ranks = 0; ///< recorded ones that the simulation has too
};

/// O(ops of a class of ranks, and of its passes).
PredictedOps predictedOps(const Simulation&, const Recovered&);

} // namespace sim
