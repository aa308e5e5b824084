// Chrome trace events, read in one pass over windows of the text. Facts of the fields: Kineto's output_json.cpp, PyTorch's
// torch/csrc/profiler/util.h, the Trace Event Format document of the Chromium project.
#include "sim/cancel.h"
#include "sim/error.h"
#include "sim/index.h"
#include "sim/trace/readers/ascend_rows.h"
#include "sim/trace/readers/chrome_event.h"
#include "sim/trace/readers/json_scan.h"
#include "sim/trace/readers/named_groups.h"
#include "sim/trace/readers/reading.h"
#include "sim/trace/readers/recording_builder.h"
#include "sim/trace/readers/xla_rows.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

namespace sim {
namespace {

using nlohmann::json;

constexpr std::size_t kMostOfAMetadata = std::size_t{32} << 20;

class ChromeReader {
public:
    ChromeReader(ByteSource& source, const ReadingFile& file)
        : m_file(file), m_source(source), m_window(source, file.windowBytes), m_events(m_builder, file)
    {
        m_builder.file().path = file.path;
        m_builder.file().bytes = file.bytes;
    }

    Recording read()
    {
        m_window.advance();
        const char first = next();
        if (first == '[') {
            ++m_window.at;
            readEvents();
        } else if (first == '{') {
            ++m_window.at;
            readDocument();
        } else {
            throw Error(m_file.path + ": is no trace: JSON begins with { or [");
        }
        if (!m_hasEvents)
            throw Error(m_file.path + (m_saysSchema && m_hasNodes
                                           ? ": is an execution trace (Chakra): it says what depends on what, and not "
                                             "when; open what the profiler recorded of the same run"
                                           : ": is no trace: it has no \"traceEvents\""));
        tellRest();
        if (!m_source.damage().empty())
            endEarly(m_source.damage());
        m_builder.file().textBytes = static_cast<std::uint64_t>(m_window.bytesRead());
        return finish();
    }

private:
    /// The next character that is no space, without taking it; 0 at the end of the text.
    char next()
    {
        for (;;) {
            skipSpace(m_window.at, m_window.end());
            if (m_window.end() - m_window.at >= 3 && m_window.bytesRead() - (m_window.end() - m_window.at) == 0 &&
                std::string_view(m_window.at, 3) == "\xEF\xBB\xBF") {
                m_window.at += 3; // byte order mark
                continue;
            }
            if (m_window.at < m_window.end())
                return *m_window.at != 0 ? *m_window.at : '\x7f'; // a block that was never written is damage, and no end
            if (!m_window.advance())
                return 0;
        }
    }

    void endEarly(const std::string& why)
    {
        if (!m_builder.file().isComplete)
            return;
        m_builder.file().isComplete = false;
        m_builder.recording.problems.push_back(m_file.path + ": " + why + "; the " + std::to_string(m_builder.file().events) +
                                               " events before that are kept");
    }
    /// What follows the end of the document: nothing, unless files were put behind one another.
    void tellRest()
    {
        if (!m_builder.file().isComplete)
            return;
        char first = 0;
        std::int64_t byte = 0, last = 0;
        do {
            for (; m_window.at < m_window.end(); ++m_window.at) {
                if (std::string_view(" \n\r\t,;]}\0", 9).find(*m_window.at) != std::string_view::npos)
                    continue; // brackets too many, and bytes that fill a block
                if (first == 0) {
                    first = *m_window.at;
                    byte = m_window.byteOf(m_window.at);
                }
                last = m_window.byteOf(m_window.at);
            }
            reportProgress();
        } while (m_window.advance());
        if (first == 0)
            return;
        m_builder.file().isComplete = false;
        m_builder.recording.problems.push_back(
            m_file.path + ": its document ends before byte " + std::to_string(byte) + ", where " +
            (first == '{' || first == '[' ? "another begins: " : "what is none follows: ") + std::to_string(last + 1 - byte) +
            " bytes are left out; put each document into a file of its own");
    }
    void endTooEarly()
    {
        endEarly(m_source.damage().empty() ? "the text ends too early, at byte " + std::to_string(m_window.bytesRead())
                                           : m_source.damage());
    }

