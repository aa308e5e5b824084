#include "sim/recovery/clock.h"

#include "sim/quantile.h"
#include "sim/recovery/joined_parts.h"
#include "sim/recovery/listed_groups.h"
#include "sim/recovery/pair_clock.h"
#include "sim/recovery/untested_clocks.h"
#include "sim/text/number_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace sim {
namespace {

class Aligner {
public:
    Aligner(const RunEvidence& evidence, const Meetings& meetings) : m_evidence(evidence), m_meetings(meetings) {}

    ClockAlignment align()
    {
        m_result.ranks.resize(m_evidence.ranks.size());
        if (m_evidence.ranks.size() < 2) {
            m_result.isAligned = !m_evidence.ranks.empty();
            m_result.why = "one rank has one clock";
            return std::move(m_result);
        }
        if (m_evidence.isOneClock) {
            m_result.isAligned = true;
            m_result.why = "one program wrote all " + std::to_string(m_evidence.ranks.size()) +
                           " ranks on one clock: aligned by construction";
            return std::move(m_result);
        }
        collect();
        fit();
        if (isConnected()) {
            solve();
            measure();
        }
        if (!m_result.isAligned)
            takeClockOfHost();
        return std::move(m_result);
    }

private:
    const CommSpan& spanOf(const Part& part) const { return m_evidence.ranks[part.rank].comms[part.span]; }
    void collect();
    void fit();
    bool isConnected();
    void solve();
    void measure();
    void takeClockOfHost();
    std::vector<bool> driftsTold() const;
    std::string untoldDriftText() const;

