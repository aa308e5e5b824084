#include "sim/recovery/matching.h"

#include "sim/text/number_text.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace sim {
namespace {

/// What must agree for two kernels to be of one collective. Bytes of an all-to-all differ by rank.
struct Likeness {
    Exchange exchange = Exchange::unknown;
    std::int64_t bytes = 0;
    bool operator==(const Likeness&) const = default;
};

Likeness likenessOf(const CommSpan& span)
{
    return {span.exchange, span.exchange == Exchange::allToAll ? 0 : span.bytes};
}

using Row = std::vector<std::uint32_t>; ///< comms of a rank in one group, by start

/// By how many kernels `row` starts after `base` (negative: before it): the shift with the longest run of alike kernels; the
/// smallest of several.
int shiftOf(const std::vector<Likeness>& base, const std::vector<Likeness>& row)
{
    constexpr int kFurthest = 64;
    int best = 0;
    std::size_t bestRun = 0;
    for (int distance = 0; distance <= kFurthest; ++distance)
        for (const int shift : {distance, -distance}) {
            if (distance == 0 && shift != 0)
                continue;
            std::size_t run = 0, longest = 0;
            for (std::size_t i = 0; i < row.size(); ++i) {
                const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i) + shift;
                const bool alike =
                    at >= 0 && at < static_cast<std::ptrdiff_t>(base.size()) && base[static_cast<std::size_t>(at)] == row[i];
                run = alike ? run + 1 : 0;
                longest = std::max(longest, run);
            }
            if (longest > bestRun) {
                bestRun = longest;
                best = shift;
            }
            if (bestRun == std::min(base.size(), row.size()))
                return best;
        }
    return best;
}

class Matcher {
public:
    explicit Matcher(const RunEvidence& evidence) : m_evidence(evidence) {}

    Meetings match()
    {
        collectRows();
        for (auto& [group, rows] : m_rows)
            matchGroup(group, rows);
        matchTransfers();
        std::sort(m_result.meetings.begin(), m_result.meetings.end(), [this](const Meeting& a, const Meeting& b) {
            return std::tuple(a.parts[0].rank, spanOf(a.parts[0]).startNs) <
                   std::tuple(b.parts[0].rank, spanOf(b.parts[0]).startNs);
        });
        return std::move(m_result);
    }

private:
    const CommSpan& spanOf(const Part& part) const { return m_evidence.ranks[part.rank].comms[part.span]; }
    void collectRows();
    void matchGroup(std::int32_t group, std::map<std::uint32_t, Row>& rows);
    void matchTransfers();
    void add(std::int32_t group, std::vector<Part> parts);

    const RunEvidence& m_evidence;
    std::map<std::int32_t, std::map<std::uint32_t, Row>> m_rows; ///< group -> rank -> its kernels
    Meetings m_result;
};

void Matcher::collectRows()
{
    for (std::uint32_t r = 0; r < m_evidence.ranks.size(); ++r)
        for (std::uint32_t i = 0; i < m_evidence.ranks[r].comms.size(); ++i) {
            const CommSpan& span = m_evidence.ranks[r].comms[i];
            if (span.group >= 0 && span.exchange != Exchange::send && span.exchange != Exchange::receive)
                m_rows[span.group][r].push_back(i);
        }
}

void Matcher::add(std::int32_t group, std::vector<Part> parts)
{
    if (parts.size() < 2) {
        m_result.unmatched += parts.size();
        return;
    }
    m_result.matched += parts.size();
    m_result.meetings.push_back({.group = group, .exchange = spanOf(parts.front()).exchange, .parts = std::move(parts)});
}

