#include "sim/program/operator_shapes.h"

namespace sim {

OpShape gemmShape(const Operator& op, KernelPass pass, std::int64_t m, std::int64_t n, std::int64_t k, int slices)
{
    return {.kernel = op.routed ? KernelKind::groupedGemm : KernelKind::gemm,
            .family = op.family,
            .pass = pass,
            .lowPrecision = op.lowPrecision,
            .routed = op.routed,
            .narrowedBy = slices,
            .pieces = op.pieces,
            .m = m,
            .n = n,
            .k = k,
            .batch = op.batch,
            .flops = op.flops,
            .bytes = pass == KernelPass::forward    ? op.forwardBytes
                     : pass == KernelPass::backward ? op.backwardBytes
                                                    : 0};
}

OpShape memoryShape(const Operator& op, KernelPass pass)
{
    return {.family = op.family,
            .pass = pass,
            .routed = op.routed,
            .windowed = op.windowed,
            .pieces = op.pieces,
            .m = op.m,
            .n = op.n,
            .k = op.k,
            .batch = op.batch,
            .bytes = pass == KernelPass::forward ? op.forwardBytes : op.backwardBytes};
}

OpShape forwardShape(const Operator& op)
{
    if (op.kind == OperatorKind::gemm)
        return gemmShape(op, KernelPass::forward, op.m, op.n, op.k);
    OpShape shape = memoryShape(op, KernelPass::forward);
    if (op.kind == OperatorKind::attention) {
        shape.kernel = KernelKind::attentionForward;
        shape.flops = op.flops;
    }
    return shape;
}

bool hasWeights(const Operator& op)
{
    return op.kind == OperatorKind::gemm && !op.weightless;
}

bool trainsWeights(const Operator& op)
{
    return hasWeights(op) && !op.frozen;
}

} // namespace sim
