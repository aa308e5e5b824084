// The synthesiser: how soon it has its best value, and how many moves it tries a second.
#include "sim/schedule/search/synthesis.h"

#include <benchmark/benchmark.h>

#include <chrono>
#include <string>

namespace {

double secondsSince(std::chrono::steady_clock::time_point start)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void synthesise(benchmark::State& state, const sim::SynthesisRequest& request)
{
    sim::Synthesis made;
    double untilBest = 0;
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        double best = 0;
        made = sim::synthesise(request, [&](const sim::SynthesisProgress& progress) {
            if (progress.span == best)
                return;
            best = progress.span;
            untilBest = secondsSince(start);
        });
    }
    state.counters["seconds_to_best"] = untilBest;
    state.counters["moves/s"] =
        benchmark::Counter(static_cast<double>(made.moves), benchmark::Counter::kIsIterationInvariantRate);
    state.counters["gap_%"] = 100 * made.gap();
    state.counters["bubble_%"] = 100 * made.times.idleOfSpan;
}

// Times of the zero-bubble paper's table 9, activations of table 1; caps in activations of one micro-batch.
sim::SynthesisRequest paperModel(int ranks, int microbatches, sim::PassTimes times, double heads, double hidden, double cap)
{
    sim::SynthesisRequest request{.ranks = ranks, .microbatches = microbatches};
    request.times = {times};
    request.memory = {{34 * hidden + 5 * heads * 1024, 32 * hidden}};
    request.memoryCap = cap * request.memory.front().full;
    return request;
}

const sim::PassTimes k1B5{18.522, 18.086, 9.337, 0.601}, k28B{10.408, 10.204, 7.703, 0.408};

} // namespace

BENCHMARK_CAPTURE(synthesise, p8_m24_1p25, paperModel(8, 24, k1B5, 24, 2304, 10))->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(synthesise, p8_m24_1p5, paperModel(8, 24, k1B5, 24, 2304, 12))->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(synthesise, p8_m24_cap6, sim::SynthesisRequest{.ranks = 8, .microbatches = 24, .memoryCap = 6})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(synthesise, p8_m24_V_cap10,
                  sim::SynthesisRequest{.ranks = 8, .microbatches = 24, .virtualStages = 2, .memoryCap = 10})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(synthesise, p32_m128_1p, paperModel(32, 128, k28B, 48, 6144, 32))->Unit(benchmark::kMillisecond)->UseRealTime();
