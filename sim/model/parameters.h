// How many parameters a model has, exactly, unsharded. Counts what Hugging Face's models hold (vocabulary unpadded): without
// prediction modules, which its DeepSeek-V3 leaves in the checkpoint. With them that one has 685 billion instead of 671, since it
// stores embedding and head a second time.
#pragma once

#include "sim/model/tensors.h"

#include <cstdint>

namespace sim {

std::int64_t parameterCount(const Model&);
/// Parameters one token passes through: of the routed experts only those it is sent to.
std::int64_t activeParameterCount(const Model&);
/// Of all prediction modules, embedding and head not counted again.
std::int64_t predictionParameterCount(const Model&);
/// What training changes: with LoRA the adapters alone, which the others above leave out; else all, prediction modules included.
std::int64_t trainableParameterCount(const Model&);
/// Tensors that are trained, biases counted with their matrices.
std::int64_t trainableTensorCount(const Model&);
/// Of one such part.
std::int64_t parameterCount(const Model&, ModelPart);

} // namespace sim
