// Products of several linear layers in one launch (mixture of experts): a block a tile of one layer's result. Each element is
// one sum in the order of its terms, so that its bits do not depend on how rows are cut into tiles or who else is in the launch.
//
// On tensor cores bf16 with sums in fp32, tiles of both operands copied some steps ahead; else fp32, element by element.
// Row-major memory throughout: an operand is "along" where the summed index is the one that lies side by side.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"

namespace live::cuda {

inline constexpr int kMaxParts = 128; ///< of a launch: a kernel's parameters are 4 KiB at most

/// The layers of a launch, as parameters of its kernel.
struct PartTable {
    const void* weight[kMaxParts]; ///< or where their gradients are
    const void* bias[kMaxParts];   ///< null: none
    std::int32_t firstRow[kMaxParts + 1];
    std::int32_t firstTile[kMaxParts + 1]; ///< of tiles of rows
    int count;

    /// Whose tile of rows this is.
    __device__ int ofTile(int tile) const
    {
        int first = 0, last = count - 1;
        while (first < last) {
            const int middle = (first + last + 1) / 2;
            if (firstTile[middle] <= tile)
                first = middle;
            else
                last = middle - 1;
        }
        return first;
    }
};

/// What one block multiplies: to [rows, columns] = a b summed over `depth`, from its first row and column on.
template <class T, class OutputT>
struct TileProblem {
    const T* a;
    std::int64_t strideA;
    const T* b;
    std::int64_t strideB;
    OutputT* to;
    std::int64_t strideTo;
    const OutputT* bias; ///< from the first column on; null: none
    std::int64_t rows, columns, depth;
    bool accumulate;
};

/// Of bf16: kRows x kColumns of a block, cut among four warps.
template <int kTileRows>
struct GroupedTensorTiling {
    static constexpr int kRows = kTileRows, kColumns = 128, kInner = 32, kStages = 4;
    static constexpr int kWarps = 4, kThreads = kWarps * kWarp;
    static constexpr int kRowTiles = kRows / 32, kColumnPairs = kColumns / 32; ///< of a warp: 16 rows, 16 columns
    static constexpr int kPadding = 8; ///< elements: rows that a warp reads at once lie in different banks
    static constexpr int elements(int across, bool along)
    {
        return along ? across * (kInner + kPadding) : kInner * (across + kPadding);
    }
    static constexpr std::size_t sharedBytes(bool alongA, bool alongB)
    {
        return static_cast<std::size_t>(kStages * (elements(kRows, alongA) + elements(kColumns, alongB))) * sizeof(Bfloat16);
    }
};

/// kAcross rows (or columns) of an operand times kInner of the summed index from `first` on; zeros outside.
template <int kAcross, bool kAlong, class Tiling>
__device__ __forceinline__ void copyOperand(Bfloat16* tile, const Bfloat16* from, std::int64_t stride, std::int64_t across,
                                            std::int64_t first, std::int64_t depth)
{
    constexpr int kGroups = (kAlong ? Tiling::kInner : kAcross) / kFullWidth, kLines = kAlong ? kAcross : Tiling::kInner;
    constexpr int kStride = (kAlong ? Tiling::kInner : kAcross) + Tiling::kPadding;
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kLines * kGroups; i += Tiling::kThreads) {
        const int line = i / kGroups, column = i % kGroups * kFullWidth;
        const bool inside = kAlong ? line < across && first + column < depth : first + line < depth && column < across;
        const Bfloat16* const source = kAlong ? from + line * stride + first + column : from + (first + line) * stride + column;
        copyAsync16(tile + line * kStride + column, inside ? source : from, inside);
    }
}

