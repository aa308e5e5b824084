#include "sim/trace/recorded_trace.h"

#include "sim/cancel.h"
#include "sim/trace/readers/host_calls.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace sim {
namespace {

/// "compute" of "compute (2)".
std::string nameOfRow(const std::string& name)
{
    const std::size_t open = name.rfind(" (");
    if (open == std::string::npos || name.back() != ')')
        return name;
    const std::string inside = name.substr(open + 2, name.size() - open - 3);
    const bool isNumber = !inside.empty() && inside.find_first_not_of("0123456789") == std::string::npos;
    return isNumber ? name.substr(0, open) : name;
}

class TraceOfRecording {
public:
    TraceOfRecording(const Recording& recording, const ClassifySpan& classify, bool isToWrite)
        : m_recording(recording), m_classify(classify), m_isToWrite(isToWrite)
    {
    }

    Trace make()
    {
        bool isOwn = !m_recording.ranks.empty(), isFirst = true;
        for (const RankRecording& rank : m_recording.ranks) {
            isOwn = isOwn && !rank.spans.meaning.empty();
            if (rank.spans.size() == 0)
                continue;
            const std::int64_t first = *std::min_element(rank.spans.startNs.begin(), rank.spans.startNs.end());
            m_originNs = isFirst ? first : std::min(m_originNs, first);
            isFirst = false;
        }
        if (isOwn && m_originNs >= 0 && !m_recording.isEpoch)
            m_originNs = 0;
        m_trace.slices = m_recording.slices;
        if (m_isToWrite)
            describe();
        m_placeOf.resize(m_recording.ranks.size());
        for (std::size_t rank = 0; rank < m_recording.ranks.size(); ++rank)
            addRank(rank);
        for (const RecordedFlow& flow : m_recording.flows) {
            const Place from = m_placeOf[flow.fromRank][flow.fromSpan], to = m_placeOf[flow.toRank][flow.toSpan];
            m_trace.flows.push_back({from.track, from.span, to.track, to.span});
        }
        if (m_isToWrite)
            for (std::size_t rank = 0; rank < m_recording.ranks.size(); ++rank)
                addWords(rank);
        const auto byPlace = [](const auto& a, const auto& b) { return std::tie(a.track, a.span) < std::tie(b.track, b.span); };
        std::stable_sort(m_trace.collectives.begin(), m_trace.collectives.end(), byPlace);
        std::stable_sort(m_trace.launches.begin(), m_trace.launches.end(), byPlace);
        return std::move(m_trace);
    }

private:
    struct Place {
        std::uint32_t track = 0, span = 0;
    };

    void describe()
    {
        m_trace.worldSize = m_recording.worldSize;
        m_trace.axes = m_recording.axes;
        m_trace.originNs = m_originNs;
        m_trace.isEpoch = m_recording.isEpoch;
        m_trace.hasManyClocks = m_recording.ranks.size() > 1 && !m_recording.isOfOneClock();
        for (const RecordedGroup& group : m_recording.groups)
            m_trace.groups.push_back({.name = group.name,
                                      .description = group.description,
                                      .backend = group.backend,
                                      .evidence = group.evidence,
                                      .ranks = group.ranks,
                                      .size = group.size});
    }

    bool isOwn(const RankRecording& rank, std::uint32_t span) const
    {
        return !rank.spans.meaning.empty() && rank.spans.meaning[span] != kNoSpan;
    }

    /// What collectives and launches of a rank say beside their spans.
    void addWords(std::size_t index)
    {
        const RankRecording& rank = m_recording.ranks[index];
        const std::vector<Place>& placeOf = m_placeOf[index];
        std::map<std::uint32_t, std::uint64_t> callOf, launchOf; // by the host's span
        for (const RecordedCollective& collective : rank.collectives) {
            const std::uint32_t span = collective.span != kNoSpan ? collective.span : collective.hostSpan;
            if (span == kNoSpan)
                continue;
            const Place place = placeOf[span];
            Track& track = m_trace.tracks[place.track];
            const auto set = [&](std::vector<std::int32_t>& column, std::int32_t value) {
                if (value < 0)
                    return;
                column.resize(track.size(), -1);
                column[place.span] = value;
            };
            set(track.group, collective.group);
            if (isOwn(rank, span)) {
                set(track.peer, std::max(collective.sourceRank, collective.destinationRank));
                continue;
            }
            TraceCollective words{.track = place.track,
                                  .span = place.span,
                                  .name = m_recording.names[collective.name],
                                  .dtype = m_recording.names[collective.dtype],
                                  .sourceRank = collective.sourceRank,
                                  .destinationRank = collective.destinationRank,
                                  .inElements = collective.inElements,
                                  .outElements = collective.outElements,
                                  .bytes = collective.bytes,
                                  .sequence = collective.sequence};
            const bool hasCall = collective.span != kNoSpan && collective.hostSpan != kNoSpan &&
                                 rank.spans.kind[collective.hostSpan] == RecordedKind::hostCommunication;
            if (hasCall) {
                const auto [call, isNew] = callOf.try_emplace(collective.hostSpan, m_externalIds + 1);
                if (isNew) {
                    ++m_externalIds;
                    const Place host = placeOf[collective.hostSpan];
                    m_trace.collectives.push_back({.track = host.track, .span = host.span, .externalId = call->second});
                }
                words.externalId = call->second;
            }
            m_trace.collectives.push_back(std::move(words));
        }
        for (const RecordedLink& link : rank.links) {
            if (link.kind != RecordedLink::Kind::launch)
                continue;
            const auto [launch, isNew] = launchOf.try_emplace(link.from, m_launchNumbers + 1);
            const Place from = placeOf[link.from], to = placeOf[link.to];
            if (isNew) {
                ++m_launchNumbers;
                m_trace.launches.push_back({from.track, from.span, launch->second});
            }
            m_trace.launches.push_back({to.track, to.span, launch->second});
        }
    }