    /// Keys of the outer object.
    void readDocument()
    {
        for (;;) {
            char c = next();
            if (c == ',') {
                ++m_window.at;
                continue;
            }
            if (c == '}')
                return;
            if (c == 0)
                return endTooEarly();
            if (c != '"') {
                return endEarly("byte " + std::to_string(m_window.byteOf(m_window.at)) + " is no key of the outer object");
            }
            std::string_view key;
            if (!take(key))
                return endTooEarly();
            const std::string name = meantText(key.substr(1, key.size() - 2));
            if (next() != ':')
                return next() == 0 ? endTooEarly()
                                   : endEarly("a colon is missing at byte " + std::to_string(m_window.byteOf(m_window.at)));
            ++m_window.at;
            c = next();
            if (name == "traceEvents" && c == '[') {
                ++m_window.at;
                readEvents();
                if (!m_builder.file().isComplete)
                    return;
                continue;
            }
            std::string_view value;
            if (!take(value))
                return endTooEarly();
            takeMetadata(name, value);
        }
    }

    /// A value that may be longer than the window.
    bool take(std::string_view& value)
    {
        for (;;) {
            const char* at = m_window.at;
            const Scan result = scanValue(at, m_window.end(), value);
            if (result == Scan::done) {
                m_window.at = at;
                return true;
            }
            if (result == Scan::bad || static_cast<std::size_t>(m_window.end() - m_window.at) > kMostOfAMetadata ||
                !m_window.advance())
                return false;
        }
    }

    void takeMetadata(const std::string& name, std::string_view value)
    {
        const auto parsed = [value] {
            return isNestedDeeper(value, kMostJsonDepth) ? json(json::value_t::discarded) : json::parse(value, nullptr, false);
        };
        if (name == "distributedInfo") {
            m_distributed = parsed();
            if (m_distributed.is_discarded())
                m_builder.recording.problems.push_back(m_file.path + ": its distributedInfo is damaged");
        } else if (name == "deviceProperties") {
            m_devices = parsed();
        } else if (name == "baseTimeNanoseconds") {
            const auto base = wholeNumber(value);
            if (base && *base >= 0 && *base <= kMostTraceNs)
                m_baseNs = *base;
            else
                m_builder.recording.problems.push_back(m_file.path + ": its baseTimeNanoseconds " +
                                                       std::string(value.substr(0, 40)) +
                                                       " is no time; its times are kept as they stand");
        } else if (name == "host_name" || name == "hostname") {
            m_builder.about.host = meantText(value.size() >= 2 ? value.substr(1, value.size() - 2) : value);
        } else if (name == "schemaVersion") {
            m_hasSchema = true;
        } else if (name == "schema") {
            m_saysSchema = true;
        } else if (name == "nodes") {
            m_hasNodes = true;
        } else if (name == "workload_graph") { // as Chakra's own tools write it
            m_saysSchema = m_hasNodes = true;
        }
    }

    /// The events up to the end of their array.
    void readEvents()
    {
        m_hasEvents = true;
        CancelPoll poll;
        for (;;) {
            poll(8);
            const char c = next();
            if (c == ',') {
                ++m_window.at;
                continue;
            }
            if (c == ']') {
                ++m_window.at;
                return;
            }
            if (c == 0)
                return endTooEarly();
            if (!readEvent())
                return endTooEarly();
        }
    }

    /// One event; a damaged one is left out. False where the text ends inside.
    bool readEvent()
    {
        const char* const first = m_window.at;
        ChromeEvent event;
        const char* at = first;
        const std::size_t held = static_cast<std::size_t>(m_window.end() - first);
        const char* const end = first + std::min(held, mostOfAnEvent());
        Scan result = *at == '{' ? scanEvent(at, end, event, Quotes::strict) : Scan::bad;
        if (result == Scan::bad && *first == '{') { // quotes that were never escaped
            at = first;
            event = {};
            result = scanEvent(at, end, event, Quotes::guessed);
        }
        if (result == Scan::more) {
            if (held <= mostOfAnEvent()) {
                if (m_window.advance()) {
                    reportProgress();
                    return true; // once more, with more of it
                }
                ++m_overlong;
                return resume(m_window.at, true);
            }
            ++m_overlong;
            return resume(m_window.at, false);
        }
        if (result == Scan::bad)
            return resume(m_window.at, false);
        const std::string_view written(first, static_cast<std::size_t>(at - first));
        if (written.find('\0') != std::string_view::npos) // a block of zeros, up to the next quote that happens to stand right
            return resume(m_window.at, false);
        m_window.at = at;
        const bool isEmpty = event.ph.empty() && written.find_first_not_of("{} \t\r\n") == std::string_view::npos;
        if (const char* why = isEmpty ? nullptr : m_events.take(event))
            damaged(why, first);
        else
            ++m_builder.file().events;
        if (isEmpty)
            m_builder.skip("empty event", "a list of XLA's profiler ends with one");
        return true;
    }

