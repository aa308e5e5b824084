// What an action waits for and who waits for it: transfers as the trace has them, and the rules of a pipeline within a rank.
#pragma once

#include "app/views/timeline/timeline_model.h"

#include <string>
#include <vector>

namespace app {

struct Dependency {
    SpanRef from, to;
    bool transfer = false; ///< crosses ranks; else both are on one row
    bool operator==(const Dependency&) const = default;
};

/// Inputs first, then outputs. Within a row: F of a stage needs F of the stage before; B or I needs F of its stage, and B or I of
/// the stage after; W needs I. Across rows as the trace has transfers, or, where it has them between kernels, by the same rules.
/// O(spans of the row, or of the rank's partners in the pipeline).
std::vector<Dependency> dependenciesOf(const TimelineModel&, SpanRef);

/// "needs F3, B3 of pp 2\nfeeds B3 of pp 0"; empty if it depends on nothing and nothing on it.
std::string dependencyText(const TimelineModel&, SpanRef);

} // namespace app
