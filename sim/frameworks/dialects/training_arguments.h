// Arguments of Transformers' Trainer, for all that is built on it: TRL, ms-swift, LLaMA-Factory, scripts of people's own. With
// DeepSpeed's file below "ds_config." and Accelerate's below "accelerate.".
#pragma once

#include "sim/frameworks/dialects/accelerate.h"

#include <optional>
#include <string>

namespace sim::frameworks {

/// What counts where a job says nothing; Transformers' own.
struct TrainerDefaults {
    int microBatch = 8;
    std::string precision = "fp32";
    bool recomputes = false;
};

/// Options of what starts the processes (torchrun, accelerate) under the names of Accelerate's file, and the GPUs and axes that
/// they or that file say; then the world is settled.
AccelerateAxes readTrainersWorld(Job&);
/// bf16 and fp16, of the Trainer or else of DeepSpeed's file or Accelerate's.
void readTrainersPrecision(Job&, const TrainerDefaults&);
/// DeepSpeed's file, FSDP by the Trainer's own words or Accelerate's; nothing where none of them is given.
std::optional<Sharding> readTrainersSharding(Job&);
/// Plain replicas, which a note tells; of a file alone, which a command names, how states are shared is asked for.
Sharding wholeReplicas(Job&);
/// layout.zero_stage and its group, what overlaps, what gradients are added up in. After the precision.
void putSharding(Job&, const Sharding&, const AccelerateAxes&);
/// Weights that are loaded in 16 bits are updated as they are, unless DeepSpeed or FSDP makes a copy of them in single precision.
/// `setting` says what they are loaded in. After training.lora and the precision.
void putWeightsAsLoaded(Job&, const Sharding&, const std::string& setting);
/// Micro-batch and accumulation, in examples.
void readTrainersBatch(Job&, const TrainerDefaults&);
/// training.recompute, by the Trainer's word or FSDP's.
void readTrainersRecompute(Job&, const TrainerDefaults&);
/// training.optimizer, and the loss in chunks that Liger's kernels have.
void readTrainersKernels(Job&);
/// training.stack, unless a compiler makes it another's.
void putStackOfTrainer(Job&, const Sharding&, const std::string& setting);
/// The rest of the Trainer's arguments, and of the files beside: those that no key says, and those of no effect on a step.
void harmlessOfTrainer(Reading&);

/// `setting` names a file that the program reads its settings from: that it is given beside, or is to be.
void tellSettingsFile(Job&, std::string_view setting);

/// training.lora under a trainer's names.
struct LoraNames {
    std::string rank, targets, dropout;
    int rankUnlessGiven = 8;
    std::string targetsUnlessGiven; ///< separated by commas
    double dropoutUnlessGiven = 0;
};
void readLora(Job&, const LoraNames&);
/// load_in_4bit and load_in_8bit of bitsandbytes. After training.lora.
void readQuantisedBase(Job&);

} // namespace sim::frameworks
