// What kernels are called tells of what they are for.
#pragma once

#include "sim/recovery/evidence.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// Words of kernels' names in lower case, one table for all that ask. Of a gradient: of cuDNN, cuBLAS, FlashAttention, AOTriton
/// and FlexAttention.
bool namesGradient(std::string_view lowered);
bool namesWeightGradient(std::string_view lowered);
bool namesOptimizer(std::string_view lowered);
/// Attention in one kernel, forwards or backwards.
bool namesFusedAttention(std::string_view lowered);
/// Of cuBLAS, CUTLASS, Triton, ROCm and PyTorch's own.
bool namesProduct(std::string_view lowered);
/// A mixture of experts at work: its router, its tokens on their way, its products.
bool namesExperts(std::string_view lowered);
/// Tables of embeddings that are dealt to ranks, as recommenders have them (TorchRec, FBGEMM).
bool namesTables(std::string_view lowered);
/// In lower case, as these ask for it.
std::string loweredName(std::string_view name);

/// A forward also where a name says nothing of it.
enum class KernelWay : std::uint8_t { forward, gradient, weightGradient, optimizer };

/// By index into RunEvidence::names.
struct KernelWords {
    KernelWords() = default;
    explicit KernelWords(const RunEvidence&);
    bool isBackward(std::uint32_t name) const
    {
        return way[name] == KernelWay::gradient || way[name] == KernelWay::weightGradient;
    }
    std::vector<KernelWay> way;
    std::vector<bool> isAttention;
    std::vector<bool> isLoss; ///< of the last stage's forward
};

} // namespace sim
