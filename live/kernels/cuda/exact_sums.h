// Sums that do not depend on the order of their terms: fixed-point numbers of kExactSumWords words (live/kernels/exact_sum.cpp is
// the twin), so integer atomics give the same bits whatever runs when.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"
#include "live/kernels/device.h"

namespace live::cuda {

inline constexpr int kSumDigitBits = 32;
inline constexpr int kNotFiniteWord = kExactSumWords - 1; ///< counts terms that are not finite
inline constexpr int kLowestSumBit = -1074;               ///< the exponent of word 0's lowest bit: the smallest double
inline constexpr int kSquaresBlock = 64;

/// words += value. By any number of threads at once.
__device__ inline void addExactly(std::int64_t* words, double value)
{
    constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto biased = static_cast<int>(bits >> 52 & 0x7FF);
    if (biased == 0x7FF) {
        atomicAddInteger(&words[kNotFiniteWord], std::int64_t{1});
        return;
    }
    const std::uint64_t mantissa = (bits & kMantissa) | (biased == 0 ? 0 : kMantissa + 1);
    if (mantissa == 0)
        return;
    const int place = biased == 0 ? 0 : biased - 1; // of the mantissa's lowest bit above kLowestSumBit
    const int word = place / kSumDigitBits, shift = place % kSumDigitBits;
    const std::uint64_t low = mantissa << shift, high = shift == 0 ? 0 : mantissa >> (64 - shift);
    const std::int64_t sign = bits >> 63 == 0 ? 1 : -1;
    const std::uint64_t digits[3] = {low & 0xFFFFFFFFU, low >> kSumDigitBits, high};
    for (int i = 0; i < 3; ++i)
        if (digits[i] != 0)
            atomicAddInteger(&words[word + i], sign * static_cast<std::int64_t>(digits[i]));
}

/// The sum's value, rounded once.
__device__ inline double exactValue(const std::int64_t* words)
{
    if (words[kNotFiniteWord] != 0)
        return NAN;
    std::uint32_t digits[kExactSumWords] = {};
    const auto carry = [&](std::int64_t sign) {
        std::int64_t over = 0;
        for (int i = 0; i < kNotFiniteWord; ++i) {
            const std::int64_t sum = sign * words[i] + over;
            digits[i] = static_cast<std::uint32_t>(sum);
            over = sum >> kSumDigitBits;
        }
        digits[kNotFiniteWord] = static_cast<std::uint32_t>(over);
        return over >= 0;
    };
    const bool positive = carry(1);
    if (!positive)
        carry(-1);
    int top = kNotFiniteWord;
    while (top > 0 && digits[top] == 0)
        --top;
    // The 64 bits from the highest set one down; the lowest says whether anything is below, so that one rounding is right.
    std::uint64_t head = digits[top];
    int exponent = kLowestSumBit + kSumDigitBits * top;
    int next = top - 1;
    if (next >= 0) {
        head = head << kSumDigitBits | digits[next--];
        exponent -= kSumDigitBits;
    }
    bool below = false;
    if (next >= 0 && head != 0) {
        int room = 0;
        while (head >> 63 == 0) {
            head <<= 1;
            ++room;
        }
        exponent -= room;
        const std::uint64_t third = static_cast<std::uint64_t>(digits[next]) << room;
        head |= third >> kSumDigitBits;
        below = static_cast<std::uint32_t>(third) != 0;
        for (int i = next - 1; i >= 0; --i)
            below = below || digits[i] != 0;
    }
    const double magnitude = ldexp(static_cast<double>(head | (below ? 1U : 0U)), exponent);
    return positive ? magnitude : -magnitude;
}

/// Adds what the block gathered to the sum.
__device__ inline void addBlockWords(const std::int64_t* gathered, std::int64_t* words)
{
    syncBlock();
    for (int i = static_cast<int>(threadIdx.x); i < kExactSumWords; i += static_cast<int>(blockDim.x))
        if (gathered[i] != 0)
            atomicAddInteger(&words[i], gathered[i]);
}
__device__ inline void clearBlockWords(std::int64_t* gathered)
{
    for (int i = static_cast<int>(threadIdx.x); i < kExactSumWords; i += static_cast<int>(blockDim.x))
        gathered[i] = 0;
    syncBlock();
}

template <class T>
__global__ void __launch_bounds__(256)
    exactSumKernel(std::int64_t rows, std::int64_t columns, View<const T> values, std::int64_t* words)
{
    __shared__ std::int64_t gathered[kExactSumWords];
    clearBlockWords(gathered);
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * columns; i += step)
        addExactly(gathered, converted<double>(*values.at(i / columns, i % columns)));
    addBlockWords(gathered, words);
}

/// A warp sums 64 squares in double, each lane two neighbours.
template <class T>
__global__ void __launch_bounds__(256) exactSumOfSquaresKernel(std::int64_t count, const T* values, std::int64_t* words)
{
    __shared__ std::int64_t gathered[kExactSumWords];
    clearBlockWords(gathered);
    const auto lane = static_cast<std::int64_t>(threadIdx.x % kWarp);
    const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / kWarp);
    const std::int64_t blocks = ceilDivide(count, kSquaresBlock);
    for (std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp; b < blocks;
         b += warps) {
        const std::int64_t at = b * kSquaresBlock + 2 * lane;
        const double first = at < count ? converted<double>(values[at]) : 0;
        const double second = at + 1 < count ? converted<double>(values[at + 1]) : 0;
        const double sum = reduceWarp<Sum>(first * first + second * second);
        if (lane == 0)
            addExactly(gathered, sum);
    }
    addBlockWords(gathered, words);
}

/// A block a sum.
inline __global__ void carryExactSumsKernel(std::int64_t* words)
{
    if (threadIdx.x != 0)
        return;
    words += static_cast<std::int64_t>(blockIdx.x) * kExactSumWords;
    std::int64_t over = 0;
    for (int i = 0; i + 1 < kNotFiniteWord; ++i) {
        // Apart: a digit that is nearly full and what comes from below do not fit into one word.
        const std::int64_t low = (words[i] & 0xFFFFFFFF) + (over & 0xFFFFFFFF);
        over = (words[i] >> kSumDigitBits) + (over >> kSumDigitBits) + (low >> kSumDigitBits);
        words[i] = low & 0xFFFFFFFF;
    }
    words[kNotFiniteWord - 1] += over;
}

inline __global__ void clipFactorKernel(std::int64_t rows, const std::int64_t* words, double maxNorm, double* factor)
{
    if (threadIdx.x != 0)
        return;
    double sum = 0, others = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        sum = exactValue(words + row * kExactSumWords);
        others += 0 * sum; // not a number if one of them is not finite
    }
    const double norm = sqrt(sum) + others;
    const double scale = maxNorm / (norm + 1e-6);
    *factor = norm != norm ? norm : maxNorm == 0 || scale > 1 ? 1 : scale;
}

} // namespace live::cuda
