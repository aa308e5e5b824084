// What NCCL looks for in the library: ncclProfiler_v1 to ncclProfiler_v6.
#include "live/nccl_profiler/abi.h"
#include "live/nccl_profiler/event.h"
#include "live/nccl_profiler/plugin.h"

#include <type_traits>

// As NCCL was compiled to see them, on 64-bit systems.
namespace live::nccl_profiler {
namespace {

static_assert(sizeof(abi::DescriptorV1) == 120 && sizeof(abi::DescriptorV2) == 128 && sizeof(abi::DescriptorV3) == 120);
static_assert(sizeof(abi::DescriptorV4) == 104 && sizeof(abi::DescriptorV5) == 112 && sizeof(abi::DescriptorV6) == 112);
static_assert(sizeof(abi::StateArgsV1) == 16 && sizeof(abi::StateArgsV4) == 8 && sizeof(abi::TableV6) == 48);

constexpr abi::Result kSuccess = 0; // whatever happens: NCCL goes on

template <int version>
abi::Result initV1(void** context, int* types)
{
    void* made = nullptr;
    const int wanted = openCommunicator(&made, 0, nullptr, 0, 0, -1, version, nullptr);
    if (context != nullptr)
        *context = made;
    if (types != nullptr)
        *types = wanted;
    return kSuccess;
}

template <int version>
abi::Result initV5(void** context, std::uint64_t hash, int* types, const char* name, int nodes, int ranks, int rank,
                   abi::Logger logger)
{
    void* made = nullptr;
    const int wanted = openCommunicator(&made, hash, name, nodes, ranks, rank, version, logger);
    if (context != nullptr)
        *context = made;
    if (types != nullptr)
        *types = wanted;
    return kSuccess;
}

abi::Result initV4(void** context, int* types, const char* name, std::uint64_t hash, int nodes, int ranks, int rank,
                   abi::Logger logger)
{
    return initV5<4>(context, hash, types, name, nodes, ranks, rank, logger);
}

template <typename Descriptor>
abi::Result start(void* context, void** event, Descriptor* descriptor)
{
    if (event == nullptr)
        return kSuccess;
    *event = nullptr;
    if (descriptor != nullptr)
        startEvent(context, event, eventOf(*descriptor));
    return kSuccess;
}

abi::Result stop(void* event)
{
    stopEvent(event);
    return kSuccess;
}

template <typename StateArgs>
abi::Result record(void* event, int state, StateArgs* args)
{
    std::uint64_t deviceNs = 0;
    if constexpr (std::is_same_v<StateArgs, abi::StateArgsV4>)
        if (args != nullptr && state == abi::kKernelChannelStop)
            deviceNs = args->deviceNs;
    eventState(event, state, deviceNs);
    return kSuccess;
}

abi::Result finalize(void* context)
{
    closeCommunicator(context);
    return kSuccess;
}

template <typename Table, typename Descriptor, typename StateArgs, typename Init>
constexpr Table tableOf(Init init)
{
    return {.name = "Rankscope",
            .init = init,
            .startEvent = start<Descriptor>,
            .stopEvent = stop,
            .recordEventState = record<StateArgs>,
            .finalize = finalize};
}

} // namespace
} // namespace live::nccl_profiler

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,readability-identifier-naming): what NCCL calls them
namespace plugin = live::nccl_profiler;
#define RANKSCOPE_EXPORTED extern "C" __attribute__((visibility("default")))
RANKSCOPE_EXPORTED plugin::abi::TableV1 ncclProfiler_v1;
RANKSCOPE_EXPORTED plugin::abi::TableV2 ncclProfiler_v2;
RANKSCOPE_EXPORTED plugin::abi::TableV3 ncclProfiler_v3;
RANKSCOPE_EXPORTED plugin::abi::TableV4 ncclProfiler_v4;
RANKSCOPE_EXPORTED plugin::abi::TableV5 ncclProfiler_v5;
RANKSCOPE_EXPORTED plugin::abi::TableV6 ncclProfiler_v6;
plugin::abi::TableV1 ncclProfiler_v1 =
    plugin::tableOf<plugin::abi::TableV1, plugin::abi::DescriptorV1, plugin::abi::StateArgsV1>(plugin::initV1<1>);
plugin::abi::TableV2 ncclProfiler_v2 =
    plugin::tableOf<plugin::abi::TableV2, plugin::abi::DescriptorV2, plugin::abi::StateArgsV1>(plugin::initV1<2>);
plugin::abi::TableV3 ncclProfiler_v3 =
    plugin::tableOf<plugin::abi::TableV3, plugin::abi::DescriptorV3, plugin::abi::StateArgsV1>(plugin::initV1<3>);
plugin::abi::TableV4 ncclProfiler_v4 =
    plugin::tableOf<plugin::abi::TableV4, plugin::abi::DescriptorV4, plugin::abi::StateArgsV4>(plugin::initV4);
plugin::abi::TableV5 ncclProfiler_v5 =
    plugin::tableOf<plugin::abi::TableV5, plugin::abi::DescriptorV5, plugin::abi::StateArgsV4>(plugin::initV5<5>);
plugin::abi::TableV6 ncclProfiler_v6 =
    plugin::tableOf<plugin::abi::TableV6, plugin::abi::DescriptorV6, plugin::abi::StateArgsV4>(plugin::initV5<6>);
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,readability-identifier-naming)
