// Reading 10 million spans for one frame of a timeline, and writing them to a file.
#include "sim/trace/busy_mipmap.h"
#include "sim/trace/export.h"

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <ostream>
#include <random>
#include <streambuf>
#include <vector>

namespace {

constexpr int kSpans = 10'000'000;
constexpr std::size_t kColumns = 2000;

/// Counts bytes and drops them.
class Sink final : public std::streambuf {
public:
    std::int64_t bytes() const { return m_bytes; }

private:
    int_type overflow(int_type c) override
    {
        ++m_bytes;
        return traits_type::not_eof(c);
    }
    std::streamsize xsputn(const char*, std::streamsize count) override
    {
        m_bytes += count;
        return count;
    }
    std::int64_t m_bytes = 0;
};

sim::Trace oneTrack(int spans, bool overlaps)
{
    sim::Trace trace;
    trace.processes = {{.name = "rank 0"}};
    for (int c = 0; c < sim::kOpClassCount; ++c)
        trace.kinds.push_back({.name = sim::opClassName(static_cast<sim::OpClass>(c)), .opClass = static_cast<sim::OpClass>(c)});
    sim::Track track{.process = 0, .name = "compute"};
    std::mt19937 random(1);
    std::int64_t now = 0;
    for (int i = 0; i < spans; ++i) {
        const auto duration = static_cast<std::int64_t>(1000 + random() % 100'000);
        track.startNs.push_back(now);
        track.durationNs.push_back(duration + (overlaps ? 500 : 0));
        track.kind.push_back(static_cast<std::uint32_t>(random() % sim::kOpClassCount));
        track.microbatch.push_back(i % 64);
        now += duration + static_cast<std::int64_t>(random() % 400);
    }
    trace.endNs = now;
    trace.tracks.push_back(std::move(track));
    return trace;
}

void BM_BusyMipmapBuild(benchmark::State& state)
{
    const sim::Trace trace = oneTrack(kSpans, state.range(0) != 0);
    std::size_t bytes = 0;
    for (auto _ : state) {
        const sim::BusyMipmap mipmap(trace.tracks[0], trace.kinds);
        bytes = mipmap.memoryBytes();
        benchmark::DoNotOptimize(bytes);
    }
    state.counters["bytes_a_span"] = static_cast<double>(bytes) / kSpans;
    state.SetItemsProcessed(state.iterations() * kSpans);
}
BENCHMARK(BM_BusyMipmapBuild)->ArgName("overlapping")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// 2,000 columns over the first 1/zoom of the track.
void BM_BusyMipmapColumns(benchmark::State& state)
{
    const sim::Trace trace = oneTrack(kSpans, false);
    const sim::BusyMipmap mipmap(trace.tracks[0], trace.kinds);
    std::vector<std::int64_t> edges;
    for (std::size_t i = 0; i <= kColumns; ++i)
        edges.push_back(trace.endNs / state.range(0) * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(kColumns));
    std::vector<sim::BusyByClass> columns(kColumns);
    for (auto _ : state) {
        mipmap.columns(edges, columns);
        benchmark::DoNotOptimize(columns.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kColumns));
}
BENCHMARK(BM_BusyMipmapColumns)->ArgName("zoom")->Arg(1)->Arg(100)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void write(benchmark::State& state, void (*writeTrace)(const sim::Trace&, std::ostream&))
{
    constexpr int kWritten = 1'000'000;
    const sim::Trace trace = oneTrack(kWritten, false);
    std::int64_t bytes = 0;
    for (auto _ : state) {
        Sink sink;
        std::ostream out(&sink);
        writeTrace(trace, out);
        bytes = sink.bytes();
    }
    state.counters["bytes_a_span"] = static_cast<double>(bytes) / kWritten;
    state.SetItemsProcessed(state.iterations() * kWritten);
}
void BM_WritePerfetto(benchmark::State& state)
{
    write(state, sim::writePerfetto);
}
BENCHMARK(BM_WritePerfetto)->Unit(benchmark::kMillisecond);
void BM_WriteChromeJson(benchmark::State& state)
{
    write(state, sim::writeChromeJson);
}
BENCHMARK(BM_WriteChromeJson)->Unit(benchmark::kMillisecond);

} // namespace
