#include "sim/trace/recording.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace sim {

const char* recordedKindName(RecordedKind kind)
{
    constexpr std::array<const char*, kRecordedKindCount> kNames = {"kernel",
                                                                    "communication",
                                                                    "copy",
                                                                    "memset",
                                                                    "device annotation",
                                                                    "cpu op",
                                                                    "runtime call",
                                                                    "annotation",
                                                                    "host communication",
                                                                    "Python function",
                                                                    "synchronization",
                                                                    "overhead",
                                                                    "other"};
    return kNames.at(static_cast<std::size_t>(kind));
}

std::uint32_t NameTable::add(std::string_view name)
{
    const auto found = m_ids.find(name);
    if (found != m_ids.end())
        return found->second;
    const auto id = static_cast<std::uint32_t>(m_names.size());
    const auto [place, isNew] = m_ids.emplace(std::string(name), id);
    m_names.push_back(&place->first);
    return id;
}

std::uint32_t NameTable::find(std::string_view name) const
{
    const auto found = m_ids.find(name);
    return found == m_ids.end() ? kNoSpan : found->second;
}

std::size_t NameTable::memoryBytes() const
{
    std::size_t bytes = m_names.size() * sizeof(void*);
    for (const std::string* name : m_names)
        bytes += name->capacity() + sizeof(std::string) + 4 * sizeof(void*); // a node of the table
    return bytes;
}

bool Recording::isOfOneClock() const
{
    return files.size() == 1 && files.front().format == "Rankscope" && !hasManyClocks;
}

std::size_t Recording::events() const
{
    std::size_t count = 0;
    for (const RecordedFile& file : files)
        count += file.events;
    return count;
}

std::size_t Recording::spanCount() const
{
    std::size_t count = 0;
    for (const RankRecording& rank : ranks)
        count += rank.spans.size();
    return count;
}

std::size_t Recording::memoryBytes() const
{
    const auto bytesOf = [](const auto& column) { return column.capacity() * sizeof(column[0]); };
    std::size_t bytes = names.memoryBytes() + bytesOf(flows) + bytesOf(meanings) + bytesOf(groups) + bytesOf(shapes);
    for (const RankRecording& rank : ranks) {
        const RecordedSpans& spans = rank.spans;
        bytes += spans.startNs.memoryBytes() + spans.durationNs.memoryBytes() + spans.name.memoryBytes() +
                 spans.kind.memoryBytes() + spans.meaning.memoryBytes() + spans.microbatch.memoryBytes();
        bytes += bytesOf(rank.tracks) + rank.links.memoryBytes() + bytesOf(rank.collectives) + bytesOf(rank.steps) +
                 rank.annotations.memoryBytes() + bytesOf(rank.shapeOf);
        for (const RecordedCounter& counter : rank.counters)
            bytes += bytesOf(counter.timeNs) + bytesOf(counter.value);
    }
    return bytes;
}

int elementBytes(std::string_view dtype)
{
    std::string name;
    for (const char c : dtype.substr(dtype.rfind('.') == std::string_view::npos ? 0 : dtype.rfind('.') + 1))
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    constexpr auto kBytes = std::to_array<std::pair<std::string_view, int>>({
        {"bfloat16", 2}, {"bf16", 2},   {"half", 2},    {"float16", 2}, {"fp16", 2},      {"float", 4},       {"float32", 4},
        {"fp32", 4},     {"double", 8}, {"float64", 8}, {"fp64", 8},    {"byte", 1},      {"uint8", 1},       {"char", 1},
        {"int8", 1},     {"short", 2},  {"int16", 2},   {"int", 4},     {"int32", 4},     {"uint32", 4},      {"long", 8},
        {"int64", 8},    {"uint64", 8}, {"bool", 1},    {"cfloat", 8},  {"complex64", 8}, {"complex128", 16},
    });
    for (const auto& [word, bytes] : kBytes)
        if (name == word)
            return bytes;
    return name.starts_with("float8") || name.starts_with("fp8") || name.starts_with("f8e") ? 1 : 0;
}

std::int64_t busyNs(const RankRecording& rank)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> busy; // start, end
    for (std::size_t span = 0; span < rank.spans.size(); ++span)
        if (isDeviceWork(rank.spans.kind[span]) && rank.spans.durationNs[span] > 0)
            busy.emplace_back(rank.spans.startNs[span], rank.spans.endNs(span));
    std::sort(busy.begin(), busy.end());
    std::int64_t sum = 0, until = std::numeric_limits<std::int64_t>::min();
    for (const auto& [start, end] : busy) {
        if (end > until)
            sum += end - std::max(start, until);
        until = std::max(until, end);
    }
    return sum;
}

std::size_t kernelCount(const RankRecording& rank)
{
    return static_cast<std::size_t>(std::count_if(rank.spans.kind.begin(), rank.spans.kind.end(), [](RecordedKind kind) {
        return kind == RecordedKind::kernel || kind == RecordedKind::communication;
    }));
}

double peakMemoryBytes(const RankRecording& rank)
{
    double peak = 0;
    for (const RecordedCounter& counter : rank.counters)
        if (counter.unit == "bytes" && counter.name.starts_with("memory of device"))
            for (const double bytes : counter.value)
                if (bytes > peak && std::isfinite(bytes)) // files hold values that are no numbers
                    peak = bytes;
    return peak;
}

std::size_t communicationCount(const RankRecording& rank)
{
    return static_cast<std::size_t>(std::count(rank.spans.kind.begin(), rank.spans.kind.end(), RecordedKind::communication));
}

bool isCommunicationKernel(std::string_view name)
{
    const auto startsWith = [&](std::string_view start) {
        return name.size() >= start.size() && std::equal(start.begin(), start.end(), name.begin(), [](char want, char have) {
                   return want == static_cast<char>(std::tolower(static_cast<unsigned char>(have)));
               });
    };
    if (startsWith("void "))
        name.remove_prefix(5);
    return startsWith("nccl") || startsWith("rccl") || startsWith("msccl") || startsWith("hccl");
}

} // namespace sim
