#include "live/emulated/emulated_run.h"

#include "live/comm/cuda/local_gpu_communicator.h"
#include "live/comm/nccl/nccl_communicator.h"
#include "live/emulated/emulated_device.h"
#include "live/emulated/local_store.h"
#include "live/kernels/modules.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"

#include <vector>

namespace live::emulated {
namespace {

DType typeOf(const sim::Scenario& scenario)
{
    return scenario.live.dtype == "fp64" ? DType::f64 : scenario.live.dtype == "bf16" ? DType::bf16 : DType::f32;
}

/// One process of the run.
TrainedSteps trainProcess(const sim::Scenario& scenario, const EmulationOptions& options, const TrainOptions& train,
                          Machine& machine, int gpu, Store* store)
{
    WorkerPool pool(1);
    const auto device = makeEmulatedDevice(gpu, typeOf(scenario));
    const std::unique_ptr<Communicator> communicator =
        options.makeCommunicator ? options.makeCommunicator(pool, store, gpu) : makeCommunicatorOnMachine(pool, store, gpu);
    pollOnMachine(pool, machine, *communicator);
    try {
        return trainSteps(scenario, train, pool, *device, *communicator);
    } catch (const std::exception& error) {
        communicator->abort(error.what()); // the others would wait
        throw;
    }
}

} // namespace

const char* placementName(Placement placement)
{
    return placement == Placement::oneGpu ? "all ranks on one GPU" : "a GPU a rank, NCCL between them";
}

std::unique_ptr<Communicator> makeCommunicatorOnMachine(WorkerPool& pool, Store* store, int gpu)
{
    return store ? cuda::makeNcclCommunicator(pool, *store, gpu) : cuda::makeLocalGpuCommunicator(pool);
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

TrainedSteps trainOnMachine(const sim::Scenario& scenario, const EmulationOptions& options)
{
    prepareForGpus();
    const int world = scenario.layout.worldSize();
    const int processes = options.placement == Placement::oneGpu ? 1 : world;
    MachineOptions machineOptions = options.machine;
    machineOptions.gpus = processes;
    Machine machine(machineOptions);
    const auto failIfFailed = [&] {
        if (const std::string why = machine.failure(); !why.empty())
            throw sim::Error(why);
    };
    TrainedSteps trained;
    try {
        if (options.placement == Placement::oneGpu) {
            trained = trainProcess(scenario, options, options.train, machine, 0, nullptr);
        } else {
            const auto stores = makeLocalStores(machine, world);
            std::vector<std::string> names;
            for (int rank = 0; rank < world; ++rank)
                names.push_back("rank " + std::to_string(rank));
            std::vector<TrainedSteps> parts(stores.size());
            machine.runHosts(names, [&](int rank) {
                TrainOptions mine = options.train;
                mine.firstRank = rank;
                mine.rankCount = 1;
                const auto place = static_cast<std::size_t>(rank);
                parts[place] = trainProcess(scenario, options, mine, machine, rank, stores[place].get());
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
