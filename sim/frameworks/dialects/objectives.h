// What a fine-tuning job optimises, and what of that is no pass of the trained model: preference training and reinforcement.
#pragma once

#include "sim/frameworks/job.h"

#include <string>
#include <string_view>

namespace sim::frameworks {

/// Sequences that the model sees for one example of the batch: two where it compares an answer with another. Other passes than
/// those of the trained model (a reference's, a teacher's, generation) have no key, which a note on the setting tells: it may be
/// one of the file or a name for what follows from it. `word`: "sft", "dpo", "grpo" and the like; "" is as "sft".
int sequencesOfObjective(Job&, std::string_view setting, std::string_view word);
/// Whether the word means a job that writes the sequences it is trained on by itself.
bool isReinforcement(std::string_view word);
/// training.micro_batch_size and global_batch_size counted in sequences: both times as many. After settleBatch.
void countSequences(Job&, int sequencesOfExample);

} // namespace sim::frameworks
