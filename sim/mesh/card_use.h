// Network cards that several GPUs of a node have together, and who sends over each at the same time.
#pragma once

#include "sim/mesh/placement.h"
#include "sim/scenario/scenario.h"

#include <map>
#include <utility>
#include <vector>

namespace sim {

/// As the groups of one kind use them. Those of one stage run the same collectives at the same time, and the ones that leave a
/// node, or what NVLink joins, meet on the cards that lead out of it. Other stages' send at other times or beside them, as the
/// engine finds.
class CardUse {
public:
    CardUse(const Cluster&, const Placement&);
    /// `ranks`: of one group, in the order of its ring.
    void add(int stage, const std::vector<int>& ranks);
    /// What a group that was added has of them: GroupShape::cards and hops.
    void describe(GroupShape&, int stage, const std::vector<int>& ranks) const;
    /// [place in `ranks`] GroupShape::senders, of each member of a group that is described so: of all at once, since each needs
    /// what all of its domain have.
    std::vector<int> senders(const GroupShape&, int stage, const std::vector<int>& ranks) const;

private:
    struct Load {
        int ranks = 0; ///< of groups that leave
        int hops = 0;  ///< of these, those whose next member is elsewhere
    };
    using StageAndCard = std::pair<int, int>;
    StageAndCard meetingAt(int stage, int rank) const { return {stage, cardOf(rank)}; }
    const Load& loadOf(int stage, int rank) const { return m_loads.at(meetingAt(stage, rank)); }
    bool leaves(const std::vector<int>& ranks) const;
    bool hops(const std::vector<int>& ranks, std::size_t place) const; ///< from there to the next
    int domainOf(int rank) const;                                      ///< of those that cards lead out of
    int domainOf(int rank, int span) const;
    /// How many cards the members have in each domain of so many GPUs; 0: of all.
    std::map<int, double> cardsByDomain(int span, int stage, const std::vector<int>& ranks) const;
    int cardOf(int rank) const { return nicOf(*m_cluster, m_placement->gpu(rank)); }

    const Cluster* m_cluster;
    const Placement* m_placement;
    std::map<StageAndCard, Load> m_loads;
};

} // namespace sim
