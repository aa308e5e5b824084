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
const VectorKernels<T>& vectorKernels()
{
    static const VectorKernels<T> best = [] {
#ifdef LIVE_VECTOR_X86
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512vl"))
            return avx512::kernels<T>("AVX-512");
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
            return avx2::kernels<T>("AVX2");
#endif
        return plain::kernels<T>("128-bit vectors");
    }();
    return best;
}

template const VectorKernels<float>& vectorKernels();
template const VectorKernels<double>& vectorKernels();

} // namespace live::cpu
