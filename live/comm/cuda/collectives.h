// One kernel a collective: it reads all members' inputs where they lie and writes all outputs. Sums are in the order of members,
// in fp32 for bf16, and rounded once.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/cuda/numbers.h"

namespace live::cuda {

inline constexpr int kMaxMembers = 128;  ///< pointers travel in the kernel's parameters, 4 KiB
inline constexpr int kMaxSegments = 128; ///< copies of one kernel

struct MemberPointers {
    const void* inputs[kMaxMembers];
    void* outputs[kMaxMembers];
    int members, outputCount;
};

template <class T>
using SumType = std::conditional_t<std::is_same_v<T, Bfloat16>, float, T>;

/// All-reduce: grid.y is 1, every output gets the sum. Reduce-scatter: block (·, part) sums part `part` into that member's
/// output.
template <class T, int kWidth, ReduceOp kReduce>
__global__ void __launch_bounds__(256, 4) reduceKernel(MemberPointers pointers, std::int64_t groups, bool scatter)
{
    using Wide = SumType<T>;
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    const std::int64_t offset = blockIdx.y * groups;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < groups; i += step) {
        Wide sum[kWidth] = {};
        for (int member = 0; member < pointers.members; ++member) {
            const auto pack = static_cast<const Pack<T, kWidth>*>(pointers.inputs[member])[offset + i];
#pragma unroll
            for (int e = 0; e < kWidth; ++e) {
                const auto value = converted<Wide>(pack.element[e]);
                if (member == 0)
                    sum[e] = value;
                else if constexpr (kReduce == ReduceOp::sum)
                    sum[e] = static_cast<Wide>(sum[e] + value);
                else
                    sum[e] = sum[e] < value ? value : sum[e];
            }
        }
        Pack<T, kWidth> result;
#pragma unroll
        for (int e = 0; e < kWidth; ++e)
            result.element[e] = converted<T>(sum[e]);
        if (scatter)
            static_cast<Pack<T, kWidth>*>(pointers.outputs[blockIdx.y])[i] = result;
        else
            for (int member = 0; member < pointers.outputCount; ++member)
                static_cast<Pack<T, kWidth>*>(pointers.outputs[member])[i] = result;
    }
}

struct Segment {
    const void* from;
    void* to;
    std::int64_t bytes;
};
struct Segments {
    Segment segment[kMaxSegments];
};

/// Block (·, s) copies segment s, by 16 bytes where both ends are aligned.
inline __global__ void __launch_bounds__(256) copySegmentsKernel(Segments segments)
{
    const Segment& segment = segments.segment[blockIdx.y];
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    const std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    using Chunk = Pack<std::uint32_t, 4>;
    const bool aligned =
        (reinterpret_cast<std::uintptr_t>(segment.from) | reinterpret_cast<std::uintptr_t>(segment.to)) % sizeof(Chunk) == 0;
    const std::int64_t chunks = aligned ? segment.bytes / static_cast<std::int64_t>(sizeof(Chunk)) : 0;
    for (std::int64_t i = start; i < chunks; i += step)
        static_cast<Chunk*>(segment.to)[i] = static_cast<const Chunk*>(segment.from)[i];
    for (std::int64_t i = chunks * static_cast<std::int64_t>(sizeof(Chunk)) + start; i < segment.bytes; i += step)
        static_cast<std::uint8_t*>(segment.to)[i] = static_cast<const std::uint8_t*>(segment.from)[i];
}

} // namespace live::cuda
