// How much is asked of the GPU: for tests of how many launches an operation takes.
#pragma once

#include <cstdint>

namespace live::cuda::emulation {

/// Kernels, products, copies and clears so far, in this process.
std::uint64_t launchCount();
void countLaunch();

} // namespace live::cuda::emulation
