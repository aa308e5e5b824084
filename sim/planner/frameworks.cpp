// The frameworks that a plan can keep to: those whose limits sim/frameworks knows.
#include "sim/planner/space.h"

#include "sim/error.h"
#include "sim/frameworks/limits.h"
#include "sim/text/nearest.h"
#include "sim/text/quoted.h"

namespace sim {

std::vector<std::string_view> plannedFrameworks()
{
    std::vector<std::string_view> ids;
    for (const Framework& framework : frameworkList())
        ids.push_back(framework.id);
    return ids;
}

void requireFramework(std::string_view id)
{
    if (findFramework(id) != nullptr)
        return;
    std::vector<std::string> known;
    std::string all;
    for (const Framework& framework : frameworkList()) {
        known.emplace_back(framework.id);
        all += (all.empty() ? "" : ", ") + known.back();
    }
    throw Error("there is no framework " + quotedText(std::string(id)) + nearestWords(std::string(id), known) +
                "; known: " + all);
}

std::optional<std::string> softwareOf(std::string_view framework, const ScenarioDocument& document, int zeroStage)
{
    const Framework* const of = findFramework(framework);
    if (of == nullptr || document.get("training.stack"))
        return std::nullopt;
    return "\"" + std::string(of->usualStack(zeroStage)) + "\"";
}

std::string softwareText(std::string_view framework, const ScenarioDocument& document, std::string_view stack)
{
    const Framework* const of = findFramework(framework);
    if (of == nullptr)
        return {};
    const std::string name(of->name), usual(of->usualStack(0)), ofZero3(of->usualStack(3));
    const std::string own = usual + (ofZero3 == usual ? "" : ", with ZeRO 3 " + ofZero3);
    if (!document.get("training.stack"))
        return own + ", as " + name + " runs";
    return of->hasStack(stack) ? std::string(stack) : std::string(stack) + ", which is not what " + name + " runs: " + own;
}

std::string frameworkProblem(const PlanRequest& request, const Scenario& scenario, const Catalogue& catalogue)
{
    const Framework* const framework = findFramework(request.framework);
    return framework == nullptr ? std::string() : exportProblem(*framework, scenario, catalogue);
}

} // namespace sim
