// What a stage computes, as lists of operators: made from the layers that lie on it and the ends of the model. What is lowered
// and what is searched over layouts see the same.
#pragma once

#include "sim/program/pass_builder.h"

#include <vector>

namespace sim {

/// What makes two stages compute the same: their layers' kinds and the ends of the model.
struct ContentKey {
    std::vector<LayerKind> layers;
    bool embedding = false, head = false;
    bool ownsEmbedding = false; ///< where the head or a prediction module needs it, the embedding is here already
    int slice = 0;              ///< of the sequence: later ones attend to more
    auto operator<=>(const ContentKey&) const = default;
};

/// O(operators).
StageContent makeStageContent(const Scenario&, const Sharding&, const ContentKey&);

} // namespace sim
