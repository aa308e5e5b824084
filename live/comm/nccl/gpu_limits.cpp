#include "live/comm/nccl/gpu_limits.h"

#include "live/comm/gpu_streams.h"
#include "sim/error.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace live::cuda {

void checkHardwareQueues(std::size_t streams, std::size_t ranks)
{
    const char* const said = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"); // NOLINT(concurrency-mt-unsafe): nobody writes it
    const std::string uses = (ranks == 1 ? "this rank uses " : "the " + std::to_string(ranks) + " ranks of this GPU use ") +
                             std::to_string(streams) + " streams with NCCL's";
    if (streams > kHardwareQueues)
        throw sim::Error(uses + ", a GPU has " + std::to_string(kHardwareQueues) +
                         " hardware queues, and streams that share one could wait for each other in a circle");
    if (said && static_cast<std::size_t>(std::max(0, std::atoi(said))) < streams)
        throw sim::Error("CUDA_DEVICE_MAX_CONNECTIONS is " + std::string(said) + ", and " + uses +
                         ": those that share a hardware queue could wait for each other in a "
                         "circle. Unset it, or set it to 32.");
}

int blocksEach(int processors, std::size_t groups)
{
    constexpr int kMost = 32; // NCCL's own
    const int each = processors / (static_cast<int>(groups) + 1);
    if (each < 1)
        throw sim::Error("this process takes part in " + std::to_string(groups) +
                         " groups with others, whose kernels may all run at once, and its GPU has " + std::to_string(processors) +
                         " processors. Use fewer dimensions at once.");
    return std::min(each, kMost);
}

} // namespace live::cuda