    /// Kineto's word for what a span is. What Kineto has no word for is read again all the same.
    static std::string categoryOf(RecordedKind kind, const std::string& name)
    {
        switch (kind) {
        case RecordedKind::kernel:
            return "kernel";
        case RecordedKind::communication:
            return isCommunicationKernel(name) ? "kernel" : "communication";
        case RecordedKind::memcpy:
            return "gpu_memcpy";
        case RecordedKind::memset:
            return "gpu_memset";
        case RecordedKind::gpuAnnotation:
            return "gpu_user_annotation";
        case RecordedKind::cpuOp:
            return "cpu_op";
        case RecordedKind::runtime:
            return "cuda_runtime";
        case RecordedKind::annotation:
            return "user_annotation";
        case RecordedKind::hostCommunication:
            return name == "record_param_comms" || isCallOfLibrary(name) ? "cpu_op" : "host communication";
        case RecordedKind::pythonFunction:
            return "python_function";
        case RecordedKind::synchronization:
            return "cuda_sync";
        case RecordedKind::overhead:
            return "overhead";
        case RecordedKind::other:
            break;
        }
        return "other event";
    }

    void addRank(std::size_t index)
    {
        const RankRecording& rank = m_recording.ranks[index];
        const auto process = static_cast<int>(m_trace.processes.size());
        std::string name = rank.rank >= 0 ? "rank " + std::to_string(rank.rank) : "unknown rank " + std::to_string(index);
        if (rank.rank >= 0 && rank.name.starts_with(name))
            name = rank.name;
        else if (!rank.host.empty())
            name += " (" + rank.host + (rank.device >= 0 ? " GPU " + std::to_string(rank.device) : "") + ")";
        m_trace.processes.push_back({.rank = rank.rank >= 0 ? rank.rank : static_cast<int>(index),
                                     .multiplicity = rank.multiplicity,
                                     .name = std::move(name)});
        if (m_isToWrite) {
            Process& made = m_trace.processes.back();
            made.host = rank.host;
            made.deviceName = rank.deviceName;
            made.backend = rank.backend;
            made.rankEvidence = rank.rankEvidence;
            made.device = rank.device;
            made.worldSize = rank.worldSize;
            made.firstNs = rank.firstNs;
            made.lastNs = rank.lastNs;
        }
        std::vector<std::uint64_t> correlation(rank.collectives.empty() ? 0 : rank.spans.size());
        std::vector<char> isPointToPoint(correlation.size());
        for (const RecordedCollective& collective : rank.collectives)
            for (const std::uint32_t span : {collective.span, collective.hostSpan})
                if (span != kNoSpan) {
                    correlation[span] = meetingOf(collective);
                    isPointToPoint[span] = collective.isPointToPoint ? 1 : 0;
                }
        std::map<std::string, std::vector<std::uint32_t>> rows; // spans, of rows that belong together
        std::vector<std::pair<std::string, const RecordedTrack*>> order;
        for (const RecordedTrack& row : rank.tracks) {
            std::string key = rank.spans.meaning.empty() ? row.process + '\x1f' + row.name : nameOfRow(row.name);
            std::vector<std::uint32_t>& spans = rows[key];
            if (spans.empty())
                order.emplace_back(key, &row);
            for (std::uint32_t span = row.first; span < row.last; ++span)
                spans.push_back(span);
        }
        m_placeOf[index].resize(rank.spans.size());
        for (const auto& [key, row] : order) {
            checkCancelled();
            std::vector<std::uint32_t>& spans = rows[key];
            const auto before = [&](std::uint32_t a, std::uint32_t b) {
                return rank.spans.startNs[a] != rank.spans.startNs[b] ? rank.spans.startNs[a] < rank.spans.startNs[b]
                                                                      : rank.spans.durationNs[a] > rank.spans.durationNs[b];
            };
            if (!std::is_sorted(spans.begin(), spans.end(), before))
                std::stable_sort(spans.begin(), spans.end(), before);
            addTrack(index, process, nameOfRow(row->name), *row, spans, correlation, isPointToPoint);
        }
        for (const RecordedCounter& recorded : rank.counters) {
            Counter counter{.process = process, .name = recorded.name, .unit = recorded.unit};
            constexpr double kMost = 9e18;
            for (std::size_t i = 0; i < recorded.timeNs.size(); ++i)
                if (std::abs(recorded.value[i]) < kMost) {
                    counter.timeNs.push_back(recorded.timeNs[i] - m_originNs);
                    counter.value.push_back(std::llround(recorded.value[i]));
                }
            m_trace.counters.push_back(std::move(counter));
        }
    }

