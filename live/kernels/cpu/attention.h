// Attention and rotary positions. Scores are computed by blocks of queries against all the keys those see, so that memory does
// not grow with the square of the sequence, and are computed again in the gradient from the log-sum-exp (as FlashAttention,
// Dao et al. 2022).
#pragma once

#include "live/kernels/cpu/gemm.h"
#include "live/kernels/cpu/vector_kernels.h"
#include "live/kernels/device.h"

#include <cmath>
#include <limits>
#include <vector>

namespace live::cpu {

inline constexpr std::int64_t kQueryBlock = 64;

/// A thread's scratch, kept from call to call. Each `slot` is an array of its own.
template <class T>
T* scratch(std::size_t slot, std::int64_t elements)
{
    thread_local std::vector<T> arrays[4];
    if (arrays[slot].size() < static_cast<std::size_t>(elements))
        arrays[slot].resize(static_cast<std::size_t>(elements));
    return arrays[slot].data();
}

/// One sequence and head of a tensor whose rows are position * sequences + sequence.
template <class T>
struct Head {
    T* data;
    std::int64_t stride; ///< from one position to the next
    Head(Matrix<T> matrix, const AttentionShape& shape, int dim, std::int64_t sequence, std::int64_t head)
        : data(matrix.row(sequence) + head * dim), stride(matrix.stride * shape.sequences)
    {
    }
    T* row(std::int64_t position) const { return data + position * stride; }
};

/// One past the last key that query i sees.
inline std::int64_t keysSeen(const AttentionShape& shape, std::int64_t query, std::int64_t keys)
{
    return shape.causal ? std::clamp<std::int64_t>(query + shape.diagonal + 1, 0, keys) : keys;
}

/// The first that it sees.
inline std::int64_t firstSeen(const AttentionShape& shape, std::int64_t query, std::int64_t keys)
{
    return shape.causal && shape.window > 0 ? std::clamp<std::int64_t>(query + shape.diagonal + 1 - shape.window, 0, keys) : 0;
}

template <class T>
void attention(const Parallel& parallel, const AttentionShape& shape, Matrix<const T> q, Matrix<const T> k, Matrix<const T> v,
               Matrix<T> o, Matrix<T> logSumExp)
{
    const std::int64_t dim = shape.headDim, valueDim = shape.valueSize();
    assert(q.columns == shape.heads * dim && k.columns == shape.keyValueHeads * dim && logSumExp.columns == shape.heads);
    assert(v.columns == shape.keyValueHeads * valueDim && o.columns == shape.heads * valueDim);
    assert(q.rows == o.rows && q.rows == logSumExp.rows && k.rows == v.rows && q.rows % shape.sequences == 0);
    const std::int64_t queries = q.rows / shape.sequences, keys = k.rows / shape.sequences;
    const std::int64_t blocks = (queries + kQueryBlock - 1) / kQueryBlock;
    const auto factor = static_cast<T>(shape.scoreFactor());
    const auto& kernels = vectorKernels<T>();
    parallel.over(shape.sequences * shape.heads * blocks, 1, [&](std::int64_t item, std::int64_t) {
        const std::int64_t sequence = item / blocks / shape.heads, head = item / blocks % shape.heads;
        const std::int64_t keyHead = head * shape.keyValueHeads / shape.heads;
        const std::int64_t first = item % blocks * kQueryBlock, count = std::min(kQueryBlock, queries - first);
        const std::int64_t from = firstSeen(shape, first, keys); // no query of the block sees a key before it
        const std::int64_t seen = std::max<std::int64_t>(keysSeen(shape, first + count - 1, keys) - from, 0);
        const Head query(q, shape, shape.headDim, sequence, head), key(k, shape, shape.headDim, sequence, keyHead);
        const Head value(v, shape, shape.valueSize(), sequence, keyHead);
        const Head out(o, shape, shape.valueSize(), sequence, head);
        T* scores = scratch<T>(0, kQueryBlock * std::max<std::int64_t>(seen, 1));
        multiply<T>(Transposed::no, Transposed::yes, count, seen, dim, factor, query.row(first), query.stride, key.row(from),
                    key.stride, false, scores, seen);
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t begin = std::min(firstSeen(shape, first + i, keys) - from, seen);
            const std::int64_t own = std::max<std::int64_t>(keysSeen(shape, first + i, keys) - from - begin, 0);
            T* row = scores + i * seen;
            std::fill(row, row + begin, T{0});
            const T maximum = kernels.maximum(row + begin, own), sum = kernels.exponentials(row + begin, maximum, own);
            kernels.scale(row + begin, 1 / sum, own);
            std::fill(row + begin + own, row + seen, T{0});
            logSumExp.row((first + i) * shape.sequences + sequence)[head] =
                own > 0 ? maximum + std::log(sum) : -std::numeric_limits<T>::infinity();
        }
        multiply<T>(Transposed::no, Transposed::no, count, valueDim, seen, T{1}, scores, seen, value.row(from), value.stride,
                    false, out.row(first), out.stride);
    });
}

