// The CUDA runtime of one imaginary GPU whose memory is the host's and whose kernels have run when their launch returns.
#include "live/kernels/cuda/runtime.h"

#include "live/kernels/cuda/emulation/emulation.h"
#include "live/kernels/cuda/emulation/launches.h"
#include "live/kernels/cuda/matmul.h"
#include "live/kernels/cuda/numbers.h"
#include "sim/error.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace live::cuda {
namespace {

std::atomic<std::uint64_t> launches{0}, calls{0}, waits{0};
std::atomic<std::size_t> sharedBytes{std::size_t{227} << 10}; // compute capability 9.0

struct EventTime {
    std::chrono::steady_clock::time_point time;
};

EventTime* timeOf(Event event)
{
    return reinterpret_cast<EventTime*>(event);
}

/// What a graph does when it is started.
using Works = std::vector<std::function<void()>>;
thread_local Works* capturing = nullptr; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): as CUDA's streams have it

/// As CUDA: cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated.
void refuseCapturing(const char* what)
{
    if (capturing)
        throw sim::Error(std::string(what) + " while launches are captured");
}

} // namespace

std::uint64_t emulation::launchCount()
{
    return launches.load();
}
void emulation::countLaunch()
{
    ++launches;
}
std::uint64_t emulation::callCount()
{
    return calls.load();
}
void emulation::perform(std::function<void()> work)
{
    if (capturing) {
        capturing->push_back(std::move(work));
        return;
    }
    ++calls;
    work();
}
std::uint64_t emulation::waitCount()
{
    return waits.load();
}
std::size_t emulation::sharedBytesOfBlock()
{
    return sharedBytes.load();
}
void emulation::setSharedBytesOfBlock(std::size_t bytes)
{
    sharedBytes = bytes;
}

int gpuCount(std::string*)
{
    return 1;
}
GpuProperties gpuProperties(int)
{
    return {.name = "emulated GPU",
            .memoryBytes = std::int64_t{1} << 30,
            .major = 8,
            .minor = 0,
            .processors = 1,
            .sharedBytesOfBlock = sharedBytes.load()};
}
void makeCurrent(int) {}
bool allowPeer(int, int)
{
    return true;
}
void* allocateMemory(std::size_t bytes)
{
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
}
void releaseMemory(void* block) noexcept
{
    waits += block ? 1 : 0;
    std::free(block);
}
std::size_t freeMemory()
{
    return std::size_t{1} << 30;
}

Stream createStream(bool)
{
    return nullptr;
}
void destroyStream(Stream) noexcept {}
void synchronizeStream(Stream)
{
    refuseCapturing("a stream is waited for");
    ++waits;
}
Event createEvent(bool)
{
    return reinterpret_cast<Event>(new EventTime);
}
void destroyEvent(Event event) noexcept
{
    delete timeOf(event);
}
void recordEvent(Event event, Stream)
{
    refuseCapturing("an event is recorded");
    timeOf(event)->time = std::chrono::steady_clock::now();
}
void waitForEvent(Stream, Event) {}
void synchronizeEvent(Event)
{
    ++waits;
}
bool hasPassed(Event)
{
    return true;
}
std::optional<float> millisecondsBetween(Event start, Event end)
{
    return std::chrono::duration<float, std::milli>(timeOf(end)->time - timeOf(start)->time).count();
}

void copyRows(Stream, const void* from, std::size_t fromStride, void* to, std::size_t toStride, std::size_t bytes,
              std::size_t rows)
{
    emulation::perform([=] {
        emulation::countLaunch();
        for (std::size_t row = 0; bytes > 0 && row < rows; ++row)
            std::memmove(static_cast<std::byte*>(to) + row * toStride, static_cast<const std::byte*>(from) + row * fromStride,
                         bytes);
    });
}
void clear(Stream, void* data, std::size_t bytes)
{
    if (bytes == 0)
        return;
    emulation::perform([=] {
        emulation::countLaunch();
        std::memset(data, 0, bytes);
    });
}

Graph captureGraph(Stream, const std::function<void()>& putThere)
{
    if (capturing)
        throw sim::Error("launches are captured while launches are captured");
    auto works = std::make_unique<Works>();
    capturing = works.get();
    try {
        putThere();
    } catch (...) {
        capturing = nullptr;
        throw;
    }
    capturing = nullptr;
    return reinterpret_cast<Graph>(works.release());
}
void recordEventInGraph(Event event, Stream)
{
    if (!capturing)
        throw sim::Error("an event of a graph is recorded where none is captured");
    emulation::perform([event] { timeOf(event)->time = std::chrono::steady_clock::now(); });
}
void startGraph(Graph graph, Stream)
{
    refuseCapturing("a graph is started");
    ++calls;
    for (const std::function<void()>& work : *reinterpret_cast<const Works*>(graph))
        work();
}
void destroyGraph(Graph graph) noexcept
{
    delete reinterpret_cast<const Works*>(graph);
}

namespace {

class EmulatedMatmul final : public Matmul {
public:
    std::size_t workspaceBytes() const override { return 0; }
    bool canMultiply(const Workspace&, const MatmulProblem&, const void*) override { return true; }
    bool multiply(Stream, const Workspace&, const MatmulProblem& p, const void* a, const void* b, const void* bias,
                  void* d) override
    {
        emulation::perform([=] { product(p, a, b, bias, d); });
        return true;
    }

private:
    static void product(const MatmulProblem& p, const void* a, const void* b, const void* bias, void* d)
    {
        emulation::countLaunch();
        const auto read = [](const void* data, DType type, std::int64_t at) {
            return type == DType::bf16 ? toFloat(static_cast<const Bfloat16*>(data)[at]) : static_cast<const float*>(data)[at];
        };
        for (std::int64_t column = 0; column < p.n; ++column)
            for (std::int64_t row = 0; row < p.m; ++row) {
                const std::int64_t at = column * p.strideD + row;
                float sum = 0;
                for (std::int64_t i = 0; i < p.k; ++i)
                    sum += read(a, p.input, p.transposeA ? row * p.strideA + i : i * p.strideA + row) *
                           read(b, p.input, p.transposeB ? i * p.strideB + column : column * p.strideB + i);
                sum += p.bias ? read(bias, p.output, row) : 0;
                sum += p.accumulate ? read(d, p.output, at) : 0;
                if (p.output == DType::bf16)
                    static_cast<Bfloat16*>(d)[at] = toBfloat(sum);
                else
                    static_cast<float*>(d)[at] = sum;
            }
    }
};

} // namespace

std::unique_ptr<Matmul> makeMatmul(int, bool)
{
    return std::make_unique<EmulatedMatmul>();
}

} // namespace live::cuda
