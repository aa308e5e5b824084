#include "live/profile/measure_kernels.h"

#include "live/kernels/normal.h"
#include "live/record/recorder.h"
#include "live/runtime/data.h"
#include "live/tensor/memory.h"

#include <algorithm>
#include <functional>
#include <string>

namespace live {
namespace {

constexpr std::size_t kFewestSamples = 3, kMostSamples = 25;
/// A sample lasts at least this long, so that reading the clock does not count: on a CPU; on a GPU, where the sample ends with a
/// wait for all that was launched, as kernels of a step follow each other without one.
constexpr std::int64_t kShortestSampleNs = 40'000, kShortestGpuSampleNs = 1'000'000;
/// Below the median, as whatever disturbs only adds; above the minimum, which on a GPU can be a fluke of the clock.
constexpr double kQuantile = 0.25;
/// Numbers that operands are filled with, over and over, and their deviation.
constexpr std::int64_t kDeviates = std::int64_t{1} << 18;
constexpr float kDeviation = 0.02F;

class KernelBench {
public:
    KernelBench(Device& device, double secondsPerPoint)
        : m_device(device), m_budgetNs(static_cast<std::int64_t>(secondsPerPoint * 1e9)), m_memory(device),
          m_queue(device.makeQueue()), m_onCpu(device.info().kind == "cpu"), m_deviates(deviates())
    {
        m_memory.beforeGivingBack([this] { m_queue->flush(); });
    }

    void linear(std::int64_t m, std::int64_t n, std::int64_t k);
    void experts(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t experts);
    void attention(std::int64_t positions, int headDim, int heads);
    void rows(std::int64_t rows, std::int64_t columns);
    void loss(std::int64_t rows, std::int64_t vocabulary);
    void optimizer(std::int64_t elements);
    std::vector<sim::MeasuredCurve> take() { return std::move(m_curves); }

private:
    using Kernel = std::function<void()>;
    void record(const std::string& name, double m, double n, double k, double batch, const Kernel&);
    double secondsOf(const Kernel&);
    std::int64_t clockNs();
    Array deviates();
    Array values(std::int64_t rows, std::int64_t columns, DType type);
    Array activations(std::int64_t rows, std::int64_t columns) { return values(rows, columns, m_device.info().activation); }
    Array sums(std::int64_t rows, std::int64_t columns) { return values(rows, columns, m_device.info().accumulation); }
    Array indices(const std::vector<std::int32_t>& numbers);

