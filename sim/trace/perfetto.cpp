// Perfetto's protobuf, written packet by packet. Field numbers: protos/perfetto/trace of the Perfetto project.
#include "sim/trace/distributed_info.h"
#include "sim/trace/export.h"
#include "sim/trace/rows.h"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string>
#include <tuple>

namespace sim {
namespace {

namespace trace_field {
constexpr std::uint32_t packet = 1;
}
namespace packet_field {
constexpr std::uint32_t clockSnapshot = 6, timestamp = 8, sequenceId = 10, trackEvent = 11, internedData = 12, sequenceFlags = 13,
                        trackDescriptor = 60;
}
namespace descriptor_field {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8, childOrdering = 11,
                        siblingOrder = 12, description = 14, processOrdering = 19, threadOrdering = 20;
}
namespace event_field {
constexpr std::uint32_t categoryIds = 3, annotations = 4, type = 9, nameId = 10, track = 11, counterValue = 30, flowIds = 47,
                        terminatingFlowIds = 48, correlationId = 52;
}
namespace annotation_field {
constexpr std::uint32_t nameId = 1, intValue = 4, doubleValue = 5, stringId = 17;
}
namespace interned_field {
constexpr std::uint32_t categories = 1, names = 2, annotationNames = 3, annotationStrings = 29, id = 1, text = 2;
}
enum EventType : std::int32_t { kBegin = 1, kEnd = 2, kCounter = 4 };
constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;
constexpr std::uint32_t kSequence = 1;
constexpr std::int32_t kExplicitOrder = 3; ///< of child tracks
constexpr std::int32_t kExplicitRanks = 1; ///< of processes and threads
constexpr std::int32_t kBytesUnit = 3;

/// Ours, then those that Kineto's arguments have.
enum AnnotationName : std::uint64_t {
    kMicrobatch = 1,
    kStage,
    kLayer,
    kGroup,
    kBytes,
    kFlops,
    kSlice,
    kGroupName,
    kSourceRank,
    kDestinationRank,
    kCollective,
    kElementType,
    kInElements,
    kOutElements,
    kSequenceNumber,
    kExternalId
};
constexpr auto kAnnotationWords = std::to_array<const char*>({"micro-batch", "stage", "layer", "group", "bytes", "flops", "slice",
                                                              "Process Group Name", "Src Rank", "Dst Rank", "Collective name",
                                                              "dtype", "In msg nelems", "Out msg nelems", "Seq", "External id"});

class PerfettoWriter {
public:
    PerfettoWriter(const Trace& trace, std::ostream& out)
        : m_trace(trace), m_out(out), m_flowEnds(flowEnds(trace)), m_shiftNs(writtenShiftNs(trace))
    {
    }

    void write()
    {
        intern();
        if (m_trace.isEpoch && m_trace.originNs > 0)
            tellTheTime();
        describeRoot();
        for (std::size_t process = 0; process < m_trace.processes.size(); ++process)
            describeProcess(process);
        for (const std::size_t track : writingOrder(m_trace))
            writeTrack(track);
        for (std::size_t counter = 0; counter < m_trace.counters.size(); ++counter)
            writeCounter(counter);
    }

private:
    /// Track ids: processes, then counters, then rows of tracks as they come.
    std::uint64_t processId(std::size_t process) const { return 1 + process; }
    std::uint64_t counterId(std::size_t counter) const { return 1 + m_trace.processes.size() + counter; }
    std::uint64_t newRowId() { return 1 + m_trace.processes.size() + m_trace.counters.size() + m_rows++; }
    static std::int32_t pidOf(std::size_t process) { return static_cast<std::int32_t>(process) + 1; }

    template <typename Fill>
    void packet(Fill fill, std::uint32_t flags = 0)
    {
        m_buffer.clear();
        {
            protozero::pbf_writer trace(m_buffer);
            protozero::pbf_writer packet(trace, trace_field::packet);
            fill(packet);
            packet.add_uint32(packet_field::sequenceId, kSequence);
            if (flags != 0)
                packet.add_uint32(packet_field::sequenceFlags, flags);
        }
        m_out.write(m_buffer.data(), static_cast<std::streamsize>(m_buffer.size()));
    }

