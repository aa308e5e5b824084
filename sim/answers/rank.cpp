#include "sim/answers/answers.h"

namespace sim {

Answer rankAnswer(const Mesh& mesh, const Placement& placement, int rank)
{
    const Coordinates c = mesh.coordinates(rank);
    Answer out{{"rank", rank},
               {"world_size", mesh.worldSize()},
               {"coordinates", {{"tp", c.tp}, {"cp", c.cp}, {"dp", c.dp}, {"pp", c.pp}}},
               {"expert_coordinates", {{"expt_tp", c.exptTp}, {"ep", c.ep}, {"expt_dp", c.exptDp}, {"pp", c.pp}}},
               {"gpu", placement.gpu(rank)},
               {"node", placement.node(rank)},
               {"groups", Answer::object()}};
    for (int k = 0; k < kProcessGroupCount; ++k) {
        const auto kind = static_cast<ProcessGroup>(k);
        if (const int group = mesh.groupOf(kind, rank); group >= 0)
            out["groups"][std::string(processGroupName(kind))] = mesh.members(kind, group);
    }
    return out;
}

} // namespace sim
