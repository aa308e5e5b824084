// Where a framework would refuse a scenario: the edits with which it would not. Found by trying, as legal values are: what is
// offered was written out in the framework's form and was not refused, or, where nothing does that, breaks fewer of its rules.
#pragma once

#include "app/session/edit.h"

#include <string>
#include <string_view>
#include <vector>

namespace app {

/// Each sets one key of those that the refusal speaks of to its nearest value, with all that has to follow it on as many GPUs;
/// that key first which it is about. Where none of these is enough, as where a scenario breaks several rules, edits are offered
/// instead after which it breaks fewer of them and no other. Empty: nothing is refused, or no such edit is known. Takes up to
/// some hundred milliseconds: for a worker.
std::vector<Edit> refusalRemedies(const sim::ScenarioDocument&, const sim::Scenario&, std::string_view kind,
                                  const sim::Catalogue&);

} // namespace app
