#include "sim/recovery/transfer_way.h"

#include "sim/index.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sim {
namespace {

using Links = std::set<std::pair<int, int>>; ///< (sender, receiver)

TransferWay wayOf(const std::vector<int>& members, const Links& links, const std::vector<int>& recorded)
{
    // Of two ranks a ring is a line.
    if (members.size() < 3 || links.empty())
        return TransferWay::unknown;
    const auto has = [&links](int from, int to) { return links.contains({from, to}); };
    if (std::any_of(links.begin(), links.end(), [&](const auto& link) { return has(link.second, link.first); }))
        return TransferWay::line;
    const int first = members.front(), last = members.back();
    if (has(first, last) || has(last, first))
        return TransferWay::ring;
    const auto isSeen = [&](int rank) {
        return std::binary_search(recorded.begin(), recorded.end(), rank) &&
               std::any_of(links.begin(), links.end(),
                           [rank](const auto& link) { return link.first == rank || link.second == rank; });
    };
    return isSeen(first) || isSeen(last) ? TransferWay::line : TransferWay::unknown;
}

} // namespace

std::vector<TransferWay> transferWays(const RunEvidence& evidence)
{
    std::vector<Links> links(evidence.groups.size());
    std::vector<int> recorded;
    for (const RankEvidence& rank : evidence.ranks) {
        recorded.push_back(rank.rank);
        const auto take = [&](Exchange exchange, std::int32_t group, int peer) {
            if (group < 0 || peer < 0 || asIndex(group) >= links.size())
                return;
            if (exchange == Exchange::send)
                links[asIndex(group)].emplace(rank.rank, peer);
            else if (exchange == Exchange::receive)
                links[asIndex(group)].emplace(peer, rank.rank);
        };
        for (const CommSpan& span : rank.comms)
            take(span.exchange, span.group, span.peer);
        for (const AskedTransfer& transfer : rank.asked)
            take(transfer.exchange, transfer.group, transfer.peer);
    }
    std::sort(recorded.begin(), recorded.end());
    std::vector<TransferWay> ways;
    for (std::size_t group = 0; group < links.size(); ++group)
        ways.push_back(wayOf(evidence.groups[group].ranks, links[group], recorded));
    return ways;
}

} // namespace sim
