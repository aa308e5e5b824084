// Sums in the order of members, straight into all outputs; the same bits however the work is cut. Private to the communicators.
#pragma once

#include "live/comm/communicator.h"

#include <span>

namespace live {

/// outputs[..][i] = inputs[0][i] + inputs[1][i] + … (or the maximum), for `count` elements. An output may be one of the inputs.
/// Large ones are shared with the pool's idle workers. Throws sim::Error for bf16, which has no sums on the CPU.
void reduceInOrder(WorkerPool&, DType, ReduceOp, std::int64_t count, std::span<const void* const> inputs,
                   std::span<void* const> outputs);

/// memcpy shared with idle workers. Does nothing if both are the same place.
void copyBytes(WorkerPool&, const void* from, void* to, std::int64_t bytes);

} // namespace live
