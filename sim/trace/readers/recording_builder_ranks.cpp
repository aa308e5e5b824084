// Whose what is: a file's processes as ranks of their own, or all of it one rank's, with its steps.
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"
#include "sim/trace/readers/reordered.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

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

} // namespace

bool RecordingBuilder::isSplit() const
{
    return m_isSplit || std::any_of(m_processNames.begin(), m_processNames.end(),
                                    [](const auto& named) { return rankOfName(named.second) >= 0; });
}

/// [row] of a device: whether it copies, and does nothing else.
std::vector<bool> RecordingBuilder::rowsOfCopies() const
{
    std::vector<bool> copiesAlone;
    for (const RecordedTrack& row : m_tracks) {
        const auto first = m_spans.kind.begin() + row.first, last = m_spans.kind.begin() + row.last;
        const auto computes = [](RecordedKind kind) { return isDeviceWork(kind) && !isDeviceCopy(kind); };
        copiesAlone.push_back(row.isDevice && std::any_of(first, last, isDeviceCopy) && std::none_of(first, last, computes));
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
            rank.spans.startNs = partOfColumn(m_spans.startNs, first, last);
            rank.spans.durationNs = partOfColumn(m_spans.durationNs, first, last);
            rank.spans.name = partOfColumn(m_spans.name, first, last);
            rank.spans.kind = partOfColumn(m_spans.kind, first, last);
            rank.spans.meaning = partOfColumn(m_spans.meaning, first, last);
            rank.spans.microbatch = partOfColumn(m_spans.microbatch, first, last);
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
