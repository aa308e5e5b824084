#include "live/kernels/cuda/cuda_queue.h"
#include "live/kernels/cuda/exact_sums.h"
#include "live/kernels/cuda/pointwise.h"

#include <algorithm>
#include <cmath>

namespace live::cuda {
namespace {

constexpr std::int64_t kSumBlocks = 512; ///< at most: each ends with up to 68 atomics

} // namespace

void CudaQueue::exactSum(const Tensor& values, const Tensor& words)
{
    assert(words.elements() == kExactSumWords && words.type == DType::i64);
    if (values.elements() == 0)
        return;
    const Launcher launcher = ready();
    constexpr int kThreads = 256;
    withFloating(values.type, [&]<class T>(T) {
        launch(launcher, Grid{static_cast<unsigned>(std::min(ceilDivide(values.elements(), kThreads), kSumBlocks))}, kThreads, 0,
               exactSumKernel<T>, values.rows, values.columns, View<const T>(values), words.as<std::int64_t>());
    });
}

void CudaQueue::exactSumOfSquares(const Tensor& values, const Tensor& words)
{
    assert(words.elements() == kExactSumWords && words.type == DType::i64 && values.rows <= 1);
    if (values.elements() == 0)
        return;
    const Launcher launcher = ready();
    constexpr int kThreads = 256;
    constexpr std::int64_t kElements = kThreads / kWarp * kSquaresBlock;
    withFloating(values.type, [&]<class T>(T) {
        launch(launcher, Grid{static_cast<unsigned>(std::min(ceilDivide(values.elements(), kElements), kSumBlocks))}, kThreads, 0,
               exactSumOfSquaresKernel<T>, values.elements(), values.as<const T>(), words.as<std::int64_t>());
    });
}

void CudaQueue::carryExactSums(const Tensor& words)
{
    assert(words.columns == kExactSumWords && words.type == DType::i64 && words.contiguous());
    launch(ready(), Grid{static_cast<unsigned>(words.rows)}, kWarp, 0, carryExactSumsKernel, words.as<std::int64_t>());
}

void CudaQueue::clipFactor(const Tensor& words, double maxNorm, const Tensor& factor)
{
    assert(factor.type == DType::f64 && words.columns == kExactSumWords && words.contiguous());
    launch(ready(), Grid{1}, kWarp, 0, clipFactorKernel, words.rows, words.as<const std::int64_t>(), maxNorm,
           factor.as<double>());
}

void CudaQueue::adamw(const AdamwStep& step, const Tensor& clipFactor, const Tensor& gradient, const Tensor& firstMoment,
                      const Tensor& secondMoment, const Tensor& master, const Tensor& parameter)
{
    assert(gradient.columns == master.columns && firstMoment.columns == master.columns && master.rows <= 1);
    assert(secondMoment.columns == master.columns && master.type == DType::f32 && parameter.columns == master.columns);
    const Launcher launcher = readyApart(); // rates differ in every step
    const auto steps = static_cast<double>(step.step);
    const auto as = [](double value) { return static_cast<float>(value); };
    withType(parameter.type, [&]<class T>(T) {
        const Adamw<T> body{.beta1 = as(step.beta1),
                            .beta2 = as(step.beta2),
                            .rest1 = as(1 - step.beta1),
                            .rest2 = as(1 - step.beta2),
                            .epsilon = as(step.epsilon),
                            .rate = as(step.learningRate / (1 - std::pow(step.beta1, steps))),
                            .decay = as(1 - step.learningRate * step.weightDecay),
                            .correction = as(1 / std::sqrt(1 - std::pow(step.beta2, steps))),
                            .clipFactor = clipFactor.as<const double>(),
                            .gradient = gradient.as<const float>(),
                            .first = firstMoment.as<float>(),
                            .second = secondMoment.as<float>(),
                            .master = master.as<float>(),
                            .parameter = parameter.data == master.data ? nullptr : parameter.as<T>()};
        pointwise(launcher, wide(gradient, firstMoment, secondMoment, master, parameter), 1, master.columns, body);
    });
}

void CudaQueue::sgd(double learningRate, const Tensor& clipFactor, const Tensor& gradient, const Tensor& master,
                    const Tensor& parameter)
{
    assert(gradient.columns == master.columns && master.rows <= 1 && master.type == DType::f32);
    const Launcher launcher = readyApart(); // a rate that differs in every step
    withType(parameter.type, [&]<class T>(T) {
        pointwise(launcher, wide(gradient, master, parameter), 1, master.columns,
                  Sgd<T>{learningRate, clipFactor.as<const double>(), gradient.as<const float>(), master.as<float>(),
                         parameter.data == master.data ? nullptr : parameter.as<T>()});
    });
}

} // namespace live::cuda
