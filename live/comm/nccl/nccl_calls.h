// The little of NCCL that the communicator needs. nccl_calls.cpp hands it on to the library; live/emulated/nccl.cpp makes it the
// emulated machine's. Communicators do not block: calls that need other processes may be in progress when they return.
#pragma once

#include "live/comm/communicator.h"
#include "live/kernels/cuda/runtime.h"

#include <array>
#include <cstddef>
#include <string>

struct ncclComm;

namespace live::nccl {

using Comm = ncclComm*;
using cuda::Stream;

enum class Result : int { success = 0, inProgress = 7 }; ///< others: NCCL's numbers of failures

struct UniqueId {
    std::array<char, 128> bytes{};
};

int version();      ///< of the library that was found: 22809 is 2.28.9
int builtVersion(); ///< that this code was compiled for
std::string errorText(Result);
std::string lastError(Comm);

Result makeUniqueId(UniqueId&);
/// maxBlocks: of each of its kernels; 0: as NCCL likes.
Result initRank(Comm&, const CommGroup&, const UniqueId&, int member, int maxBlocks = 0);
Result finalize(Comm);
Result destroy(Comm);
Result abort(Comm);
/// state: success, in progress, or what failed. Any thread.
Result asyncError(Comm, Result& state);

/// What stands between these is one operation.
Result groupStart();
Result groupEnd();
Result allReduce(const void* input, void* output, std::size_t count, DType, ReduceOp, Comm, Stream);
Result reduceScatter(const void* input, void* output, std::size_t outputCount, DType, ReduceOp, Comm, Stream);
Result allGather(const void* input, void* output, std::size_t inputCount, DType, Comm, Stream);
Result broadcast(const void* input, void* output, std::size_t count, DType, int root, Comm, Stream);
Result send(const void* input, std::size_t count, DType, int peer, Comm, Stream);
Result receive(void* output, std::size_t count, DType, int peer, Comm, Stream);

} // namespace live::nccl