    Device& m_device;
    const std::int64_t m_budgetNs;
    Memory m_memory;
    const std::unique_ptr<Queue> m_queue;
    const bool m_onCpu;
    const Array m_deviates; ///< fp32, a row
    std::vector<sim::MeasuredCurve> m_curves;
};

std::int64_t KernelBench::clockNs()
{
    if (m_onCpu)
        return threadCpuNs();
    m_queue->synchronize();
    return nowNs();
}

Array KernelBench::deviates()
{
    std::vector<double> normal(static_cast<std::size_t>(kDeviates));
    normalDeviates(1, 0, 0, normal);
    std::vector<float> numbers;
    numbers.reserve(normal.size());
    for (const double value : normal)
        numbers.push_back(kDeviation * static_cast<float>(value));
    Array array = m_memory.allocate(DType::f32, 1, kDeviates);
    m_queue->fromHost(numbers.data(), array);
    m_queue->synchronize(); // what is uploaded may go
    return array;
}

/// Numbers as a training has them. On a GPU they matter: units that always see the same bits take less power, so that the clock
/// stays higher (products of a constant were 10 % faster there than those of a step), and exact sums skip what is 0.
Array KernelBench::values(std::int64_t rows, std::int64_t columns, DType type)
{
    Array array = m_memory.allocate(type, rows, columns);
    const Tensor all = array->flat();
    for (std::int64_t first = 0; first < all.columns; first += kDeviates) {
        const std::int64_t count = std::min(kDeviates, all.columns - first);
        m_queue->copy(m_deviates->columnRange(0, count), all.columnRange(first, count));
    }
    return array;
}

Array KernelBench::indices(const std::vector<std::int32_t>& numbers)
{
    Array array = m_memory.allocate(DType::i32, static_cast<std::int64_t>(numbers.size()), 1);
    m_queue->fromHost(numbers.data(), array);
    m_queue->synchronize();
    return array;
}

double KernelBench::secondsOf(const Kernel& kernel)
{
    kernel(); // warms caches and code
    std::int64_t start = clockNs();
    kernel();
    const std::int64_t once = std::max<std::int64_t>(1, clockNs() - start);
    const auto repetitions = std::max<std::int64_t>(1, (m_onCpu ? kShortestSampleNs : kShortestGpuSampleNs) / once);
    std::vector<double> samples;
    std::int64_t spent = 0;
    while (samples.size() < kFewestSamples || (samples.size() < kMostSamples && spent < m_budgetNs)) {
        start = clockNs();
        for (std::int64_t i = 0; i < repetitions; ++i)
            kernel();
        const std::int64_t ns = std::max<std::int64_t>(1, clockNs() - start);
        samples.push_back(static_cast<double>(ns) * 1e-9 / static_cast<double>(repetitions));
        spent += ns;
    }
    const auto place = samples.begin() + static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(samples.size()));
    std::nth_element(samples.begin(), place, samples.end());
    return *place;
}

void KernelBench::record(const std::string& name, double m, double n, double k, double batch, const Kernel& kernel)
{
    auto curve = std::find_if(m_curves.begin(), m_curves.end(), [&](const sim::MeasuredCurve& c) { return c.name == name; });
    if (curve == m_curves.end())
        curve = m_curves.insert(m_curves.end(), {name, {}});
    curve->points.push_back({.m = m, .n = n, .k = k, .batch = batch, .microseconds = secondsOf(kernel) * 1e6});
}

/// The three products of a linear layer of m tokens, n outputs, k inputs. Sums of gradients grow from one time to the next, but
/// as random numbers do.
void KernelBench::linear(std::int64_t m, std::int64_t n, std::int64_t k)
{
    const Array x = activations(m, k), weight = activations(n, k), bias = activations(1, n), y = activations(m, n);
    const Array dy = activations(m, n), dWeight = sums(n, k), dBias = sums(1, n), dx = activations(m, k);
    const auto [tokens, outputs, inputs] = std::tuple{static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
    record("gemm.forward", tokens, outputs, inputs, 1, [&] { m_queue->linear(x, weight, bias, y); });
    record("gemm.input_gradient", tokens, inputs, outputs, 1, [&] { m_queue->linearInputGradient(dy, weight, dx); });
    record("gemm.weight_gradient", inputs, outputs, tokens, 1, [&] { m_queue->linearWeightGradient(dy, x, dWeight, dBias); });
}

/// The same of as many experts, m tokens each.
void KernelBench::experts(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t experts)
{
    const Array x = activations(m * experts, k), weight = activations(n * experts, k), y = activations(m * experts, n);
    const Array dy = activations(m * experts, n), dWeight = sums(n * experts, k), dx = activations(m * experts, k);
    const auto [tokens, outputs, inputs] = std::tuple{static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
    const auto batch = static_cast<double>(experts);
    std::vector<LinearPart> weights, gradients;
    for (std::int64_t i = 0; i < experts; ++i) {
        weights.push_back({.weight = weight->rowRange(i * n, n), .bias = {}, .rows = m});
        gradients.push_back({.weight = dWeight->rowRange(i * n, n), .bias = {}, .rows = m});
    }
    record("grouped_gemm.forward", tokens, outputs, inputs, batch, [&] { m_queue->linearParts(weights, x, y); });
    record("grouped_gemm.input_gradient", tokens, inputs, outputs, batch,
           [&] { m_queue->linearPartsInputGradient(weights, dy, dx); });
    record("grouped_gemm.weight_gradient", inputs, outputs, tokens, batch,
           [&] { m_queue->linearPartsWeightGradient(gradients, dy, x); });
}

void KernelBench::attention(std::int64_t positions, int headDim, int heads)
{
    const AttentionShape shape{.heads = heads, .keyValueHeads = heads, .headDim = headDim};
    const std::int64_t columns = std::int64_t{heads} * headDim;
    const Array qkv = activations(positions, 3 * columns), dQkv = activations(positions, 3 * columns);
    const Array o = activations(positions, columns), dOutput = activations(positions, columns);
    const Array logSumExp = sums(positions, heads);
    const auto part = [&](const Array& all, int i) { return all->columnRange(i * columns, columns); };
    const auto rows = static_cast<double>(positions);
    record("attention.forward", rows, rows, headDim, heads,
           [&] { m_queue->attention(shape, part(qkv, 0), part(qkv, 1), part(qkv, 2), o, logSumExp); });
    record("attention.backward", rows, rows, headDim, heads, [&] {
        m_queue->attentionGradient(shape, part(qkv, 0), part(qkv, 1), part(qkv, 2), o, logSumExp, dOutput, part(dQkv, 0),
                                   part(dQkv, 1), part(dQkv, 2), false);
    });
}

/// Everything that works row by row.
void KernelBench::rows(std::int64_t rowCount, std::int64_t columns)
{
    Queue& queue = *m_queue;
    const auto m = static_cast<double>(rowCount), n = static_cast<double>(columns);
    const auto both = [&](const std::string& name, const Kernel& forward, const Kernel& backward) {
        record(name + ".forward", m, n, 1, 1, forward);
        record(name + ".backward", m, n, 1, 1, backward);
    };
    const Array x = activations(rowCount, columns), y = activations(rowCount, columns), dx = activations(rowCount, columns);
    const Array gain = activations(1, columns), bias = activations(1, columns);
    const Array dGain = sums(1, columns), dBias = sums(1, columns), statistics = sums(rowCount, 2);
    both(
        "layernorm", [&] { queue.norm(NormKind::layernorm, x, gain, bias, y, statistics); },
        [&] { queue.normGradient(NormKind::layernorm, y, x, gain, statistics, dx, dGain, dBias); });
    both(
        "rmsnorm", [&] { queue.norm(NormKind::rmsnorm, x, gain, {}, y, statistics); },
        [&] { queue.normGradient(NormKind::rmsnorm, y, x, gain, statistics, dx, dGain, {}); });
    const Array wide = activations(rowCount, 2 * columns), dWide = activations(rowCount, 2 * columns);
    const std::pair<const char*, ActivationFunction> functions[] = {
        {"gelu", ActivationFunction::gelu}, {"silu", ActivationFunction::silu}, {"relu2", ActivationFunction::relu2}};
    for (const auto& [name, function] : functions) {
        both(
            name, [&, f = function] { queue.activation(f, x, y); }, [&, f = function] { queue.activationGradient(f, x, y, dx); });
        both(
            std::string("gated_") + name, [&, f = function] { queue.gatedActivation(f, wide, y); },
            [&, f = function] { queue.gatedActivationGradient(f, wide, y, dWide); });
    }
    both(
        "residual",
        [&] {
            queue.addBias(bias, y);
            queue.add(x, y);
        },
        [&] { queue.add(x, y); });
    // Of text few tokens are often: their rows of the gradient are sums of many.
    const int vocabulary = static_cast<int>(std::min<std::int64_t>(rowCount, 256));
    std::vector<std::int32_t> text = TokenSource("builtin", vocabulary, static_cast<int>(rowCount), 1).sequence(1, 0);
    text.resize(static_cast<std::size_t>(rowCount));
    const Array ids = indices(text), table = activations(rowCount, columns), dTable = sums(rowCount, columns);
    both(
        "embedding", [&] { queue.embed(ids, table, 0, y); }, [&] { queue.embedGradient(ids, x, 0, dTable); });
    std::vector<std::int32_t> permutation(text.size());
    constexpr std::size_t kPrime = 7919; // longer than any of the rows' common factors
    for (std::size_t i = 0; i < permutation.size(); ++i)
        permutation[i] = static_cast<std::int32_t>(i * kPrime % permutation.size());
    const Array place = indices(permutation);
    const int headDim = m_onCpu ? 32 : 64;
    const Array turns = values(1, headDim / 2, DType::f64);
    if (columns % headDim == 0)
        both(
            "rope", [&] { queue.rotate(y, headDim, place, {turns}, false); },
            [&] { queue.rotate(y, headDim, place, {turns}, true); });
    const Array weights = sums(rowCount, 1), dWeights = sums(rowCount, 1);
    both(
        "permute", [&] { queue.gatherRows(x, place, 1, y); }, [&] { queue.combineRows(x, place, {}, y); });
    both(
        "unpermute", [&] { queue.combineRows(x, place, weights, y); },
        [&] { queue.combineGradient(x, place, weights, y, dx, dWeights); });
}

void KernelBench::loss(std::int64_t rowCount, std::int64_t vocabulary)
{
    const Array logits = activations(rowCount, vocabulary), maximum = sums(rowCount, 1), partial = sums(2, rowCount);
    std::vector<std::int32_t> next(static_cast<std::size_t>(rowCount));
    for (std::size_t i = 0; i < next.size(); ++i)
        next[i] = static_cast<std::int32_t>(i * 7919 % static_cast<std::size_t>(vocabulary));
    const Array targets = indices(next), losses = sums(1, rowCount);
    const auto m = static_cast<double>(rowCount), n = static_cast<double>(vocabulary);
    record("loss.forward", m, n, 1, 1, [&] {
        m_queue->rowMaximum(logits, vocabulary, maximum);
        m_queue->exponentials(logits, vocabulary, maximum, targets, 0, partial);
        m_queue->crossEntropy(partial, targets, losses);
    });
    record("loss.backward", m, n, 1, 1, [&] { m_queue->crossEntropyGradient(logits, partial, targets, 0, 1e-3); });
}

/// Zeroing of gradients, their norm, and the update.
void KernelBench::optimizer(std::int64_t elements)
{
    // The gradients of the next step are zeroed, those of this one summed and used.
    const Array next = sums(1, elements), gradient = sums(1, elements), first = sums(1, elements), second = sums(1, elements);
    const Array master = sums(1, elements);
    const Array parameter = m_device.info().activation == m_device.info().accumulation ? Array() : activations(1, elements);
    m_queue->fill(second, kDeviation * kDeviation);
    const Tensor written = parameter ? parameter.tensor() : master.tensor();
    const Array words = m_memory.allocate(DType::i64, 1, kExactSumWords), factor = m_memory.allocate(DType::f64, 1, 1);
    const auto around = [&](const Kernel& update) {
        return [this, &next, &gradient, &words, &factor, update] {
            m_queue->fill(next, 0);
            m_queue->fill(words, 0);
            m_queue->exactSumOfSquares(gradient, words);
            m_queue->clipFactor(words, 1, factor);
            update();
        };
    };
    const auto n = static_cast<double>(elements);
    record("adamw", 1, n, 1, 1,
           around([&] { m_queue->adamw({.learningRate = 1e-6}, factor, gradient, first, second, master, written); }));
    record("sgd", 1, n, 1, 1, around([&] { m_queue->sgd(1e-6, factor, gradient, master, written); }));
}

/// Where kernels are measured: sizes that a machine of this kind is given to do.
struct Grid {
    using Sizes = std::vector<std::int64_t>;
    Sizes products; ///< rows, columns and depth: all combinations
    Sizes experts, tokensOfExperts, widthsOfExperts, depthsOfExperts;
    Sizes positions; ///< of attention
    std::vector<int> headDims, heads;
    Sizes rows, columns;
    Sizes rowsOfLoss, vocabularies;
    Sizes parameters; ///< of the optimizer
};

Grid cpuGrid(bool quick)
{
    return {.products = quick ? Grid::Sizes{32, 128, 512} : Grid::Sizes{32, 128, 256, 512, 1536},
            .experts = {2, 8},
            .tokensOfExperts = {16, 64, 256},
            .widthsOfExperts = {128, 512},
            .depthsOfExperts = {128},
            .positions = quick ? Grid::Sizes{64, 256} : Grid::Sizes{32, 64, 128, 256, 1024},
            .headDims = {32, 64},
            .heads = {2, 8},
            .rows = quick ? Grid::Sizes{64, 512} : Grid::Sizes{64, 256, 1024},
            .columns = quick ? Grid::Sizes{128, 512} : Grid::Sizes{64, 128, 512, 2048},
            .rowsOfLoss = {64, 512},
            .vocabularies = {256, 2048, 16384},
            .parameters = {1 << 12, 1 << 15, 1 << 18, 1 << 21}};
}

/// A GPU does what a CPU takes a second for in one launch's time.
Grid gpuGrid(bool quick)
{
    return {.products = quick ? Grid::Sizes{256, 1024, 4096} : Grid::Sizes{128, 512, 2048, 8192, 16384},
            .experts = {4, 32},
            .tokensOfExperts = {64, 512, 4096},
            .widthsOfExperts = {1024, 4096},
            .depthsOfExperts = {1024, 4096},
            .positions = quick ? Grid::Sizes{256, 2048} : Grid::Sizes{256, 1024, 4096, 16384},
            .headDims = {64, 128},
            .heads = quick ? std::vector<int>{8, 64} : std::vector<int>{8, 32, 256},
            .rows = quick ? Grid::Sizes{1024, 16384} : Grid::Sizes{256, 2048, 16384},
            .columns = quick ? Grid::Sizes{1024, 4096} : Grid::Sizes{512, 1024, 4096, 16384},
            .rowsOfLoss = {1024, 16384},
            .vocabularies = {32768, 131072},
            .parameters = {1 << 16, 1 << 20, 1 << 24, 1 << 27}};
}

} // namespace

std::vector<sim::MeasuredCurve> measureKernels(Device& device, double secondsPerPoint, bool quick)
{
    KernelBench bench(device, secondsPerPoint);
    const Grid grid = device.info().runsBeside ? gpuGrid(quick) : cpuGrid(quick);
    for (const std::int64_t m : grid.products)
        for (const std::int64_t n : grid.products)
            for (const std::int64_t k : grid.products)
                bench.linear(m, n, k);
    for (const std::int64_t experts : grid.experts)
        for (const std::int64_t m : grid.tokensOfExperts)
            for (const std::int64_t n : grid.widthsOfExperts)
                for (const std::int64_t k : grid.depthsOfExperts)
                    bench.experts(m, n, k, experts);
    for (const std::int64_t positions : grid.positions)
        for (const int headDim : grid.headDims)
            for (const int heads : grid.heads)
                bench.attention(positions, headDim, heads);
    for (const std::int64_t rows : grid.rows)
        for (const std::int64_t columns : grid.columns)
            bench.rows(rows, columns);
    for (const std::int64_t rows : grid.rowsOfLoss)
        for (const std::int64_t vocabulary : grid.vocabularies)
            bench.loss(rows, vocabulary);
    for (const std::int64_t elements : grid.parameters)
        bench.optimizer(elements);
    return bench.take();
}

} // namespace live
