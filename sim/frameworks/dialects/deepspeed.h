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
};
/// What the JSON says, below `prefix`.
DeepSpeedFacts readDeepSpeedJson(Job&, const std::string& prefix);
/// Optimizer states that lie on the host.
void readOffload(Job&, const std::string& prefix);
/// Where it is a file beside, below "ds_config.": its stage with what else it says of a job, or as the file's name has it
/// ("ds_z3_config.json", "zero2.json"). `setting` names the file.
int stageOfDeepSpeedFile(Job&, std::string_view setting, const std::string& file);
void harmlessOfDeepSpeed(Reading&);

/// Flags of trainers that DeepSpeed's launcher starts, under the names of DeepSpeed's JSON; then what they say of GPUs, before
/// the world is settled; then all else of them.
void useTrainerNames(Reading&);
void readTrainerWorld(Job&);
void readTrainer(Job&);

/// GPT-NeoX's table: under the names of Megatron-DeepSpeed, and what it means where it says nothing.
bool isNeox(const Reading&);
void useNeoxNames(Reading&);
void putNeoxDefaults(Job&);

} // namespace sim::frameworks
