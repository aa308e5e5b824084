#include "sim/cost/profile_curves.h"

#include "sim/scenario/words.h"

namespace sim {

std::string kernelCurveName(KernelFamily family, KernelPass pass, const Scenario& scenario)
{
    const Model& model = scenario.model;
    if (family == KernelFamily::optimizer)
        return pass == KernelPass::forward ? std::string(toWord(kOptimizerWords, scenario.training.optimizer)) : std::string();
    const std::string gate = model.gatedMlp ? "gated_" : "";
    const std::array<std::string, kKernelFamilyCount> names{"",
                                                            "gemm",
                                                            "grouped_gemm",
                                                            "attention",
                                                            std::string(toWord(kNormalizationWords, model.normalization)),
                                                            gate + std::string(toWord(kActivationWords, model.hiddenAct)),
                                                            "residual",
                                                            "ring_merge",
                                                            "rope",
                                                            "embedding",
                                                            "loss",
                                                            "permute",
                                                            "unpermute",
                                                            "", // the optimizer, above
                                                            "",
                                                            ""};
    const bool isLinear = family == KernelFamily::gemm || family == KernelFamily::groupedGemm;
    const std::string& name = names[static_cast<std::size_t>(family)];
    if (name.empty() || (!isLinear && pass == KernelPass::weightGradient))
        return {};
    constexpr const char* kLinear[kKernelPassCount] = {".forward", ".input_gradient", ".weight_gradient"};
    return name + (!isLinear && pass == KernelPass::backward ? ".backward" : kLinear[static_cast<std::size_t>(pass)]);
}

} // namespace sim
