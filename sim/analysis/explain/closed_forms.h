// What a pipeline schedule would cost on equal stages without transfers: what a simulated bubble is compared to.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/simulate/metrics.h"

#include <optional>
#include <string>

namespace sim {

struct BubbleForm {
    double share = 0;    ///< of the step
    std::string text;    ///< "(p − 1) / (v × m + p − 1) = 3 / 35 = 8.6 %"
    std::string ofIdeal; ///< the same as papers also count it, over the time without it: "3 / 32 = 9.4 %"
    std::string source;  ///< paper
};

/// Of families that have a closed form; nothing for kinds whose bubble depends on how long passes take, or without a pipeline.
std::optional<BubbleForm> bubbleForm(const Scenario&);

/// The pipeline rank that computes longest, and by how much more than the mean; nothing where stages are equal, to a hundredth.
struct UnevenStages {
    int slowest = 0;
    double lag = 0; ///< 0.1 is 10 % longer
};
std::optional<UnevenStages> unevenStages(const Metrics&);
/// What to say beside a closed form where stages are not equal: "These stages are not equal: pipeline rank 3 computes 10.8 %
/// longer than the mean of all." Else empty.
std::string unevenStagesText(const Metrics&);

} // namespace sim
