// Mixture of experts: the router, a warp a token, and the moves of tokens to their experts and back.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"

namespace live::cuda {

inline constexpr int kRouterWarps = 4;         ///< tokens of a block
inline constexpr int kMaxExperts = 32 * kWarp; ///< each lane keeps which of its experts are taken in one word

/// Softmax, then the `choices` largest one after the other, ties to the lowest index.
template <class T>
__global__ void __launch_bounds__(kRouterWarps* kWarp)
    routeTopKKernel(std::int64_t tokens, int experts, int choices, View<const T> logits, View<float> probabilities,
                    View<std::int32_t> chosen, View<float> weights)
{
    const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kRouterWarps + threadIdx.x / kWarp;
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    if (token >= tokens) // a whole warp
        return;
    float largest = -INFINITY;
    for (int e = lane; e < experts; e += kWarp)
        largest = Maximum{}(largest, toFloat(*logits.at(token, e)));
    largest = reduceWarp<Maximum>(largest);
    float sum = 0;
    for (int e = lane; e < experts; e += kWarp)
        sum += expf(toFloat(*logits.at(token, e)) - largest);
    sum = reduceWarp<Sum>(sum);
    for (int e = lane; e < experts; e += kWarp)
        *probabilities.at(token, e) = expf(toFloat(*logits.at(token, e)) - largest) / sum;
    std::uint32_t taken = 0; // bit i: expert lane + 32 i
    float total = 0;
    for (int choice = 0; choice < choices; ++choice) {
        float best = -1;
        int bestExpert = experts;
        for (int e = lane, i = 0; e < experts; e += kWarp, ++i)
            if (const float p = *probabilities.at(token, e); (taken >> i & 1U) == 0 && p > best) {
                best = p;
                bestExpert = e;
            }
#pragma unroll
        for (int mask = kWarp / 2; mask > 0; mask /= 2) {
            const float other = shuffleXor(best, mask);
            const int otherExpert = shuffleXor(bestExpert, mask);
            if (other > best || (other == best && otherExpert < bestExpert)) {
                best = other;
                bestExpert = otherExpert;
            }
        }
        bestExpert = bestExpert < experts ? bestExpert : choice; // of no numbers: a lost run must not read out of bounds
        if (bestExpert % kWarp == lane)
            taken |= 1U << (bestExpert / kWarp);
        total += best;
        if (lane == 0) {
            *chosen.at(token, choice) = bestExpert;
            *weights.at(token, choice) = best;
        }
    }
    if (lane == 0) // who wrote them
        for (int choice = 0; choice < choices; ++choice)
            *weights.at(token, choice) /= total;
}

/// Through w_j = p_j / s with s = the sum of the chosen p, then through the softmax.
template <class T>
__global__ void __launch_bounds__(kRouterWarps* kWarp)
    routeGradientKernel(std::int64_t tokens, int experts, int choices, View<const float> probabilities,
                        View<const std::int32_t> chosen, View<const float> weights, View<const float> dWeights, const float* aux,
                        View<T> dLogits)
{
    const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kRouterWarps + threadIdx.x / kWarp;
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    if (token >= tokens) // a whole warp
        return;
    float total = 0, mean = 0;
    for (int j = 0; j < choices; ++j) {
        total += *probabilities.at(token, *chosen.at(token, j));
        mean += *weights.at(token, j) * *dWeights.at(token, j);
    }
    const auto slope = [&](int e) {
        float result = aux ? aux[e] : 0;
        for (int j = 0; j < choices; ++j)
            if (*chosen.at(token, j) == e)
                result += (*dWeights.at(token, j) - mean) / total;
        return result;
    };
    float sum = 0;
    for (int e = lane; e < experts; e += kWarp)
        sum += *probabilities.at(token, e) * slope(e);
    sum = reduceWarp<Sum>(sum);
    for (int e = lane; e < experts; e += kWarp)
        *dLogits.at(token, e) = fromFloat<T>(*probabilities.at(token, e) * (slope(e) - sum));
}

struct CountExperts {
    View<const std::int32_t> experts;
    std::int64_t* counts;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        atomicAddInteger(&counts[*experts.at(row, column)], std::int64_t{1});
    }
};

template <class T>
struct GatherRows {
    View<const T> x;
    const std::int32_t* index;
    std::int64_t divisor;
    View<T> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        using Group = Pack<T, kWidth>;
        *reinterpret_cast<Group*>(y.at(row, column)) = *reinterpret_cast<const Group*>(x.at(index[row] / divisor, column));
    }
};

template <class T>
struct CombineRows {
    View<const T> x;
    View<const std::int32_t> place;
    View<const float> weights; ///< no data: 1
    int choices;
    View<T> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float sum[kWidth] = {}, value[kWidth];
        for (int j = 0; j < choices; ++j) {
            load(value, x.at(*place.at(row, j), column));
            const float weight = weights.data ? *weights.at(row, j) : 1;
#pragma unroll
            for (int i = 0; i < kWidth; ++i)
                sum[i] += weight * value[i];
        }
        store(y.at(row, column), sum);
    }
};

/// A block a token.
template <class T, int kWidth>
__global__ void __launch_bounds__(256)
    combineGradientKernel(std::int64_t columns, int choices, View<const T> x, View<const std::int32_t> place,
                          View<const float> weights, View<const T> dy, View<T> dx, View<float> dWeights)
{
    const std::int64_t token = blockIdx.x;
    for (int j = 0; j < choices; ++j) {
        const std::int64_t row = *place.at(token, j);
        const float weight = weights.data ? *weights.at(token, j) : 1;
        float product = 0;
        for (std::int64_t column = static_cast<std::int64_t>(threadIdx.x) * kWidth; column < columns;
             column += blockDim.x * kWidth) {
            float slope[kWidth], value[kWidth];
            load(slope, dy.at(token, column));
            load(value, x.at(row, column));
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                product += slope[i] * value[i];
                slope[i] *= weight;
            }
            store(dx.at(row, column), slope);
        }
        product = reduceBlock<Sum>(product);
        if (threadIdx.x == 0 && dWeights.data)
            *dWeights.at(token, j) = product;
    }
}

} // namespace live::cuda
