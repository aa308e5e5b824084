#include "sim/analysis/op_table.h"

#include "sim/cancel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

namespace sim {
namespace {

constexpr int kBucketsAnOctave = 4;

std::size_t placeOf(OpClass c)
{
    return static_cast<std::size_t>(c);
}

/// What there is to add up, and which group each kind of span and each process belongs to.
class Adder {
public:
    Adder(const Trace& trace, OpGrouping grouping, const OpSelection& selection)
        : m_trace(trace), m_selection(selection), m_groupOfKind(trace.kinds.size(), kUnknown)
    {
        m_table.grouping = grouping;
        m_table.beginNs = std::clamp<std::int64_t>(selection.beginNs, 0, trace.endNs);
        m_table.endNs = std::clamp(selection.endNs, m_table.beginNs, trace.endNs);
        m_computes.resize(trace.processes.size(), false);
        for (const Track& track : trace.tracks)
            if (track.role == TrackRole::compute)
                m_computes[static_cast<std::size_t>(track.process)] = true;
        for (std::size_t process = 0; process < trace.processes.size(); ++process) {
            m_table.ranks += ranksOf(process);
            m_table.ofKernels = m_table.ofKernels || (m_computes[process] && ranksOf(process) > 0);
        }
    }

    OpTable table()
    {
        for (std::uint32_t t = 0; t < m_trace.tracks.size(); ++t)
            addTrack(t);
        for (OpGroup& group : m_table.groups) {
            group.opClass =
                static_cast<OpClass>(std::max_element(group.classNs.begin(), group.classNs.end()) - group.classNs.begin());
            addToAll(group);
        }
        sortGroups();
        return std::move(m_table);
    }

private:
    static constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);

    std::int64_t ranksOf(std::size_t process) const
    {
        if (m_selection.ranks.empty())
            return m_trace.processes[process].multiplicity;
        return process < m_selection.ranks.size() ? m_selection.ranks[process] : 0;
    }

    void addTrack(std::uint32_t t)
    {
        const Track& track = m_trace.tracks[t];
        const auto process = static_cast<std::size_t>(track.process);
        const std::int64_t ranks = ranksOf(process);
        if (ranks == 0 || (track.role == TrackRole::actions && m_computes[process]))
            return;
        if (m_table.grouping == OpGrouping::rank)
            m_groupOfRank = kUnknown;
        for (std::size_t i = 0; i < track.size() && track.startNs[i] < m_table.endNs; ++i) {
            m_poll();
            const std::int64_t begin = track.startNs[i], length = track.durationNs[i];
            const std::int64_t inside = std::min(begin + length, m_table.endNs) - std::max(begin, m_table.beginNs);
            if (inside < 0 || (inside == 0 && length > 0))
                continue;
            const SpanKind& kind = m_trace.kinds[track.kind[i]];
            if ((m_selection.classes && !m_selection.classes(kind.opClass)) || (m_selection.filter && !m_selection.filter(t, i)))
                continue;
            add(groupOf(track.kind[i], process), t, i, static_cast<double>(inside), ranks);
        }
    }

    void add(OpGroup& group, std::uint32_t t, std::size_t i, double insideNs, std::int64_t ranks)
    {
        const Track& track = m_trace.tracks[t];
        const SpanKind& kind = m_trace.kinds[track.kind[i]];
        const std::int64_t length = track.durationNs[i];
        const auto weight = static_cast<double>(ranks);
        const double share = length > 0 ? insideNs / static_cast<double>(length) : 1;
        if (group.count == 0 || length > group.longestNs) {
            group.longestNs = length;
            group.longestTrack = t;
            group.longestSpan = i;
        }
        group.shortestNs = group.count == 0 ? length : std::min(group.shortestNs, length);
        group.count += ranks;
        group.totalNs += weight * insideNs;
        group.classNs[placeOf(kind.opClass)] += weight * insideNs;
        group.wholeNs += weight * static_cast<double>(length);
        if (track.role == TrackRole::communication)
            group.bytes += weight * share * static_cast<double>(kind.bytes) / kind.overMean;
        if (kind.flops > 0) {
            group.flops += weight * share * kind.flops / kind.overMean;
            group.computingNs += weight * insideNs / kind.overMean;
        }
        group.durations.add(length, ranks);
    }

    void addToAll(const OpGroup& group)
    {
        OpGroup& all = m_table.all;
        if (all.count == 0 || group.longestNs > all.longestNs) {
            all.longestNs = group.longestNs;
            all.longestTrack = group.longestTrack;
            all.longestSpan = group.longestSpan;
        }
        all.shortestNs = all.count == 0 ? group.shortestNs : std::min(all.shortestNs, group.shortestNs);
        all.count += group.count;
        all.totalNs += group.totalNs;
        all.wholeNs += group.wholeNs;
        all.bytes += group.bytes;
        all.flops += group.flops;
        all.computingNs += group.computingNs;
        for (std::size_t c = 0; c < group.classNs.size(); ++c)
            all.classNs[c] += group.classNs[c];
        all.durations.add(group.durations);
    }

