// PyTorch's FSDP in the words of Accelerate, which axolotl and LLaMA-Factory share.
#pragma once

#include "sim/frameworks/job.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sim::frameworks {

/// In small letters.
std::string smallWord(std::string);

struct FsdpFacts {
    int stage = 0;
    bool isHybrid = false; ///< groups of one node
};
/// Version 1: fsdp_sharding_strategy as a word or a number; version 2: whether parameters are dropped after the forward pass.
FsdpFacts readFsdp(Reading&, const std::string& prefix);
/// Accelerate's settings of FSDP beside another distributed_type, which its launcher hands to no program (utils/launch.py,
/// prepare_multi_gpu_env): nothing below asks for them then, and they are told as of no effect.
void dropIdleFsdp(Reading&, const std::string& prefix);
/// fsdp_mixed_precision_policy: training.gradient_dtype by what gradients are reduced in. After the precision.
void putMixedPrecisionOfFsdp(Job&, const std::string& prefix);
void putOverlapOfFsdp(Job&, bool isSharded);
/// Stage and group of shards. After settleWorld.
void putShardGroup(Job&, const FsdpFacts&, std::optional<int> shard, int replicate);
/// DeepSpeed's reduce_bucket_size, where stages 2 and 3 join gradients in a buffer of their own. "auto" is the square of the
/// hidden size (transformers, integrations/deepspeed.py), as far as the model is known; what DeepSpeed's file leaves out is its
/// default. After model and stage.
void putReduceBucket(Job&);
/// The same of a file that has the stage but no word for it.
void putDefaultReduceBucket(Job&, std::string_view setting, int stage);
/// training.stack of Transformers' models as its Trainer and Accelerate run them, module by module, which a setting makes
/// certain. `isZero3`: parameters are DeepSpeed's, which then gathers them where they are needed. After what overlaps is known.
void putStackOfTransformers(Job&, std::string_view setting, bool isZero3);
/// The same where nothing but the kind of file speaks for it, without a note.
void putStackOfTransformers(Job&, bool isZero3);
/// A loss that the head's product is a part of, a chunk of tokens at a time, if the setting is on (Liger Kernel). Its chunks have
/// about as many bytes of logits as a micro-batch has of hidden states: some hundred to some thousand tokens.
void putFusedLoss(Job&, std::string_view setting);
/// `OneAdapter`: one beside gate and up.
enum class OneAdapter : bool { no, yes };
/// How target modules are asked for beside their names.
struct LoraAsked {
    int rank = 0;
    bool areAll = false;           ///< all linear layers
    std::string allBy{};           ///< the setting that says so, if it is not that of the names
    bool areExpertsLinear = false; ///< experts that are fused parameters elsewhere are layers, one for each (axolotl's Llama 4)
    OneAdapter oneAdapter = OneAdapter::no;
    bool areParameters = false; ///< PEFT's target_parameters: of experts alone
};
/// Of a list of target modules, in which "experts.gate_projs.[0-9]+$" is one.
std::vector<std::string> moduleNames(const Json& given);
/// "all", "all-linear": not ms-swift's "all-router" and "all-embedding".
bool namesAllLinear(const std::vector<std::string>& modules);
/// What adapters are imported beside, of the names that a setting has: as far as a scenario has these layers and the model no
/// experts there; where none is left, all that it may have stand in their place. What is told on the setting is of the same set,
/// with how many parameters experts leave out. After the model.
Json importedLoraTargets(Job&, const std::string& setting, const std::vector<std::string>& names, const LoraAsked&);
/// PEFT's target_parameters: adapters beside parameters that are no layers, as fused experts are. After training.lora.
void tellTargetParameters(Job&, const std::string& setting);

} // namespace sim::frameworks
