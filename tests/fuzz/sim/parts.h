// What every fuzzer of scenarios asks.
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/unforeseen.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace fuzz {

inline const sim::Catalogue& catalogue()
{
    static const sim::Catalogue catalogue = sim::Catalogue::load(sim::Catalogue::findAssets());
    return catalogue;
}

/// Ends the program at a problem that only the last net caught.
inline void mustBeForeseen(const std::vector<sim::Problem>& problems)
{
    if (std::any_of(problems.begin(), problems.end(),
                    [](const auto& problem) { return problem.message.starts_with(sim::kUnforeseen); }))
        std::abort();
}

/// Ends the program unless the document tells problems or is a scenario.
inline sim::ScenarioDocument::Resolved mustResolveOrTell(const sim::ScenarioDocument& document)
{
    auto resolved = document.resolve(catalogue());
    if (!resolved.scenario && resolved.problems.empty())
        std::abort();
    mustBeForeseen(resolved.problems);
    return resolved;
}

} // namespace fuzz
