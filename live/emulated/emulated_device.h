// A GPU of the current machine (machine.h) as a Device: kernels are the CPU's, all else is what runs on GPUs.
#pragma once

#include "live/kernels/device.h"

#include <memory>

namespace live::emulated {

/// type: fp32 or fp64, of activations and sums alike. The machine must outlive it.
std::unique_ptr<Device> makeEmulatedDevice(int gpu, DType type);

} // namespace live::emulated
