// Row counts that share a plan of a product. A dense layer's rows are the same in every micro-batch, an expert's are not:
// planning anew for each costs the host more than the product costs the GPU.
#pragma once

#include "live/kernels/cuda/matmul.h"

#include <algorithm>
#include <bit>

namespace live::cuda {

/// The tokens of a problem: d's columns, or what a weight gradient sums over.
inline std::int64_t rowsOf(const MatmulProblem& problem)
{
    return problem.transposeB ? problem.k : problem.n;
}

/// The least count of a class that is not below rows: whole multiples of 64 stand for themselves (batches are such), others for
/// at most a quarter more, and no less than 16.
inline std::int64_t rowClass(std::int64_t rows)
{
    constexpr std::int64_t kWhole = 64, kLeast = 16, kClasses = 4; // of each power of two
    if (rows <= 0 || rows % kWhole == 0)
        return rows;
    const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)));
    const std::int64_t step = std::max(power / kClasses, kLeast);
    return (rows + step - 1) / step * step;
}

/// The problem whose plan serves this one: a function of the problem alone, so that runs and ranks use the same algorithm.
inline MatmulProblem ofItsClass(MatmulProblem problem)
{
    (problem.transposeB ? problem.k : problem.n) = rowClass(rowsOf(problem));
    return problem;
}

} // namespace live::cuda
