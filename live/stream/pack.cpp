#include "live/stream/pack.h"

#include "sim/error.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace live {
namespace {

[[noreturn]] void broken(const std::string& what)
{
    throw sim::Error("a block of recorded spans is broken: " + what);
}

template <class Integer>
void writeInteger(std::string& out, Integer value)
{
    for (std::size_t byte = 0; byte < sizeof(Integer); ++byte)
        out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * byte)));
}

class Reader {
public:
    explicit Reader(std::string_view bytes) : m_bytes(bytes) {}

    std::string_view take(std::size_t size)
    {
        if (size > m_bytes.size())
            broken("it ends too early");
        const std::string_view taken = m_bytes.substr(0, size);
        m_bytes.remove_prefix(size);
        return taken;
    }
    std::uint64_t integer(std::size_t width)
    {
        const std::string_view bytes = take(width);
        std::uint64_t value = 0;
        for (std::size_t byte = 0; byte < width; ++byte)
            value |= std::uint64_t{static_cast<unsigned char>(bytes[byte])} << (8 * byte);
        return value;
    }
    std::size_t count(std::size_t most)
    {
        const auto value = static_cast<std::size_t>(integer(4));
        if (value > most)
            broken("it says that it has " + std::to_string(value) + " records, where at most " + std::to_string(most) +
                   " can be");
        return value;
    }
    void end() const
    {
        if (!m_bytes.empty())
            broken("it is too long");
    }

private:
    std::string_view m_bytes;
};

/// get(i): the signed value of record i.
template <class Get>
void writeColumn(std::string& out, std::size_t count, Get get)
{
    std::int64_t least = count > 0 ? get(0) : 0, most = least;
    for (std::size_t i = 1; i < count; ++i) {
        least = std::min(least, get(i));
        most = std::max(most, get(i));
    }
    const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
    const auto width = static_cast<std::size_t>(std::bit_ceil(static_cast<unsigned>((std::bit_width(range) + 7) / 8)));
    const std::size_t used = range == 0 ? 0 : width;
    writeInteger(out, least);
    out.push_back(static_cast<char>(used));
    const std::size_t first = out.size();
    out.resize(first + count * used);
    char* place = out.data() + first;
    for (std::size_t i = 0; i < count && used > 0; ++i) {
        const std::uint64_t difference = static_cast<std::uint64_t>(get(i)) - static_cast<std::uint64_t>(least);
        for (std::size_t byte = 0; byte < used; ++byte)
            *place++ = static_cast<char>(difference >> (8 * byte));
    }
}

/// set(i, value)
template <class Set>
void readColumn(Reader& reader, std::size_t count, Set set)
{
    const std::uint64_t least = reader.integer(8);
    const auto width = static_cast<std::size_t>(reader.integer(1));
    if (width > 8 || (width & (width - 1)) != 0)
        broken("a column has an impossible width");
    Reader values(reader.take(count * width));
    for (std::size_t i = 0; i < count; ++i)
        set(i, static_cast<std::int64_t>(least + values.integer(width)));
}

/// The value as a narrower integer in [least, most].
template <class Integer>
Integer within(std::int64_t value, std::int64_t least, std::int64_t most, const char* what)
{
    if (value < least || value > most)
        broken(std::string(what) + ": " + std::to_string(value));
    return static_cast<Integer>(value);
}

constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();

/// Sums and differences of times from outside must not overflow.
std::int64_t wrappingSum(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrappingDifference(std::int64_t a, std::int64_t b)
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::size_t kStepBytes = 8 * (7 + 2 + 3 * kCommCount);

} // namespace

std::string packSpans(std::span<const RankSpan> spans)
{
    assert(spans.size() <= kMaxRecordsOfBlock);
    std::string out;
    out.reserve(128 + spans.size() * 28);
    writeInteger(out, static_cast<std::uint32_t>(spans.size()));
    const auto column = [&](auto get) { writeColumn(out, spans.size(), [&](std::size_t i) { return get(spans[i].span); }); };
    writeColumn(out, spans.size(), [&](std::size_t i) { return std::int64_t{spans[i].rank}; });
    column([](const SpanRecord& span) { return static_cast<std::int64_t>(span.track); });
    column([](const SpanRecord& span) { return std::int64_t{span.step}; });
    column([](const SpanRecord& span) { return std::int64_t{span.kind}; });
    column([](const SpanRecord& span) { return std::int64_t{span.microbatch}; });
    column([](const SpanRecord& span) { return span.startNs; });
    column([](const SpanRecord& span) { return wrappingDifference(span.endNs, span.startNs); });
    column([](const SpanRecord& span) { return wrappingDifference(span.readyNs, span.startNs); });
    column([](const SpanRecord& span) { return span.cpuNs; });
    column([](const SpanRecord& span) { return span.bytes; });
    column([](const SpanRecord& span) { return static_cast<std::int64_t>(span.correlation); });
    return out;
}

