// What moves and sums the tensors of ranks whose memory one GPU can reach. member_kernels.cu does it with kernels of ours;
// live/emulated does it on a machine that is not there.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/cuda/runtime.h"

#include <span>

namespace live::cuda {

struct Piece {
    const void* from = nullptr;
    void* to = nullptr;
    std::int64_t bytes = 0;
};
void copyPiecesOn(Stream, std::span<const Piece>);

/// Sums (or maxima) in the order of members. All-reduce: of `count` elements, into every output, of which there may be fewer than
/// inputs. Reduce-scatter: each input is as
/// many parts as there are members, of `count` elements each; output i gets the sum of the parts i. An output may be an input.
struct MemberReduction {
    DType type = DType::f32;
    ReduceOp reduce = ReduceOp::sum;
    bool scatter = false;
    std::int64_t count = 0;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
};
/// Throws sim::Error where there are more members than a kernel takes.
void reduceMembersOn(Stream, const MemberReduction&);

} // namespace live::cuda