    /// Names of kinds and groups once; spans then name them by number.
    void intern()
    {
        packet(
            [&](protozero::pbf_writer& packet) {
                protozero::pbf_writer data(packet, packet_field::internedData);
                const auto entry = [&data](std::uint32_t field, std::uint64_t id, const std::string& text) {
                    protozero::pbf_writer entryWriter(data, field);
                    entryWriter.add_uint64(interned_field::id, id);
                    entryWriter.add_string(interned_field::text, text);
                };
                for (int c = 0; c < kOpClassCount; ++c)
                    entry(interned_field::categories, static_cast<std::uint64_t>(c) + 1, opClassName(static_cast<OpClass>(c)));
                std::vector<std::string> categories;
                for (std::size_t k = 0; k < m_trace.kinds.size(); ++k) {
                    const SpanKind& kind = m_trace.kinds[k];
                    entry(interned_field::names, k + 1, kind.name);
                    m_texts.try_emplace(kind.group);
                    const auto known = std::find(categories.begin(), categories.end(), kind.category);
                    m_categoryOfKind.push_back(
                        kind.category.empty() ? static_cast<std::uint64_t>(kind.opClass) + 1
                                              : static_cast<std::uint64_t>(kOpClassCount + (known - categories.begin())) + 1);
                    if (!kind.category.empty() && known == categories.end()) {
                        categories.push_back(kind.category);
                        entry(interned_field::categories, m_categoryOfKind.back(), kind.category);
                    }
                }
                for (const TraceGroup& group : m_trace.groups)
                    m_texts.try_emplace(group.name);
                for (const TraceCollective& said : m_trace.collectives) {
                    m_texts.try_emplace(said.name);
                    m_texts.try_emplace(said.dtype);
                }
                for (std::size_t i = 0; i < kAnnotationWords.size(); ++i)
                    entry(interned_field::annotationNames, i + 1, kAnnotationWords[i]);
                std::uint64_t id = 0;
                for (auto& [text, number] : m_texts) {
                    number = ++id;
                    entry(interned_field::annotationStrings, number, text);
                }
            },
            kStateCleared | kNeedsState);
    }

    /// When the calendar's clock began, by that of the packets, which begins with the trace.
    void tellTheTime()
    {
        packet([&](protozero::pbf_writer& packet) {
            packet.add_uint64(packet_field::timestamp, 0);
            protozero::pbf_writer snapshot(packet, packet_field::clockSnapshot);
            constexpr std::uint32_t kBoottime = 6, kRealtime = 1;
            for (const auto& [id, ns] : {std::pair{kBoottime, std::int64_t{0}}, {kRealtime, m_trace.originNs}}) {
                protozero::pbf_writer clock(snapshot, 1);
                clock.add_uint32(1, id);
                clock.add_uint64(2, static_cast<std::uint64_t>(ns));
            }
        });
    }

    /// A track that later packets name by its id.
    template <typename Fill>
    void describe(std::uint64_t id, Fill fill)
    {
        packet([&](protozero::pbf_writer& packet) {
            packet.add_uint64(packet_field::timestamp, 0);
            protozero::pbf_writer descriptor(packet, packet_field::trackDescriptor);
            descriptor.add_uint64(descriptor_field::uuid, id);
            fill(descriptor);
        });
    }

    /// The root track (uuid 0) describes the job, and says that processes and threads stand in the order they are given.
    void describeRoot()
    {
        describe(0, [&](protozero::pbf_writer& descriptor) {
            if (const std::string info = distributedInfoText(m_trace); !info.empty())
                descriptor.add_string(descriptor_field::description, "distributedInfo " + info);
            descriptor.add_int32(descriptor_field::processOrdering, kExplicitRanks);
            descriptor.add_int32(descriptor_field::threadOrdering, kExplicitRanks);
        });
    }

