#include "sim/recovery/late_roots.h"

#include "sim/cancel.h"
#include "sim/recovery/busy_time.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace sim {
namespace {

/// What keeps some until the last has come: a collective, or a receive until its send.
struct Event {
    std::int64_t atNs = 0; ///< when the last came
    std::size_t arrival = 0;
    const Meeting* transfer = nullptr; ///< of a receive; else it is the arrival
    std::int64_t waitNs = 0;           ///< of a receive
};

/// How long a rank's device had nothing to do before an instant.
class IdleBefore {
public:
    explicit IdleBefore(const RunEvidence& evidence)
    {
        for (const RankEvidence& rank : evidence.ranks) {
            std::vector<BusyTime::Span> spans;
            for (const WorkSpan& span : rank.work)
                spans.emplace_back(span.startNs, span.endNs);
            for (const CommSpan& span : rank.comms)
                spans.emplace_back(span.startNs, span.endNs);
            m_busy.emplace_back(std::move(spans));
        }
    }
    std::int64_t of(std::uint32_t rank, std::int64_t ns) const
    {
        const std::vector<BusyTime::Span>& busy = m_busy[rank].spans();
        const auto next = std::lower_bound(busy.begin(), busy.end(), ns,
                                           [](const BusyTime::Span& span, std::int64_t at) { return span.first < at; });
        return next == busy.begin() ? 0 : std::max<std::int64_t>(0, ns - std::prev(next)->second);
    }

private:
    std::vector<BusyTime> m_busy; ///< [rank]
};

class RootFinder {
public:
    RootFinder(const Recovered& recovered, const std::vector<Arrival>& arrivals)
        : m_evidence(recovered.evidence), m_meetings(recovered.meetings), m_stageOf(recovered.passes.pipelineRank),
          m_arrivals(arrivals), m_waits(m_evidence.ranks.size()), m_covered(m_evidence.ranks.size())
    {
        for (std::size_t i = 0; i < arrivals.size(); ++i)
            m_events.push_back({arrivals[i].lastStartNs, i, nullptr});
        addReceives(recovered.axes);
        std::stable_sort(m_events.begin(), m_events.end(), [](const Event& a, const Event& b) { return a.atNs < b.atNs; });
    }

    std::vector<std::uint32_t> find()
    {
        std::vector<std::uint32_t> roots(m_arrivals.size());
        for (const Event& event : m_events) {
            checkCancelled();
            if (event.transfer != nullptr) {
                const Part &send = event.transfer->parts[0], &receive = event.transfer->parts[1];
                const std::int64_t waited = event.waitNs;
                const auto [before, isFirst] = m_lastSent.try_emplace({send.rank, receive.rank}, INT64_MIN);
                const std::uint32_t root = rootOf(send.rank, before->second, event.atNs, waited, 0);
                before->second = event.atNs;
                note(receive.rank, event.atNs, waited, root);
                continue;
            }
            const Arrival& arrival = m_arrivals[event.arrival];
            const Meeting& meeting = m_meetings.meetings[arrival.meeting];
            const auto [met, isFirst] = m_lastMet.try_emplace(meeting.group, INT64_MIN);
            const std::int64_t from = met->second;
            std::vector<std::int64_t> starts, waits; // of the fellows
            const bool isOfOneStage = arrival.drainedNs == INT64_MIN;
            for (const Part& part : meeting.parts)
                if (part.rank != arrival.last && (isOfOneStage || m_stageOf[part.rank] == m_stageOf[arrival.last])) {
                    starts.push_back(startOf(part));
                    waits.push_back(waitedWithin(part.rank, from, startOf(part)));
                }
            const std::int64_t late = arrival.lastStartNs - (isOfOneStage ? medianOf(starts) : arrival.drainedNs);
            const std::uint32_t root = rootOf(arrival.last, from, arrival.lastStartNs, late, medianOf(waits));
            roots[event.arrival] = root;
            for (std::size_t i = 0; i < meeting.parts.size(); ++i)
                note(meeting.parts[i].rank, event.atNs, isOfOneStage ? arrival.waitNs[i] : std::min(arrival.waitNs[i], late),
                     root);
            met->second = event.atNs;
        }
        return roots;
    }

private:
    /// A receive waits for what its pipeline's order leaves no other way, too: as long as those of other replicas between the
    /// same stages, the same one in turn. What counts is what it waits beyond these.
    void addReceives(const RecoveredAxes& axes)
    {
        const IdleBefore idleBefore(m_evidence);
        const RecoveredAxis* const pipeline = axes.find("pp");
        std::vector<Event> receives;
        std::map<std::pair<int, int>, std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>>> links;
        for (const Meeting& transfer : m_meetings.transfers) {
            const Part &send = transfer.parts[0], &receive = transfer.parts[1];
            const std::int64_t sent = startOf(send), asked = startOf(receive);
            if (sent < asked)
                continue;
            const auto placeOf = [&](const Part& part) {
                return pipeline == nullptr ? static_cast<int>(part.rank)
                                           : RecoveredAxes::coordinate(*pipeline, m_evidence.ranks[part.rank].rank);
            };
            links[{placeOf(send), placeOf(receive)}][{send.rank, receive.rank}].push_back(receives.size());
            // Recorders that begin a receive with its transfer show both starts as one: it waited while its device idled.
            receives.push_back({sent, 0, &transfer, sent == asked ? idleBefore.of(receive.rank, asked) : sent - asked});
        }
        for (auto& [places, replicas] : links) {
            std::size_t most = 0;
            for (auto& [ranks, all] : replicas) {
                std::stable_sort(all.begin(), all.end(),
                                 [&](std::size_t a, std::size_t b) { return receives[a].atNs < receives[b].atNs; });
                most = std::max(most, all.size());
            }
            for (std::size_t turn = 0; turn < most; ++turn) {
                std::vector<std::int64_t> waits;
                for (const auto& [ranks, all] : replicas)
                    if (turn < all.size())
                        waits.push_back(receives[all[turn]].waitNs);
                std::sort(waits.begin(), waits.end());
                const std::int64_t usual = waits.size() > 1 ? waits[(waits.size() - 1) / 2] : 0;
                for (const auto& [ranks, all] : replicas) {
                    if (turn >= all.size())
                        continue;
                    Event& receive = receives[all[turn]];
                    const bool isSeen = startOf(receive.transfer->parts[1]) < receive.atNs;
                    receive.waitNs = replicas.size() > 1 || isSeen ? receive.waitNs - usual : 0;
                }
            }
        }
        std::copy_if(receives.begin(), receives.end(), std::back_inserter(m_events),
                     [](const Event& of) { return of.waitNs > 0; });
    }

