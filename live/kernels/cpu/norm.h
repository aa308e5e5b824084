// LayerNorm (Ba, Kiros, Hinton 2016) and RMSNorm (Zhang & Sennrich 2019), with gradients.
#pragma once

#include "live/kernels/cpu/elementwise.h"

namespace live::cpu {

template <class T>
void norm(const Parallel& parallel, const NormRule& rule, Matrix<const T> x, Matrix<const T> gain, Matrix<const T> bias,
          Matrix<T> y, Matrix<T> statistics)
{
    assert(x.rows == y.rows && x.columns == y.columns && gain.columns == x.columns && statistics.rows == x.rows);
    const auto& kernels = vectorKernels<T>();
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            kernels.norm(rule, x.row(row), gain.data, bias.data, y.row(row), statistics.row(row), x.columns);
    });
}

template <class T>
void normGradient(const Parallel& parallel, NormKind kind, Matrix<const T> dy, Matrix<const T> x, Matrix<const T> gain,
                  Matrix<const T> statistics, Matrix<T> dx, Matrix<T> dGain, Matrix<T> dBias)
{
    assert(x.rows == dy.rows && x.columns == dy.columns && statistics.rows == x.rows);
    const auto& kernels = vectorKernels<T>();
    // The sums over rows first: dx may be dy.
    if (dGain)
        columnSums(parallel, x.rows, x.columns, true, dGain.data,
                   [&](std::int64_t row, std::int64_t first, T* sums, std::int64_t count) {
                       kernels.addGainGradient(dy.row(row) + first, x.row(row) + first, statistics.row(row), sums, count);
                   });
    if (dBias)
        columnSums(parallel, x.rows, x.columns, true, dBias.data,
                   [&](std::int64_t row, std::int64_t first, T* sums, std::int64_t count) {
                       kernels.addTo(dy.row(row) + first, sums, count);
                   });
    if (!dx)
        return;
    assert(dx.rows == x.rows && dx.columns == x.columns);
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            kernels.normGradient(kind, dy.row(row), x.row(row), gain.data, statistics.row(row), dx.row(row), x.columns);
    });
}

} // namespace live::cpu
