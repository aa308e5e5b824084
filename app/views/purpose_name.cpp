#include "app/views/purpose_name.h"

namespace app {

std::string purposeName(const sim::Simulation& simulation, sim::TrafficPurpose purpose)
{
    const sim::Mesh& mesh = simulation.mesh();
    const bool sharesExperts = simulation.scenario().model.numExperts > 0 && mesh.groupSize(sim::GroupKind::expt_dp) > 1;
    if (purpose != sim::TrafficPurpose::dp || mesh.groupSize(sim::GroupKind::dp_cp) > 1 || sharesExperts)
        return sim::trafficPurposeName(purpose);
    return simulation.schedule().chains > 1 ? "copies" : "embedding";
}

} // namespace app
