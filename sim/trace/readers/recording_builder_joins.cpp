// What belongs together in a file: launches and kernels, ends of flows, a collective's call and its kernel.
#include "sim/trace/readers/recording_builder.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace sim {
namespace {

/// Each process counts anew where each is a rank of its own. Else a rank's host and device are processes that share their ids.
using IdOfProcess = std::pair<std::uint32_t, std::int64_t>;
struct IdHash {
    std::size_t operator()(const IdOfProcess& id) const
    {
        return std::hash<std::int64_t>{}(id.second) ^ id.first * 0x9E3779B97F4A7C15ULL;
    }
};
class ProcessesOfSpans {
public:
    /// `tracks` in order, those of a process together.
    ProcessesOfSpans(const std::vector<RecordedTrack>& tracks, bool areSeveral) : m_tracks(tracks), m_processOf(tracks.size(), 0)
    {
        for (std::size_t track = 1; track < tracks.size() && areSeveral; ++track)
            m_processOf[track] = m_processOf[track - 1] + (tracks[track].process == tracks[track - 1].process ? 0 : 1);
        m_isOne = m_processOf.empty() || m_processOf.back() == 0;
    }
    /// 0 where all are one rank's.
    std::uint32_t of(std::uint32_t span) const
    {
        if (m_isOne)
            return 0;
        const auto after = std::upper_bound(m_tracks.begin(), m_tracks.end(), span,
                                            [](std::uint32_t s, const RecordedTrack& track) { return s < track.last; });
        return after == m_tracks.end() ? m_processOf.back() : m_processOf[static_cast<std::size_t>(after - m_tracks.begin())];
    }

private:
    const std::vector<RecordedTrack>& m_tracks;
    std::vector<std::uint32_t> m_processOf;
    bool m_isOne = true;
};

} // namespace

void RecordingBuilder::joinLaunches(const std::vector<std::uint32_t>& placeOf)
{
    struct Launch {
        IdOfProcess id;
        std::uint32_t span; ///< by place
    };
    const ProcessesOfSpans processes(m_tracks, isSplit());
    std::vector<Launch> launches;
    launches.reserve(m_launches.size());
    for (const auto& [correlation, span] : m_launches)
        launches.push_back({{processes.of(placeOf[span]), correlation}, placeOf[span]});
    const auto byId = [](const Launch& a, const Launch& b) { return a.id < b.id; };
    std::stable_sort(launches.begin(), launches.end(), byId);
    for (const auto& [correlation, span] : m_launched) {
        const Launch launched{{processes.of(placeOf[span]), correlation}, placeOf[span]};
        const auto found = std::lower_bound(launches.begin(), launches.end(), launched, byId);
        if (found != launches.end() && found->id == launched.id)
            about.links.push_back({found->span, launched.span, RecordedLink::Kind::launch});
    }
    std::vector<std::pair<std::int64_t, std::uint32_t>>().swap(m_launches);
    std::vector<std::pair<std::int64_t, std::uint32_t>>().swap(m_launched);
}

/// The span of a row that runs at an instant: of several the one that began last.
std::uint32_t RecordingBuilder::spanAt(std::uint32_t track, std::int64_t ns) const
{
    constexpr int kMostNested = 64;
    const RecordedTrack& row = m_tracks[m_rowOf[track]];
    const auto begin = m_spans.startNs.begin() + row.first, end = m_spans.startNs.begin() + row.last;
    auto after = std::upper_bound(begin, end, ns);
    for (int i = 0; i < kMostNested && after != begin; ++i) {
        --after;
        const auto span = static_cast<std::uint32_t>(after - m_spans.startNs.begin());
        if (m_spans.endNs(span) >= ns)
            return span;
    }
    return kNoSpan;
}

void RecordingBuilder::joinFlows(const std::vector<std::uint32_t>& placeOf)
{
    std::stable_sort(m_flowEnds.begin(), m_flowEnds.end(), [](const FlowEnd& a, const FlowEnd& b) {
        return std::tuple(a.use, a.id, a.arrives) < std::tuple(b.use, b.id, b.arrives);
    });
    const auto spanOf = [&](const FlowEnd& end) {
        return end.track == kNoSpan ? placeOf[static_cast<std::size_t>(end.atNs)] : spanAt(end.track, end.atNs);
    };
    const auto isLaunch = [](FlowUse use) { return use == FlowUse::call || use == FlowUse::launchingOperator; };
    std::unordered_set<std::uint32_t> launched; // what is launched twice goes by what comes first: numbers, calls, operators
    if (!m_flowEnds.empty() && isLaunch(m_flowEnds.back().use))
        for (const RecordedLink& link : about.links)
            launched.insert(link.to);
    std::size_t alone = 0;
    for (std::size_t i = 0; i < m_flowEnds.size();) {
        const FlowUse use = m_flowEnds[i].use;
        std::size_t last = i;
        while (last < m_flowEnds.size() && m_flowEnds[last].id == m_flowEnds[i].id && m_flowEnds[last].use == use)
            ++last;
        const std::uint32_t from = m_flowEnds[i].arrives ? kNoSpan : spanOf(m_flowEnds[i]);
        bool isPaired = isLaunch(use); // else nothing is lost: what is launched is there, if only without who did
        for (std::size_t end = i + 1; end < last && from != kNoSpan; ++end) {
            const std::uint32_t to = m_flowEnds[end].arrives ? spanOf(m_flowEnds[end]) : kNoSpan;
            if (to == kNoSpan)
                continue;
            isPaired = true;
            if (use == FlowUse::message)
                recording.flows.push_back({0, from, 0, to});
            else if (use == FlowUse::backward)
                about.links.push_back({from, to, RecordedLink::Kind::forwardBackward});
            else if (isDeviceWork(m_spans.kind[to]) && !isDeviceWork(m_spans.kind[from]) && launched.insert(to).second)
                about.links.push_back({from, to, RecordedLink::Kind::launch});
        }
        alone += isPaired ? 0 : 1;
        i = last;
    }
    if (alone > 0)
        recording.skipped.push_back({"flow", alone, "only one of its ends touches a span of the recording", -1, file().path});
    std::vector<FlowEnd>().swap(m_flowEnds);
}

