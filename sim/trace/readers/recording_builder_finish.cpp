// What becomes of what was collected once a file has ended: spans in order, joined, on their times, each rank its own.
#include "sim/trace/readers/recording_builder.h"

#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/reading.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_set>

namespace sim {
namespace {

/// N of "rank N" or "rank N (dp0 …)"; -1 otherwise.
int rankOfName(std::string_view name)
{
    constexpr std::string_view kStart = "rank ";
    if (!name.starts_with(kStart))
        return -1;
    int rank = -1;
    const char* const end = name.data() + name.size();
    const auto [after, error] = std::from_chars(name.data() + kStart.size(), end, rank);
    return error == std::errc() && (after == end || *after == ' ') && rank >= 0 && rank < kMostRanksOfAJob ? rank : -1;
}

/// The column in a new order, held once more for a moment.
template <typename T>
void reorder(std::vector<T>& column, const std::vector<std::uint32_t>& order)
{
    if (column.empty())
        return;
    std::vector<T> sorted(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        sorted[i] = column[order[i]];
    column = std::move(sorted);
}
template <typename T>
void reorder(RecordedColumn<T>& column, const std::vector<std::uint32_t>& order)
{
    reorder(column.own(), order);
}

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

template <typename T>
std::vector<T> part(const RecordedColumn<T>& column, std::size_t first, std::size_t last)
{
    if (column.empty())
        return {};
    return {column.begin() + first, column.begin() + last};
}

} // namespace

std::vector<std::uint32_t> RecordingBuilder::sortedSpans()
{
    // Rows: of one process together, in the order in which processes come, its threads before its streams, those by number.
    std::map<std::string, std::size_t> processes;
    for (const RecordedTrack& row : m_tracks)
        processes.try_emplace(row.process, processes.size());
    std::vector<std::uint32_t> rows(m_tracks.size());
    std::iota(rows.begin(), rows.end(), 0U);
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto key = [&](const RecordedTrack& row) {
            return std::tuple(processes.at(row.process), row.isDevice, row.isDevice ? row.number : 0);
        };
        return key(m_tracks[a]) < key(m_tracks[b]);
    });
    m_rowOf.resize(m_tracks.size());
    std::vector<RecordedTrack> ordered;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        m_rowOf[rows[row]] = static_cast<std::uint32_t>(row);
        ordered.push_back(std::move(m_tracks[rows[row]]));
    }
    m_tracks = std::move(ordered);
    // Spans: dealt to their rows in the order of the file, which mostly is that of time.
    for (const std::uint32_t track : m_trackOf)
        ++m_tracks[m_rowOf[track]].last;
    std::uint32_t first = 0;
    for (RecordedTrack& row : m_tracks) {
        row.first = first;
        first += row.last;
        row.last = row.first;
    }
    std::vector<std::uint32_t> order(m_spans.size());
    for (std::uint32_t span = 0; span < order.size(); ++span)
        order[m_tracks[m_rowOf[m_trackOf[span]]].last++] = span;
    std::vector<std::uint32_t>().swap(m_trackOf);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return m_spans.startNs[a] != m_spans.startNs[b] ? m_spans.startNs[a] < m_spans.startNs[b]
                                                        : m_spans.durationNs[a] > m_spans.durationNs[b];
    };
    for (const RecordedTrack& row : m_tracks) {
        checkCancelled();
        const auto begin = order.begin() + row.first, end = order.begin() + row.last;
        if (!std::is_sorted(begin, end, before))
            std::stable_sort(begin, end, before);
    }
    return order;
}

void RecordingBuilder::nameTracks()
{
    for (RecordedTrack& row : m_tracks)
        if (row.isDevice && row.name == std::to_string(row.number))
            row.name = "stream " + row.name;
        else if (!row.isDevice && !row.name.empty() && row.name == std::to_string(row.number))
            row.name = "thread " + row.name;
}

bool RecordingBuilder::isSplit() const
{
    return m_isSplit || std::any_of(m_processNames.begin(), m_processNames.end(),
                                    [](const auto& named) { return rankOfName(named.second) >= 0; });
}

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