    OpGroup& groupOf(std::uint32_t kind, std::size_t process)
    {
        std::size_t& known = m_table.grouping == OpGrouping::rank ? m_groupOfRank : m_groupOfKind[kind];
        if (known == kUnknown)
            known = named(kind, process);
        return m_table.groups[known];
    }
    std::size_t named(std::uint32_t kind, std::size_t process)
    {
        const SpanKind& of = m_trace.kinds[kind];
        switch (m_table.grouping) {
        case OpGrouping::name:
            return placed(of.name, 0);
        case OpGrouping::opClass:
            return placed(opClassName(of.opClass), static_cast<int>(of.opClass));
        case OpGrouping::rank:
            return placed(m_trace.processes[process].name, static_cast<int>(process));
        case OpGrouping::stage:
            return placed(of.stage < 0 ? std::string("none") : "stage " + std::to_string(of.stage), of.stage);
        }
        return 0;
    }
    std::size_t placed(const std::string& name, int order)
    {
        const auto [found, isNew] = m_groupOfName.try_emplace({order, name}, m_table.groups.size());
        if (isNew) {
            m_table.groups.emplace_back().name = name;
            m_order.push_back(order);
        }
        return found->second;
    }

    void sortGroups()
    {
        const bool hasOrder = m_table.grouping == OpGrouping::rank || m_table.grouping == OpGrouping::stage;
        std::vector<std::size_t> places(m_table.groups.size());
        for (std::size_t i = 0; i < places.size(); ++i)
            places[i] = i;
        std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
            const OpGroup &x = m_table.groups[a], &y = m_table.groups[b];
            if (hasOrder && m_order[a] != m_order[b])
                return m_order[a] < m_order[b];
            return x.totalNs != y.totalNs ? x.totalNs > y.totalNs : x.name < y.name;
        });
        std::vector<OpGroup> sorted;
        sorted.reserve(places.size());
        for (const std::size_t place : places)
            sorted.push_back(std::move(m_table.groups[place]));
        m_table.groups = std::move(sorted);
    }

    const Trace& m_trace;
    const OpSelection& m_selection;
    OpTable m_table;
    std::vector<bool> m_computes;           ///< [process]
    std::vector<std::size_t> m_groupOfKind; ///< [kind], as far as they have been met
    std::size_t m_groupOfRank = kUnknown;   ///< of the track that is added
    std::map<std::pair<int, std::string>, std::size_t> m_groupOfName;
    std::vector<int> m_order; ///< [group], of those that have one
    CancelPoll m_poll;
};

} // namespace

const char* opGroupingName(OpGrouping grouping)
{
    constexpr std::array<const char*, kOpGroupings.size()> kNames{"name", "class", "rank", "stage"};
    return kNames[static_cast<std::size_t>(grouping)];
}

int OpHistogram::bucketOf(std::int64_t ns)
{
    if (ns <= 0)
        return 0;
    const auto value = static_cast<std::uint64_t>(ns);
    const int octave = static_cast<int>(std::bit_width(value)) - 1;
    const auto withinOctave = static_cast<int>((octave >= 2 ? value >> (octave - 2) : value << (2 - octave)) & 3U);
    return octave * kBucketsAnOctave + withinOctave;
}

double OpHistogram::beginNs(int bucket)
{
    return std::ldexp(1 + static_cast<double>(bucket % kBucketsAnOctave) / kBucketsAnOctave, bucket / kBucketsAnOctave);
}

void OpHistogram::add(std::int64_t ns, std::int64_t times)
{
    const auto bucket = static_cast<std::size_t>(bucketOf(ns));
    if (bucket >= m_counts.size())
        m_counts.resize(bucket + 1, 0);
    m_counts[bucket] += times;
}

void OpHistogram::add(const OpHistogram& other)
{
    if (m_counts.size() < other.m_counts.size())
        m_counts.resize(other.m_counts.size(), 0);
    for (std::size_t i = 0; i < other.m_counts.size(); ++i)
        m_counts[i] += other.m_counts[i];
}

double OpTable::share(const OpGroup& of) const
{
    const double time = static_cast<double>(lengthNs()) * static_cast<double>(ranks);
    return time > 0 ? of.totalNs / time : 0;
}

OpTable opTable(const Trace& trace, OpGrouping grouping, const OpSelection& selection)
{
    return Adder(trace, grouping, selection).table();
}

} // namespace sim
