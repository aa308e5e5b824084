// A recovered job as a scenario, so that its simulation can be laid beside it.
#pragma once

#include "sim/recovery/recover.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sim {

/// What a trace does not say of a scenario, and why.
struct UnknownKey {
    std::string pointer; ///< "/model"
    std::string why;     ///< "a trace does not name the model; taken from the scenario given"
};

/// `base` is a scenario file's JSON that gives what no trace holds: model, cluster, sequences. Layout, schedule and batch are the
/// recovered ones. Unlike a reader's notes, unknown keys are no problems: they are what a person has to say.
nlohmann::ordered_json scenarioOf(const Recovered&, nlohmann::ordered_json base, std::vector<UnknownKey>& unknown);

} // namespace sim