template <class Tiling, bool kAlongA, bool kAlongB, class OutputT>
__device__ __forceinline__ void multiplyTensorTile(const TileProblem<Bfloat16, OutputT>& p)
{
    constexpr int kRowTiles = Tiling::kRowTiles, kPairs = Tiling::kColumnPairs, kInner = Tiling::kInner,
                  kStages = Tiling::kStages;
    constexpr int kElementsA = Tiling::elements(Tiling::kRows, kAlongA),
                  kElements = kElementsA + Tiling::elements(Tiling::kColumns, kAlongB);
    constexpr int kStrideA = (kAlongA ? kInner : Tiling::kRows) + Tiling::kPadding,
                  kStrideB = (kAlongB ? kInner : Tiling::kColumns) + Tiling::kPadding;
    const auto warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
    const int warpRow = warp / 2 * (Tiling::kRows / 2), warpColumn = warp % 2 * (Tiling::kColumns / 2);
    auto* const stages = reinterpret_cast<Bfloat16*>(sharedMemory()); // [stage][a, b]
    const std::int64_t steps = ceilDivide(p.depth, kInner);
    const auto copyStage = [&](std::int64_t step) {
        if (step < steps) {
            Bfloat16* const stage = stages + step % kStages * kElements;
            copyOperand<Tiling::kRows, kAlongA, Tiling>(stage, p.a, p.strideA, p.rows, step * kInner, p.depth);
            copyOperand<Tiling::kColumns, kAlongB, Tiling>(stage + kElementsA, p.b, p.strideB, p.columns, step * kInner, p.depth);
        }
        commitCopies(); // also if empty: waitCopies counts groups
    };
    for (int step = 0; step < kStages - 1; ++step)
        copyStage(step);

    float sum[kRowTiles][2 * kPairs][4] = {};
    for (std::int64_t step = 0; step < steps; ++step) {
        waitCopies<kStages - 2>();
        syncBlock(); // this step's tiles are here, and the last step's have been read
        copyStage(step + kStages - 1);
        const Bfloat16* const tileA = stages + step % kStages * kElements;
        const Bfloat16* const tileB = tileA + kElementsA;
#pragma unroll
        for (int k = 0; k < kInner; k += 16) {
            std::uint32_t a[kRowTiles][4];
#pragma unroll
            for (int r = 0; r < kRowTiles; ++r) {
                const int row = warpRow + 16 * r;
                if constexpr (kAlongA)
                    loadTiles(a[r], tileA + (row + lane % 16) * kStrideA + k + lane / 16 * 8);
                else
                    loadTilesTransposed(a[r], tileA + (k + lane % 8 + lane / 16 * 8) * kStrideA + row + lane / 8 % 2 * 8);
            }
#pragma unroll
            for (int pair = 0; pair < kPairs; ++pair) {
                const int column = warpColumn + 16 * pair;
                std::uint32_t b[4];
                if constexpr (kAlongB)
                    loadTiles(b, tileB + (column + lane % 8 + lane / 16 * 8) * kStrideB + k + lane / 8 % 2 * 8);
                else
                    loadTilesTransposed(b, tileB + (k + lane % 16) * kStrideB + column + lane / 16 * 8);
#pragma unroll
                for (int r = 0; r < kRowTiles; ++r) {
                    multiplyTile(sum[r][2 * pair], a[r], b[0], b[1]);
                    multiplyTile(sum[r][2 * pair + 1], a[r], b[2], b[3]);
                }
            }
        }
    }
    waitCopies<0>();

#pragma unroll
    for (int r = 0; r < kRowTiles; ++r)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const std::int64_t row = warpRow + 16 * r + lane / 4 + 8 * half;
            if (row >= p.rows)
                continue;
#pragma unroll
            for (int c = 0; c < 2 * kPairs; ++c) {
                const std::int64_t column = warpColumn + 8 * c + 2 * (lane % 4);
                if (column >= p.columns)
                    continue;
                const float left = p.bias ? toFloat(p.bias[column]) : 0, right = p.bias ? toFloat(p.bias[column + 1]) : 0;
                storePair(p.to + row * p.strideTo + column, sum[r][c][2 * half] + left, sum[r][c][2 * half + 1] + right,
                          p.accumulate);
            }
        }
}

/// Of fp32: a thread 4 x 4 elements.
struct GroupedPlainTiling {
    static constexpr int kRows = 64, kColumns = 64, kInner = 16, kEach = 4;
    static constexpr int kThreads = kRows / kEach * (kColumns / kEach), kPadding = 4;
};

template <int kAcross, bool kAlong>
__device__ __forceinline__ void loadOperand(float (&tile)[GroupedPlainTiling::kInner][kAcross + GroupedPlainTiling::kPadding],
                                            const float* from, std::int64_t stride, std::int64_t across, std::int64_t first,
                                            std::int64_t depth)
{
    constexpr int kInner = GroupedPlainTiling::kInner;
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kAcross * kInner; i += GroupedPlainTiling::kThreads) {
        const int k = kAlong ? i % kInner : i / kAcross, at = kAlong ? i / kInner : i % kAcross;
        const bool inside = at < across && first + k < depth;
        tile[k][at] = !inside ? 0 : kAlong ? from[at * stride + first + k] : from[(first + k) * stride + at];
    }
}

template <bool kAlongA, bool kAlongB>
__device__ __forceinline__ void multiplyPlainTile(const TileProblem<float, float>& p)
{
    using Tiling = GroupedPlainTiling;
    constexpr int kEach = Tiling::kEach, kLanes = Tiling::kColumns / kEach;
    __shared__ float a[Tiling::kInner][Tiling::kRows + Tiling::kPadding];
    __shared__ float b[Tiling::kInner][Tiling::kColumns + Tiling::kPadding];
    const int top = static_cast<int>(threadIdx.x) / kLanes * kEach, left = static_cast<int>(threadIdx.x) % kLanes * kEach;
    float sum[kEach][kEach] = {};
    for (std::int64_t first = 0; first < p.depth; first += Tiling::kInner) {
        syncBlock(); // the last tiles have been read
        loadOperand<Tiling::kRows, kAlongA>(a, p.a, p.strideA, p.rows, first, p.depth);
        loadOperand<Tiling::kColumns, kAlongB>(b, p.b, p.strideB, p.columns, first, p.depth);
        syncBlock();
#pragma unroll
        for (int k = 0; k < Tiling::kInner; ++k) {
            float fromA[kEach], fromB[kEach];
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                fromA[i] = a[k][top + i];
                fromB[i] = b[k][left + i];
            }
#pragma unroll
            for (int i = 0; i < kEach; ++i)
#pragma unroll
                for (int j = 0; j < kEach; ++j)
                    sum[i][j] += fromA[i] * fromB[j];
        }
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i)
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
            const std::int64_t row = top + i, column = left + j;
            if (row >= p.rows || column >= p.columns)
                continue;
            float* const to = p.to + row * p.strideTo + column;
            const float value = sum[i][j] + (p.bias ? p.bias[column] : 0);
            *to = p.accumulate ? *to + value : value;
        }
}

