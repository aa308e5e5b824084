// Sums over rows, column by column: gradients of biases and of the norms' gains. Two steps in fixed order, whatever the GPU: a
// block sums a part of the rows, then one thread a column sums the parts.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"

#include <algorithm>
#include <iterator>

namespace live::cuda {

inline constexpr int kColumnRowLanes = 8; ///< rows that a block reads at a time; its 32 lanes take neighbouring columns
inline constexpr std::int64_t kMaxColumnParts = 128;

/// How many parts of the rows are summed apart: a function of the rows alone.
inline std::int64_t columnParts(std::int64_t rows)
{
    constexpr std::int64_t kRowsPerPart = 64;
    return std::clamp<std::int64_t>(ceilDivide(rows, kRowsPerPart), 1, kMaxColumnParts);
}

/// Body::kSums sums at once; body.at<kWidth>(row, column, values) gives the terms as [kSums][kWidth]. parts is
/// [kSums, parts, columns].
template <int kWidth, class Body>
__global__ void __launch_bounds__(kColumnRowLanes* kWarp)
    columnPartsKernel(std::int64_t rows, std::int64_t columns, Body body, float* parts)
{
    __shared__ float partial[kColumnRowLanes][kWarp * kWidth];
    const auto lane = static_cast<int>(threadIdx.x % kWarp), rowLane = static_cast<int>(threadIdx.x / kWarp);
    const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * kWarp + lane) * kWidth;
    const std::int64_t rowsPerPart = ceilDivide(rows, gridDim.y);
    const std::int64_t first = blockIdx.y * rowsPerPart, last = first + rowsPerPart < rows ? first + rowsPerPart : rows;
    float sum[Body::kSums][kWidth] = {};
    if (column < columns)
        for (std::int64_t row = first + rowLane; row < last; row += kColumnRowLanes) {
            float value[Body::kSums][kWidth];
            body.template at<kWidth>(row, column, value);
#pragma unroll
            for (int s = 0; s < Body::kSums; ++s)
#pragma unroll
                for (int i = 0; i < kWidth; ++i)
                    sum[s][i] += value[s][i];
        }
    for (int s = 0; s < Body::kSums; ++s) {
        syncBlock();
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            partial[rowLane][i * kWarp + lane] = sum[s][i]; // neighbouring lanes in neighbouring banks
        syncBlock();
        // Threads in turn take one column of the kWarp * kWidth.
        for (int slot = static_cast<int>(threadIdx.x); slot < kWarp * kWidth; slot += kColumnRowLanes * kWarp) {
            float total = 0;
            for (int r = 0; r < kColumnRowLanes; ++r)
                total += partial[r][slot];
            const std::int64_t to = (static_cast<std::int64_t>(blockIdx.x) * kWarp + slot % kWarp) * kWidth + slot / kWarp;
            if (to < columns)
                parts[(static_cast<std::int64_t>(s) * gridDim.y + blockIdx.y) * columns + to] = total;
        }
    }
}

/// to[row][column] = (or +=) the sum of the parts of sum `row`, where it is wanted.
template <int kSums>
struct SumParts {
    const float* parts;
    std::int64_t count, columns;
    float* to[kSums];
    bool accumulate;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float* const target = to[row];
        if (!target)
            return;
        float sum = 0;
        for (std::int64_t part = 0; part < count; ++part)
            sum += parts[(row * count + part) * columns + column];
        target[column] = accumulate ? target[column] + sum : sum;
    }
};

/// workspace: columnSumsBytes(). Targets may be null: then that sum is dropped.
template <class Body>
void columnSums(const Launcher& launcher, bool asWide, std::int64_t rows, std::int64_t columns, const Body& body,
                float* workspace, bool accumulate, float* const (&targets)[Body::kSums])
{
    if (columns <= 0)
        return;
    const std::int64_t parts = columnParts(rows);
    const auto run = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
        const Grid grid{static_cast<unsigned>(ceilDivide(columns, kWarp * kWidth)), static_cast<unsigned>(parts)};
        launch(launcher, grid, kColumnRowLanes * kWarp, 0, columnPartsKernel<kWidth, Body>, rows, columns, body, workspace);
    };
    if (asWide)
        run(std::integral_constant<int, kFullWidth>{});
    else
        run(std::integral_constant<int, 1>{});
    SumParts<Body::kSums> sums{.parts = workspace, .count = parts, .columns = columns, .to = {}, .accumulate = accumulate};
    std::copy(std::begin(targets), std::end(targets), std::begin(sums.to));
    pointwise<1>(launcher, Body::kSums, columns, sums);
}
inline std::size_t columnSumsBytes(std::int64_t rows, std::int64_t columns, int sums)
{
    return static_cast<std::size_t>(columnParts(rows) * columns * sums) * sizeof(float);
}

template <class T>
struct ColumnOf {
    static constexpr int kSums = 1;
    View<const T> x;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column, float (&value)[1][kWidth]) const
    {
        load(value[0], x.at(row, column));
    }
};

/// dy * h and dy: the gradients of a norm's gain and bias.
template <class T>
struct NormColumns {
    static constexpr int kSums = 2;
    View<const T> dy, x;
    View<const float> statistics;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column, float (&value)[2][kWidth]) const
    {
        load(value[1], dy.at(row, column));
        load(value[0], x.at(row, column));
        const float mean = *statistics.at(row, 0), scale = *statistics.at(row, 1);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            value[0][i] = value[1][i] * ((value[0][i] - mean) * scale);
    }
};

} // namespace live::cuda
