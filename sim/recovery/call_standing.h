// How far each rank has come in the calls of its groups, as its recorder's entries and counts tell it.
#pragma once

#include "sim/recovery/evidence.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace sim {

/// How far a rank has come in a group.
struct StandingInGroup {
    std::int64_t asked = -1, over = -1;
    bool isCounted = false; ///< by its library, also where no call is known
};

struct CallOfRank {
    int rank = 0;
    const LastCall* call = nullptr;
};
using CallsOfGroup = std::vector<CallOfRank>;

/// Of evidence that outlives it.
class CallStanding {
public:
    explicit CallStanding(const RunEvidence& evidence);

    const RunEvidence& evidence() const { return m_evidence; }
    /// By group; without calls where only counts are known of it.
    const std::map<std::int32_t, CallsOfGroup>& calls() const { return m_calls; }
    bool areStartsTold() const { return m_areStartsTold; } ///< by any recorder
    bool isGroup(std::int32_t group) const;
    bool isListed(std::int32_t group) const { return !m_evidence.groups[static_cast<std::size_t>(group)].ranks.empty(); }
    /// As listed; of a group without a list the ranks whose dumps name it.
    std::vector<int> membersOf(std::int32_t group) const;
    StandingInGroup of(std::int32_t group, int rank) const;
    /// Number of the last call of the group that a member has ended; -1 none.
    std::int64_t lastOver(std::int32_t group) const;
    /// Ranks of which counts alone say that something is open in the group: no entry does.
    std::vector<int> openByCounts(std::int32_t group, const CallsOfGroup& calls) const;
    /// What the rank asked for first of all that is not over; nullptr: nothing.
    const LastCall* firstOpen(int rank) const;
    /// Another member has ended it, though this one has not noticed. A broadcast ends on its root, and a reduction on a leaf,
    /// when their own part is sent: of these all have to have come, too.
    bool isOverElsewhere(const LastCall& call) const;
    /// Else its device waits in what was asked for before. Where starts are not told, it can be in the first that is open alone.
    bool canBeIn(const CallOfRank& of) const { return of.call->isBegun || (!m_areStartsTold && firstOpen(of.rank) == of.call); }
    /// Ranks that wait first in what others have ended, with that.
    const std::map<int, const LastCall*>& stopped() const { return m_stopped; }
    /// Whether what it asked for last in the group is known; of no group, whether its dump is whole.
    bool isTold(int rank, std::int32_t group = -1) const;
    /// Of those that are not told: those of which there is a part of a dump.
    std::vector<int> cutAmong(const std::vector<int>& unknown) const;

private:
    static const LastCall* firstOpen(const RankEvidence& rank);

    const RunEvidence& m_evidence;
    bool m_areStartsTold = false;
    std::map<std::int32_t, CallsOfGroup> m_calls;
    std::map<std::pair<std::int32_t, int>, StandingInGroup> m_standing; ///< by group and rank
    std::map<std::int32_t, std::int64_t> m_over;                        ///< group -> number of the last that a member has ended
    std::map<std::int32_t, std::int64_t> m_leastAsked; ///< group -> what all members that are told have asked for
    std::map<int, const LastCall*> m_stopped;
};

} // namespace sim
