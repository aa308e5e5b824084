#include "sim/recovery/rank_path.h"

#include "sim/cancel.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace sim {
namespace {

/// Something that occupied a rank's device.
struct DeviceSpan {
    std::int64_t startNs = 0, endNs = 0, launchNs = INT64_MIN;
    std::uint32_t name = 0;
    std::int32_t comm = -1; ///< index into the rank's comms
};

class PathFinder {
public:
    explicit PathFinder(const Recovered& recovered) : m_recovered(recovered), m_evidence(recovered.evidence)
    {
        for (const Meeting& meeting : recovered.meetings.meetings)
            if (endsForAll(m_evidence, meeting))
                for (const Part& part : meeting.parts)
                    m_meetingOf[keyOf(part.rank, part.span)] = &meeting;
        for (const Meeting& transfer : recovered.meetings.transfers)
            m_receiveOf[keyOf(transfer.parts[1].rank, transfer.parts[1].span)] = &transfer;
    }

    RankPath find(std::size_t step)
    {
        m_spans.clear();
        m_result = {};
        m_result.step = step;
        m_result.rankNs.assign(m_evidence.ranks.size(), 0);
        const auto window = m_recovered.windowOf(step);
        if (window.empty() || !m_recovered.clock.isAligned)
            return std::move(m_result);
        collect(window);
        walk(window);
        std::reverse(m_result.segments.begin(), m_result.segments.end());
        return std::move(m_result);
    }

private:
    static std::uint64_t keyOf(std::size_t rank, std::size_t comm) { return (static_cast<std::uint64_t>(rank) << 32U) | comm; }
    const CommSpan& spanOf(const Part& part) const { return m_evidence.ranks[part.rank].comms[part.span]; }
    void collect(const std::vector<std::pair<std::int64_t, std::int64_t>>& window);
    void walk(const std::vector<std::pair<std::int64_t, std::int64_t>>& window);
    /// What ended last by `at` on the rank.
    const DeviceSpan* before(std::size_t rank, std::int64_t at) const;
    void add(std::size_t rank, std::int64_t start, std::int64_t end, PathPart, std::uint32_t name = 0, std::int32_t group = -1);

