// How often a layer and a step of the optimizer ask something of the GPU: where a model is narrow, each costs the host more than
// the GPU has to do. Counted, so that none comes back unseen.
#ifndef RANKSCOPE_TEST_ON_GPU

#include "live/kernels/cuda/emulation/launches.h"
#include "tests/live/cuda/gpu_fixture.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

namespace live {
namespace {

class Launches : public testing::Test {
protected:
    Launches()
    {
        setenv("RANKSCOPE_CUDA_GROUPED", "1", 1);
        m_twins.emplace(cuda::makeCudaDevice(0, DType::bf16));
        unsetenv("RANKSCOPE_CUDA_GROUPED");
    }
    template <class Body>
    static int of(const Body& body)
    {
        const std::uint64_t before = cuda::emulation::launchCount();
        body();
        return static_cast<int>(cuda::emulation::launchCount() - before);
    }
    Queue& queue() { return m_twins->gpu(); }
    Tensor rows(std::int64_t columns) { return m_twins->activations(kRows, columns).gpu; }
    Tensor weight(std::int64_t outputs, std::int64_t inputs) { return m_twins->activations(outputs, inputs).gpu; }
    Tensor sums(std::int64_t count, std::int64_t columns) { return m_twins->sums(count, columns).gpu; }

    static constexpr std::int64_t kRows = 32, kHidden = 32;

    std::optional<Twins> m_twins;
};

TEST_F(Launches, OfADenseLayerForwardAndBackward)
{
    constexpr std::int64_t h = kHidden;
    const AttentionShape shape{.sequences = 2, .heads = 2, .keyValueHeads = 2, .headDim = 16};
    const Tensor x = rows(h), a = rows(h), qkv = rows(3 * h), o = rows(h), y = rows(h), up = rows(4 * h), hidden = rows(4 * h),
                 statistics = sums(kRows, 2), log = sums(kRows, 2), gain = weight(1, h), bias = weight(1, h), dGain = sums(1, h),
                 dBias = sums(1, h), wide = weight(1, 4 * h), dWide = sums(1, 4 * h), room = sums(1, 4 * h * h);
    const Tensor qkvWeight = weight(3 * h, h), projection = weight(h, h), upWeight = weight(4 * h, h), down = weight(h, 4 * h);
    const auto part = [&](const Tensor& tensor, std::int64_t i) { return tensor.columnRange(i * h, h); };
    const int forward = of([&] {
        queue().norm(NormKind::layernorm, x, gain, bias, a, statistics);
        queue().linear(a, qkvWeight, wide.columnRange(0, 3 * h), qkv);
        queue().attention(shape, part(qkv, 0), part(qkv, 1), part(qkv, 2), o, log);
        queue().linear(o, projection, bias, y);
        queue().add(x, y);
        queue().norm(NormKind::layernorm, y, gain, bias, a, statistics);
        queue().linear(a, upWeight, wide, up);
        queue().activation(ActivationFunction::gelu, up, hidden);
        queue().linear(hidden, down, bias, y);
        queue().add(x, y);
    });
    const auto backwardOf = [&](const Tensor& dy, const Tensor& from, const Tensor& weights, const Tensor& dx) {
        queue().linearInputGradient(dy, weights, dx);
        queue().linearWeightGradient(dy, from, room.columnRange(0, weights.elements()).reshaped(weights.rows, weights.columns),
                                     dWide.columnRange(0, weights.rows));
    };
    const int backward = of([&] {
        backwardOf(y, hidden, down, up);
        queue().activationGradient(ActivationFunction::gelu, up, hidden, hidden);
        backwardOf(hidden, a, upWeight, a);
        queue().normGradient(NormKind::layernorm, a, x, gain, statistics, a, dGain, dBias);
        queue().add(y, a);
        backwardOf(a, o, projection, o);
        queue().attentionGradient(shape, part(qkv, 0), part(qkv, 1), part(qkv, 2), o, log, o, part(qkv, 0), part(qkv, 1),
                                  part(qkv, 2), false);
        backwardOf(qkv, a, qkvWeight, a);
        queue().normGradient(NormKind::layernorm, a, x, gain, statistics, a, dGain, dBias);
        queue().add(y, a);
    });
    std::printf("a dense layer: %d launches forward, %d backward\n", forward, backward);
    EXPECT_LE(forward, 10);
    EXPECT_LE(backward, 28);
}

TEST_F(Launches, OfTheExpertsOfALayer)
{
    constexpr std::int64_t kExperts = 16, kColumns = 48;
    const Tensor x = rows(kHidden), y = rows(kColumns);
    std::vector<LinearPart> values, gradients;
    for (std::int64_t i = 0; i < kExperts; ++i) {
        values.push_back({.weight = weight(kColumns, kHidden), .bias = weight(1, kColumns), .rows = kRows / kExperts});
        gradients.push_back({.weight = sums(kColumns, kHidden), .bias = sums(1, kColumns), .rows = kRows / kExperts});
    }
    EXPECT_EQ(of([&] { queue().linearParts(values, x, y); }), 1);
    EXPECT_EQ(of([&] { queue().linearPartsInputGradient(values, y, x); }), 1);
    EXPECT_EQ(of([&] { queue().linearPartsWeightGradient(gradients, y, x); }), 2) << "weights, biases";
}

TEST_F(Launches, OfAStepOfTheOptimizer)
{
    constexpr std::int64_t kElements = 1024;
    const Tensor gradient = sums(1, kElements), first = sums(1, kElements), second = sums(1, kElements),
                 master = sums(1, kElements), parameter = weight(1, kElements);
    Tensor factor = sums(1, 2);
    factor.type = DType::f64;
    factor.columns = factor.stride = 1;
    EXPECT_EQ(of([&] { queue().adamw({}, factor, gradient, first, second, master, parameter); }), 1);
}

/// A host that waited in the middle of a step would keep other ranks of its GPU from going on, and peers that wait for them.
TEST_F(Launches, WaitForNothingWhereAKernelsScratchGrows)
{
    constexpr std::int64_t kColumns = 300'000; // more than a MiB of sums
    const Tensor narrow = m_twins->activations(1, kHidden).gpu, wide = m_twins->activations(1, kColumns).gpu,
                 dNarrow = sums(1, kHidden), dWide = sums(1, kColumns);
    const std::uint64_t before = cuda::emulation::waitCount();
    queue().biasGradient(narrow, dNarrow);
    queue().biasGradient(wide, dWide);
    EXPECT_EQ(cuda::emulation::waitCount(), before);
}

} // namespace
} // namespace live

#endif
