// NCCL Inspector: one line of JSON a collective. Facts of the fields: NCCL's plugins/profiler/inspector. And what Rankscope's own
// plugin for NCCL (live/nccl_profiler) writes in its words, with more under "rankscope": when the kernel ran, and how long of
// that it waited for its peers.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>

namespace sim {
namespace {

using nlohmann::json;

class InspectorReader {
public:
    explicit InspectorReader(const ReadingFile& file) : m_file(file)
    {
        m_builder.file() = {
            .path = file.path, .format = "NCCL Inspector", .bytes = file.bytes, .textBytes = 0, .events = 0, .isComplete = true};
    }

    void take(std::string_view line, std::int64_t byte, bool isLast)
    {
        if (line.find_first_not_of(" \r\t") == std::string_view::npos)
            return;
        if (isNestedDeeper(line, kMostJsonDepth)) {
            m_builder.skip("damaged event",
                           "the line at byte " + std::to_string(byte) + " is nested more than " + std::to_string(kMostJsonDepth) +
                               " deep",
                           byte);
            return;
        }
        const json record = json::parse(line, nullptr, false);
        if (!record.is_object()) {
            if (isLast) {
                m_builder.file().isComplete = false;
                m_builder.recording.problems.push_back(m_file.path + ": the text ends too early, in the line at byte " +
                                                       std::to_string(byte) + "; what was before it is kept");
            } else {
                m_builder.skip("damaged event", "the line at byte " + std::to_string(byte) + " is no JSON", byte);
            }
            return;
        }
        ++m_builder.file().events;
        // Since v4.3 a line of its own says for all that follow whose they are.
        for (const json* from : {&record, part(record, "dump_stats")}) {
            if (from == nullptr)
                continue;
            if (const json* header = part(*from, "header"))
                m_header = *header;
            if (const json* metadata = part(*from, "metadata"))
                m_metadata = *metadata;
            if (const auto dropped = from->find("dropped"); dropped != from->end() && dropped->is_number_unsigned())
                m_dropped = std::max(m_dropped, dropped->get<std::size_t>());
        }
        const json* own = part(record, "rankscope");
        for (const bool isPointToPoint : {false, true}) {
            const std::string start = isPointToPoint ? "p2p" : "coll";
            const json* transfer = part(record, (start + "_perf").c_str());
            if (transfer != nullptr && own != nullptr)
                takeOwn(*transfer, *own, start, isPointToPoint);
            else if (transfer != nullptr)
                takeTransfer(*transfer, start, isPointToPoint);
        }
        if (record.contains("proxy_trace"))
            m_builder.skip("proxy_trace", "what NCCL's proxy threads do is left out", byte);
    }

    void passOver(std::int64_t byte, std::size_t longest)
    {
        m_builder.skip("damaged event",
                       "the line at byte " + std::to_string(byte) + " is longer than " + std::to_string(longest) + " bytes",
                       byte);
    }

    Recording finish(std::uint64_t textBytes)
    {
        m_builder.file().textBytes = textBytes;
        RankRecording& about = m_builder.about;
        // Where the launcher did not say, it may be the job's: numberProcesses().
        const std::int64_t said = whole(m_metadata, "rank", -1), world = whole(m_metadata, "world_size", 0);
        const bool isSaid = said >= 0 && said < kMostRanksOfAJob && world >= std::max<std::int64_t>(m_worldSize, said + 1) &&
                            world < kMostRanksOfAJob;
        about.rank = isSaid ? static_cast<int>(said) : m_rank;
        about.worldSize = isSaid ? static_cast<int>(world) : m_worldSize;
        about.rankEvidence = isSaid ? "launcher's environment" : m_rank >= 0 ? kLargestCommunicator : "";
        about.processId = whole(m_metadata, "pid", -1);
        if (m_unfinished > 0)
            m_builder.recording.problems.push_back(
                m_file.path + ": " + std::to_string(m_unfinished) + " of " + std::to_string(m_builder.file().events) +
                " lines are of collectives and transfers that never ended while it was written");
        if (const auto host = m_metadata.find("hostname"); host != m_metadata.end() && host->is_string())
            about.host = host->get<std::string>();
        if (m_dropped > 0)
            m_builder.recording.skipped.push_back(
                {"collective", m_dropped, "its recorder says that it dropped them", -1, m_file.path});
        Recording recording = m_builder.finish(0);
        for (const auto& [group, place] : m_placeIn)
            if (recording.ranks.front().rank >= 0)
                recording.groups[static_cast<std::size_t>(group)].places.emplace_back(place, recording.ranks.front().rank);
        return recording;
    }

private:
    static const json* part(const json& object, const char* key)
    {
        const auto found = object.find(key);
        return found != object.end() && found->is_object() ? &*found : nullptr;
    }
    static double real(const json& object, const std::string& key, double otherwise)
    {
        const auto found = object.find(key);
        return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
    }
    static std::int64_t whole(const json& object, const std::string& key, std::int64_t otherwise)
    {
        const double value = real(object, key, -1);
        return value >= 0 && value < 9e18 ? static_cast<std::int64_t>(value) : otherwise;
    }