/// P = exp(q k^T f - L), dV = P^T dO, dS = P (dO V^T - rowsum(dO O)), dQ = f dS K, dK = f dS^T Q.
template <class T>
void attentionGradient(const Parallel& parallel, const AttentionShape& shape, Matrix<const T> q, Matrix<const T> k,
                       Matrix<const T> v, Matrix<const T> o, Matrix<const T> logSumExp, Matrix<const T> dOutput, Matrix<T> dq,
                       Matrix<T> dk, Matrix<T> dv, bool accumulate)
{
    const std::int64_t dim = shape.headDim, valueDim = shape.valueSize();
    assert(q.columns == shape.heads * dim && k.columns == shape.keyValueHeads * dim);
    assert(v.columns == shape.keyValueHeads * valueDim && dOutput.columns == shape.heads * valueDim);
    assert(dq.columns == q.columns && dk.columns == k.columns && dv.columns == v.columns);
    const std::int64_t queries = q.rows / shape.sequences, keys = k.rows / shape.sequences;
    const std::int64_t heads = shape.heads / shape.keyValueHeads; // that share a key
    const auto factor = static_cast<T>(shape.scoreFactor());
    const auto& kernels = vectorKernels<T>();
    parallel.over(shape.sequences * shape.keyValueHeads, 1, [&](std::int64_t item, std::int64_t) {
        const std::int64_t sequence = item / shape.keyValueHeads, shared = item % shape.keyValueHeads;
        const Head key(k, shape, shape.headDim, sequence, shared), value(v, shape, shape.valueSize(), sequence, shared);
        const Head dKey(dk, shape, shape.headDim, sequence, shared), dValue(dv, shape, shape.valueSize(), sequence, shared);
        if (!accumulate)
            for (std::int64_t j = 0; j < keys; ++j) {
                std::fill_n(dKey.row(j), dim, T{0});
                std::fill_n(dValue.row(j), valueDim, T{0});
            }
        T* probabilities = scratch<T>(0, kQueryBlock * std::max<std::int64_t>(keys, 1));
        T* slopes = scratch<T>(1, kQueryBlock * std::max<std::int64_t>(keys, 1));
        for (std::int64_t head = shared * heads; head < (shared + 1) * heads; ++head) {
            const Head query(q, shape, shape.headDim, sequence, head);
            const Head dQuery(dq, shape, shape.headDim, sequence, head);
            const Head out(o, shape, shape.valueSize(), sequence, head), dOut(dOutput, shape, shape.valueSize(), sequence, head);
            for (std::int64_t first = 0; first < queries; first += kQueryBlock) {
                const std::int64_t count = std::min(kQueryBlock, queries - first);
                const std::int64_t from = firstSeen(shape, first, keys);
                const std::int64_t seen = std::max<std::int64_t>(keysSeen(shape, first + count - 1, keys) - from, 0);
                multiply<T>(Transposed::no, Transposed::yes, count, seen, dim, factor, query.row(first), query.stride,
                            key.row(from), key.stride, false, probabilities, seen);
                multiply<T>(Transposed::no, Transposed::yes, count, seen, valueDim, T{1}, dOut.row(first), dOut.stride,
                            value.row(from), value.stride, false, slopes, seen);
                for (std::int64_t i = 0; i < count; ++i) {
                    const std::int64_t begin = std::min(firstSeen(shape, first + i, keys) - from, seen);
                    const std::int64_t own = std::max<std::int64_t>(keysSeen(shape, first + i, keys) - from - begin, 0);
                    const T normaliser = logSumExp.row((first + i) * shape.sequences + sequence)[head];
                    T *p = probabilities + i * seen, *s = slopes + i * seen;
                    kernels.attentionSlopes(p + begin, s + begin, normaliser,
                                            kernels.dot(dOut.row(first + i), out.row(first + i), valueDim), own);
                    for (T* row : {p, s}) {
                        std::fill(row, row + begin, T{0});
                        std::fill(row + begin + own, row + seen, T{0});
                    }
                }
                multiply<T>(Transposed::yes, Transposed::no, seen, valueDim, count, T{1}, probabilities, seen, dOut.row(first),
                            dOut.stride, true, dValue.row(from), dValue.stride);
                multiply<T>(Transposed::yes, Transposed::no, seen, dim, count, factor, slopes, seen, query.row(first),
                            query.stride, true, dKey.row(from), dKey.stride);
                multiply<T>(Transposed::no, Transposed::no, count, dim, seen, factor, slopes, seen, key.row(from), key.stride,
                            accumulate, dQuery.row(first), dQuery.stride);
            }
        }
    });
}

