// The CPU kernels at the shapes of GPT-2 124M (12 layers, width 768, 12 heads, vocabulary padded to 50304) with 4 sequences of
// 64 tokens, on one and two workers; OpenBLAS beside our products where it is installed; and one training step's worth of
// kernels in order.
#include "live/kernels/device.h"
#include "live/tasks/task.h"
#include "live/tasks/worker_pool.h"

#include <benchmark/benchmark.h>
#include <list>
#include <random>
#ifdef RANKSCOPE_OPENBLAS
#include <cblas.h>
#endif

namespace {

using namespace live;

constexpr std::int64_t kTokens = 256, kSequences = 4, kWidth = 768, kVocabulary = 50304, kParameters = 124'000'000;
constexpr int kLayers = 12, kHeads = 12;

/// Runs body on a worker of a pool of `workers`, as ranks do.
void onWorkers(int workers, const std::function<void(WorkerPool&)>& body)
{
    WorkerPool pool(workers);
    const auto whole = [&]() -> Task<> {
        body(pool);
        co_return;
    };
    const Task<> task = whole();
    pool.post(task.handle());
    pool.run([&] { return task.done(); });
}

struct Bench {
    explicit Bench(WorkerPool& pool) : device(makeCpuDevice(DType::f32, &pool)), memory(*device), queue(device->makeQueue()) {}
    Tensor make(std::int64_t rows, std::int64_t columns, double deviation = 0)
    {
        arrays.push_back(memory.allocate(DType::f32, rows, columns));
        const Tensor& tensor = arrays.back();
        queue->fill(tensor, 0);
        std::minstd_rand random(7);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (std::int64_t i = 0; deviation > 0 && i < tensor.elements(); ++i)
            tensor.as<float>()[i] = uniform(random) * static_cast<float>(deviation);
        return tensor;
    }
    Tensor integers(std::int64_t rows, std::int64_t below)
    {
        arrays.push_back(memory.allocate(DType::i32, rows, 1));
        std::minstd_rand random(7);
        for (std::int64_t i = 0; i < rows; ++i)
            arrays.back()->as<std::int32_t>()[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(random()) % below);
        return arrays.back();
    }
    std::unique_ptr<Device> device;
    Memory memory;
    std::unique_ptr<Queue> queue;
    std::list<Array> arrays;
};

void rate(benchmark::State& state, const char* name, double each)
{
    state.counters[name] = benchmark::Counter(each * static_cast<double>(state.iterations()) / 1e9, benchmark::Counter::kIsRate);
}

void linearForward(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const auto inputs = state.range(1), outputs = state.range(2);
        const Tensor x = bench.make(kTokens, inputs, 1), w = bench.make(outputs, inputs, 1), y = bench.make(kTokens, outputs);
        for (auto _ : state)
            bench.queue->linear(x, w, {}, y);
        rate(state, "GFlop/s", 2.0 * kTokens * static_cast<double>(inputs * outputs));
    });
}
void linearInputGradient(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const auto inputs = state.range(1), outputs = state.range(2);
        const Tensor dx = bench.make(kTokens, inputs), w = bench.make(outputs, inputs, 1), dy = bench.make(kTokens, outputs, 1);
        for (auto _ : state)
            bench.queue->linearInputGradient(dy, w, dx);
        rate(state, "GFlop/s", 2.0 * kTokens * static_cast<double>(inputs * outputs));
    });
}
void linearWeightGradient(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const auto inputs = state.range(1), outputs = state.range(2);
        const Tensor x = bench.make(kTokens, inputs, 1), dw = bench.make(outputs, inputs), dy = bench.make(kTokens, outputs, 1);
        for (auto _ : state)
            bench.queue->linearWeightGradient(dy, x, dw, {});
        rate(state, "GFlop/s", 2.0 * kTokens * static_cast<double>(inputs * outputs));
    });
}
void shapes(benchmark::internal::Benchmark* benchmark)
{
    benchmark->ArgNames({"workers", "inputs", "outputs"})->Unit(benchmark::kMillisecond)->UseRealTime();
    for (const int workers : {1, 2})
        for (const auto& [inputs, outputs] :
             {std::pair{kWidth, 3 * kWidth}, {kWidth, kWidth}, {kWidth, 4 * kWidth}, {4 * kWidth, kWidth}, {kWidth, kVocabulary}})
            benchmark->Args({workers, inputs, outputs});
}
BENCHMARK(linearForward)->Apply(shapes);
BENCHMARK(linearInputGradient)->Apply(shapes);
BENCHMARK(linearWeightGradient)->Apply(shapes);

