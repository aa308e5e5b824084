// Perfetto's protobuf, packet by packet: TrackEvent of any program, Rankscope's own with what its spans mean. Field numbers:
// protos/perfetto/trace of the Perfetto project.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace sim {
namespace {

using Reader = protozero::pbf_reader;

constexpr std::size_t kMostOfAPacket = std::size_t{64} << 20;
constexpr std::int64_t kMostPerfettoNs = 4'000'000'000'000'000'000;
constexpr std::uint32_t kRealtime = 1, kBoottime = 6, kFirstSequenceClock = 64;

std::string_view viewOf(const protozero::data_view& data)
{
    return {data.data(), data.size()};
}

/// A name as bytes of any sort, as UTF-8.
std::string cleanText(const protozero::data_view& data)
{
    std::string escaped;
    for (const char c : viewOf(data)) {
        if (c == '\\')
            escaped += '\\';
        escaped += c;
    }
    return meantText(escaped);
}

/// What packets of one sequence have said before, and later ones refer to by number.
struct Sequence {
    std::unordered_map<std::uint64_t, std::uint32_t> names; ///< -> Recording::names
    std::unordered_map<std::uint64_t, std::string> categories, annotationNames, annotationTexts;
    std::uint64_t defaultTrack = 0;
    std::uint32_t defaultClock = kBoottime;
    struct Clock {
        std::int64_t offsetNs = 0, nowNs = 0, unitNs = 1;
        bool isIncremental = false;
    };
    std::map<std::uint32_t, Clock> clocks;
};

struct PerfettoTrack {
    std::uint64_t parent = 0;
    std::string name, process, thread;
    bool isProcess = false, isThread = false, isCounter = false, isIncremental = false;
    int multiplicity = 1;
    std::string unit;
    std::int64_t unitMultiplier = 1;
    double counterSum = 0; ///< of an incremental counter
    std::optional<std::uint32_t> row;
    std::vector<std::uint32_t> open; ///< spans without their end
};

struct PerfettoEvent {
    int type = 0;
    std::uint64_t track = 0, correlation = 0;
    std::optional<std::uint32_t> name;
    std::string category;
    std::vector<std::uint64_t> flows, endingFlows;
    std::optional<double> counter;
    RecordedMeaning meaning;
    CollectiveWords words;
    int microbatch = -1, slice = 0;
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
        if (m_packets == 0 || (m_builder.file().events == 0 && m_tracks.empty()))
            throw Error(m_file.path + ": is no Perfetto trace with spans: nothing in it names a track");
        m_builder.file().textBytes = static_cast<std::uint64_t>(m_window.bytesRead());
        return finish();
    }

private:
    enum class Next : std::uint8_t { packet, other, end };

