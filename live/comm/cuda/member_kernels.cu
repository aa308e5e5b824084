#include "live/comm/cuda/member_kernels.h"

#include "live/comm/cuda/collectives.h"
#include "sim/error.h"

#include <algorithm>

namespace live::cuda {
namespace {

template <class Function>
void withElement(DType type, const Function& f)
{
    switch (type) {
    case DType::f32:
        return f(float{});
    case DType::f64:
        return f(double{});
    case DType::bf16:
        return f(Bfloat16{});
    case DType::i32:
        return f(std::int32_t{});
    case DType::i64:
        return f(std::int64_t{});
    }
}

unsigned blocksFor(std::int64_t threads)
{
    constexpr std::int64_t kThreads = 256, kMaxBlocks = 1024;
    return static_cast<unsigned>(std::clamp<std::int64_t>(ceilDivide(threads, kThreads), 1, kMaxBlocks));
}

} // namespace

void copyPiecesOn(Stream stream, std::span<const Piece> pieces)
{
    constexpr std::int64_t kBytes = 16;
    while (!pieces.empty()) {
        const std::size_t count = std::min<std::size_t>(pieces.size(), kMaxSegments);
        Segments segments{};
        std::int64_t longest = 0;
        for (std::size_t i = 0; i < count; ++i) {
            segments.segment[i] = {pieces[i].from, pieces[i].to, pieces[i].bytes};
            longest = std::max(longest, pieces[i].bytes);
        }
        launch(stream, Grid{blocksFor(longest / kBytes), static_cast<unsigned>(count)}, 256, 0, copySegmentsKernel, segments);
        pieces = pieces.subspan(count);
    }
}

void reduceMembersOn(Stream stream, const MemberReduction& reduction)
{
    const std::size_t members = reduction.inputs.size();
    if (members > kMaxMembers)
        throw sim::Error("A group has " + std::to_string(members) + " members; sums on one GPU take at most " +
                         std::to_string(kMaxMembers) + ".");
    MemberPointers pointers{};
    pointers.members = static_cast<int>(members);
    pointers.outputCount = static_cast<int>(reduction.outputs.size());
    const std::int64_t count = reduction.count;
    std::uintptr_t bits = static_cast<std::uintptr_t>(count * bytesOf(reduction.type)); // every part's place
    for (std::size_t i = 0; i < members; ++i) {
        pointers.inputs[i] = reduction.inputs[i];
        bits |= reinterpret_cast<std::uintptr_t>(pointers.inputs[i]);
    }
    for (std::size_t i = 0; i < reduction.outputs.size(); ++i) {
        pointers.outputs[i] = reduction.outputs[i];
        bits |= reinterpret_cast<std::uintptr_t>(pointers.outputs[i]);
    }
    withElement(reduction.type, [&]<class T>(T) {
        constexpr int kWide = 16 / static_cast<int>(sizeof(T));
        const auto run = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            const auto kernel = reduction.reduce == ReduceOp::sum ? reduceKernel<T, kWidth, ReduceOp::sum>
                                                                  : reduceKernel<T, kWidth, ReduceOp::max>;
            const std::int64_t groups = count / kWidth;
            launch(stream, Grid{blocksFor(groups), reduction.scatter ? static_cast<unsigned>(members) : 1U}, 256, 0, kernel,
                   pointers, groups, reduction.scatter);
        };
        if (bits % 16 == 0)
            run(std::integral_constant<int, kWide>{});
        else
            run(std::integral_constant<int, 1>{});
    });
}

} // namespace live::cuda
