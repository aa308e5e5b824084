// Ranks of one process on one GPU, or on GPUs that reach each other's memory (NCCL takes one rank a GPU and process).
#pragma once

#include "live/comm/communicator.h"

#include <memory>

namespace live::cuda {

std::unique_ptr<Communicator> makeLocalGpuCommunicator(WorkerPool&);

} // namespace live::cuda
