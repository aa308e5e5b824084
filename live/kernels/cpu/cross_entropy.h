// Cross-entropy over a slice of the vocabulary. Shoeybi et al. 2019 (Megatron-LM), section 3.
#pragma once

#include "live/kernels/cpu/matrix.h"
#include "live/kernels/cpu/vector_kernels.h"

#include <cmath>
#include <limits>

namespace live::cpu {

template <class T>
void rowMaximum(const Parallel& parallel, Matrix<const T> logits, std::int64_t validColumns, Matrix<T> maximum)
{
    parallel.overRows(logits.rows, logits.columns, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t valid = std::clamp<std::int64_t>(validColumns, 0, logits.columns);
        for (std::int64_t row = first; row < last; ++row)
            maximum.at(row) = vectorKernels<T>().maximum(logits.row(row), valid);
    });
}

template <class T>
void exponentials(const Parallel& parallel, Matrix<T> logits, std::int64_t validColumns, Matrix<const T> maximum,
                  Matrix<const std::int32_t> targets, std::int64_t firstId, Matrix<T> partial)
{
    assert(partial.rows == 2 && partial.columns == logits.rows);
    const std::int64_t valid = std::clamp<std::int64_t>(validColumns, 0, logits.columns);
    parallel.overRows(logits.rows, logits.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            T* values = logits.row(row);
            const T largest = maximum.at(row);
            const std::int64_t target = targets.at(row) - firstId;
            partial.row(0)[row] = targets.at(row) >= 0 && target >= 0 && target < valid ? values[target] - largest : T{0};
            const T sum = vectorKernels<T>().exponentials(values, largest, valid);
            std::fill(values + valid, values + logits.columns, T{0});
            partial.row(1)[row] = sum;
        }
    });
}

template <class T>
void crossEntropy(Matrix<const T> partial, Matrix<const std::int32_t> targets, Matrix<T> loss)
{
    for (std::int64_t row = 0; row < partial.columns; ++row)
        loss.at(row) = targets.at(row) < 0 ? T{0} : std::log(partial.row(1)[row]) - partial.row(0)[row];
}

template <class T>
void crossEntropyGradient(const Parallel& parallel, Matrix<T> exponentials, Matrix<const T> partial,
                          Matrix<const std::int32_t> targets, std::int64_t firstId, double lossScale)
{
    parallel.overRows(exponentials.rows, exponentials.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            T* values = exponentials.row(row);
            if (targets.at(row) < 0) {
                std::fill_n(values, exponentials.columns, T{0});
                continue;
            }
            const T factor = static_cast<T>(lossScale) / partial.row(1)[row];
            vectorKernels<T>().scale(values, factor, exponentials.columns);
            const std::int64_t target = targets.at(row) - firstId;
            if (target >= 0 && target < exponentials.columns)
                values[target] -= static_cast<T>(lossScale);
        }
    });
}

} // namespace live::cpu
