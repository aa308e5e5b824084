// Times of kernels by CUPTI, NVIDIA's profiling interface, whose library is loaded when it is asked for.
#pragma once

#include "live/kernels/kernel_log.h"

#include <string>

namespace live::cuda {

/// Starts it; see Device::timeKernels.
KernelTimes* timeKernels(std::string* why);

} // namespace live::cuda
