#include "live/comm/gpu_modules.h"

#include "sim/error.h"

#include <utility>

namespace live {
namespace {

template <class Table>
const Table& moduleOf(const char* name, const char* entry, const char* purpose)
{
    std::string why;
    const auto* const table = static_cast<const Table*>(loadModule(name, entry, &why));
    if (!table)
        throw sim::Error(std::string("Communication ") + purpose + " cannot be had: " + why + ".");
    return *table;
}

} // namespace

std::unique_ptr<Communicator> makeLocalGpuCommunicator(WorkerPool& pool)
{
    return moduleOf<GpuCommModule>("rankscope_live_cuda", "rankscopeGpuCommModule", "between ranks on GPUs of this process")
        .makeLocal(pool);
}

std::unique_ptr<Communicator> makeNcclCommunicator(WorkerPool& pool, Store& store, int gpu, std::vector<int> processOf)
{
    return moduleOf<NcclModule>("rankscope_live_nccl", "rankscopeNcclModule", "by NCCL between processes")
        .make(pool, store, gpu, std::move(processOf));
}

std::string ncclProblem()
{
    std::string why;
    return loadModule("rankscope_live_nccl", "rankscopeNcclModule", &why) ? "" : why;
}

} // namespace live