void RecordingBuilder::joinCollectives(const std::vector<std::uint32_t>& placeOf)
{
    const auto take = [](auto& to, const auto& from, auto unsaid) {
        if (to == unsaid)
            to = from;
    };
    const auto takeAll = [&take](RecordedCollective& on, const RecordedCollective& host) {
        const bool isFromKernelsName = on.inElements < 0 && on.group < 0;
        if (host.name != 0 && isFromKernelsName)
            on.name = host.name;
        take(on.hostSpan, host.hostSpan, kNoSpan);
        take(on.dtype, host.dtype, 0U);
        take(on.group, host.group, -1);
        take(on.sourceRank, host.sourceRank, -1);
        take(on.destinationRank, host.destinationRank, -1);
        take(on.inElements, host.inElements, std::int64_t{-1});
        take(on.outElements, host.outElements, std::int64_t{-1});
        take(on.sequence, host.sequence, std::int64_t{-1});
        on.isPointToPoint = on.isPointToPoint || host.isPointToPoint;
    };
    // Calls of one external id tell one after the other, and then all of its kernels.
    const ProcessesOfSpans processes(m_tracks, isSplit());
    const auto idOf = [&](std::uint32_t span, std::int64_t externalId) {
        return IdOfProcess(processes.of(placeOf[span]), externalId);
    };
    std::unordered_map<IdOfProcess, std::optional<RecordedCollective>, IdHash> calls; // by external ids of kernels
    for (const auto& [kernel, externalId] : m_collectives)
        if (kernel.span != kNoSpan && externalId != 0)
            calls.try_emplace(idOf(kernel.span, externalId));
    for (const auto& [host, externalId] : m_collectives) {
        if (host.span != kNoSpan || host.hostSpan == kNoSpan)
            continue;
        const auto found = externalId == 0 ? calls.end() : calls.find(idOf(host.hostSpan, externalId));
        if (found != calls.end())
            takeAll(found->second ? *found->second : found->second.emplace(), host);
        else if (host.name != 0)
            about.collectives.push_back(host);
    }
    for (auto& [kernel, externalId] : m_collectives)
        if (kernel.span != kNoSpan && externalId != 0)
            if (const auto& host = calls.at(idOf(kernel.span, externalId)))
                takeAll(kernel, *host);
    for (const auto& [collective, externalId] : m_collectives)
        if (collective.span != kNoSpan || collective.hostSpan == kNoSpan)
            about.collectives.push_back(collective);
    decltype(m_collectives)().swap(m_collectives);
    for (RecordedCollective& collective : about.collectives) {
        if (collective.span != kNoSpan)
            collective.span = placeOf[collective.span];
        if (collective.hostSpan != kNoSpan)
            collective.hostSpan = placeOf[collective.hostSpan];
        const std::uint32_t timed = collective.span != kNoSpan ? collective.span : collective.hostSpan;
        if (timed != kNoSpan && collective.durationNs == -1 && !collective.isEnqueuedOnly) {
            collective.startNs = m_spans.startNs[timed];
            collective.durationNs = m_spans.durationNs[timed];
        }
    }
    std::stable_sort(about.collectives.begin(), about.collectives.end(),
                     [](const RecordedCollective& a, const RecordedCollective& b) { return a.startNs < b.startNs; });
}

/// Where neither kernel nor call say what a collective is, torch's annotation around the launch does: "nccl:all_to_all".
void RecordingBuilder::nameCollectivesByAnnotations()
{
    constexpr std::string_view kStart = "nccl:";
    std::vector<std::uint32_t> launchOf; // [place], made only where it is needed
    for (RecordedCollective& collective : about.collectives) {
        if (collective.span == kNoSpan || collective.group >= 0 || collective.inElements >= 0 || collective.meeting != 0)
            continue;
        if (launchOf.empty()) {
            launchOf.assign(m_spans.size(), kNoSpan);
            for (const RecordedLink& link : about.links)
                if (link.kind == RecordedLink::Kind::launch)
                    launchOf[link.to] = link.from;
        }
        const std::uint32_t launch = launchOf[collective.span];
        if (launch == kNoSpan)
            continue;
        const auto row = std::prev(std::upper_bound(m_tracks.begin(), m_tracks.end(), launch,
                                                    [](std::uint32_t span, const RecordedTrack& r) { return span < r.first; }));
        constexpr std::uint32_t kMostBetween = 256;
        for (std::uint32_t span = launch; span > row->first && launch - span < kMostBetween;) {
            --span;
            const std::string& name = recording.names[m_spans.name[span]];
            if (name.starts_with(kStart) && m_spans.endNs(span) >= m_spans.startNs[launch]) {
                collective.name = recording.names.add(std::string(name.substr(kStart.size())));
                collective.hostSpan = span;
                break;
            }
        }
    }
}

} // namespace sim
