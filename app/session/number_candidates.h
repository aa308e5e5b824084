// Numbers worth trying for a key: where a slider could stop, by what the number must divide or be a multiple of.
#pragma once

#include "app/session/scenario_state.h"

#include <set>

namespace app {

/// Legal ones among them are found by trying. The value in force is always one of them; empty for keys that are no numbers.
std::set<double> candidateNumbers(const ScenarioState&, std::string_view pointer);

} // namespace app
