// Ranks spread over the processes of a run, and the communicator between them: MPI where mpirun started them and the module is
// there, our own TCP otherwise.
#pragma once

#include "live/comm/communicator.h"
#include "live/comm/launch.h"
#include "live/comm/store.h"

#include <memory>
#include <vector>

namespace live {

struct RankRange {
    int first = 0, count = 0;
};
/// Neighbouring ranks share a process; the first processes have one more where the numbers do not divide. Throws sim::Error if
/// there are more processes than ranks.
RankRange ranksOf(int process, int processes, int worldSize);
/// [rank] the process that holds it.
std::vector<int> processesOfRanks(int processes, int worldSize);

/// All processes call it with the same world. One process needs no store. The store's abort ends all requests here, and a failed
/// transport aborts the store. name() says what was chosen and why. Set its poll() as the pool's poller.
/// RANKSCOPE_TRANSPORT=tcp or mpi in the environment decides instead; RANKSCOPE_MODULE_PATH is where modules are looked for
/// before the program's own folder.
std::unique_ptr<Communicator> makeProcessCommunicator(WorkerPool&, const LaunchEnvironment&, int worldSize, Store*);

} // namespace live
