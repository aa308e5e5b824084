// What was recovered, in the words of `trace info`.
#pragma once

#include "sim/recovery/recover.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sim {

/// {"axes", "schedule", "clock", "groups", "steps", "problems"} of `trace info --json`.
nlohmann::ordered_json recoveredJson(const Recovered&);

/// The same for a person: a paragraph each of axes, schedule, clock, steps, problems.
std::string recoveredText(const Recovered&);

} // namespace sim