    const RunEvidence& m_evidence;
    const Meetings& m_meetings;
    std::map<RankPair, EndDifferences> m_ends;
    std::vector<PairClock> m_pairs;
    std::set<RankPair> m_byTransfers; ///< ranks that nothing else joins, the lower first
    ClockAlignment m_result;
};

void Aligner::collect()
{
    std::int64_t first = INT64_MAX, last = INT64_MIN;
    for (const Meeting& meeting : m_meetings.meetings.empty() ? m_meetings.transfers : m_meetings.meetings)
        for (const Part& part : meeting.parts) {
            first = std::min(first, spanOf(part).endNs);
            last = std::max(last, spanOf(part).endNs);
        }
    m_result.sinceNs = first > last ? 0 : first + (last - first) / 2;
    for (std::size_t at = 0; at < m_meetings.meetings.size(); ++at) {
        const Meeting& meeting = m_meetings.meetings[at];
        if (!synchronises(meeting.exchange))
            continue;
        // Any one late end is late by its own jitter alone if pairs share no member: neighbours, so that a group is a chain and a
        // star.
        const Part& reference = meeting.parts.front();
        for (std::size_t i = 1; i < meeting.parts.size(); ++i) {
            const Part& part = meeting.parts[i];
            EndDifferences& ends = m_ends[{reference.rank, part.rank}];
            ends.seconds.push_back(static_cast<double>(spanOf(reference).endNs - m_result.sinceNs) * 1e-9);
            ends.aheadNs.push_back(static_cast<double>(spanOf(part).endNs - spanOf(reference).endNs));
            ends.lastsNs = static_cast<double>(
                std::max(spanOf(part).endNs - spanOf(part).startNs, spanOf(reference).endNs - spanOf(reference).startNs));
            ends.meeting = at;
        }
    }
}

void Aligner::fit()
{
    for (const auto& [ranks, ends] : m_ends)
        m_pairs.push_back(pairClockOf(ranks, ends));
}

bool Aligner::isConnected()
{
    const std::size_t count = m_evidence.ranks.size();
    JoinedParts joined(count);
    const auto root = [&joined](std::size_t rank) { return joined.partOf(rank); };
    for (const PairClock& pair : m_pairs)
        joined.join(pair.from, pair.to);
    std::size_t parts = 0, lonely = count;
    for (std::size_t rank = 0; rank < count; ++rank)
        if (root(rank) == rank) {
            ++parts;
            if (rank != 0 && lonely == count)
                lonely = rank;
        }
    if (parts == 1)
        return true;
    // A pipeline's ends meet in no collective: transfers there and back bound the difference from both sides.
    std::map<RankPair, EndDifferences> slack; // (sender, receiver)
    for (const Meeting& transfer : m_meetings.transfers) {
        const Part &send = transfer.parts[0], &receive = transfer.parts[1];
        if (root(send.rank) == root(receive.rank))
            continue;
        EndDifferences& ends = slack[{send.rank, receive.rank}];
        ends.seconds.push_back(static_cast<double>(spanOf(send).endNs - m_result.sinceNs) * 1e-9);
        ends.aheadNs.push_back(static_cast<double>(spanOf(receive).endNs - spanOf(send).endNs));
    }
    std::vector<PairClock> bounds;
    for (auto& [link, forward] : slack) {
        const auto back = slack.find({link.second, link.first});
        if (link.first > link.second || back == slack.end())
            continue;
        // Both ends of a transfer end nearly together; by how much they do not is the same each way, and cancels.
        const PairClock there = pairClockOf(link, forward), home = pairClockOf({link.second, link.first}, back->second);
        bounds.push_back({.from = link.first,
                          .to = link.second,
                          .offsetNs = (there.offsetNs - home.offsetNs) / 2,
                          .slopePpm = (there.slopePpm - home.slopePpm) / 2,
                          .weight = std::min(there.weight, home.weight),
                          .slopeWeight = std::min(there.slopeWeight, home.slopeWeight)});
    }
    for (const PairClock& pair : bounds) {
        m_pairs.push_back(pair);
        m_byTransfers.insert({pair.from, pair.to});
        if (root(pair.from) != root(pair.to)) {
            joined.join(pair.from, pair.to);
            --parts;
        }
    }
    if (parts == 1)
        return true;
    m_result.why = "not aligned: no collective and no transfer there and back joins rank " +
                   std::to_string(m_evidence.ranks[lonely].rank) + " to rank " + std::to_string(m_evidence.ranks[0].rank) + " (" +
                   std::to_string(parts) + " parts); clocks stay as they were recorded";
    return false;
}

void Aligner::solve()
{
    const std::size_t count = m_evidence.ranks.size();
    // Clocks that no pair tells the drift of are taken not to drift against each other.
    const bool anySlope = std::any_of(m_pairs.begin(), m_pairs.end(), [](const PairClock& pair) { return pair.slopeWeight > 0; });
    std::vector<double> drift(count, 0);
    const std::vector<bool> isDriftTold = driftsTold();
    if (anySlope) {
        for (PairClock& pair : m_pairs)
            if (pair.slopeWeight <= 0)
                pair.slopeWeight = 1e-12;
        drift = solveDifferences(count, m_pairs, &PairClock::slopePpm, &PairClock::slopeWeight);
    }
    const std::vector<double> offset = solveDifferences(count, m_pairs, &PairClock::offsetNs, &PairClock::weight);
    for (std::size_t rank = 0; rank < count; ++rank) {
        m_result.ranks[rank].offsetNs = offset[rank];
        m_result.ranks[rank].driftPpm = drift[rank];
        m_result.ranks[rank].isDriftTold = isDriftTold[rank];
    }
}

void Aligner::measure()
{
    m_result.isAligned = true;
    std::vector<std::vector<double>> residuals(m_evidence.ranks.size());
    std::vector<double> all, ends, ofTransfers;
    std::size_t collectives = 0;
    for (const Meeting& meeting : m_meetings.meetings) {
        if (!synchronises(meeting.exchange))
            continue;
        ends.clear();
        for (const Part& part : meeting.parts)
            ends.push_back(static_cast<double>(m_result.aligned(part.rank, spanOf(part).endNs) - m_result.sinceNs));
        const double middle = medianEnd(ends);
        for (std::size_t i = 0; i < ends.size(); ++i)
            residuals[meeting.parts[i].rank].push_back(std::abs(ends[i] - middle));
        ++collectives;
    }
    // A receive that is asked for late ends long after an eager send: between clocks of which transfers alone tell, both ways
    // have to end together.
    for (const Meeting& transfer : m_meetings.transfers) {
        const Part &send = transfer.parts[0], &receive = transfer.parts[1];
        if (!m_byTransfers.contains(std::minmax(std::size_t{send.rank}, std::size_t{receive.rank})))
            continue;
        const std::int64_t apart =
            m_result.aligned(receive.rank, spanOf(receive).endNs) - m_result.aligned(send.rank, spanOf(send).endNs);
        for (const Part& part : transfer.parts)
            residuals[part.rank].push_back(std::abs(static_cast<double>(apart)));
        ofTransfers.push_back(std::abs(static_cast<double>(apart)));
    }
    for (std::size_t rank = 0; rank < residuals.size(); ++rank) {
        std::sort(residuals[rank].begin(), residuals[rank].end());
        m_result.ranks[rank].ends = residuals[rank].size();
        if (!residuals[rank].empty())
            m_result.ranks[rank].residualP95Ns = quantileOf(residuals[rank], 0.95);
        all.insert(all.end(), residuals[rank].begin(), residuals[rank].end());
    }
    std::sort(all.begin(), all.end());
    std::sort(ofTransfers.begin(), ofTransfers.end());
    const double p95OfTransfers = ofTransfers.empty() ? 0 : quantileOf(ofTransfers, 0.95);
    const bool areTransfersApart = p95OfTransfers > kMostResidualNs;
    const double p95 = all.empty() ? 0 : areTransfersApart ? p95OfTransfers : quantileOf(all, 0.95);
    const std::string microseconds = std::to_string(static_cast<std::int64_t>(std::llround(p95 / 1000)));
    if (p95 > kMostResidualNs) {
        const std::string what =
            areTransfersApart ? "of transfers there and back, which alone join some ranks," : "of collectives";
        m_result = {.isAligned = false,
                    .why = "not aligned: after the best fit ends " + what + " still differ by up to " +
                           numberText(p95 * 1e-9, Unit::seconds) + " in 95 of 100, where one clock would keep them within " +
                           numberText(kMostResidualNs * 1e-9, Unit::seconds, 2) + "; clocks stay as they were recorded",
                    .sinceNs = m_result.sinceNs,
                    .ranks = std::vector<RankClock>(m_evidence.ranks.size()),
                    .violations = {}};
        return;
    }
    const std::string transfers = countedText(static_cast<std::int64_t>(ofTransfers.size()), "transfer") + " there and back";
    m_result.why =
        "aligned by the ends of " +
        (ofTransfers.empty() ? countedText(static_cast<std::int64_t>(m_meetings.meetings.size()), "collective")
         : collectives == 0  ? transfers
                             : countedText(static_cast<std::int64_t>(collectives), "collective") + " and " + transfers) +
        (ofTransfers.empty() && m_meetings.meetings.size() == 1 ? "" : "; 95 of 100 ends agree within " + microseconds + " µs") +
        untestedClocksText(m_evidence.ranks.size(), m_ends, m_byTransfers) + untoldDriftText();
    for (const Meeting& transfer : m_meetings.transfers) {
        const Part &send = transfer.parts[0], &receive = transfer.parts[1];
        const std::int64_t before =
            m_result.aligned(send.rank, spanOf(send).startNs) - m_result.aligned(receive.rank, spanOf(receive).endNs);
        if (before > 1000 && m_result.violations.size() < 8)
            m_result.violations.push_back("rank " + std::to_string(m_evidence.ranks[receive.rank].rank) + " has received " +
                                          std::to_string(before / 1000) + " µs before rank " +
                                          std::to_string(m_evidence.ranks[send.rank].rank) + " began to send");
    }
}

/// By rank: whether pairs that tell a slope, or a host that they share, join it to the first.
std::vector<bool> Aligner::driftsTold() const
{
    const std::size_t count = m_evidence.ranks.size();
    JoinedParts together(count);
    for (const PairClock& pair : m_pairs)
        if (pair.slopeWeight > 0)
            together.join(pair.from, pair.to);
    std::map<std::string, std::size_t> ofHost;
    for (std::size_t rank = 0; rank < count; ++rank)
        if (const std::string& host = m_evidence.ranks[rank].host; isNameOfHost(host))
            together.join(rank, ofHost.try_emplace(host, rank).first->second);
    std::vector<bool> told;
    for (std::size_t rank = 0; rank < count; ++rank)
        told.push_back(together.partOf(rank) == together.partOf(0));
    return told;
}

std::string Aligner::untoldDriftText() const
{
    const auto untold =
        std::count_if(m_result.ranks.begin(), m_result.ranks.end(), [](const RankClock& clock) { return !clock.isDriftTold; });
    const bool isAny = std::any_of(m_pairs.begin(), m_pairs.end(), [](const PairClock& pair) { return pair.slopeWeight > 0; });
    return untold == 0 ? std::string()
           : !isAny    ? std::string("; offsets alone: whether the hosts' clocks drift apart is not told")
                       : "; of " + countedText(untold, "rank") + " offsets alone: whether " +
                          (untold == 1 ? "its clock drifts" : "their clocks drift") + " against the first's is not told";
}

/// Processes of one machine read one clock. What they tell must hold on it: no collective ends before its last member begins.
void Aligner::takeClockOfHost()
{
    if (!isOfOneHost(m_evidence))
        return;
    constexpr double kNearlyAll = 0.95;
    std::size_t told = 0, held = 0;
    for (const Meeting& meeting : m_meetings.meetings) {
        if (!synchronises(meeting.exchange))
            continue;
        std::int64_t last = INT64_MIN, first = INT64_MAX;
        for (const Part& part : meeting.parts) {
            last = std::max(last, spanOf(part).startNs);
            first = std::min(first, spanOf(part).endNs);
        }
        ++told;
        held += static_cast<std::size_t>(static_cast<double>(last - first) <= kMostResidualNs);
    }
    if (static_cast<double>(held) < kNearlyAll * static_cast<double>(told))
        return;
    // "not aligned: no collective joins …; clocks stay as they were recorded"
    const std::string_view why = m_result.why;
    const std::size_t from = why.find(": ") + 2;
    const std::string without(why.substr(from, why.rfind(';') - from));
    m_result = {.isAligned = true,
                .why = "one clock: all " + std::to_string(m_evidence.ranks.size()) + " ranks were recorded on host " +
                       m_evidence.ranks.front().host + "; collectives would not tell: " + without,
                .sinceNs = m_result.sinceNs,
                .ranks = std::vector<RankClock>(m_evidence.ranks.size()),
                .violations = {}};
}

} // namespace

