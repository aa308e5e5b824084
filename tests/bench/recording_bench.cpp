// Reading a profiler's file: Kineto's JSON as text, and packed by gzip. Bytes a second are of the text; `spans`: what is kept,
// and `bytes_a_span` that it takes.
#include "sim/trace/readers/read_recording.h"

#include <benchmark/benchmark.h>

#include <cstdio>
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

} // namespace