    void describeProcess(std::size_t index)
    {
        const Process& process = m_trace.processes[index];
        describe(processId(index), [&](protozero::pbf_writer& descriptor) {
            {
                protozero::pbf_writer message(descriptor, descriptor_field::process);
                message.add_int32(1, pidOf(index));
                message.add_string(6, process.name);
            }
            descriptor.add_int32(descriptor_field::childOrdering, kExplicitOrder);
            descriptor.add_int32(descriptor_field::siblingOrder, static_cast<std::int32_t>(index));
            if (process.multiplicity > 1)
                descriptor.add_string(descriptor_field::description,
                                      "stands for " + std::to_string(process.multiplicity) + " ranks that behave alike");
        });
    }

    std::uint64_t describeRow(std::size_t index, std::size_t row)
    {
        const Track& track = m_trace.tracks[index];
        const std::uint64_t id = newRowId();
        const auto process = static_cast<std::size_t>(track.process);
        describe(id, [&](protozero::pbf_writer& descriptor) {
            descriptor.add_uint64(descriptor_field::parent, processId(process));
            {
                protozero::pbf_writer thread(descriptor, descriptor_field::thread);
                thread.add_int32(1, pidOf(process));
                thread.add_int64(2, static_cast<std::int64_t>(id));
                thread.add_string(5, rowName(track, row));
            }
            descriptor.add_int32(descriptor_field::siblingOrder, rowOrder(index, row));
        });
        return id;
    }

    template <typename Fill>
    void happen(std::int64_t timeNs, EventType type, std::uint64_t track, Fill fill, std::uint32_t flags = 0)
    {
        packet(
            [&](protozero::pbf_writer& packet) {
                packet.add_uint64(packet_field::timestamp, static_cast<std::uint64_t>(m_shiftNs + timeNs));
                protozero::pbf_writer event(packet, packet_field::trackEvent);
                event.add_int32(event_field::type, type);
                event.add_uint64(event_field::track, track);
                fill(event);
            },
            flags);
    }

    void annotate(protozero::pbf_writer& event, AnnotationName name, std::int64_t value)
    {
        protozero::pbf_writer annotation(event, event_field::annotations);
        annotation.add_uint64(annotation_field::nameId, name);
        annotation.add_int64(annotation_field::intValue, value);
    }

    void annotate(protozero::pbf_writer& event, AnnotationName name, const std::string& text)
    {
        protozero::pbf_writer annotation(event, event_field::annotations);
        annotation.add_uint64(annotation_field::nameId, name);
        annotation.add_uint64(annotation_field::stringId, m_texts.at(text));
    }

    /// What the recorder said of a span, in Kineto's words.
    void annotateRecorded(protozero::pbf_writer& event, std::uint32_t track, std::uint32_t span)
    {
        if (const std::uint64_t launch = launchOfSpan(m_trace, track, span); launch != 0)
            event.add_uint64(event_field::correlationId, launch);
        const TraceCollective* said = collectiveOfSpan(m_trace, track, span);
        if (said == nullptr)
            return;
        if (said->externalId != 0)
            annotate(event, kExternalId, static_cast<std::int64_t>(said->externalId));
        for (const auto& [name, text] : {std::pair{kCollective, &said->name}, {kElementType, &said->dtype}})
            if (!text->empty())
                annotate(event, name, *text);
        for (const auto& [name, number] : {std::pair<AnnotationName, std::int64_t>{kInElements, said->inElements},
                                           {kOutElements, said->outElements},
                                           {kBytes, said->bytes},
                                           {kSequenceNumber, said->sequence},
                                           {kSourceRank, said->sourceRank},
                                           {kDestinationRank, said->destinationRank}})
            if (number >= 0)
                annotate(event, name, number);
    }

    void writeTrack(std::size_t index)
    {
        const Track& track = m_trace.tracks[index];
        std::vector<std::uint64_t> rows;
        const auto rowId = [&](std::size_t row) {
            while (rows.size() <= row)
                rows.push_back(describeRow(index, rows.size()));
            return rows[row];
        };
        // Within a row Perfetto wants events in order of time; walkRows gives them so.
        walkRows(
            track, [&](std::size_t row, std::size_t span) { beginSpan(index, rowId(row), span); },
            [&](std::size_t row, std::int64_t timeNs) { happen(timeNs, kEnd, rowId(row), [](protozero::pbf_writer&) {}); });
    }

