// What becomes of what was collected once a file has ended: spans in order, joined, on their times, each rank its own.
#include "sim/cancel.h"
#include "sim/trace/readers/recording_builder.h"
#include "sim/trace/readers/reordered.h"
#include "sim/trace/readers/whole_microseconds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace sim {

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
    // Of spans with one time, as of whole microseconds many have, an annotation is around the others and a call in them.
    const auto depth = [&](std::uint32_t span) {
        const RecordedKind kind = m_spans.kind[span];
        return kind == RecordedKind::annotation || kind == RecordedKind::gpuAnnotation ? 0
               : kind == RecordedKind::runtime                                         ? 2
                                                                                       : 1;
    };
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        return m_spans.startNs[a] != m_spans.startNs[b]         ? m_spans.startNs[a] < m_spans.startNs[b]
               : m_spans.durationNs[a] != m_spans.durationNs[b] ? m_spans.durationNs[a] > m_spans.durationNs[b]
                                                                : depth(a) < depth(b);
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
        mendRoundedEnds(m_spans, m_tracks, about.links);
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

} // namespace sim
