// How the ranks of a pipeline and their groups lie on the cluster. Private to sim/planner.
#pragma once

#include "sim/cost/cost.h"
#include "sim/engine/classes.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"

#include <cstdint>

namespace sim {

/// How ranks lie on the cluster, as seen along the pipeline through rank 0; where ranks of it differ, the best of each.
struct PipelineGeometry {
    GroupGeometry groups;
    int sendTier = 0; ///< the innermost between neighbours
};
/// Groups that a layer's passes ask, or those of copies of the model, too.
enum class GroupsOf : std::uint8_t { layers, all };
PipelineGeometry pipelineGeometry(const Scenario&, GroupsOf);
/// GPUs of a node, or of the domain of several that joins them as one.
int gpusTogether(const Cluster&);
/// Whether domains that are greater, but do not hold all, hold whole blocks of ranks: those that differ in nothing but the
/// outermost axis. Then what lies like another on its nodes lies like it altogether, but for where it is along that axis.
bool domainsHoldBlocks(const Scenario&);
/// As one rank sees them.
GroupGeometry groupGeometryAt(const Scenario&, const Mesh&, const Placement&, const CardsOfRoles&, int rank,
                              GroupsOf = GroupsOf::all);

} // namespace sim
