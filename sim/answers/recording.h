// What is said of recorded timelines: trace info --json.
#pragma once

#include "sim/trace/recording.h"

#include <nlohmann/json.hpp>

namespace sim {

/// Files, ranks, steps, groups, what was skipped and what is wrong, as the files say it. What has to be worked out from them
/// ("axes", "schedule", "clock") is taken from `recovered`, an object whose members stand in the place of these; without it they
/// are [] and null.
nlohmann::ordered_json traceInfoAnswer(const Recording&, const nlohmann::ordered_json* recovered = nullptr);

} // namespace sim