void Matcher::matchGroup(std::int32_t group, std::map<std::uint32_t, Row>& rows)
{
    // Where the library counts, its numbers say which belong together. Sequences may repeat where a counter began anew.
    const bool counted = std::all_of(rows.begin(), rows.end(), [this](const auto& row) {
        return std::all_of(row.second.begin(), row.second.end(),
                           [&](std::uint32_t i) { return m_evidence.ranks[row.first].comms[i].sequence >= 0; });
    });
    if (counted) {
        std::map<std::tuple<std::int64_t, Exchange, int>, std::vector<Part>> bySequence;
        for (const auto& [rank, row] : rows) {
            std::map<std::pair<std::int64_t, Exchange>, int> times;
            for (const std::uint32_t i : row) {
                const CommSpan& span = m_evidence.ranks[rank].comms[i];
                const int time = times[{span.sequence, span.exchange}]++;
                bySequence[{span.sequence, span.exchange, time}].push_back({rank, i});
            }
        }
        for (auto& [key, parts] : bySequence)
            add(group, std::move(parts));
        return;
    }

    std::map<std::uint32_t, std::vector<Likeness>> likeness;
    for (const auto& [rank, row] : rows)
        for (const std::uint32_t i : row)
            likeness[rank].push_back(likenessOf(m_evidence.ranks[rank].comms[i]));
    const auto base = likeness.begin();
    std::map<std::ptrdiff_t, std::vector<Part>> byPlace;
    for (const auto& [rank, row] : rows) {
        const int shift = rank == base->first ? 0 : shiftOf(base->second, likeness[rank]);
        if (shift != 0)
            m_result.problems.push_back("rank " + std::to_string(m_evidence.ranks[rank].rank) + " began recording " +
                                        std::to_string(std::abs(shift)) + " collectives " + (shift > 0 ? "later" : "earlier") +
                                        " than rank " + std::to_string(m_evidence.ranks[base->first].rank) + " in group \"" +
                                        m_evidence.groups[static_cast<std::size_t>(group)].name + "\"; those have no partner");
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(i) + shift;
            std::vector<Part>& parts = byPlace[place];
            const bool fits = parts.empty() || likenessOf(spanOf(parts.front())) == likeness[rank][i];
            if (fits)
                parts.push_back({rank, row[i]});
            else
                ++m_result.unmatched;
        }
    }
    for (auto& [place, parts] : byPlace)
        add(group, std::move(parts));
}

/// By the message's number where the trace has one. Else the k-th send from one rank to another is its k-th receive, counted from
/// the end: profilers start at different instants, and stop when the step does.
void Matcher::matchTransfers()
{
    std::map<std::pair<int, int>, std::pair<std::vector<Part>, std::vector<Part>>> links; // (from, to) -> sends, receives
    for (std::uint32_t r = 0; r < m_evidence.ranks.size(); ++r)
        for (std::uint32_t i = 0; i < m_evidence.ranks[r].comms.size(); ++i) {
            const CommSpan& span = m_evidence.ranks[r].comms[i];
            if (span.peer < 0)
                continue;
            const int self = m_evidence.ranks[r].rank;
            if (span.exchange == Exchange::send)
                links[{self, span.peer}].first.push_back({r, i});
            else if (span.exchange == Exchange::receive)
                links[{span.peer, self}].second.push_back({r, i});
        }
    for (const auto& [link, ends] : links) {
        const auto& [sends, receives] = ends;
        const auto isNumbered = [this](const Part& part) { return spanOf(part).message >= 0; };
        if (std::all_of(sends.begin(), sends.end(), isNumbered) && std::all_of(receives.begin(), receives.end(), isNumbered)) {
            std::unordered_map<std::int64_t, Part> sendOf;
            for (const Part& send : sends)
                sendOf.emplace(spanOf(send).message, send);
            std::size_t both = 0;
            for (const Part& to : receives)
                if (const auto from = sendOf.find(spanOf(to).message); from != sendOf.end()) {
                    ++both;
                    m_result.transfers.push_back(
                        {.group = spanOf(to).group, .exchange = Exchange::send, .parts = {from->second, to}});
                }
            m_result.matched += 2 * both;
            m_result.unmatched += sends.size() + receives.size() - 2 * both;
            continue;
        }
        const std::size_t both = std::min(sends.size(), receives.size());
        m_result.unmatched += sends.size() + receives.size() - 2 * both;
        for (std::size_t i = 0; i < both; ++i) {
            const Part from = sends[sends.size() - both + i], to = receives[receives.size() - both + i];
            m_result.matched += 2;
            m_result.transfers.push_back({.group = spanOf(from).group, .exchange = Exchange::send, .parts = {from, to}});
        }
    }
}

} // namespace

bool endsForAll(const RunEvidence& evidence, const Meeting& meeting)
{
    if (synchronises(meeting.exchange))
        return true;
    if (!evidence.isOneClock || meeting.exchange == Exchange::send || meeting.exchange == Exchange::receive)
        return false;
    constexpr std::int64_t kTogetherNs = 50'000;
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    for (const Part& part : meeting.parts) {
        const std::int64_t end = evidence.ranks[part.rank].comms[part.span].endNs;
        first = std::min(first, end);
        last = std::max(last, end);
    }
    return last - first <= kTogetherNs;
}

Meetings matchCollectives(const RunEvidence& evidence)
{
    return Matcher(evidence).match();
}

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
                                            " no group, and no other recorded rank ends the same ones with it");
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
                        // Kernels that only send and receive, and that all ranks end together, exchange with all.
                        if (span.exchange == Exchange::sendReceive)
                            span.exchange = Exchange::allToAll;
                    }
        }
    }
}

} // namespace

void groupByMeetings(RunEvidence& evidence)
{
    groupByTransfers(evidence);
    groupByEnds(evidence);
}

} // namespace sim
