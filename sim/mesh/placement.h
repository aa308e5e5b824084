// Where ranks sit: rank -> GPU -> node, and which interconnect tier joins two ranks.
#pragma once

#include "sim/mesh/mesh.h"
#include "sim/scenario/scenario.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

/// How a group of ranks lies on the tiers, innermost first.
struct GroupShape {
    int size = 1;             ///< ranks
    std::vector<int> domains; ///< [tier], distinct, that the group touches; the last is 1
    /// [tier], ranks in the domain that has the fewest and in the one that has the most of them; both empty where each domain of
    /// every tier holds equally many.
    std::vector<int> fewest, most;
    /// [tier], of network cards that several GPUs have together: how many of them the members in one domain have, where that is
    /// least, while all groups of their kind and stage send (CardUse); empty where each GPU has its own, or none leave a node.
    std::vector<double> cards;
    int hops = 1; ///< likewise: members that send to their next over one card, where they are most
    /// Likewise: so many that send as much as the member that looks keep its card busy. Rounded down, never below those that do
    /// send over it: what a member takes of a card is told rather too large than too small, and of all of them never above it.
    int senders = 1;
    bool operator==(const GroupShape&) const = default;
    auto operator<=>(const GroupShape&) const = default; // NOLINT(modernize-use-nullptr): it misreads the defaulted body
    bool isUniform() const { return fewest.empty(); }
    double fewestIn(std::size_t tier) const { return isUniform() ? meanIn(tier) : fewest[tier]; }
    double mostIn(std::size_t tier) const { return isUniform() ? meanIn(tier) : most[tier]; }
    double meanIn(std::size_t tier) const { return static_cast<double>(size) / domains[tier]; }
    /// Innermost tier whose one domain holds the whole group.
    int spanningTier() const;
};

/// GPUs of a node that have one network card together.
int gpusPerNic(const Cluster&);
/// Number of a GPU's card, among those of all nodes.
int nicOf(const Cluster&, int gpu);
/// GPUs that send, and the network cards that they have.
struct SendingGpus {
    int gpus = 1, cards = 1;
};
/// GB/s that they can send over a tier together while no others do.
double bandwidthGBs(const Cluster&, std::size_t tier, SendingGpus);
/// A tier's bandwidth as people are told it: of a network card, where several GPUs have it together, and of how many; behind such
/// cards of a GPU while all of its card send.
struct ToldBandwidth {
    double gbs = 0;
    int gpus = 1;
    std::string of() const; ///< "a GPU", "a card of 4 GPUs"
};
ToldBandwidth toldBandwidth(const Cluster&, std::size_t tier);

/// On the node that has the most of them: they share its host. Also of a placement that is not possible; at least 1.
int mostRanksOfNode(const Layout&, const Cluster&);

class Placement {
public:
    /// Packed: rank r on GPU r. Round-robin: one rank to each node in turn (Slurm's cyclic distribution). Throws Error if the
    /// ranks outnumber the GPUs, the explicit list is not one GPU a rank, or no tier joins all GPUs.
    Placement(const Layout&, const Cluster&);
    int gpu(int rank) const;
    int node(int rank) const { return gpu(rank) / m_gpusPerNode; }
    /// Also the rail: network card i serves GPU i of a node.
    int gpuOfNode(int rank) const { return gpu(rank) % m_gpusPerNode; }
    /// Index into Cluster::tiers of the innermost tier that joins the two; 0 for the same GPU.
    int tierBetween(int rankA, int rankB) const;
    /// O(ranks) where GPUs ascend along the group, as in every group of a packed mesh.
    GroupShape shape(const std::vector<int>& ranks) const;

private:
    PlacementRule m_rule;
    std::vector<int> m_explicit;
    int m_gpusPerNode = 1, m_nodes = 1, m_worldSize = 1;
    std::vector<int> m_spans; ///< GPUs that a domain of each tier joins
};

} // namespace sim
