#include "sim/recovery/listed_groups.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace sim {
namespace {

/// Ends are written down a little after they come.
constexpr std::int64_t kLateNs = 50'000;
/// A machine that does too much at once writes some down late. Ranks in step with each other seem to meet in several groups: then
/// none is told apart.
constexpr double kNearlyAll = 0.95, kTooMany = 0.8;

bool isUnnamed(const CommSpan& span)
{
    return span.group < 0 && synchronises(span.exchange);
}

/// What one rank calls without saying in which group, by start.
std::vector<CommSpan*> callsOf(RankEvidence& rank)
{
    std::vector<CommSpan*> calls;
    for (CommSpan& span : rank.comms)
        if (isUnnamed(span))
            calls.push_back(&span);
    return calls;
}

bool areAlike(const std::vector<CommSpan*>& a, const std::vector<CommSpan*>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const CommSpan* x, const CommSpan* y) {
        return std::tie(x->exchange, x->name, x->bytes) == std::tie(y->exchange, y->name, y->bytes);
    });
}

/// The share of calls that could be one for all members: none ends before the last has begun.
double meetingShare(const std::vector<std::vector<CommSpan*>>& members)
{
    std::size_t met = 0;
    for (std::size_t i = 0; i < members.front().size(); ++i) {
        std::int64_t last = INT64_MIN, first = INT64_MAX;
        for (const auto& calls : members) {
            last = std::max(last, calls[i]->startNs);
            first = std::min(first, calls[i]->endNs);
        }
        met += static_cast<std::size_t>(last <= first + kLateNs);
    }
    return static_cast<double>(met) / static_cast<double>(members.front().size());
}

struct ListedGroup {
    std::size_t group = 0;            ///< index into RunEvidence::groups
    std::vector<std::size_t> members; ///< indices into RunEvidence::ranks
    double share = 0;                 ///< of calls that may be one for all
};

class Lister {
public:
    explicit Lister(RunEvidence& evidence) : m_evidence(evidence), m_isOneHost(isOfOneHost(evidence))
    {
        for (RankEvidence& rank : evidence.ranks)
            m_calls.push_back(callsOf(rank));
        m_meets.resize(evidence.groups.size(), false);
        for (const RankEvidence& rank : evidence.ranks)
            for (const CommSpan& span : rank.comms)
                if (span.group >= 0 && synchronises(span.exchange))
                    m_meets[static_cast<std::size_t>(span.group)] = true;
    }

    void collectives()
    {
        std::vector<ListedGroup> candidates;
        std::vector<std::size_t> count(m_calls.size(), 0); // of each rank
        for (std::size_t g = 0; g < m_evidence.groups.size(); ++g)
            if (auto candidate = candidateOf(g)) {
                for (const std::size_t r : candidate->members)
                    ++count[r];
                candidates.push_back(*std::move(candidate));
            }
        std::stable_sort(candidates.begin(), candidates.end(),
                         [](const ListedGroup& a, const ListedGroup& b) { return a.share > b.share; });
        std::vector<bool> isTaken(m_calls.size(), false);
        for (const ListedGroup& candidate : candidates) {
            const bool isOnly =
                std::all_of(candidate.members.begin(), candidate.members.end(), [&](std::size_t r) { return count[r] == 1; });
            const bool isFree =
                std::none_of(candidate.members.begin(), candidate.members.end(), [&](std::size_t r) { return isTaken[r]; });
            if (!isFree || !(isOnly || isBest(candidate, candidates)))
                continue;
            for (const std::size_t r : candidate.members) {
                isTaken[r] = true;
                for (CommSpan* call : m_calls[r])
                    call->group = static_cast<std::int32_t>(candidate.group);
            }
            m_meets[candidate.group] = true;
        }
    }

