#include "live/kernels/cuda/cuda_queue.h"
#include "live/kernels/cuda/experts.h"
#include "live/kernels/cuda/sorting.h"
#include "sim/error.h"

#include <limits>

namespace live::cuda {
namespace {

/// Row numbers are 32-bit words in the sorts.
void checkCount(std::int64_t count)
{
    if (count > std::numeric_limits<std::int32_t>::max() / 4)
        throw sim::Error("A GPU's kernel sorts at most 500 million rows, not " + std::to_string(count) + ".");
}

Grid routerGrid(std::int64_t tokens)
{
    return {static_cast<unsigned>(ceilDivide(tokens, kRouterWarps))};
}

} // namespace

void CudaQueue::embed(const Tensor& ids, const Tensor& table, std::int64_t firstId, const Tensor& y)
{
    assert(table.columns == y.columns && ids.elements() == y.rows && table.type == y.type);
    const Launcher launcher = ready();
    withType(y.type, [&]<class T>(T) {
        pointwise(
            launcher, wide(table, y), y.rows, y.columns,
            Embed<T>{ids.as<const std::int32_t>(), vectorStride(ids), firstId, table.rows, View<const T>(table), View<T>(y)});
    });
}

void CudaQueue::embedGradient(const Tensor& ids, const Tensor& dy, std::int64_t firstId, const Tensor& dTable)
{
    assert(dTable.columns == dy.columns && ids.elements() == dy.rows && dTable.type == DType::f32);
    const std::int64_t count = dy.rows;
    if (count == 0 || dTable.elements() == 0)
        return;
    checkCount(count);
    const Launcher launcher = ready();
    const EmbeddingKey key{ids.as<const std::int32_t>(), vectorStride(ids), firstId, dTable.rows};
    auto* const workspace =
        static_cast<std::int32_t*>(scratch(static_cast<std::size_t>(sortWords(count)) * sizeof(std::int32_t)));
    const std::int32_t* const order = sortByKey(launcher, count, key, dTable.rows + 1, workspace, nullptr);
    withType(dy.type, [&]<class T>(T) {
        withWidth(wide(dy, dTable), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            const std::int64_t groups = dy.columns / kWidth;
            const int threads = blockThreads(groups);
            const Grid grid{static_cast<unsigned>(count), static_cast<unsigned>(ceilDivide(groups, threads))};
            launch(launcher, grid, threads, 0, addSortedRowsKernel<T, kWidth>, dy.columns, key, order, View<const T>(dy),
                   View<float>(dTable));
        });
    });
}

void CudaQueue::routeTopK(const RouterRule& rule, const Tensor& logits, const Tensor& bias, const Tensor& probabilities,
                          const Tensor& experts, const Tensor& weights)
{
    assert(probabilities.columns == logits.columns && experts.columns == weights.columns && experts.columns <= logits.columns);
    assert(logits.columns % rule.groups == 0 && (!bias || bias.type == DType::f32));
    if (logits.columns > kMaxExperts)
        throw sim::Error("The GPU's router takes at most " + std::to_string(kMaxExperts) + " experts, not " +
                         std::to_string(logits.columns) + ".");
    if (rule.groups > kWarp)
        throw sim::Error("The GPU's router takes at most " + std::to_string(kWarp) + " groups of experts, not " +
                         std::to_string(rule.groups) + ".");
    if (logits.rows == 0)
        return;
    const Launcher launcher = ready();
    withType(logits.type, [&]<class T>(T) {
        launch(launcher, routerGrid(logits.rows), kRouterWarps * kWarp, 0, routeTopKKernel<T>, RouterNumbers(rule), logits.rows,
               static_cast<int>(logits.columns), static_cast<int>(experts.columns), View<const T>(logits), bias.as<const float>(),
               View<float>(probabilities), View<std::int32_t>(experts), View<float>(weights));
    });
}

void CudaQueue::routeGradient(const RouterRule& rule, const Tensor& logits, const Tensor& probabilities, const Tensor& experts,
                              const Tensor& weights, const Tensor& dWeights, const Tensor& auxGradient, const Tensor& dLogits)
{
    assert(dLogits.rows == probabilities.rows && dLogits.columns == probabilities.columns);
    if (probabilities.rows == 0)
        return;
    const Launcher launcher = ready();
    withType(dLogits.type, [&]<class T>(T) {
        launch(launcher, routerGrid(probabilities.rows), kRouterWarps * kWarp, 0, routeGradientKernel<T>, RouterNumbers(rule),
               probabilities.rows, static_cast<int>(probabilities.columns), static_cast<int>(experts.columns),
               View<const float>(logits), View<const float>(probabilities), View<const std::int32_t>(experts),
               View<const float>(weights), View<const float>(dWeights), auxGradient.as<const float>(), View<T>(dLogits));
    });
}

void CudaQueue::countExperts(const Tensor& experts, const Tensor& counts)
{
    const Launcher launcher = ready();
    clear(launcher, counts.data, static_cast<std::size_t>(counts.bytes()));
    pointwise<1>(launcher, experts.rows, experts.columns,
                 CountExperts{View<const std::int32_t>(experts), counts.as<std::int64_t>()});
}

void CudaQueue::sortByExpert(const Tensor& experts, std::int64_t expertCount, const Tensor& order, const Tensor& place)
{
    const std::int64_t count = experts.elements();
    assert(order.elements() == count && order.contiguous() && place.elements() == count);
    if (count == 0)
        return;
    checkCount(count);
    const Launcher launcher = ready();
    auto* const workspace =
        static_cast<std::int32_t*>(scratch(static_cast<std::size_t>(sortWords(count)) * sizeof(std::int32_t)));
    auto* const result = order.as<std::int32_t>();
    sortByKey(launcher, count, ExpertKey{View<const std::int32_t>(experts), experts.columns}, expertCount, workspace, result);
    pointwise<1>(launcher, 1, count, InversePermutation{result, View<std::int32_t>(place), experts.columns});
}

void CudaQueue::gatherRows(const Tensor& x, const Tensor& index, std::int64_t divisor, const Tensor& y)
{
    assert(x.columns == y.columns && x.type == y.type && index.contiguous());
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        pointwise(launcher, wide(x, y), y.rows, y.columns,
                  GatherRows<T>{View<const T>(x), index.as<const std::int32_t>(), divisor, View<T>(y)});
    });
}

void CudaQueue::combineRows(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& y)
{
    assert(x.columns == y.columns && place.rows == y.rows && x.type == y.type);
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        pointwise(launcher, wide(x, y), y.rows, y.columns,
                  CombineRows<T>{View<const T>(x), View<const std::int32_t>(place), View<const float>(weights),
                                 static_cast<int>(place.columns), View<T>(y)});
    });
}

void CudaQueue::combineGradient(const Tensor& x, const Tensor& place, const Tensor& weights, const Tensor& dy, const Tensor& dx,
                                const Tensor& dWeights)
{
    assert(x.columns == dy.columns && dx.columns == dy.columns && place.rows == dy.rows);
    if (dy.rows == 0)
        return;
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        withWidth(wide(x, dy, dx), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            launch(launcher, Grid{static_cast<unsigned>(dy.rows)}, blockThreads(ceilDivide(dy.columns, kWidth)), 0,
                   combineGradientKernel<T, kWidth>, dy.columns, static_cast<int>(place.columns), View<const T>(x),
                   View<const std::int32_t>(place), View<const float>(weights), View<const T>(dy), View<T>(dx),
                   View<float>(dWeights));
        });
    });
}

} // namespace live::cuda
