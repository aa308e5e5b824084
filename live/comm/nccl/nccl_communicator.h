// Ranks in processes of one GPU each, by NCCL. Sums are NCCL's: in an order of its own, the same from run to run on the same
// machines but not that of members.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/store.h"

#include <memory>

namespace live::cuda {

std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool&, Store&, int gpu);

} // namespace live::cuda
