#include "sim/answers/offload.h"

namespace sim {

void addOffload(Answer& answer, const Simulation& simulation)
{
    const Metrics& m = simulation.metrics();
    if (simulation.scenario().training.offload.isOn())
        answer["offload"] = {{"exposed_fraction", m.exposedHost - m.exposedLaunches},
                             {"host_memory_gib", m.hostMemoryGib},
                             {"host_fits", m.hostFits},
                             {"host_has_gib", simulation.scenario().cluster.host.memoryGib}};
}

} // namespace sim
