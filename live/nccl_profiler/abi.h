// NCCL's interface for profilers as its libraries call it: six versions of one table of functions, and what is handed through it.
// Only order, types and numbers matter to a caller; the names are ours. As in NCCL 2.23 to 2.30: v1 since 2.23, v2 since 2.24, v3
// since 2.26, v4 since 2.27, v5 since 2.28, v6 since 2.29. A library tries the newest that it knows first. No header of NCCL is
// needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace live::nccl_profiler::abi {

/// One bit each: what init() asks for, and what an event says it is.
enum EventType : std::uint64_t {
    kGroup = 1U << 0,
    kCollective = 1U << 1,   ///< enqueued by the host; its end is the end of enqueuing
    kPointToPoint = 1U << 2, ///< likewise
    kProxyOp = 1U << 3,      ///< what the network thread does for one channel and peer
    kProxyStep = 1U << 4,    ///< one message of it
    kProxyControl = 1U << 5,
    kKernelChannel = 1U << 6, ///< v3: one block of the kernel on the device
    kNetPlugin = 1U << 7,     ///< v3
    kGroupCall = 1U << 8,     ///< v5: the program's own calls
    kCollectiveCall = 1U << 9,
    kPointToPointCall = 1U << 10,
    kKernelLaunch = 1U << 11,
    kCopyCollective = 1U << 12, ///< v6: by copy engines
    kCopySync = 1U << 13,
    kCopyBatch = 1U << 14
};

/// What recordEventState() tells; others are of no use here.
enum EventState : int {
    kSendWaitsForNetwork = 9,    ///< of a step: the peer was ready, the message is under way
    kReceiveWaitsForFlush = 11,  ///< of a step: the message has come
    kReceiveWaitsForDevice = 12, ///< of a step: as above, and flushed
    kKernelChannelStop = 22      ///< v4: with the device's clock
};

