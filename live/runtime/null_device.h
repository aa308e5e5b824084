// A device that computes nothing and has no memory: what is left of a step on it is its communication and its allocations.
#pragma once

#include "live/kernels/device.h"

namespace live {

std::unique_ptr<Device> makeNullDevice(DType activation, DType accumulation);

} // namespace live