void unpackSpans(std::string_view bytes, const PackLimits& limits, std::vector<RankSpan>& out)
{
    Reader reader(bytes);
    const std::size_t count = reader.count(kMaxRecordsOfBlock);
    std::vector<RankSpan> spans(count);
    const auto column = [&](auto set) {
        readColumn(reader, count, [&](std::size_t i, std::int64_t value) { set(spans[i].span, value); });
    };
    readColumn(reader, count, [&](std::size_t i, std::int64_t value) {
        spans[i].rank = within<std::int32_t>(value, 0, limits.worldSize - 1, "it names a rank that the run does not have");
    });
    column([](SpanRecord& span, std::int64_t value) {
        span.track = static_cast<SpanTrack>(within<std::uint8_t>(value, 0, kSpanTrackCount - 1, "it names an unknown track"));
    });
    column([](SpanRecord& span, std::int64_t value) {
        span.step = within<std::int32_t>(value, -1, kMost32, "it names an impossible step");
    });
    column([&](SpanRecord& span, std::int64_t value) {
        span.kind = within<std::uint32_t>(value, 0, static_cast<std::int64_t>(limits.kinds) - 1, "it names an unknown kind");
    });
    column([](SpanRecord& span, std::int64_t value) {
        span.microbatch = within<std::int32_t>(value, -1, kMost32, "it names an impossible micro-batch");
    });
    column([](SpanRecord& span, std::int64_t value) { span.startNs = value; });
    column([](SpanRecord& span, std::int64_t value) { span.endNs = wrappingSum(span.startNs, value); });
    column([](SpanRecord& span, std::int64_t value) { span.readyNs = wrappingSum(span.startNs, value); });
    column([](SpanRecord& span, std::int64_t value) { span.cpuNs = value; });
    column([](SpanRecord& span, std::int64_t value) { span.bytes = value; });
    column([](SpanRecord& span, std::int64_t value) { span.correlation = static_cast<std::uint64_t>(value); });
    reader.end();
    for (const RankSpan& span : spans)
        if (span.span.startNs < 0 || span.span.endNs < span.span.startNs)
            broken("a span ends before it starts");
    out.insert(out.end(), spans.begin(), spans.end());
}

std::size_t recordsOf(std::string_view block)
{
    return block.size() < 4 ? 0 : static_cast<std::size_t>(Reader(block).integer(4));
}

std::string packMemory(std::span<const RankMemory> values)
{
    assert(values.size() <= kMaxRecordsOfBlock);
    std::string out;
    writeInteger(out, static_cast<std::uint32_t>(values.size()));
    writeColumn(out, values.size(), [&](std::size_t i) { return std::int64_t{values[i].rank}; });
    writeColumn(out, values.size(), [&](std::size_t i) { return values[i].value.timeNs; });
    writeColumn(out, values.size(), [&](std::size_t i) { return values[i].value.value; });
    return out;
}

void unpackMemory(std::string_view bytes, const PackLimits& limits, std::vector<RankMemory>& out)
{
    Reader reader(bytes);
    const std::size_t count = reader.count(kMaxRecordsOfBlock);
    std::vector<RankMemory> values(count);
    readColumn(reader, count, [&](std::size_t i, std::int64_t value) {
        values[i].rank = within<std::int32_t>(value, 0, limits.worldSize - 1, "it names a rank that the run does not have");
    });
    readColumn(reader, count, [&](std::size_t i, std::int64_t value) { values[i].value.timeNs = value; });
    readColumn(reader, count, [&](std::size_t i, std::int64_t value) { values[i].value.value = value; });
    reader.end();
    out.insert(out.end(), values.begin(), values.end());
}

std::string packSteps(std::span<const StepSummary> steps)
{
    std::string out;
    out.reserve(4 + steps.size() * kStepBytes);
    writeInteger(out, static_cast<std::uint32_t>(steps.size()));
    for (const StepSummary& step : steps) {
        writeInteger(out, std::int64_t{step.step});
        for (const double value : {step.loss, step.gradientNorm, step.tokensPerSecond})
            writeInteger(out, std::bit_cast<std::uint64_t>(value));
        writeInteger(out, step.startNs);
        writeInteger(out, step.endNs);
        writeInteger(out, step.sums.spans);
        writeInteger(out, step.sums.computeNs);
        writeInteger(out, step.sums.computeCpuNs);
        for (const auto* sums : {&step.sums.waitNs, &step.sums.transferNs, &step.sums.bytes})
            for (const std::int64_t value : *sums)
                writeInteger(out, value);
    }
    return out;
}

void unpackSteps(std::string_view bytes, std::vector<StepSummary>& out)
{
    Reader reader(bytes);
    const std::size_t count = reader.count(bytes.size() / kStepBytes);
    const auto signedInteger = [&] { return static_cast<std::int64_t>(reader.integer(8)); };
    for (std::size_t i = 0; i < count; ++i) {
        StepSummary step;
        step.step = within<std::int32_t>(signedInteger(), -1, kMost32, "it names an impossible step");
        for (double* value : {&step.loss, &step.gradientNorm, &step.tokensPerSecond})
            *value = std::bit_cast<double>(reader.integer(8));
        step.startNs = signedInteger();
        step.endNs = signedInteger();
        step.sums.spans = signedInteger();
        step.sums.computeNs = signedInteger();
        step.sums.computeCpuNs = signedInteger();
        for (auto* sums : {&step.sums.waitNs, &step.sums.transferNs, &step.sums.bytes})
            for (std::int64_t& value : *sums)
                value = signedInteger();
        out.push_back(step);
    }
    reader.end();
}

} // namespace live
