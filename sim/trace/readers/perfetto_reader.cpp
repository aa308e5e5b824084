// Perfetto's protobuf, packet by packet: TrackEvent of any program, Rankscope's own with what its spans mean.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/host_calls.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/perfetto_event.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"
#include "sim/trace/readers/wire_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sim {
namespace {

constexpr std::size_t kMostOfAPacket = std::size_t{64} << 20;

/// A track, and what its events have made of it.
struct PerfettoRow {
    PerfettoTrack track;
    double counterSum = 0; ///< of an incremental counter
    std::optional<std::uint32_t> row;
    std::vector<std::uint32_t> open; ///< spans without their end
};

class PerfettoReader {
public:
    PerfettoReader(ByteSource& source, const ReadingFile& file)
        : m_source(source), m_file(file), m_window(source, file.windowBytes)
    {
        m_builder.file() = {
            .path = file.path, .format = "Perfetto", .bytes = file.bytes, .textBytes = 0, .events = 0, .isComplete = true};
    }

    Recording read()
    {
        m_window.advance();
        CancelPoll poll;
        for (;;) {
            poll(16);
            std::string_view packet;
            const Next next = nextPacket(packet);
            if (next == Next::end)
                break;
            if (next == Next::packet)
                take(packet, 0);
        }
        if (m_packets == 0 || (m_builder.file().events == 0 && m_tracks.empty())) {
            if (m_file.path.ends_with(".xplane.pb"))
                throw Error(m_file.path +
                            ": is a profile of XLA's own form (XSpace), which is not read: open the trace.json.gz beside it");
            throw Error(
                m_file.path + ": is no Perfetto trace with spans: " +
                (m_damage.empty() ? "nothing in it names a track" : m_damage + ", and nothing before that names a track"));
        }
        if (!m_damage.empty())
            m_builder.recording.problems.push_back(m_file.path + ": " + m_damage + "; the " +
                                                   std::to_string(m_builder.file().events) + " events before that are kept");
        m_builder.file().textBytes = static_cast<std::uint64_t>(m_window.bytesRead());
        return finish();
    }

private:
    enum class Next : std::uint8_t { packet, other, end };

    void endEarly()
    {
        m_builder.file().isComplete = false;
        m_damage = m_source.damage().empty()
                       ? "the trace ends in the middle of a packet, at byte " + std::to_string(m_window.bytesRead())
                       : m_source.damage();
    }

    /// The next field of the outer message.
    Next nextPacket(std::string_view& packet)
    {
        for (;;) {
            const char* at = m_window.at;
            const char* const end = m_window.end();
            bool isMore = at >= end;
            if (!isMore) {
                try {
                    const auto tag = protozero::decode_varint(&at, end);
                    const auto length = (tag & 7U) == 2 ? protozero::decode_varint(&at, end) : 0;
                    if ((tag & 7U) == 0)
                        protozero::decode_varint(&at, end);
                    if ((tag & 7U) != 0 && (tag & 7U) != 2) {
                        damagedHere();
                        return Next::end;
                    }
                    if (length > kMostOfAPacket) {
                        damagedHere();
                        return Next::end;
                    }
                    if (static_cast<std::size_t>(end - at) < length) {
                        isMore = true;
                    } else {
                        packet = {at, static_cast<std::size_t>(length)};
                        m_window.at = at + length;
                        return tag == (1U << 3U | 2U) ? Next::packet : Next::other;
                    }
                } catch (const protozero::end_of_buffer_exception&) {
                    isMore = true;
                } catch (const protozero::exception&) {
                    damagedHere();
                    return Next::end;
                }
            }
            if (!m_window.advance()) {
                if (m_window.at < m_window.end() || !m_source.damage().empty())
                    endEarly();
                return Next::end;
            }
            if (m_file.progress)
                m_file.progress(m_source.fileBytesRead());
        }
    }

