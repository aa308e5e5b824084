// What was recovered, in the words of `trace info`.
#pragma once

#include "sim/recovery/recover.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace sim {

/// {"axes", "schedule", "clock", "groups", "steps", "problems"} of `trace info --json`.
nlohmann::ordered_json recoveredJson(const Recovered&);

/// The same for a person: a paragraph each of axes, schedule, clock, steps, problems.
std::string recoveredText(const Recovered&);

/// Recovered::problems, where several ranks have the same one of some of their spans told once in sum; without that clocks are
/// apart, which the clock's own line says.
std::vector<std::string> toldProblems(const Recovered&);

/// Several stages: of one pipeline rank without virtual stages any order of passes is that of many schedules.
bool hasPipeline(const Recovered&);

} // namespace sim
