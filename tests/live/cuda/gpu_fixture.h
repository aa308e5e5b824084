// The GPU's device beside the CPU's: the same inputs go to both, results are compared. Where RANKSCOPE_TEST_ON_GPU is set the GPU
// is real, from the module, and tests skip where there is none; else it is emulated.
#pragma once

#include "live/kernels/device.h"
#ifdef RANKSCOPE_TEST_ON_GPU
#include "live/kernels/modules.h"
#else
#include "live/kernels/cuda/cuda_device.h"
#endif

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <list>
#include <random>
#include <string>
#include <vector>

namespace live {

inline std::unique_ptr<Device> gpuForTests(DType type, std::string* why)
{
#ifdef RANKSCOPE_TEST_ON_GPU
    const auto* const module = static_cast<const CudaModule*>(loadModule("rankscope_live_cuda", "rankscopeCudaModule", why));
    return module && module->gpuCount(why) > 0 ? module->makeDevice(0, type) : nullptr;
#else
    why->clear();
    return cuda::makeCudaDevice(0, type);
#endif
}

inline float roundedToBfloat(float value)
{
    auto word = std::bit_cast<std::uint32_t>(value);
    word += 0x7FFF + (word >> 16 & 1);
    return std::bit_cast<float>(word & 0xFFFF0000U);
}

/// One tensor on both devices.
struct Twin {
    Tensor cpu, gpu;
    Twin rowRange(std::int64_t first, std::int64_t count) const
    {
        return {cpu.rowRange(first, count), gpu.rowRange(first, count)};
    }
};

class Twins {
public:
    explicit Twins(std::unique_ptr<Device> gpu)
        : m_cpu(makeCpuDevice(DType::f32, nullptr)), m_gpu(std::move(gpu)), m_cpuMemory(*m_cpu), m_gpuMemory(*m_gpu),
          m_cpuQueue(m_cpu->makeQueue()), m_gpuQueue(m_gpu->makeQueue())
    {
    }
    ~Twins() { m_gpuQueue->synchronize(); }
    Twins(const Twins&) = delete;
    Twins& operator=(const Twins&) = delete;

    bool isBfloat() const { return m_gpu->info().activation == DType::bf16; }
    DType activation() const { return m_gpu->info().activation; }
    Queue& cpu() { return *m_cpuQueue; }
    Queue& gpu() { return *m_gpuQueue; }

