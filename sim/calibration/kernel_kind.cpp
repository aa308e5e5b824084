#include "sim/calibration/kernel_kind.h"

#include "sim/recovery/kernel_words.h"

#include <algorithm>
#include <array>
#include <string>

namespace sim {

const char* kernelGroupName(KernelGroup group)
{
    constexpr std::array<const char*, kKernelGroupCount> kNames{"matrix products", "attention, forward", "attention, backward",
                                                                "optimizer", "other kernels"};
    return kNames[static_cast<std::size_t>(group)];
}

KernelGroup kernelGroupOfName(std::string_view name)
{
    const std::string text = loweredName(name);
    const auto has = [&text](std::initializer_list<std::string_view> words) {
        return std::any_of(words.begin(), words.end(),
                           [&](std::string_view word) { return text.find(word) != std::string::npos; });
    };
    if (namesFusedAttention(text))
        return namesGradient(text) ? KernelGroup::attentionBackward : KernelGroup::attentionForward;
    if (namesProduct(text))
        return KernelGroup::products;
    const bool isLamb = has({"lamb"}) && !has({"lambda"}); // PyTorch's elementwise kernels carry the lambda that they apply
    if (namesOptimizer(text) || isLamb || has({"sgd", "multi_tensor", "multitensor"}))
        return KernelGroup::optimizer;
    return KernelGroup::other;
}

KernelGroup kernelGroupOf(const OpShape& shape)
{
    if (shape.family == KernelFamily::optimizer)
        return KernelGroup::optimizer;
    switch (shape.kernel) {
    case KernelKind::gemm:
    case KernelKind::groupedGemm:
        return KernelGroup::products;
    case KernelKind::attentionForward:
        return KernelGroup::attentionForward;
    case KernelKind::attentionBackward:
        return KernelGroup::attentionBackward;
    case KernelKind::memoryBound:
        break;
    }
    return KernelGroup::other;
}

} // namespace sim
