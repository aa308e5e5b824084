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

} // namespace app
