// A GPU as a Device.
#pragma once

#include "live/kernels/cuda/matmul.h"
#include "live/kernels/device.h"

namespace live::cuda {

/// activation: bf16 or fp32.
std::unique_ptr<Device> makeCudaDevice(int gpu, DType activation);

} // namespace live::cuda
