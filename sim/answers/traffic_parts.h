// What the answer about traffic is made of, for the command that prints it as a table.
#pragma once

#include "sim/analysis/traffic/link_load.h"
#include "sim/answers/answers.h"
#include "sim/simulate/simulation.h"

namespace sim {

/// Of the whole step.
LinkLoad loadOfStep(const Simulation&, const TrafficSenders&);

/// The operators and collectives of one layer of each kind that the model has (with experts or not, by what its queries see), in
/// the order of the stream, of the first micro-batch of a stage that holds most of them: [{"kind", "count", "layer",
/// "forward": [{"op", "at", "group", "collective", "bytes", "again"}], "backward": …}]; the last four of an op where they apply.
/// The kind that most layers are of comes first, of as many the one with experts. A layer's weight gradients are listed once,
/// whether a schedule has its backward in one action or in two.
Answer layersAnswer(const Simulation&);

} // namespace sim
