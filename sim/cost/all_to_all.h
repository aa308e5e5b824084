// Which way the tensor of an all-to-all goes. Plainly each member sends 1/n of its own to each other. Where a node takes one copy
// of a token for all of its members (training.moe.send_once_per_node; DeepSeek-V3's report, section 3.2.2), a part of what goes
// to other nodes stays away from the network, and as much is handed on inside the node that took it. Prices and traffic both
// follow it.
#pragma once

#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"

namespace sim {

struct AllToAllRoutes {
    int nodeTier = -1;        ///< the outermost inside a node; -1: the innermost leaves it
    double membersOfNode = 1; ///< of the group; a mean where it lies unevenly
    double leaving = 1;       ///< of the copies that go to other nodes, those that cross the network: in (0, 1]
    /// To members in other nodes: `leaving` of what would go there. To those in its own: what is theirs, and what was taken for
    /// them.
    bool handsOn() const { return leaving < 1 && membersOfNode > 1; }
};

/// Experts that a token goes to, where a node takes one copy for all of its own; else 1.
int copiesOfToken(const Scenario&);
/// Experts are chosen evenly.
AllToAllRoutes allToAllRoutes(const GroupShape&, const Cluster&, int copies);

} // namespace sim
