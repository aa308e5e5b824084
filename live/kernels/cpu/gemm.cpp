#include "live/kernels/cpu/gemm.h"

#include "live/kernels/cpu/vector_kernels.h"

#include <algorithm>
#include <memory>

namespace live::cpu {
namespace {

/// The calling thread's room for packed operands, kept from call to call.
template <class T>
T* packingRoom(std::int64_t elements)
{
    struct Aligned {
        alignas(64) T elements[64 / sizeof(T)];
    };
    thread_local std::unique_ptr<Aligned[]> room;
    thread_local std::int64_t size = 0;
    if (size < elements) {
        constexpr auto kPerBlock = static_cast<std::int64_t>(64 / sizeof(T));
        const std::int64_t blocks = (elements + kPerBlock - 1) / kPerBlock;
        room = std::make_unique_for_overwrite<Aligned[]>(static_cast<std::size_t>(blocks));
        size = blocks * kPerBlock;
    }
    return room[0].elements;
}

std::int64_t roundUp(std::int64_t value, std::int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

} // namespace

template <class T>
void multiply(Transposed transposeA, Transposed transposeB, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
              std::int64_t strideA, const T* b, std::int64_t strideB, bool add, T* c, std::int64_t strideC)
{
    if (k == 0) {
        for (std::int64_t row = 0; !add && row < m; ++row)
            std::fill_n(c + row * strideC, n, T{0});
        return;
    }
    const Product<T> product{transposeA, transposeB, m, n, k, alpha, a, strideA, b, strideB, add, c, strideC};
    const auto& kernels = vectorKernels<T>();
    kernels.product(product, packingRoom<T>(kernels.productScratch(product)));
}

template <class T>
void multiply(const Parallel& parallel, Transposed transposeA, Transposed transposeB, std::int64_t m, std::int64_t n,
              std::int64_t k, const T* a, std::int64_t strideA, const T* b, std::int64_t strideB, bool add, T* c,
              std::int64_t strideC)
{
    // No element's bits depend on the pieces. Large ones pack less, small ones spread better; packed B of a piece must stay in
    // the second cache. Too small to split: some microseconds of work.
    constexpr std::int64_t kLargestColumns = 384, kLargestRows = 1008, kSmallest = 1 << 18;
    const auto& kernels = vectorKernels<T>();
    const std::int64_t workers = parallel.workers();
    const bool split = workers > 1 && m * n * k > kSmallest;
    const std::int64_t rows = std::min(m, kLargestRows), rowPieces = rows > 0 ? (m + rows - 1) / rows : 0;
    const std::int64_t shares = split ? std::max<std::int64_t>(1, 2 * workers / std::max<std::int64_t>(rowPieces, 1)) : 1;
    const std::int64_t columns =
        std::clamp(roundUp((n + shares - 1) / shares, kernels.tileColumns), kernels.tileColumns, kLargestColumns);
    const std::int64_t columnPieces = (n + columns - 1) / columns;
    const auto piece = [&](std::int64_t index) {
        const std::int64_t top = index % rowPieces * rows, left = index / rowPieces * columns;
        multiply<T>(transposeA, transposeB, std::min(rows, m - top), std::min(columns, n - left), k, T{1},
                    transposeA == Transposed::yes ? a + top : a + top * strideA, strideA,
                    transposeB == Transposed::yes ? b + left * strideB : b + left, strideB, add, c + top * strideC + left,
                    strideC);
    };
    const auto pieces = [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t index = first; index < last; ++index)
            piece(index);
    };
    if (split)
        parallel.over(rowPieces * columnPieces, 1, pieces);
    else
        pieces(0, rowPieces * columnPieces);
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
