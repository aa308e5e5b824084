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

template <class T>
T combine(ReduceOp op, T a, T b)
{
    return op == ReduceOp::sum ? static_cast<T>(a + b) : std::max(a, b);
}

/// Elements first…last. The sums of a block stay in registers while the members are gone through, so each input is read once and
/// each output is written once.
template <class T, ReduceOp op>
[[gnu::always_inline]] inline void reduceRange(std::int64_t first, std::int64_t last, std::span<const void* const> inputs,
                                               std::span<void* const> outputs)
{
    constexpr std::int64_t kBlock = 256 / static_cast<std::int64_t>(sizeof(T)); // 4 AVX-512, 8 AVX registers
    const auto input = [&](std::size_t member) { return static_cast<const T*>(inputs[member]); };
    std::int64_t i = first;
    for (; i + kBlock <= last; i += kBlock) {
        T sum[kBlock]; // NOLINT(modernize-avoid-c-arrays): registers
        std::memcpy(sum, input(0) + i, sizeof sum);
        for (std::size_t member = 1; member < inputs.size(); ++member) {
            const T* const values = input(member) + i;
            for (std::int64_t k = 0; k < kBlock; ++k)
                sum[k] = combine(op, sum[k], values[k]);
        }
        for (void* const output : outputs)
            std::memcpy(static_cast<T*>(output) + i, sum, sizeof sum);
    }
    for (; i < last; ++i) {
        T sum = input(0)[i];
        for (std::size_t member = 1; member < inputs.size(); ++member)
            sum = combine(op, sum, input(member)[i]);
        for (void* const output : outputs)
            static_cast<T*>(output)[i] = sum;
    }
}

template <class T, ReduceOp op>
void reduceAnywhere(std::int64_t first, std::int64_t last, std::span<const void* const> inputs, std::span<void* const> outputs)
{
    reduceRange<T, op>(first, last, inputs, outputs);
}

// Elementwise sums have the same bits in registers of any width.
#if defined(__x86_64__)
template <class T, ReduceOp op>
[[gnu::target("avx2")]] void reduceAvx2(std::int64_t first, std::int64_t last, std::span<const void* const> inputs,
                                        std::span<void* const> outputs)
{
    reduceRange<T, op>(first, last, inputs, outputs);
}
template <class T, ReduceOp op>
[[gnu::target("avx512f")]] void reduceAvx512(std::int64_t first, std::int64_t last, std::span<const void* const> inputs,
                                             std::span<void* const> outputs)
{
    reduceRange<T, op>(first, last, inputs, outputs);
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
