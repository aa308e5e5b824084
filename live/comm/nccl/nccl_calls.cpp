#include "live/comm/nccl/nccl_calls.h"

#include <cstring>
#include <nccl.h>

namespace live::nccl {
namespace {

static_assert(static_cast<int>(Result::success) == ncclSuccess && static_cast<int>(Result::inProgress) == ncclInProgress);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));

Result of(ncclResult_t result)
{
    return static_cast<Result>(result);
}

ncclDataType_t typeOf(DType type)
{
    switch (type) {
    case DType::f32:
        return ncclFloat32;
    case DType::f64:
        return ncclFloat64;
    case DType::bf16:
        return ncclBfloat16;
    case DType::i32:
        return ncclInt32;
    case DType::i64:
        return ncclInt64;
    }
    return ncclFloat32;
}

ncclRedOp_t operationOf(ReduceOp reduce)
{
    return reduce == ReduceOp::sum ? ncclSum : ncclMax;
}

} // namespace

int version()
{
    int found = 0;
    ncclGetVersion(&found);
    return found;
}
int builtVersion()
{
    return NCCL_VERSION_CODE;
}
std::string errorText(Result result)
{
    return ncclGetErrorString(static_cast<ncclResult_t>(result));
}
std::string lastError(Comm communicator)
{
    return communicator ? ncclGetLastError(communicator) : "";
}

Result makeUniqueId(UniqueId& id)
{
    ncclUniqueId made{};
    const Result result = of(ncclGetUniqueId(&made));
    std::memcpy(id.bytes.data(), made.internal, id.bytes.size());
    return result;
}
Result initRank(Comm& communicator, const CommGroup& group, const UniqueId& id, int member, int maxBlocks)
{
    ncclUniqueId given{};
    std::memcpy(given.internal, id.bytes.data(), id.bytes.size());
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = 0;
    if (maxBlocks > 0)
        config.maxCTAs = maxBlocks;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
    config.commName = group.name.c_str(); // for its messages
#endif
    return of(ncclCommInitRankConfig(&communicator, group.size(), given, member, &config));
}
Result finalize(Comm communicator)
{
    return of(ncclCommFinalize(communicator));
}
Result destroy(Comm communicator)
{
    return of(ncclCommDestroy(communicator));
}
Result abort(Comm communicator)
{
    return of(ncclCommAbort(communicator));
}
Result asyncError(Comm communicator, Result& state)
{
    ncclResult_t told = ncclSuccess;
    const ncclResult_t result = ncclCommGetAsyncError(communicator, &told);
    state = of(told);
    return of(result);
}

Result groupStart()
{
    return of(ncclGroupStart());
}
Result groupEnd()
{
    return of(ncclGroupEnd());
}
Result allReduce(const void* input, void* output, std::size_t count, DType type, ReduceOp reduce, Comm communicator,
                 Stream stream)
{
    return of(ncclAllReduce(input, output, count, typeOf(type), operationOf(reduce), communicator, stream));
}
Result reduceScatter(const void* input, void* output, std::size_t outputCount, DType type, ReduceOp reduce, Comm communicator,
                     Stream stream)
{
    return of(ncclReduceScatter(input, output, outputCount, typeOf(type), operationOf(reduce), communicator, stream));
}
Result allGather(const void* input, void* output, std::size_t inputCount, DType type, Comm communicator, Stream stream)
{
    return of(ncclAllGather(input, output, inputCount, typeOf(type), communicator, stream));
}
Result broadcast(const void* input, void* output, std::size_t count, DType type, int root, Comm communicator, Stream stream)
{
    return of(ncclBroadcast(input, output, count, typeOf(type), root, communicator, stream));
}
Result send(const void* input, std::size_t count, DType type, int peer, Comm communicator, Stream stream)
{
    return of(ncclSend(input, count, typeOf(type), peer, communicator, stream));
}
Result receive(void* output, std::size_t count, DType type, int peer, Comm communicator, Stream stream)
{
    return of(ncclRecv(output, count, typeOf(type), peer, communicator, stream));
}

} // namespace live::nccl