bool RecordingBuilder::canShiftBy(std::int64_t ns) const
{
    bool canAll = true;
    const auto look = [&](std::int64_t time) { canAll &= time + ns >= -kMostTraceNs && time + ns <= kMostTraceNs; };
    for (std::size_t span = 0; ns != 0 && span < m_spans.size(); ++span) {
        look(m_spans.startNs[span]);
        look(m_spans.endNs(span));
    }
    for (const auto& [collective, externalId] : m_collectives)
        look(collective.startNs);
    for (const auto& [key, of] : m_counters)
        std::for_each(of.counter.timeNs.begin(), of.counter.timeNs.end(), look);
    if (m_extent) {
        look(m_extent->first);
        look(m_extent->second);
    }
    return canAll;
}

Recording RecordingBuilder::finish(std::int64_t baseNs)
{
    if (!canShiftBy(baseNs)) {
        recording.problems.push_back(file().path + ": its times and their base " + std::to_string(baseNs) +
                                     " ns do not go together; they are kept as they stand");
        baseNs = 0;
    }
    splitMergedRanks();
    {
        const std::vector<std::uint32_t> order = sortedSpans();
        checkCancelled();
        reorder(m_spans.startNs, order);
        reorder(m_spans.durationNs, order);
        reorder(m_spans.name, order);
        reorder(m_spans.kind, order);
        reorder(m_spans.meaning, order);
        reorder(m_spans.microbatch, order);
        std::vector<std::uint32_t> placeOf(order.size());
        for (std::uint32_t place = 0; place < order.size(); ++place)
            placeOf[order[place]] = place;
        joinLaunches(placeOf);
        joinFlows(placeOf);
        joinCollectives(placeOf);
        for (Step& step : m_steps)
            step.span = placeOf[step.span];
        for (auto& [span, shape] : about.shapeOf)
            span = placeOf[span];
        std::sort(about.shapeOf.begin(), about.shapeOf.end());
    }
    nameCollectivesByAnnotations();
    std::stable_sort(about.links.begin(), about.links.end(),
                     [](const RecordedLink& a, const RecordedLink& b) { return a.to < b.to; });
    if (baseNs != 0) {
        for (std::int64_t& start : m_spans.startNs)
            start += baseNs;
        for (RecordedCollective& collective : about.collectives)
            collective.startNs += baseNs;
        for (auto& [key, of] : m_counters)
            for (std::int64_t& time : of.counter.timeNs)
                time += baseNs;
        if (m_extent)
            m_extent = std::pair(m_extent->first + baseNs, m_extent->second + baseNs);
    }
    nameTracks();
    splitIntoRanks();
    if (recording.ranks.size() == 1) // of several, who names what is their reader's to say
        for (RecordedGroup& group : recording.groups)
            group.toldBy.push_back(recording.ranks.front().rank);
    return std::move(recording);
}

/// [row] of a device: whether it copies, and does nothing else.
std::vector<bool> RecordingBuilder::rowsOfCopies() const
{
    std::vector<bool> copiesAlone;
    for (const RecordedTrack& row : m_tracks) {
        const auto first = m_spans.kind.begin() + row.first, last = m_spans.kind.begin() + row.last;
        const auto copies = [](RecordedKind kind) { return kind == RecordedKind::memcpy || kind == RecordedKind::memset; };
        const auto computes = [&](RecordedKind kind) { return isDeviceWork(kind) && !copies(kind); };
        copiesAlone.push_back(row.isDevice && std::any_of(first, last, copies) && std::none_of(first, last, computes));
    }
    return copiesAlone;
}

/// One a number: of several streams, or threads, from the first's start to the last's end. Copies on streams of their own are
/// what a step prefetches or stores away: where it has a twin on others too, these say when it was.
std::vector<RecordedStep> RecordingBuilder::stepsOf(const std::vector<Step>& marks, const std::vector<bool>& copiesAlone) const
{
    const auto isOfCopies = [&](const Step& mark) {
        const auto after = std::upper_bound(m_tracks.begin(), m_tracks.end(), mark.span,
                                            [](std::uint32_t span, const RecordedTrack& row) { return span < row.first; });
        return mark.isOnDevice && after != m_tracks.begin() &&
               copiesAlone[static_cast<std::size_t>(after - m_tracks.begin() - 1)];
    };
    std::set<std::int64_t> compute; // numbers
    for (const Step& mark : marks)
        if (mark.isOnDevice && !isOfCopies(mark))
            compute.insert(mark.number);
    std::map<std::int64_t, RecordedStep> steps;
    for (const Step& mark : marks) {
        if (compute.contains(mark.number) && isOfCopies(mark))
            continue;
        RecordedStep& step =
            steps.try_emplace(mark.number, RecordedStep{.number = mark.number, .startNs = 0, .endNs = -1}).first->second;
        std::int64_t& start = mark.isOnDevice ? step.deviceStartNs : step.startNs;
        std::int64_t& end = mark.isOnDevice ? step.deviceEndNs : step.endNs;
        const std::int64_t startNs = m_spans.startNs[mark.span], endNs = m_spans.endNs(mark.span);
        std::tie(start, end) = end == -1 ? std::pair(startNs, endNs) : std::pair(std::min(start, startNs), std::max(end, endNs));
    }
    std::vector<RecordedStep> list;
    for (auto& [number, step] : steps) {
        if (step.endNs == -1)
            std::tie(step.startNs, step.endNs) = std::pair(step.deviceStartNs, step.deviceEndNs);
        list.push_back(step);
    }
    return list;
}