    void takeTransfer(const json& transfer, const std::string& start, bool isPointToPoint)
    {
        constexpr double kMostUs = 4e15;
        // Whole microseconds since 1970 are exact in a double; as nanoseconds they are not.
        const auto nanoseconds = [](double us) {
            return std::llround(std::floor(us)) * 1000 + std::llround((us - std::floor(us)) * 1000);
        };
        const double lasted = real(transfer, start + "_exec_time_us", -1);
        const json* times = part(transfer, "event_trace_ts");
        auto [began, ended] = times == nullptr ? std::pair(-1.0, -1.0) : kernelTimes(*times);
        if (began >= 0 && ended >= began && lasted >= 0) {
            began = std::max(0.0, ended - lasted); // ends are what all members have in common
        } else if (began < 0 && times != nullptr) {
            began = real(*times, start + "_start_ts", -1);
            ended = real(*times, start + "_stop_ts", -1);
        }
        const double dumped = real(m_metadata, "dump_timestamp_us", -1);
        const double length = lasted >= 0 ? lasted : ended >= began && began >= 0 ? ended - began : -1;
        const double at = began >= 0 ? began : dumped - std::max(length, 0.0);
        if (!(length >= 0 && length < kMostUs && at >= 0 && at < kMostUs)) {
            m_builder.skip("collective without a time", "it says neither how long it took nor when");
            return;
        }
        if (began < 0)
            m_builder.skip("start of a collective",
                           "the recorder says how long it took, not when: put where the line was written");
        const std::string name = nameOf(transfer, start, isPointToPoint);
        RecordedCollective collective = collectiveOf(transfer, start, name, isPointToPoint);
        countAllMembers(collective, name);
        const std::uint32_t track = m_builder.track("NCCL", "communicator " + m_id + wayOf(transfer, name, isPointToPoint));
        collective.hostSpan =
            m_builder.addSpan(track, nanoseconds(at), nanoseconds(length), collective.name, RecordedKind::hostCommunication);
        m_builder.addCollective(collective, 0);
    }

    /// When the first channel's kernel began and the last's ended, -1 where that is not said. The collective's own times are
    /// those of its being enqueued.
    static std::pair<double, double> kernelTimes(const json& times)
    {
        std::pair<double, double> of{-1, -1};
        const auto channels = times.find("kernel_events");
        if (channels == times.end() || !channels->is_array())
            return of;
        for (const json& channel : *channels) {
            const double start = channel.is_object() ? real(channel, "kernel_start_ts", 0) : 0;
            const double stop = channel.is_object() ? real(channel, "kernel_stop_ts", 0) : 0;
            if (start <= 0 || stop < start)
                continue;
            of.first = of.first < 0 ? start : std::min(of.first, start);
            of.second = std::max(of.second, stop);
        }
        return of;
    }

    static std::string wordOf(const json& object, const char* key, const std::string& otherwise)
    {
        const auto found = object.find(key);
        return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
    }

