// Stable sorting of row numbers by small integer keys, as counting sorts of eight bits at a time, and the scatter-add of
// embedding gradients made of it: sums in the order of rows, whatever runs when.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/cuda/pointwise.h"

#include <bit>

namespace live::cuda {

inline constexpr int kDigitBits = 8, kBuckets = 1 << kDigitBits;
inline constexpr int kSortChunk = 256; ///< elements that a block places: one a thread
inline constexpr int kScanThreads = 1024;

/// The table's row that row `index` is about; `tableRows` if this table does not own it.
struct EmbeddingKey {
    const std::int32_t* ids;
    std::int64_t stride, firstId, tableRows;
    __device__ std::int64_t operator()(std::int64_t index) const
    {
        const std::int64_t id = ids[index * stride] - firstId;
        return id >= 0 && id < tableRows ? id : tableRows;
    }
};
/// The expert of slot token * k + choice.
struct ExpertKey {
    View<const std::int32_t> experts;
    std::int64_t choices;
    __device__ std::int64_t operator()(std::int64_t slot) const { return *experts.at(slot / choices, slot % choices); }
};

/// counts [kBuckets, chunks]: how often each digit comes in each chunk of `from` (null: 0, 1, 2, …).
template <class Key>
__global__ void __launch_bounds__(kSortChunk)
    countDigitsKernel(std::int64_t count, Key key, int shift, const std::int32_t* from, std::int32_t* counts)
{
    __shared__ std::int32_t histogram[kBuckets];
    for (int bucket = static_cast<int>(threadIdx.x); bucket < kBuckets; bucket += kSortChunk)
        histogram[bucket] = 0;
    syncBlock();
    const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kSortChunk + threadIdx.x;
    if (place < count)
        atomicAddInteger(&histogram[key(from ? from[place] : place) >> shift & (kBuckets - 1)], std::int32_t{1});
    syncBlock();
    for (int bucket = static_cast<int>(threadIdx.x); bucket < kBuckets; bucket += kSortChunk)
        counts[static_cast<std::int64_t>(bucket) * gridDim.x + blockIdx.x] = histogram[bucket];
}

/// Each value becomes the sum of those before it. One block.
inline __global__ void __launch_bounds__(kScanThreads) exclusiveScanKernel(std::int64_t count, std::int32_t* values)
{
    __shared__ std::int32_t sums[kScanThreads];
    const std::int64_t each = ceilDivide(count, kScanThreads);
    const std::int64_t first = threadIdx.x * each, last = first + each < count ? first + each : count;
    std::int32_t own = 0;
    for (std::int64_t i = first; i < last; ++i)
        own += values[i];
    sums[threadIdx.x] = own;
    syncBlock();
    // Hillis & Steele 1986: after the step of distance d each place holds the sum of 2 d places.
    for (unsigned distance = 1; distance < kScanThreads; distance *= 2) {
        const std::int32_t before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
        syncBlock();
        sums[threadIdx.x] += before;
        syncBlock();
    }
    std::int32_t running = sums[threadIdx.x] - own;
    for (std::int64_t i = first; i < last; ++i) {
        const std::int32_t value = values[i];
        values[i] = running;
        running += value;
    }
}

template <class Key>
__global__ void __launch_bounds__(kSortChunk) placeDigitsKernel(std::int64_t count, Key key, int shift, const std::int32_t* from,
                                                                const std::int32_t* offsets, std::int32_t* to)
{
    __shared__ std::int32_t digits[kSortChunk];
    const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * kSortChunk + threadIdx.x;
    const auto item = static_cast<std::int32_t>(place >= count ? 0 : from ? from[place] : place);
    const auto digit = static_cast<std::int32_t>(place < count ? key(item) >> shift & (kBuckets - 1) : kBuckets);
    digits[threadIdx.x] = digit;
    syncBlock();
    std::int32_t before = 0; // of the same digit in this chunk: what makes the sort stable
    for (unsigned i = 0; i < threadIdx.x; ++i)
        before += digits[i] == digit ? 1 : 0;
    if (place < count)
        to[offsets[static_cast<std::int64_t>(digit) * gridDim.x + blockIdx.x] + before] = item;
}

/// Int32 words of workspace that sortByKey() needs.
inline std::int64_t sortWords(std::int64_t count)
{
    return 2 * count + kBuckets * ceilDivide(count, kSortChunk);
}

/// 0 … count - 1 in the order of key(·) < keys, equal keys in the order of numbers. Returns where the result lies: in `result` if
/// given, else in the workspace.
template <class Key>
const std::int32_t* sortByKey(const Launcher& launcher, std::int64_t count, const Key& key, std::int64_t keys,
                              std::int32_t* workspace, std::int32_t* result)
{
    const auto chunks = static_cast<unsigned>(ceilDivide(count, kSortChunk));
    std::int32_t* const counts = workspace + 2 * count;
    const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(keys - 1))));
    const std::int32_t* from = nullptr;
    for (int shift = 0; shift < bits; shift += kDigitBits) {
        const bool last = shift + kDigitBits >= bits;
        std::int32_t* const to = last && result ? result : from == workspace ? workspace + count : workspace;
        launch(launcher, Grid{chunks}, kSortChunk, 0, countDigitsKernel<Key>, count, key, shift, from, counts);
        launch(launcher, Grid{1}, kScanThreads, 0, exclusiveScanKernel, static_cast<std::int64_t>(kBuckets) * chunks, counts);
        launch(launcher, Grid{chunks}, kSortChunk, 0, placeDigitsKernel<Key>, count, key, shift, from, counts, to);
        from = to;
    }
    return from;
}

/// Block (i, ·) adds all rows of the i-th sorted row's key, if that is the first of them.
template <class T, int kWidth>
__global__ void __launch_bounds__(256)
    addSortedRowsKernel(std::int64_t columns, EmbeddingKey key, const std::int32_t* order, View<const T> dy, View<float> dTable)
{
    const std::int64_t start = blockIdx.x, count = gridDim.x;
    const std::int64_t mine = key(order[start]);
    if (mine == key.tableRows || (start > 0 && key(order[start - 1]) == mine))
        return;
    const std::int64_t column = (static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x) * kWidth;
    if (column >= columns)
        return;
    float sum[kWidth], value[kWidth];
    load(sum, dTable.at(mine, column));
    for (std::int64_t i = start; i < count && key(order[i]) == mine; ++i) {
        load(value, dy.at(order[i], column));
#pragma unroll
        for (int c = 0; c < kWidth; ++c)
            sum[c] += value[c];
    }
    store(dTable.at(mine, column), sum);
}

/// place [tokens, k] = the inverse of order.
struct InversePermutation {
    const std::int32_t* order;
    View<std::int32_t> place;
    std::int64_t choices;
    template <int kWidth>
    __device__ void at(std::int64_t /*row*/, std::int64_t column) const
    {
        const std::int32_t slot = order[column];
        *place.at(slot / choices, slot % choices) = static_cast<std::int32_t>(column);
    }
};

} // namespace live::cuda