    void damagedHere()
    {
        m_builder.file().isComplete = false;
        m_damage = "byte " + std::to_string(m_window.byteOf(m_window.at)) + " is no packet, and what follows cannot be found";
    }

    void take(std::string_view packet, int depth)
    {
        try {
            takePacket(packet, depth);
            ++m_packets;
        } catch (const protozero::exception&) {
            m_builder.skip("damaged packet", "the first ends at byte " + std::to_string(m_window.byteOf(m_window.at)),
                           m_window.byteOf(m_window.at));
        }
    }

    void takePacket(std::string_view packet, int depth)
    {
        WireMessage reader(packet);
        std::optional<std::uint64_t> timestamp;
        std::uint32_t sequenceId = 0, flags = 0, clock = 0;
        std::string_view event, interned, descriptor, defaults, snapshot;
        bool hasEvent = false;
        while (reader.next()) {
            switch (reader.tag()) {
            case 8:
                timestamp = reader.get_uint64();
                break;
            case 10:
                sequenceId = reader.get_uint32();
                break;
            case 58:
                clock = reader.get_uint32();
                break;
            case 13:
                flags = reader.get_uint32();
                break;
            case 11:
                event = reader.get_view();
                hasEvent = true;
                break;
            case 12:
                interned = reader.get_view();
                break;
            case 59:
                defaults = reader.get_view();
                break;
            case 60:
                descriptor = reader.get_view();
                break;
            case 6:
                snapshot = reader.get_view();
                break;
            case 50:
            case 133: {
                const bool isDeflate = reader.tag() == 50; // a debug build forgets the tag of what was read
                unpack(reader.get_view(), isDeflate, depth);
                break;
            }
            case 42:
                if (reader.get_bool())
                    m_builder.skip("packet that was dropped", "the recorder's buffer was full");
                break;
            default:
                reader.skip();
            }
        }
        PerfettoSequence& sequence = m_sequences[sequenceId];
        if ((flags & 1U) != 0)
            sequence.clearState();
        if (snapshot.size() > 0)
            m_time.takeSnapshot(snapshot, sequence);
        if (defaults.size() > 0)
            takePerfettoDefaults(defaults, sequence);
        if (interned.size() > 0)
            takePerfettoInterned(interned, sequence, m_builder.recording.names);
        if (descriptor.size() > 0) {
            auto [uuid, track] = perfettoTrack(descriptor);
            if (uuid == 0)
                m_job.takeDescription(track.description, m_builder);
            m_tracks[uuid].track = std::move(track);
        }
        // Also of packets without an event: what follows counts on from them.
        std::optional<std::int64_t> ns;
        if (timestamp || hasEvent)
            ns = m_time.absoluteNs(timestamp.value_or(0), clock == 0 ? sequence.defaultClock : clock, sequence);
        if (hasEvent) {
            ++m_builder.file().events;
            if (!ns)
                m_builder.skip("damaged event", "its time is beyond what a trace holds");
            else
                takeEvent(perfettoEvent(event, sequence, m_builder.recording.names), *ns);
        }
    }

    void unpack(std::string_view packed, bool isDeflate, int depth)
    {
        if (depth > 0)
            throw protozero::invalid_length_exception();
        // As much as deflate makes of a byte at most: what a file unpacks to goes by its length.
        constexpr std::size_t kMostOfAByte = 1100, kLeast = 4096;
        const std::size_t most = std::min(kMostOfAPacket, kLeast + packed.size() * kMostOfAByte);
        std::string packets;
        try {
            if (isDeflate) {
                packets = inflated(packed.data(), packed.size(), most);
            } else {
                const auto source = openBytes(packed.data(), packed.size());
                ReadingFile quiet;
                quiet.path = m_file.path;
                packets = readAll(*source, quiet, most);
            }
        } catch (const Error&) {
            throw protozero::invalid_length_exception();
        }
        WireMessage reader(packets);
        while (reader.next()) {
            if (reader.tag() == 1)
                take(reader.get_view(), depth + 1);
            else
                reader.skip();
        }
    }

