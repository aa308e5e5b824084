// Ranks in processes of one GPU each, by NCCL; a process may hold several. Sums are NCCL's: in an order of its own, the same from
// run to run on the same machines but not that of members.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/store.h"

#include <chrono>
#include <memory>
#include <vector>

namespace live::cuda {

/// processOf: where each rank of the run is.
std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool&, Store&, int gpu, std::vector<int> processOf);
/// setUpWithin: how long a group's communicator may take until all its processes have made it.
std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool&, Store&, int gpu, std::vector<int> processOf,
                                                   std::chrono::milliseconds setUpWithin);

} // namespace live::cuda
