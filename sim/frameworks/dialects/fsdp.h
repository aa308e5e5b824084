// PyTorch's FSDP in the words of Accelerate, which axolotl and LLaMA-Factory share.
#pragma once

#include "sim/frameworks/job.h"

#include <optional>
#include <string>
#include <string_view>

namespace sim::frameworks {

/// In small letters.
std::string smallWord(std::string);

struct FsdpFacts {
    int stage = 0;
    bool isHybrid = false; ///< groups of one node
};
/// Version 1: fsdp_sharding_strategy as a word or a number; version 2: whether parameters are dropped after the forward pass.
FsdpFacts readFsdp(Reading&, const std::string& prefix);
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
/// Targets of adapters, of those that a scenario has; empty where none is.
Json loraTargets(const Json& given);
/// All of them.
Json allLoraTargets();
/// Those of attention where the model has experts, beside which adapters are not simulated: a note on the setting says how many
/// parameters that leaves out. `OneAdapter`: one beside gate and up.
enum class OneAdapter : bool { no, yes };
Json withoutExperts(Job&, const std::string& setting, const Json& targets, int rank, OneAdapter = OneAdapter::no);

} // namespace sim::frameworks
