// Software of the catalogue (assets/stacks) that settings make certain: importers name it, and plans for a framework keep to it.
// Private to sim/frameworks.
#pragma once

#include <string_view>

namespace sim::stacks {

inline constexpr std::string_view kEager = "pytorch-eager", kCompiledLayers = "pytorch-compiled",
                                  kCompiledWithLoss = "pytorch-compiled-2025";
/// Transformers' models as its Trainer and Accelerate run them, module by module; with stage 3 of DeepSpeed's ZeRO.
inline constexpr std::string_view kTransformers = "huggingface", kTransformersZero3 = "deepspeed-2023";

} // namespace sim::stacks