    /// The process that a track lies in.
    std::string processOf(std::uint64_t uuid)
    {
        constexpr int kMostParents = 32;
        std::string process;
        for (int i = 0; i < kMostParents; ++i) {
            const auto found = m_tracks.find(uuid);
            if (found == m_tracks.end())
                break;
            const PerfettoTrack& track = found->second.track;
            if (track.isProcess)
                return "process " + std::to_string(uuid);
            if (!track.process.empty())
                process = track.process;
            if (track.parent == uuid || track.parent == 0)
                break;
            uuid = track.parent;
        }
        return process;
    }

    std::uint32_t rowOf(std::uint64_t uuid, PerfettoRow& of)
    {
        if (of.row)
            return *of.row;
        const PerfettoTrack& track = of.track;
        const std::string process = processOf(uuid);
        of.row = m_builder.track(process, std::to_string(uuid));
        RecordedTrack& row = m_builder.at(*of.row);
        row.number = 0;
        row.name = !track.thread.empty() ? track.thread
                   : !track.name.empty() ? track.name
                   : track.isProcess     ? "process"
                                         : "track " + std::to_string(uuid);
        constexpr std::string_view kProcess = "process ";
        std::uint64_t parent = 0;
        if (process.starts_with(kProcess) &&
            std::from_chars(process.data() + kProcess.size(), process.data() + process.size(), parent).ec == std::errc())
            if (const auto found = m_tracks.find(parent); found != m_tracks.end() && found->second.track.isProcess) {
                const PerfettoTrack& named = found->second.track;
                m_builder.nameProcess(process, named.process.empty() ? named.name : named.process);
                if (named.multiplicity > 1)
                    m_builder.labelProcess(process, "x " + std::to_string(named.multiplicity) + " ranks");
            }
        return *of.row;
    }

    void takeEvent(const PerfettoEvent& event, std::int64_t ns)
    {
        PerfettoRow& of = m_tracks[event.track];
        const PerfettoTrack& track = of.track;
        const std::uint32_t row = rowOf(event.track, of);
        switch (event.type) {
        case PerfettoEvent::kBegin:
            begin(event, of, row, ns);
            if (event.lastsNs) {
                m_builder.setEnd(of.open.back(), ns + *event.lastsNs);
                of.open.pop_back();
            }
            return;
        case PerfettoEvent::kEnd:
            if (of.open.empty()) {
                m_builder.skip("damaged event", "it ends what never began");
                return;
            }
            m_builder.setEnd(of.open.back(), ns);
            of.open.pop_back();
            return;
        case PerfettoEvent::kCounter: {
            double value = event.counter.value_or(0) * static_cast<double>(track.unitMultiplier);
            if (!std::isfinite(value)) {
                m_builder.skip("counter value", "it is no number");
                return;
            }
            if (track.isIncremental)
                value = of.counterSum += value;
            m_builder.addCounterPoint(row, track.name.empty() ? "counter" : track.name, track.unit, ns, value);
            return;
        }
        case PerfettoEvent::kInstant:
            m_builder.skip("instant", "instants have no length");
            return;
        default:
            m_builder.skip("event of another type", "such events have no place in a timeline of spans");
        }
    }

