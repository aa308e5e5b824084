#include "sim/trace/readers/perfetto_event.h"

#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/wire_format.h"

#include <algorithm>
#include <charconv>

namespace sim {
namespace {

using Message = WireMessage;

std::string textOf(std::string_view bytes)
{
    return meantBytes(bytes);
}

void takeCategory(PerfettoEvent& event, const PerfettoSequence& sequence, std::uint64_t id)
{
    if (const auto found = sequence.categories.find(id); found != sequence.categories.end())
        event.category = found->second;
}

void takeAnnotation(PerfettoEvent& event, Message reader, const PerfettoSequence& sequence)
{
    std::string name, text;
    std::int64_t number = 0;
    double real = 0;
    while (reader.next()) {
        switch (reader.tag()) {
        case 1:
            if (const auto found = sequence.annotationNames.find(reader.get_uint64()); found != sequence.annotationNames.end())
                name = found->second;
            break;
        case 10:
            name = textOf(reader.get_view());
            break;
        case 3:
            number = static_cast<std::int64_t>(std::min(reader.get_uint64(), static_cast<std::uint64_t>(kMostTraceNs)));
            break;
        case 4:
            number = reader.get_int64();
            break;
        case 5:
            real = reader.get_double();
            break;
        case 6:
            text = textOf(reader.get_view());
            break;
        case 17:
            if (const auto found = sequence.annotationTexts.find(reader.get_uint64()); found != sequence.annotationTexts.end())
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

/// Chrome's words for an event, in which it came before Perfetto had its own: a phase, of 'X' how long it lasts.
void takeLegacy(PerfettoEvent& event, Message legacy, const PerfettoSequence& sequence)
{
    std::int64_t phase = 0, lastsUs = 0;
    while (legacy.next())
        switch (legacy.tag()) {
        case 1:
            if (const auto found = sequence.names.find(legacy.get_uint64()); found != sequence.names.end() && !event.name)
                event.name = found->second;
            break;
        case 2:
            phase = legacy.get_int32();
            break;
        case 3:
            lastsUs = legacy.get_int64();
            break;
        default:
            legacy.skip();
        }
    if (event.type != 0)
        return;
    switch (phase) {
    case 'B':
    case 'X':
        event.type = PerfettoEvent::kBegin;
        break;
    case 'E':
        event.type = PerfettoEvent::kEnd;
        break;
    case 'I':
    case 'i':
        event.type = PerfettoEvent::kInstant;
        break;
    default:
        break;
    }
    if (phase == 'X')
        event.lastsNs = std::clamp<std::int64_t>(lastsUs, 0, kMostTraceNs / 1000) * 1000;
}

} // namespace

void PerfettoSequence::clearState()
{
    PerfettoClocks kept = std::move(clocks);
    *this = {};
    clocks = std::move(kept);
}

std::optional<std::int64_t> PerfettoTime::absoluteNs(std::uint64_t timestamp, std::uint32_t clock, PerfettoSequence& sequence)
{
    if (timestamp > static_cast<std::uint64_t>(kMostTraceNs))
        return std::nullopt;
    auto ns = static_cast<std::int64_t>(timestamp);
    const auto own = sequence.clocks.find(clock), shared = clocks.find(clock);
    if (PerfettoClock* of = own != sequence.clocks.end() ? &own->second : shared != clocks.end() ? &shared->second : nullptr) {
        if (ns > kMostTraceNs / of->unitNs)
            return std::nullopt;
        ns *= of->unitNs;
        if (of->isIncremental) {
            if (of->nowNs > kMostTraceNs - ns)
                return std::nullopt;
            ns = of->nowNs += ns;
        }
        ns += of->offsetNs;
    }
    return ns >= -kMostTraceNs && ns <= kMostTraceNs ? std::optional(ns) : std::nullopt;
}

void PerfettoTime::takeSnapshot(std::string_view snapshot, PerfettoSequence& sequence)
{
    constexpr std::uint32_t kRealtime = 1, kFirstOfSequences = 64, kFirstAfterThem = 128;
    Message reader(snapshot);
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
        Message clock = reader.get_message();
        Said& one = said.emplace_back();
        while (clock.next()) {
            switch (clock.tag()) {
            case 1:
                one.id = clock.get_uint32();
                break;
            case 2:
                one.ns = static_cast<std::int64_t>(std::min(clock.get_uint64(), static_cast<std::uint64_t>(kMostTraceNs)));
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
    const auto boot = std::find_if(said.begin(), said.end(), [](const Said& one) { return one.id == kPerfettoBoottime; });
    for (const Said& one : said) {
        if (boot == said.end())
            break;
        if (one.id == kRealtime && !realtimeNs)
            realtimeNs = one.ns - boot->ns;
        const bool isOfSequence = one.id >= kFirstOfSequences && one.id < kFirstAfterThem;
        if (one.id == kPerfettoBoottime || one.ns > kMostTraceNs / one.unitNs)
            continue;
        const std::int64_t now = one.ns * one.unitNs;
        const PerfettoClock clock{boot->ns - now, now, one.unitNs, one.isIncremental};
        (isOfSequence ? sequence.clocks : clocks)[one.id] = clock;
    }
}

void takePerfettoDefaults(std::string_view defaults, PerfettoSequence& sequence)
{
    Message reader(defaults);
    while (reader.next()) {
        if (reader.tag() == 58) {
            sequence.defaultClock = reader.get_uint32();
        } else if (reader.tag() == 11) {
            Message event = reader.get_message();
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

void takePerfettoInterned(std::string_view interned, PerfettoSequence& sequence, NameTable& names)
{
    Message reader(interned);
    while (reader.next()) {
        const auto tag = reader.tag();
        if (tag != 1 && tag != 2 && tag != 3 && tag != 29) {
            reader.skip();
            continue;
        }
        Message entry = reader.get_message();
        std::uint64_t id = 0;
        std::string text;
        while (entry.next()) {
            if (entry.tag() == 1)
                id = entry.get_uint64();
            else if (entry.tag() == 2)
                text = textOf(entry.get_view());
            else
                entry.skip();
        }
        if (tag == 2)
            sequence.names[id] = names.add(text);
        else
            (tag == 1   ? sequence.categories
             : tag == 3 ? sequence.annotationNames
                        : sequence.annotationTexts)[id] = std::move(text);
    }
}

std::pair<std::uint64_t, PerfettoTrack> perfettoTrack(std::string_view descriptor)
{
    Message reader(descriptor);
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
            track.name = textOf(reader.get_view());
            break;
        case 5:
            track.parent = reader.get_uint64();
            break;
        case 14:
            description = textOf(reader.get_view());
            break;
        case 3: {
            track.isProcess = true;
            Message process = reader.get_message();
            while (process.next())
                if (process.tag() == 6)
                    track.process = textOf(process.get_view());
                else if (process.tag() == 1 && track.process.empty())
                    track.process = "process " + std::to_string(process.get_int32());
                else
                    process.skip();
            break;
        }
        case 4: {
            track.isThread = true;
            Message thread = reader.get_message();
            std::int32_t pid = 0;
            while (thread.next())
                if (thread.tag() == 5)
                    track.thread = textOf(thread.get_view());
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
            Message counter = reader.get_message();
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
                    track.unit = textOf(counter.get_view());
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
    track.description = std::move(description);
    return {uuid, std::move(track)};
}

PerfettoEvent perfettoEvent(std::string_view bytes, const PerfettoSequence& sequence, NameTable& names)
{
    Message reader(bytes);
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
            event.name = names.add(textOf(reader.get_view()));
            break;
        case 3:
            if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
                for (const std::uint64_t id : reader.get_packed_uint64())
                    takeCategory(event, sequence, id);
            } else {
                takeCategory(event, sequence, reader.get_uint64());
            }
            break;
        case 22:
            event.category = textOf(reader.get_view());
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
            takeAnnotation(event, reader.get_message(), sequence);
            break;
        case 6:
            takeLegacy(event, reader.get_message(), sequence);
            break;
        default:
            reader.skip();
        }
    }
    return event;
}

} // namespace sim
