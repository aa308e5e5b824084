#include "live/kernels/cuda/cuda_device.h"

#include "live/kernels/cuda/cuda_queue.h"
#include "sim/error.h"

#include <cstdlib>
#include <string_view>

namespace live::cuda {
namespace {

/// Timing the candidates makes products faster and runs unequal in the last bits, so it is asked for.
bool wantsTuning()
{
    const char* const value = std::getenv("RANKSCOPE_CUDA_TUNE"); // NOLINT(concurrency-mt-unsafe): nobody writes it
    return value && std::string_view(value) != "0";
}

class CudaDevice final : public Device {
public:
    CudaDevice(int gpu, DType activation) : m_gpu(gpu), m_matmul(makeMatmul(gpu, wantsTuning()))
    {
        const GpuProperties properties = gpuProperties(gpu);
        m_info.kind = "cuda";
        m_info.name = properties.name;
        m_info.activation = activation;
        m_info.accumulation = DType::f32;
        m_info.memoryBytes = properties.memoryBytes;
    }

    const DeviceInfo& info() const override { return m_info; }
    std::unique_ptr<Queue> makeQueue() override { return std::make_unique<CudaQueue>(m_gpu, *m_matmul); }

    void* allocate(std::size_t bytes) override
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
    void release(void* block, std::size_t /*bytes*/) noexcept override { releaseMemory(block); } // waits for the GPU

private:
    const int m_gpu;
    std::unique_ptr<Matmul> m_matmul;
    DeviceInfo m_info;
};

} // namespace

std::unique_ptr<Device> makeCudaDevice(int gpu, DType activation)
{
    constexpr int kOldestMajor = 8; // bf16 tensor cores and asynchronous copies
    const GpuProperties properties = gpuProperties(gpu);
    if (properties.major < kOldestMajor)
        throw sim::Error(properties.name + " has compute capability " + std::to_string(properties.major) + "." +
                         std::to_string(properties.minor) + "; 8.0 (Ampere) or later is needed. Use the CPU.");
    if (activation != DType::bf16 && activation != DType::f32)
        throw sim::Error(std::string("A GPU computes in bf16 or fp32 here, not in ") + dtypeName(activation) +
                         ". Use the CPU for fp64.");
    return std::make_unique<CudaDevice>(gpu, activation);
}

} // namespace live::cuda
