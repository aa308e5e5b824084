// Element types of kernels, groups of them that move as 16 bytes, and sums over warps and blocks in fixed order.
#pragma once

#include "live/kernels/cuda/platform.h"
#include "live/tensor/tensor.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace live::cuda {

inline constexpr int kWarp = 32;
inline constexpr int kFullWidth = 8; ///< elements a thread moves at once: 16 bytes of bf16

/// bfloat16: the upper half of a float.
struct Bfloat16 {
    std::uint16_t bits;
};

__host__ __device__ inline float toFloat(float value)
{
    return value;
}
__host__ __device__ inline float toFloat(double value)
{
    return static_cast<float>(value);
}
__host__ __device__ inline float toFloat(Bfloat16 value)
{
    const std::uint32_t word = static_cast<std::uint32_t>(value.bits) << 16;
    float result;
    std::memcpy(&result, &word, sizeof result);
    return result;
}

/// To nearest, ties to even; NaN stays NaN.
__host__ __device__ inline Bfloat16 toBfloat(float value)
{
#ifdef __CUDA_ARCH__
    std::uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return {bits};
#else
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    if ((word & 0x7FFFFFFFU) > 0x7F800000U)
        return {static_cast<std::uint16_t>(word >> 16 | 0x40)};
    return {static_cast<std::uint16_t>((word + 0x7FFFU + (word >> 16 & 1U)) >> 16)};
#endif
}

template <class T>
__host__ __device__ inline T fromFloat(float value)
{
    if constexpr (std::is_same_v<T, Bfloat16>)
        return toBfloat(value);
    else
        return static_cast<T>(value);
}

template <class To, class From>
__host__ __device__ inline To converted(From value)
{
    if constexpr (std::is_same_v<To, From>)
        return value;
    else if constexpr (std::is_same_v<To, double>)
        return static_cast<double>(toFloat(value));
    else
        return fromFloat<To>(toFloat(value));
}

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth < 16 ? sizeof(T) * kWidth : 16) Pack {
    T element[kWidth];
};

/// kWidth elements as floats.
template <int kWidth, class T>
__device__ __forceinline__ void load(float (&to)[kWidth], const T* from)
{
    const auto pack = *reinterpret_cast<const Pack<T, kWidth>*>(from);
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
        to[i] = toFloat(pack.element[i]);
}
template <int kWidth, class T>
__device__ __forceinline__ void store(T* to, const float (&from)[kWidth])
{
    Pack<T, kWidth> pack;
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
        pack.element[i] = fromFloat<T>(from[i]);
    *reinterpret_cast<Pack<T, kWidth>*>(to) = pack;
}

/// Whether rows of a tensor can be moved kFullWidth elements at a time.
inline bool wide(const Tensor& tensor)
{
    const std::int64_t bytes = bytesOf(tensor.type);
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
    return tensor.columns % kFullWidth == 0 && address % 16 == 0 && (tensor.rows <= 1 || tensor.stride * bytes % 16 == 0);
}
template <class... Tensors>
bool wide(const Tensor& first, const Tensors&... rest)
{
    return wide(first) && wide(rest...);
}

struct Sum {
    template <class T>
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};
struct Maximum {
    template <class T>
    __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

/// Every lane gets the result; the same bits on all, as a + b = b + a.
template <class Operation, class T>
__device__ __forceinline__ T reduceWarp(T value)
{
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2)
        value = Operation{}(value, shuffleXor(value, mask));
    return value;
}

/// Every thread of the block gets the result. Whole warps, at most 32 of them; every thread must come here.
template <class Operation, class T>
__device__ __forceinline__ T reduceBlock(T value)
{
    __shared__ T partial[kWarp];
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    value = reduceWarp<Operation>(value);
    syncBlock(); // the last call's values have been read
    if (threadIdx.x % kWarp == 0)
        partial[threadIdx.x / kWarp] = value;
    syncBlock();
    value = partial[0];
    for (int warp = 1; warp < warps; ++warp)
        value = Operation{}(value, partial[warp]);
    return value;
}

/// Two neighbouring sums, put down or added.
__device__ __forceinline__ void storePair(float* to, float a, float b, bool accumulate)
{
    to[0] = accumulate ? to[0] + a : a;
    to[1] = accumulate ? to[1] + b : b;
}
__device__ __forceinline__ void storePair(Bfloat16* to, float a, float b, bool accumulate)
{
    auto* const both = reinterpret_cast<Pack<Bfloat16, 2>*>(to);
    const Pack<Bfloat16, 2> old = accumulate ? *both : Pack<Bfloat16, 2>{};
    *both = {{toBfloat(toFloat(old.element[0]) + a), toBfloat(toFloat(old.element[1]) + b)}};
}

/// Threads of a block that goes over `items` with each.
inline int blockThreads(std::int64_t items, int most = 256)
{
    const std::int64_t rounded = (items + kWarp - 1) / kWarp * kWarp;
    return static_cast<int>(rounded < kWarp ? kWarp : rounded > most ? most : rounded);
}

__host__ __device__ constexpr std::int64_t ceilDivide(std::int64_t a, std::int64_t b)
{
    return (a + b - 1) / b;
}

} // namespace live::cuda
