// Training on the machine that is not there (machine.h): the runtime, the communicators and what lies under them are those of
// GPUs; the GPUs, their runtime and NCCL are stand-ins. What it shows: in the orders tried nothing hangs, no memory is touched
// that nothing orders, and the numbers are those of the CPU.
#pragma once

#include "live/comm/store.h"
#include "live/emulated/machine.h"
#include "live/runtime/check_serial.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace live::emulated {

/// How ranks are laid on GPUs.
enum class Placement : std::uint8_t {
    oneGpu,   ///< all ranks in one process on one GPU
    gpuARank, ///< a process and a GPU a rank, NCCL between them
    someGpus, ///< a process a GPU, several ranks in each, NCCL between them
};

struct EmulationOptions {
    Placement placement = Placement::oneGpu;
    int gpus = 2;           ///< of someGpus
    MachineOptions machine; ///< how many GPUs is filled in
    TrainOptions train;
    /// Makes a process's communicator in place of ours: for tests. store: null where all ranks are in one process.
    std::function<std::unique_ptr<Communicator>(WorkerPool&, Store*, int gpu)> makeCommunicator;
};
std::string placementName(const EmulationOptions&);
/// That so many ranks are laid on.
int gpusOf(const EmulationOptions&, int world);

/// Trains in the scenario's live.dtype (fp32 or fp64). Throws sim::Error: what the machine found, with the order.
TrainedSteps trainOnMachine(const sim::Scenario&, const EmulationOptions&);

/// Ours. processOf: see makeNcclCommunicator(); none: process = rank.
std::unique_ptr<Communicator> makeCommunicatorOnMachine(WorkerPool&, Store*, int gpu, std::vector<int> processOf = {});

/// For a pool of one worker: polls the communicator, and lets the machine go on where the pool has nothing to do. All must
/// outlive the pool's runs.
void pollOnMachine(WorkerPool&, Machine&, Communicator&);

} // namespace live::emulated
