#include "live/kernels/cuda/attention_plain.h"
#include "live/kernels/cuda/attention_tensor.h"
#include "live/kernels/cuda/columns.h"
#include "live/kernels/cuda/cuda_queue.h"
#include "sim/error.h"

#include <algorithm>
#include <cmath>

namespace live::cuda {
namespace {

constexpr int kTensorMaxDim = 128;

Visibility visibilityOf(const AttentionShape& shape, const Tensor& q, const Tensor& k)
{
    return {q.rows / shape.sequences, k.rows / shape.sequences, shape.diagonal, shape.causal, shape.causal ? shape.window : 0};
}

template <class T>
HeadValues<T> headValues(const Tensor& values, const AttentionShape& shape)
{
    return {values.as<T>(), values.stride, shape.sequences};
}

float scoreScale(const AttentionShape& shape)
{
    return static_cast<float>(shape.scoreFactor());
}

HeadOrder headOrder(std::int64_t positions, int owned, int heads, const AttentionShape& shape)
{
    return {ceilDivide(positions, owned), heads, shape.sequences};
}

Grid gridOf(const HeadOrder& order)
{
    return {static_cast<unsigned>(order.blocksPerHead * order.heads * order.sequences)};
}

/// bf16 whose heads are whole groups of 16 bytes, values as long as keys, and no window.
template <class... Tensors>
bool fitsTensorCores(const AttentionShape& shape, const Tensor& q, const Tensors&... rest)
{
    return q.type == DType::bf16 && shape.headDim % kFullWidth == 0 && shape.headDim <= kTensorMaxDim &&
           shape.valueSize() == shape.headDim && (!shape.causal || shape.window == 0) && wide(q, rest...);
}

/// The kernels' head sizes; smaller heads are filled up with zeros.
template <class Function>
void withHeadDim(int headDim, const Function& f)
{
    if (headDim <= 32)
        f(std::integral_constant<int, 32>{});
    else if (headDim <= 64)
        f(std::integral_constant<int, 64>{});
    else
        f(std::integral_constant<int, 128>{});
}

void check(const AttentionShape& shape)
{
    if (const int largest = std::max(shape.headDim, shape.valueSize()); largest > kPlainMaxDim)
        throw sim::Error("Attention heads of " + std::to_string(largest) + " elements are too long for the GPU's kernels, " +
                         "which take " + std::to_string(kPlainMaxDim) + " at most. Use more heads, or the CPU.");
}

} // namespace

void CudaQueue::attention(const AttentionShape& shape, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                          const Tensor& logSumExp)
{
    const int dim = shape.headDim, valueDim = shape.valueSize();
    assert(q.columns == std::int64_t{shape.heads} * dim && o.columns == std::int64_t{shape.heads} * valueDim);
    assert(k.columns == std::int64_t{shape.keyValueHeads} * dim && v.columns == std::int64_t{shape.keyValueHeads} * valueDim);
    assert(q.rows == o.rows && q.rows == logSumExp.rows && k.rows == v.rows && q.rows % shape.sequences == 0);
    check(shape);
    const Visibility visibility = visibilityOf(shape, q, k);
    if (visibility.queries == 0)
        return;
    const Launcher launcher = ready();
    const auto log = headValues<float>(logSumExp, shape);
    withType(o.type, [&]<class OutputT>(OutputT) {
        if (fitsTensorCores(shape, q, k, v, o)) {
            using T = Bfloat16;
            withHeadDim(shape.headDim, [&]<int kDim>(std::integral_constant<int, kDim>) {
                using Tiling = ForwardTiling<kDim>;
                const HeadOrder order = headOrder(visibility.queries, Tiling::kOwned, shape.heads, shape);
                launch(launcher, gridOf(order), Tiling::kThreads, Tiling::kSharedBytes, attentionTensorKernel<kDim, OutputT>,
                       visibility, order, shape.keyValueHeads, scoreScale(shape) * kLog2E, Heads<const T>(q, shape, dim),
                       Heads<const T>(k, shape, dim), Heads<const T>(v, shape, dim), Heads<OutputT>(o, shape, dim), log);
            });
            return;
        }
        withType(q.type, [&]<class T>(T) {
            const HeadOrder order = headOrder(visibility.queries, kPlainWarps, shape.heads, shape);
            launch(launcher, gridOf(order), kPlainWarps * kWarp, plainSharedBytes(std::max(dim, valueDim)),
                   attentionPlainKernel<T, OutputT>, visibility, order, shape.keyValueHeads, scoreScale(shape),
                   Heads<const T>(q, shape, dim), Heads<const T>(k, shape, dim), Heads<const T>(v, shape, valueDim),
                   Heads<OutputT>(o, shape, valueDim), log);
        });
    });
}

void CudaQueue::attentionGradient(const AttentionShape& shape, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
                                  const Tensor& logSumExp, const Tensor& dOutput, const Tensor& dq, const Tensor& dk,
                                  const Tensor& dv, bool accumulate)
{
    const int dim = shape.headDim, valueDim = shape.valueSize();
    assert(q.columns == std::int64_t{shape.heads} * dim && dOutput.columns == std::int64_t{shape.heads} * valueDim);
    assert(dq.columns == q.columns && dk.columns == k.columns && dv.columns == v.columns);
    assert(dq.type == dk.type && dk.type == dv.type && k.type == q.type && v.type == q.type);
    check(shape);
    const Visibility visibility = visibilityOf(shape, q, k);
    const Launcher launcher = ready();

    // rowsum(dO O), then, if dO is not of the scores' type, a copy of it that is.
    const std::size_t deltaBytes = static_cast<std::size_t>(ceilDivide(q.rows * shape.heads, 64) * 64) * sizeof(float);
    const bool convert = dOutput.type != q.type;
    auto* const workspace = static_cast<std::byte*>(
        scratch(deltaBytes + (convert ? static_cast<std::size_t>(dOutput.elements() * bytesOf(q.type)) : 0)));
    auto* const deltas = reinterpret_cast<float*>(workspace);
    Tensor slope = dOutput;
    if (convert) {
        slope = {workspace + deltaBytes, q.type, q.rows, dOutput.columns, dOutput.columns};
        copy(dOutput, slope);
    }
    if (q.rows > 0)
        withType(o.type, [&]<class OutputT>(OutputT) {
            withType(dOutput.type, [&]<class T>(T) {
                launch(launcher, Grid{static_cast<unsigned>(ceilDivide(q.rows * shape.heads, 4))}, 4 * kWarp, 0,
                       attentionDeltaKernel<OutputT, T>, q.rows, shape.heads, valueDim, View<const OutputT>(o),
                       View<const T>(dOutput), deltas);
            });
        });
    const HeadValues<const float> delta{deltas, shape.heads, shape.sequences};
    const auto log = headValues<const float>(logSumExp, shape);

    struct Cut {
        int owned, threads;
        std::size_t sharedBytes;
    };
    const auto run = [&]<class T, class GradientT>(auto keyKernel, const Cut& ofKeys, auto queryKernel, const Cut& ofQueries,
                                                   float scale, T, GradientT) {
        const Heads<const T> qs(q, shape, dim), ks(k, shape, dim), vs(v, shape, valueDim), slopes(slope, shape, valueDim);
        if (visibility.keys > 0) {
            const HeadOrder order = headOrder(visibility.keys, ofKeys.owned, shape.keyValueHeads, shape);
            launch(launcher, gridOf(order), ofKeys.threads, ofKeys.sharedBytes, keyKernel, visibility, order, shape.heads, scale,
                   qs, ks, vs, slopes, log, delta, Heads<GradientT>(dk, shape, dim), Heads<GradientT>(dv, shape, valueDim),
                   accumulate);
        }
        if (visibility.queries > 0) {
            const HeadOrder order = headOrder(visibility.queries, ofQueries.owned, shape.heads, shape);
            launch(launcher, gridOf(order), ofQueries.threads, ofQueries.sharedBytes, queryKernel, visibility, order,
                   shape.keyValueHeads, scale, qs, ks, vs, slopes, log, delta, Heads<GradientT>(dq, shape, dim), accumulate);
        }
    };
    withType(dq.type, [&]<class GradientT>(GradientT gradient) {
        if (fitsTensorCores(shape, q, k, v, slope, dq, dk, dv)) {
            withHeadDim(shape.headDim, [&]<int kDim>(std::integral_constant<int, kDim>) {
                const auto runWith = [&]<AttentionTiles kTiles>(std::integral_constant<AttentionTiles, kTiles>) {
                    using OfKeys = typename BackwardTilings<kDim, kTiles>::OfKeys;
                    using OfQueries = typename BackwardTilings<kDim, kTiles>::OfQueries;
                    run(attentionKeyGradientKernel<OfKeys, GradientT>, {OfKeys::kOwned, OfKeys::kThreads, OfKeys::kSharedBytes},
                        attentionQueryGradientKernel<OfQueries, GradientT>,
                        {OfQueries::kOwned, OfQueries::kThreads, OfQueries::kSharedBytes}, scoreScale(shape) * kLog2E, Bfloat16{},
                        gradient);
                };
                if (m_attentionTiles == AttentionTiles::rows32)
                    runWith(std::integral_constant<AttentionTiles, AttentionTiles::rows32>{});
                else
                    runWith(std::integral_constant<AttentionTiles, AttentionTiles::rows16>{});
            });
            return;
        }
        withType(q.type, [&]<class T>(T element) {
            const Cut cut{kPlainWarps, kPlainWarps * kWarp, plainSharedBytes(std::max(dim, valueDim))};
            run(attentionPlainKeyGradientKernel<T, GradientT>, cut, attentionPlainQueryGradientKernel<T, GradientT>, cut,
                scoreScale(shape), element, gradient);
        });
    });
}

void CudaQueue::mergeAttention(int valueDim, const Tensor& oBlock, const Tensor& logSumExpBlock, const Tensor& o,
                               const Tensor& logSumExp)
{
    assert(oBlock.rows == o.rows && oBlock.columns == o.columns && o.columns == logSumExp.columns * valueDim);
    assert(o.type == DType::f32);
    if (o.rows == 0)
        return;
    const Launcher launcher = ready();
    const auto heads = static_cast<int>(logSumExp.columns);
    withType(oBlock.type, [&]<class T>(T) {
        launch(launcher, Grid{static_cast<unsigned>(ceilDivide(o.rows * heads, 4))}, 4 * kWarp, 0, mergeAttentionKernel<T>,
               o.rows, heads, valueDim, View<const T>(oBlock), View<const float>(logSumExpBlock), View<float>(o),
               View<float>(logSumExp));
    });
}

void CudaQueue::attentionSinks(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp)
{
    assert(o.rows == logSumExp.rows && o.columns == logSumExp.columns * valueDim && sinks.type == DType::f32);
    if (o.rows == 0)
        return;
    const Launcher launcher = ready();
    const auto heads = static_cast<int>(logSumExp.columns);
    withType(o.type, [&]<class T>(T) {
        launch(launcher, Grid{static_cast<unsigned>(ceilDivide(o.rows * heads, 4))}, 4 * kWarp, 0, attentionSinksKernel<T>,
               o.rows, heads, valueDim, sinks.as<const float>(), View<T>(o), View<float>(logSumExp));
    });
}

void CudaQueue::attentionSinksGradient(int valueDim, const Tensor& sinks, const Tensor& o, const Tensor& logSumExp,
                                       const Tensor& dOutput, const Tensor& dSinks)
{
    assert(o.columns == logSumExp.columns * valueDim && dOutput.columns == o.columns && dSinks.type == DType::f32);
    const std::int64_t rows = o.rows, heads = logSumExp.columns;
    if (rows == 0)
        return;
    const Launcher launcher = ready();
    const std::size_t deltaBytes = static_cast<std::size_t>(ceilDivide(rows * heads, 64) * 64) * sizeof(float);
    auto* const workspace = static_cast<std::byte*>(scratch(deltaBytes + columnSumsBytes(rows, heads, SinkColumns::kSums)));
    auto* const deltas = reinterpret_cast<float*>(workspace);
    withType(o.type, [&]<class OutputT>(OutputT) {
        withType(dOutput.type, [&]<class T>(T) {
            launch(launcher, Grid{static_cast<unsigned>(ceilDivide(rows * heads, 4))}, 4 * kWarp, 0,
                   attentionDeltaKernel<OutputT, T>, rows, static_cast<int>(heads), valueDim, View<const OutputT>(o),
                   View<const T>(dOutput), deltas);
        });
    });
    columnSums(launcher, false, rows, heads, SinkColumns{sinks.as<const float>(), View<const float>(logSumExp), deltas, heads},
               reinterpret_cast<float*>(workspace + deltaBytes), true, {dSinks.as<float>()});
}

} // namespace live::cuda
