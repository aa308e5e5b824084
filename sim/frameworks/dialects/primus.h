// Primus' experiments (AMD-AGI/Primus at 077c0ff0): YAML that names a framework, its trainer's file and a model's file, and
// overrides what these two set.
#pragma once

#include "sim/frameworks/job.h"

#include <optional>
#include <string>

namespace sim::frameworks {

/// "modules.pre_trainer.overrides.training.seq_len" is asked for as "training.seq_len", what stands around it as "@primus.…".
/// False, and nothing is changed, where it is none of Primus' experiments.
bool openPrimus(Reading&);
/// The model's file without its ending; nothing where it is none of Primus' experiments.
std::optional<std::string> modelOfPrimus(const Reading&);

/// Of Megatron's arguments, what its trainer's file gives: pre_trainer.yaml, sft_trainer.yaml. After names are Megatron's.
MegatronRules rulesOfPrimus(const Reading&, MegatronRules);
/// Words of its own beside Megatron's. After readMegatronArguments.
void readPrimusOverMegatron(Job&);

} // namespace sim::frameworks
