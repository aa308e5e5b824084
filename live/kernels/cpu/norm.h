// LayerNorm (Ba, Kiros, Hinton 2016) and RMSNorm (Zhang & Sennrich 2019), with gradients.
#pragma once

#include "live/kernels/cpu/elementwise.h"

namespace live::cpu {

template <class T>
void norm(const Parallel& parallel, NormKind kind, Matrix<const T> x, Matrix<const T> gain, Matrix<const T> bias, Matrix<T> y,
          Matrix<T> statistics)
{
    assert(x.rows == y.rows && x.columns == y.columns && gain.columns == x.columns && statistics.rows == x.rows);
    const auto width = static_cast<T>(x.columns);
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const T* in = x.row(row);
            T mean = 0;
            if (kind == NormKind::layernorm) {
                for (std::int64_t i = 0; i < x.columns; ++i)
                    mean += in[i];
                mean /= width;
            }
            T variance = 0;
            for (std::int64_t i = 0; i < x.columns; ++i)
                variance += (in[i] - mean) * (in[i] - mean);
            const T scale = 1 / std::sqrt(variance / width + static_cast<T>(kNormEpsilon));
            for (std::int64_t i = 0; i < x.columns; ++i)
                y.row(row)[i] = (in[i] - mean) * scale * gain.at(i) + (bias ? bias.at(i) : T{0});
            statistics.row(row)[0] = mean;
            statistics.row(row)[1] = scale;
        }
    });
}

/// dx = r (w - mean(w) - xh mean(w xh)) with w = dy gain and xh the normalised x; RMSNorm lacks the mean(w).
template <class T>
void normGradient(const Parallel& parallel, NormKind kind, Matrix<const T> dy, Matrix<const T> x, Matrix<const T> gain,
                  Matrix<const T> statistics, Matrix<T> dx, Matrix<T> dGain, Matrix<T> dBias)
{
    assert(x.rows == dy.rows && x.columns == dy.columns && statistics.rows == x.rows);
    const auto width = static_cast<T>(x.columns);
    // The sums over rows first: dx may be dy.
    if (dGain)
        columnSums(parallel, x.rows, x.columns, true, dGain.data, [&](std::int64_t row, std::int64_t column) {
            const T* s = statistics.row(row);
            return dy.row(row)[column] * ((x.row(row)[column] - s[0]) * s[1]);
        });
    if (dBias)
        columnSums(parallel, x.rows, x.columns, true, dBias.data,
                   [&](std::int64_t row, std::int64_t column) { return dy.row(row)[column]; });
    if (!dx)
        return;
    assert(dx.rows == x.rows && dx.columns == x.columns);
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const T mean = statistics.row(row)[0], scale = statistics.row(row)[1];
            const T *in = x.row(row), *slope = dy.row(row);
            T sum = 0, product = 0;
            for (std::int64_t i = 0; i < x.columns; ++i) {
                const T weighted = slope[i] * gain.at(i);
                sum += weighted;
                product += weighted * ((in[i] - mean) * scale);
            }
            sum = kind == NormKind::layernorm ? sum / width : T{0};
            product /= width;
            for (std::int64_t i = 0; i < x.columns; ++i)
                dx.row(row)[i] = scale * (slope[i] * gain.at(i) - sum - (in[i] - mean) * scale * product);
        }
    });
}

} // namespace live::cpu
