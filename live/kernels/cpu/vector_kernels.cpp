#include "live/kernels/cpu/vector_kernels.h"

namespace live::cpu {

// vector_kernels_*.cpp
#ifdef LIVE_VECTOR_X86
namespace avx512 {
template <class T>
VectorKernels<T> kernels(const char* name);
}
namespace avx2 {
template <class T>
VectorKernels<T> kernels(const char* name);
}
#endif
namespace plain {
template <class T>
VectorKernels<T> kernels(const char* name);
}

template <class T>
const std::vector<VectorKernels<T>>& runnableVectorKernels()
{
    static const std::vector<VectorKernels<T>> runnable = [] {
        std::vector<VectorKernels<T>> sets;
#ifdef LIVE_VECTOR_X86
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl"))
            sets.push_back(avx512::kernels<T>("AVX-512"));
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            sets.push_back(avx2::kernels<T>("AVX2"));
#endif
        sets.push_back(plain::kernels<T>("128-bit vectors"));
        return sets;
    }();
    return runnable;
}

template const std::vector<VectorKernels<float>>& runnableVectorKernels();
template const std::vector<VectorKernels<double>>& runnableVectorKernels();

} // namespace live::cpu
