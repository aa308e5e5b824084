// What is asked of the imaginary GPU: for tests of how many launches an operation takes, and whether it waits; and what it has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace live::cuda::emulation {

/// Kernels, products, copies and clears so far, in this process.
std::uint64_t launchCount();
void countLaunch();
/// Calls so far that put some of them on a stream: one for all of a graph's.
std::uint64_t callCount();
/// Calls so far that wait for a stream or, as releasing memory does, for the whole GPU.
std::uint64_t waitCount();
/// What a block of the imaginary GPU may have of shared memory: launches that ask for more are refused.
std::size_t sharedBytesOfBlock();
void setSharedBytesOfBlock(std::size_t);

} // namespace live::cuda::emulation
