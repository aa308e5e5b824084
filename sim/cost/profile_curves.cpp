#include "sim/cost/profile_curves.h"

#include "sim/scenario/words.h"

namespace sim {

std::string kernelCurveName(KernelFamily family, KernelPass pass, const Scenario& scenario)
{
    const Model& model = scenario.model;
    const auto linear = [pass](const std::string& name) {
        constexpr const char* kPasses[kKernelPassCount] = {".forward", ".input_gradient", ".weight_gradient"};
        return name + kPasses[static_cast<std::size_t>(pass)];
    };
    const auto plain = [pass](const std::string& name) {
        if (pass == KernelPass::weightGradient)
            return std::string();
        return name + (pass == KernelPass::forward ? ".forward" : ".backward");
    };
    switch (family) {
    case KernelFamily::other:
        return {};
    case KernelFamily::gemm:
        return linear("gemm");
    case KernelFamily::groupedGemm:
        return linear("grouped_gemm");
    case KernelFamily::attention:
        return plain("attention");
    case KernelFamily::norm:
        return plain(std::string(toWord(kNormalizationWords, model.normalization)));
    case KernelFamily::activation:
        return plain((model.gatedMlp ? "gated_" : "") + std::string(toWord(kActivationWords, model.hiddenAct)));
    case KernelFamily::residual:
        return plain("residual");
    case KernelFamily::rope:
        return plain("rope");
    case KernelFamily::embedding:
        return plain("embedding");
    case KernelFamily::loss:
        return plain("loss");
    case KernelFamily::permute:
        return plain("permute");
    case KernelFamily::unpermute:
        return plain("unpermute");
    case KernelFamily::optimizer:
        return pass == KernelPass::forward ? std::string(toWord(kOptimizerWords, scenario.training.optimizer)) : std::string();
    }
    return {};
}

const char* transferCurveName(CollectiveKind kind)
{
    constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "ring_shift"};
    return kNames[static_cast<std::size_t>(kind)];
}

} // namespace sim