void RecordingBuilder::splitIntoRanks()
{
    struct Part {
        RankRecording rank;
        std::size_t firstTrack = 0, lastTrack = 0;
    };
    std::vector<Part> parts;
    const bool areSeveral = isSplit();
    if (!areSeveral) {
        parts.push_back({std::move(about), 0, m_tracks.size()});
    } else {
        for (std::size_t track = 0; track < m_tracks.size();) {
            Part of;
            of.firstTrack = track;
            const std::string& process = m_tracks[track].process;
            while (track < m_tracks.size() && m_tracks[track].process == process)
                ++track;
            of.lastTrack = track;
            of.rank.host = about.host;
            of.rank.worldSize = about.worldSize;
            of.rank.deviceName = about.deviceName;
            for (std::size_t row = of.firstTrack; row < of.lastTrack && of.rank.device < 0; ++row)
                of.rank.device = m_tracks[row].device;
            of.rank.name = m_processNames[process];
            of.rank.rank = rankOfName(of.rank.name);
            of.rank.rankEvidence = of.rank.rank >= 0 ? "process name" : "";
            constexpr std::string_view kTimes = "x ";
            if (const std::string& label = m_processLabels[process]; label.starts_with(kTimes))
                std::from_chars(label.data() + kTimes.size(), label.data() + label.size(), of.rank.multiplicity);
            of.rank.multiplicity = std::max(1, of.rank.multiplicity);
            parts.push_back(std::move(of));
        }
        // Ranks that are named with how many they stand for are all that there are.
        std::int64_t world = 0;
        bool isNamed = true;
        for (const Part& of : parts) {
            world += of.rank.multiplicity;
            isNamed = isNamed && of.rank.rank >= 0;
        }
        const bool isAll =
            isNamed && world <= kMostRanksOfAJob && std::all_of(parts.begin(), parts.end(), [world](const Part& of) {
                return of.rank.rank < world; // else others are there, of whom nothing is said
            });
        for (Part& of : parts)
            if (isAll && of.rank.worldSize == 0)
                of.rank.worldSize = static_cast<int>(world);
    }
    const auto firstSpan = [&](const Part& of) {
        return of.firstTrack < m_tracks.size() ? m_tracks[of.firstTrack].first : static_cast<std::uint32_t>(m_spans.size());
    };
    const auto endSpan = [&](const Part& of) {
        return of.lastTrack > of.firstTrack ? m_tracks[of.lastTrack - 1].last : firstSpan(of);
    };
    const auto partOf = [&](std::uint32_t span) {
        const auto after = std::upper_bound(parts.begin(), parts.end(), span,
                                            [&](std::uint32_t s, const Part& of) { return s < firstSpan(of); });
        return static_cast<std::uint32_t>(after - parts.begin() - 1);
    };
    const std::vector<bool> copiesAlone = m_steps.empty() ? std::vector<bool>() : rowsOfCopies();
    if (areSeveral) {
        for (RecordedLink link : about.links) {
            Part& of = parts[partOf(link.to)];
            if (partOf(link.from) != partOf(link.to))
                continue; // a flow of another kind
            link.from -= firstSpan(of);
            link.to -= firstSpan(of);
            of.rank.links.push_back(link);
        }
        for (RecordedCollective collective : about.collectives) {
            const std::uint32_t span = collective.span != kNoSpan ? collective.span : collective.hostSpan;
            Part& of = parts[span == kNoSpan ? 0 : partOf(span)];
            if (collective.span != kNoSpan)
                collective.span -= firstSpan(of);
            if (collective.hostSpan != kNoSpan && &parts[partOf(collective.hostSpan)] != &of)
                collective.hostSpan = kNoSpan; // of another process
            if (collective.hostSpan != kNoSpan)
                collective.hostSpan -= firstSpan(of);
            of.rank.collectives.push_back(collective);
        }
        for (const auto& [span, shape] : about.shapeOf) {
            Part& of = parts[partOf(span)];
            of.rank.shapeOf.emplace_back(span - firstSpan(of), shape);
        }
        std::vector<std::vector<Step>> marks(parts.size());
        for (const Step& mark : m_steps)
            marks[partOf(mark.span)].push_back(mark);
        for (std::size_t of = 0; of < parts.size(); ++of)
            parts[of].rank.steps = stepsOf(marks[of], copiesAlone);
    } else {
        parts.front().rank.steps = stepsOf(m_steps, copiesAlone);
    }
    for (RecordedFlow& flow : recording.flows) {
        flow.fromRank = partOf(flow.fromSpan);
        flow.toRank = partOf(flow.toSpan);
        flow.fromSpan -= firstSpan(parts[flow.fromRank]);
        flow.toSpan -= firstSpan(parts[flow.toRank]);
    }
    for (auto& entry : m_counters) {
        CounterOf& of = entry.second;
        std::vector<std::uint32_t> order(of.counter.timeNs.size());
        std::iota(order.begin(), order.end(), 0U);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return of.counter.timeNs[a] < of.counter.timeNs[b]; });
        reorder(of.counter.timeNs, order);
        reorder(of.counter.value, order);
        const std::uint32_t row = m_rowOf[of.track];
        const auto after =
            std::upper_bound(parts.begin(), parts.end(), row, [](std::uint32_t r, const Part& p) { return r < p.firstTrack; });
        std::prev(after)->rank.counters.push_back(std::move(of.counter));
    }
    for (Part& of : parts) {
        RankRecording& rank = of.rank;
        const std::uint32_t first = firstSpan(of), last = endSpan(of);
        if (parts.size() == 1) {
            rank.spans = std::move(m_spans);
        } else {
            rank.spans.startNs = part(m_spans.startNs, first, last);
            rank.spans.durationNs = part(m_spans.durationNs, first, last);
            rank.spans.name = part(m_spans.name, first, last);
            rank.spans.kind = part(m_spans.kind, first, last);
            rank.spans.meaning = part(m_spans.meaning, first, last);
            rank.spans.microbatch = part(m_spans.microbatch, first, last);
        }
        for (std::size_t track = of.firstTrack; track < of.lastTrack; ++track) {
            RecordedTrack row = m_tracks[track];
            row.first -= first;
            row.last -= first;
            if (row.size() > 0)
                rank.tracks.push_back(std::move(row));
        }
        describeRank(rank);
        if (m_extent && parts.size() == 1) {
            const bool isEmpty = rank.spans.size() == 0;
            rank.firstNs = isEmpty ? m_extent->first : std::min(rank.firstNs, m_extent->first);
            rank.lastNs = isEmpty ? m_extent->second : std::max(rank.lastNs, m_extent->second);
        }
        recording.ranks.push_back(std::move(rank));
    }
    if (recording.ranks.size() == 1)
        recording.ranks.front().events = file().events;
    for (const RankRecording& rank : recording.ranks)
        recording.worldSize = std::max(recording.worldSize, rank.worldSize);
}

void describeRank(RankRecording& rank)
{
    rank.annotations.clear();
    rank.firstNs = rank.lastNs = 0;
    for (std::uint32_t span = 0; span < rank.spans.size(); ++span) {
        const RecordedKind kind = rank.spans.kind[span];
        if (kind == RecordedKind::annotation || kind == RecordedKind::gpuAnnotation)
            rank.annotations.push_back(span);
        rank.firstNs = span == 0 ? rank.spans.startNs[span] : std::min(rank.firstNs, rank.spans.startNs[span]);
        rank.lastNs = span == 0 ? rank.spans.endNs(span) : std::max(rank.lastNs, rank.spans.endNs(span));
    }
    std::stable_sort(rank.annotations.begin(), rank.annotations.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rank.spans.startNs[a] < rank.spans.startNs[b]; });
    if (rank.events == 0)
        rank.events = rank.spans.size();
}

} // namespace sim
