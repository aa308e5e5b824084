#include "live/kernels/cuda/cuda_device.h"

#include "live/kernels/cuda/cuda_queue.h"
#include "live/kernels/cuda/gpu_device.h"
#include "live/kernels/cuda/profiler.h"
#include "live/kernels/cuda/settings.h"
#include "sim/error.h"

namespace live::cuda {
namespace {

/// 32 rows are faster by a sixth with heads of 64 and a sixteenth with heads of 128 on an H100; other GPUs have not been asked.
AttentionTiles tilesFor(const GpuProperties& gpu)
{
    const AttentionTiles wanted = said("RANKSCOPE_CUDA_ATTENTION_ROWS") == "16" ? AttentionTiles::rows16 : AttentionTiles::rows32;
    return tilesThatFit(wanted, gpu.sharedBytesOfBlock);
}

class CudaDevice final : public GpuDevice {
public:
    CudaDevice(int gpu, DType activation)
        : GpuDevice(gpu, "cuda", activation, DType::f32), m_matmul(makeMatmul(gpu, wantsTuning())),
          m_tiles(tilesFor(gpuProperties(gpu)))
    {
    }
    std::unique_ptr<Queue> makeQueue() override
    {
        return std::make_unique<CudaQueue>(m_gpu, *m_matmul, m_grouping, m_tiles, m_batches);
    }
    /// Kernels of a graph do not say which operation launched them.
    KernelTimes* timeKernels(std::string* why) override
    {
        m_batches = {};
        return cuda::timeKernels(why);
    }

private:
    std::unique_ptr<Matmul> m_matmul;
    const Grouping m_grouping = groupingWanted();
    const AttentionTiles m_tiles;
    /// Candidates are timed one by one.
    BatchRule m_batches = wantsTuning() ? BatchRule{} : batchesWanted();
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
