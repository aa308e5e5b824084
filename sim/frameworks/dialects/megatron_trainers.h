// Trainers that run Megatron's with defaults of their own: ms-swift's "megatron sft" and slime.
#pragma once

#include "sim/frameworks/job.h"

namespace sim::frameworks {

/// Whether it is one of them.
bool isOfTrainerOnCore(const Reading&);
/// What their own defaults change, and of slime the GPUs that train. Of other jobs the rules as they are.
MegatronRules rulesOfTrainer(Job&, MegatronRules);
/// Adapters, and notes on what only such a trainer has. After readMegatronArguments.
void readTrainersOwn(Job&);

} // namespace sim::frameworks