/// The tile's product, by what suits its type.
template <class Tiling, bool kAlongA, bool kAlongB, class T, class OutputT>
__device__ __forceinline__ void multiplyTileOf(const TileProblem<T, OutputT>& problem)
{
    if constexpr (std::is_same_v<T, Bfloat16>)
        multiplyTensorTile<Tiling, kAlongA, kAlongB>(problem);
    else
        multiplyPlainTile<kAlongA, kAlongB>(problem);
}

/// y = x weight^T + bias (kAlongB) or dx = dy weight: `from` and `to` have the parts' rows one after the other. `columns` of the
/// result, `depth` of `from`. Grid: tiles of rows of all parts, tiles of columns.
template <class Tiling, bool kAlongB, class T>
__global__ void __launch_bounds__(Tiling::kThreads) groupedRowsKernel(std::int64_t columns, std::int64_t depth, PartTable parts,
                                                                      std::int64_t weightStride, View<const T> from, View<T> to)
{
    const auto tile = static_cast<int>(blockIdx.x);
    const int part = parts.ofTile(tile);
    const std::int64_t row = parts.firstRow[part] + static_cast<std::int64_t>(tile - parts.firstTile[part]) * Tiling::kRows;
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * Tiling::kColumns;
    const auto* const weight = static_cast<const T*>(parts.weight[part]);
    const auto* const bias = static_cast<const T*>(parts.bias[part]);
    multiplyTileOf<Tiling, true, kAlongB>(TileProblem<T, T>{.a = from.at(row, 0),
                                                            .strideA = from.stride,
                                                            .b = kAlongB ? weight + column * weightStride : weight + column,
                                                            .strideB = weightStride,
                                                            .to = to.at(row, column),
                                                            .strideTo = to.stride,
                                                            .bias = bias ? bias + column : nullptr,
                                                            .rows = parts.firstRow[part + 1] - row,
                                                            .columns = columns - column,
                                                            .depth = depth,
                                                            .accumulate = false});
}

/// dWeight [outputs, inputs] += dy^T x of each part's rows. Grid: tiles of inputs, of outputs, parts.
template <class Tiling, class T>
__global__ void __launch_bounds__(Tiling::kThreads)
    groupedWeightGradientKernel(std::int64_t outputs, std::int64_t inputs, PartTable parts, std::int64_t gradientStride,
                                View<const T> dy, View<const T> x)
{
    const auto part = static_cast<int>(blockIdx.z);
    const std::int64_t output = static_cast<std::int64_t>(blockIdx.y) * Tiling::kRows,
                       input = static_cast<std::int64_t>(blockIdx.x) * Tiling::kColumns, row = parts.firstRow[part];
    auto* const gradient = static_cast<float*>(const_cast<void*>(parts.weight[part]));
    multiplyTileOf<Tiling, false, false>(TileProblem<T, float>{.a = dy.at(row, output),
                                                               .strideA = dy.stride,
                                                               .b = x.at(row, input),
                                                               .strideB = x.stride,
                                                               .to = gradient + output * gradientStride + input,
                                                               .strideTo = gradientStride,
                                                               .bias = nullptr,
                                                               .rows = outputs - output,
                                                               .columns = inputs - input,
                                                               .depth = parts.firstRow[part + 1] - row,
                                                               .accumulate = true});
}

inline constexpr int kGroupedSumLanes = 8; ///< rows that a block reads at a time

/// dBias += the column sums of each part's rows. Grid: groups of kWarp columns, parts.
template <class T>
__global__ void __launch_bounds__(kGroupedSumLanes* kWarp)
    groupedBiasGradientKernel(std::int64_t columns, PartTable parts, View<const T> dy)
{
    __shared__ float partial[kGroupedSumLanes][kWarp];
    const auto lane = static_cast<int>(threadIdx.x % kWarp), rowLane = static_cast<int>(threadIdx.x / kWarp);
    const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
    const auto part = static_cast<int>(blockIdx.y);
    float sum = 0;
    if (column < columns)
        for (std::int64_t row = parts.firstRow[part] + rowLane; row < parts.firstRow[part + 1]; row += kGroupedSumLanes)
            sum += toFloat(*dy.at(row, column));
    partial[rowLane][lane] = sum;
    syncBlock();
    if (rowLane > 0 || column >= columns)
        return;
    for (int r = 1; r < kGroupedSumLanes; ++r)
        sum += partial[r][lane];
    static_cast<float*>(const_cast<void*>(parts.bias[part]))[column] += sum;
}

} // namespace live::cuda
