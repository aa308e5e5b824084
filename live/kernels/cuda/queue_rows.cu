#include "live/kernels/cuda/columns.h"
#include "live/kernels/cuda/cuda_queue.h"
#include "live/kernels/cuda/rows.h"

#include <algorithm>

namespace live::cuda {
namespace {

/// One block a row.
template <class... Parameters, class... Arguments>
void launchRows(const Launcher& launcher, std::int64_t rows, int threads, void (*kernel)(Parameters...),
                const Arguments&... arguments)
{
    if (rows > 0)
        launch(launcher, Grid{static_cast<unsigned>(rows)}, threads, 0, kernel, arguments...);
}

template <class Function>
void withKind(NormKind kind, const Function& f)
{
    if (kind == NormKind::layernorm)
        f(std::integral_constant<NormKind, NormKind::layernorm>{});
    else
        f(std::integral_constant<NormKind, NormKind::rmsnorm>{});
}

/// Long rows (the vocabulary) want more threads than norms do, but the kernels' bound is 256.
int rowThreads(std::int64_t columns, int width)
{
    return blockThreads(ceilDivide(columns, width));
}

} // namespace

void CudaQueue::biasGradient(const Tensor& dy, const Tensor& dBias)
{
    assert(dBias.elements() == dy.columns && dBias.type == DType::f32);
    const Launcher launcher = ready();
    auto* const workspace = static_cast<float*>(scratch(columnSumsBytes(dy.rows, dy.columns, 1)));
    withType(dy.type, [&]<class T>(T) {
        columnSums(launcher, wide(dy), dy.rows, dy.columns, ColumnOf<T>{View<const T>(dy)}, workspace, true, {dBias.as<float>()});
    });
}

void CudaQueue::sumRows(const Tensor& x, const Tensor& y)
{
    assert(y.elements() == x.columns && y.type == DType::f32);
    const Launcher launcher = ready();
    auto* const workspace = static_cast<float*>(scratch(columnSumsBytes(x.rows, x.columns, 1)));
    withType(x.type, [&]<class T>(T) {
        columnSums(launcher, wide(x), x.rows, x.columns, ColumnOf<T>{View<const T>(x)}, workspace, false, {y.as<float>()});
    });
}

void CudaQueue::norm(const NormRule& rule, const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& y,
                     const Tensor& statistics)
{
    assert(x.rows == y.rows && x.columns == y.columns && gain.elements() == x.columns && statistics.rows == x.rows);
    const Launcher launcher = ready();
    const bool asWide = wide(x, y, gain) && (!bias || wide(bias));
    withType(x.type, [&]<class T>(T) {
        withWidth(asWide, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            withKind(rule.kind, [&]<NormKind kKind>(std::integral_constant<NormKind, kKind>) {
                launchRows(launcher, x.rows, rowThreads(x.columns, kWidth), normKernel<T, kWidth, kKind>, x.columns,
                           static_cast<float>(rule.epsilon), View<const T>(x), gain.as<const T>(), bias.as<const T>(), View<T>(y),
                           View<float>(statistics));
            });
        });
    });
}

void CudaQueue::normGradient(NormKind kind, const Tensor& dy, const Tensor& x, const Tensor& gain, const Tensor& statistics,
                             const Tensor& dx, const Tensor& dGain, const Tensor& dBias)
{
    assert(x.rows == dy.rows && x.columns == dy.columns && gain.elements() == x.columns && statistics.rows == x.rows);
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        // The sums over rows first: dx may be dy.
        if (dGain || dBias) {
            auto* const workspace = static_cast<float*>(scratch(columnSumsBytes(x.rows, x.columns, NormColumns<T>::kSums)));
            columnSums(launcher, wide(x, dy), x.rows, x.columns,
                       NormColumns<T>{View<const T>(dy), View<const T>(x), View<const float>(statistics)}, workspace, true,
                       {dGain.as<float>(), dBias.as<float>()});
        }
        if (!dx)
            return;
        withWidth(wide(x, dy, gain, dx), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            withKind(kind, [&]<NormKind kKind>(std::integral_constant<NormKind, kKind>) {
                launchRows(launcher, x.rows, rowThreads(x.columns, kWidth), normGradientKernel<T, kWidth, kKind>, x.columns,
                           View<const T>(dy), View<const T>(x), gain.as<const T>(), View<const float>(statistics), View<T>(dx));
            });
        });
    });
}

void CudaQueue::rowMaximum(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum)
{
    assert(maximum.elements() == logits.rows && maximum.contiguous());
    const Launcher launcher = ready();
    const std::int64_t valid = std::clamp<std::int64_t>(validColumns, 0, logits.columns);
    withType(logits.type, [&]<class T>(T) {
        withWidth(wide(logits), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            launchRows(launcher, logits.rows, rowThreads(logits.columns, kWidth), rowMaximumKernel<T, kWidth>, valid,
                       View<const T>(logits), maximum.as<float>());
        });
    });
}

void CudaQueue::exponentials(const Tensor& logits, std::int64_t validColumns, const Tensor& maximum, const Tensor& targets,
                             std::int64_t firstId, const Tensor& partial)
{
    assert(partial.rows == 2 && partial.columns == logits.rows && maximum.contiguous() && targets.contiguous());
    const Launcher launcher = ready();
    const std::int64_t valid = std::clamp<std::int64_t>(validColumns, 0, logits.columns);
    withType(logits.type, [&]<class T>(T) {
        withWidth(wide(logits), [&]<int kWidth>(std::integral_constant<int, kWidth>) {
            launchRows(launcher, logits.rows, rowThreads(logits.columns, kWidth), exponentialsKernel<T, kWidth>, logits.columns,
                       valid, View<T>(logits), maximum.as<const float>(), targets.as<const std::int32_t>(), firstId,
                       View<float>(partial));
        });
    });
}

void CudaQueue::crossEntropy(const Tensor& partial, const Tensor& targets, const Tensor& loss)
{
    assert(targets.contiguous() && loss.contiguous() && loss.elements() == partial.columns);
    pointwise<1>(ready(), 1, partial.columns,
                 CrossEntropy{View<const float>(partial), targets.as<const std::int32_t>(), loss.as<float>()});
}

void CudaQueue::crossEntropyGradient(const Tensor& exponentials, const Tensor& partial, const Tensor& targets,
                                     std::int64_t firstId, double lossScale)
{
    assert(targets.contiguous() && partial.columns == exponentials.rows);
    const Launcher launcher = ready();
    withType(exponentials.type, [&]<class T>(T) {
        pointwise(launcher, wide(exponentials), exponentials.rows, exponentials.columns,
                  CrossEntropyGradient<T>{View<T>(exponentials), View<const float>(partial), targets.as<const std::int32_t>(),
                                          firstId, static_cast<float>(lossScale)});
    });
}

} // namespace live::cuda
