// A rank's memory: allocates from a device, keeps freed blocks for the next request of their size class (fresh pages cost more
// than the kernels that fill them) until they have lain unused for some steps, and counts what is held, by what it is for.
#pragma once

#include "live/tensor/tensor.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace live {

/// The columns of the simulator's memory breakdown.
enum class MemoryUse : std::uint8_t { parameters, gradients, optimizer, activations, buffers };
inline constexpr int kMemoryUseCount = 5;

/// Where bytes come from: a device's allocator. release() never throws.
class MemorySource {
public:
    virtual ~MemorySource() = default;
    /// 64-byte aligned (256 on a GPU). Throws sim::Error with the sizes when there is not enough.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void*, std::size_t bytes) noexcept = 0;
};

/// "300 KiB", "12 MiB": of pieces of memory.
std::string pieceText(std::uint64_t bytes);

class Memory;

/// Owns a tensor's bytes. Gives them back to its Memory, which must outlive it.
class Array {
public:
    Array() = default;
    Array(Array&& other) noexcept
        : m_memory(std::exchange(other.m_memory, nullptr)), m_tensor(std::exchange(other.m_tensor, {})), m_use(other.m_use)
    {
    }
    Array& operator=(Array&& other) noexcept
    {
        std::swap(m_memory, other.m_memory);
        std::swap(m_tensor, other.m_tensor);
        std::swap(m_use, other.m_use);
        return *this;
    }
    ~Array() { reset(); }
    void reset();
    const Tensor& tensor() const { return m_tensor; }
    operator const Tensor&() const { return m_tensor; } // NOLINT(google-explicit-constructor): an Array is used as its tensor
    const Tensor* operator->() const { return &m_tensor; }
    explicit operator bool() const { return m_tensor.data != nullptr; }

private:
    friend class Memory;
    Array(Memory* memory, Tensor tensor, MemoryUse use) : m_memory(memory), m_tensor(tensor), m_use(use) {}
    Memory* m_memory = nullptr;
    Tensor m_tensor;
    MemoryUse m_use = MemoryUse::activations;
};

/// One thread at a time (a rank is one task).
class Memory {
public:
    explicit Memory(MemorySource& source) : m_source(source) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// Contents are undefined. A tensor of no elements takes no memory but has a data pointer. Where the source has nothing
    /// left, all unused blocks go back to it first.
    Array allocate(DType, std::int64_t rows, std::int64_t columns, MemoryUse = MemoryUse::activations);
    /// Between steps: gives back to the source what none of the last kKeptSteps steps needed. A step that asks for the same as
    /// the one before gets the same blocks: launches of both are equal then (LaunchBatches).
    void endStep();
    static constexpr std::int64_t kKeptSteps = 4;

    std::int64_t held(MemoryUse use) const { return m_held[static_cast<std::size_t>(use)]; }
    std::int64_t held() const { return m_total; }
    /// Largest held() since the last resetPeak().
    std::int64_t peak() const { return m_peak; }
    void resetPeak()
    {
        m_peak = m_total;
        m_atPeak = m_held;
    }
    /// What peak() was made of, by use.
    const std::array<std::int64_t, kMemoryUseCount>& atPeak() const { return m_atPeak; }
    /// Taken from the source: held, unused, and what rounding to size classes adds.
    std::int64_t reserved() const { return m_reserved; }
    std::int64_t peakReserved() const { return m_peakReserved; }
    /// Called before blocks go back to the source in the middle of a step: what uses them must have begun.
    void beforeGivingBack(std::function<void()> prepare) { m_prepare = std::move(prepare); }
    /// Called after each change of held() by at least 1 byte, with the new total.
    void onChange(std::function<void(std::int64_t)> report) { m_report = std::move(report); }

private:
    friend class Array;
    struct Unused {
        void* block;
        std::int64_t since; ///< step
    };
    void release(const Tensor&, MemoryUse) noexcept;
    void* take(std::size_t bytes);
    /// Of the unused ones those that were freed before a step.
    void giveBack(std::int64_t freedBefore) noexcept;
    void count(MemoryUse, std::int64_t bytes);

    MemorySource& m_source;
    std::map<std::size_t, std::vector<Unused>> m_free; ///< by size of the block; the last one freed is used first
    std::array<std::int64_t, kMemoryUseCount> m_held{}, m_atPeak{};
    std::int64_t m_total = 0, m_peak = 0, m_reserved = 0, m_peakReserved = 0;
    std::int64_t m_step = 0;
    std::function<void()> m_prepare;
    std::function<void(std::int64_t)> m_report;
};

} // namespace live
