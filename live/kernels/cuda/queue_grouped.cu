#include "live/kernels/cuda/cuda_queue.h"
#include "live/kernels/cuda/grouped.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace live::cuda {
namespace {

/// Launches' worth of the parts that have rows, at most kMaxParts each.
std::vector<PartTable> tablesOf(std::span<const LinearPart> parts, int tileRows)
{
    std::vector<PartTable> tables;
    std::int64_t row = 0;
    for (const LinearPart& part : parts) {
        if (part.rows == 0)
            continue;
        if (tables.empty() || tables.back().count == kMaxParts) {
            tables.emplace_back();
            tables.back().count = 0;
            tables.back().firstTile[0] = 0;
            tables.back().firstRow[0] = static_cast<std::int32_t>(row);
        }
        PartTable& table = tables.back();
        const int i = table.count++;
        table.weight[i] = part.weight.data;
        table.bias[i] = part.bias.data;
        row += part.rows;
        table.firstRow[i + 1] = static_cast<std::int32_t>(row);
        table.firstTile[i + 1] = table.firstTile[i] + static_cast<std::int32_t>(ceilDivide(part.rows, tileRows));
    }
    return tables;
}

/// Whether the kernels can do it: layers of one shape, few enough rows, and of bf16 rows that 16 bytes fit.
bool canGroup(std::span<const LinearPart> parts, const Tensor& x, const Tensor& y)
{
    const LinearPart& first = parts.front();
    const bool reads16 = x.type != DType::bf16 || (wide(x) && wide(y));
    return reads16 && x.rows < std::numeric_limits<std::int32_t>::max() / 2 &&
           std::all_of(parts.begin(), parts.end(), [&](const LinearPart& part) {
               return part.weight.stride == first.weight.stride && part.weight.rows == first.weight.rows &&
                      part.weight.columns == first.weight.columns && (part.weight.type != DType::bf16 || wide(part.weight)) &&
                      (!part.bias || part.bias.type == part.weight.type) &&
                      static_cast<bool>(part.bias) == static_cast<bool>(first.bias);
           });
}

GroupedShape shapeOf(GroupedShape::Kind kind, std::span<const LinearPart> parts, const Tensor& x)
{
    const auto withRows = std::count_if(parts.begin(), parts.end(), [](const LinearPart& part) { return part.rows > 0; });
    return {.kind = kind,
            .type = x.type,
            .outputs = parts.front().weight.rows,
            .inputs = parts.front().weight.columns,
            .parts = withRows,
            .rows = x.rows};
}

/// f with the tiling for products of so many rows a part.
template <class T, class Function>
void withTiling(const GroupedShape& shape, const Function& f)
{
    if constexpr (!std::is_same_v<T, Bfloat16>)
        f(GroupedPlainTiling{});
    else if (shape.rows <= 64 * shape.parts)
        f(GroupedTensorTiling<64>{});
    else
        f(GroupedTensorTiling<128>{});
}

template <class Tiling>
std::size_t sharedBytesOf(bool alongA, bool alongB)
{
    if constexpr (std::is_same_v<Tiling, GroupedPlainTiling>)
        return 0;
    else
        return Tiling::sharedBytes(alongA, alongB);
}

template <bool kAlongB>
void launchRowProducts(const Launcher& launcher, const GroupedShape& shape, std::span<const LinearPart> parts, const Tensor& from,
                       const Tensor& to)
{
    withType(from.type, [&]<class T>(T) {
        withTiling<T>(shape, [&]<class Tiling>(Tiling) {
            for (const PartTable& table : tablesOf(parts, Tiling::kRows)) {
                const Grid grid{static_cast<unsigned>(table.firstTile[table.count]),
                                static_cast<unsigned>(ceilDivide(to.columns, Tiling::kColumns))};
                launch(launcher, grid, Tiling::kThreads, sharedBytesOf<Tiling>(true, kAlongB),
                       groupedRowsKernel<Tiling, kAlongB, T>, to.columns, from.columns, table, parts.front().weight.stride,
                       View<const T>(from), View<T>(to));
            }
        });
    });
}

void launchWeightGradients(const Launcher& launcher, std::span<const LinearPart> parts, const Tensor& dy, const Tensor& x)
{
    withType(x.type, [&]<class T>(T) {
        using Tiling = std::conditional_t<std::is_same_v<T, Bfloat16>, GroupedTensorTiling<128>, GroupedPlainTiling>;
        for (const PartTable& table : tablesOf(parts, Tiling::kRows)) {
            const auto count = static_cast<unsigned>(table.count);
            const Grid grid{static_cast<unsigned>(ceilDivide(x.columns, Tiling::kColumns)),
                            static_cast<unsigned>(ceilDivide(dy.columns, Tiling::kRows)), count};
            launch(launcher, grid, Tiling::kThreads, sharedBytesOf<Tiling>(false, false), groupedWeightGradientKernel<Tiling, T>,
                   dy.columns, x.columns, table, parts.front().weight.stride, View<const T>(dy), View<const T>(x));
            if (parts.front().bias)
                launch(launcher, Grid{static_cast<unsigned>(ceilDivide(dy.columns, kWarp)), count}, kGroupedSumLanes * kWarp, 0,
                       groupedBiasGradientKernel<T>, dy.columns, table, View<const T>(dy));
        }
    });
}

} // namespace

void CudaQueue::linearParts(std::span<const LinearPart> parts, const Tensor& x, const Tensor& y)
{
    const auto single = [&] { StreamQueue::linearParts(parts, x, y); };
    if (parts.empty() || y.elements() == 0 || x.columns == 0 || x.type != y.type || !canGroup(parts, x, y))
        return single();
    const Launcher launcher = ready();
    const GroupedShape shape = shapeOf(GroupedShape::Kind::forward, parts, x);
    m_grouping.run(
        shape, launcher.stream(), [&] { launchRowProducts<true>(launcher, shape, parts, x, y); }, single);
}

void CudaQueue::linearPartsInputGradient(std::span<const LinearPart> parts, const Tensor& dy, const Tensor& dx)
{
    const auto single = [&] { StreamQueue::linearPartsInputGradient(parts, dy, dx); };
    if (parts.empty() || dx.elements() == 0 || dy.columns == 0 || dy.type != dx.type)
        return single();
    std::vector<LinearPart> weights(parts.begin(), parts.end());
    for (LinearPart& part : weights)
        part.bias = {};
    if (!canGroup(weights, dy, dx))
        return single();
    const Launcher launcher = ready();
    const GroupedShape shape = shapeOf(GroupedShape::Kind::inputGradient, parts, dy);
    m_grouping.run(
        shape, launcher.stream(), [&] { launchRowProducts<false>(launcher, shape, weights, dy, dx); }, single);
}

void CudaQueue::linearPartsWeightGradient(std::span<const LinearPart> gradients, const Tensor& dy, const Tensor& x)
{
    const auto single = [&] { StreamQueue::linearPartsWeightGradient(gradients, dy, x); };
    if (gradients.empty() || x.elements() == 0 || dy.columns == 0 || !canGroup(gradients, x, dy))
        return single();
    const Launcher launcher = ready();
    const GroupedShape shape = shapeOf(GroupedShape::Kind::weightGradient, gradients, x);
    m_grouping.run(
        shape, launcher.stream(), [&] { launchWeightGradients(launcher, gradients, dy, x); }, single);
}

} // namespace live::cuda
