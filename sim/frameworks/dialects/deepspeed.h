// What DeepSpeed's JSON says beside another framework's settings.
#pragma once

#include "sim/frameworks/job.h"

#include <optional>
#include <string>

namespace sim::frameworks {

/// Stage, overlap, precision; micro-batch and accumulation are left to who asks.
struct DeepSpeedFacts {
    int stage = 0;
    std::optional<bool> overlap{};
    std::string precision{};
    std::string gradient{}; ///< bf16 or fp32, that gradients are added up in; empty: not given
};
/// What the JSON says, below `prefix`.
DeepSpeedFacts readDeepSpeedJson(Job&, const std::string& prefix);
/// What gradients are added up in: by default the model's own format (runtime/engine.py, get_data_types). After the precision.
void putGradientsOfDeepSpeed(Job&, const DeepSpeedFacts&, const std::string& prefix);
/// How its transfers are hidden: gradients' where overlap_comm says so, by default at stage 3 alone.
void putOverlapOfDeepSpeed(Job&, const DeepSpeedFacts&, const std::string& prefix);
/// Optimizer states that lie on the host.
void readOffload(Job&, const std::string& prefix, int stage);
/// Where it is a file beside, below "ds_config.": what it says, or the stage alone as the file's name has it
/// ("ds_z3_config.json", "zero2.json"). `setting` names the file.
DeepSpeedFacts factsOfDeepSpeedFile(Job&, std::string_view setting, const std::string& file);
/// BF16_Optimizer, which shards its states as ZeRO 1 does, is what stage 0 takes for bf16 where a PipelineModule is trained, and
/// nowhere else (runtime/engine.py, _do_optimizer_sanity_check).
bool isShardedByBf16(int stage, std::string_view precision, bool hasPipelineModule);
void harmlessOfDeepSpeed(Reading&);

/// Flags of trainers that DeepSpeed's launcher starts, under the names of DeepSpeed's JSON; then what they say of GPUs, before
/// the world is settled; then all else of them.
void useTrainerNames(Reading&);
/// The setting that only Transformers' Trainer or Accelerate understands: "auto" in DeepSpeed's file, that file beside the
/// Trainer's own names; empty: there is none.
std::string_view settingOfTransformers(const Reading&);
void readTrainerWorld(Job&);
void readTrainer(Job&);

/// Pai-Megatron-Patch's scripts whose models are Transformers', under its Trainer.
bool isPaiOfTransformers(const Reading&);
/// OpenRLHF's programs, whose flags have blocks since 2026: under the names of the flags before; then what is its own of them.
bool isOpenRlhf(const Reading&);
void useOpenRlhfNames(Reading&);
void readOpenRlhf(Job&);

/// GPT-NeoX's table: under the names of Megatron-DeepSpeed, and what it means where it says nothing.
bool isNeox(const Reading&);
void useNeoxNames(Reading&);
void putNeoxDefaults(Job&);

} // namespace sim::frameworks
