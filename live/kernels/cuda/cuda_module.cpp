// What the program finds in rankscope_live_cuda.so about devices.
#include "live/kernels/cuda/cuda_device.h"
#include "live/kernels/cuda/runtime.h"
#include "live/kernels/modules.h"

extern "C" __attribute__((visibility("default"))) const live::CudaModule* rankscopeCudaModule()
{
    static constexpr live::CudaModule kModule{
        .header = {}, .gpuCount = live::cuda::gpuCount, .makeDevice = live::cuda::makeCudaDevice};
    return &kModule;
}
