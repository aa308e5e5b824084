// What kernels are written in. nvcc compiles them for GPUs; any other compiler compiles the same text for emulation/, which runs
// a block's threads as fibers on the CPU, so that kernels are tested where there is no GPU.
//
// Besides CUDA's own words kernels use only what is declared here; each has its twin in emulation/emulation.h.
#pragma once

#include "live/kernels/cuda/launcher.h"

#include <cstdint>
#include <type_traits>

#ifndef __CUDACC__
#include "live/kernels/cuda/emulation/emulation.h"
#else

namespace live::cuda {

/// The block's dynamic shared memory.
__device__ __forceinline__ unsigned char* sharedMemory()
{
    extern __shared__ __align__(16) unsigned char dynamicSharedMemory[];
    return dynamicSharedMemory;
}
__device__ __forceinline__ void syncBlock()
{
    __syncthreads();
}
__device__ __forceinline__ void syncWarp()
{
    __syncwarp();
}

/// Value of the lane whose number differs in `mask`; of lane `lane`. Whole warps only.
template <class T>
__device__ __forceinline__ T shuffleXor(T value, int mask)
{
    return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}
template <class T>
__device__ __forceinline__ T shuffle(T value, int lane)
{
    return __shfl_sync(0xFFFFFFFFU, value, lane);
}

/// Only integers: their sums do not depend on the order.
__device__ __forceinline__ void atomicAddInteger(std::int64_t* to, std::int64_t value)
{
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}
__device__ __forceinline__ void atomicAddInteger(std::int32_t* to, std::int32_t value)
{
    atomicAdd(to, value);
}

__device__ __forceinline__ float fastExp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Tensor cores and what feeds them (PTX ISA 9.7.15, "matrix fragments for mma.m16n8k16"): compute capability 8.0 and later.
// With g = lane / 4 and t = lane % 4, fragments of two bf16 a register:
//   A [16, 16]: a0 (g, 2t), a1 (g + 8, 2t), a2 (g, 2t + 8), a3 (g + 8, 2t + 8) and the element to the right of each
//   B [16, 8]:  b0 (2t, g), b1 (2t + 8, g) and the element below each
//   D [16, 8]:  d0, d1 (g, 2t), (g, 2t + 1), d2, d3 (g + 8, 2t), (g + 8, 2t + 1)

/// d += a b.
__device__ __forceinline__ void multiplyTile(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/// Four 8 x 8 tiles; lane 8 i + j names row j of tile i (16 bytes, aligned) in shared memory. Register i holds tile i's
/// (g, 2t) and (g, 2t + 1).
__device__ __forceinline__ void loadTiles(std::uint32_t (&tiles)[4], const void* row)
{
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
                 : "r"(address)
                 : "memory");
}
/// The same of the tiles' transposes: (2t, g) and (2t + 1, g).
__device__ __forceinline__ void loadTilesTransposed(std::uint32_t (&tiles)[4], const void* row)
{
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
                 : "r"(address)
                 : "memory");
}
/// 16 bytes from global to shared memory without passing registers; zeros unless `inside` (`from` must be a valid address).
__device__ __forceinline__ void copyAsync16(void* to, const void* from, bool inside)
{
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commitCopies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Until at most kPending of this thread's groups of copies are under way.
template <int kPending>
__device__ __forceinline__ void waitCopies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
/// Two bf16 in one register, `low` in the lower half.
__device__ __forceinline__ std::uint32_t packBfloat(float low, float high)
{
    std::uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

/// Starts a kernel. The stream's device must be current.
template <class... Parameters>
void startKernel(Stream stream, Grid grid, int threads, std::size_t sharedBytes, void (*kernel)(Parameters...),
                 const std::type_identity_t<Parameters>&... arguments)
{
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    launchKernel(stream, grid, threads, sharedBytes, reinterpret_cast<const void*>(kernel), pointers);
}

} // namespace live::cuda

#endif

namespace live::cuda {

template <class... Parameters>
struct KernelCall {
    void (*kernel)(Parameters...);
    Grid grid;
    int threads;
    std::size_t sharedBytes;
    Arguments<Parameters...> arguments;
    void operator()(Stream stream) const
    {
        withArguments(arguments,
                      [&](const Parameters&... each) { startKernel(stream, grid, threads, sharedBytes, kernel, each...); });
    }
};

/// Puts a kernel on a stream or aside. The stream's device must be current.
template <class... Parameters>
void launch(const Launcher& launcher, Grid grid, int threads, std::size_t sharedBytes, void (*kernel)(Parameters...),
            const std::type_identity_t<Parameters>&... arguments)
{
    if (launcher.tape())
        launcher.put(KernelCall<Parameters...>{kernel, grid, threads, sharedBytes, argumentsOf(arguments...)});
    else
        startKernel(launcher.stream(), grid, threads, sharedBytes, kernel, arguments...);
}

} // namespace live::cuda
