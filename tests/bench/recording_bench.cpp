// Reading a profiler's file: Kineto's JSON as text, and packed by gzip. Bytes a second are of the text; `spans`: what is kept,
// and `bytes_a_span` that it takes. A cache of many ranks: written, opened, looked at a rank and a whole.
#include "sim/recovery/run_digest.h"
#include "sim/scenario/catalogue.h"
#include "sim/trace/cache/recording_cache.h"
#include "sim/trace/readers/read_recording.h"

#include "tests/support/recorded.h"
#include "tests/support/scenarios.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <zlib.h>

namespace {

/// Text as Kineto writes it of a training step: two thirds operators and launches, one third kernels, some collectives.
std::string kinetoText(std::size_t bytes)
{
    std::string text =
        R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":8},"baseTimeNanoseconds":1711964646000000000,"traceEvents":[)";
    std::mt19937 random(1);
    std::string line(1024, '\0');
    long long correlation = 1;
    for (double us = 4458677009853.422; text.size() < bytes; us += 7.131) {
        const auto add = [&](const char* format, auto... values) {
            const int length = std::snprintf(line.data(), line.size(), format, values...);
            text.append(line, 0, static_cast<std::size_t>(length));
        };
        const unsigned shape = static_cast<unsigned>(random() % 64);
        add("%s\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm_%u\", \"pid\": 1234, \"tid\": 1234,\n    "
            "\"ts\": %.3f, \"dur\": 5.123,\n    \"args\": {\n      \"External id\": %lld,\"Record function id\": 0, \"Ev Idx\": "
            "%lld, \"Input Dims\": [[4096, 4096], [4096, %u]]\n    }\n  }",
            correlation == 1 ? "" : ",", shape, us, correlation, correlation, shape);
        add(",\n  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1234, \"tid\": "
            "1234,\n    \"ts\": %.3f, \"dur\": 3.001,\n    \"args\": {\n      \"External id\": %lld, \"cbid\": 211, "
            "\"correlation\": %lld\n    }\n  }",
            us + 1, correlation, correlation);
        add(",\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
            "\"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_%u\", \"pid\": 3, \"tid\": 7,\n    \"ts\": %.3f, "
            "\"dur\": 6.500,\n    \"args\": {\n      \"External id\": %lld,\n      \"queued\": 0, \"device\": 3, \"context\": "
            "1,\n      \"stream\": 7, \"correlation\": %lld,\n      \"registers per thread\": 230,\n      \"shared memory\": "
            "81920,\n      \"blocks per SM\": 2.37,\n      \"warps per SM\": 9.48,\n      \"grid\": [32, 8, 1],\n      "
            "\"block\": [128, 1, 1],\n      \"est. achieved occupancy %%\": 12\n    }\n  }",
            shape, us + 4, correlation, correlation);
        ++correlation;
    }
    return text + "]}";
}

std::string gzipped(const std::string& text)
{
    std::string packed(compressBound(text.size()) + 64, '\0');
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

void BM_ReadKineto(benchmark::State& state)
{
    const bool isPacked = state.range(0) != 0;
    const std::string text = kinetoText(std::size_t{64} << 20);
    const std::string bytes = isPacked ? gzipped(text) : text;
    std::size_t spans = 0, held = 0;
    for (auto _ : state) {
        const sim::Recording recording = sim::readRecording(bytes.data(), bytes.size(), "rank3.json");
        spans = recording.spanCount();
        held = recording.memoryBytes();
        benchmark::DoNotOptimize(recording);
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
    state.counters["spans"] = static_cast<double>(spans);
    state.counters["bytes_a_span"] = static_cast<double>(held) / static_cast<double>(spans);
}
BENCHMARK(BM_ReadKineto)->Arg(0)->Arg(1)->ArgName("gz")->Unit(benchmark::kMillisecond);

/// 1,024 ranks that all hold the same rows, once in memory and in the file each for itself.
sim::Recording manyRanks(std::size_t spans)
{
    constexpr std::size_t kManyRanks = 1024, kStreams = 4;
    const std::size_t each = spans / kManyRanks / kStreams;
    std::mt19937 random(1);
    auto held = std::make_shared<sim::RankRecording>();
    for (std::size_t row = 0; row < kStreams; ++row) {
        sim::RecordedTrack track{.name = "stream " + std::to_string(7 + row), .process = "0", .isDevice = true, .device = 0};
        track.first = static_cast<std::uint32_t>(held->spans.size());
        std::int64_t now = 1'711'964'646'000'000'000;
        for (std::size_t i = 0; i < each; ++i) {
            const auto length = static_cast<std::int64_t>(1 + random() % 20'000);
            held->spans.startNs.push_back(now);
            held->spans.durationNs.push_back(length);
            held->spans.name.push_back(static_cast<std::uint32_t>(1 + random() % 300));
            held->spans.kind.push_back(row == 0 ? sim::RecordedKind::communication : sim::RecordedKind::kernel);
            now += length + static_cast<std::int64_t>(random() % 4000);
        }
        track.last = static_cast<std::uint32_t>(held->spans.size());
        held->tracks.push_back(track);
        held->lastNs = std::max(held->lastNs, now);
    }
    held->firstNs = 1'711'964'646'000'000'000;
    sim::Recording recording;
    for (int name = 0; name < 301; ++name)
        recording.names.add("kernel_" + std::to_string(name));
    for (std::size_t rank = 0; rank < kManyRanks; ++rank) {
        recording.files.push_back({.path = "run/rank" + std::to_string(rank) + ".json.gz", .format = "Kineto"});
        sim::RankRecording& of = recording.ranks.emplace_back();
        of.rank = static_cast<int>(rank);
        of.file = static_cast<int>(rank);
        of.tracks = held->tracks;
        of.firstNs = held->firstNs;
        of.lastNs = held->lastNs;
        const auto view = [&](const auto& column) {
            return std::decay_t<decltype(column)>(std::span(std::as_const(column).data(), column.size()), held);
        };
        of.spans.startNs = view(held->spans.startNs);
        of.spans.durationNs = view(held->spans.durationNs);
        of.spans.name = view(held->spans.name);
        of.spans.kind = view(held->spans.kind);
    }
    recording.worldSize = static_cast<int>(kRanks);
    return recording;
}

/// The newest that was asked for; gone at the end.
class CacheOnDisk {
public:
    CacheOnDisk(const CacheOnDisk&) = delete;
    CacheOnDisk& operator=(const CacheOnDisk&) = delete;
    ~CacheOnDisk() { std::filesystem::remove(m_path); }
    static const std::filesystem::path& of(std::size_t spans)
    {
        static CacheOnDisk only;
        if (only.m_spans != spans) {
            sim::writeRecordingCache(manyRanks(spans), {}, {"run"}, only.m_path);
            only.m_spans = spans;
        }
        return only.m_path;
    }

private:
    CacheOnDisk() = default;
    const std::filesystem::path m_path = std::filesystem::temp_directory_path() / "rankscope-bench.rankscope-cache";
    std::size_t m_spans = 0;
};

void countSpans(benchmark::State& state)
{
    state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_CacheWrite(benchmark::State& state)
{
    const auto spans = static_cast<std::size_t>(state.range(0));
    const sim::Recording recording = manyRanks(spans);
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "rankscope-bench-written.rankscope-cache";
    std::uint64_t bytes = 0;
    for (auto _ : state)
        bytes = sim::writeRecordingCache(recording, {}, {"run"}, path);
    std::filesystem::remove(path);
    countSpans(state);
    state.counters["bytes_a_span"] = static_cast<double>(bytes) / static_cast<double>(recording.spanCount());
}
BENCHMARK(BM_CacheWrite)->Arg(1'000'000)->ArgName("spans")->Unit(benchmark::kMillisecond);

/// The table of contents: who is there, and where their spans lie.
void BM_CacheOpen(benchmark::State& state)
{
    const std::filesystem::path& path = CacheOnDisk::of(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state)
        benchmark::DoNotOptimize(sim::RecordingCache(path, {"run"}).ranks());
    countSpans(state);
}
BENCHMARK(BM_CacheOpen)->Arg(1'000'000)->Arg(100'000'000)->ArgName("spans")->Unit(benchmark::kMillisecond);

/// One rank, with its section checked.
void BM_CacheRank(benchmark::State& state)
{
    const sim::RecordingCache cache(CacheOnDisk::of(static_cast<std::size_t>(state.range(0))), {"run"});
    std::size_t rank = 0;
    for (auto _ : state)
        benchmark::DoNotOptimize(cache.rank(rank++ % cache.ranks()).spans.size());
    state.SetItemsProcessed(state.iterations() * state.range(0) / 1024);
}
BENCHMARK(BM_CacheRank)->Arg(100'000'000)->ArgName("spans")->Unit(benchmark::kMillisecond);

/// All of them: every byte is looked at.
void BM_CacheWhole(benchmark::State& state)
{
    const std::filesystem::path& path = CacheOnDisk::of(static_cast<std::size_t>(state.range(0)));
    std::size_t held = 0;
    for (auto _ : state) {
        const sim::Recording recording = sim::RecordingCache(path, {"run"}).recording();
        held = recording.memoryBytes();
    }
    countSpans(state);
    state.counters["memory_bytes_a_span"] = static_cast<double>(held) / static_cast<double>(state.range(0));
}
/// A step of 1,024 ranks as a cache keeps it beside the spans: what a window opens with, however many spans there are.
const std::string& digestOfManyRanks()
{
    static const std::string bytes = [] {
        sim::Scenario scenario = test::smallScenario(8, 8, 16, 16);
        scenario.model.numHiddenLayers = 64;
        scenario.schedule.layersPerStage.clear();
        test::resolve(scenario);
        const sim::Recording recording = test::recordingOf(*sim::simulate(scenario, {.full = true}));
        const sim::Recovered recovered = sim::recover(recording);
        const sim::RunAnswers answers = sim::answersOf(recording, recovered, sim::Catalogue());
        return sim::digestBytes(recovered, answers, sim::digestSteps(recording, recovered, answers));
    }();
    return bytes;
}

void BM_DigestRead(benchmark::State& state)
{
    const std::string& bytes = digestOfManyRanks();
    std::size_t lanes = 0;
    for (auto _ : state)
        lanes = sim::readDigest(std::as_bytes(std::span(bytes))).steps.front().timeUse.spanCount();
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes.size()) * state.iterations());
    state.counters["spans_of_lanes"] = static_cast<double>(lanes);
}
BENCHMARK(BM_DigestRead)->Unit(benchmark::kMillisecond);

BENCHMARK(BM_CacheWhole)->Arg(1'000'000)->Arg(100'000'000)->ArgName("spans")->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
