// A run whose sequences grow: the best layout of each phase, and what it would cost to keep the last one's all along.
#pragma once

#include "sim/planner/planner.h"

#include <optional>
#include <string>
#include <vector>

namespace sim {

struct Phase {
    int sequenceLength = 0;
    int batch = 0; ///< sequences of a step; 0: as the document says
};

struct PlannedPhase {
    Phase phase;
    PlanAnswer answer; ///< of this phase alone
    /// The last phase's layout in this one, where it is legal and fits; else why it is not.
    std::optional<PlannedLayout> kept;
    std::string whyNotKept;
    /// What its best layout changes of the phase's before: "" where nothing, or where there is none before.
    std::string changes;
    /// Parameters and optimizer that each GPU of the fullest pipeline rank reads anew where they lie elsewhere than before; 0:
    /// they stay where they are.
    double readGib = 0;
};

/// The request with a phase's sequences and batch.
PlanRequest ofPhase(const PlanRequest&, const Phase&);

/// Each phase searched by itself; as many of them as there was time for. Throws as plan() does, and where something is held that
/// a phase changes.
std::vector<PlannedPhase> planPhases(const PlanRequest&, const Catalogue&, const std::vector<Phase>&);

} // namespace sim