    void begin(const PerfettoEvent& event, PerfettoRow& of, std::uint32_t row, std::int64_t ns)
    {
        const std::uint32_t name = event.name.value_or(0);
        const std::string& text = m_builder.recording.names[name];
        const RecordedKind kind = kindOf(event.category, text);
        const std::uint32_t span = m_builder.addSpan(row, ns, 0, name, kind);
        of.open.push_back(span);
        if (isDeviceWork(kind))
            m_builder.at(row).isDevice = true;
        for (const std::uint64_t id : event.flows) // without an end of its own, the second one that names it is the end
            m_builder.addFlowEnd(id, span, !m_flows.insert(id).second);
        for (const std::uint64_t id : event.endingFlows)
            m_builder.addFlowEnd(id, span, true);
        constexpr std::string_view kSteps = "ProfilerStep#";
        if (text.starts_with(kSteps))
            if (const auto number = wholeNumber(std::string_view(text).substr(kSteps.size())))
                m_builder.addStep(*number, span, kind == RecordedKind::gpuAnnotation);
        takeCollectiveWords(m_builder, row, span, event.words, event.correlation);
        if (!m_builder.processName(m_builder.at(row).process).starts_with("rank "))
            return;
        for (int c = 0; c < kOpClassCount; ++c)
            if (event.category == opClassName(static_cast<OpClass>(c))) {
                RecordedMeaning meaning = event.meaning;
                meaning.opClass = static_cast<OpClass>(c);
                m_isOwn = true;
                m_slices = std::max(m_slices, event.slice + 1);
                if (event.slice > 0)
                    m_sliceOf.emplace_back(span, event.slice);
                m_builder.setOwn(span, row, meaning, event.microbatch, event.correlation, event.words);
            }
    }

    /// Categories of Kineto, as converters keep them.
    static RecordedKind kindOf(const std::string& category, const std::string& name)
    {
        if (category == "kernel")
            return isCommunicationKernel(name) ? RecordedKind::communication : RecordedKind::kernel;
        if (category == "gpu_memcpy")
            return RecordedKind::memcpy;
        if (category == "gpu_memset")
            return RecordedKind::memset;
        if (category == "cpu_op")
            return name == "record_param_comms" || isCallOfLibrary(name) ? RecordedKind::hostCommunication : RecordedKind::cpuOp;
        if (category == "cuda_runtime" || category == "cuda_driver")
            return RecordedKind::runtime;
        if (category == "user_annotation")
            return RecordedKind::annotation;
        if (category == "gpu_user_annotation")
            return RecordedKind::gpuAnnotation;
        return kindOfWrittenWord(category, RecordedKind::other);
    }

    Recording finish()
    {
        const std::int64_t lastNs = m_builder.lastNs();
        std::size_t open = 0;
        for (auto& [uuid, of] : m_tracks)
            for (const std::uint32_t span : of.open) {
                m_builder.setEnd(span, lastNs);
                ++open;
            }
        if (open > 0)
            m_builder.recording.problems.push_back(m_file.path + ": " + std::to_string(open) +
                                                   " spans begin and never end: they are kept up to the end of the recording");
        RankRecording& about = m_builder.about;
        nameRankByFile(about, m_file.path);
        if (m_isOwn)
            m_builder.file().format = "Rankscope";
        m_builder.setSlices(m_slices, m_sliceOf);
        m_builder.recording.isEpoch = m_time.realtimeNs.has_value();
        Recording recording = m_builder.finish(std::clamp(m_time.realtimeNs.value_or(0), -kMostTraceNs, kMostTraceNs));
        m_job.settle(recording);
        return recording;
    }

    ByteSource& m_source;
    const ReadingFile& m_file;
    TextWindow m_window;
    RecordingBuilder m_builder;
    std::unordered_map<std::uint32_t, PerfettoSequence> m_sequences;
    PerfettoTime m_time;
    std::unordered_map<std::uint64_t, PerfettoRow> m_tracks;
    std::unordered_set<std::uint64_t> m_flows;
    std::vector<std::pair<std::uint32_t, std::int32_t>> m_sliceOf;
    std::size_t m_packets = 0;
    std::string m_damage; ///< where what cannot be read begins, and why
    JobWords m_job;
    int m_slices = 1;
    bool m_isOwn = false;
};

} // namespace

Recording readPerfettoTrace(ByteSource& source, const ReadingFile& file)
{
    return PerfettoReader(source, file).read();
}

} // namespace sim
