// Memory of the machine's GPUs: who has it, and the check of every access to it.
#include "live/emulated/machine_parts.h"
#include "sim/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <iterator>

namespace live::emulated {

void* Machine::allocate(int gpu, std::size_t bytes)
{
    constexpr std::size_t kAlignment = 256;
    const std::lock_guard lock(m_mutex);
    Gpu& on = m_gpus.at(static_cast<std::size_t>(gpu));
    const std::size_t size = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    if (on.bytesUsed + static_cast<std::int64_t>(size) > m_options.memoryBytes)
        return nullptr;
    auto block = std::make_unique<Block>();
    block->data = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (!block->data)
        return nullptr;
    std::fill_n(block->data, size, std::byte{0xFF}); // not a number: what is read before it is written shows
    block->bytes = size;
    block->gpu = gpu;
    on.bytesUsed += static_cast<std::int64_t>(size);
    std::byte* const data = block->data;
    m_blocks.emplace(data, std::move(block));
    return data;
}

void Machine::release(void* data) noexcept
{
    if (!data)
        return;
    try {
        Lock lock(m_mutex);
        const Block* const block = blockOf(data);
        if (!block)
            return fail("memory was released that no GPU has given");
        Gpu& gpu = m_gpus[static_cast<std::size_t>(block->gpu)];
        const bool isBusy =
            std::any_of(gpu.streams.begin(), gpu.streams.end(), [](const auto& stream) { return stream->pending > 0; });
        if (m_failure.empty() && isBusy) { // as cudaFree
            try {
                waitForGpu(lock, self(lock), block->gpu, "releases memory");
            } catch (const sim::Error&) { // NOLINT(bugprone-empty-catch): it is kept as the machine's failure
            }
        }
        gpu.bytesUsed -= static_cast<std::int64_t>(block->bytes);
        m_blocks.erase(static_cast<const std::byte*>(data));
    } catch (const std::exception&) {
        std::terminate();
    }
}

void Machine::waitForGpu(Lock& lock, Host& host, int gpu, const std::string& does)
{
    const std::vector<std::unique_ptr<Stream>>& streams = m_gpus[static_cast<std::size_t>(gpu)].streams;
    const auto busy = [&] {
        return std::find_if(streams.begin(), streams.end(), [](const auto& stream) { return stream->pending > 0; });
    };
    waitUntil(
        lock, host, [&] { return busy() == streams.end(); },
        [&] {
            const Operation* const oldest = oldestOf(**busy());
            return Wait{oldest, -1, does + ", which waits for all of its GPU: for " + nameOf(*oldest)};
        });
    for (const auto& stream : streams)
        learn(host, stream->clock);
}

std::size_t Machine::freeBytes(int gpu) const
{
    const std::lock_guard lock(m_mutex);
    return static_cast<std::size_t>(m_options.memoryBytes - m_gpus.at(static_cast<std::size_t>(gpu)).bytesUsed);
}

Machine::Block* Machine::blockOf(const void* address) const
{
    const auto* const place = static_cast<const std::byte*>(address);
    const auto after = m_blocks.upper_bound(place);
    if (after == m_blocks.begin())
        return nullptr;
    Block* const block = std::prev(after)->second.get();
    return place < block->data + block->bytes ? block : nullptr;
}

bool Machine::isOnDevice(const void* address) const
{
    const std::lock_guard lock(m_mutex);
    return blockOf(address) != nullptr;
}

void Machine::allowPeer(int gpu, int other)
{
    const std::lock_guard lock(m_mutex);
    m_gpus.at(static_cast<std::size_t>(gpu)).peers.insert(other);
}

void Machine::check(const Operation& operation, const Clock& clock)
{
    const Stream& stream = *operation.stream;
    const Epoch epoch{stream.timeline, stream.ticks, operation.name, operation.number};
    for (const Access& access : operation.accesses) {
        if (!access.begin || access.bytes == 0)
            continue;
        Block* const block = blockOf(access.begin);
        const std::byte* const end = access.begin + (access.rows - 1) * access.stride + access.bytes;
        if (!block || end > block->data + block->bytes)
            throw sim::Error(nameOf(operation) + (access.writes ? " writes" : " reads") +
                             " memory that no GPU has given, or that was released");
        if (block->gpu != stream.gpu && !m_gpus[static_cast<std::size_t>(stream.gpu)].peers.contains(block->gpu))
            throw sim::Error(nameOf(operation) + " reaches for memory of GPU " + std::to_string(block->gpu) +
                             ", which it was not allowed to");
        for (std::size_t row = 0; row < access.rows; ++row) {
            const auto first = static_cast<std::size_t>(access.begin - block->data) + row * access.stride;
            const auto conflict = block->shadow.touch(first, first + access.bytes, access.writes, epoch, clock);
            if (!conflict)
                continue;
            throw sim::Error("a race: " + nameOf(operation) + (access.writes ? " writes" : " reads") + " bytes " +
                             std::to_string(std::max(first, conflict->first)) + " to " +
                             std::to_string(std::min(first + access.bytes - 1, conflict->last)) + " of a block of " +
                             std::to_string(block->bytes) + " bytes, which " + text(conflict->other) +
                             (conflict->otherWrites ? " writes" : " reads") + ", and no event orders the two");
        }
    }
}

} // namespace live::emulated
