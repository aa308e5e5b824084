// What a GPU makes of its peak, for hardware profiles and docs/measurements.md: products, attention, and a whole transformer
// block forward and backward. Run by hand: live_cuda_bench [peak bf16 TFLOP/s, dense; 989 for H100 and H200] ["experts" or
// "attention": these alone].
//
// MFU counts the model's own work: a product 2 m n k, attention half its square where causal, the backward pass twice the
// forward.
#include "live/kernels/device.h"
#include "live/kernels/modules.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace live;

class Bench {
public:
    Bench(Device& device, double peakTflops) : m_memory(device), m_queue(device.makeQueue()), m_peak(peakTflops) {}
    Queue& queue() { return *m_queue; }

    Tensor make(std::int64_t rows, std::int64_t columns, DType type = DType::bf16, double value = 0.01)
    {
        m_arrays.push_back(m_memory.allocate(type, rows, columns));
        m_queue->fill(m_arrays.back(), value);
        return m_arrays.back();
    }

    /// Median of several timings of ten calls each.
    void report(const char* name, double flops, const std::function<void()>& body)
    {
        constexpr int kTimings = 9, kCalls = 10;
        for (int i = 0; i < kCalls; ++i)
            body();
        m_queue->synchronize();
        std::array<double, kTimings> seconds{};
        for (double& time : seconds) {
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < kCalls; ++i)
                body();
            m_queue->synchronize();
            time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / kCalls;
        }
        std::sort(seconds.begin(), seconds.end());
        const double median = seconds[kTimings / 2], tflops = flops / median / 1e12;
        std::printf("| %-58s | %9.1f us | %7.1f TFLOP/s | %5.1f %% |\n", name, median * 1e6, tflops, 100 * tflops / m_peak);
    }

private:
    Memory m_memory;
    std::unique_ptr<Queue> m_queue;
    std::list<Array> m_arrays;
    double m_peak;
};

void benchProducts(Bench& bench)
{
    struct Shape {
        std::int64_t rows, inputs, outputs;
    };
    for (const auto& [rows, inputs, outputs] : {Shape{8192, 8192, 8192}, Shape{16384, 768, 3072}, Shape{16384, 3072, 768},
                                                Shape{8192, 1600, 6400}, Shape{8192, 1600, 50304}, Shape{8192, 4096, 14336}}) {
        const Tensor x = bench.make(rows, inputs), weight = bench.make(outputs, inputs), bias = bench.make(1, outputs),
                     y = bench.make(rows, outputs), dWeight = bench.make(outputs, inputs, DType::f32);
        const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(inputs) * static_cast<double>(outputs);
        const auto name = [&, r = rows, i = inputs, o = outputs](const char* what) {
            return std::string(what) + " " + std::to_string(r) + " x " + std::to_string(i) + " to " + std::to_string(o);
        };
        bench.report(name("linear").c_str(), flops, [&] { bench.queue().linear(x, weight, bias, y); });
        bench.report(name("input gradient").c_str(), flops, [&] { bench.queue().linearInputGradient(y, weight, x); });
        bench.report(name("weight gradient").c_str(), flops, [&] { bench.queue().linearWeightGradient(y, x, dWeight, {}); });
    }
}

/// The first products of the experts of one layer, each with as many rows: in one launch, and one by one.
void benchExperts(Bench& bench, const char* how)
{
    struct Layer {
        const char* name;
        std::int64_t experts, rows, hidden, columns;
    };
    for (const Layer& layer : {Layer{"Mixtral", 8, 1024, 4096, 28672}, Layer{"Mixtral, few rows", 8, 64, 4096, 28672},
                               Layer{"DeepSeek-V2-Lite", 64, 192, 2048, 2816}, Layer{"Qwen3-30B-A3B", 128, 256, 2048, 1536},
                               Layer{"Qwen3-30B-A3B, few rows", 128, 32, 2048, 1536}, Layer{"narrow", 8, 512, 1024, 2816},
                               Layer{"tiny", 8, 64, 256, 512}}) {
        const std::int64_t rows = layer.experts * layer.rows;
        const Tensor x = bench.make(rows, layer.hidden), y = bench.make(rows, layer.columns),
                     weights = bench.make(layer.experts * layer.columns, layer.hidden),
                     gradients = bench.make(layer.experts * layer.columns, layer.hidden, DType::f32);
        const auto parts = [&](const Tensor& all) {
            std::vector<LinearPart> result;
            for (std::int64_t i = 0; i < layer.experts; ++i)
                result.push_back({.weight = all.rowRange(i * layer.columns, layer.columns), .bias = {}, .rows = layer.rows});
            return result;
        };
        const std::vector<LinearPart> values = parts(weights), slopes = parts(gradients);
        const double flops =
            2.0 * static_cast<double>(rows) * static_cast<double>(layer.hidden) * static_cast<double>(layer.columns);
        const auto name = [&](const char* what) { return std::string(layer.name) + ", " + what + ", " + how; };
        bench.report(name("forward").c_str(), flops, [&] { bench.queue().linearParts(values, x, y); });
        bench.report(name("input gradient").c_str(), flops, [&] { bench.queue().linearPartsInputGradient(values, y, x); });
        bench.report(name("weight gradient").c_str(), flops, [&] { bench.queue().linearPartsWeightGradient(slopes, y, x); });
    }
}

