// Which way the tensor of an all-to-all goes. Plainly each member sends 1/n of its own to each other. Where a node takes one copy
// of a token for all of its members (training.moe.send_once_per_node; DeepSeek-V3's report, section 3.2.2; DeepEP and HybridEP),
// fewer cross the network, and the node hands one on to each member that has an expert for it, all but what is there already.
// Prices and traffic both follow it.
#pragma once

#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"

namespace sim {

struct AllToAllRoutes {
    int nodeTier = -1;        ///< the outermost inside a node; -1: the innermost leaves it
    double members = 1;       ///< of the group
    double membersOfNode = 1; ///< of them; a mean where the group lies unevenly
    bool isOnce = false;      ///< one copy of a token for each node
    double leaving = 1;       ///< of the copies that go to other nodes, those that cross the network: in (0, 1]
    double taken = 1;         ///< of all copies, those left where each member takes one
    /// Of the whole tensor, what a member sends to so many of those in its own node.
    double inNodeShare(double mates) const { return isOnce ? taken * mates / membersOfNode : mates / members; }
    /// Of the whole tensor, what a member sends.
    double sentShare() const { return (members - membersOfNode) / members * leaving + inNodeShare(membersOfNode - 1); }
};

/// How a token's experts are chosen, as far as its way depends on it.
struct TokenChoice {
    bool isOncePerNode = false; ///< which software sends it, also to a single expert: a node takes one copy for all of its own
    int copies = 1;             ///< experts that it goes to
    int experts = 1;            ///< of which they are
    int groups = 1, chosenGroups = 1;
    static TokenChoice of(const Scenario&);
};
/// Experts are chosen evenly, of the groups that are open to the token.
AllToAllRoutes allToAllRoutes(const GroupShape&, const Cluster&, const TokenChoice&);

} // namespace sim
