#include "live/kernels/cuda/runtime.h"

#include "sim/error.h"

#include <cuda_runtime_api.h>
#include <mutex>
#include <set>
#include <utility>

namespace live::cuda {
namespace {

/// Shared memory that a kernel may have without asking.
constexpr std::size_t kPlainSharedBytes = 48 * 1024;

void check(cudaError_t result, const char* what)
{
    if (result == cudaSuccess)
        return;
    cudaGetLastError(); // errors of a call stay until they are read
    throw sim::Error(std::string("CUDA could not ") + what + ": " + cudaGetErrorString(result) + " (" + cudaGetErrorName(result) +
                     ").");
}

/// Lets a kernel have all the shared memory that a block of the current GPU can have, once: threads that set what each of them
/// needs would lower it under each other.
void allowMostShared(const void* kernel)
{
    static std::mutex mutex;
    static std::set<std::pair<int, const void*>> allowed; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
    int gpu = 0, most = 0;
    check(cudaGetDevice(&gpu), "tell its GPU");
    const std::lock_guard lock(mutex);
    if (allowed.contains({gpu, kernel}))
        return;
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu), "tell its shared memory");
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "tell what a kernel needs");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               most - static_cast<int>(attributes.sharedSizeBytes)),
          "give a kernel its shared memory");
    allowed.emplace(gpu, kernel);
}

} // namespace

int gpuCount(std::string* why)
{
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    if (result == cudaSuccess && count > 0)
        return count;
    cudaGetLastError();
    if (why) {
        const std::string name = std::string(" (") + cudaGetErrorName(result) + ")";
        int driver = 0;
        cudaDriverGetVersion(&driver);
        if (result == cudaErrorInsufficientDriver && driver == 0)
            *why = "driver not found" + name;
        else if (result == cudaErrorInsufficientDriver)
            *why = "the driver is of CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) +
                   ", this program was built with CUDA " + std::to_string(CUDART_VERSION / 1000) + ".x: update the driver" + name;
        else if (result == cudaSuccess || result == cudaErrorNoDevice)
            *why = "no GPU in this machine, or CUDA_VISIBLE_DEVICES hides it" + name;
        else
            *why = cudaGetErrorString(result) + name;
    }
    return 0;
}

GpuProperties gpuProperties(int gpu)
{
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "read a GPU's properties");
    return {.name = properties.name,
            .memoryBytes = static_cast<std::int64_t>(properties.totalGlobalMem),
            .major = properties.major,
            .minor = properties.minor,
            .processors = properties.multiProcessorCount,
            .sharedBytesOfBlock = properties.sharedMemPerBlockOptin};
}

void makeCurrent(int gpu)
{
    check(cudaSetDevice(gpu), "choose the GPU");
}

bool allowPeer(int gpu, int other)
{
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, gpu, other), "ask whether GPUs reach each other");
    if (!possible)
        return false;
    makeCurrent(gpu);
    const cudaError_t result = cudaDeviceEnablePeerAccess(other, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
    else
        check(result, "let a GPU reach another's memory");
    return true;
}

void* allocateMemory(std::size_t bytes)
{
    // Not cudaMallocAsync: its release belongs to one stream, and a tensor is read by its rank's and by communication's.
    void* block = nullptr;
    const cudaError_t result = cudaMalloc(&block, bytes);
    if (result == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return nullptr;
    }
    check(result, "allocate memory");
    return block;
}
void releaseMemory(void* block) noexcept
{
    cudaFree(block);
}
std::size_t freeMemory()
{
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "ask for its free memory");
    return free;
}

Stream createStream(bool urgent)
{
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "read the priorities of streams");
    Stream stream = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, urgent ? greatest : least), "make a stream");
    return stream;
}
void destroyStream(Stream stream) noexcept
{
    cudaStreamDestroy(stream);
}
void synchronizeStream(Stream stream)
{
    check(cudaStreamSynchronize(stream), "finish the work on a stream");
}
Event createEvent(bool timing)
{
    Event event = nullptr;
    check(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming), "make an event");
    return event;
}
void destroyEvent(Event event) noexcept
{
    cudaEventDestroy(event);
}
void recordEvent(Event event, Stream stream)
{
    check(cudaEventRecord(event, stream), "record an event");
}
void waitForEvent(Stream stream, Event event)
{
    check(cudaStreamWaitEvent(stream, event, 0), "make a stream wait");
}
void synchronizeEvent(Event event)
{
    check(cudaEventSynchronize(event), "wait for an event");
}
bool hasPassed(Event event)
{
    const cudaError_t result = cudaEventQuery(event);
    if (result == cudaErrorNotReady) {
        cudaGetLastError(); // "not ready" is no error
        return false;
    }
    check(result, "come past an event");
    return true;
}
std::optional<float> millisecondsBetween(Event start, Event end)
{
    float milliseconds = 0;
    const cudaError_t result = cudaEventElapsedTime(&milliseconds, start, end);
    if (result == cudaErrorNotReady) {
        cudaGetLastError(); // "not ready" is no error
        return {};
    }
    check(result, "read the time between two events");
    return milliseconds;
}

void copyRows(Stream stream, const void* from, std::size_t fromStride, void* to, std::size_t toStride, std::size_t bytes,
              std::size_t rows)
{
    if (bytes == 0 || rows == 0)
        return;
    if (rows == 1 || (fromStride == bytes && toStride == bytes))
        check(cudaMemcpyAsync(to, from, bytes * rows, cudaMemcpyDefault, stream), "copy memory");
    else
        check(cudaMemcpy2DAsync(to, toStride, from, fromStride, bytes, rows, cudaMemcpyDefault, stream), "copy memory");
}
void clear(Stream stream, void* data, std::size_t bytes)
{
    if (bytes > 0)
        check(cudaMemsetAsync(data, 0, bytes, stream), "clear memory");
}

Graph captureGraph(Stream stream, const std::function<void()>& launches)
{
    const auto destroyed = [](CUgraph_st* captured) {
        if (captured)
            cudaGraphDestroy(captured);
    };
    // Relaxed: this thread may take memory and ask for events meanwhile, and others may do as they like.
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture launches");
    CUgraph_st* captured = nullptr;
    try {
        launches();
    } catch (...) {
        cudaStreamEndCapture(stream, &captured);
        destroyed(captured);
        cudaGetLastError(); // what launches() says is why
        throw;
    }
    check(cudaStreamEndCapture(stream, &captured), "capture launches");
    Graph graph = nullptr;
    const cudaError_t result = cudaGraphInstantiate(&graph, captured, 0);
    destroyed(captured);
    check(result, "make a graph of launches");
    return graph;
}
void recordEventInGraph(Event event, Stream stream)
{
    check(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), "record an event in a graph");
}
void startGraph(Graph graph, Stream stream)
{
    check(cudaGraphLaunch(graph, stream), "start a graph of launches");
}
void destroyGraph(Graph graph) noexcept
{
    if (graph)
        cudaGraphExecDestroy(graph);
}

void launchKernel(Stream stream, Grid grid, int threads, std::size_t sharedBytes, const void* kernel, void** arguments)
{
    if (sharedBytes > kPlainSharedBytes)
        allowMostShared(kernel);
    check(cudaLaunchKernel(kernel, dim3(grid.x, grid.y, grid.z), dim3(static_cast<unsigned>(threads)), arguments, sharedBytes,
                           stream),
          "start a kernel");
}

} // namespace live::cuda
