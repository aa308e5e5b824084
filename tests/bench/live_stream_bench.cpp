// What recording costs a run, and what its publisher can carry.
#include "live/record/recorder.h"
#include "live/stream/as_if_parallel.h"
#include "live/stream/collector.h"
#include "live/stream/make_trace.h"
#include "live/stream/pack.h"
#include "live/stream/publisher.h"
#include "live/stream/viewer.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr int kRanks = 16;

/// As a tiny model's step: kernels of some microseconds on 16 ranks, every fifth span a collective of two.
std::vector<live::RankSpan> typicalSpans(std::size_t count, int step = 0)
{
    std::mt19937 random(1);
    std::vector<live::RankSpan> spans(count);
    std::vector<std::int64_t> clock(kRanks, std::int64_t{40'000'000'000'000} + std::int64_t{step} * 100'000'000);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t rank = i / 5 % (kRanks / 2) * 2 + i / (5 * kRanks / 2) % 2;
        live::SpanRecord& span = spans[i].span;
        spans[i].rank = static_cast<int>(rank);
        span.startNs = span.readyNs = clock[rank];
        span.endNs = clock[rank] += 2000 + static_cast<std::int64_t>(random() % 30'000);
        span.kind = static_cast<std::uint32_t>(i % 60);
        span.microbatch = static_cast<int>(i / 500 % 8);
        span.step = step;
        if (i % 5 == 4) {
            span.track = live::SpanTrack::tp;
            span.readyNs += 1000;
            span.bytes = 65'536;
            span.correlation = i / 5 + 1;
        } else {
            span.cpuNs = (span.endNs - span.startNs) * 9 / 10;
        }
    }
    return spans;
}

live::RunDescription description()
{
    live::RunDescription run;
    run.runId = "bench";
    run.worldSize = kRanks;
    return run;
}

std::vector<sim::SpanKind> kinds()
{
    std::vector<sim::SpanKind> all(60);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].name = "kernel " + std::to_string(i);
    return all;
}

/// Two stamps and a record, as a kernel on the CPU costs.
void recordSpan(benchmark::State& state)
{
    live::Recorder recorder(0, 1 << 12);
    std::vector<live::SpanRecord> drained;
    std::size_t pushed = 0;
    for (auto _ : state) {
        live::SpanRecord span;
        span.startNs = live::nowNs();
        span.endNs = live::nowNs();
        recorder.spans.push(span);
        if (++pushed % 4096 == 0) {
            state.PauseTiming();
            drained.clear();
            recorder.spans.drain(drained);
            state.ResumeTiming();
        }
    }
    state.counters["dropped"] = static_cast<double>(recorder.spans.dropped());
}
BENCHMARK(recordSpan)->Iterations(1 << 20);

void pushRecord(benchmark::State& state)
{
    live::Recorder recorder(0, 1 << 12);
    std::vector<live::SpanRecord> drained;
    live::SpanRecord span;
    for (auto _ : state) {
        for (int i = 0; i < 4096; ++i) {
            span.startNs = i;
            recorder.spans.push(span);
        }
        state.PauseTiming();
        drained.clear();
        recorder.spans.drain(drained);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * 4096);
}
BENCHMARK(pushRecord)->Iterations(2000);

void packSpans(benchmark::State& state)
{
    const std::vector<live::RankSpan> spans = typicalSpans(live::kMaxRecordsOfBlock);
    std::size_t bytes = 0;
    for (auto _ : state)
        bytes = live::packSpans(spans).size();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(spans.size()));
    state.counters["bytes_a_span"] = static_cast<double>(bytes) / static_cast<double>(spans.size());
}
BENCHMARK(packSpans);

void unpackSpans(benchmark::State& state)
{
    const std::vector<live::RankSpan> spans = typicalSpans(live::kMaxRecordsOfBlock);
    const std::string packed = live::packSpans(spans);
    for (auto _ : state) {
        std::vector<live::RankSpan> read;
        live::unpackSpans(packed, {kRanks, 60}, read);
        benchmark::DoNotOptimize(read.data());
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(spans.size()));
}
BENCHMARK(unpackSpans);

/// From the ring through the collector, the publisher and a socket to a viewer's poll(), as fast as it goes.
void publish(benchmark::State& state)
{
    live::SpanKinds allKinds;
    for (const sim::SpanKind& kind : kinds())
        allKinds.id(kind);
    const std::vector<live::RankSpan> spans = typicalSpans(100'000);
    std::vector<std::unique_ptr<live::Recorder>> recorders;
    std::vector<live::Recorder*> all;
    for (int rank = 0; rank < kRanks; ++rank) {
        recorders.push_back(std::make_unique<live::Recorder>(rank, spans.size()));
        all.push_back(recorders.back().get());
    }
    live::Collector collector(description(), allKinds, all, {.history = {.steps = 1 << 30}});
    live::PublishOptions options;
    options.interval = std::chrono::milliseconds(5);
    live::Publisher publisher(collector, options);
    live::Viewer viewer(publisher.endpoint());
    while (viewer.state().state != live::ViewerState::connected)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::uint64_t bytesBefore = publisher.counts().bytesSent;
    std::size_t received = 0, wanted = 0;
    for (auto _ : state) {
        for (const live::RankSpan& span : spans)
            recorders[static_cast<std::size_t>(span.rank)]->spans.push(span.span);
        wanted += spans.size();
        live::ViewerUpdate update;
        while (received < wanted) {
            if (!viewer.poll(update))
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            received += update.spans.size();
        }
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(received));
    state.counters["bytes_a_span"] =
        static_cast<double>(publisher.counts().bytesSent - bytesBefore) / static_cast<double>(received);
}
BENCHMARK(publish)->UseRealTime()->Unit(benchmark::kMillisecond);

/// What a window pays for the picture of a step.
void traceOfStep(benchmark::State& state)
{
    const std::vector<live::RankSpan> spans = typicalSpans(static_cast<std::size_t>(state.range(0)));
    const std::vector<sim::SpanKind> names = kinds();
    for (auto _ : state)
        benchmark::DoNotOptimize(live::makeTrace(description(), names, spans).endNs);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(traceOfStep)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void replayStep(benchmark::State& state)
{
    std::vector<live::RankSpan> spans = typicalSpans(static_cast<std::size_t>(state.range(0)));
    for (live::RankSpan& span : spans)
        span.span.correlation = 0; // each alone: the cost is the same, and any order is right
    const std::vector<sim::SpanKind> names = kinds();
    for (auto _ : state)
        benchmark::DoNotOptimize(live::asIfParallel(spans, kRanks, {}, names).stepNs);
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(replayStep)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

} // namespace