    /// Activations are bf16 or fp32 on the GPU; all floating types are fp32 on the CPU. `gap` elements lie between rows.
    Twin make(std::int64_t rows, std::int64_t columns, DType type, std::int64_t gap = 0)
    {
        m_arrays.push_back(m_cpuMemory.allocate(type == DType::bf16 ? DType::f32 : type, rows, columns + gap));
        const Tensor cpu = m_arrays.back()->columnRange(0, columns);
        m_arrays.push_back(m_gpuMemory.allocate(type, rows, columns + gap));
        return {cpu, m_arrays.back()->columnRange(0, columns)};
    }
    /// Normal deviates, the same on both.
    Twin random(std::int64_t rows, std::int64_t columns, DType type, std::int64_t gap = 0, float deviation = 1)
    {
        const Twin twin = make(rows, columns, type, gap);
        std::normal_distribution<float> normal(0, deviation);
        std::vector<float> values(static_cast<std::size_t>(rows * columns));
        for (float& value : values)
            value = type == DType::bf16 ? roundedToBfloat(normal(m_random)) : normal(m_random);
        upload(twin, values);
        return twin;
    }
    Twin activations(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0, float deviation = 1)
    {
        return random(rows, columns, activation(), gap, deviation);
    }
    Twin sums(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0) { return random(rows, columns, DType::f32, gap); }
    template <class T>
    Twin integers(std::int64_t rows, std::int64_t columns, const std::vector<T>& values)
    {
        const Twin twin = make(rows, columns, sizeof(T) == 4 ? DType::i32 : DType::i64);
        m_cpuQueue->fromHost(values.data(), twin.cpu);
        m_gpuQueue->fromHost(values.data(), twin.gpu);
        return twin;
    }
    Twin exact(const std::vector<double>& values)
    {
        const Twin twin = make(1, static_cast<std::int64_t>(values.size()), DType::f64);
        m_cpuQueue->fromHost(values.data(), twin.cpu);
        m_gpuQueue->fromHost(values.data(), twin.gpu);
        return twin;
    }
    void upload(const Twin& twin, const std::vector<float>& values)
    {
        m_cpuQueue->fromHost(values.data(), twin.cpu);
        if (twin.gpu.type == DType::bf16) {
            std::vector<std::uint16_t> words;
            words.reserve(values.size());
            for (float value : values)
                words.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(roundedToBfloat(value)) >> 16));
            m_gpuQueue->fromHost(words.data(), twin.gpu);
        } else {
            m_gpuQueue->fromHost(values.data(), twin.gpu);
        }
    }
    template <class T>
    std::vector<T> raw(Queue& queue, const Tensor& tensor)
    {
        std::vector<T> values(static_cast<std::size_t>(tensor.elements()));
        queue.toHost(tensor, values.data());
        return values;
    }
    std::vector<float> values(const Tensor& tensor) // of the GPU
    {
        if (tensor.type != DType::bf16)
            return raw<float>(*m_gpuQueue, tensor);
        std::vector<float> result;
        for (std::uint16_t word : raw<std::uint16_t>(*m_gpuQueue, tensor))
            result.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16));
        return result;
    }

    /// Within `tolerance` of 1 + |value|; that of bf16 where the tensor is bf16, or where what it was made of is.
    void expectSame(const Twin& twin, const std::string& what, float tolerance = 2e-5F, float bfloatTolerance = 2e-2F)
    {
        const float bound = isBfloat() ? bfloatTolerance : tolerance;
        const std::vector<float> expected = raw<float>(*m_cpuQueue, twin.cpu), actual = values(twin.gpu);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const bool same =
                expected[i] == actual[i] || std::abs(expected[i] - actual[i]) <= bound * (1 + std::abs(expected[i]));
            ASSERT_TRUE(same) << what << ", row " << i / static_cast<std::size_t>(twin.cpu.columns) << " column "
                              << i % static_cast<std::size_t>(twin.cpu.columns) << ": " << actual[i] << " instead of "
                              << expected[i];
        }
    }
    template <class T>
    void expectEqual(const Twin& twin, const std::string& what)
    {
        ASSERT_EQ(raw<T>(*m_cpuQueue, twin.cpu), raw<T>(*m_gpuQueue, twin.gpu)) << what;
    }

    std::mt19937& randomness() { return m_random; }

private:
    std::unique_ptr<Device> m_cpu, m_gpu;
    Memory m_cpuMemory, m_gpuMemory;
    std::unique_ptr<Queue> m_cpuQueue, m_gpuQueue;
    std::list<Array> m_arrays;
    std::mt19937 m_random{1};
};

/// A test for each activation type.
class OnGpu : public testing::TestWithParam<DType> {
protected:
    void SetUp() override
    {
        std::string why;
        std::unique_ptr<Device> device = gpuForTests(GetParam(), &why);
        if (!device)
            GTEST_SKIP() << "no GPU to test on: " << why;
        m_twins = std::make_unique<Twins>(std::move(device));
    }
    Twins& twins() { return *m_twins; }
    Queue& cpu() { return m_twins->cpu(); }
    Queue& gpu() { return m_twins->gpu(); }
    /// The same call on both queues.
    template <class Function>
    void both(const Function& f)
    {
        f(cpu(), [](const Twin& twin) -> const Tensor& { return twin.cpu; });
        f(gpu(), [](const Twin& twin) -> const Tensor& { return twin.gpu; });
    }

private:
    std::unique_ptr<Twins> m_twins;
};

} // namespace live
