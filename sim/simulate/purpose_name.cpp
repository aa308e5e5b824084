#include "sim/simulate/purpose_name.h"

#include <algorithm>
#include <vector>

namespace sim {

std::string purposeName(const Simulation& simulation, Dimension purpose)
{
    const Mesh& mesh = simulation.mesh();
    const bool sharesExperts = simulation.scenario().model.numExperts > 0 && mesh.groupSize(ProcessGroup::expt_dp) > 1;
    if (purpose != Dimension::dp || mesh.groupSize(ProcessGroup::dp_cp) > 1 || sharesExperts)
        return dimensionName(purpose);
    return simulation.schedule().chains > 1 ? "copies" : "embedding";
}

std::string dataTransfersOf(std::span<const Simulation* const> of)
{
    std::string called;
    std::vector<std::string> names;
    for (const Simulation* simulation : of) {
        const std::string name = purposeName(*simulation, Dimension::dp);
        const bool isNothing = name == "embedding" && !simulation->scenario().model.tieWordEmbeddings;
        if (isNothing || std::find(names.begin(), names.end(), name) != names.end())
            continue;
        names.push_back(name);
        called += (called.empty() ? "" : " / ") + name;
    }
    return called.empty() ? dimensionName(Dimension::dp) : called;
}

namespace {

std::string inPlaceOfDp(std::string name, StepPart part, const std::string& dataTransfers)
{
    const std::string usual = dimensionName(Dimension::dp);
    if (part == StepPart::dp)
        name.replace(name.find(usual), usual.size(), dataTransfers);
    return name;
}

} // namespace

std::string partName(StepPart part, const std::string& dataTransfers)
{
    return inPlaceOfDp(factsOf(part).name, part, dataTransfers);
}

std::string partTitle(const Simulation& simulation, StepPart part)
{
    return partTitle(part, purposeName(simulation, Dimension::dp));
}

std::string partSymbol(const Simulation& simulation, StepPart part)
{
    return inPlaceOfDp(factsOf(part).symbol, part, purposeName(simulation, Dimension::dp));
}

std::string partTitle(StepPart part, const std::string& dataTransfers)
{
    return inPlaceOfDp(factsOf(part).title, part, dataTransfers);
}

} // namespace sim