    /// In the order of time; `before`: of all earlier ones.
    struct Wait {
        std::int64_t atNs = 0, before = 0, ns = 0;
        std::uint32_t root = 0;
    };

    std::int64_t startOf(const Part& part) const { return m_evidence.ranks[part.rank].comms[part.span].startNs; }
    static std::int64_t medianOf(std::vector<std::int64_t>& values)
    {
        if (values.empty())
            return 0;
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    }
    /// In several at once a rank waits once: for whom comes first.
    void note(std::uint32_t rank, std::int64_t atNs, std::int64_t waitNs, std::uint32_t root)
    {
        const std::int64_t ns = m_covered[rank].add(atNs - waitNs, atNs);
        if (ns <= 0)
            return;
        std::vector<Wait>& waits = m_waits[rank];
        const std::int64_t before = waits.empty() ? 0 : waits.back().before + waits.back().ns;
        waits.push_back({atNs, before, ns, root});
    }
    static std::vector<Wait>::const_iterator after(const std::vector<Wait>& waits, std::int64_t ns)
    {
        return std::upper_bound(waits.begin(), waits.end(), ns, [](std::int64_t at, const Wait& wait) { return at < wait.atNs; });
    }
    std::int64_t waitedWithin(std::uint32_t rank, std::int64_t from, std::int64_t to) const
    {
        if (to <= from) // who need not wait for the last one to begin the next
            return 0;
        const std::vector<Wait>& waits = m_waits[rank];
        const auto first = after(waits, from), last = after(waits, to);
        return first == last ? 0 : std::prev(last)->before + std::prev(last)->ns - first->before;
    }
    /// Of a rank that came `late` at `to`: itself, unless waiting since `from`, beyond what its fellows waited, makes most of it.
    std::uint32_t rootOf(std::uint32_t rank, std::int64_t from, std::int64_t to, std::int64_t late, std::int64_t fellows) const
    {
        const std::int64_t own = waitedWithin(rank, from, to);
        if (own <= fellows || 2 * (own - fellows) < late)
            return rank;
        std::map<std::uint32_t, std::int64_t> byRoot;
        const std::vector<Wait>& waits = m_waits[rank];
        for (auto wait = after(waits, from); wait != waits.end() && wait->atNs <= to; ++wait)
            byRoot[wait->root] += wait->ns;
        const auto most =
            std::max_element(byRoot.begin(), byRoot.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
        return most == byRoot.end() ? rank : most->first;
    }

    const RunEvidence& m_evidence;
    const Meetings& m_meetings;
    const std::vector<int>& m_stageOf; ///< [rank]
    const std::vector<Arrival>& m_arrivals;
    std::vector<std::vector<Wait>> m_waits; ///< [rank]
    std::vector<CoveredTime> m_covered;     ///< [rank]
    std::vector<Event> m_events;
    std::map<std::int32_t, std::int64_t> m_lastMet;                             ///< of a group: when all had come
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> m_lastSent; ///< of sender and receiver
};

} // namespace

std::vector<std::uint32_t> lateRoots(const Recovered& recovered, const std::vector<Arrival>& arrivals)
{
    return RootFinder(recovered, arrivals).find();
}

} // namespace sim
