#include "live/comm/reduction.h"

#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <cstring>

namespace live {
namespace {

/// What one worker takes at a time: small against a core's L2 cache, large against the cost of taking it (about 0.1 us).
constexpr std::int64_t kPieceBytes = 64 << 10;
constexpr std::int64_t kCopyPieceBytes = 256 << 10;

template <class T, std::size_t Bytes>
struct Register {
    typedef T Type __attribute__((vector_size(Bytes))); // NOLINT(modernize-use-using): the attribute
};

/// Elements first…last. The sums of a block stay in registers while the members are gone through, so each input is read once and
/// each output is written once. As vectors, not as an array of elements: that one GCC 12 keeps in memory, and waits at each turn
/// for what it has just stored there.
template <class T, ReduceOp op, std::size_t Bytes, std::size_t Registers>
[[gnu::always_inline]] inline void reduceRange(std::int64_t first, std::int64_t last, std::span<const void* const> inputs,
                                               std::span<void* const> outputs)
{
    using Vector = typename Register<T, Bytes>::Type;
    constexpr std::size_t kLanes = Bytes / sizeof(T);
    constexpr auto kBlock = static_cast<std::int64_t>(kLanes * Registers);
    std::int64_t i = first;
    for (; i + kBlock <= last; i += kBlock) {
        Vector sums[Registers]; // NOLINT(modernize-avoid-c-arrays): registers
        const T* const firstValues = static_cast<const T*>(inputs[0]) + i;
#pragma GCC unroll 8
        for (std::size_t k = 0; k < Registers; ++k)
            std::memcpy(&sums[k], firstValues + k * kLanes, Bytes);
        for (const void* const other : inputs.subspan(1)) {
            const T* const values = static_cast<const T*>(other) + i;
#pragma GCC unroll 8
            for (std::size_t k = 0; k < Registers; ++k) {
                Vector value;
                std::memcpy(&value, values + k * kLanes, Bytes);
                if constexpr (op == ReduceOp::sum)
                    sums[k] += value;
                else
                    sums[k] = sums[k] < value ? value : sums[k];
            }
        }
        for (void* const output : outputs) {
            T* const to = static_cast<T*>(output) + i;
#pragma GCC unroll 8
            for (std::size_t k = 0; k < Registers; ++k)
                std::memcpy(to + k * kLanes, &sums[k], Bytes);
        }
    }
    for (; i < last; ++i) {
        T sum = static_cast<const T*>(inputs[0])[i];
        for (const void* const other : inputs.subspan(1)) {
            const T value = static_cast<const T*>(other)[i];
            sum = op == ReduceOp::sum ? static_cast<T>(sum + value) : std::max(sum, value);
        }
        for (void* const output : outputs)
            static_cast<T*>(output)[i] = sum;
    }
}

template <class T, ReduceOp op>
void reduceAnywhere(std::int64_t first, std::int64_t last, std::span<const void* const> inputs, std::span<void* const> outputs)
{
    reduceRange<T, op, 16, 8>(first, last, inputs, outputs);
}

// Elementwise sums have the same bits in registers of any width.
#if defined(__x86_64__)
template <class T, ReduceOp op>
[[gnu::target("avx2")]] void reduceAvx2(std::int64_t first, std::int64_t last, std::span<const void* const> inputs,
                                        std::span<void* const> outputs)
{
    reduceRange<T, op, 32, 8>(first, last, inputs, outputs);
}
template <class T, ReduceOp op>
[[gnu::target("avx512f")]] void reduceAvx512(std::int64_t first, std::int64_t last, std::span<const void* const> inputs,
                                             std::span<void* const> outputs)
{
    reduceRange<T, op, 64, 8>(first, last, inputs, outputs);
}
#endif

using Reduce = void(std::int64_t first, std::int64_t last, std::span<const void* const>, std::span<void* const>);

/// The widest that this processor has.
template <class T, ReduceOp op>
Reduce* widest()
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return reduceAvx512<T, op>;
    if (__builtin_cpu_supports("avx2"))
        return reduceAvx2<T, op>;
#endif
    return reduceAnywhere<T, op>;
}

template <class T>
void reduceTyped(WorkerPool& pool, ReduceOp op, std::int64_t count, std::span<const void* const> inputs,
                 std::span<void* const> outputs)
{
    static Reduce* const sums = widest<T, ReduceOp::sum>();
    static Reduce* const maxima = widest<T, ReduceOp::max>();
    Reduce* const range = op == ReduceOp::sum ? sums : maxima;
    constexpr std::int64_t kPiece = kPieceBytes / static_cast<std::int64_t>(sizeof(T));
    if (count <= kPiece)
        range(0, count, inputs, outputs);
    else
        pool.parallelFor(count, kPiece, [&](std::int64_t first, std::int64_t last) { range(first, last, inputs, outputs); });
}

} // namespace

void reduceInOrder(WorkerPool& pool, DType type, ReduceOp op, std::int64_t count, std::span<const void* const> inputs,
                   std::span<void* const> outputs)
{
    switch (type) {
    case DType::f32:
        return reduceTyped<float>(pool, op, count, inputs, outputs);
    case DType::f64:
        return reduceTyped<double>(pool, op, count, inputs, outputs);
    case DType::i32:
        return reduceTyped<std::int32_t>(pool, op, count, inputs, outputs);
    case DType::i64:
        return reduceTyped<std::int64_t>(pool, op, count, inputs, outputs);
    case DType::bf16:
        throw sim::Error("bf16 cannot be summed on the CPU: choose fp32 or fp64 there");
    }
}

void copyBytes(WorkerPool& pool, const void* from, void* to, std::int64_t bytes)
{
    if (from == to || bytes <= 0)
        return;
    if (bytes <= kCopyPieceBytes) {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
        return;
    }
    pool.parallelFor(bytes, kCopyPieceBytes, [from, to](std::int64_t first, std::int64_t last) {
        std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                    static_cast<std::size_t>(last - first));
    });
}

} // namespace live