/// Experts' products one by one, with row counts that are others in every call, as a router's are: what planning costs.
void benchChangingRows(Bench& bench)
{
    constexpr std::int64_t kExperts = 32, kMean = 100, kHidden = 2048, kColumns = 1536, kRows = kExperts * kMean;
    const Tensor x = bench.make(kRows, kHidden), y = bench.make(kRows, kColumns),
                 weights = bench.make(kExperts * kColumns, kHidden),
                 gradients = bench.make(kExperts * kColumns, kHidden, DType::f32);
    std::int64_t call = 0;
    const auto parts = [&](const Tensor& all, bool changing) {
        std::vector<LinearPart> result;
        ++call;
        for (std::int64_t i = 0; i < kExperts; ++i) { // neighbours give and take, so that the sum stays
            const std::int64_t share = changing ? (call * 7 + i / 2 * 5) % 64 : 28;
            result.push_back(
                {.weight = all.rowRange(i * kColumns, kColumns), .bias = {}, .rows = kMean + (i % 2 == 0 ? share : -share)});
        }
        return result;
    };
    const double flops = 2.0 * kRows * kHidden * kColumns;
    for (const bool changing : {false, true}) {
        const auto name = [&](const char* what) {
            return std::string("32 experts, ") + what + (changing ? ", rows that change" : ", rows that stay");
        };
        bench.report(name("forward").c_str(), flops, [&] { bench.queue().linearParts(parts(weights, changing), x, y); });
        bench.report(name("input gradient").c_str(), flops,
                     [&] { bench.queue().linearPartsInputGradient(parts(weights, changing), y, x); });
        bench.report(name("weight gradient").c_str(), flops,
                     [&] { bench.queue().linearPartsWeightGradient(parts(gradients, changing), y, x); });
    }
}

double attentionFlops(const AttentionShape& shape, std::int64_t length)
{
    const auto square = static_cast<double>(length) * static_cast<double>(length);
    return 4 * square * shape.headDim * shape.heads * static_cast<double>(shape.sequences) / (shape.causal ? 2 : 1);
}

void benchAttention(Bench& bench, const std::string& how)
{
    struct Case {
        std::int64_t length, sequences;
        int heads, keyValueHeads, headDim;
    };
    for (const Case& c : {Case{1024, 16, 12, 12, 64}, Case{1024, 8, 25, 25, 64}, Case{2048, 4, 32, 8, 64},
                          Case{2048, 4, 32, 32, 64}, Case{2048, 2, 24, 8, 128}, Case{8192, 1, 32, 8, 128}}) {
        const AttentionShape shape{
            .sequences = c.sequences, .heads = c.heads, .keyValueHeads = c.keyValueHeads, .headDim = c.headDim};
        const std::int64_t rows = c.length * c.sequences, width = static_cast<std::int64_t>(c.heads) * c.headDim,
                           keyWidth = static_cast<std::int64_t>(c.keyValueHeads) * c.headDim;
        const Tensor q = bench.make(rows, width), k = bench.make(rows, keyWidth), v = bench.make(rows, keyWidth),
                     o = bench.make(rows, width), log = bench.make(rows, c.heads, DType::f32), dq = bench.make(rows, width),
                     dk = bench.make(rows, keyWidth), dv = bench.make(rows, keyWidth);
        const std::string name = "attention " + std::to_string(c.length) + " x " + std::to_string(c.sequences) + ", " +
                                 std::to_string(c.heads) + " heads of " + std::to_string(c.headDim) + " on " +
                                 std::to_string(c.keyValueHeads) + how;
        const double flops = attentionFlops(shape, c.length);
        bench.report(name.c_str(), flops, [&] { bench.queue().attention(shape, q, k, v, o, log); });
        bench.report((name + ", backward").c_str(), 2.5 * flops,
                     [&] { bench.queue().attentionGradient(shape, q, k, v, o, log, o, dq, dk, dv, false); });
    }
}

