#include "sim/recovery/slow_links.h"

#include "sim/recovery/listed_groups.h"
#include "sim/recovery/run_findings.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace sim {
namespace {

struct Slow {
    double ratio = 0, ns = 0; ///< the largest; of all steps
};

/// Of `alike` transfers, by whose they are: those that clearly take longer than their siblings, added to `slowest`.
template <typename Whose>
void addSlow(const std::map<Whose, std::vector<double>>& alike, std::map<Whose, Slow>& slowest)
{
    const auto median = [](std::vector<double> values) { // of two the lower one
        std::sort(values.begin(), values.end());
        return values[(values.size() - 1) / 2];
    };
    if (alike.size() < 2)
        return;
    std::map<Whose, double> medians;
    std::vector<double> sorted;
    for (const auto& [whose, times] : alike)
        sorted.push_back(medians[whose] = median(times));
    std::sort(sorted.begin(), sorted.end());
    const double usual = sorted[(sorted.size() - 2) / 2]; // median of the others: what is slow lies behind it
    for (const auto& [whose, times] : alike) {
        const double own = medians.at(whose);
        if (usual > 0 && own > 1.3 * usual) {
            Slow& slow = slowest[whose];
            slow.ratio = std::max(slow.ratio, own / usual);
            slow.ns += (own - usual) * static_cast<double>(times.size());
        }
    }
}

/// Whether a library of the host (Gloo, MPI) exchanged it in the memory of one machine: how long that takes is the processors'
/// doing, and no link's.
bool isInMemoryOfHost(const RunEvidence& evidence, const Meeting& meeting)
{
    const std::string& host = evidence.ranks[meeting.parts.front().rank].host;
    return isNameOfHost(host) && std::all_of(meeting.parts.begin(), meeting.parts.end(), [&](const Part& part) {
               const RankEvidence& rank = evidence.ranks[part.rank];
               return rank.host == host && rank.comms[part.span].stream == kStreamOfHost;
           });
}

/// [comm]: whether it is a transfer beside others of its stream, which kernels are not. The host then waits for them one after
/// the other, and each may seem to last as long as the one that its peer asks for last.
std::vector<bool> areAwaitedTogether(const RankEvidence& rank)
{
    constexpr std::int64_t kRoundingNs = 1000; // files may hold microseconds
    std::vector<bool> together(rank.comms.size());
    std::map<std::uint32_t, std::size_t> longest; // stream -> of its transfers so far the one that ends last
    for (std::size_t i = 0; i < rank.comms.size(); ++i) {
        const CommSpan& span = rank.comms[i];
        if (!isTransfer(span.exchange))
            continue;
        const auto [before, isFirst] = longest.try_emplace(span.stream, i);
        if (isFirst)
            continue;
        if (rank.comms[before->second].endNs > span.startNs + kRoundingNs)
            together[i] = together[before->second] = true;
        if (span.endNs > rank.comms[before->second].endNs)
            before->second = i;
    }
    return together;
}

class SlowLinks {
public:
    SlowLinks(const Recovered& recovered, const RunAnswers& answers)
        : m_recovered(recovered), m_answers(answers),
          m_steps(std::max<double>(1, static_cast<double>(recovered.steps.usual().size())))
    {
        for (const RankTime& rank : answers.times.ranks)
            m_windowNs += static_cast<double>(rank.windowNs) / static_cast<double>(answers.times.ranks.size());
    }
    std::vector<RunFinding> find()
    {
        addGroups();
        addPairs();
        return std::move(m_found);
    }

private:
    template <typename Whose>
    void keepWorthwhile(std::map<Whose, Slow>& slowest) const
    {
        constexpr double kWorthwhile = 0.01; // of the step
        std::erase_if(slowest, [&](const auto& of) { return of.second.ns < kWorthwhile * m_steps * m_windowNs; });
    }
    void addGroups();
    void addPairs();

