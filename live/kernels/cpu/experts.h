// Mixture of experts: routing, and moving rows to experts and back.
#pragma once

#include "live/kernels/cpu/matrix.h"

#include <cmath>
#include <vector>

namespace live::cpu {

template <class T>
void routeTopK(const Parallel& parallel, Matrix<const T> logits, Matrix<T> probabilities, Matrix<std::int32_t> experts,
               Matrix<T> weights)
{
    assert(probabilities.columns == logits.columns && experts.columns == weights.columns && experts.columns <= logits.columns);
    parallel.overRows(logits.rows, logits.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const T* in = logits.row(row);
            T* p = probabilities.row(row);
            const T largest = *std::max_element(in, in + logits.columns);
            T sum = 0;
            for (std::int64_t e = 0; e < logits.columns; ++e)
                sum += p[e] = std::exp(in[e] - largest);
            for (std::int64_t e = 0; e < logits.columns; ++e)
                p[e] /= sum;
            T chosen = 0;
            std::int32_t* picks = experts.row(row);
            for (std::int64_t j = 0; j < experts.columns; ++j) {
                std::int32_t best = -1;
                for (std::int32_t e = 0; e < logits.columns; ++e) // the first of equals
                    if (std::find(picks, picks + j, e) == picks + j && (best < 0 || p[e] > p[best]))
                        best = e;
                picks[j] = best;
                chosen += p[best];
            }
            for (std::int64_t j = 0; j < experts.columns; ++j)
                weights.row(row)[j] = p[picks[j]] / chosen;
        }
    });
}

/// weight_j = p_j / s over the chosen, so dp_j = (dw_j - sum_i dw_i w_i) / s; then through the softmax.
template <class T>
void routeGradient(const Parallel& parallel, Matrix<const T> probabilities, Matrix<const std::int32_t> experts,
                   Matrix<const T> weights, Matrix<const T> dWeights, Matrix<const T> auxGradient, Matrix<T> dLogits)
{
    parallel.overRows(probabilities.rows, probabilities.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const T* p = probabilities.row(row);
            T* slope = dLogits.row(row);
            for (std::int64_t e = 0; e < probabilities.columns; ++e)
                slope[e] = auxGradient ? auxGradient.at(e) : T{0};
            T chosen = 0, mean = 0;
            for (std::int64_t j = 0; j < experts.columns; ++j) {
                chosen += p[experts.row(row)[j]];
                mean += dWeights.row(row)[j] * weights.row(row)[j];
            }
            for (std::int64_t j = 0; j < experts.columns; ++j)
                slope[experts.row(row)[j]] += (dWeights.row(row)[j] - mean) / chosen;
            T product = 0;
            for (std::int64_t e = 0; e < probabilities.columns; ++e)
                product += p[e] * slope[e];
            for (std::int64_t e = 0; e < probabilities.columns; ++e)
                slope[e] = p[e] * (slope[e] - product);
        }
    });
}

inline void countExperts(Matrix<const std::int32_t> experts, Matrix<std::int64_t> counts)
{
    std::fill_n(counts.data, counts.columns, 0);
    for (std::int64_t row = 0; row < experts.rows; ++row)
        for (std::int64_t j = 0; j < experts.columns; ++j)
            ++counts.data[experts.row(row)[j]];
}

/// A counting sort, which keeps the order of slots.
inline void sortByExpert(Matrix<const std::int32_t> experts, std::int64_t expertCount, Matrix<std::int32_t> order,
                         Matrix<std::int32_t> place)
{
    std::vector<std::int32_t> next(static_cast<std::size_t>(expertCount) + 1, 0);
    for (std::int64_t row = 0; row < experts.rows; ++row)
        for (std::int64_t j = 0; j < experts.columns; ++j)
            ++next[static_cast<std::size_t>(experts.row(row)[j]) + 1];
    for (std::size_t e = 1; e < next.size(); ++e)
        next[e] += next[e - 1];
    for (std::int64_t row = 0; row < experts.rows; ++row)
        for (std::int64_t j = 0; j < experts.columns; ++j) {
            const std::int32_t to = next[static_cast<std::size_t>(experts.row(row)[j])]++;
            order.at(to) = static_cast<std::int32_t>(row * experts.columns + j);
            place.row(row)[j] = to;
        }
}

template <class T>
void gatherRows(const Parallel& parallel, Matrix<const T> x, Matrix<const std::int32_t> index, std::int64_t divisor, Matrix<T> y)
{
    assert(x.columns == y.columns);
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            std::copy_n(x.row(index.at(row) / divisor), y.columns, y.row(row));
    });
}

template <class T>
void combineRows(const Parallel& parallel, Matrix<const T> x, Matrix<const std::int32_t> place, Matrix<const T> weights,
                 Matrix<T> y)
{
    assert(x.columns == y.columns && place.rows == y.rows);
    parallel.overRows(y.rows, y.columns * place.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            T* out = y.row(row);
            std::fill_n(out, y.columns, T{0});
            for (std::int64_t j = 0; j < place.columns; ++j) {
                const T weight = weights ? weights.row(row)[j] : T{1};
                const T* in = x.row(place.row(row)[j]);
                for (std::int64_t i = 0; i < y.columns; ++i)
                    out[i] += weight * in[i];
            }
        }
    });
}

template <class T>
void combineGradient(const Parallel& parallel, Matrix<const T> x, Matrix<const std::int32_t> place, Matrix<const T> weights,
                     Matrix<const T> dy, Matrix<T> dx, Matrix<T> dWeights)
{
    assert(x.columns == dy.columns && dx.columns == dy.columns && place.rows == dy.rows);
    parallel.overRows(dy.rows, dy.columns * place.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t j = 0; j < place.columns; ++j) {
                const std::int64_t slot = place.row(row)[j];
                const T weight = weights ? weights.row(row)[j] : T{1};
                T product = 0;
                for (std::int64_t i = 0; i < dy.columns; ++i) {
                    product += dy.row(row)[i] * x.row(slot)[i];
                    dx.row(slot)[i] = weight * dy.row(row)[i];
                }
                if (dWeights)
                    dWeights.row(row)[j] = product;
            }
    });
}

} // namespace live::cpu
