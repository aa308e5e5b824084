// Which year's Megatron runs a script: by flags that came or went with a release (megatron/training/arguments.py and CHANGELOG.md
// of NVIDIA/Megatron-LM; facts on names that changed).
#include "sim/frameworks/dialects/megatron_software.h"

#include "sim/frameworks/dialects/megatron_trainers.h"
#include "sim/frameworks/stacks.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

/// Whether a setting is there and not switched off.
bool isOn(const Reading& reading, std::string_view name)
{
    const Json* const given = reading.peek(name);
    return given != nullptr && *given != Json(false) && *given != Json(0) && *given != Json(1) && *given != Json("none");
}

bool isSwitch(const Reading& reading, std::string_view name)
{
    const Json* const given = reading.peek(name);
    return given != nullptr && *given != Json(false);
}

template <std::size_t N>
std::string_view firstOf(const Reading& reading, const std::array<std::string_view, N>& names)
{
    const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) { return isSwitch(reading, name); });
    return found == names.end() ? std::string_view() : *found;
}

/// Megatron-Core 0.13 of mid-2025 and later.
constexpr std::array<std::string_view, 8> kSince2025 = {"pipeline_model_parallel_layout",
                                                        "overlap_moe_expert_parallel_comm",
                                                        "moe_router_fusion",
                                                        "delay_wgrad_compute",
                                                        "cuda_graph_impl",
                                                        "fp4_format",
                                                        "fine_grained_activation_offloading",
                                                        "moe_flex_dispatcher_backend"};
/// Layers of Megatron-Core, which are Transformer Engine's unless told.
constexpr std::array<std::string_view, 7> kOfCore = {"use_mcore_models", "moe_grouped_gemm", "moe_token_dispatcher_type",
                                                     "tp_comm_overlap",  "fp8_format",       "attention_backend",
                                                     "ckpt_format"};
/// Flags that version 3.0 of May 2022 had no more.
constexpr std::array<std::string_view, 4> kUntil2021 = {"--checkpoint-activations", "--activations-checkpoint-method",
                                                        "--activations-checkpoint-num-layers",
                                                        "--distribute-checkpointed-activations"};

} // namespace

void putSoftwareOfMegatron(Job& job)
{
    Reading& reading = job.reading;
    const Json* const given = reading.peek("transformer_impl");
    const std::string layers = given == nullptr ? "" : shownValue(*given);
    const bool isLegacy = isSwitch(reading, "use_legacy_models");
    if (const std::string_view name = firstOf(reading, kSince2025); !name.empty() && !isLegacy && layers != "local")
        return putSoftware(job, stacks::kMegatron2025,
                           reading.spelled(name) + " came with Megatron-Core 0.13 in 2025: layers of Transformer Engine 2");
    if (isOfTrainerOnCore(reading))
        return putSoftware(job, stacks::kMegatron2025, "this trainer is on Megatron-Core of 2025 and later");
    for (const char* name : {"recompute_granularity", "recompute_method", "recompute_num_layers", "distribute_saved_activations"})
        if (reading.has(name) && std::find(kUntil2021.begin(), kUntil2021.end(), reading.spelled(name)) != kUntil2021.end())
            return putSoftware(job, stacks::kMegatron2021,
                               reading.spelled(name) + " went with version 3.0 in 2022: Megatron's own layers of before");
    if (reading.has("DDP_impl") && (reading.has("recompute_granularity") || isSwitch(reading, "sequence_parallel")))
        return putSoftware(
            job, stacks::kMegatron2022,
            reading.spelled("DDP_impl") + " beside " +
                reading.spelled(reading.has("recompute_granularity") ? "recompute_granularity" : "sequence_parallel") +
                ": version 3.0 of 2022");
    const std::string_view ofCore = isOn(reading, "context_parallel_size") ? "context_parallel_size" : firstOf(reading, kOfCore);
    if ((layers == "transformer_engine" || !ofCore.empty()) && !isLegacy && layers != "local")
        return putSoftware(job, stacks::kMegatron2024,
                           reading.spelled(layers == "transformer_engine" ? "transformer_impl" : ofCore) +
                               ": layers of Megatron-Core and Transformer Engine, of 2024 unless a flag says more: --set "
                               "training.stack=megatron-te-2025 for Megatron-Core 0.13 and later");
    const std::string why = isLegacy ? reading.spelled("use_legacy_models") + ": Megatron's own layers, of which the "
                                                                              "catalogue has those of 2021 and 2022"
                            : layers == "local"
                                ? "--transformer-impl local: layers without Transformer Engine, which the catalogue "
                                  "has of 2021 and 2022 alone"
                                : "no flag says which year's Megatron runs it";
    reading.byDefault("software", stacks::kMegatron2024, "/training/stack",
                      why +
                          ": left open, so that the catalogue's default stands in its place; --set training.stack=megatron-2021, "
                          "megatron-2022 or megatron-te-2025 says another");
}

} // namespace sim::frameworks
