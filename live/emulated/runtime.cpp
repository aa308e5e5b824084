// CUDA's calls on the imaginary machine.
#include "live/kernels/cuda/runtime.h"

#include "live/emulated/handles.h"
#include "sim/error.h"

#include <cstring>

namespace live::emulated {
namespace {

// As CUDA, one a thread; -1: it was never said.
thread_local int t_gpu = -1; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

} // namespace

int gpuOfThread()
{
    if (t_gpu < 0)
        throw sim::Error("a thread that has no GPU calls CUDA, which would prepare GPU 0 for it: makeCurrent() first");
    return t_gpu;
}

} // namespace live::emulated

namespace live::cuda {
namespace {

using emulated::Access, emulated::Machine, emulated::MachineOptions, emulated::of, emulated::gpuOfThread;

/// A stream whose GPU is the calling thread's: CUDA takes no kernel and no event for another.
emulated::Stream& current(Stream stream)
{
    if (of(stream).gpu != gpuOfThread())
        throw sim::Error("a call for a stream of GPU " + std::to_string(of(stream).gpu) + " while GPU " +
                         std::to_string(gpuOfThread()) + " is this thread's: makeCurrent() first");
    return of(stream);
}

} // namespace

int gpuCount(std::string*)
{
    return Machine::current().options().gpus;
}
GpuProperties gpuProperties(int)
{
    const MachineOptions& options = Machine::current().options();
    return {.name = "emulated GPU", .memoryBytes = options.memoryBytes, .major = 9, .minor = 0, .processors = options.processors};
}
void makeCurrent(int gpu)
{
    if (gpu < 0 || gpu >= Machine::current().options().gpus)
        throw sim::Error("there is no GPU " + std::to_string(gpu) + ": the emulated machine has " +
                         std::to_string(Machine::current().options().gpus));
    emulated::t_gpu = gpu;
}
bool allowPeer(int gpu, int other)
{
    Machine::current().allowPeer(gpu, other);
    makeCurrent(gpu);
    return true;
}
void* allocateMemory(std::size_t bytes)
{
    return Machine::current().allocate(gpuOfThread(), bytes);
}
void releaseMemory(void* block) noexcept
{
    Machine::current().release(block);
}
std::size_t freeMemory()
{
    return Machine::current().freeBytes(gpuOfThread());
}

Stream createStream(bool)
{
    return reinterpret_cast<Stream>(Machine::current().createStream(gpuOfThread()));
}
void destroyStream(Stream stream) noexcept
{
    Machine::current().destroyStream(&of(stream));
}
void synchronizeStream(Stream stream)
{
    Machine::current().synchronize(of(stream));
}
Event createEvent(bool timing)
{
    return reinterpret_cast<Event>(Machine::current().createEvent(gpuOfThread(), timing));
}
void destroyEvent(Event event) noexcept
{
    delete &of(event); // recordings live on
}
void recordEvent(Event event, Stream stream)
{
    if (of(event).gpu != of(stream).gpu)
        throw sim::Error("an event of GPU " + std::to_string(of(event).gpu) + " is recorded on a stream of GPU " +
                         std::to_string(of(stream).gpu));
    Machine::current().record(of(event), of(stream));
}
void waitForEvent(Stream stream, Event event)
{
    Machine::current().wait(of(stream), of(event));
}
void synchronizeEvent(Event event)
{
    Machine::current().synchronize(of(event));
}
bool hasPassed(Event event)
{
    gpuOfThread();
    return Machine::current().passed(of(event)).has_value();
}
std::optional<float> millisecondsBetween(Event start, Event end)
{
    gpuOfThread();
    for (const Event event : {start, end})
        if (!of(event).timing || !of(event).latest)
            throw sim::Error("the time of an event is read that was made without timing, or never recorded");
    const auto from = Machine::current().passed(of(start)), to = Machine::current().passed(of(end));
    if (!from || !to)
        return {};
    return std::chrono::duration<float, std::milli>(*to - *from).count();
}

void copyRows(Stream stream, const void* from, std::size_t fromStride, void* to, std::size_t toStride, std::size_t bytes,
              std::size_t rows)
{
    if (bytes == 0 || rows == 0)
        return;
    if (rows == 1 || (fromStride == bytes && toStride == bytes)) {
        bytes *= rows;
        rows = 1;
    }
    Machine& machine = Machine::current();
    const bool isFromHost = !machine.isOnDevice(from), isToHost = !machine.isOnDevice(to);
    const auto move = [=](const std::byte* source, std::size_t sourceStride) {
        for (std::size_t row = 0; row < rows; ++row)
            std::memmove(static_cast<std::byte*>(to) + row * toStride, source + row * sourceStride, bytes);
    };
    if (isFromHost || isToHost) // pageable memory: a copy put aside would read or write it whenever it is started
        machine.refuseHostCopy(current(stream));
    std::vector<Access> accesses;
    if (!isFromHost)
        accesses.push_back({static_cast<const std::byte*>(from), bytes, fromStride, rows, false});
    if (!isToHost)
        accesses.push_back({static_cast<const std::byte*>(to), bytes, toStride, rows, true});
    if (!isFromHost) {
        machine.put(current(stream), isToHost ? "copy to the host" : "copy", std::move(accesses),
                    [=] { move(static_cast<const std::byte*>(from), fromStride); });
        if (isToHost) // into pageable memory: the call returns when the copy is done
            machine.synchronize(of(stream));
        return;
    }
    // From pageable memory: the driver may wait for the stream before it puts the bytes aside, or read them when the copy's turn
    // has come ("API synchronization behavior" in the runtime's manual). Either happens.
    const bool readsLater = !machine.draw(2);
    if (!readsLater)
        machine.synchronize(of(stream));
    auto aside = std::make_shared<std::vector<std::byte>>(bytes * rows);
    const auto each = [=](const auto& row) {
        for (std::size_t i = 0; i < rows; ++i)
            row(aside->data() + i * bytes, static_cast<const std::byte*>(from) + i * fromStride);
    };
    each([=](std::byte* kept, const std::byte* host) { std::memcpy(kept, host, bytes); });
    machine.put(current(stream), "copy from the host", std::move(accesses), [=] {
        if (readsLater)
            each([=](const std::byte* kept, const std::byte* host) {
                if (std::memcmp(kept, host, bytes) != 0)
                    throw sim::Error("the host's memory has changed before a copy has read it: nobody waited for the copy");
            });
        move(aside->data(), bytes);
    });
}

void clear(Stream stream, void* data, std::size_t bytes)
{
    if (bytes > 0)
        Machine::current().put(current(stream), "clear", {{static_cast<std::byte*>(data), bytes, bytes, 1, true}},
                               [=] { std::memset(data, 0, bytes); });
}

Graph captureGraph(Stream stream, const std::function<void()>& launches)
{
    return reinterpret_cast<Graph>(Machine::current().capture(current(stream), launches).release());
}
void recordEventInGraph(Event event, Stream stream)
{
    Machine::current().recordInGraph(of(event), current(stream));
}
void startGraph(Graph graph, Stream stream)
{
    Machine::current().start(of(graph), current(stream));
}
void destroyGraph(Graph graph) noexcept
{
    delete reinterpret_cast<emulated::Launches*>(graph);
}

void launchKernel(Stream, Grid, int, std::size_t, const void*, void**)
{
    throw sim::Error("the emulated machine runs the CPU's kernels, not CUDA's");
}

} // namespace live::cuda
