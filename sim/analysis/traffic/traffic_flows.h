// The flows of each rank, made from what its class sends and where its groups lie. Private to sim/analysis.
#pragma once

#include "sim/analysis/traffic/traffic.h"
#include "sim/cost/all_to_all.h"
#include "sim/engine/classes.h"
#include "sim/index.h"
#include "sim/program/program.h"

namespace sim {

class TrafficFlows {
public:
    enum class Direction : std::uint8_t { sends, receives };

    TrafficFlows(const Scenario&, const Mesh&, const Placement&, const Program&, const RankClasses&);
    int worldSize() const { return m_mesh.worldSize(); }
    int tiers() const { return m_tiers; }
    int classes() const { return static_cast<int>(m_volumesOf.size()); }
    int classOf(int rank) const { return m_classOf[asIndex(rank)]; }
    int nicOf(int rank) const { return m_nicOf[asIndex(rank)]; }
    void append(int rank, Direction, std::vector<TrafficFlow>&) const;

private:
    /// What each member of a class sends in a step.
    struct Volumes {
        std::array<std::int64_t, kCommunicatorRoleCount> ring{};  ///< round the ring, in all
        std::array<std::int64_t, kCommunicatorRoleCount> shift{}; ///< to the next in the group's order
        std::array<std::int64_t, kCommunicatorRoleCount> each{};  ///< to every other member, before nodes share
        std::vector<std::pair<int, std::int64_t>> pipeline;       ///< to pipeline ranks, ascending
        std::int64_t toPipelineRank(int pipelineRank) const;
        bool any(CommunicatorRole role) const
        {
            const auto r = asIndex(role);
            return ring[r] > 0 || shift[r] > 0 || each[r] > 0;
        }
    };
    /// The communicators of one role.
    struct Communicators {
        CommunicatorRole role = CommunicatorRole::none;
        RoleGroups groups;           ///< members in the group's own order
        std::vector<int> byGpu;      ///< members in the order of their GPUs
        std::vector<int> place;      ///< [rank] in the group's own order
        std::vector<int> placeByGpu; ///< [rank] in the order of GPUs
        std::vector<int> shapeOf;    ///< [group] -> shapes
        std::vector<GroupShape> shapes;
        std::vector<AllToAllRoutes> routes; ///< parallel to shapes
        std::vector<int> inNode;            ///< [rank] members in its node; empty where no tokens are shared
    };

    const Volumes& volumesOfRank(int rank) const { return m_volumes[asIndex(m_volumesOf[asIndex(classOf(rank))])]; }
    static Volumes volumesOf(int classIndex, const Scenario&, const Program&, const RankClasses&);
    Communicators communicators(CommunicatorRole, const Scenario&) const;
    void countInNodes(Communicators&) const;
    std::int64_t toPeer(const Communicators&, int group, int from, int to, std::int64_t each) const;
    void appendRing(const Communicators&, int group, int rank, std::int64_t bytes, Direction, std::vector<TrafficFlow>&) const;

    Mesh m_mesh;
    Placement m_placement;
    int m_tiers = 0;
    std::vector<int> m_classOf;
    std::vector<int> m_nicOf;                   ///< [rank] network card
    std::vector<Volumes> m_volumes;             ///< of classes with the same program and geometry
    std::vector<int> m_volumesOf;               ///< [class]
    std::vector<Communicators> m_communicators; ///< only of roles that send something
};

} // namespace sim
