// What NCCL tells, in one shape for all versions of its interface.
#pragma once

#include "live/nccl_profiler/abi.h"

#include <cstdint>

namespace live::nccl_profiler {

/// Handles are numbers, never addresses: what NCCL hands back may be stale, or of another process.
using Handle = std::uint64_t;

struct Event {
    std::uint64_t type = 0; ///< abi::EventType
    Handle parent = 0;
    const char *function = nullptr, *dtype = nullptr, *algorithm = nullptr, *protocol = nullptr;
    const char* communicator = nullptr; ///< v1 to v3
    std::uint64_t hash = 0;             ///< likewise
    int rank = -1;                      ///< in the communicator
    std::uint64_t count = 0;            ///< elements
    std::int64_t sequence = -1;
    int other = -1;   ///< root, or the peer's rank in the communicator
    int channels = 0; ///< expected; 0: not said
    bool isCaptured = false;
    pid_t pid = 0;
    int channel = -1;
    int steps = 0;
    bool isSend = false;
    std::uint64_t deviceNs = 0; ///< 0: not said
};

/// The descriptor's own part; strings are NCCL's and live as long as its library.
template <typename Descriptor>
Event eventOf(const Descriptor& from)
{
    Event event{.type = from.type, .parent = reinterpret_cast<Handle>(from.parent), .rank = from.rank};
    const auto takeCall = [&event](const auto& call) {
        if constexpr (requires { call.hash; }) {
            event.communicator = call.communicator;
            event.hash = call.hash;
        }
        if constexpr (requires { call.dtype[0]; }) {
            event.function = call.function;
            event.dtype = call.dtype;
        }
        if constexpr (requires { call.channels; })
            event.channels = call.channels;
        event.count = call.count;
    };
    switch (event.type) {
    case abi::kCollective:
        takeCall(from.collective);
        event.sequence = static_cast<std::int64_t>(from.collective.sequence);
        event.other = from.collective.root;
        if constexpr (requires { from.collective.algorithm[0]; }) {
            event.algorithm = from.collective.algorithm;
            event.protocol = from.collective.protocol;
        } else { // by NCCL's numbers
            constexpr const char* kFunctions[]{"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                               "AllReduce", "SendRecv", "Send",      "Recv"};
            constexpr const char* kAlgorithms[]{"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
            constexpr const char* kProtocols[]{"LL", "LL128", "SIMPLE"};
            const auto named = [](const auto& names, std::uint8_t number) {
                return number < sizeof(names) / sizeof(names[0]) ? names[number] : nullptr;
            };
            event.function = named(kFunctions, from.collective.function);
            event.algorithm = named(kAlgorithms, from.collective.algorithm);
            event.protocol = named(kProtocols, from.collective.protocol);
        }
        break;
    case abi::kPointToPoint:
        takeCall(from.pointToPoint);
        event.other = from.pointToPoint.peer;
        if constexpr (!requires { from.pointToPoint.dtype[0]; })
            event.function = from.pointToPoint.function == 7 ? "Recv" : "Send";
        break;
    case abi::kProxyOp:
        event.pid = from.proxyOp.pid;
        event.channel = from.proxyOp.channel;
        event.other = from.proxyOp.peer;
        event.steps = from.proxyOp.steps;
        event.isSend = from.proxyOp.isSend != 0;
        break;
    case abi::kKernelChannel:
        if constexpr (requires { from.kernelChannel; })
            event.channel = from.kernelChannel.channel;
        if constexpr (requires { from.kernelChannel.deviceNs; })
            event.deviceNs = from.kernelChannel.deviceNs;
        break;
    case abi::kCollectiveCall:
        if constexpr (requires { from.collectiveCall; })
            event.isCaptured = from.collectiveCall.isCaptured;
        break;
    case abi::kPointToPointCall:
        if constexpr (requires { from.pointToPointCall; })
            event.isCaptured = from.pointToPointCall.isCaptured;
        break;
    case abi::kCopyCollective:
        if constexpr (requires { from.copyCollective; }) {
            takeCall(from.copyCollective);
            event.sequence = static_cast<std::int64_t>(from.copyCollective.sequence);
            event.other = from.copyCollective.root;
        }
        break;
    default:
        break;
    }
    // In v1 types are numbers, too.
    if constexpr (requires { from.collective.isNvls; }) {
        constexpr const char* kTypes[]{"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                       "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
        const std::uint8_t number = from.type == abi::kCollective     ? from.collective.dtype
                                    : from.type == abi::kPointToPoint ? from.pointToPoint.dtype
                                                                      : UINT8_MAX;
        event.dtype = number < sizeof(kTypes) / sizeof(kTypes[0]) ? kTypes[number] : nullptr;
    }
    return event;
}

} // namespace live::nccl_profiler