    const Recovered& m_recovered;
    const RunEvidence& m_evidence;
    std::vector<std::vector<DeviceSpan>> m_spans; ///< [rank], by end
    std::unordered_map<std::uint64_t, const Meeting*> m_meetingOf, m_receiveOf;
    RankPath m_result;
};

void PathFinder::collect(const std::vector<std::pair<std::int64_t, std::int64_t>>& window)
{
    for (std::size_t r = 0; r < m_evidence.ranks.size(); ++r) {
        std::vector<DeviceSpan>& spans = m_spans.emplace_back();
        const auto inside = [&](const auto& list) { // they are by start
            const auto first = std::lower_bound(list.begin(), list.end(), window[r].first,
                                                [](const auto& span, std::int64_t at) { return span.startNs < at; });
            const auto last = std::upper_bound(first, list.end(), window[r].second,
                                               [](std::int64_t at, const auto& span) { return at < span.startNs; });
            return std::pair(first, last);
        };
        const RankEvidence& rank = m_evidence.ranks[r];
        for (auto [span, last] = inside(rank.work); span != last; ++span)
            spans.push_back({.startNs = span->startNs, .endNs = span->endNs, .launchNs = span->launchNs, .name = span->name});
        for (auto [span, last] = inside(rank.comms); span != last; ++span)
            spans.push_back({.startNs = span->startNs,
                             .endNs = span->endNs,
                             .name = span->name,
                             .comm = static_cast<std::int32_t>(span - rank.comms.begin())});
        std::sort(spans.begin(), spans.end(), [](const DeviceSpan& a, const DeviceSpan& b) {
            return a.endNs != b.endNs ? a.endNs < b.endNs : a.startNs < b.startNs;
        });
    }
}

const DeviceSpan* PathFinder::before(std::size_t rank, std::int64_t at) const
{
    const std::vector<DeviceSpan>& spans = m_spans[rank];
    auto after =
        std::upper_bound(spans.begin(), spans.end(), at, [](std::int64_t t, const DeviceSpan& span) { return t < span.endNs; });
    // What lasts no time leads nowhere.
    while (after != spans.begin()) {
        --after;
        if (after->endNs > after->startNs)
            return &*after;
    }
    return nullptr;
}

void PathFinder::add(std::size_t rank, std::int64_t start, std::int64_t end, PathPart part, std::uint32_t name,
                     std::int32_t group)
{
    if (end <= start)
        return;
    if (!m_result.segments.empty() && m_result.segments.back().rank != rank)
        ++m_result.jumps;
    m_result.segments.push_back({static_cast<std::uint32_t>(rank), start, end, part, name, group});
    m_result.ns[part] += end - start;
    m_result.rankNs[rank] += end - start;
}

void PathFinder::walk(const std::vector<std::pair<std::int64_t, std::int64_t>>& window)
{
    std::size_t rank = 0;
    const DeviceSpan* at = nullptr;
    std::int64_t begin = INT64_MAX;
    std::size_t budget = 16;
    for (std::size_t r = 0; r < m_spans.size(); ++r) {
        begin = std::min(begin, window[r].first);
        budget += 2 * m_spans[r].size();
        if (!m_spans[r].empty() && (at == nullptr || m_spans[r].back().endNs > at->endNs)) {
            rank = r;
            at = &m_spans[r].back();
        }
    }
    // `until`: the path is known from here to the end. Clocks that differ by microseconds may not lead it forward again.
    std::int64_t until = at == nullptr ? begin : at->endNs;
    while (at != nullptr && until > begin && budget-- > 0) {
        std::int64_t from = at->startNs;
        std::size_t cause = rank;
        if (at->comm >= 0) {
            const std::uint64_t key = keyOf(rank, static_cast<std::size_t>(at->comm));
            if (const auto meeting = m_meetingOf.find(key); meeting != m_meetingOf.end()) {
                for (const Part& part : meeting->second->parts)
                    if (spanOf(part).startNs > from) {
                        from = spanOf(part).startNs;
                        cause = part.rank;
                    }
            } else if (const auto receive = m_receiveOf.find(key); receive != m_receiveOf.end()) {
                const Part& send = receive->second->parts[0];
                // Recorders that begin a receive with its transfer show both starts as one: then what ended last led to it.
                const auto ended = [&](std::size_t r) {
                    const DeviceSpan* previous = before(r, from);
                    return previous == nullptr ? INT64_MIN : previous->endNs;
                };
                if (spanOf(send).startNs > from || (spanOf(send).startNs == from && ended(send.rank) > ended(rank))) {
                    from = spanOf(send).startNs;
                    cause = send.rank;
                }
            }
        }
        from = std::min(from, until);
        const std::int32_t group = at->comm >= 0 ? m_evidence.ranks[rank].comms[static_cast<std::size_t>(at->comm)].group : -1;
        add(rank, from, until, at->comm >= 0 ? PathPart::communicating : PathPart::computing, at->name, group);
        until = from;
        const std::int64_t launch = cause == rank ? at->launchNs : INT64_MIN;
        rank = cause;
        const DeviceSpan* previous = before(rank, until);
        const std::int64_t ended = previous == nullptr ? std::max(begin, window[rank].first) : previous->endNs;
        if (ended < until) {
            // The gap until the host asked is the host's; what then passes until the kernel begins is too.
            add(rank, ended, until, launch > ended ? PathPart::launching : PathPart::idling);
            until = ended;
        }
        at = previous;
    }
    if (until > begin)
        add(rank, begin, until, PathPart::idling);
}

} // namespace

std::string_view pathPartText(PathPart part)
{
    constexpr std::array<std::string_view, 4> kTexts{"computing", "communicating", "waiting for the host", "idle"};
    return kTexts[static_cast<std::size_t>(part)];
}

std::vector<PathStretch> stretchesOf(const RankPath& path)
{
    std::vector<PathStretch> stretches;
    std::map<std::uint32_t, std::int64_t> nsOfName; // of the last
    for (const PathSegment& segment : path.segments) {
        const bool isSpan = segment.part == PathPart::computing || segment.part == PathPart::communicating;
        if (stretches.empty() || stretches.back().rank != segment.rank) {
            const bool isJump = !stretches.empty() && segment.part == PathPart::communicating;
            stretches.push_back({.rank = segment.rank,
                                 .startNs = segment.startNs,
                                 .endNs = segment.startNs,
                                 .ns = {},
                                 .reachedBy = isJump ? segment.group : -1,
                                 .reachedName = isJump ? segment.name : 0});
            nsOfName.clear();
        }
        PathStretch& of = stretches.back();
        const std::int64_t took = segment.endNs - segment.startNs;
        of.endNs = segment.endNs;
        of.ns[segment.part] += took;
        if (!isSpan)
            continue;
        ++of.spans;
        nsOfName[segment.name] += took;
        if (of.spans == 1 || nsOfName[segment.name] > nsOfName[of.longest])
            of.longest = segment.name;
    }
    return stretches;
}

RankPath criticalPathOver(const Recovered& recovered, std::size_t step)
{
    return PathFinder(recovered).find(step);
}

std::vector<RankPath> criticalPathsOver(const Recovered& recovered, const std::vector<std::size_t>& steps)
{
    PathFinder finder(recovered);
    std::vector<RankPath> paths;
    for (const std::size_t step : steps) {
        checkCancelled();
        paths.push_back(finder.find(step));
    }
    return paths;
}

RankPath criticalPathOver(const Recovered& recovered)
{
    return criticalPathOver(recovered, recovered.steps.middle());
}

} // namespace sim
