#include "sim/recovery/call_standing.h"

#include "sim/index.h"

#include <algorithm>
#include <climits>
#include <set>

namespace sim {

CallStanding::CallStanding(const RunEvidence& evidence) : m_evidence(evidence)
{
    std::set<std::int32_t> withTransfers;
    for (const RankEvidence& rank : evidence.ranks) {
        m_areStartsTold = m_areStartsTold || rank.areStartsTold;
        for (const LastCall& call : rank.lastCalls)
            m_calls[call.group].push_back({rank.rank, &call});
        for (const GroupProgress& of : rank.progress)
            if (of.areTransfersCounted)
                withTransfers.insert(of.group);
    }
    for (const RankEvidence& rank : evidence.ranks) {
        for (const LastCall& call : rank.lastCalls)
            if (call.sequence >= 0) { // a group's collectives end in their order: what is before an open one is over
                StandingInGroup& standing = m_standing[{call.group, rank.rank}];
                standing.asked = std::max(standing.asked, call.sequence);
                if (call.isOver)
                    standing.over = std::max(standing.over, call.sequence);
            }
        for (const GroupProgress& of : rank.progress)
            if (!withTransfers.contains(of.group)) {
                StandingInGroup& standing = m_standing[{of.group, rank.rank}];
                standing.asked = std::max(standing.asked, of.lastAsked);
                standing.over = std::max(standing.over, of.lastOver);
                standing.isCounted = true;
            }
        std::map<std::int32_t, std::int64_t> open; // group -> the first
        for (const LastCall& call : rank.lastCalls)
            if (call.sequence >= 0 && !call.isOver) {
                std::int64_t& first = open.try_emplace(call.group, call.sequence).first->second;
                first = std::min(first, call.sequence);
            }
        for (const auto& [group, first] : open) {
            StandingInGroup& standing = m_standing[{group, rank.rank}];
            standing.over = std::max(standing.over, first - 1);
        }
    }
    for (const auto& [of, standing] : m_standing) {
        std::int64_t& over = m_over.try_emplace(of.first, -1).first->second;
        over = std::max(over, standing.over);
    }
    for (const auto& of : m_over)
        if (isGroup(of.first)) {
            std::int64_t& least = m_leastAsked.try_emplace(of.first, INT64_MAX).first->second;
            for (const int rank : membersOf(of.first))
                if (isTold(rank, of.first))
                    least = std::min(least, this->of(of.first, rank).asked);
        }
    for (const RankEvidence& rank : evidence.ranks)
        if (const LastCall* first = firstOpen(rank); first != nullptr && isOverElsewhere(*first))
            m_stopped.emplace(rank.rank, first);
    for (const auto& of : m_over)
        m_calls.try_emplace(of.first); // without calls: of the group only counts are known
}

bool CallStanding::isGroup(std::int32_t group) const
{
    return group >= 0 && asIndex(group) < m_evidence.groups.size();
}

std::vector<int> CallStanding::membersOf(std::int32_t group) const
{
    if (isListed(group))
        return m_evidence.groups[asIndex(group)].ranks;
    std::vector<int> ranks;
    for (auto at = m_standing.lower_bound({group, INT_MIN}); at != m_standing.end() && at->first.first == group; ++at)
        ranks.push_back(at->first.second);
    return ranks;
}

StandingInGroup CallStanding::of(std::int32_t group, int rank) const
{
    const auto found = m_standing.find({group, rank});
    return found == m_standing.end() ? StandingInGroup{} : found->second;
}

std::int64_t CallStanding::lastOver(std::int32_t group) const
{
    const auto found = m_over.find(group);
    return found == m_over.end() ? -1 : found->second;
}

std::vector<int> CallStanding::openByCounts(std::int32_t group, const CallsOfGroup& calls) const
{
    std::vector<int> ranks;
    for (const int rank : membersOf(group)) {
        const StandingInGroup standing = of(group, rank);
        const bool isEntered = std::any_of(calls.begin(), calls.end(), [rank](const CallOfRank& call) {
            return call.rank == rank && !call.call->isOver && call.call->sequence >= 0;
        });
        if (standing.isCounted && standing.asked > standing.over && !isEntered)
            ranks.push_back(rank);
    }
    return ranks;
}

const LastCall* CallStanding::firstOpen(const RankEvidence& rank)
{
    const auto first =
        std::find_if(rank.lastCalls.begin(), rank.lastCalls.end(), [](const LastCall& call) { return !call.isOver; });
    return first == rank.lastCalls.end() ? nullptr : &*first;
}

const LastCall* CallStanding::firstOpen(int rank) const
{
    const auto found = std::find_if(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                                    [rank](const RankEvidence& of) { return of.rank == rank; });
    return found == m_evidence.ranks.end() ? nullptr : firstOpen(*found);
}

bool CallStanding::isOverElsewhere(const LastCall& call) const
{
    const auto over = m_over.find(call.group);
    if (call.sequence < 0 || over == m_over.end() || call.sequence > over->second)
        return false;
    const auto least = m_leastAsked.find(call.group);
    return (call.exchange != Exchange::broadcast && call.exchange != Exchange::reduce) || least == m_leastAsked.end() ||
           call.sequence <= least->second;
}

bool CallStanding::isTold(int rank, std::int32_t group) const
{
    return (group >= 0 && of(group, rank).isCounted) ||
           std::any_of(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                       [rank](const RankEvidence& one) { return one.rank == rank && !one.isDumpCut; });
}

std::vector<int> CallStanding::cutAmong(const std::vector<int>& unknown) const
{
    std::vector<int> cut;
    for (const RankEvidence& rank : m_evidence.ranks)
        if (rank.isDumpCut && std::find(unknown.begin(), unknown.end(), rank.rank) != unknown.end())
            cut.push_back(rank.rank);
    return cut;
}

} // namespace sim
