// What the program finds in rankscope_live_cuda.so about communication.
#include "live/comm/cuda/local_gpu_communicator.h"
#include "live/comm/gpu_modules.h"

extern "C" __attribute__((visibility("default"))) const live::GpuCommModule* rankscopeGpuCommModule()
{
    static constexpr live::GpuCommModule kModule{.header = {}, .makeLocal = live::cuda::makeLocalGpuCommunicator};
    return &kModule;
}
