// The little of the CUDA runtime that the device and the communicators on GPUs need, with errors as exceptions. runtime.cpp makes
// it CUDA's; emulation/runtime.cpp the CPU's, for tests of kernels; live/emulated/runtime.cpp that of a machine which keeps
// CUDA's rules of order, for proofs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;

namespace live::cuda {

using Stream = CUstream_st*;
using Event = CUevent_st*;
using Graph = CUgraphExec_st*; ///< launches that can be started with one call

struct Grid {
    unsigned x = 1, y = 1, z = 1;
};
/// Limits of y and z in every compute capability.
inline constexpr std::int64_t kMaxGridY = 65535;

struct GpuProperties {
    std::string name;
    std::int64_t memoryBytes = 0;
    int major = 0, minor = 0; ///< compute capability
    int processors = 0;
    std::size_t sharedBytesOfBlock = 0; ///< shared memory that a block may have where its kernel asks for it
};

/// How many GPUs can be used; if none, *why says why in CUDA's words.
int gpuCount(std::string* why);
GpuProperties gpuProperties(int gpu);
/// For this thread's next calls. Cheap where it is current already.
void makeCurrent(int gpu);
/// Lets kernels of one GPU read and write the other's memory; false where the machine cannot.
bool allowPeer(int gpu, int other);

void* allocateMemory(std::size_t bytes); ///< null if there is not enough
void releaseMemory(void*) noexcept;
std::size_t freeMemory();

Stream createStream(bool urgent);
void destroyStream(Stream) noexcept;
void synchronizeStream(Stream);
Event createEvent(bool timing);
void destroyEvent(Event) noexcept;
void recordEvent(Event, Stream);
void waitForEvent(Stream, Event); ///< the stream waits, not the caller
void synchronizeEvent(Event);
bool hasPassed(Event); ///< any thread; throws where the GPU is lost
/// Nothing where one of them has not been passed yet.
std::optional<float> millisecondsBetween(Event start, Event end);

/// Rows of `bytes` bytes, `stride` bytes apart, between any two memories.
void copyRows(Stream, const void* from, std::size_t fromStride, void* to, std::size_t toStride, std::size_t bytes,
              std::size_t rows);
void clear(Stream, void*, std::size_t bytes);

/// Makes a graph of what `launches` puts on the stream, none of which happens before the graph is started. It may put launches,
/// copies within the GPU's memory and recordEventInGraph() there: whoever records, waits for or synchronizes the stream
/// meanwhile, or copies from or to the host, would not see them.
Graph captureGraph(Stream, const std::function<void()>& launches);
/// Of an event that tells no more than a time: until something after the graph has been passed it says what it said before.
void recordEventInGraph(Event, Stream);
void startGraph(Graph, Stream);
void destroyGraph(Graph) noexcept; ///< one that runs comes to its end

void launchKernel(Stream, Grid, int threads, std::size_t sharedBytes, const void* kernel, void** arguments);

} // namespace live::cuda