    /// "allreduce", "send".
    static std::string nameOf(const json& transfer, const std::string& start, bool isPointToPoint)
    {
        const std::string function = wordOf(transfer, start.c_str(), isPointToPoint ? "sendrecv" : "");
        std::string name = isPointToPoint ? std::string() : collectiveOfKernelName(function);
        if (name.empty())
            for (const char c : function)
                name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return name;
    }
    static bool isSend(const std::string& name) { return name.find("send") != std::string::npos; }
    /// The other end's place in the communicator; -1 where that is not said.
    static std::int64_t peerOf(const json& transfer)
    {
        const std::int64_t peer = whole(transfer, "p2p_peer", -1);
        return peer < kMostRanksOfAJob ? peer : -1;
    }
    /// What one rank gets from another may run beside what it sends: " to 3", in the name of a row of its own.
    static std::string wayOf(const json& transfer, const std::string& name, bool isPointToPoint)
    {
        if (!isPointToPoint)
            return {};
        const std::int64_t peer = peerOf(transfer);
        return (isSend(name) ? " to " : " from ") + (peer >= 0 ? std::to_string(peer) : "others");
    }

    RecordedCollective collectiveOf(const json& transfer, const std::string& start, const std::string& name, bool isPointToPoint)
    {
        RecordedCollective collective;
        collective.name = m_builder.recording.names.add(name);
        collective.bytes = whole(transfer, start + "_msg_size_bytes", -1);
        collective.sequence = whole(transfer, start + "_sn", -1);
        collective.isPointToPoint = isPointToPoint;
        collective.group = groupOfHeader();
        if (const std::int64_t peer = peerOf(transfer); isPointToPoint && peer >= 0)
            (isSend(name) ? collective.destinationRank : collective.sourceRank) = placeInGroup(static_cast<int>(peer));
        return collective;
    }
    /// NCCL counts what one member gives, or gets, where others give or get as much each. Rankscope's plugin writes the whole.
    void countAllMembers(RecordedCollective& collective, const std::string& name) const
    {
        const std::string kind = collectiveOfKernelName(name);
        const int members =
            collective.group < 0 ? 0 : m_builder.recording.groups[static_cast<std::size_t>(collective.group)].size;
        if ((kind == "allgather" || kind == "reduce_scatter" || kind == "all_to_all") && members > 0 && collective.bytes > 0 &&
            collective.bytes < INT64_MAX / members)
            collective.bytes *= members;
    }

