#include "sim/trace/readers/chrome_category.h"

#include <algorithm>
#include <array>

namespace sim {

ChromeCategory categoryOfWord(std::string_view word)
{
    struct Known {
        std::string_view name;
        ChromeCategory category;
    };
    constexpr auto kKnown = std::to_array<Known>({{"kernel", ChromeCategory::kernel},
                                                  {"gpu_memcpy", ChromeCategory::memcpy},
                                                  {"memcpy", ChromeCategory::memcpy},
                                                  {"gpu_memset", ChromeCategory::memset},
                                                  {"memset", ChromeCategory::memset},
                                                  {"gpu_user_annotation", ChromeCategory::gpuAnnotation},
                                                  {"cpu_op", ChromeCategory::cpuOp},
                                                  {"operator", ChromeCategory::cpuOp},
                                                  {"cuda_runtime", ChromeCategory::runtime},
                                                  {"cuda_driver", ChromeCategory::runtime},
                                                  {"hip_runtime", ChromeCategory::runtime},
                                                  {"xpu_runtime", ChromeCategory::runtime},
                                                  {"xpu_driver", ChromeCategory::runtime},
                                                  {"hpu_op", ChromeCategory::runtime},
                                                  {"mtia_ccp_events", ChromeCategory::request},
                                                  {"mtia_runtime", ChromeCategory::runtime},
                                                  {"glow_runtime", ChromeCategory::runtime},
                                                  {"privateuse1_runtime", ChromeCategory::runtime},
                                                  {"privateuse1_driver", ChromeCategory::runtime},
                                                  {"enqueue", ChromeCategory::runtime},
                                                  {"dequeue", ChromeCategory::runtime},
                                                  {"runtime", ChromeCategory::runtime},
                                                  {"user_annotation", ChromeCategory::annotation},
                                                  {"python_function", ChromeCategory::pythonFunction},
                                                  {"cuda_sync", ChromeCategory::synchronization},
                                                  {"overhead", ChromeCategory::overhead},
                                                  {"ac2g", ChromeCategory::launchFlow},
                                                  {"async_cpu_to_gpu", ChromeCategory::launchFlow},
                                                  {"async_gpu", ChromeCategory::launchFlow},
                                                  {"async", ChromeCategory::launchFlow},
                                                  {"hosttodevice", ChromeCategory::callFlow},
                                                  {"async_npu", ChromeCategory::operatorFlow},
                                                  {"async_task_queue", ChromeCategory::launchFlow},
                                                  {"fwdbwd", ChromeCategory::passFlow},
                                                  {"forward_backward", ChromeCategory::passFlow},
                                                  {"communication", ChromeCategory::communication},
                                                  {"host communication", ChromeCategory::hostCommunication},
                                                  {"cpu_instant_event", ChromeCategory::memory}});
    const auto* const found = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.name == word; });
    return found != kKnown.end() ? found->category : ownClass(word) ? ChromeCategory::own : ChromeCategory::other;
}

std::optional<OpClass> ownClass(std::string_view word)
{
    for (int c = 0; c < kOpClassCount; ++c)
        if (word == opClassName(static_cast<OpClass>(c)))
            return static_cast<OpClass>(c);
    return std::nullopt;
}

RecordedKind kindOfRequest(std::string_view name)
{
    if (name == "dma_request")
        return RecordedKind::memcpy;
    if (name == "event_wait" || name == "event_record")
        return RecordedKind::synchronization;
    return isCommunicationKernel(name) ? RecordedKind::communication : RecordedKind::kernel;
}

} // namespace sim
