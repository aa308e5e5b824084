// What two scenario files say differently, as people read it, and taking single values over.
#pragma once

#include "app/session/edit.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/changed_keys.h"
#include "sim/scenario/document.h"

#include <string>
#include <vector>

namespace app {

struct ScenarioChange {
    sim::ChangedKey key;
    std::string textA, textB; ///< "8", "Llama 3.1 405B", "on"; "–" where the key is not there
    bool follows = false;     ///< neither file says it: other keys or defaults decide
};

/// Those that a file says first.
std::vector<ScenarioChange> scenarioChanges(const sim::ScenarioDocument& a, const sim::Scenario& scenarioA,
                                            const sim::ScenarioDocument& b, const sim::Scenario& scenarioB);

/// The documents that changes are between: values of `from`, which is A of the changes if `fromIsA`, go to `to`.
struct Adoption {
    const sim::ScenarioDocument &from, &to;
    const sim::Catalogue& catalogue;
    bool fromIsA = true;
};
/// Takes a change over, in the file's own words where it has some; where that alone is not legal, with the fewest of the others
/// that make it so. O(changes) documents resolved.
Edit makeAdoptEdit(const std::vector<ScenarioChange>&, std::size_t which, const Adoption&);

/// JSON as people read it: "Llama 3.1 405B" for a model, "on" for true, "4, 4, 4 … (16)" for a list.
std::string valueText(const std::string& json);

} // namespace app
