// The communicators of a job: for every rank the groups that it communicates in, made from the mesh.
#pragma once

#include "live/comm/communicator.h"
#include "sim/index.h"
#include "sim/mesh/mesh.h"
#include "sim/schedule/schedule.h"

#include <array>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace live {

enum class Group : std::uint8_t {
    tp,
    cp,
    headCopies,     ///< ranks of tp that hold the same key-value heads
    experts,        ///< ranks whose tokens meet: tp_ep, which have all slices of all experts
    expertParallel, ///< of those, ranks with the same slices of different experts: they exchange routed tokens
    expertTensor,   ///< ranks with different slices of the same experts: they share what came
    tokens,         ///< ranks that share one micro-batch's tokens: tp_cp
    shard,          ///< shards of a ZeRO copy inside dp_cp
    replicate,      ///< equal shards of different copies
    expertShard,    ///< the same for the experts' weights, inside expt_dp
    expertReplicate,
    embedding, ///< first and last pipeline rank, which share tied weights
    copies,    ///< the two pipeline ranks that hold the same part of a bidirectional pipeline
    world
};
inline constexpr int kGroupCount = 14;
const char* groupName(Group); ///< as in traces: "tp", "dp_cp", …

/// A rank's place in a group. group is null where the rank has none.
struct Membership {
    const CommGroup* group = nullptr;
    int index = 0;
    int size() const { return group ? group->size() : 1; }
};

class JobGroups {
public:
    JobGroups(const sim::Scenario&, const sim::Mesh&, const sim::Schedule&);
    const Membership& of(int rank, Group group) const { return m_members[sim::asIndex(rank)][sim::asIndex(group)]; }
    /// From sender to receiver; made for ranks of one pipeline whose stages are neighbours.
    const CommGroup& pair(int sender, int receiver) const { return *m_pairs.at({sender, receiver}); }
    int worldSize() const { return static_cast<int>(m_members.size()); }
    const std::deque<CommGroup>& all() const { return m_groups; }

private:
    const CommGroup& make(const std::string& name, const std::vector<int>& ranks);
    void enrol(Group, const std::vector<int>& ranks);

    std::deque<CommGroup> m_groups;
    std::vector<std::array<Membership, kGroupCount>> m_members;
    std::map<std::pair<int, int>, const CommGroup*> m_pairs;
};

} // namespace live
