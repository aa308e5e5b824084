// Chrome trace events, as in the Trace Event Format document of the Chromium project.
#include "sim/trace/distributed_info.h"
#include "sim/trace/export.h"
#include "sim/trace/rows.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ostream>
#include <string>
#include <tuple>

namespace sim {
namespace {

/// A JSON string. Names are UTF-8; control characters are escaped.
std::string jsonString(const std::string& text)
{
    std::string out(1, '"');
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
            out += code.data();
        } else {
            out += c;
        }
    }
    return out + '"';
}

/// Nanoseconds as microseconds with three decimals, exactly.
std::string microseconds(std::int64_t ns)
{
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%" PRId64 ".%03" PRId64, ns / 1000, ns % 1000);
    return text.data();
}

class ChromeWriter {
public:
    ChromeWriter(const Trace& trace, std::ostream& out)
        : m_trace(trace), m_out(out), m_flowEnds(flowEnds(trace)), m_shiftNs(writtenShiftNs(trace))
    {
    }

    void write()
    {
        m_out << R"({"schemaVersion":1,"displayTimeUnit":"ms","traceName":)" << jsonString(m_trace.title) << distributedInfo()
              << R"(,"traceEvents":[)";
        prepareKinds();
        for (std::size_t p = 0; p < m_trace.processes.size(); ++p)
            describeProcess(p);
        for (const std::size_t track : writingOrder(m_trace))
            writeTrack(track);
        for (const Counter& counter : m_trace.counters)
            writeCounter(counter);
        m_out << "\n]}\n";
    }

private:
    /// Before the events: readers then know the job when they meet its spans.
    std::string distributedInfo() const
    {
        std::string text;
        if (m_trace.isEpoch && m_trace.originNs > 0)
            text += R"(,"baseTimeNanoseconds":)" + std::to_string(m_trace.originNs);
        if (const std::string info = distributedInfoText(m_trace); !info.empty())
            text += R"(,"distributedInfo":)" + info;
        return text;
    }

    std::ostream& event()
    {
        m_out << (m_first ? "\n" : ",\n");
        m_first = false;
        return m_out;
    }

    /// What all spans of a kind say the same way is put together once.
    void prepareKinds()
    {
        for (const SpanKind& kind : m_trace.kinds) {
            m_heads.push_back(R"({"ph":"X","name":)" + jsonString(kind.name) + R"(,"cat":)" +
                              jsonString(kind.category.empty() ? opClassName(kind.opClass) : kind.category));
            std::string arguments;
            if (kind.stage >= 0)
                arguments += R"(,"stage":)" + std::to_string(kind.stage);
            if (kind.layer >= 0)
                arguments += R"(,"layer":)" + std::to_string(kind.layer);
            if (!kind.group.empty())
                arguments += R"(,"group":)" + jsonString(kind.group);
            if (kind.bytes > 0)
                arguments += R"(,"bytes":)" + std::to_string(kind.bytes);
            if (kind.flops > 0) {
                std::array<char, 40> number{};
                std::snprintf(number.data(), number.size(), "%.17g", kind.flops);
                arguments += std::string(R"(,"flops":)") + number.data();
            }
            m_arguments.push_back(std::move(arguments));
        }
    }

