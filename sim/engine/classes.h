// Ranks that cannot differ are simulated once. A partition of the ranks is exact when any two ranks of a class execute the same
// program at the same prices and their groups hold the same mix of classes (an equitable partition); it is found by refinement.
#pragma once

#include "sim/cost/cost.h"
#include "sim/mesh/card_use.h"
#include "sim/mesh/mesh.h"
#include "sim/mesh/placement.h"
#include "sim/program/program.h"
#include "sim/scenario/scenario.h"

#include <cstdint>
#include <map>
#include <vector>

namespace sim {

/// What perturbations do to one rank.
struct RankSlowdown {
    double compute = 1; ///< kernels take this many times as long
    double link = 1;    ///< so do its transfers; a collective takes its slowest member's factor
    double jitter = 0;  ///< relative standard deviation of each kernel
    std::uint64_t jitterSeed = 0;
    int replica = -1; ///< data-parallel coordinate, where replicas' documents differ
    bool operator==(const RankSlowdown&) const = default;
};

/// Members of every communicator of one role.
struct RoleGroups {
    std::vector<int> groupOf; ///< [rank], -1 if the rank is in none
    std::vector<int> first;   ///< [group], and one past the end: offsets into members
    std::vector<int> members; ///< ascending within a group
    int count() const { return static_cast<int>(first.size()) - 1; }
};
RoleGroups roleGroups(CommunicatorRole, const Mesh&, const Scenario&);

/// How the groups of each role use cards that several GPUs have together; none where each has its own.
using CardsOfRoles = std::map<CommunicatorRole, CardUse>;
CardsOfRoles cardsOfRoles(const Scenario&, const Mesh&, const Placement&);

/// How the communicators of one role lie on the tiers; none where nobody has a partner.
struct RoleSpan {
    int ranks = 1;                   ///< members of each
    std::vector<int> groupsSpanning; ///< [tier] those that it is the innermost one to hold whole
    int groups() const;
    int across() const; ///< those in several domains of the innermost tier
    int widestTier() const;
};
RoleSpan roleSpan(CommunicatorRole, const Mesh&, const Placement&, const Scenario&);

/// A communicator between classes: each of its classes stands for at least one member.
struct ClassGroup {
    std::vector<int> classes; ///< ascending
    double linkFactor = 1;
};

/// A rank of the same pipeline, as a class sees it.
struct PipelinePeer {
    int pipelineRank = 0;
    int classIndex = 0;
    int tier = 0; ///< on the way to it
};

struct RankClasses {
    std::vector<int> classOf;                         ///< [rank]; classes are numbered by their lowest rank
    std::vector<int> representative;                  ///< [class]
    std::vector<int> size;                            ///< [class]
    std::vector<int> pipelineRank;                    ///< [class]
    std::vector<RankSlowdown> slowdown;               ///< [class]
    std::vector<std::vector<double>> attentionShares; ///< [replica][micro-batch]; documents.h
    std::vector<int> geometry;                        ///< [class] -> geometries
    /// [class] the lowest class of those whose ranks have a network card together; empty where each has its own.
    std::vector<int> nic;
    std::vector<int> ranksOnNic; ///< [class] ranks of it on the card of each; likewise
    std::vector<GroupGeometry> geometries;
    std::vector<std::array<int, kCommunicatorRoleCount>> groups; ///< [class][role] -> classGroups, -1 if it has no partner
    std::vector<ClassGroup> classGroups;
    /// [class] those it exchanges activations with, and the next one of the ring. A rank has few, however long the pipeline is.
    std::vector<std::vector<PipelinePeer>> pipelinePeers;
    int count() const { return static_cast<int>(representative.size()); }
    int nicOf(int classIndex) const { return nic.empty() ? classIndex : nic[static_cast<std::size_t>(classIndex)]; }
    int sharersOf(int classIndex) const { return nic.empty() ? 1 : ranksOnNic[static_cast<std::size_t>(classIndex)]; }
    const PipelinePeer& peerOf(int classIndex, int toPipelineRank) const;
};

/// `full`: every rank is a class of its own.
RankClasses makeRankClasses(const Scenario&, const Mesh&, const Placement&, const Schedule&, bool full);

} // namespace sim