std::int64_t ClockAlignment::aligned(std::size_t rank, std::int64_t timeNs) const
{
    if (!isAligned)
        return timeNs;
    const RankClock& clock = ranks[rank];
    const double ahead = clock.offsetNs + clock.driftPpm * 1e-6 * static_cast<double>(timeNs - sinceNs);
    return timeNs - static_cast<std::int64_t>(std::llround(ahead));
}

ClockAlignment alignClocks(const RunEvidence& evidence, const Meetings& meetings)
{
    return Aligner(evidence, meetings).align();
}

void applyClock(RunEvidence& evidence, const ClockAlignment& clock)
{
    if (!clock.isAligned)
        return;
    for (std::size_t rank = 0; rank < evidence.ranks.size(); ++rank) {
        const auto shift = [&](std::int64_t& time) { time = clock.aligned(rank, time); };
        for (CommSpan& span : evidence.ranks[rank].comms) {
            shift(span.startNs);
            shift(span.endNs);
            if (span.launchNs != INT64_MIN)
                shift(span.launchNs);
        }
        for (AskedTransfer& transfer : evidence.ranks[rank].asked)
            shift(transfer.askedNs);
        for (WorkSpan& span : evidence.ranks[rank].work) {
            shift(span.startNs);
            shift(span.endNs);
            if (span.launchNs != INT64_MIN)
                shift(span.launchNs);
        }
        for (auto& [first, last] : evidence.ranks[rank].windows) {
            shift(first);
            shift(last);
        }
        for (MarkSpan& span : evidence.ranks[rank].marks) {
            shift(span.startNs);
            shift(span.endNs);
        }
        for (StepMark& step : evidence.ranks[rank].steps) {
            for (std::int64_t StepMark::*time : {&StepMark::startNs, &StepMark::endNs, &StepMark::fromNs, &StepMark::toNs})
                shift(step.*time);
        }
    }
}

} // namespace sim