#ifdef RANKSCOPE_OPENBLAS
void linearForwardByOpenBlas(benchmark::State& state)
{
    openblas_set_num_threads(static_cast<int>(state.range(0)));
    const auto inputs = static_cast<int>(state.range(1)), outputs = static_cast<int>(state.range(2));
    const auto tokens = static_cast<int>(kTokens);
    std::vector<float> x(static_cast<std::size_t>(kTokens * inputs), 0.5F),
        w(static_cast<std::size_t>(outputs) * state.range(1), 0.5F), y(static_cast<std::size_t>(kTokens * outputs));
    for (auto _ : state)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, tokens, outputs, inputs, 1, x.data(), inputs, w.data(), inputs, 0,
                    y.data(), outputs);
    state.SetLabel(openblas_get_corename());
    rate(state, "GFlop/s", 2.0 * kTokens * static_cast<double>(state.range(1) * state.range(2)));
}
BENCHMARK(linearForwardByOpenBlas)->Apply(shapes);
#endif

void workers(benchmark::internal::Benchmark* benchmark)
{
    benchmark->ArgName("workers")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
}

/// One layer's, forward (argument 0) or gradient (1).
void attention(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const std::int64_t positions = state.range(1), rows = positions * kSequences;
        const AttentionShape shape{.sequences = kSequences, .heads = kHeads, .keyValueHeads = kHeads, .headDim = kWidth / kHeads};
        const Tensor fused = bench.make(rows, 3 * kWidth, 1), slope = bench.make(rows, 3 * kWidth), o = bench.make(rows, kWidth),
                     logSumExp = bench.make(rows, kHeads), dOutput = bench.make(rows, kWidth, 1);
        const auto part = [](const Tensor& t, std::int64_t i) { return t.columnRange(i * kWidth, kWidth); };
        for (auto _ : state) {
            bench.queue->attention(shape, part(fused, 0), part(fused, 1), part(fused, 2), o, logSumExp);
            if (state.range(2) == 1)
                bench.queue->attentionGradient(shape, part(fused, 0), part(fused, 1), part(fused, 2), o, logSumExp, dOutput,
                                               part(slope, 0), part(slope, 1), part(slope, 2), false);
        }
        // Two products forward, five in the gradient, half of each masked.
        rate(state, "GFlop/s",
             (state.range(2) == 1 ? 14.0 : 4.0) / 2 * static_cast<double>(positions * positions * kSequences * kWidth));
    });
}
BENCHMARK(attention)
    ->ArgNames({"workers", "positions", "gradient"})
    ->ArgsProduct({{1, 2}, {64, 1024}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void crossEntropy(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const Tensor logits = bench.make(kTokens, kVocabulary, 1), maximum = bench.make(kTokens, 1),
                     partial = bench.make(2, kTokens), loss = bench.make(kTokens, 1), targets = bench.integers(kTokens, 50257);
        for (auto _ : state) {
            bench.queue->rowMaximum(logits, 50257, maximum);
            bench.queue->exponentials(logits, 50257, maximum, targets, 0, partial);
            bench.queue->crossEntropy(partial, targets, loss);
            bench.queue->crossEntropyGradient(logits, partial, targets, 0, 1);
        }
        rate(state, "GB/s", 5.0 * 4 * static_cast<double>(kTokens * kVocabulary));
    });
}
BENCHMARK(crossEntropy)->Apply(workers);

void layerNorm(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const Tensor x = bench.make(kTokens, kWidth, 1), gain = bench.make(1, kWidth, 1), y = bench.make(kTokens, kWidth),
                     dx = bench.make(kTokens, kWidth), statistics = bench.make(kTokens, 2), dGain = bench.make(1, kWidth);
        for (auto _ : state) {
            bench.queue->norm(NormKind::layernorm, x, gain, gain, y, statistics);
            bench.queue->normGradient(NormKind::layernorm, y, x, gain, statistics, dx, dGain, dGain);
        }
    });
}
BENCHMARK(layerNorm)->Apply(workers);

void gelu(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const Tensor x = bench.make(kTokens, 4 * kWidth, 3), y = bench.make(kTokens, 4 * kWidth),
                     dx = bench.make(kTokens, 4 * kWidth);
        for (auto _ : state) {
            bench.queue->activation(ActivationFunction::gelu, x, y);
            bench.queue->activationGradient(ActivationFunction::gelu, x, y, dx);
        }
    });
}
BENCHMARK(gelu)->Apply(workers);

