// The inner loops, compiled once for each instruction set and chosen when the program starts. They work on plain ranges in
// memory and know nothing of tensors or workers.
#pragma once

#include "live/kernels/cpu/gemm.h"
#include "live/kernels/device.h"

#include <cstdint>
#include <vector>

namespace live::cpu {

/// A product's operands; see multiply() in gemm.h.
template <class T>
struct Product {
    Transposed transposeA, transposeB;
    std::int64_t m, n, k;
    T alpha;
    const T* a;
    std::int64_t strideA;
    const T* b;
    std::int64_t strideB;
    bool add;
    T* c;
    std::int64_t strideC;
};

template <class T>
struct AdamwFactors {
    T decay, rate, correction, beta1, beta2, rest1, rest2, epsilon, clip;
};

template <class T>
struct VectorKernels {
    const char* name; ///< of the instruction set
    std::int64_t tileRows, tileColumns;

    /// Elements of scratch that product() needs.
    std::int64_t (*productScratch)(const Product<T>&);
    /// Each element of C is one chain of multiply-adds in the order of k, cut at multiples of a fixed length: its bits do not
    /// depend on what other elements are computed with it. `scratch` is 64-byte aligned.
    void (*product)(const Product<T>&, T* scratch);

    T (*maximum)(const T* x, std::int64_t count); ///< -infinity of nothing
    T (*dot)(const T* a, const T* b, std::int64_t count);
    void (*scale)(T* x, T factor, std::int64_t count);
    /// x becomes exp(x - shift); returns their sum.
    T (*exponentials)(T* x, T shift, std::int64_t count);
    /// p becomes exp(p - logSumExp); s becomes p (s - product).
    void (*attentionSlopes)(T* p, T* s, T logSumExp, T product, std::int64_t count);

    void (*activation)(ActivationFunction, const T* x, T* y, std::int64_t count);
    void (*activationGradient)(ActivationFunction, const T* x, const T* dy, T* dx, std::int64_t count);
    void (*gatedActivation)(ActivationFunction, const T* gate, const T* up, T* y, std::int64_t count);
    void (*gatedActivationGradient)(ActivationFunction, const T* gate, const T* up, const T* dy, T* dGate, T* dUp,
                                    std::int64_t count);

    /// One row; bias may be null. statistics: mean and 1 / deviation.
    void (*norm)(const NormRule&, const T* x, const T* gain, const T* bias, T* y, T* statistics, std::int64_t count);
    void (*normGradient)(NormKind, const T* dy, const T* x, const T* gain, const T* statistics, T* dx, std::int64_t count);
    /// sums += dy * normalised x.
    void (*addGainGradient)(const T* dy, const T* x, const T* statistics, T* sums, std::int64_t count);
    void (*addTo)(const T* x, T* sums, std::int64_t count); ///< sums += x

    void (*adamw)(const AdamwFactors<T>&, const T* gradient, T* firstMoment, T* secondMoment, T* master, std::int64_t count);
    /// In double; eight interleaved sums. At most 64 elements.
    double (*sumOfSquares)(const T* x, std::int64_t count);
};

/// Those that this processor runs, the best first.
template <class T>
const std::vector<VectorKernels<T>>& runnableVectorKernels();

template <class T>
const VectorKernels<T>& vectorKernels()
{
    static const VectorKernels<T>& best = runnableVectorKernels<T>().front();
    return best;
}

} // namespace live::cpu
