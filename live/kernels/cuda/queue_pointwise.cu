#include "live/kernels/cuda/cuda_queue.h"
#include "live/kernels/cuda/pointwise.h"
#include "sim/error.h"

#include <cmath>

namespace live::cuda {
namespace {

/// Where rows lie side by side in all of them, one long row.
template <class Function>
void flattened(const Tensor& x, const Tensor& y, const Function& f)
{
    if (x.contiguous() && y.contiguous())
        f(x.flat(), y.flat());
    else
        f(x, y);
}

template <class Function>
void withFunction(ActivationFunction function, const Function& f)
{
    switch (function) {
    case ActivationFunction::gelu:
        return f(std::integral_constant<ActivationFunction, ActivationFunction::gelu>{});
    case ActivationFunction::silu:
        return f(std::integral_constant<ActivationFunction, ActivationFunction::silu>{});
    case ActivationFunction::relu2:
        return f(std::integral_constant<ActivationFunction, ActivationFunction::relu2>{});
    }
}

} // namespace

void CudaQueue::fill(const Tensor& to, double value)
{
    const Launcher launcher = ready();
    if (value == 0 && to.contiguous()) {
        clear(launcher, to.data, static_cast<std::size_t>(to.bytes()));
        return;
    }
    const auto with = [&]<class T>(T element) { pointwise<1>(launcher, to.rows, to.columns, Fill<T>{View<T>(to), element}); };
    if (to.type == DType::i32)
        with(static_cast<std::int32_t>(value));
    else if (to.type == DType::i64)
        with(static_cast<std::int64_t>(value));
    else
        withFloating(to.type, [&]<class T>(T) { with(converted<T>(value)); });
}

void CudaQueue::copy(const Tensor& from, const Tensor& to)
{
    assert(from.rows == to.rows && from.columns == to.columns);
    const Launcher launcher = ready();
    if (from.type == to.type) {
        const auto size = static_cast<std::size_t>(bytesOf(from.type));
        copyRows(launcher, from.data, static_cast<std::size_t>(from.stride) * size, to.data,
                 static_cast<std::size_t>(to.stride) * size, static_cast<std::size_t>(from.columns) * size,
                 static_cast<std::size_t>(from.rows));
        return;
    }
    flattened(from, to, [&](const Tensor& x, const Tensor& y) {
        withFloating(x.type, [&]<class From>(From) {
            withFloating(y.type, [&]<class To>(To) {
                pointwise(launcher, wide(x, y), x.rows, x.columns, Convert<From, To>{View<const From>(x), View<To>(y)});
            });
        });
    });
}

void CudaQueue::add(const Tensor& from, const Tensor& to)
{
    assert(from.rows == to.rows && from.columns == to.columns);
    const Launcher launcher = ready();
    flattened(from, to, [&](const Tensor& x, const Tensor& y) {
        withFloating(x.type, [&]<class From>(From) {
            withFloating(y.type, [&]<class To>(To) {
                pointwise(launcher, wide(x, y), x.rows, x.columns, Add<From, To>{View<const From>(x), View<To>(y)});
            });
        });
    });
}

void CudaQueue::addBias(const Tensor& bias, const Tensor& y)
{
    assert(bias.elements() == y.columns && bias.type == y.type);
    const Launcher launcher = ready();
    withType(y.type, [&]<class T>(T) {
        pointwise(launcher, wide(y, bias), y.rows, y.columns, AddBias<T>{bias.as<const T>(), View<T>(y)});
    });
}

void CudaQueue::activation(ActivationFunction function, const Tensor& from, const Tensor& to)
{
    assert(from.rows == to.rows && from.columns == to.columns && from.type == to.type);
    const Launcher launcher = ready();
    flattened(from, to, [&](const Tensor& x, const Tensor& y) {
        withType(x.type, [&]<class T>(T) {
            withFunction(function, [&]<ActivationFunction kFunction>(std::integral_constant<ActivationFunction, kFunction>) {
                pointwise(launcher, wide(x, y), x.rows, x.columns, Activate<T, kFunction>{View<const T>(x), View<T>(y)});
            });
        });
    });
}

void CudaQueue::activationGradient(ActivationFunction function, const Tensor& x, const Tensor& dy, const Tensor& dx)
{
    assert(x.rows == dy.rows && x.columns == dy.columns && x.rows == dx.rows && x.columns == dx.columns);
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        withFunction(function, [&]<ActivationFunction kFunction>(std::integral_constant<ActivationFunction, kFunction>) {
            pointwise(launcher, wide(x, dy, dx), x.rows, x.columns,
                      ActivateGradient<T, kFunction>{View<const T>(x), View<const T>(dy), View<T>(dx)});
        });
    });
}

void CudaQueue::gatedActivation(ActivationFunction function, const Tensor& x, const Tensor& y)
{
    assert(x.rows == y.rows && x.columns == 2 * y.columns);
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        withFunction(function, [&]<ActivationFunction kFunction>(std::integral_constant<ActivationFunction, kFunction>) {
            pointwise(launcher, wide(x, y), y.rows, y.columns, Gate<T, kFunction>{View<const T>(x), View<T>(y), y.columns});
        });
    });
}

void CudaQueue::gatedActivationGradient(ActivationFunction function, const Tensor& x, const Tensor& dy, const Tensor& dx)
{
    assert(x.rows == dy.rows && x.columns == 2 * dy.columns && dx.rows == x.rows && dx.columns == x.columns);
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        withFunction(function, [&]<ActivationFunction kFunction>(std::integral_constant<ActivationFunction, kFunction>) {
            pointwise(launcher, wide(x, dy, dx), dy.rows, dy.columns,
                      GateGradient<T, kFunction>{View<const T>(x), View<const T>(dy), View<T>(dx), dy.columns});
        });
    });
}

void CudaQueue::rotate(const Tensor& x, int headDim, const Tensor& positions, const Rotation& rotation, bool inverse)
{
    assert(headDim % 2 == 0 && x.columns % headDim == 0 && rotation.frequencies.columns == headDim / 2);
    const Launcher launcher = ready();
    withType(x.type, [&]<class T>(T) {
        pointwise<1>(launcher, x.rows, headDim / 2,
                     Rotate<T>{View<T>(x), positions.as<const std::int32_t>(), vectorStride(positions),
                               static_cast<int>(x.columns / headDim), headDim, rotation.frequencies.as<const double>(),
                               static_cast<float>(rotation.length), inverse});
    });
}

void CudaQueue::dropout(const DropoutKey& key, const Tensor& tokens, std::int64_t firstFeature, const Tensor& x, const Tensor& y)
{
    assert(x.rows == y.rows && x.columns == y.columns);
    const Launcher launcher = readyApart(); // the key differs in every step
    withType(x.type, [&]<class T>(T) {
        pointwise(launcher, wide(x, y) && firstFeature % 4 == 0, x.rows, x.columns,
                  Dropout<T>{key, dropoutThreshold(key.rate), static_cast<float>(1 / (1 - key.rate)),
                             tokens.as<const std::int64_t>(), vectorStride(tokens), firstFeature, View<const T>(x), View<T>(y)});
    });
}

} // namespace live::cuda