    void describeProcess(std::size_t p)
    {
        const Process& process = m_trace.processes[p];
        event() << R"({"ph":"M","name":"process_name","pid":)" << p << R"(,"args":{"name":)" << jsonString(process.name) << "}}";
        event() << R"({"ph":"M","name":"process_sort_index","pid":)" << p << R"(,"args":{"sort_index":)" << p << "}}";
        if (process.multiplicity > 1)
            event() << R"({"ph":"M","name":"process_labels","pid":)" << p << R"(,"args":{"labels":"x )" << process.multiplicity
                    << R"( ranks"}})";
    }

    void describeRow(std::size_t index, std::size_t row, std::size_t thread)
    {
        const Track& track = m_trace.tracks[index];
        event() << R"({"ph":"M","name":"thread_name","pid":)" << track.process << R"(,"tid":)" << thread << R"(,"args":{"name":)"
                << jsonString(rowName(track, row)) << "}}";
        event() << R"({"ph":"M","name":"thread_sort_index","pid":)" << track.process << R"(,"tid":)" << thread
                << R"(,"args":{"sort_index":)" << rowOrder(index, row) << "}}";
    }

    void writeTrack(std::size_t index)
    {
        const Track& track = m_trace.tracks[index];
        std::vector<std::size_t> threads; // of each row
        walkRows(
            track,
            [&](std::size_t row, std::size_t span) {
                while (threads.size() <= row) {
                    threads.push_back(++m_threads);
                    describeRow(index, threads.size() - 1, threads.back());
                }
                writeSpan(index, threads[row], span);
            },
            [](std::size_t, std::int64_t) {});
    }

    void writeSpan(std::size_t trackIndex, std::size_t thread, std::size_t span)
    {
        const Track& track = m_trace.tracks[trackIndex];
        const std::string place = R"(,"pid":)" + std::to_string(track.process) + R"(,"tid":)" + std::to_string(thread);
        std::string arguments = m_arguments[track.kind[span]];
        if (track.microbatch[span] >= 0) {
            arguments += R"(,"micro-batch":)" + std::to_string(track.microbatch[span] / m_trace.slices);
            if (m_trace.slices > 1)
                arguments += R"(,"slice":)" + std::to_string(track.microbatch[span] % m_trace.slices);
        }
        if (m_trace.kinds[track.kind[span]].category.empty()) {
            if (!track.correlation.empty() && track.correlation[span] != 0)
                arguments += R"(,"correlation":)" + std::to_string(track.correlation[span]);
            if (span < track.peer.size() && track.peer[span] >= 0)
                arguments += (isSendName(m_trace.kinds[track.kind[span]].name) ? R"(,"Dst Rank":)" : R"(,"Src Rank":)") +
                             std::to_string(track.peer[span]);
        } else {
            addRecorded(arguments, static_cast<std::uint32_t>(trackIndex), static_cast<std::uint32_t>(span));
        }
        if (const TraceGroup* group = groupOfSpan(m_trace, track, span))
            arguments += R"(,"Process Group Name":)" + jsonString(group->name);
        event() << m_heads[track.kind[span]] << place << R"(,"ts":)" << microseconds(m_shiftNs + track.startNs[span])
                << R"(,"dur":)" << microseconds(track.durationNs[span]) << R"(,"args":{)"
                << (arguments.empty() ? arguments : arguments.substr(1)) << "}}";
        const std::tuple key{static_cast<std::uint32_t>(trackIndex), static_cast<std::uint32_t>(span)};
        auto end = std::lower_bound(m_flowEnds.begin(), m_flowEnds.end(), key, [](const FlowEnd& e, const auto& k) {
            return std::tuple{e.track, e.span} < k;
        });
        for (; end != m_flowEnds.end() && std::tuple{end->track, end->span} == key; ++end)
            event() << R"({"ph":)" << (end->arrives ? R"("f","bp":"e")" : R"("s")") << R"(,"name":"send","cat":"pp","id":)"
                    << end->id << place << R"(,"ts":)" << microseconds(m_shiftNs + track.startNs[span]) << "}";
    }

    /// What the recorder said of a span, in Kineto's words.
    void addRecorded(std::string& arguments, std::uint32_t track, std::uint32_t span) const
    {
        if (const std::uint64_t launch = launchOfSpan(m_trace, track, span); launch != 0)
            arguments += R"(,"correlation":)" + std::to_string(launch);
        const TraceCollective* said = collectiveOfSpan(m_trace, track, span);
        if (said == nullptr)
            return;
        const auto sayText = [&arguments](const char* key, const std::string& text) {
            if (!text.empty())
                arguments += std::string(",\"") + key + "\":" + jsonString(text);
        };
        const auto sayNumber = [&arguments](const char* key, std::int64_t number) {
            if (number >= 0)
                arguments += std::string(",\"") + key + "\":" + std::to_string(number);
        };
        if (said->externalId != 0)
            sayNumber("External id", static_cast<std::int64_t>(said->externalId));
        sayText("Collective name", said->name);
        sayText("dtype", said->dtype);
        sayNumber("In msg nelems", said->inElements);
        sayNumber("Out msg nelems", said->outElements);
        sayNumber("bytes", said->bytes);
        sayNumber("Seq", said->sequence);
        sayNumber("Src Rank", said->sourceRank);
        sayNumber("Dst Rank", said->destinationRank);
    }

    void writeCounter(const Counter& counter)
    {
        for (std::size_t i = 0; i < counter.timeNs.size(); ++i)
            event() << R"({"ph":"C","name":)" << jsonString(counter.name) << R"(,"pid":)" << counter.process << R"(,"ts":)"
                    << microseconds(m_shiftNs + counter.timeNs[i]) << R"(,"args":{)" << jsonString(counter.unit) << ":"
                    << counter.value[i] << "}}";
    }

    const Trace& m_trace;
    std::ostream& m_out;
    std::vector<FlowEnd> m_flowEnds;
    std::vector<std::string> m_heads, m_arguments; ///< [kind]
    std::size_t m_threads = 0;
    std::int64_t m_shiftNs = 0;
    bool m_first = true;
};

} // namespace

void writeChromeJson(const Trace& trace, std::ostream& out)
{
    ChromeWriter(trace, out).write();
}

} // namespace sim
