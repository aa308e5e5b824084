#include "sim/scenario/filled_in.h"

#include "sim/scenario/catalogue.h"
#include "sim/scenario/resolve/resolve.h"
#include "sim/scenario/schema.h"

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <limits>
#include <utility>

namespace sim {
namespace {

/// What is counted of a scenario, as an int.
bool isCountable(const Scenario& s)
{
    const Layout& l = s.layout;
    const auto fits = [](std::initializer_list<int> sizes) {
        double product = 1;
        for (const int size : sizes)
            product *= size;
        return product >= 1 && product <= std::numeric_limits<int>::max();
    };
    return fits({l.tp, l.cp, l.pp, l.dp}) && fits({s.cluster.nodes, s.cluster.gpusPerNode}) &&
           fits({l.pp, s.schedule.virtualStages}) && fits({s.training.microBatchSize, l.dp});
}

} // namespace

std::optional<Scenario> filledIn(const ScenarioDocument& document, const Catalogue& catalogue)
{
    const auto hasError = [](const std::vector<Problem>& problems) {
        return std::any_of(problems.begin(), problems.end(), [](const Problem& p) { return p.severity == Severity::error; });
    };
    try {
        const Json root = parseStrict(document.text(), document.fileName());
        std::vector<Problem> shape = catalogue.schema().check(root, document.fileName());
        if (hasError(shape))
            return std::nullopt;
        Resolution resolution = resolveScenario(root, document.fileName(), std::move(shape), catalogue);
        if (!hasError(resolution.problems) && isCountable(resolution.scenario))
            return std::move(resolution.scenario);
    } catch (const std::exception&) { // resolve() tells it as a problem
        return std::nullopt;
    }
    return std::nullopt;
}

} // namespace sim
