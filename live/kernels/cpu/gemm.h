// Matrix products.
#pragma once

#include "live/kernels/cpu/matrix.h"

namespace live::cpu {

enum class Transposed : bool { no, yes };

/// C = (or +=, if `add`) alpha A B, where A is [m, k] and B is [k, n] after their transposition. On the calling thread.
template <class T>
void multiply(Transposed transposeA, Transposed transposeB, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
              std::int64_t strideA, const T* b, std::int64_t strideB, bool add, T* c, std::int64_t strideC);

/// The same with the rows and columns of C spread over workers.
template <class T>
void multiply(const Parallel&, Transposed transposeA, Transposed transposeB, std::int64_t m, std::int64_t n, std::int64_t k,
              const T* a, std::int64_t strideA, const T* b, std::int64_t strideB, bool add, T* c, std::int64_t strideC);

} // namespace live::cpu
