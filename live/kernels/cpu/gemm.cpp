#include "live/kernels/cpu/gemm.h"

#include <algorithm>
#include <cblas.h>

namespace live::cpu {
namespace {

CBLAS_TRANSPOSE flag(Transposed transposed)
{
    return transposed == Transposed::yes ? CblasTrans : CblasNoTrans;
}

/// OpenBLAS must not start threads of its own: workers are ours. Its OpenMP flavour keeps the number per calling thread.
void useOneThread()
{
    thread_local const bool set = [] {
        openblas_set_num_threads(1);
        return true;
    }();
    static_cast<void>(set);
}

} // namespace

template <class T>
void multiply(Transposed transposeA, Transposed transposeB, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
              std::int64_t strideA, const T* b, std::int64_t strideB, bool add, T* c, std::int64_t strideC)
{
    if (m == 0 || n == 0)
        return;
    if (k == 0) {
        for (std::int64_t row = 0; !add && row < m; ++row)
            std::fill_n(c + row * strideC, n, T{0});
        return;
    }
    useOneThread();
    const auto integer = [](std::int64_t value) { return static_cast<blasint>(value); };
    // A row's stride may be anything where there is one row only; BLAS checks it all the same.
    const auto lead = [&](std::int64_t stride, std::int64_t columns) { return integer(std::max(stride, columns)); };
    const auto leadA = lead(strideA, transposeA == Transposed::yes ? m : k);
    const auto leadB = lead(strideB, transposeB == Transposed::yes ? k : n);
    if constexpr (std::is_same_v<T, float>)
        cblas_sgemm(CblasRowMajor, flag(transposeA), flag(transposeB), integer(m), integer(n), integer(k), alpha, a, leadA, b,
                    leadB, add ? 1.0F : 0.0F, c, lead(strideC, n));
    else
        cblas_dgemm(CblasRowMajor, flag(transposeA), flag(transposeB), integer(m), integer(n), integer(k), alpha, a, leadA, b,
                    leadB, add ? 1.0 : 0.0, c, lead(strideC, n));
}

template <class T>
void multiply(const Parallel& parallel, Transposed transposeA, Transposed transposeB, std::int64_t m, std::int64_t n,
              std::int64_t k, const T* a, std::int64_t strideA, const T* b, std::int64_t strideB, bool add, T* c,
              std::int64_t strideC)
{
    // Pieces of columns of C; large enough that packing the other matrix again for each is cheap.
    constexpr std::int64_t kColumns = 384;
    parallel.over(n, kColumns, [&](std::int64_t first, std::int64_t last) {
        multiply<T>(transposeA, transposeB, m, last - first, k, T{1}, a, strideA,
                    transposeB == Transposed::yes ? b + first * strideB : b + first, strideB, add, c + first, strideC);
    });
}

template void multiply(Transposed, Transposed, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                       const float*, std::int64_t, bool, float*, std::int64_t);
template void multiply(Transposed, Transposed, std::int64_t, std::int64_t, std::int64_t, double, const double*, std::int64_t,
                       const double*, std::int64_t, bool, double*, std::int64_t);
template void multiply(const Parallel&, Transposed, Transposed, std::int64_t, std::int64_t, std::int64_t, const float*,
                       std::int64_t, const float*, std::int64_t, bool, float*, std::int64_t);
template void multiply(const Parallel&, Transposed, Transposed, std::int64_t, std::int64_t, std::int64_t, const double*,
                       std::int64_t, const double*, std::int64_t, bool, double*, std::int64_t);

} // namespace live::cpu
