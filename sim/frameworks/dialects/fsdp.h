// PyTorch's FSDP in the words of Accelerate, which axolotl and LLaMA-Factory share.
#pragma once

#include "sim/frameworks/job.h"

#include <optional>
#include <string>

namespace sim::frameworks {

/// In small letters.
std::string smallWord(std::string);

struct FsdpFacts {
    int stage = 0;
    bool isHybrid = false; ///< groups of one node
};
/// Version 1: fsdp_sharding_strategy as a word or a number; version 2: whether parameters are dropped after the forward pass.
FsdpFacts readFsdp(Reading&, const std::string& prefix);
void putOverlapOfFsdp(Job&, bool isSharded);
/// Stage and group of shards. After settleWorld.
void putShardGroup(Job&, const FsdpFacts&, std::optional<int> shard, int replicate);
/// Targets of adapters, of those that a scenario has; empty where none is.
Json loraTargets(const Json& given);

} // namespace sim::frameworks
