// What an operator asks of a kernel: the shapes that costs are looked up by. Private to sim/program.
#pragma once

#include "sim/program/program.h"

#include <cstdint>

namespace sim {

/// Pieces in which a tensor-parallel collective overlaps its GEMM (overlap.tp_comm): as many as Transformer Engine reduces in
/// behind a product (num_splits of its method "pipeline"). What goes round a ring is in as many pieces as there are ranks, for
/// which these stand: CostModel::collectiveNs.
inline constexpr std::int64_t kTensorOverlapPieces = 4;

OpShape gemmShape(const Operator&, KernelPass, std::int64_t m, std::int64_t n, std::int64_t k, int slices = 1);
OpShape memoryShape(const Operator&, KernelPass);
OpShape forwardShape(const Operator&);

bool hasWeights(const Operator&);
bool trainsWeights(const Operator&);

} // namespace sim
