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
/// Transformers' models as its Trainer and Accelerate run them, module by module; with stage 3 of DeepSpeed's ZeRO.
inline constexpr std::string_view kTransformers = "huggingface", kTransformersZero3 = "deepspeed-2023";

} // namespace sim::stacks