/// What memory gives to the access pattern of AdamW: reads four streams, writes three.
void sevenStreams(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const std::int64_t count = kParameters / 4;
        const Tensor g = bench.make(1, count), m = bench.make(1, count), v = bench.make(1, count), w = bench.make(1, count);
        float *a = m.as<float>(), *b = v.as<float>(), *c = w.as<float>();
        const float* x = g.as<const float>();
        for (auto _ : state)
            pool.parallelFor(count, 1 << 17, [=](std::int64_t first, std::int64_t last) {
                for (std::int64_t i = first; i < last; ++i) {
                    a[i] += x[i];
                    b[i] -= x[i];
                    c[i] += x[i];
                }
            });
        rate(state, "GB/s", 28.0 * static_cast<double>(count));
    });
}
BENCHMARK(sevenStreams)->Apply(workers);

void adamw(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const std::int64_t count = kParameters / 4;
        const Tensor g = bench.make(1, count, 1), m = bench.make(1, count), v = bench.make(1, count), w = bench.make(1, count);
        double clip = 1;
        const Tensor factor{&clip, DType::f64, 1, 1, 1};
        for (auto _ : state)
            bench.queue->adamw({.learningRate = 1e-3}, factor, g, m, v, w, w);
        rate(state, "GB/s", 28.0 * static_cast<double>(count));
    });
}
BENCHMARK(adamw)->Apply(workers);

void gradientNorm(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        const Tensor g = bench.make(1, kParameters / 4, 1);
        std::vector<std::int64_t> words(kExactSumWords);
        const Tensor sum{words.data(), DType::i64, 1, kExactSumWords, kExactSumWords};
        for (auto _ : state)
            bench.queue->exactSumOfSquares(g, sum);
        rate(state, "GB/s", 4.0 * static_cast<double>(g.columns));
    });
}
BENCHMARK(gradientNorm)->Apply(workers);

