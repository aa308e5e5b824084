// Matrix products on a GPU. Matrices are column-major here, as in BLAS: a row-major matrix is its own transpose.
#pragma once

#include "live/kernels/cuda/runtime.h"
#include "live/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace live::cuda {

/// d [m, n] = op(a) [m, k] op(b) [k, n] (+ bias [m] on each column) (+ d).
struct MatmulProblem {
    std::int64_t m = 0, n = 0, k = 0;
    bool transposeA = false, transposeB = false;
    std::int64_t strideA = 0, strideB = 0, strideD = 0; ///< elements from one column to the next, as stored
    DType input = DType::f32, output = DType::f32;      ///< of a, b; of bias, d
    bool accumulate = false, bias = false;
    std::uint32_t alignmentA = 16, alignmentB = 16, alignmentD = 16; ///< bytes

    auto operator<=>(const MatmulProblem&) const = default;
};

struct Workspace {
    void* data = nullptr;
    std::size_t bytes = 0;
};

/// One a GPU; keeps the algorithms of the shapes it met lately, so that all ranks use the same one. Any thread.
class Matmul {
public:
    virtual ~Matmul() = default;
    virtual std::size_t workspaceBytes() const = 0;
    /// Whether multiply() will return true; nothing is put on a stream. Only for problems with bias: all others can be
    /// multiplied.
    virtual bool canMultiply(const Workspace&, const MatmulProblem&, const void* bias) = 0;
    /// False if there is no algorithm for it (only with bias: then add it apart).
    virtual bool multiply(Stream, const Workspace&, const MatmulProblem&, const void* a, const void* b, const void* bias,
                          void* d) = 0;
};

/// `tune`: time the candidates where a shape is met first instead of trusting the library's order. Runs may then differ in the
/// last bits.
std::unique_ptr<Matmul> makeMatmul(int gpu, bool tune);

} // namespace live::cuda
