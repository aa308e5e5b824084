#include "live/tensor/memory.h"

#include <algorithm>

namespace live {
namespace {

/// Blocks are reused by exact size; rounding keeps the number of sizes small.
std::size_t blockBytes(const Tensor& tensor)
{
    constexpr std::size_t kGranule = 256;
    const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(tensor.bytes()), 1);
    return (bytes + kGranule - 1) / kGranule * kGranule;
}

} // namespace

void Array::reset()
{
    if (m_memory)
        m_memory->release(m_tensor, m_use);
    m_memory = nullptr;
    m_tensor = {};
}

Memory::~Memory()
{
    for (const auto& [bytes, blocks] : m_free)
        for (void* block : blocks)
            m_source.release(block, bytes);
}

Array Memory::allocate(DType type, std::int64_t rows, std::int64_t columns, MemoryUse use)
{
    Tensor tensor{nullptr, type, rows, columns, columns};
    const std::size_t bytes = blockBytes(tensor);
    auto& blocks = m_free[bytes];
    if (blocks.empty()) {
        tensor.data = m_source.allocate(bytes);
    } else {
        tensor.data = blocks.back();
        blocks.pop_back();
    }
    count(use, tensor.bytes());
    return {this, tensor, use};
}

void Memory::release(const Tensor& tensor, MemoryUse use) noexcept
{
    m_free[blockBytes(tensor)].push_back(tensor.data);
    count(use, -tensor.bytes());
}

void Memory::count(MemoryUse use, std::int64_t bytes)
{
    m_held[static_cast<std::size_t>(use)] += bytes;
    m_total += bytes;
    m_peak = std::max(m_peak, m_total);
    if (m_report && bytes != 0)
        m_report(m_total);
}

} // namespace live
