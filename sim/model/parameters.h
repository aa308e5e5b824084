// How many parameters a model has, exactly, unsharded. Counts what Hugging Face's checkpoints hold (vocabulary unpadded).
#pragma once

#include "sim/model/tensors.h"

#include <cstdint>

namespace sim {

std::int64_t parameterCount(const Model&);
/// Parameters one token passes through: of the routed experts only those it is sent to.
std::int64_t activeParameterCount(const Model&);
/// Of one such part.
std::int64_t parameterCount(const Model&, ModelPart);

} // namespace sim
