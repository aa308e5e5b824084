#include "live/emulated/emulated_run.h"

#include "live/comm/cuda/local_gpu_communicator.h"
#include "live/comm/nccl/nccl_communicator.h"
#include "live/comm/processes.h"
#include "live/emulated/emulated_device.h"
#include "live/emulated/local_store.h"
#include "live/kernels/modules.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace live::emulated {
namespace {

/// One process of the run.
TrainedSteps trainProcess(const sim::Scenario& scenario, const EmulationOptions& options, const TrainOptions& train,
                          Machine& machine, int gpu, Store* store, const std::vector<int>& processOf)
{
    WorkerPool pool(1);
    const auto device = makeEmulatedDevice(gpu, activationType(scenario));
    const std::unique_ptr<Communicator> communicator = options.makeCommunicator
                                                           ? options.makeCommunicator(pool, store, gpu)
                                                           : makeCommunicatorOnMachine(pool, store, gpu, processOf);
    pollOnMachine(pool, machine, *communicator);
    try {
        return trainSteps(scenario, train, pool, *device, *communicator);
    } catch (const std::exception& error) {
        communicator->abort(error.what()); // the others would wait
        throw;
    }
}

} // namespace

std::string placementName(const EmulationOptions& options)
{
    switch (options.placement) {
    case Placement::oneGpu:
        return "all ranks on one GPU";
    case Placement::gpuARank:
        return "a GPU a rank, NCCL between them";
    case Placement::someGpus:
        break;
    }
    return "the ranks on " + std::to_string(options.gpus) + " GPUs, NCCL between them";
}

std::unique_ptr<Communicator> makeCommunicatorOnMachine(WorkerPool& pool, Store* store, int gpu, std::vector<int> processOf)
{
    return store ? cuda::makeNcclCommunicator(pool, *store, gpu, std::move(processOf)) : cuda::makeLocalGpuCommunicator(pool);
}

void pollOnMachine(WorkerPool& pool, Machine& machine, Communicator& communicator)
{
    // While ranks have something to do nobody polls: how often would depend on the time it takes, and with it the order.
    pool.setPoller(
        [&] {
            if (communicator.poll())
                return true;
            try {
                machine.idle("waits for its ranks' requests");
            } catch (const sim::Error& error) {
                communicator.abort(error.what());
            }
            return true;
        },
        false);
}

int gpusOf(const EmulationOptions& options, int world)
{
    return options.placement == Placement::oneGpu     ? 1
           : options.placement == Placement::gpuARank ? world
                                                      : std::min(world, options.gpus);
}

TrainedSteps trainOnMachine(const sim::Scenario& scenario, const EmulationOptions& options)
{
    if (options.placement == Placement::oneGpu)
        prepareForGpus();
    else
        prepareForPeers();
    const int world = scenario.layout.worldSize(), processes = gpusOf(options, world);
    MachineOptions machineOptions = options.machine;
    machineOptions.gpus = processes;
    machineOptions.loadsLate = loadsKernelsLate();
    Machine machine(machineOptions);
    const auto failIfFailed = [&] {
        if (const std::string why = machine.failure(); !why.empty())
            throw sim::Error(why);
    };
    TrainedSteps trained;
    try {
        if (options.placement == Placement::oneGpu) {
            trained = trainProcess(scenario, options, options.train, machine, 0, nullptr, {});
        } else {
            const auto stores = makeLocalStores(machine, processes);
            const std::vector<int> processOf = processesOfRanks(processes, world);
            std::vector<std::string> names;
            for (int process = 0; process < processes; ++process)
                names.push_back((processes == world ? "rank " : "process ") + std::to_string(process));
            std::vector<TrainedSteps> parts(stores.size());
            machine.runHosts(names, [&](int process) {
                TrainOptions mine = options.train;
                const RankRange range = ranksOf(process, processes, world);
                mine.firstRank = range.first;
                mine.rankCount = range.count;
                const auto place = static_cast<std::size_t>(process);
                parts[place] = trainProcess(scenario, options, mine, machine, process, stores[place].get(), processOf);
            });
            trained = std::move(parts.front());
            for (std::size_t i = 1; i < parts.size(); ++i)
                trained.addPart(parts[i]);
        }
        machine.finish();
    } catch (const sim::Error&) {
        failIfFailed(); // says it better than what came of it
        throw;
    }
    failIfFailed();
    return trained;
}

} // namespace live::emulated
