// What a GPU's device is besides its kernels: its memory, and what is told of it.
#pragma once

#include "live/kernels/device.h"

#include <string>

namespace live::cuda {

class GpuDevice : public Device {
public:
    GpuDevice(int gpu, std::string kind, DType activation, DType accumulation);

    const DeviceInfo& info() const override { return m_info; }
    std::optional<std::int64_t> freeBytes() const override;
    /// Of the GPU's, in one piece; throws sim::Error with what is free.
    void* allocate(std::size_t bytes) override;
    /// Waits for the GPU.
    void release(void* block, std::size_t bytes) noexcept override;

protected:
    const int m_gpu;

private:
    DeviceInfo m_info;
};

} // namespace live::cuda