    void addTrack(std::size_t index, int process, std::string name, const RecordedTrack& row,
                  const std::vector<std::uint32_t>& spans, const std::vector<std::uint64_t>& correlation,
                  const std::vector<char>& isPointToPoint)
    {
        const RankRecording& rank = m_recording.ranks[index];
        Track track{.process = process, .name = std::move(name)};
        bool isCorrelated = false;
        std::size_t communicates = 0;
        for (const std::uint32_t span : spans) {
            m_placeOf[index][span] = {static_cast<std::uint32_t>(m_trace.tracks.size()),
                                      static_cast<std::uint32_t>(track.size())};
            track.startNs.push_back(rank.spans.startNs[span] - m_originNs);
            track.durationNs.push_back(rank.spans.durationNs[span]);
            track.kind.push_back(kindOf(index, span, !isPointToPoint.empty() && isPointToPoint[span] != 0));
            track.microbatch.push_back(rank.spans.microbatch.empty() ? -1 : rank.spans.microbatch[span]);
            m_trace.endNs = std::max(m_trace.endNs, rank.spans.endNs(span) - m_originNs);
            isCorrelated = isCorrelated || (!correlation.empty() && correlation[span] != 0);
            communicates += rank.spans.kind[span] == RecordedKind::communication ? 1 : 0;
        }
        if (isCorrelated)
            for (const std::uint32_t span : spans)
                track.correlation.push_back(correlation[span]);
        const bool isActions = !rank.spans.meaning.empty() && !row.isDevice;
        track.role = isActions                         ? TrackRole::actions
                     : !row.isDevice                   ? TrackRole::other
                     : communicates * 2 > spans.size() ? TrackRole::communication
                                                       : TrackRole::compute;
        m_trace.tracks.push_back(std::move(track));
    }

    std::uint32_t kindOf(std::size_t index, std::uint32_t span, bool isPointToPoint)
    {
        const RankRecording& rank = m_recording.ranks[index];
        const RecordedKind recorded = rank.spans.kind[span];
        const std::uint32_t meaning = rank.spans.meaning.empty() ? kNoSpan : rank.spans.meaning[span];
        OpClass opClass = OpClass::other;
        if (m_classify)
            opClass = m_classify(index, span);
        else if (meaning != kNoSpan)
            opClass = m_recording.meanings[meaning].opClass;
        else if (recorded == RecordedKind::communication || recorded == RecordedKind::hostCommunication)
            opClass = isPointToPoint ? OpClass::ppComm : OpClass::dpComm;
        else if (recorded == RecordedKind::memcpy)
            opClass = OpClass::hostTransfer;
        const bool hasCategory = m_isToWrite && meaning == kNoSpan;
        const auto key = std::tuple(rank.spans.name[span], opClass, meaning, hasCategory ? static_cast<int>(recorded) : -1);
        const auto [found, isNew] = m_kinds.try_emplace(key, static_cast<std::uint32_t>(m_trace.kinds.size()));
        if (isNew) {
            SpanKind kind{.name = m_recording.names[rank.spans.name[span]], .opClass = opClass};
            if (meaning != kNoSpan) {
                const RecordedMeaning& said = m_recording.meanings[meaning];
                kind.stage = said.stage;
                kind.layer = said.layer;
                kind.group = said.group;
                kind.bytes = said.bytes;
                kind.flops = said.flops;
            }
            if (hasCategory)
                kind.category = categoryOf(recorded, kind.name);
            m_trace.kinds.push_back(std::move(kind));
        }
        return found->second;
    }

    static std::uint64_t meetingOf(const RecordedCollective& collective)
    {
        if (collective.meeting != 0 || collective.group < 0 || collective.sequence < 0 || collective.isPointToPoint)
            return collective.meeting;
        return (static_cast<std::uint64_t>(collective.group) + 1) << 40 ^ (static_cast<std::uint64_t>(collective.sequence) + 1);
    }

    const Recording& m_recording;
    const ClassifySpan& m_classify;
    bool m_isToWrite;
    std::uint64_t m_externalIds = 0, m_launchNumbers = 0;
    Trace m_trace;
    std::int64_t m_originNs = 0;
    std::map<std::tuple<std::uint32_t, OpClass, std::uint32_t, int>, std::uint32_t> m_kinds;
    std::vector<std::vector<Place>> m_placeOf; ///< [rank][span]
};

} // namespace

Trace recordedTrace(const Recording& recording, const ClassifySpan& classify)
{
    return TraceOfRecording(recording, classify, false).make();
}

Trace traceToWrite(const Recording& recording)
{
    static const ClassifySpan kAsRecorded;
    return TraceOfRecording(recording, kAsRecorded, true).make();
}

} // namespace sim