    /// What one event may take; less once a file has shown that its brackets do not close.
    std::size_t mostOfAnEvent() const
    {
        return m_overlong < 16       ? std::size_t{4} << 20
               : m_overlong < 1000   ? std::size_t{64} << 10
               : m_overlong < 20'000 ? std::size_t{8} << 10
                                     : std::size_t{1} << 10;
    }

    void damaged(const std::string& why, const char* at)
    {
        const std::int64_t byte = m_window.byteOf(at);
        m_builder.skip("damaged event", "the first at byte " + std::to_string(byte) + ": " + why, byte);
    }

    /// Goes on at the next event that begins behind `from`: a comma, a brace, a key. `isEnd`: the text holds no more than the
    /// window, and where no event follows it ends in this one.
    bool resume(const char* from, bool isEnd)
    {
        const std::int64_t byte = m_window.byteOf(from);
        const char* at = from + 1;
        char before = 0; // the last character that is no space
        for (;;) {
            if (at >= m_window.end()) {
                m_window.at = m_window.end();
                if (!m_window.advance())
                    return neverEnds(byte, isEnd);
                reportProgress();
                at = m_window.at;
                continue;
            }
            const char c = *at;
            if ((c == '{' && before == ',') || (c == ']' && before == '}')) {
                const char* next = at + 1;
                skipSpace(next, m_window.end());
                if (c == ']' && next < m_window.end() && *next == ',') { // of the events a key of the document follows
                    ++next;
                    skipSpace(next, m_window.end());
                    if (next < m_window.end() && *next == '{')
                        next = nullptr; // of a list in the damaged event
                }
                if (next == m_window.end()) {
                    m_window.at = at;
                    if (m_window.advance()) {
                        reportProgress();
                        at = m_window.at;
                        continue;
                    }
                    return neverEnds(byte, isEnd);
                }
                if (next != nullptr && (*next == '"' || (c == ']' && *next == '}'))) {
                    damagedAt(byte, "it is no JSON");
                    m_passedOver += m_window.byteOf(at) - byte;
                    m_window.at = at;
                    return true;
                }
            }
            if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
                before = c;
            ++at;
        }
    }
    bool neverEnds(std::int64_t byte, bool isEnd)
    {
        if (!isEnd) {
            damagedAt(byte, "it never ends");
            m_passedOver += m_window.bytesRead() - byte;
        }
        return false;
    }
    /// A damaged stretch counts as one event, whatever it held: about as many as lie in as much of the rest.
    void tellPassedOver()
    {
        const auto events = static_cast<std::int64_t>(m_builder.file().events);
        const std::int64_t rest = m_window.bytesRead() - m_passedOver;
        for (RecordedSkip& skip : m_builder.recording.skipped)
            if (skip.what == "damaged event" && m_passedOver > 0) {
                const auto about =
                    static_cast<std::int64_t>(std::llround(static_cast<double>(m_passedOver) * static_cast<double>(events) /
                                                           static_cast<double>(std::max<std::int64_t>(rest, 1))));
                skip.why += "; " + std::to_string(m_passedOver) + " bytes are passed over in all" +
                            (about > static_cast<std::int64_t>(skip.count) ? ", about " + std::to_string(about) + " events" : "");
            }
    }
    void damagedAt(std::int64_t byte, const std::string& why)
    {
        m_builder.skip("damaged event", "the first at byte " + std::to_string(byte) + ": " + why, byte);
    }

    void reportProgress()
    {
        if (m_file.progress)
            m_file.progress(m_source.fileBytesRead());
    }

    Recording finish()
    {
        RankRecording& about = m_builder.about;
        tellPassedOver();
        takeDistributedInfo();
        if (about.rank < 0)
            nameRankByFile(about, m_file.path);
        about.device = m_events.device();
        about.deviceName = deviceName(about.device);
        m_builder.file().format = m_events.isOwn() ? "Rankscope" : m_hasSchema || !m_distributed.is_null() ? "Kineto" : "Chrome";
        m_builder.recording.isEpoch = m_baseNs != 0 || m_events.looksLikeEpoch();
        m_builder.recording.slices = m_events.slices();
        m_events.finish();
        if (about.rank < 0 && m_events.isOfAscend()) {
            about.rank = rankOfProfilerInfo(m_file.path);
            about.rankEvidence = about.rank >= 0 ? "profiler_info beside it" : "";
        }
        if (m_builder.file().events == 0)
            for (const RecordedSkip& skip : m_builder.recording.skipped)
                if (skip.what == "damaged event")
                    throw Error(m_file.path + ": none of its " + std::to_string(skip.count) +
                                (skip.count == 1 ? " event" : " events") + " can be read; " + skip.why);
        Recording recording = m_builder.finish(m_baseNs);
        if (m_events.isOfXlaDevices())
            shareXlaSteps(recording);
        m_job.settle(recording);
        joinNamedGroups(recording);
        return recording;
    }