    const Recovered& m_recovered;
    const RunAnswers& m_answers;
    double m_steps = 1, m_windowNs = 0; ///< usual ones; mean of ranks
    std::vector<RunFinding> m_found;
};

void SlowLinks::addGroups()
{
    const AxesOfGroups axes(m_recovered);
    std::map<std::tuple<std::string, Exchange, std::int64_t>, std::map<std::int32_t, std::vector<double>>> alike;
    for (const Arrival& arrival : m_answers.arrivals.list) {
        const Meeting& meeting = m_recovered.meetings.meetings[arrival.meeting];
        if (!arrival.isUsual || isInMemoryOfHost(m_recovered.evidence, meeting))
            continue;
        const Part& first = meeting.parts.front();
        const CommSpan& span = m_recovered.evidence.ranks[first.rank].comms[first.span];
        const std::vector<int>& members = m_recovered.evidence.groups[static_cast<std::size_t>(meeting.group)].ranks;
        if (meeting.parts.size() == members.size() && span.bytes > 0 && meeting.exchange != Exchange::allToAll)
            alike[{axes.of(meeting.group, meeting.exchange), meeting.exchange, span.bytes}][meeting.group].push_back(
                static_cast<double>(arrival.transferNs));
    }
    std::map<std::int32_t, Slow> slowest;
    for (const auto& [what, groups] : alike)
        addSlow(groups, slowest);
    keepWorthwhile(slowest);
    // Of several groups with one rank in common it is that rank's link.
    std::vector<int> common;
    for (const auto& [group, slow] : slowest) {
        const std::vector<int>& members = m_recovered.evidence.groups[static_cast<std::size_t>(group)].ranks;
        std::vector<int> both;
        std::set_intersection(common.begin(), common.end(), members.begin(), members.end(), std::back_inserter(both));
        common = group == slowest.begin()->first ? members : both;
    }
    const bool isOfOneRank = slowest.size() >= 2 && common.size() == 1;
    for (const auto& [group, slow] : slowest) {
        const std::vector<int>& members = m_recovered.evidence.groups[static_cast<std::size_t>(group)].ranks;
        std::string names;
        for (std::size_t i = 0; i < std::min<std::size_t>(members.size(), 8); ++i)
            names += (i > 0 ? ", " : "") + std::to_string(members[i]);
        names += members.size() > 8 ? ", …" : "";
        m_found.push_back(
            {.kind = "slow-group",
             .title = "The " + axisText(axes.of(group, Exchange::unknown)) + " group of ranks " + names + " is " +
                      numberText(slow.ratio, Unit::number) + " times slower than its siblings",
             .detail =
                 std::string(
                     "The same collectives of the same size take longer there once all are present: a link between these ranks "
                     "is slow, not their computing.") +
                 (isOfOneRank ? " Rank " + std::to_string(common.front()) + " is in all " + std::to_string(slowest.size()) +
                                    " slow groups, and no other rank is."
                              : std::string()),
             .seconds = secondsOf(slow.ns) / m_steps,
             .ranks = members});
    }
}

/// Where several replicas of a pipeline send between the same two stages.
void SlowLinks::addPairs()
{
    if (!m_recovered.clock.isAligned) // when both ends are ready cannot be told
        return;
    const std::vector<RankEvidence>& ranks = m_recovered.evidence.ranks;
    const std::vector<int>& stageOf = m_recovered.passes.pipelineRank;
    const auto spanOf = [&](const Part& part) -> const CommSpan& { return ranks[part.rank].comms[part.span]; };
    // A kernel that exchanges with several peers may wait for another one than this.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> peersOf; // of rank and span
    for (const Meeting& transfer : m_recovered.meetings.transfers)
        for (const std::size_t end : {0U, 1U})
            peersOf[{transfer.parts[end].rank, transfer.parts[end].span}].insert(transfer.parts[1 - end].rank);
    std::vector<BusyTime> usual;
    std::vector<std::vector<bool>> together; // as RunEvidence::ranks
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        usual.push_back(usualStepsOf(m_recovered, r));
        together.push_back(areAwaitedTogether(ranks[r]));
    }
    using Pair = std::pair<int, int>;                                                        // the lower one first
    std::map<std::tuple<int, int, std::int64_t>, std::map<Pair, std::vector<double>>> alike; // stages, bytes
    for (const Meeting& transfer : m_recovered.meetings.transfers) {
        const Part &send = transfer.parts[0], &receive = transfer.parts[1];
        if (stageOf[send.rank] == stageOf[receive.rank] || peersOf.at({send.rank, send.span}).size() > 1 ||
            peersOf.at({receive.rank, receive.span}).size() > 1 || !usual[receive.rank].holds(spanOf(receive).startNs) ||
            together[send.rank][send.span] || together[receive.rank][receive.span] ||
            isInMemoryOfHost(m_recovered.evidence, transfer))
            continue;
        const std::int64_t bothThere = std::max(spanOf(send).startNs, spanOf(receive).startNs);
        const std::int64_t over = std::min(spanOf(send).endNs, spanOf(receive).endNs);
        const std::int64_t bytes = std::max(spanOf(send).bytes, spanOf(receive).bytes);
        if (over > bothThere) // a send may end before it is received
            alike[{stageOf[send.rank], stageOf[receive.rank], bytes}]
                 [Pair(std::minmax(ranks[send.rank].rank, ranks[receive.rank].rank))]
                     .push_back(static_cast<double>(over - bothThere));
    }
    std::map<Pair, Slow> slowest;
    for (const auto& [what, pairs] : alike)
        addSlow(pairs, slowest);
    keepWorthwhile(slowest);
    for (const auto& [pair, slow] : slowest)
        m_found.push_back({.kind = "slow-link",
                           .title = "The link between ranks " + std::to_string(pair.first) + " and " +
                                    std::to_string(pair.second) + " is " + numberText(slow.ratio, Unit::number) +
                                    " times slower than its siblings",
                           .detail = "Messages of the same size between the same stages take longer there once both ends are "
                                     "ready than in the other replicas of the pipeline: the link is slow, not their computing.",
                           .seconds = secondsOf(slow.ns) / m_steps,
                           .ranks = {pair.first, pair.second}});
}

} // namespace

std::vector<RunFinding> slowLinks(const Recovered& recovered, const RunAnswers& answers)
{
    return SlowLinks(recovered, answers).find();
}

} // namespace sim
