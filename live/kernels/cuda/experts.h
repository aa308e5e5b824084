// Mixture of experts: the router, a warp a token, and the moves of tokens to their experts and back.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"
#include "live/kernels/device.h"

namespace live::cuda {

inline constexpr int kRouterWarps = 4;         ///< tokens of a block
inline constexpr int kMaxExperts = 32 * kWarp; ///< each lane keeps which of its experts are taken in one word

inline constexpr float kLeastScoreSum = 1e-20F; ///< as the CPU's

/// RouterRule, as a kernel takes it.
struct RouterNumbers {
    int groups, chosenGroups;
    bool softmax, normalized;
    float scale;
    explicit RouterNumbers(const RouterRule& rule)
        : groups(rule.groups), chosenGroups(rule.chosenGroups), softmax(rule.score == RouterRule::Score::softmax),
          normalized(rule.normalized), scale(static_cast<float>(rule.scale))
    {
    }
};

__device__ __forceinline__ float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/// A warp's largest value and, of equals, the lowest of the numbers that come with them; the same on all lanes.
__device__ __forceinline__ void bestOfWarp(float& best, int& number)
{
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
        const float other = shuffleXor(best, mask);
        const int otherNumber = shuffleXor(number, mask);
        if (other > best || (other == best && otherNumber < number)) {
            best = other;
            number = otherNumber;
        }
    }
}

/// The chosen groups, a bit each; a lane a group.
template <class Choice>
__device__ __forceinline__ std::uint32_t bestGroups(const RouterNumbers& rule, int experts, const Choice& choice)
{
    if (rule.chosenGroups >= rule.groups)
        return ~0U;
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    const int size = experts / rule.groups;
    float largest = -INFINITY, second = -INFINITY;
    for (int i = 0; i < size && lane < rule.groups; ++i) {
        const float value = choice(lane * size + i);
        second = value > largest ? largest : value > second ? value : second;
        largest = value > largest ? value : largest;
    }
    const float score = rule.softmax || size == 1 ? largest : largest + second;
    std::uint32_t kept = 0;
    for (int i = 0; i < rule.chosenGroups; ++i) {
        const bool open = lane < rule.groups && (kept >> lane & 1U) == 0;
        float best = open ? score : -INFINITY;
        int group = open ? lane : kWarp;
        bestOfWarp(best, group);
        kept |= group < kWarp ? 1U << group : 0U;
    }
    return kept;
}

/// The scores, then the `choices` largest one after the other, ties to the lowest index.
template <class T>
__global__ void __launch_bounds__(kRouterWarps* kWarp)
    routeTopKKernel(RouterNumbers rule, std::int64_t tokens, int experts, int choices, View<const T> logits, const float* bias,
                    View<float> probabilities, View<std::int32_t> chosen, View<float> weights)
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
        sum += rule.softmax ? expf(toFloat(*logits.at(token, e)) - largest) : sigmoid(toFloat(*logits.at(token, e)));
    sum = reduceWarp<Sum>(sum);
    const auto score = [&](int e) {
        const float logit = toFloat(*logits.at(token, e));
        return rule.softmax ? expf(logit - largest) / sum : sigmoid(logit);
    };
    for (int e = lane; e < experts; e += kWarp)
        *probabilities.at(token, e) = rule.softmax ? score(e) : score(e) / (sum + kLeastScoreSum);
    const auto choiceScore = [&](int e) { return bias ? score(e) + bias[e] : score(e); };
    const std::uint32_t groups = bestGroups(rule, experts, choiceScore);
    const int groupSize = experts / rule.groups;
    std::uint32_t taken = 0; // bit i: expert lane + 32 i
    float total = 0;
    for (int choice = 0; choice < choices; ++choice) {
        float best = -INFINITY;
        int bestExpert = experts;
        for (int e = lane, i = 0; e < experts; e += kWarp, ++i) {
            const bool isKept = rule.groups == 1 || (groups >> (e / groupSize) & 1U) != 0;
            const float value = isKept ? choiceScore(e) : 0; // as the CPU's
            if ((taken >> i & 1U) == 0 && (value > best || bestExpert == experts)) {
                best = value;
                bestExpert = e;
            }
        }
        bestOfWarp(best, bestExpert);
        bestExpert = bestExpert < experts ? bestExpert : choice; // of no numbers: a lost run must not read out of bounds
        if (bestExpert % kWarp == lane)
            taken |= 1U << (bestExpert / kWarp);
        const float weight = score(bestExpert);
        total += weight;
        if (lane == 0) {
            *chosen.at(token, choice) = bestExpert;
            *weights.at(token, choice) = weight;
        }
    }
    if (lane == 0) { // who wrote them
        const float divisor = !rule.normalized ? 1 : rule.softmax ? total : total + kLeastScoreSum;
        for (int choice = 0; choice < choices; ++choice)
            *weights.at(token, choice) *= rule.scale / divisor;
    }
}

/// Through the weights to the scores (see the CPU's), then through the softmax or the sigmoid.
template <class T>
__global__ void __launch_bounds__(kRouterWarps* kWarp)
    routeGradientKernel(RouterNumbers rule, std::int64_t tokens, int experts, int choices, View<const float> logits,
                        View<const float> probabilities, View<const std::int32_t> chosen, View<const float> weights,
                        View<const float> dWeights, const float* aux, View<T> dLogits)
{
    const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * kRouterWarps + threadIdx.x / kWarp;
    const auto lane = static_cast<int>(threadIdx.x % kWarp);
    if (token >= tokens) // a whole warp
        return;
    const auto score = [&](int e) { return rule.softmax ? *probabilities.at(token, e) : sigmoid(*logits.at(token, e)); };
    float scoreSum = rule.softmax ? 1 : 0, ofAux = 0;
    if (!rule.softmax) {
        for (int e = lane; e < experts; e += kWarp) {
            scoreSum += score(e);
            ofAux += aux ? aux[e] * *probabilities.at(token, e) : 0;
        }
        scoreSum = reduceWarp<Sum>(scoreSum) + kLeastScoreSum;
        ofAux = reduceWarp<Sum>(ofAux);
    }
    float total = rule.softmax ? 0 : kLeastScoreSum, mean = 0;
    for (int j = 0; j < choices; ++j) {
        total += score(*chosen.at(token, j));
        mean += *weights.at(token, j) * *dWeights.at(token, j);
    }
    const auto slope = [&](int e) {
        float result = aux ? (aux[e] - ofAux) / scoreSum : 0;
        for (int j = 0; j < choices; ++j)
            if (*chosen.at(token, j) == e) {
                const float ofWeight = rule.scale * *dWeights.at(token, j);
                result += rule.normalized ? (ofWeight - mean) / total : ofWeight;
            }
        return result;
    };
    float sum = 0;
    for (int e = lane; e < experts && rule.softmax; e += kWarp)
        sum += *probabilities.at(token, e) * slope(e);
    sum = reduceWarp<Sum>(sum);
    for (int e = lane; e < experts; e += kWarp) {
        const float own = score(e);
        *dLogits.at(token, e) = fromFloat<T>(rule.softmax ? own * (slope(e) - sum) : slope(e) * own * (1 - own));
    }
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