/// A training step of the whole model, kernel by kernel: what the model can reach at most on top of these kernels.
void trainingStep(benchmark::State& state)
{
    onWorkers(static_cast<int>(state.range(0)), [&](WorkerPool& pool) {
        Bench bench(pool);
        Queue& queue = *bench.queue;
        constexpr std::int64_t kBlockWeights = 12 * kWidth * kWidth;
        constexpr std::int64_t kCount = kVocabulary * kWidth + kLayers * kBlockWeights;
        const Tensor weights = bench.make(1, kCount, 0.02), gradients = bench.make(1, kCount), m = bench.make(1, kCount),
                     v = bench.make(1, kCount);
        const AttentionShape shape{.sequences = kSequences, .heads = kHeads, .keyValueHeads = kHeads, .headDim = kWidth / kHeads};
        struct Layer {
            Tensor x, x1, x2, n1, s1, qkv, o, lse, n2, s2, up, act;
        };
        std::vector<Layer> layers;
        for (int i = 0; i < kLayers; ++i)
            layers.push_back({bench.make(kTokens, kWidth), bench.make(kTokens, kWidth), bench.make(kTokens, kWidth),
                              bench.make(kTokens, kWidth), bench.make(kTokens, 2), bench.make(kTokens, 3 * kWidth),
                              bench.make(kTokens, kWidth), bench.make(kTokens, kHeads), bench.make(kTokens, kWidth),
                              bench.make(kTokens, 2), bench.make(kTokens, 4 * kWidth), bench.make(kTokens, 4 * kWidth)});
        const Tensor gain = bench.make(1, kWidth, 1), bias = bench.make(1, 4 * kWidth, 1), dBias = bench.make(1, 4 * kWidth),
                     x = bench.make(kTokens, kWidth), dx = bench.make(kTokens, kWidth, 1), dy = bench.make(kTokens, kWidth),
                     wide = bench.make(kTokens, 4 * kWidth), dqkv = bench.make(kTokens, 3 * kWidth),
                     logits = bench.make(kTokens, kVocabulary), maximum = bench.make(kTokens, 1),
                     partial = bench.make(2, kTokens), loss = bench.make(kTokens, 1), targets = bench.integers(kTokens, 50257);
        std::vector<std::int64_t> words(kExactSumWords);
        const Tensor sum{words.data(), DType::i64, 1, kExactSumWords, kExactSumWords};
        double clip = 1;
        const Tensor factor{&clip, DType::f64, 1, 1, 1};
        const auto matrix = [](const Tensor& flat, std::int64_t layer, std::int64_t first, std::int64_t rows,
                               std::int64_t columns) {
            return flat.columnRange(kVocabulary * kWidth + layer * kBlockWeights + first * kWidth * kWidth, rows * columns)
                .reshaped(rows, columns);
        };
        const auto vocabulary = [](const Tensor& flat) {
            return flat.columnRange(0, kVocabulary * kWidth).reshaped(kVocabulary, kWidth);
        };
        const auto part = [](const Tensor& t, std::int64_t i) { return t.columnRange(i * kWidth, kWidth); };
        const Tensor narrowBias = bias.columnRange(0, kWidth), dNarrow = dBias.columnRange(0, kWidth);
        for (auto _ : state) {
            queue.fill(gradients, 0);
            queue.embed(targets, vocabulary(weights), 0, x);
            for (std::int64_t i = 0; i < kLayers; ++i) {
                const Layer& l = layers[static_cast<std::size_t>(i)];
                queue.copy(x, l.x);
                queue.norm(NormKind::layernorm, x, gain, gain, l.n1, l.s1);
                queue.linear(l.n1, matrix(weights, i, 0, 3 * kWidth, kWidth), bias.columnRange(0, 3 * kWidth), l.qkv);
                queue.attention(shape, part(l.qkv, 0), part(l.qkv, 1), part(l.qkv, 2), l.o, l.lse);
                queue.linear(l.o, matrix(weights, i, 3, kWidth, kWidth), narrowBias, l.x1);
                queue.add(l.x1, x);
                queue.copy(x, l.x2);
                queue.norm(NormKind::layernorm, x, gain, gain, l.n2, l.s2);
                queue.linear(l.n2, matrix(weights, i, 4, 4 * kWidth, kWidth), bias, l.up);
                queue.activation(ActivationFunction::gelu, l.up, l.act);
                queue.linear(l.act, matrix(weights, i, 8, kWidth, 4 * kWidth), narrowBias, dy);
                queue.add(dy, x);
            }
            queue.linear(x, vocabulary(weights), {}, logits);
            queue.rowMaximum(logits, 50257, maximum);
            queue.exponentials(logits, 50257, maximum, targets, 0, partial);
            queue.crossEntropy(partial, targets, loss);
            queue.crossEntropyGradient(logits, partial, targets, 0, 1.0 / kTokens);
            queue.linearInputGradient(logits, vocabulary(weights), dx);
            queue.linearWeightGradient(logits, x, vocabulary(gradients), {});
            for (std::int64_t i = kLayers - 1; i >= 0; --i) {
                const Layer& l = layers[static_cast<std::size_t>(i)];
                queue.linearInputGradient(dx, matrix(weights, i, 8, kWidth, 4 * kWidth), wide);
                queue.linearWeightGradient(dx, l.act, matrix(gradients, i, 8, kWidth, 4 * kWidth), dNarrow);
                queue.activationGradient(ActivationFunction::gelu, l.up, wide, wide);
                queue.linearInputGradient(wide, matrix(weights, i, 4, 4 * kWidth, kWidth), dy);
                queue.linearWeightGradient(wide, l.n2, matrix(gradients, i, 4, 4 * kWidth, kWidth), dBias);
                queue.normGradient(NormKind::layernorm, dy, l.x2, gain, l.s2, dy, dNarrow, dNarrow);
                queue.add(dy, dx);
                queue.linearInputGradient(dx, matrix(weights, i, 3, kWidth, kWidth), dy);
                queue.linearWeightGradient(dx, l.o, matrix(gradients, i, 3, kWidth, kWidth), dNarrow);
                queue.attentionGradient(shape, part(l.qkv, 0), part(l.qkv, 1), part(l.qkv, 2), l.o, l.lse, dy, part(dqkv, 0),
                                        part(dqkv, 1), part(dqkv, 2), false);
                queue.linearInputGradient(dqkv, matrix(weights, i, 0, 3 * kWidth, kWidth), dy);
                queue.linearWeightGradient(dqkv, l.n1, matrix(gradients, i, 0, 3 * kWidth, kWidth),
                                           dBias.columnRange(0, 3 * kWidth));
                queue.normGradient(NormKind::layernorm, dy, l.x, gain, l.s1, dy, dNarrow, dNarrow);
                queue.add(dy, dx);
            }
            queue.embedGradient(targets, dx, 0, vocabulary(gradients));
            queue.exactSumOfSquares(gradients, sum);
            queue.adamw({.learningRate = 1e-5}, factor, gradients, m, v, weights, weights);
        }
        rate(state, "GFlop/s", 6.0 * kTokens * static_cast<double>(kCount));
        state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(kTokens) * static_cast<double>(state.iterations()),
                                                        benchmark::Counter::kIsRate);
    });
}
BENCHMARK(trainingStep)->Apply(workers);

} // namespace
