// Names of NeMo's and Megatron-Bridge's settings, which are Megatron Core's in blocks.
#pragma once

#include "sim/frameworks/reading.h"

#include <string>
#include <string_view>

namespace sim::frameworks {

/// Names of all blocks without the block, where Megatron Core has one name for them.
void dropBlocks(Reading&);
/// "model.tensor_model_parallel_size" of "tensor_model_parallel_size".
std::string spelledInModel(std::string_view name);
/// NeMo's and Megatron-Bridge's fine-tuning on sequences that are packed beforehand: packed_sequence, or of a size above 0.
void tellPackedSequence(Reading&);

} // namespace sim::frameworks