/// A block of GPT-2's shape: norm, qkv, attention, projection, norm, MLP with GELU; forward and both gradients.
void benchBlock(Bench& bench, const char* name, std::int64_t length, std::int64_t sequences, int heads, int headDim)
{
    const std::int64_t rows = length * sequences, h = static_cast<std::int64_t>(heads) * headDim;
    const AttentionShape shape{.sequences = sequences, .heads = heads, .keyValueHeads = heads, .headDim = headDim};
    struct Linear {
        Tensor weight, bias, dWeight, dBias;
    };
    const auto linear = [&](std::int64_t inputs, std::int64_t outputs) {
        return Linear{bench.make(outputs, inputs), bench.make(1, outputs), bench.make(outputs, inputs, DType::f32),
                      bench.make(1, outputs, DType::f32)};
    };
    const Linear qkv = linear(h, 3 * h), projection = linear(h, h), up = linear(h, 4 * h), down = linear(4 * h, h);
    const Tensor gain = bench.make(1, h), bias = bench.make(1, h), dGain = bench.make(1, h, DType::f32),
                 dBias = bench.make(1, h, DType::f32), statistics = bench.make(rows, 2, DType::f32, 1),
                 log = bench.make(rows, heads, DType::f32);
    const Tensor x = bench.make(rows, h), a = bench.make(rows, h), b = bench.make(rows, 3 * h), o = bench.make(rows, h),
                 y = bench.make(rows, h), wide = bench.make(rows, 4 * h), active = bench.make(rows, 4 * h),
                 dWide = bench.make(rows, 4 * h), dQkv = bench.make(rows, 3 * h), dx = bench.make(rows, h);
    const auto part = [&](const Tensor& tensor, std::int64_t i) { return tensor.columnRange(i * h, h); };
    Queue& queue = bench.queue();
    const auto forward = [&](const Linear& l, const Tensor& from, const Tensor& to) { queue.linear(from, l.weight, l.bias, to); };
    const auto backward = [&](const Linear& l, const Tensor& slope, const Tensor& from, const Tensor& to) {
        queue.linearInputGradient(slope, l.weight, to);
        queue.linearWeightGradient(slope, from, l.dWeight, l.dBias);
    };
    const double flops = 3 * (2.0 * 12 * static_cast<double>(h) * static_cast<double>(h) * static_cast<double>(rows) +
                              attentionFlops(shape, length));
    bench.report(name, flops, [&] {
        queue.norm(NormKind::layernorm, x, gain, bias, a, statistics);
        forward(qkv, a, b);
        queue.attention(shape, part(b, 0), part(b, 1), part(b, 2), o, log);
        forward(projection, o, y);
        queue.add(x, y);
        queue.norm(NormKind::layernorm, y, gain, bias, a, statistics);
        forward(up, a, wide);
        queue.activation(ActivationFunction::gelu, wide, active);
        forward(down, active, y);
        queue.add(x, y);

        backward(down, y, active, dWide);
        queue.activationGradient(ActivationFunction::gelu, wide, dWide, dWide);
        backward(up, dWide, a, dx);
        queue.normGradient(NormKind::layernorm, dx, x, gain, statistics, dx, dGain, dBias);
        queue.add(y, dx);
        backward(projection, dx, o, y);
        queue.attentionGradient(shape, part(b, 0), part(b, 1), part(b, 2), o, log, y, part(dQkv, 0), part(dQkv, 1), part(dQkv, 2),
                                false);
        backward(qkv, dQkv, a, dx);
        queue.normGradient(NormKind::layernorm, dx, x, gain, statistics, dx, dGain, dBias);
        queue.add(y, dx);
    });
}

} // namespace

int main(int argc, char** argv)
{
    const double peak = argc > 1 ? std::atof(argv[1]) : 989;
    if (peak <= 0) {
        std::fputs("usage: live_cuda_bench [peak bf16 TFLOP/s [experts|attention]]\n", stderr);
        return 2;
    }
    try {
        const std::string_view only = argc > 2 ? argv[2] : "";
        if (only == "attention") {
            const live::DeviceChoice choice = live::chooseDevice("cuda", live::DType::bf16, nullptr);
            Bench bench(*choice.device, peak);
            benchAttention(bench, "");
            return 0;
        }
        for (const auto& [value, how] : {std::pair{"0", "one by one"}, std::pair{"1", "in one launch"}}) {
            setenv("RANKSCOPE_CUDA_GROUPED", value, 1); // NOLINT(concurrency-mt-unsafe): before there are threads
            const live::DeviceChoice choice = live::chooseDevice("cuda", live::DType::bf16, nullptr);
            Bench bench(*choice.device, peak);
            benchExperts(bench, how);
            if (std::string_view(value) == "0")
                benchChangingRows(bench);
        }
        unsetenv("RANKSCOPE_CUDA_GROUPED"); // NOLINT(concurrency-mt-unsafe)
        if (only == "experts")
            return 0;
        const live::DeviceChoice choice = live::chooseDevice("cuda", live::DType::bf16, nullptr);
        std::printf("%s; shares of %.0f TFLOP/s\n\n", choice.device->info().name.c_str(), peak);
        {
            Bench bench(*choice.device, peak);
            benchProducts(bench);
        }
        for (const char* rows : {"16", "32"}) {
            setenv("RANKSCOPE_CUDA_ATTENTION_ROWS", rows, 1); // NOLINT(concurrency-mt-unsafe): before there are threads
            const live::DeviceChoice cut = live::chooseDevice("cuda", live::DType::bf16, nullptr);
            Bench bench(*cut.device, peak);
            benchAttention(bench, std::string(", rows ") + rows);
        }
        unsetenv("RANKSCOPE_CUDA_ATTENTION_ROWS"); // NOLINT(concurrency-mt-unsafe)
        Bench bench(*choice.device, peak);
        benchBlock(bench, "block of GPT-2 124M, 16 x 1024 tokens, forward and backward", 1024, 16, 12, 64);
        benchBlock(bench, "block of GPT-2 1558M, 8 x 1024 tokens, forward and backward", 1024, 8, 25, 64);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
