// The process's one recorder with its file and the thread that writes it, as NCCL's calls come and go.
#pragma once

#include "live/nccl_profiler/event.h"

#include <cstdint>

namespace live::nccl_profiler {

/// What the program asked for with RANKSCOPE_NCCL_PROFILE. No call throws or waits for the disk but the last two.
/// `context` gets what the other calls are to be given; null: nothing is recorded, NCCL goes on without. Returns the types of
/// events that are wanted, the same for all communicators: NCCL keeps one mask a process.
int openCommunicator(void** context, std::uint64_t hash, const char* name, int nodes, int ranks, int rank, int interfaceVersion,
                     abi::Logger) noexcept;
void startEvent(void* context, void** handle, const Event&) noexcept;
void stopEvent(void* handle) noexcept;
void eventState(void* handle, int state, std::uint64_t deviceNs) noexcept;
/// Writes what is left of it. With the last one the file is closed and the thread is gone.
void closeCommunicator(void* context) noexcept;

} // namespace live::nccl_profiler