    /// The other member of a group of two that sends as much as this one receives, and the other way round; a pair that meets in
    /// collectives is one of data parallelism or the like, where another would do, too.
    void transfers()
    {
        for (const GroupEvidence& group : m_evidence.groups) {
            if (group.ranks.size() != 2)
                continue;
            RankEvidence* const a = recorded(group.ranks[0]);
            RankEvidence* const b = recorded(group.ranks[1]);
            if (a == nullptr || b == nullptr || isInOtherPair(*a, group) || isInOtherPair(*b, group))
                continue;
            const auto index = static_cast<std::int32_t>(&group - m_evidence.groups.data());
            for (const auto& [one, other] : {std::pair{a, b}, std::pair{b, a}})
                for (CommSpan& span : one->comms)
                    if (isUnnamedTransfer(span)) {
                        span.peer = other->rank;
                        span.group = index;
                    }
        }
    }

private:
    std::optional<ListedGroup> candidateOf(std::size_t g) const
    {
        ListedGroup out{.group = g, .members = {}, .share = 0};
        std::vector<std::vector<CommSpan*>> calls;
        for (const int rank : m_evidence.groups[g].ranks) {
            const auto at = std::find_if(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                                         [rank](const RankEvidence& each) { return each.rank == rank; });
            if (at == m_evidence.ranks.end())
                continue; // not recorded
            const auto r = static_cast<std::size_t>(at - m_evidence.ranks.begin());
            if (m_calls[r].empty() || (!calls.empty() && !areAlike(calls.front(), m_calls[r])))
                return std::nullopt;
            out.members.push_back(r);
            calls.push_back(m_calls[r]);
        }
        if (calls.size() < 2)
            return std::nullopt;
        out.share = m_isOneHost ? meetingShare(calls) : 0;
        return out;
    }

    /// Its members meet in it, and none of them does in another.
    bool isBest(const ListedGroup& candidate, const std::vector<ListedGroup>& all) const
    {
        if (!m_isOneHost || candidate.share < kNearlyAll)
            return false;
        return std::none_of(all.begin(), all.end(), [&](const ListedGroup& other) {
            const bool isRival = other.group != candidate.group && other.share >= kTooMany && other.members != candidate.members;
            return isRival && std::any_of(other.members.begin(), other.members.end(), [&](std::size_t r) {
                       return std::find(candidate.members.begin(), candidate.members.end(), r) != candidate.members.end();
                   });
        });
    }

    RankEvidence* recorded(int rank)
    {
        const auto at = std::find_if(m_evidence.ranks.begin(), m_evidence.ranks.end(),
                                     [rank](const RankEvidence& each) { return each.rank == rank; });
        return at == m_evidence.ranks.end() ? nullptr : &*at;
    }
    static bool isUnnamedTransfer(const CommSpan& span)
    {
        return span.group < 0 && span.peer < 0 && (span.exchange == Exchange::send || span.exchange == Exchange::receive);
    }
    static std::pair<std::size_t, std::size_t> transfersOf(const RankEvidence& rank)
    {
        std::size_t sends = 0, receives = 0;
        for (const CommSpan& span : rank.comms)
            if (isUnnamedTransfer(span))
                ++(span.exchange == Exchange::send ? sends : receives);
        return {sends, receives};
    }
    /// Whether transfers may be of another pair than `group`: one of it fits as well, or this one does not fit.
    bool isInOtherPair(const RankEvidence& rank, const GroupEvidence& group)
    {
        const auto fits = [&](const GroupEvidence& pair) {
            if (m_meets[static_cast<std::size_t>(&pair - m_evidence.groups.data())])
                return false;
            const int other = pair.ranks[0] == rank.rank ? pair.ranks[1] : pair.ranks[0];
            const RankEvidence* peer = recorded(other);
            const auto [sends, receives] = transfersOf(rank);
            return peer != nullptr && sends + receives > 0 && transfersOf(*peer) == std::pair{receives, sends};
        };
        return !fits(group) || std::any_of(m_evidence.groups.begin(), m_evidence.groups.end(), [&](const GroupEvidence& other) {
            return &other != &group && other.ranks.size() == 2 && other.ranks != group.ranks &&
                   std::find(other.ranks.begin(), other.ranks.end(), rank.rank) != other.ranks.end() && fits(other);
        });
    }

    RunEvidence& m_evidence;
    bool m_isOneHost;
    std::vector<std::vector<CommSpan*>> m_calls; ///< [rank]
    std::vector<bool> m_meets;                   ///< [group] in collectives
};

} // namespace

bool isNameOfHost(std::string_view name)
{
    return !name.empty() && !name.starts_with("localhost");
}

bool isOfOneHost(const RunEvidence& evidence)
{
    if (evidence.ranks.empty())
        return false;
    const std::string& host = evidence.ranks.front().host;
    return isNameOfHost(host) &&
           std::all_of(evidence.ranks.begin(), evidence.ranks.end(), [&](const RankEvidence& rank) { return rank.host == host; });
}

void groupByLists(RunEvidence& evidence)
{
    if (evidence.groups.empty())
        return;
    Lister lister(evidence);
    lister.collectives();
    lister.transfers();
}

} // namespace sim
