// Software of the catalogue (assets/stacks) that settings make certain: importers name it, and plans for a framework keep to it.
// Private to sim/frameworks.
#pragma once

#include <string_view>

namespace sim::stacks {

inline constexpr std::string_view kEager = "pytorch-eager", kCompiledLayers = "pytorch-compiled",
                                  kCompiledWithLoss = "pytorch-compiled-2025";
/// Megatron-DeepSpeed on libraries of 2021 and 2022, and of 2023; GPT-NeoX, whose loss keeps less; what XLA compiles.
inline constexpr std::string_view kMegatronDeepSpeed = "megatron-deepspeed", kMegatronDeepSpeed2023 = "megatron-deepspeed-2023",
                                  kNeox = "pytorch-megatron", kXla = "xla";
/// Megatron by its year: up to 2.5; 3.0; on Transformer Engine 1; on Transformer Engine 2.
inline constexpr std::string_view kMegatron2021 = "megatron-2021", kMegatron2022 = "megatron-2022",
                                  kMegatron2024 = "megatron-te-2024", kMegatron2025 = "megatron-te-2025";
/// Fused norms, MLP and loss without a compiler.
inline constexpr std::string_view kFusedModules = "flash-attn";
/// Transformers' models as its Trainer and Accelerate run them, module by module; with stage 3 of DeepSpeed's ZeRO.
inline constexpr std::string_view kTransformers = "huggingface", kTransformersZero3 = "deepspeed-2023";

} // namespace sim::stacks
