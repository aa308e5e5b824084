#include "live/kernels/cuda/gpu_device.h"

#include "live/kernels/cuda/runtime.h"
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
        throw sim::Error(m_info.name + " (GPU " + std::to_string(m_gpu) + ") cannot give " + std::to_string(bytes >> 20) +
                         " MiB in one piece: " + std::to_string(freeMemory() >> 20) + " of " +
                         std::to_string(m_info.memoryBytes >> 20) +
                         " MiB are free. Use a smaller micro-batch, recomputation, a higher ZeRO stage, or more GPUs.");
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
