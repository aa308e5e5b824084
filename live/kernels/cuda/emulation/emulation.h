// CUDA's words for kernels, on the CPU: the threads of a block are fibers, blocks run one after the other, warps exchange values
// where all their lanes meet. Slow, and exact in what it checks: indices, tails, barriers that not all threads reach (an error),
// shared memory that nobody wrote (not a number), copies that nobody waited for or that come before the last reader (they happen
// as late as they may in every other block, at once in the rest).
//
// For tests; never part of the program. One block at a time in the whole process (a lock).
#pragma once

#include "live/kernels/cuda/runtime.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's words
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
// NOLINTEND(bugprone-reserved-identifier)

namespace live::cuda {

struct Index3 {
    unsigned x = 0, y = 0, z = 0;
};
extern Index3 threadIdx, blockIdx, blockDim, gridDim; // NOLINT(readability-identifier-naming): CUDA's words

namespace emulation {

/// Runs `thread` for every thread of every block.
void run(Grid grid, int threads, std::size_t sharedBytes, const std::function<void()>& thread);

/// Does what a launch asks for: at once, or, while launches are captured, when their graph is started.
void perform(std::function<void()> work);

inline constexpr std::size_t kSlotBytes = 64;
/// Gives the warp this lane's bytes; returns where those of all lanes lie, kSlotBytes apart, until its next exchange.
const std::byte* exchange(const void* mine, std::size_t bytes);

template <class T>
T ofLane(const std::byte* slots, int lane)
{
    T value;
    std::memcpy(&value, slots + static_cast<std::size_t>(lane) * kSlotBytes, sizeof value);
    return value;
}

void waitCopies(int pending);

} // namespace emulation

unsigned char* sharedMemory();
void syncBlock();
void syncWarp();

template <class T>
T shuffle(T value, int lane)
{
    return emulation::ofLane<T>(emulation::exchange(&value, sizeof value), lane);
}
template <class T>
T shuffleXor(T value, int mask)
{
    return shuffle(value, static_cast<int>(threadIdx.x % 32) ^ mask);
}

inline void atomicAddInteger(std::int64_t* to, std::int64_t value)
{
    *to += value;
}
inline void atomicAddInteger(std::int32_t* to, std::int32_t value)
{
    *to += value;
}
inline float fastExp2(float x)
{
    return std::exp2(x);
}

void multiplyTile(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
void loadTiles(std::uint32_t (&tiles)[4], const void* row);
void loadTilesTransposed(std::uint32_t (&tiles)[4], const void* row);
void copyAsync16(void* to, const void* from, bool inside);
void commitCopies();
template <int kPending>
void waitCopies()
{
    emulation::waitCopies(kPending);
}
std::uint32_t packBfloat(float low, float high);

template <class... Parameters>
void startKernel(Stream /*stream*/, Grid grid, int threads, std::size_t sharedBytes, void (*kernel)(Parameters...),
                 const std::type_identity_t<Parameters>&... arguments)
{
    emulation::perform([=] { emulation::run(grid, threads, sharedBytes, [&] { kernel(arguments...); }); });
}

} // namespace live::cuda