struct CollectiveV1 {
    const char* communicator; ///< these two null and 0 since 2.27
    std::uint64_t hash;
    std::uint64_t sequence; ///< counts calls of this function in the communicator
    std::uint8_t function;
    const void* send;
    void* receive;
    std::size_t count; ///< elements
    int root;
    std::uint8_t dtype;
    std::uint32_t op;
    std::size_t trafficBytes;
    std::uint8_t channels, warps, algorithm, protocol;
    int isCollnet, isNvls;
};
struct PointToPointV1 {
    const char* communicator;
    std::uint64_t hash;
    std::uint8_t function;
    void* buffer;
    std::uint8_t dtype;
    std::size_t count;
    int peer; ///< rank in the communicator
};
struct CollectiveV2 {
    const char* communicator;
    std::uint64_t hash, sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* dtype;
    std::size_t trafficBytes;
    std::uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct PointToPointV2 {
    const char* communicator;
    std::uint64_t hash;
    const char* function;
    void* buffer;
    const char* dtype;
    std::size_t count;
    int peer;
};
struct CollectiveV3 {
    const char* communicator;
    std::uint64_t hash, sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* dtype;
    std::uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct CollectiveV4 {
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* dtype;
    std::uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct PointToPointV4 {
    const char* function;
    void* buffer;
    const char* dtype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
};
struct CollectiveV5 {
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char* dtype;
    std::uint8_t channels, warps;
    const char *algorithm, *protocol;
    void* group; ///< the parent is the program's call, and this the group
};
struct PointToPointV5 {
    const char* function;
    void* buffer;
    const char* dtype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
    void* group;
};
struct GroupCall {
    bool isCaptured; ///< into a graph
    int depth;
};
struct CollectiveCall {
    const char* function;
    std::size_t count;
    const char* dtype;
    int root;
    void* stream;
    bool isCaptured;
};
struct PointToPointCall {
    const char* function;
    std::size_t count;
    const char* dtype;
    void* stream;
    bool isCaptured;
};
struct KernelLaunch {
    void* stream;
};
struct ProxyOp {
    pid_t pid; ///< of who asked: with PXN another process, and the parent is a handle of that one
    std::uint8_t channel;
    int peer, steps, chunkBytes, isSend;
};
struct ProxyStep {
    int step;
};
struct KernelChannelV3 {
    std::uint8_t channel;
};
struct KernelChannelV4 {
    std::uint8_t channel;
    std::uint64_t deviceNs; ///< the GPU's globaltimer
};
struct NetPlugin {
    std::int64_t id;
    void* data;
};
struct CopyCollective {
    std::uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    std::size_t count;
    int root;
    const char *dtype, *strategy;
    bool isSyncInBatch;
    std::uint32_t batchSize, batches, copySequence;
    void* stream;
};
struct CopySync {
    bool isComplete;
    int ranks;
};
struct CopyBatch {
    int ops;
    std::size_t bytes;
    bool isSync;
};

struct DescriptorV1 {
    std::uint8_t type;
    void* parent; ///< handle of the event that this one is part of
    int rank;
    union {
        CollectiveV1 collective;
        PointToPointV1 pointToPoint;
        ProxyOp proxyOp;
        ProxyStep proxyStep;
    };
};
struct DescriptorV2 {
    std::uint8_t type;
    void* parent;
    int rank;
    union {
        CollectiveV2 collective;
        PointToPointV2 pointToPoint;
        ProxyOp proxyOp;
        ProxyStep proxyStep;
    };
};
struct DescriptorV3 {
    std::uint8_t type;
    void* parent;
    int rank;
    union {
        CollectiveV3 collective;
        PointToPointV2 pointToPoint;
        ProxyOp proxyOp;
        ProxyStep proxyStep;
        KernelChannelV3 kernelChannel;
        NetPlugin netPlugin;
    };
};
struct DescriptorV4 {
    std::uint8_t type;
    void* parent;
    int rank;
    union {
        CollectiveV4 collective;
        PointToPointV4 pointToPoint;
        ProxyOp proxyOp;
        ProxyStep proxyStep;
        KernelChannelV4 kernelChannel;
        NetPlugin netPlugin;
    };
};
struct DescriptorV5 {
    std::uint64_t type;
    void* parent;
    int rank;
    union {
        GroupCall groupCall;
        CollectiveCall collectiveCall;
        PointToPointCall pointToPointCall;
        KernelLaunch kernelLaunch;
        CollectiveV5 collective;
        PointToPointV5 pointToPoint;
        ProxyOp proxyOp;
        ProxyStep proxyStep;
        KernelChannelV4 kernelChannel;
        NetPlugin netPlugin;
    };
};
struct DescriptorV6 {
    std::uint64_t type;
    void* parent;
    int rank;
    union {
        GroupCall groupCall;
        CollectiveCall collectiveCall;
        PointToPointCall pointToPointCall;
        KernelLaunch kernelLaunch;
        CollectiveV5 collective;
        PointToPointV5 pointToPoint;
        ProxyOp proxyOp;
        ProxyStep proxyStep;
        KernelChannelV4 kernelChannel;
        NetPlugin netPlugin;
        CopyCollective copyCollective;
        CopySync copySync;
        CopyBatch copyBatch;
    };
};

/// Of v1 to v3. Nothing in it is of use here.
union StateArgsV1 {
    struct {
        std::size_t bytes;
        int steps;
    } proxyOp;
    int appended;
};
/// Of v4 to v6: which one, the state says.
union StateArgsV4 {
    std::size_t stepBytes;
    int appended;
    void* netPlugin;
    std::uint64_t deviceNs; ///< of kKernelChannelStop
};

/// ncclResult_t: 0 is success.
using Result = int;
/// Level (2 warns, 3 informs), parts of NCCL it concerns (1: initialisation), file, line, text as of printf.
using Logger = void (*)(int level, unsigned long parts, const char* file, int line, const char* format, ...);

template <typename Descriptor, typename StateArgs, typename Init>
struct Table {
    const char* name;
    Init init;
    Result (*startEvent)(void* context, void** event, Descriptor*);
    Result (*stopEvent)(void* event);
    Result (*recordEventState)(void* event, int state, StateArgs*);
    Result (*finalize)(void* context);
};
using InitV1 = Result (*)(void** context, int* types);
using InitV4 = Result (*)(void** context, int* types, const char* name, std::uint64_t hash, int nodes, int ranks, int rank,
                          Logger);
using InitV5 = Result (*)(void** context, std::uint64_t hash, int* types, const char* name, int nodes, int ranks, int rank,
                          Logger);
using TableV1 = Table<DescriptorV1, StateArgsV1, InitV1>;
using TableV2 = Table<DescriptorV2, StateArgsV1, InitV1>;
using TableV3 = Table<DescriptorV3, StateArgsV1, InitV1>;
using TableV4 = Table<DescriptorV4, StateArgsV4, InitV4>;
using TableV5 = Table<DescriptorV5, StateArgsV4, InitV5>;
using TableV6 = Table<DescriptorV6, StateArgsV4, InitV5>;

} // namespace live::nccl_profiler::abi
