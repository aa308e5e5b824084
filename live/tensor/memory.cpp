#include "live/tensor/memory.h"

#include "sim/error.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <string>

namespace live {
namespace {

/// What stays for the whole run is as large as it must be. The rest is rounded up to one of eight sizes an octave (at most an
/// eighth more): experts get other numbers of rows in every micro-batch, and blocks of one must do for the next.
std::size_t blockBytes(const Tensor& tensor, MemoryUse use)
{
    constexpr std::size_t kSmallest = 256, kSizesOfOctave = 8;
    const bool stays = use == MemoryUse::parameters || use == MemoryUse::gradients || use == MemoryUse::optimizer;
    const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(tensor.bytes()), 1);
    const std::size_t granule = stays ? kSmallest : std::max(kSmallest, std::bit_floor(bytes) / kSizesOfOctave);
    return (bytes + granule - 1) / granule * granule;
}

} // namespace

std::string pieceText(std::uint64_t bytes)
{
    constexpr std::uint64_t kKib = 1 << 10, kMib = kKib << 10;
    return bytes < kMib ? std::to_string((bytes + kKib - 1) / kKib) + " KiB" : std::to_string(bytes / kMib) + " MiB";
}

void Array::reset()
{
    if (m_memory)
        m_memory->release(m_tensor, m_use);
    m_memory = nullptr;
    m_tensor = {};
}

Memory::~Memory()
{
    giveBack(std::numeric_limits<std::int64_t>::max());
}

Array Memory::allocate(DType type, std::int64_t rows, std::int64_t columns, MemoryUse use)
{
    Tensor tensor{nullptr, type, rows, columns, columns};
    tensor.data = take(blockBytes(tensor, use));
    count(use, tensor.bytes());
    return {this, tensor, use};
}

void* Memory::take(std::size_t bytes)
{
    if (const auto unused = m_free.find(bytes); unused != m_free.end() && !unused->second.empty()) {
        void* const block = unused->second.back().block;
        unused->second.pop_back();
        return block;
    }
    void* block = nullptr;
    try {
        block = m_source.allocate(bytes);
    } catch (const sim::Error&) {
        const std::int64_t before = m_reserved;
        if (m_prepare)
            m_prepare();
        giveBack(std::numeric_limits<std::int64_t>::max());
        if (m_reserved == before)
            throw;
        block = m_source.allocate(bytes);
    }
    m_reserved += static_cast<std::int64_t>(bytes);
    m_peakReserved = std::max(m_peakReserved, m_reserved);
    return block;
}

void Memory::release(const Tensor& tensor, MemoryUse use) noexcept
{
    m_free[blockBytes(tensor, use)].push_back({tensor.data, m_step});
    count(use, -tensor.bytes());
}

void Memory::endStep()
{
    ++m_step;
    giveBack(m_step - kKeptSteps);
    // In whatever order a step frees its blocks, the next one takes them in the same.
    for (auto& [bytes, blocks] : m_free)
        std::sort(blocks.begin(), blocks.end(), [](const Unused& a, const Unused& b) { return std::less<>()(a.block, b.block); });
}

void Memory::giveBack(std::int64_t freedBefore) noexcept
{
    for (auto next = m_free.begin(); next != m_free.end();) {
        const auto size = next++;
        auto& [bytes, blocks] = *size;
        auto kept = blocks.begin();
        for (const Unused& unused : blocks) {
            if (unused.since >= freedBefore) {
                *kept++ = unused;
                continue;
            }
            m_source.release(unused.block, bytes);
            m_reserved -= static_cast<std::int64_t>(bytes);
        }
        blocks.erase(kept, blocks.end());
        if (blocks.empty())
            m_free.erase(size);
    }
}

void Memory::count(MemoryUse use, std::int64_t bytes)
{
    m_held[static_cast<std::size_t>(use)] += bytes;
    m_total += bytes;
    if (m_total > m_peak) {
        m_peak = m_total;
        m_atPeak = m_held;
    }
    if (m_report && bytes != 0)
        m_report(m_total);
}

} // namespace live
