#include "live/kernels/cuda/gpu_device.h"

#include "live/kernels/cuda/runtime.h"
#include "live/tensor/memory.h"
#include "sim/error.h"

#include <utility>

namespace live::cuda {

GpuDevice::GpuDevice(int gpu, std::string kind, DType activation, DType accumulation) : m_gpu(gpu)
{
    const GpuProperties properties = gpuProperties(gpu);
    m_info.kind = std::move(kind);
    m_info.name = properties.name;
    m_info.activation = activation;
    m_info.accumulation = accumulation;
    m_info.memoryBytes = properties.memoryBytes;
    m_info.runsBeside = true;
}

void* GpuDevice::allocate(std::size_t bytes)
{
    makeCurrent(m_gpu);
    void* const block = allocateMemory(bytes);
    if (!block)
        throw sim::Error(m_info.name + " (GPU " + std::to_string(m_gpu) + ") cannot give " + pieceText(bytes) +
                         " in one piece: " + pieceText(freeMemory()) + " of " +
                         pieceText(static_cast<std::size_t>(m_info.memoryBytes)) +
                         " are free. Use a smaller micro-batch, recomputation, a higher ZeRO stage, or more GPUs.");
    return block;
}

std::optional<std::int64_t> GpuDevice::freeBytes() const
{
    makeCurrent(m_gpu);
    return static_cast<std::int64_t>(freeMemory());
}

void GpuDevice::release(void* block, std::size_t /*bytes*/) noexcept
{
    releaseMemory(block);
}

} // namespace live::cuda
