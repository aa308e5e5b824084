#include "app/views/common/purpose_name.h"

namespace app {

std::string purposeName(const sim::Simulation& simulation, sim::Dimension purpose)
{
    const sim::Mesh& mesh = simulation.mesh();
    const bool sharesExperts = simulation.scenario().model.numExperts > 0 && mesh.groupSize(sim::ProcessGroup::expt_dp) > 1;
    if (purpose != sim::Dimension::dp || mesh.groupSize(sim::ProcessGroup::dp_cp) > 1 || sharesExperts)
        return sim::dimensionName(purpose);
    return simulation.schedule().chains > 1 ? "copies" : "embedding";
}

std::string dataTransfersOf(std::span<const sim::Simulation* const> of)
{
    std::string called;
    for (const sim::Simulation* simulation : of) {
        const std::string name = purposeName(*simulation, sim::Dimension::dp);
        if (!called.empty() && name != called)
            return sim::dimensionName(sim::Dimension::dp);
        called = name;
    }
    return called;
}

namespace {

std::string inPlaceOfDp(std::string name, sim::StepPart part, const std::string& dataTransfers)
{
    const std::string usual = sim::dimensionName(sim::Dimension::dp);
    if (part == sim::StepPart::dp)
        name.replace(name.find(usual), usual.size(), dataTransfers);
    return name;
}

} // namespace

std::string partName(sim::StepPart part, const std::string& dataTransfers)
{
    return inPlaceOfDp(sim::factsOf(part).name, part, dataTransfers);
}

std::string partTitle(sim::StepPart part, const std::string& dataTransfers)
{
    return inPlaceOfDp(sim::factsOf(part).title, part, dataTransfers);
}

} // namespace app
