// NCCL Inspector: one line of JSON a collective. Facts of the fields: NCCL's plugins/profiler/inspector.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
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
        if (const json* collective = part(record, "coll_perf"))
            takeTransfer(*collective, "coll", false);
        if (const json* transfer = part(record, "p2p_perf"))
            takeTransfer(*transfer, "p2p", true);
        if (record.contains("proxy_trace"))
            m_builder.skip("proxy_trace", "what NCCL's proxy threads do is left out", byte);
    }

    Recording finish(std::uint64_t textBytes)
    {
        m_builder.file().textBytes = textBytes;
        RankRecording& about = m_builder.about;
        // The largest communicator is the job's.
        about.rank = m_rank;
        about.worldSize = m_worldSize;
        about.rankEvidence = m_rank >= 0 ? "largest communicator" : "";
        if (const auto host = m_metadata.find("hostname"); host != m_metadata.end() && host->is_string())
            about.host = host->get<std::string>();
        if (m_dropped > 0)
            m_builder.recording.skipped.push_back(
                {"collective", m_dropped, "NCCL Inspector says that it dropped them", -1, m_file.path});
        return m_builder.finish(0);
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
        const double began = times == nullptr ? -1 : real(*times, start + "_start_ts", -1);
        const double ended = times == nullptr ? -1 : real(*times, start + "_stop_ts", -1);
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
        const auto name = transfer.find(start);
        std::string text = name != transfer.end() && name->is_string() ? name->get<std::string>()
                           : isPointToPoint                            ? "sendrecv"
                                                                       : "";
        if (const std::string known = collectiveOfKernelName(text); !known.empty())
            text = known;
        RecordedCollective collective;
        collective.name = m_builder.recording.names.add(text);
        collective.bytes = whole(transfer, start + "_msg_size_bytes", -1);
        collective.sequence = whole(transfer, start + "_sn", -1);
        collective.isPointToPoint = isPointToPoint;
        collective.group = groupOfHeader();
        const std::uint32_t track = m_builder.track("NCCL", "communicator " + m_id);
        collective.hostSpan =
            m_builder.addSpan(track, nanoseconds(at), nanoseconds(length), collective.name, RecordedKind::hostCommunication);
        m_builder.addCollective(collective, 0);
    }

    std::int32_t groupOfHeader()
    {
        const auto id = m_header.find("id");
        m_id = id == m_header.end() ? "?" : id->is_string() ? id->get<std::string>() : id->is_number() ? id->dump() : "?";
        constexpr double kMost = kMostRanksOfAJob;
        const double ranks = real(m_header, "n_ranks", 0), rank = real(m_header, "rank", -1);
        const int size = ranks >= 0 && ranks < kMost ? static_cast<int>(ranks) : 0;
        if (size > m_worldSize) {
            m_worldSize = size;
            m_rank = rank >= 0 && rank < size ? static_cast<int>(rank) : -1;
        }
        return m_builder.group(m_id, "", {}, size, "NCCL Inspector");
    }

    const ReadingFile& m_file;
    RecordingBuilder m_builder;
    json m_header = json::object(), m_metadata = json::object();
    std::string m_id;
    std::size_t m_dropped = 0;
    int m_rank = -1, m_worldSize = 0;
};

} // namespace

Recording readNcclInspector(ByteSource& source, const ReadingFile& file)
{
    constexpr std::size_t kLongestLine = std::size_t{64} << 20;
    InspectorReader reader(file);
    TextWindow window(source, std::min(file.windowBytes, std::size_t{1} << 20));
    bool hasMore = window.advance();
    for (;;) {
        checkCancelled();
        const std::string_view rest(window.at, static_cast<std::size_t>(window.end() - window.at));
        const std::size_t end = rest.find('\n');
        if (end != std::string_view::npos) {
            reader.take(rest.substr(0, end), window.byteOf(window.at), false);
            window.at += end + 1;
            continue;
        }
        if (hasMore && rest.size() < kLongestLine) {
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
