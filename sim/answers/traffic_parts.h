// What the answer about traffic is made of, for the command that prints it as a table.
#pragma once

#include "sim/analysis/traffic/link_load.h"
#include "sim/answers/answers.h"
#include "sim/simulate/simulation.h"

namespace sim {

/// Of the whole step.
LinkLoad loadOfStep(const Simulation&, const TrafficSenders&);

/// The operators and collectives of one layer in the order of the stream, of rank 0's first micro-batch that has layers:
/// {"layer", "forward": [{"op", "at", "group", "collective", "bytes", "again"}], "backward": …}; the last four where they apply.
/// The middle layer of the rank's first stage with layers, as the others are like it. Null: it has none.
Answer layerAnswer(const Simulation&);

} // namespace sim