    void beginSpan(std::size_t trackIndex, std::uint64_t row, std::size_t span)
    {
        const Track& track = m_trace.tracks[trackIndex];
        const SpanKind& kind = m_trace.kinds[track.kind[span]];
        happen(
            track.startNs[span], kBegin, row,
            [&](protozero::pbf_writer& event) {
                event.add_uint64(event_field::nameId, track.kind[span] + 1ULL);
                event.add_uint64(event_field::categoryIds, m_categoryOfKind[track.kind[span]]);
                if (track.microbatch[span] >= 0) {
                    annotate(event, kMicrobatch, track.microbatch[span] / m_trace.slices);
                    if (m_trace.slices > 1)
                        annotate(event, kSlice, track.microbatch[span] % m_trace.slices);
                }
                if (kind.stage >= 0)
                    annotate(event, kStage, kind.stage);
                if (kind.layer >= 0)
                    annotate(event, kLayer, kind.layer);
                if (!kind.group.empty())
                    annotate(event, kGroup, kind.group);
                if (const TraceGroup* group = groupOfSpan(m_trace, track, span))
                    annotate(event, kGroupName, group->name);
                if (kind.bytes > 0)
                    annotate(event, kBytes, kind.bytes);
                if (kind.flops > 0) {
                    protozero::pbf_writer annotation(event, event_field::annotations);
                    annotation.add_uint64(annotation_field::nameId, kFlops);
                    annotation.add_double(annotation_field::doubleValue, kind.flops);
                }
                if (!kind.category.empty())
                    annotateRecorded(event, static_cast<std::uint32_t>(trackIndex), static_cast<std::uint32_t>(span));
                else if (!track.correlation.empty() && track.correlation[span] != 0)
                    event.add_uint64(event_field::correlationId, track.correlation[span]);
                if (kind.category.empty() && span < track.peer.size() && track.peer[span] >= 0)
                    annotate(event, isSendName(kind.name) ? kDestinationRank : kSourceRank, track.peer[span]);
                addFlows(event, static_cast<std::uint32_t>(trackIndex), static_cast<std::uint32_t>(span));
            },
            kNeedsState);
    }

    void addFlows(protozero::pbf_writer& event, std::uint32_t track, std::uint32_t span)
    {
        auto end = std::lower_bound(m_flowEnds.begin(), m_flowEnds.end(), std::tuple{track, span},
                                    [](const FlowEnd& e, const auto& key) {
                                        return std::tuple{e.track, e.span} < key;
                                    });
        for (; end != m_flowEnds.end() && end->track == track && end->span == span; ++end)
            event.add_fixed64(end->arrives ? event_field::terminatingFlowIds : event_field::flowIds, end->id);
    }

    void writeCounter(std::size_t index)
    {
        const Counter& counter = m_trace.counters[index];
        describe(counterId(index), [&](protozero::pbf_writer& descriptor) {
            descriptor.add_uint64(descriptor_field::parent, processId(static_cast<std::size_t>(counter.process)));
            descriptor.add_string(descriptor_field::name, counter.name);
            protozero::pbf_writer message(descriptor, descriptor_field::counter);
            if (counter.unit == "bytes")
                message.add_int32(3, kBytesUnit);
            else
                message.add_string(6, counter.unit);
        });
        for (std::size_t i = 0; i < counter.timeNs.size(); ++i)
            happen(counter.timeNs[i], kCounter, counterId(index),
                   [&](protozero::pbf_writer& event) { event.add_int64(event_field::counterValue, counter.value[i]); });
    }

    const Trace& m_trace;
    std::ostream& m_out;
    std::vector<FlowEnd> m_flowEnds;
    std::vector<std::uint64_t> m_categoryOfKind;
    std::map<std::string, std::uint64_t> m_texts; ///< of annotations, interned
    std::int64_t m_shiftNs = 0;
    std::uint64_t m_rows = 0;
    std::string m_buffer;
};

} // namespace

void writePerfetto(const Trace& trace, std::ostream& out)
{
    PerfettoWriter(trace, out).write();
}

} // namespace sim
