#include "tests/sim/trace/read_trace.h"

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace test {
namespace {

using protozero::pbf_reader;

[[noreturn]] void fail(const std::string& message)
{
    throw std::runtime_error(message);
}

[[noreturn]] void unknown(const std::string& message, pbf_reader& reader)
{
    fail(message + " has field " + std::to_string(static_cast<std::uint32_t>(reader.tag())));
}

struct TrackInfo {
    std::uint64_t uuid = 0, parent = 0;
    std::int32_t pid = 0, order = 0;
    std::int64_t tid = 0;
    bool isProcess = false, isThread = false, isCounter = false;
    bool ordersProcesses = false, ordersThreads = false;
    std::string name, description, unit;
};

struct Event {
    std::int64_t timeNs = 0;
    std::int32_t type = 0;
    std::uint64_t track = 0, name = 0, correlation = 0;
    std::vector<std::uint64_t> categories, flows, endingFlows;
    std::map<std::string, std::string> arguments;
    std::int64_t value = 0;
};

class Reader {
public:
    ReadTrace read(const std::string& bytes)
    {
        pbf_reader file(bytes);
        while (file.next()) {
            if (file.tag() != 1)
                unknown("Trace", file);
            readPacket(file.get_message());
        }
        describe();
        replay();
        return std::move(m_trace);
    }

private:
    using Names = std::map<std::uint64_t, std::string>;

    void readPacket(pbf_reader packet)
    {
        std::optional<std::uint64_t> time;
        std::uint32_t sequence = 0, flags = 0;
        std::vector<pbf_reader> events, descriptors, interned;
        while (packet.next()) {
            switch (packet.tag()) {
            case 8:
                time = packet.get_uint64();
                break;
            case 10:
                sequence = packet.get_uint32();
                break;
            case 11:
                events.push_back(packet.get_message());
                break;
            case 12:
                interned.push_back(packet.get_message());
                break;
            case 13:
                flags = packet.get_uint32();
                break;
            case 60:
                descriptors.push_back(packet.get_message());
                break;
            default:
                unknown("TracePacket", packet);
            }
        }
        if (sequence == 0)
            fail("a packet without a sequence is dropped");
        if (!m_cleared && (flags & 1U) == 0 && !interned.empty())
            fail("names are interned before the state was cleared");
        m_cleared = m_cleared || (flags & 1U) != 0;
        for (pbf_reader& message : interned)
            readInterned(message);
        for (pbf_reader& message : descriptors)
            readDescriptor(message);
        for (pbf_reader& message : events) {
            if (!time)
                fail("an event without a time");
            readEvent(message, static_cast<std::int64_t>(*time), (flags & 2U) != 0);
        }
    }

    void readInterned(pbf_reader& data)
    {
        while (data.next()) {
            Names* names = data.tag() == 1    ? &m_categories
                           : data.tag() == 2  ? &m_names
                           : data.tag() == 3  ? &m_argumentNames
                           : data.tag() == 29 ? &m_strings
                                              : nullptr;
            if (names == nullptr)
                unknown("InternedData", data);
            pbf_reader entry = data.get_message();
            std::uint64_t id = 0;
            std::string text;
            while (entry.next()) {
                if (entry.tag() == 1)
                    id = entry.get_uint64();
                else if (entry.tag() == 2)
                    text = entry.get_string();
                else
                    unknown("an interned string", entry);
            }
            if (id == 0 || !names->emplace(id, text).second)
                fail("interned id " + std::to_string(id) + " twice or zero");
        }
    }

    void readDescriptor(pbf_reader& message)
    {
        TrackInfo track;
        while (message.next()) {
            switch (message.tag()) {
            case 1:
                track.uuid = message.get_uint64();
                break;
            case 2:
                track.name = message.get_string();
                break;
            case 3: {
                track.isProcess = true;
                pbf_reader process = message.get_message();
                while (process.next()) {
                    if (process.tag() == 1)
                        track.pid = process.get_int32();
                    else if (process.tag() == 6)
                        track.name = process.get_string();
                    else
                        unknown("ProcessDescriptor", process);
                }
                break;
            }
            case 4: {
                track.isThread = true;
                pbf_reader thread = message.get_message();
                while (thread.next()) {
                    if (thread.tag() == 1)
                        track.pid = thread.get_int32();
                    else if (thread.tag() == 2)
                        track.tid = thread.get_int64();
                    else if (thread.tag() == 5)
                        track.name = thread.get_string();
                    else
                        unknown("ThreadDescriptor", thread);
                }
                break;
            }
            case 5:
                track.parent = message.get_uint64();
                break;
            case 8: {
                track.isCounter = true;
                pbf_reader counter = message.get_message();
                while (counter.next()) {
                    if (counter.tag() == 3)
                        track.unit = counter.get_int32() == 3 ? "bytes" : "?";
                    else if (counter.tag() == 6)
                        track.unit = counter.get_string();
                    else
                        unknown("CounterDescriptor", counter);
                }
                break;
            }
            case 11:
                message.skip();
                break;
            case 12:
                track.order = message.get_int32();
                break;
            case 14:
                track.description = message.get_string();
                break;
            case 19:
                track.ordersProcesses = message.get_int32() == 1;
                break;
            case 20:
                track.ordersThreads = message.get_int32() == 1;
                break;
            default:
                unknown("TrackDescriptor", message);
            }
        }
        if (!m_tracks.emplace(track.uuid, track).second)
            fail("track " + std::to_string(track.uuid) + " is described twice");
    }

    void readEvent(pbf_reader& message, std::int64_t timeNs, bool needsState)
    {
        Event event;
        event.timeNs = timeNs;
        bool usesNames = false;
        while (message.next()) {
            switch (message.tag()) {
            case 3:
                event.categories.push_back(message.get_uint64());
                usesNames = true;
                break;
            case 4: {
                pbf_reader annotation = message.get_message();
                readAnnotation(annotation, event);
                usesNames = true;
                break;
            }
            case 9:
                event.type = message.get_int32();
                break;
            case 10:
                event.name = message.get_uint64();
                usesNames = true;
                break;
            case 11:
                event.track = message.get_uint64();
                break;
            case 30:
                event.value = message.get_int64();
                break;
            case 47:
                event.flows.push_back(message.get_fixed64());
                break;
            case 48:
                event.endingFlows.push_back(message.get_fixed64());
                break;
            case 52:
                event.correlation = message.get_uint64();
                break;
            default:
                unknown("TrackEvent", message);
            }
        }
        if (usesNames && !needsState)
            fail("an event uses interned names and does not say so");
        if (!m_tracks.contains(event.track))
            fail("track " + std::to_string(event.track) + " is used before it is described");
        m_events.push_back(std::move(event));
    }

    void readAnnotation(pbf_reader& annotation, Event& event) const
    {
        std::string name, value;
        while (annotation.next()) {
            switch (annotation.tag()) {
            case 1:
                name = m_argumentNames.at(annotation.get_uint64());
                break;
            case 4:
                value = std::to_string(annotation.get_int64());
                break;
            case 5:
                value = std::to_string(annotation.get_double());
                break;
            case 17:
                value = m_strings.at(annotation.get_uint64());
                break;
            default:
                unknown("DebugAnnotation", annotation);
            }
        }
        event.arguments[name] = value;
    }

    void describe()
    {
        const auto root = m_tracks.find(0);
        if (root == m_tracks.end() || !root->second.ordersProcesses || !root->second.ordersThreads)
            fail("without the root track's word the order of processes and threads is ignored");
        std::vector<const TrackInfo*> processes, threads;
        std::map<std::int64_t, int> tids;
        for (const auto& [uuid, track] : m_tracks) {
            if (track.isProcess)
                processes.push_back(&track);
            if (track.isThread) {
                threads.push_back(&track);
                if (track.pid != m_tracks.at(track.parent).pid || ++tids[track.tid] > 1)
                    fail("thread " + track.name + " is in two places");
            }
        }
        const auto byOrder = [](const TrackInfo* a, const TrackInfo* b) { return a->order < b->order; };
        std::sort(processes.begin(), processes.end(), byOrder);
        std::sort(threads.begin(), threads.end(), byOrder);
        for (const TrackInfo* process : processes) {
            m_trace.processes.push_back(process->name);
            if (!process->description.empty())
                m_trace.multiplicity[process->name] = process->description;
            for (const TrackInfo* thread : threads)
                if (thread->parent == process->uuid)
                    m_trace.threads.emplace_back(process->name, thread->name);
        }
    }

    /// Events in order of time; of those at one instant in the order of the file.
    void replay()
    {
        std::stable_sort(m_events.begin(), m_events.end(), [](const Event& a, const Event& b) { return a.timeNs < b.timeNs; });
        std::map<std::uint64_t, std::vector<std::size_t>> open; // track -> spans
        std::map<std::uint64_t, std::size_t> flows;             // id -> span
        std::vector<std::pair<std::size_t, std::size_t>> arrived;
        for (const Event& event : m_events) {
            const TrackInfo& track = m_tracks.at(event.track);
            std::vector<std::size_t>& stack = open[event.track];
            if (event.type == 4) {
                if (!track.isCounter)
                    fail("a counter value on a track that is none");
                ReadCounter& counter = m_trace.counters[{m_tracks.at(track.parent).name, track.name}];
                counter.unit = track.unit;
                counter.points.emplace_back(event.timeNs, event.value);
            } else if (event.type == 1) {
                stack.push_back(m_trace.spans.size());
                for (const std::uint64_t id : event.flows)
                    if (!flows.emplace(id, m_trace.spans.size()).second)
                        fail("flow " + std::to_string(id) + " starts twice");
                for (const std::uint64_t id : event.endingFlows) {
                    if (!flows.contains(id))
                        fail("flow " + std::to_string(id) + " ends before it starts");
                    arrived.emplace_back(flows.at(id), m_trace.spans.size());
                    flows.erase(id);
                }
                m_trace.spans.push_back({m_tracks.at(track.parent).name, track.name, m_names.at(event.name),
                                         m_categories.at(event.categories.at(0)), event.timeNs, -1, event.arguments,
                                         event.correlation});
            } else if (event.type == 2) {
                if (stack.empty())
                    fail("an end without a begin on " + track.name);
                ReadSpan& span = m_trace.spans[stack.back()];
                span.durationNs = event.timeNs - span.startNs;
                stack.pop_back();
            } else {
                fail("event type " + std::to_string(event.type));
            }
        }
        for (const auto& [uuid, stack] : open)
            if (!stack.empty())
                fail("a span of " + m_tracks.at(uuid).name + " never ends");
        if (!flows.empty())
            fail("a flow never arrives");
        for (const auto& [from, to] : arrived)
            m_trace.flows.emplace_back(m_trace.spans[from], m_trace.spans[to]);
    }

    ReadTrace m_trace;
    Names m_categories, m_names, m_argumentNames, m_strings;
    std::map<std::uint64_t, TrackInfo> m_tracks;
    std::vector<Event> m_events;
    bool m_cleared = false;
};

} // namespace

ReadTrace readPerfetto(const std::string& bytes)
{
    return Reader().read(bytes);
}

} // namespace test
