// What a GPU has for NCCL's streams and kernels, which must all be able to run at once.
#pragma once

#include <cstddef>

namespace live::cuda {

/// Throws sim::Error where so many streams could wait for each other in the GPU's hardware queues, or in as many of them as
/// CUDA_DEVICE_MAX_CONNECTIONS leaves (CUDA reads it when it starts: kernels/modules.h sets it). That the GPU has enough of them
/// the run has found out before (runtime/stream_need.h), with what would be enough.
void checkHardwareQueues(std::size_t streams, std::size_t ranks);
/// Processors of each kernel of each communicator, so that those of all groups have their processors at once and something is
/// left for other kernels: one that waits for a processor while its peers' run would hold them up, and what those hold up may be
/// what it waits for.
int blocksEach(int processors, std::size_t groups);

} // namespace live::cuda
