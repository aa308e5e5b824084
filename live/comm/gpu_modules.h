// Communicators that live in modules: ranks of one process that share a GPU (or GPUs that reach each other's memory), and NCCL
// between processes of one GPU each. NCCL's is a module of its own, so that CUDA works where NCCL is missing and the system's
// loader, not a table of function pointers, says which library it lacks.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/store.h"
#include "live/kernels/modules.h"

#include <memory>
#include <string>
#include <vector>

namespace live {

/// rankscope_live_cuda: extern "C" const GpuCommModule* rankscopeGpuCommModule().
struct GpuCommModule {
    ModuleHeader header;
    std::unique_ptr<Communicator> (*makeLocal)(WorkerPool&) = nullptr;
};

/// rankscope_live_nccl: extern "C" const NcclModule* rankscopeNcclModule().
struct NcclModule {
    ModuleHeader header;
    std::unique_ptr<Communicator> (*make)(WorkerPool&, Store&, int gpu, std::vector<int> processOf) = nullptr;
};

/// All ranks in this process, on one GPU or on several that reach each other's memory. Requests carry a queue of the CUDA device.
std::unique_ptr<Communicator> makeLocalGpuCommunicator(WorkerPool&);
/// One GPU in each process of the store, for the ranks that it holds; processOf: of each rank. The store must outlive it.
std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool&, Store&, int gpu, std::vector<int> processOf);
/// Why NCCL cannot be had; "" where it can.
std::string ncclProblem();

} // namespace live