    /// Of the device with this number; where none has it (ROCm's profiler counts otherwise than its list), the name that all
    /// have.
    std::string deviceName(int number) const
    {
        std::set<std::string> names;
        if (m_devices.is_array())
            for (const json& device : m_devices) {
                if (!device.is_object() || !device.contains("name") || !device["name"].is_string())
                    continue;
                const std::string& name = device["name"].get_ref<const std::string&>();
                if (device.contains("id") && device["id"].is_number_integer() && device["id"] == number)
                    return name;
                names.insert(name);
            }
        return names.size() == 1 ? *names.begin() : std::string();
    }

    void takeDistributedInfo()
    {
        if (!m_distributed.is_object() || m_job.take(m_distributed, m_builder))
            return;
        RankRecording& about = m_builder.about;
        const auto number = [&](const json& object, const char* key, int least) {
            const auto found = object.find(key);
            if (found == object.end())
                return -1;
            const auto value = found->is_number_integer() ? std::optional(found->get<std::int64_t>())
                               : found->is_string()       ? wholeNumber(found->get_ref<const std::string&>())
                                                          : std::nullopt;
            return value && *value >= least && *value < kMostRanksOfAJob ? static_cast<int>(*value) : -1;
        };
        const auto text = [](const json& object, const char* key) {
            const auto found = object.find(key);
            return found != object.end() && found->is_string()           ? found->get<std::string>()
                   : found != object.end() && found->is_number_integer() ? std::to_string(found->get<std::int64_t>())
                                                                         : std::string();
        };
        about.rank = number(m_distributed, "rank", 0);
        if (about.rank >= 0)
            about.rankEvidence = "distributedInfo";
        about.worldSize = std::max(0, number(m_distributed, "world_size", 1));
        about.backend = text(m_distributed, "backend");
        const auto config = m_distributed.find("pg_config");
        if (config == m_distributed.end() || !config->is_array())
            return;
        for (const json& entry : *config) {
            if (!entry.is_object())
                continue;
            std::vector<int> ranks;
            if (const auto list = entry.find("ranks"); list != entry.end() && list->is_array()) {
                std::size_t wrong = 0;
                std::string first;
                for (const json& rank : *list) {
                    if (rank.is_number_integer() && rank.get<std::int64_t>() >= 0 && rank.get<std::int64_t>() < kMostRanksOfAJob)
                        ranks.push_back(rank.get<int>());
                    else if (wrong++ == 0)
                        first = rank.is_number() ? rank.dump() : std::string("a ") + rank.type_name();
                }
                const std::string why = "no rank of a job, as those are whole numbers from 0 to " +
                                        std::to_string(kMostRanksOfAJob - 1) + "; the first is " + first + ", of group \"" +
                                        text(entry, "pg_name") + "\"";
                for (; wrong > 0; --wrong)
                    m_builder.skip("member of a group", why);
                std::sort(ranks.begin(), ranks.end());
                ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
            } else if (list != entry.end() && list->is_string()) {
                ranks = ranksOfText(list->get<std::string>());
            }
            const int size = std::max({0, number(entry, "pg_size", 0), number(entry, "group_size", 0)});
            if (ranks.empty() && size > 0 && size == about.worldSize && // torch leaves the list of the whole world out
                m_builder.takeUnlistedMembers(asIndex(size)))
                for (int rank = 0; rank < size; ++rank)
                    ranks.push_back(rank);
            const std::int32_t group =
                m_builder.group(text(entry, "pg_name"), text(entry, "pg_desc"), std::move(ranks), size, "distributedInfo");
            RecordedGroup& made = m_builder.recording.groups[static_cast<std::size_t>(group)];
            made.evidence = "distributedInfo";
            made.backend = text(entry, "backend_config");
        }
    }

    const ReadingFile& m_file;
    ByteSource& m_source;
    RecordingBuilder m_builder;
    TextWindow m_window;
    ChromeEvents m_events;
    json m_distributed, m_devices;
    JobWords m_job;
    std::int64_t m_baseNs = 0;
    std::int64_t m_passedOver = 0; ///< bytes of damaged stretches
    std::size_t m_overlong = 0;
    bool m_hasEvents = false, m_hasSchema = false;
    bool m_saysSchema = false, m_hasNodes = false; ///< keys of execution traces
};

} // namespace

Recording readChromeTrace(ByteSource& source, const ReadingFile& file)
{
    return ChromeReader(source, file).read();
}

} // namespace sim
