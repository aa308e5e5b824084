// Who sends how much to whom in one step, and over which tier of the interconnect. Bytes are those of the algorithms that
// sim/cost prices, counted where they leave a rank:
//   all-gather, reduce-scatter   (n-1)/n of the whole tensor from each of n members, once round a ring
//   all-reduce                   twice that, by a tree too; (n+1)/n where switches add (sim/cost/all_reduce.h)
//   all-to-all                   1/n of a member's tensor to each other member, directly; where a node takes one copy of a token,
//                                a part of what goes to other nodes is handed on inside the node instead (sim/cost/all_to_all.h)
//   ring shift                   the whole block to the next member in the group's order
//   send                         the whole activation or gradient to the pipeline neighbour
// A ring over several domains is as many rings side by side as a domain has members, each leaving it through another member's
// port (rails): with g members in a domain, each hands 1/g of what it sends to the same place of the next domain, and the rest to
// its neighbour inside. A group that does not lie evenly has one ring in the order of GPUs. A transfer counts on the innermost
// tier that joins its two ends. Parts are rounded down to whole bytes. Of routed tokens each rank sends the mean of all ranks.
#pragma once

#include "sim/index.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/program/communicator_role.h"
#include "sim/scenario/scenario.h"
#include "sim/simulate/simulation.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sim {

struct OpShape;
class TrafficFlows;

/// Communicators that send, in the order in which they are told.
inline constexpr std::array kTrafficRoles = {
    CommunicatorRole::tp,          CommunicatorRole::cp,     CommunicatorRole::ep,
    CommunicatorRole::exptTp,      CommunicatorRole::pp,     CommunicatorRole::dpShard,
    CommunicatorRole::dpReplicate, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate,
    CommunicatorRole::embd,        CommunicatorRole::copies};

using BytesByDimension = ByDimension<std::int64_t>;

/// What one rank sends another, or gets from it, for one communicator.
struct TrafficFlow {
    int peer = 0;
    int tier = 0; ///< index into Cluster::tiers
    CommunicatorRole role = CommunicatorRole::none;
    std::int64_t bytes = 0;
    bool operator==(const TrafficFlow&) const = default;
};

/// Bytes by communicator and tier.
class TrafficSums {
public:
    TrafficSums() = default;
    explicit TrafficSums(int tiers) : m_bytes(asIndex(tiers)) {}
    int tiers() const { return static_cast<int>(m_bytes.size()); }
    void add(int tier, CommunicatorRole role, std::int64_t bytes) { m_bytes[asIndex(tier)][asIndex(role)] += bytes; }
    TrafficSums& operator+=(const TrafficSums&);
    std::int64_t bytes(int tier, CommunicatorRole role) const { return m_bytes[asIndex(tier)][asIndex(role)]; }
    std::int64_t bytes(int tier, Dimension dimension) const { return byDimension(tier)[dimension]; }
    std::int64_t ofRole(CommunicatorRole) const;
    std::int64_t ofDimension(Dimension dimension) const { return byDimension()[dimension]; }
    BytesByDimension byDimension() const;
    BytesByDimension byDimension(int tier) const;
    std::int64_t ofTier(int tier) const;
    std::int64_t total() const;
    bool operator==(const TrafficSums&) const = default;

private:
    std::vector<std::array<std::int64_t, kCommunicatorRoleCount>> m_bytes; ///< [tier][role]
};

/// Several ranks' sending, by class of ranks: what the load of links is made from.
struct TrafficSenders {
    struct Class {
        int ranks = 0; ///< of the class, among the senders
        TrafficSums sent;
    };
    int ranks = 0;
    int cards = 0;              ///< network cards that they have
    std::vector<Class> classes; ///< [class]
    SendingGpus gpus() const { return {.gpus = ranks, .cards = cards}; }
    TrafficSums total() const;
};

/// Bytes between parts of the world: only cells that are not empty, by row and then column.
struct TrafficMatrix {
    struct Cell {
        int from = 0, to = 0;
        BytesByDimension bytes;
        bool operator==(const Cell&) const = default;
    };
    int parts = 0;
    std::vector<Cell> cells;
};

/// A value of its own: it may outlive the simulation that made it.
class Traffic {
public:
    /// O(ops of a pass, steps, ranks).
    explicit Traffic(const Simulation&);
    /// Of a step that nobody has run.
    Traffic(const Scenario&, const Mesh&, const Placement&, const Program&, const RankClasses&);

    int worldSize() const;
    int tiers() const;

    /// Appends what a rank sends, or gets. Several flows may have one peer. O(peers).
    void appendSends(int rank, std::vector<TrafficFlow>&) const;
    void appendReceives(int rank, std::vector<TrafficFlow>&) const;
    TrafficSums sentBy(int rank) const;
    /// Of these ranks, or of all if there are none.
    SendingGpus gpusOf(std::span<const int> ranks = {}) const;

    /// Of these ranks, or of all if there are none. O(flows).
    TrafficSenders senders(std::span<const int> ranks = {}) const;

    /// What these ranks send, or all if there are none, summed over parts of the world: partOf[rank] in 0 … parts-1, or -1 for
    /// ranks whose traffic is left out. O(flows); memory only for cells that are not empty.
    TrafficMatrix between(std::span<const int> partOf, int parts, std::span<const int> senders = {}) const;

private:
    std::shared_ptr<const TrafficFlows> m_flows; ///< never changes, so copies share it
};

/// What one member of a group sends in a collective, all its peers together; of routed tokens the mean.
std::int64_t sentByMember(const OpShape&, const GroupShape&, const Scenario&);

} // namespace sim
