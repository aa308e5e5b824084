// Optimizer steps and the sums that do not depend on the layout.
#pragma once

#include "live/kernels/cpu/elementwise.h"

#include <array>
#include <mutex>

namespace live::cpu {

inline constexpr std::int64_t kOptimizerGrain = 65536;

/// AdamW (Loshchilov & Hutter 2019) in one pass over memory.
template <class T>
void adamw(const Parallel& parallel, const AdamwStep& step, double clip, Matrix<const T> gradient, Matrix<T> firstMoment,
           Matrix<T> secondMoment, Matrix<T> master)
{
    const auto steps = static_cast<double>(step.step);
    const AdamwFactors<T> factors{
        .decay = static_cast<T>(1 - step.learningRate * step.weightDecay),
        .rate = static_cast<T>(step.learningRate / (1 - std::pow(step.beta1, steps))),
        .correction = static_cast<T>(1 / std::sqrt(1 - std::pow(step.beta2, steps))),
        .beta1 = static_cast<T>(step.beta1),
        .beta2 = static_cast<T>(step.beta2),
        .rest1 = static_cast<T>(1 - step.beta1),
        .rest2 = static_cast<T>(1 - step.beta2),
        .epsilon = static_cast<T>(step.epsilon),
        .clip = static_cast<T>(clip),
    };
    parallel.over(master.columns, kOptimizerGrain, [&](std::int64_t first, std::int64_t last) {
        vectorKernels<T>().adamw(factors, gradient.data + first, firstMoment.data + first, secondMoment.data + first,
                                 master.data + first, last - first);
    });
}

template <class T>
void sgd(const Parallel& parallel, double learningRate, double clip, Matrix<const T> gradient, Matrix<T> master)
{
    const auto factor = static_cast<T>(learningRate * clip);
    parallel.over(master.columns, kOptimizerGrain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
            master.data[i] -= factor * gradient.data[i];
    });
}

using ExactWords = std::array<std::int64_t, kExactSumWords>;

/// Adds f(i) for i in [0, count). Digits are integers, so pieces may join in any order.
template <class Function>
void addExactly(const Parallel& parallel, std::int64_t count, std::int64_t grain, Matrix<std::int64_t> words, const Function& f)
{
    assert(words.columns == kExactSumWords);
    std::mutex mutex;
    parallel.over(count, grain, [&](std::int64_t first, std::int64_t last) {
        ExactWords piece{};
        for (std::int64_t i = first; i < last; ++i)
            addToExactSum(piece, f(i));
        const std::lock_guard lock(mutex);
        for (std::size_t w = 0; w < piece.size(); ++w)
            words.data[w] += piece[w];
    });
}

template <class T>
void exactSum(const Parallel& parallel, Matrix<const T> values, Matrix<std::int64_t> words)
{
    for (std::int64_t row = 0; row < values.rows; ++row)
        addExactly(parallel, values.columns, 4096, words,
                   [&](std::int64_t i) { return static_cast<double>(values.row(row)[i]); });
}

template <class T>
void exactSumOfSquares(const Parallel& parallel, Matrix<const T> values, Matrix<std::int64_t> words)
{
    constexpr std::int64_t kBlock = 64, kBlocks = 1024; // a piece's
    addExactly(parallel, (values.columns + kBlock - 1) / kBlock, kBlocks, words, [&](std::int64_t block) {
        return vectorKernels<T>().sumOfSquares(values.data + block * kBlock, std::min(kBlock, values.columns - block * kBlock));
    });
}

} // namespace live::cpu