template <class T>
void mergeAttention(const Parallel& parallel, int valueDim, Matrix<const T> oBlock, Matrix<const T> logSumExpBlock, Matrix<T> o,
                    Matrix<T> logSumExp)
{
    assert(oBlock.rows == o.rows && oBlock.columns == o.columns && o.columns == logSumExp.columns * valueDim);
    parallel.overRows(o.rows, o.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t head = 0; head < logSumExp.columns; ++head) {
                const T block = logSumExpBlock.row(row)[head];
                T& old = logSumExp.row(row)[head];
                if (block == -std::numeric_limits<T>::infinity())
                    continue;
                const T maximum = std::max(block, old);
                const T joined = maximum + std::log(std::exp(old - maximum) + std::exp(block - maximum));
                const T keep = std::exp(old - joined), take = std::exp(block - joined);
                T* out = o.row(row) + head * valueDim;
                const T* in = oBlock.row(row) + head * valueDim;
                for (int d = 0; d < valueDim; ++d)
                    out[d] = keep * out[d] + take * in[d];
                old = joined;
            }
    });
}

template <class T>
void attentionSinks(const Parallel& parallel, int valueDim, Matrix<const T> sinks, Matrix<T> o, Matrix<T> logSumExp)
{
    assert(o.rows == logSumExp.rows && o.columns == logSumExp.columns * valueDim && sinks.columns == logSumExp.columns);
    parallel.overRows(o.rows, o.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t head = 0; head < logSumExp.columns; ++head) {
                T& old = logSumExp.row(row)[head];
                const T sink = sinks.data[head], maximum = std::max(old, sink);
                const T joined = maximum + std::log(std::exp(old - maximum) + std::exp(sink - maximum));
                const T keep = std::exp(old - joined);
                T* out = o.row(row) + head * valueDim;
                for (int d = 0; d < valueDim; ++d)
                    out[d] *= keep;
                old = joined;
            }
    });
}

/// With a value of 0 the sink's slope is P (0 - rowsum(dO O)).
template <class T>
void attentionSinksGradient(const Parallel& parallel, int valueDim, Matrix<const T> sinks, Matrix<const T> o,
                            Matrix<const T> logSumExp, Matrix<const T> dOutput, Matrix<T> dSinks)
{
    assert(o.columns == logSumExp.columns * valueDim && dOutput.columns == o.columns && dSinks.columns == logSumExp.columns);
    const auto& kernels = vectorKernels<T>();
    parallel.over(logSumExp.columns, 1, [&](std::int64_t head, std::int64_t) {
        T sum = 0;
        for (std::int64_t row = 0; row < o.rows; ++row)
            sum += std::exp(sinks.data[head] - logSumExp.row(row)[head]) *
                   kernels.dot(dOutput.row(row) + head * valueDim, o.row(row) + head * valueDim, valueDim);
        dSinks.data[head] -= sum;
    });
}

/// Angles in double: a position's angle loses digits otherwise.
template <class T>
void rotate(const Parallel& parallel, Matrix<T> x, int headDim, Matrix<const std::int32_t> positions, const Rotation& rotation,
            bool inverse)
{
    assert(headDim % 2 == 0 && x.columns % headDim == 0);
    const std::int64_t half = headDim / 2;
    const double *const frequencies = rotation.frequencies.as<const double>(), length = rotation.length;
    assert(rotation.frequencies.columns == half);
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        T* cosines = scratch<T>(2, headDim);
        T* sines = cosines + half;
        for (std::int64_t row = first; row < last; ++row) {
            for (std::int64_t i = 0; i < half; ++i) {
                const double angle = positions.at(row) * frequencies[i];
                cosines[i] = static_cast<T>(length * std::cos(angle));
                sines[i] = static_cast<T>(length * (inverse ? -std::sin(angle) : std::sin(angle)));
            }
            for (std::int64_t head = 0; head < x.columns; head += headDim) {
                T *low = x.row(row) + head, *high = low + half;
                for (std::int64_t i = 0; i < half; ++i) {
                    const T a = low[i], b = high[i];
                    low[i] = a * cosines[i] - b * sines[i];
                    high[i] = b * cosines[i] + a * sines[i];
                }
            }
        }
    });
}

} // namespace live::cpu
