#include "sim/recovery/unnamed_groups.h"

#include "sim/recovery/group_role.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sim {
namespace {

using StreamOfRank = std::pair<std::uint32_t, std::uint32_t>; ///< index into RunEvidence::ranks, stream

bool namesNoGroup(const CommSpan& span)
{
    return span.group < 0 && span.exchange != Exchange::send && span.exchange != Exchange::receive;
}

std::vector<std::int64_t> endsOn(const RunEvidence& evidence, const StreamOfRank& where)
{
    std::vector<std::int64_t> ends;
    for (const CommSpan& span : evidence.ranks[where.first].comms)
        if (namesNoGroup(span) && span.stream == where.second)
            ends.push_back(span.endNs);
    return ends;
}

/// Collectives end for all members together: between members the difference of ends is that of their clocks, between others it
/// wanders.
bool endTogether(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b)
{
    constexpr std::int64_t kMostApartNs = 20'000;
    std::vector<std::int64_t> differences;
    for (std::size_t i = 0; i < a.size(); ++i)
        differences.push_back(b[i] - a[i]);
    const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), middle, differences.end());
    const std::int64_t median = *middle;
    const auto apart = std::count_if(differences.begin(), differences.end(),
                                     [median](std::int64_t d) { return std::abs(d - median) > kMostApartNs; });
    return apart * 4 <= static_cast<std::ptrdiff_t>(differences.size());
}

/// Ranks that a chain of transfers without a group joins.
void groupByTransfers(RunEvidence& evidence)
{
    std::map<int, int> above; // rank -> another one of its group, towards the lowest
    const auto lowest = [&above](int rank) {
        while (above[rank] != rank)
            rank = above[rank] = above[above[rank]];
        return rank;
    };
    for (const RankEvidence& rank : evidence.ranks)
        for (const CommSpan& span : rank.comms)
            if (span.group < 0 && span.peer >= 0) {
                above.try_emplace(rank.rank, rank.rank);
                above.try_emplace(span.peer, span.peer);
                const int a = lowest(rank.rank), b = lowest(span.peer);
                above[std::max(a, b)] = std::min(a, b);
            }
    std::map<int, GroupEvidence> groups;
    std::vector<int> ranks;
    for (const auto& [rank, other] : above)
        ranks.push_back(rank);
    for (const int rank : ranks)
        groups[lowest(rank)].ranks.push_back(rank);
    std::map<int, std::int32_t> indexOf;
    for (auto& [first, group] : groups) {
        group.isPartial = evidence.isPart();
        group.evidence =
            "sends and receives join these " + std::to_string(group.ranks.size()) + " ranks; the trace names no group";
        indexOf[first] = static_cast<std::int32_t>(evidence.groups.size());
        evidence.groups.push_back(std::move(group));
    }
    for (RankEvidence& rank : evidence.ranks)
        for (CommSpan& span : rank.comms)
            if (span.group < 0 && span.peer >= 0)
                span.group = indexOf[lowest(rank.rank)];
}

/// Kernels that only send and receive, where the trace lists a pipeline for every rank and no experts nor rings that they could
/// be of: they go along it.
void groupByPipelines(RunEvidence& evidence)
{
    std::map<int, std::vector<std::int32_t>> pipelines; // of a rank
    for (std::size_t g = 0; g < evidence.groups.size(); ++g) {
        const GroupRole role = roleFromDescription(evidence.groups[g].description);
        const std::vector<int>& ranks = evidence.groups[g].ranks;
        if (ranks.size() > 1 && (role == GroupRole::expert || role == GroupRole::context))
            return;
        for (const int rank : ranks)
            if (role == GroupRole::pipeline && ranks.size() > 1)
                pipelines[rank].push_back(static_cast<std::int32_t>(g));
    }
    for (const RankEvidence& rank : evidence.ranks)
        if (pipelines[rank.rank].size() != 1)
            return;
    for (RankEvidence& rank : evidence.ranks)
        for (CommSpan& span : rank.comms)
            if (span.group < 0 && span.exchange == Exchange::sendReceive)
                span.group = pipelines[rank.rank].front();
}

void groupByEnds(RunEvidence& evidence)
{
    std::map<std::vector<std::pair<Exchange, std::string>>, std::vector<StreamOfRank>> bySequence;
    for (std::uint32_t r = 0; r < evidence.ranks.size(); ++r) {
        std::map<std::uint32_t, std::vector<std::pair<Exchange, std::string>>> streams;
        for (const CommSpan& span : evidence.ranks[r].comms)
            if (namesNoGroup(span))
                streams[span.stream].emplace_back(span.exchange, evidence.names[span.name]);
        for (auto& [stream, sequence] : streams)
            bySequence[std::move(sequence)].emplace_back(r, stream);
    }
    const bool areAnyUnlisted = std::any_of(evidence.groups.begin(), evidence.groups.end(),
                                            [](const GroupEvidence& group) { return group.ranks.empty(); });
    for (const auto& [sequence, streams] : bySequence) {
        std::vector<std::pair<std::vector<std::int64_t>, std::vector<StreamOfRank>>> clusters; // ends of the first, members
        for (const StreamOfRank& where : streams) {
            std::vector<std::int64_t> ends = endsOn(evidence, where);
            const auto mine = std::find_if(clusters.begin(), clusters.end(), [&](const auto& cluster) {
                return cluster.second.back().first != where.first && endTogether(cluster.first, ends);
            });
            if (mine == clusters.end())
                clusters.push_back({std::move(ends), {where}});
            else
                mine->second.push_back(where);
        }
        for (const auto& [ends, members] : clusters) {
            if (members.size() < 2) {
                evidence.problems.push_back("rank " + std::to_string(evidence.ranks[members.front().first].rank) + ": " +
                                            countedText(static_cast<std::int64_t>(sequence.size()), "collective") +
                                            (sequence.size() == 1 ? " names" : " name") +
                                            (areAnyUnlisted ? " no group whose ranks are known" : " no group") +
                                            ", and no other recorded rank ends the same ones with it");
                continue;
            }
            GroupEvidence group;
            group.isPartial = evidence.isPart();
            for (const StreamOfRank& member : members)
                group.ranks.push_back(evidence.ranks[member.first].rank);
            group.evidence = std::to_string(members.size()) + " ranks end the same " + std::to_string(sequence.size()) +
                             " collectives together; the trace names no group";
            const auto index = static_cast<std::int32_t>(evidence.groups.size());
            evidence.groups.push_back(std::move(group));
            for (const StreamOfRank& member : members)
                for (CommSpan& span : evidence.ranks[member.first].comms)
                    if (namesNoGroup(span) && span.stream == member.second) {
                        span.group = index;
                        // Kernels that only send and receive, and that all ranks end together, may exchange with all; replicas of
                        // a pipeline in step with each other look the same.
                        if (span.exchange == Exchange::sendReceive) {
                            span.exchange = Exchange::allToAll;
                            evidence.groups.back().areAllToAllsGuessed = true;
                        }
                    }
        }
    }
}

} // namespace

void groupByMeetings(RunEvidence& evidence)
{
    groupByTransfers(evidence);
    groupByPipelines(evidence);
    groupByEnds(evidence);
}

} // namespace sim