    void endEarly()
    {
        m_builder.file().isComplete = false;
        m_builder.recording.problems.push_back(
            m_file.path + ": " +
            (m_source.damage().empty()
                 ? "the trace ends in the middle of a packet, at byte " + std::to_string(m_window.bytesRead())
                 : m_source.damage()) +
            "; the " + std::to_string(m_builder.file().events) + " events before that are kept");
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
        m_builder.recording.problems.push_back(m_file.path + ": byte " + std::to_string(m_window.byteOf(m_window.at)) +
                                               " is no packet, and what follows cannot be found; the " +
                                               std::to_string(m_builder.file().events) + " events before that are kept");
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
        Reader reader(packet.data(), packet.size());
        std::uint64_t timestamp = 0;
        std::uint32_t sequenceId = 0, flags = 0, clock = 0;
        protozero::data_view event, interned, descriptor, defaults, snapshot;
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
            case 133:
                unpack(reader.get_view(), reader.tag() == 50, depth);
                break;
            case 42:
                if (reader.get_bool())
                    m_builder.skip("packet that was dropped", "the recorder's buffer was full");
                break;
            default:
                reader.skip();
            }
        }
        Sequence& sequence = m_sequences[sequenceId];
        if ((flags & 1U) != 0)
            sequence = {};
        if (snapshot.size() > 0)
            takeSnapshot(Reader(snapshot), sequence);
        if (defaults.size() > 0)
            takeDefaults(Reader(defaults), sequence);
        if (interned.size() > 0)
            takeInterned(Reader(interned), sequence);
        if (descriptor.size() > 0)
            takeDescriptor(Reader(descriptor));
        if (hasEvent) {
            ++m_builder.file().events;
            const auto ns = absoluteNs(timestamp, clock == 0 ? sequence.defaultClock : clock, sequence);
            if (!ns)
                m_builder.skip("damaged event", "its time is beyond what a trace holds");
            else
                takeEvent(parsed(Reader(event), sequence), *ns);
        }
    }

    void unpack(const protozero::data_view& packed, bool isDeflate, int depth)
    {
        if (depth > 0)
            throw protozero::invalid_length_exception();
        std::string packets;
        try {
            if (isDeflate) {
                packets = inflated(packed.data(), packed.size(), kMostOfAPacket);
            } else {
                const auto source = openBytes(packed.data(), packed.size());
                ReadingFile quiet;
                quiet.path = m_file.path;
                packets = readAll(*source, quiet, kMostOfAPacket);
            }
        } catch (const Error&) {
            throw protozero::invalid_length_exception();
        }
        Reader reader(packets);
        while (reader.next()) {
            if (reader.tag() == 1)
                take(viewOf(reader.get_view()), depth + 1);
            else
                reader.skip();
        }
    }

    /// Nanoseconds of the boot clock.
    static std::optional<std::int64_t> absoluteNs(std::uint64_t timestamp, std::uint32_t clock, Sequence& sequence)
    {
        if (timestamp > static_cast<std::uint64_t>(kMostPerfettoNs))
            return std::nullopt;
        auto ns = static_cast<std::int64_t>(timestamp);
        if (const auto found = sequence.clocks.find(clock); found != sequence.clocks.end()) {
            Sequence::Clock& of = found->second;
            if (ns > kMostPerfettoNs / of.unitNs)
                return std::nullopt;
            ns *= of.unitNs;
            if (of.isIncremental) {
                if (of.nowNs > kMostPerfettoNs - ns)
                    return std::nullopt;
                ns = of.nowNs += ns;
            }
            ns += of.offsetNs;
        }
        return ns >= -kMostPerfettoNs && ns <= kMostPerfettoNs ? std::optional(ns) : std::nullopt;
    }

    void takeSnapshot(Reader reader, Sequence& sequence)
    {
        struct Said {
            std::uint32_t id = 0;
            std::int64_t ns = 0, unitNs = 1;
            bool isIncremental = false;
        };
        std::vector<Said> said;
        while (reader.next()) {
            if (reader.tag() != 1) {
                reader.skip();
                continue;
            }
            Reader clock = reader.get_message();
            Said& one = said.emplace_back();
            while (clock.next()) {
                switch (clock.tag()) {
                case 1:
                    one.id = clock.get_uint32();
                    break;
                case 2:
                    one.ns = static_cast<std::int64_t>(std::min(clock.get_uint64(), static_cast<std::uint64_t>(kMostPerfettoNs)));
                    break;
                case 3:
                    one.isIncremental = clock.get_bool();
                    break;
                case 4:
                    one.unitNs = static_cast<std::int64_t>(std::clamp<std::uint64_t>(clock.get_uint64(), 1, 1'000'000));
                    break;
                default:
                    clock.skip();
                }
            }
        }
        const auto boot = std::find_if(said.begin(), said.end(), [](const Said& one) { return one.id == kBoottime; });
        for (const Said& one : said) {
            if (boot == said.end())
                break;
            if (one.id == kRealtime && !m_realtimeNs)
                m_realtimeNs = one.ns - boot->ns;
            const bool isOfSequence = one.id >= kFirstSequenceClock;
            if (one.id == kBoottime || one.ns > kMostPerfettoNs / one.unitNs)
                continue;
            const std::int64_t now = one.ns * one.unitNs;
            const Sequence::Clock clock{boot->ns - now, now, one.unitNs, one.isIncremental};
            if (isOfSequence)
                sequence.clocks[one.id] = clock;
            else
                for (auto& [id, of] : m_sequences)
                    of.clocks.try_emplace(one.id, clock);
        }
    }

    void takeDefaults(Reader reader, Sequence& sequence)
    {
        while (reader.next()) {
            if (reader.tag() == 58) {
                sequence.defaultClock = reader.get_uint32();
            } else if (reader.tag() == 11) {
                Reader event = reader.get_message();
                while (event.next())
                    if (event.tag() == 11)
                        sequence.defaultTrack = event.get_uint64();
                    else
                        event.skip();
            } else {
                reader.skip();
            }
        }
    }

    void takeInterned(Reader reader, Sequence& sequence)
    {
        while (reader.next()) {
            const auto tag = reader.tag();
            if (tag != 1 && tag != 2 && tag != 3 && tag != 29) {
                reader.skip();
                continue;
            }
            Reader entry = reader.get_message();
            std::uint64_t id = 0;
            std::string text;
            while (entry.next()) {
                if (entry.tag() == 1)
                    id = entry.get_uint64();
                else if (entry.tag() == 2)
                    text = cleanText(entry.get_view());
                else
                    entry.skip();
            }
            if (tag == 2)
                sequence.names[id] = m_builder.recording.names.add(text);
            else
                (tag == 1   ? sequence.categories
                 : tag == 3 ? sequence.annotationNames
                            : sequence.annotationTexts)[id] = std::move(text);
        }
    }

    void takeDescriptor(Reader reader)
    {
        PerfettoTrack track;
        std::uint64_t uuid = 0;
        std::string description;
        while (reader.next()) {
            switch (reader.tag()) {
            case 1:
                uuid = reader.get_uint64();
                break;
            case 2:
            case 10:
                track.name = cleanText(reader.get_view());
                break;
            case 5:
                track.parent = reader.get_uint64();
                break;
            case 14:
                description = cleanText(reader.get_view());
                break;
            case 3: {
                track.isProcess = true;
                Reader process = reader.get_message();
                while (process.next())
                    if (process.tag() == 6)
                        track.process = cleanText(process.get_view());
                    else if (process.tag() == 1 && track.process.empty())
                        track.process = "process " + std::to_string(process.get_int32());
                    else
                        process.skip();
                break;
            }
            case 4: {
                track.isThread = true;
                Reader thread = reader.get_message();
                std::int32_t pid = 0;
                while (thread.next())
                    if (thread.tag() == 5)
                        track.thread = cleanText(thread.get_view());
                    else if (thread.tag() == 1)
                        pid = thread.get_int32();
                    else
                        thread.skip();
                if (track.parent == 0)
                    track.process = "process " + std::to_string(pid);
                break;
            }
            case 8: {
                track.isCounter = true;
                Reader counter = reader.get_message();
                while (counter.next())
                    switch (counter.tag()) {
                    case 3: {
                        const std::int32_t unit = counter.get_int32();
                        track.unit = unit == 1 ? "ns" : unit == 2 ? "count" : unit == 3 ? "bytes" : "";
                        break;
                    }
                    case 4:
                        track.unitMultiplier = std::clamp<std::int64_t>(counter.get_int64(), 1, 1'000'000'000);
                        break;
                    case 5:
                        track.isIncremental = counter.get_bool();
                        break;
                    case 6:
                        track.unit = cleanText(counter.get_view());
                        break;
                    default:
                        counter.skip();
                    }
                break;
            }
            default:
                reader.skip();
            }
        }
        constexpr std::string_view kStands = "stands for ";
        if (description.starts_with(kStands))
            std::from_chars(description.data() + kStands.size(), description.data() + description.size(), track.multiplicity);
        if (uuid == 0)
            m_job.takeDescription(description, m_builder);
        PerfettoTrack& known = m_tracks[uuid];
        track.row = known.row;
        track.open = std::move(known.open);
        known = std::move(track);
    }

    PerfettoEvent parsed(Reader reader, const Sequence& sequence)
    {
        PerfettoEvent event;
        event.track = sequence.defaultTrack;
        while (reader.next()) {
            switch (reader.tag()) {
            case 9:
                event.type = reader.get_int32();
                break;
            case 11:
                event.track = reader.get_uint64();
                break;
            case 10:
                if (const auto found = sequence.names.find(reader.get_uint64()); found != sequence.names.end())
                    event.name = found->second;
                break;
            case 23:
                event.name = m_builder.recording.names.add(cleanText(reader.get_view()));
                break;
            case 3:
                if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
                    for (const std::uint64_t id : reader.get_packed_uint64())
                        category(event, sequence, id);
                } else {
                    category(event, sequence, reader.get_uint64());
                }
                break;
            case 22:
                event.category = cleanText(reader.get_view());
                break;
            case 30:
                event.counter = static_cast<double>(reader.get_int64());
                break;
            case 44:
                event.counter = reader.get_double();
                break;
            case 47:
            case 48: {
                auto& flows = reader.tag() == 47 ? event.flows : event.endingFlows;
                if (reader.wire_type() == protozero::pbf_wire_type::length_delimited)
                    for (const std::uint64_t id : reader.get_packed_fixed64())
                        flows.push_back(id);
                else
                    flows.push_back(reader.get_fixed64());
                break;
            }
            case 52:
                event.correlation = reader.get_uint64();
                break;
            case 4:
                annotation(event, reader.get_message(), sequence);
                break;
            default:
                reader.skip();
            }
        }
        return event;
    }
    static void category(PerfettoEvent& event, const Sequence& sequence, std::uint64_t id)
    {
        if (const auto found = sequence.categories.find(id); found != sequence.categories.end())
            event.category = found->second;
    }

    static void annotation(PerfettoEvent& event, Reader reader, const Sequence& sequence)
    {
        std::string name, text;
        std::int64_t number = 0;
        double real = 0;
        while (reader.next()) {
            switch (reader.tag()) {
            case 1:
                if (const auto found = sequence.annotationNames.find(reader.get_uint64());
                    found != sequence.annotationNames.end())
                    name = found->second;
                break;
            case 10:
                name = cleanText(reader.get_view());
                break;
            case 3:
                number = static_cast<std::int64_t>(std::min(reader.get_uint64(), static_cast<std::uint64_t>(kMostPerfettoNs)));
                break;
            case 4:
                number = reader.get_int64();
                break;
            case 5:
                real = reader.get_double();
                break;
            case 6:
                text = cleanText(reader.get_view());
                break;
            case 17:
                if (const auto found = sequence.annotationTexts.find(reader.get_uint64());
                    found != sequence.annotationTexts.end())
                    text = found->second;
                break;
            default:
                reader.skip();
            }
        }
        const auto small = static_cast<int>(std::clamp<std::int64_t>(number, -1, 1 << 20));
        if (name == "micro-batch")
            event.microbatch = small;
        else if (name == "slice")
            event.slice = std::clamp(small, 0, 1023);
        else if (name == "stage")
            event.meaning.stage = small;
        else if (name == "layer")
            event.meaning.layer = small;
        else if (name == "group")
            event.meaning.group = text;
        else if (name == "bytes")
            event.meaning.bytes = number;
        else if (name == "flops")
            event.meaning.flops = real;
        event.words.take(name, text, number);
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
            if (found->second.isProcess)
                return "process " + std::to_string(uuid);
            if (!found->second.process.empty())
                process = found->second.process;
            if (found->second.parent == uuid || found->second.parent == 0)
                break;
            uuid = found->second.parent;
        }
        return process;
    }

    std::uint32_t rowOf(std::uint64_t uuid, PerfettoTrack& track)
    {
        if (track.row)
            return *track.row;
        const std::string process = processOf(uuid);
        track.row = m_builder.track(process, std::to_string(uuid));
        RecordedTrack& row = m_builder.at(*track.row);
        row.number = 0;
        row.name = !track.thread.empty() ? track.thread
                   : !track.name.empty() ? track.name
                   : track.isProcess     ? "process"
                                         : "track " + std::to_string(uuid);
        constexpr std::string_view kProcess = "process ";
        std::uint64_t parent = 0;
        if (process.starts_with(kProcess) &&
            std::from_chars(process.data() + kProcess.size(), process.data() + process.size(), parent).ec == std::errc())
            if (const auto found = m_tracks.find(parent); found != m_tracks.end() && found->second.isProcess) {
                m_builder.nameProcess(process, found->second.process.empty() ? found->second.name : found->second.process);
                if (found->second.multiplicity > 1)
                    m_builder.labelProcess(process, "x " + std::to_string(found->second.multiplicity) + " ranks");
            }
        return *track.row;
    }

    void takeEvent(const PerfettoEvent& event, std::int64_t ns)
    {
        enum Type { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
        PerfettoTrack& track = m_tracks[event.track];
        const std::uint32_t row = rowOf(event.track, track);
        switch (event.type) {
        case kBegin:
            begin(event, track, row, ns);
            return;
        case kEnd:
            if (track.open.empty()) {
                m_builder.skip("damaged event", "it ends what never began");
                return;
            }
            m_builder.setEnd(track.open.back(), ns);
            track.open.pop_back();
            return;
        case kCounter: {
            double value = event.counter.value_or(0) * static_cast<double>(track.unitMultiplier);
            if (track.isIncremental)
                value = track.counterSum += value;
            m_builder.addCounterPoint(row, track.name.empty() ? "counter" : track.name, track.unit, ns, value);
            return;
        }
        case kInstant:
            m_builder.skip("instant", "instants have no length");
            return;
        default:
            m_builder.skip("event of another type", "such events have no place in a timeline of spans");
        }
    }

    void begin(const PerfettoEvent& event, PerfettoTrack& track, std::uint32_t row, std::int64_t ns)
    {
        const std::uint32_t name = event.name.value_or(0);
        const std::string& text = m_builder.recording.names[name];
        const RecordedKind kind = kindOf(event.category, text);
        const std::uint32_t span = m_builder.addSpan(row, ns, 0, name, kind);
        track.open.push_back(span);
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
            return name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("gloo:")
                       ? RecordedKind::hostCommunication
                       : RecordedKind::cpuOp;
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
        for (auto& [uuid, track] : m_tracks)
            for (const std::uint32_t span : track.open) {
                m_builder.setEnd(span, lastNs);
                ++open;
            }
        if (open > 0)
            m_builder.recording.problems.push_back(m_file.path + ": " + std::to_string(open) +
                                                   " spans begin and never end: they are kept up to the end of the recording");
        RankRecording& about = m_builder.about;
        about.rank = rankOfFileName(m_file.path);
        about.rankEvidence = about.rank >= 0 ? "file name" : "";
        if (m_isOwn)
            m_builder.file().format = "Rankscope";
        m_builder.setSlices(m_slices, m_sliceOf);
        m_builder.recording.isEpoch = m_realtimeNs.has_value();
        Recording recording = m_builder.finish(std::clamp(m_realtimeNs.value_or(0), -kMostPerfettoNs, kMostPerfettoNs));
        m_job.settle(recording);
        return recording;
    }

    ByteSource& m_source;
    const ReadingFile& m_file;
    TextWindow m_window;
    RecordingBuilder m_builder;
    std::unordered_map<std::uint32_t, Sequence> m_sequences;
    std::unordered_map<std::uint64_t, PerfettoTrack> m_tracks;
    std::unordered_set<std::uint64_t> m_flows;
    std::vector<std::pair<std::uint32_t, std::int32_t>> m_sliceOf;
    std::optional<std::int64_t> m_realtimeNs; ///< 1970 to the boot
    std::size_t m_packets = 0;
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