    /// Of Rankscope's plugin: whole nanoseconds, the kernel's own where there is one, and what of it is waiting for peers.
    void takeOwn(const json& transfer, const json& own, const std::string& start, bool isPointToPoint)
    {
        const auto nanoseconds = [&own](const char* key) {
            const auto found = own.find(key);
            const bool isTime = found != own.end() && found->is_number_unsigned() &&
                                found->get<std::uint64_t>() <= static_cast<std::uint64_t>(kMostTraceNs);
            return isTime ? found->get<std::int64_t>() : std::int64_t{-1};
        };
        m_builder.file().format = "NCCL profiler (Rankscope)";
        const std::string state = wordOf(own, "state", "");
        if (state == "untimed") {
            m_builder.skip(
                "collective without an end",
                "NCCL says when it is enqueued, not when it ends: of copy engines, and of libraries before 2.26 without a "
                "network");
            return;
        }
        if (state == "captured") {
            m_builder.skip("collective of a graph that did not run", "it was captured, and never began");
            return;
        }
        const std::string name = nameOf(transfer, start, isPointToPoint);
        RecordedCollective collective = collectiveOf(transfer, start, name, isPointToPoint);
        std::string dtype = wordOf(own, "dtype", "");
        if (dtype.starts_with("nccl"))
            dtype = dtype.substr(4);
        collective.dtype = m_builder.recording.names.add(dtype);
        const std::int64_t asked = nanoseconds("asked_ns"), began = nanoseconds("start_ns"), ended = nanoseconds("stop_ns");
        if (began < 0 && asked < 0) {
            m_builder.skip("collective without a time", "it says neither how long it took nor when");
            return;
        }
        const std::string row = "communicator " + m_id + (m_communicatorName.empty() ? "" : " " + m_communicatorName);
        if (const std::int64_t enqueued = nanoseconds("enqueued_ns"); asked >= 0 && enqueued >= asked)
            collective.hostSpan = m_builder.addSpan(m_builder.track("host", row), asked, enqueued - asked, collective.name,
                                                    RecordedKind::hostCommunication);
        if (state != "done" || began < 0 || ended < began) {
            ++m_unfinished;
            collective.startNs = began >= 0 ? began : asked;
            collective.isEnqueuedOnly = began < 0;
            collective.hostSpan = kNoSpan; // its length is not the collective's
            m_builder.addCollective(collective, 0);
            return;
        }
        const std::uint32_t track = m_builder.track("GPU", row + wayOf(transfer, name, isPointToPoint));
        m_builder.at(track).isDevice = true;
        const std::int64_t waited = std::clamp<std::int64_t>(nanoseconds("wait_ns"), 0, ended - began);
        if (waited > 0) // next to the transfer, as a live run has it
            m_builder.addSpan(track, began, waited, m_builder.recording.names.add("wait for peers"), RecordedKind::other);
        collective.span =
            m_builder.addSpan(track, began + waited, ended - began - waited, collective.name, RecordedKind::communication);
        collective.startNs = began + waited;
        collective.durationNs = ended - began - waited;
        m_builder.addCollective(collective, 0);
    }
    std::int32_t groupOfHeader()
    {
        const auto id = m_header.find("id");
        m_id = id != m_header.end() && id->is_string()   ? id->get<std::string>()
               : id != m_header.end() && id->is_number() ? id->dump()
                                                         : std::string(kNamelessCommunicator);
        m_communicatorName = wordOf(m_header, "comm_name", "");
        if (m_communicatorName == "unknown") // Inspector's word for none
            m_communicatorName.clear();
        constexpr double kMost = kMostRanksOfAJob;
        const double ranks = real(m_header, "n_ranks", 0), rank = real(m_header, "rank", -1);
        const int size = ranks >= 0 && ranks < kMost ? static_cast<int>(ranks) : 0;
        if (size > m_worldSize) {
            m_worldSize = size;
            m_rank = rank >= 0 && rank < size ? static_cast<int>(rank) : -1;
        }
        const std::int32_t group = m_builder.group(m_id, m_communicatorName, {}, size, m_builder.file().format);
        if (rank >= 0 && rank < size)
            m_placeIn[group] = static_cast<int>(rank);
        return group;
    }

    const ReadingFile& m_file;
    RecordingBuilder m_builder;
    json m_header = json::object(), m_metadata = json::object();
    std::string m_id, m_communicatorName;
    std::size_t m_dropped = 0, m_unfinished = 0;
    int m_rank = -1, m_worldSize = 0;
    std::map<std::int32_t, int> m_placeIn; ///< of this process in its groups
};

} // namespace

Recording readNcclInspector(ByteSource& source, const ReadingFile& file)
{
    constexpr std::size_t kLongestLine = std::size_t{1} << 20; // a collective's takes about a thousand bytes
    InspectorReader reader(file);
    TextWindow window(source, std::min(file.windowBytes, kLongestLine));
    bool hasMore = window.advance();
    std::int64_t tooLong = -1; // where the line that is passed over begins
    for (;;) {
        checkCancelled();
        const std::string_view rest(window.at, static_cast<std::size_t>(window.end() - window.at));
        const std::size_t end = rest.find('\n');
        if (end != std::string_view::npos) {
            if (tooLong < 0)
                reader.take(rest.substr(0, end), window.byteOf(window.at), false);
            tooLong = -1;
            window.at += end + 1;
            continue;
        }
        if (rest.size() >= kLongestLine || tooLong >= 0) {
            if (tooLong < 0) {
                tooLong = window.byteOf(window.at);
                reader.passOver(tooLong, kLongestLine);
            }
            window.at = window.end();
        }
        if (hasMore) {
            hasMore = window.advance();
            if (file.progress)
                file.progress(source.fileBytesRead());
            if (hasMore)
                continue;
        }
        const std::string_view last(window.at, static_cast<std::size_t>(window.end() - window.at));
        reader.take(last, window.byteOf(window.at), true);
        return reader.finish(static_cast<std::uint64_t>(window.bytesRead()));
    }
}

} // namespace sim
