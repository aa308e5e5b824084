// Kernels in which a block works on one row: norms and the pieces of the cross-entropy. Rows are short enough to stay in the L1
// cache between the passes over them.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"
#include "live/kernels/device.h"

namespace live::cuda {

/// A block's sum of body(column, value of x there) over a row.
template <int kWidth, class T, class Body>
__device__ __forceinline__ float rowSum(const T* x, std::int64_t columns, const Body& body)
{
    float sum = 0;
    for (std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kWidth; column < columns; column += blockDim.x * kWidth) {
        float value[kWidth];
        load(value, x + column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            sum += body(column + i, value[i]);
    }
    return reduceBlock<Sum>(sum);
}

struct Identity {
    __device__ float operator()(std::int64_t /*column*/, float value) const { return value; }
};
struct SquareFrom {
    float mean;
    __device__ float operator()(std::int64_t /*column*/, float value) const { return (value - mean) * (value - mean); }
};

template <class T, int kWidth, NormKind kKind>
__global__ void __launch_bounds__(256) normKernel(std::int64_t columns, float epsilon, View<const T> x, const T* gain,
                                                  const T* bias, View<T> y, View<float> statistics)
{
    const std::int64_t row = blockIdx.x;
    const T* const from = x.at(row, 0);
    const auto count = static_cast<float>(columns);
    float mean = 0;
    if constexpr (kKind == NormKind::layernorm)
        mean = rowSum<kWidth>(from, columns, Identity{}) / count;
    const float variance = rowSum<kWidth>(from, columns, SquareFrom{mean}) / count;
    const float scale = 1 / sqrtf(variance + epsilon);
    if (threadIdx.x == 0) {
        *statistics.at(row, 0) = mean;
        *statistics.at(row, 1) = scale;
    }
    for (std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kWidth; column < columns; column += blockDim.x * kWidth) {
        float value[kWidth], g[kWidth], b[kWidth] = {};
        load(value, from + column);
        load(g, gain + column);
        if (bias)
            load(b, bias + column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            value[i] = (value[i] - mean) * scale * g[i] + b[i];
        store(y.at(row, column), value);
    }
}

/// With w = dy * gain and h = (x - mean) * scale: dx = scale * (w - mean(w) - h * mean(w * h)), without mean(w) for rmsnorm.
template <class T, int kWidth, NormKind kKind>
__global__ void __launch_bounds__(256) normGradientKernel(std::int64_t columns, View<const T> dy, View<const T> x, const T* gain,
                                                          View<const float> statistics, View<T> dx)
{
    const std::int64_t row = blockIdx.x;
    const float mean = *statistics.at(row, 0), scale = *statistics.at(row, 1);
    const std::int64_t start = static_cast<std::int64_t>(threadIdx.x) * kWidth;
    float sum = 0, product = 0;
    float w[kWidth], h[kWidth], g[kWidth];
    const auto loadAt = [&](std::int64_t column) {
        load(w, dy.at(row, column));
        load(h, x.at(row, column));
        load(g, gain + column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            w[i] *= g[i];
            h[i] = (h[i] - mean) * scale;
        }
    };
    for (std::int64_t column = start; column < columns; column += blockDim.x * kWidth) {
        loadAt(column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            sum += w[i];
            product += w[i] * h[i];
        }
    }
    const auto count = static_cast<float>(columns);
    const float meanSum = kKind == NormKind::layernorm ? reduceBlock<Sum>(sum) / count : 0;
    const float meanProduct = reduceBlock<Sum>(product) / count;
    for (std::int64_t column = start; column < columns; column += blockDim.x * kWidth) {
        loadAt(column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            w[i] = scale * (w[i] - meanSum - h[i] * meanProduct);
        store(dx.at(row, column), w);
    }
}

/// Rows need not be whole groups of kWidth: `valid` may be any number up to `columns`.
template <class T, int kWidth>
__global__ void __launch_bounds__(256) rowMaximumKernel(std::int64_t valid, View<const T> logits, float* maximum)
{
    const std::int64_t row = blockIdx.x;
    float largest = -INFINITY;
    for (std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kWidth; column < valid; column += blockDim.x * kWidth) {
        float value[kWidth];
        load(value, logits.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            largest = column + i < valid && value[i] > largest ? value[i] : largest;
    }
    largest = reduceBlock<Maximum>(largest);
    if (threadIdx.x == 0)
        maximum[row] = largest;
}

template <class T, int kWidth>
__global__ void __launch_bounds__(256)
    exponentialsKernel(std::int64_t columns, std::int64_t valid, View<T> logits, const float* maximum,
                       const std::int32_t* targets, std::int64_t firstId, View<float> partial)
{
    const std::int64_t row = blockIdx.x;
    const float largest = maximum[row];
    const std::int64_t target = targets[row] < 0 ? -1 : targets[row] - firstId;
    float sum = 0;
    // Whoever owns the target writes its logit; where nobody does, this is the only writer.
    if (threadIdx.x == 0 && (target < 0 || target >= valid))
        *partial.at(0, row) = 0;
    for (std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kWidth; column < columns; column += blockDim.x * kWidth) {
        float value[kWidth];
        load(value, logits.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            const float difference = value[i] - largest;
            const bool counts = column + i < valid;
            if (counts && column + i == target)
                *partial.at(0, row) = difference;
            value[i] = counts ? expf(difference) : 0;
            sum += value[i];
        }
        store(logits.at(row, column), value);
    }
    sum = reduceBlock<Sum>(sum);
    if (threadIdx.x == 0)
        *partial.at(1, row) = sum;
}

struct CrossEntropy {
    View<const float> partial;
    const std::int32_t* targets;
    float* loss;
    template <int kWidth>
    __device__ void at(std::int64_t /*row*/, std::int64_t column) const
    {
        loss[column] = targets[column] < 0 ? 0 : logf(*partial.at(1, column)) - *partial.at(0, column);
    }
};

template <class T>
struct CrossEntropyGradient {
    View<T> exponentials;
    View<const float> partial;
    const std::int32_t* targets;
    std::int64_t firstId;
    float scale;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float value[kWidth] = {};
        if (const std::int32_t target = targets[row]; target >= 0) {
            load(value, exponentials.at(row, column));
            const float factor = scale / *partial.at(1, row);
#pragma unroll
            for (int i = 0; i < kWidth; ++i)
                value[i] = value[i] * factor - (column + i == target - firstId ? scale : 0);
        }
        store(exponentials.at(row, column), value);
    }
};

} // namespace live::cuda
