// The file's words for enumerations, in one place for reading and writing.
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/text/spoken_name.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace sim {

template <typename Enum, std::size_t N>
using Words = std::array<std::pair<std::string_view, Enum>, N>;

inline constexpr Words<Precision, 7> kPrecisionWords{{{"fp32", Precision::fp32},
                                                      {"tf32", Precision::tf32},
                                                      {"bf16", Precision::bf16},
                                                      {"fp16", Precision::fp16},
                                                      {"fp8", Precision::fp8},
                                                      {"mxfp8", Precision::mxfp8},
                                                      {"nvfp4", Precision::nvfp4}}};
inline constexpr Words<HiddenActivation, 3> kActivationWords{
    {{"gelu", HiddenActivation::gelu}, {"silu", HiddenActivation::silu}, {"relu2", HiddenActivation::relu2}}};
inline constexpr Words<Normalization, 2> kNormalizationWords{
    {{"layernorm", Normalization::layernorm}, {"rmsnorm", Normalization::rmsnorm}}};
inline constexpr Words<PositionEmbedding, 3> kPositionWords{
    {{"learned", PositionEmbedding::learned}, {"rope", PositionEmbedding::rope}, {"none", PositionEmbedding::none}}};
inline constexpr Words<ScoringFunction, 2> kScoringWords{
    {{"softmax", ScoringFunction::softmax}, {"sigmoid", ScoringFunction::sigmoid}}};
inline constexpr Words<RopeScalingKind, 4> kRopeScalingWords{{{"default", RopeScalingKind::none},
                                                              {"linear", RopeScalingKind::linear},
                                                              {"llama3", RopeScalingKind::llama3},
                                                              {"yarn", RopeScalingKind::yarn}}};
inline constexpr Words<LayerType, 3> kLayerTypeWords{
    {{"full_attention", LayerType::full}, {"sliding_attention", LayerType::sliding}, {"chunked_attention", LayerType::chunked}}};
inline constexpr Words<Recompute, 3> kRecomputeWords{
    {{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}}};
inline constexpr Words<RecomputeModule, kRecomputeModules.size()> kRecomputeModuleWords{
    {{"core_attn", RecomputeModule::coreAttention},
     {"moe_act", RecomputeModule::moeActivation},
     {"layernorm", RecomputeModule::layernorm},
     {"mla_up_proj", RecomputeModule::mlaUpProjection},
     {"mlp", RecomputeModule::mlp},
     {"moe", RecomputeModule::moe},
     {"shared_experts", RecomputeModule::sharedExperts},
     {"operators", RecomputeModule::operators}}};
inline constexpr Words<LoraBase, 3> kLoraBaseWords{{{"bf16", LoraBase::wide}, {"fp8", LoraBase::fp8}, {"nf4", LoraBase::nf4}}};
inline constexpr Words<LoraTarget, 7> kLoraTargetWords{{{"q_proj", LoraTarget::query},
                                                        {"k_proj", LoraTarget::key},
                                                        {"v_proj", LoraTarget::value},
                                                        {"o_proj", LoraTarget::output},
                                                        {"gate_proj", LoraTarget::gate},
                                                        {"up_proj", LoraTarget::up},
                                                        {"down_proj", LoraTarget::down}}};
inline constexpr Words<Optimizer, 2> kOptimizerWords{{{"adamw", Optimizer::adamw}, {"sgd", Optimizer::sgd}}};
inline constexpr Words<AttentionKernel, kAttentionKernelCount> kAttentionWords{{{"auto", AttentionKernel::automatic},
                                                                                {"unfused", AttentionKernel::unfused},
                                                                                {"triton", AttentionKernel::triton},
                                                                                {"flash2", AttentionKernel::flash2},
                                                                                {"flash3", AttentionKernel::flash3},
                                                                                {"cudnn", AttentionKernel::cudnn}}};
/// cuDNN's attention in 8 bits, beside the words above where rates of kernels are said.
inline constexpr Words<NarrowScaling, kNarrowScalingCount> kNarrowAttentionWords{
    {{"cudnn_fp8", NarrowScaling::tensor}, {"cudnn_mxfp8", NarrowScaling::block}}};
inline constexpr Words<CudaGraphs, 3> kCudaGraphsWords{
    {{"none", CudaGraphs::none}, {"attention", CudaGraphs::attention}, {"step", CudaGraphs::step}}};
inline constexpr Words<PerturbationKind, 4> kPerturbationWords{{{"slow_gpu", PerturbationKind::slowGpu},
                                                                {"slow_link", PerturbationKind::slowLink},
                                                                {"jitter", PerturbationKind::jitter},
                                                                {"failure", PerturbationKind::failure}}};

/// `fallback` for a word the schema has refused already.
template <typename Enum, std::size_t N>
constexpr Enum fromWord(const Words<Enum, N>& words, std::string_view word, Enum fallback)
{
    for (const auto& [text, value] : words)
        if (text == word)
            return value;
    return fallback;
}

template <typename Enum, std::size_t N>
constexpr std::string_view toWord(const Words<Enum, N>& words, Enum value)
{
    for (const auto& [text, candidate] : words)
        if (candidate == value)
            return text;
    return words[0].first;
}

/// "q_proj, v_proj"
inline std::string wordsOf(const Lora& lora)
{
    std::string text;
    for (const auto& [word, target] : kLoraTargetWords)
        if (lora.has(target))
            text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

/// "core_attn, layernorm"
inline std::string wordsOf(RecomputeModules modules)
{
    std::string text;
    for (const auto& [word, module] : kRecomputeModuleWords)
        if (modules.has(module))
            text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}
/// "core attention, norms"
inline std::string spokenModules(RecomputeModules modules)
{
    std::string text;
    for (const auto& [word, module] : kRecomputeModuleWords)
        if (modules.has(module))
            text += (text.empty() ? "" : ", ") + spokenModule(word);
    return text;
}

} // namespace sim
