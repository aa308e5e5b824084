// What the program finds in rankscope_live_nccl.so.
#include "live/comm/gpu_modules.h"
#include "live/comm/nccl/nccl_communicator.h"

extern "C" __attribute__((visibility("default"))) const live::NcclModule* rankscopeNcclModule()
{
    static constexpr live::NcclModule kModule{.header = {}, .make = live::cuda::makeNcclCommunicator};
    return &kModule;
}
