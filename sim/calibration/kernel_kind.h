// What a kernel of somebody else's library computes, from its name.
#pragma once

#include "sim/program/program.h"

#include <cstdint>
#include <string_view>

namespace sim {

enum class KernelGroup : std::uint8_t { products, attentionForward, attentionBackward, optimizer, other };
inline constexpr int kKernelGroupCount = 5;
const char* kernelGroupName(KernelGroup); ///< "matrix products"

/// Of cuBLAS, CUTLASS, Triton, FlashAttention, cuDNN, ROCm and PyTorch's own.
KernelGroup kernelGroupOfName(std::string_view name);
KernelGroup kernelGroupOf(const OpShape&);

} // namespace sim
