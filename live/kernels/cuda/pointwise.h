// Kernels that treat each element, or few elements of a row, by themselves. Each is a struct of pointers whose call operator
// does kWidth neighbours of a row; pointwise() spreads it over a matrix.
#pragma once

#include "live/kernels/cuda/numbers.h"
#include "live/kernels/device.h"
#include "live/kernels/philox.h"

#include <algorithm>

namespace live::cuda {

template <int kWidth, class Body>
__global__ void __launch_bounds__(256, 4) pointwiseKernel(std::int64_t rows, std::int64_t groups, Body body)
{
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    const std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        for (std::int64_t group = start; group < groups; group += step)
            body.template at<kWidth>(row, group * kWidth);
}

/// body.at<kWidth>(row, column) for all groups of kWidth columns.
template <int kWidth, class Body>
void pointwise(const Launcher& launcher, std::int64_t rows, std::int64_t columns, const Body& body)
{
    if (rows <= 0 || columns <= 0)
        return;
    constexpr std::int64_t kMaxBlocks = 16384; // beyond, threads go round: enough to fill any GPU many times
    const std::int64_t groups = columns / kWidth;
    const int threads = blockThreads(groups);
    const Grid grid{static_cast<unsigned>(std::min(ceilDivide(groups, threads), kMaxBlocks)),
                    static_cast<unsigned>(std::min(rows, kMaxGridY))};
    launch(launcher, grid, threads, 0, pointwiseKernel<kWidth, Body>, rows, groups, body);
}

/// As wide as the tensors allow.
template <class Body>
void pointwise(const Launcher& launcher, bool asWide, std::int64_t rows, std::int64_t columns, const Body& body)
{
    if (asWide)
        pointwise<kFullWidth>(launcher, rows, columns, body);
    else
        pointwise<1>(launcher, rows, columns, body);
}

template <class T>
struct View {
    T* data = nullptr;
    std::int64_t stride = 0;
    explicit View(const Tensor& tensor) : data(tensor.as<T>()), stride(tensor.stride) {}
    __device__ T* at(std::int64_t row, std::int64_t column) const { return data + row * stride + column; }
};

template <class T>
struct Fill {
    View<T> to;
    T value;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        *to.at(row, column) = value;
    }
};

template <class From, class To>
struct Convert {
    View<const From> from;
    View<To> to;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        const auto x = *reinterpret_cast<const Pack<From, kWidth>*>(from.at(row, column));
        Pack<To, kWidth> y;
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            y.element[i] = converted<To>(x.element[i]);
        *reinterpret_cast<Pack<To, kWidth>*>(to.at(row, column)) = y;
    }
};

/// Doubles are added as doubles, all else as floats.
template <class From, class To>
struct Add {
    View<const From> x;
    View<To> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        using Wide = std::conditional_t<std::is_same_v<To, double>, double, float>;
        const auto a = *reinterpret_cast<const Pack<From, kWidth>*>(x.at(row, column));
        auto b = *reinterpret_cast<Pack<To, kWidth>*>(y.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            b.element[i] = converted<To>(converted<Wide>(b.element[i]) + converted<Wide>(a.element[i]));
        *reinterpret_cast<Pack<To, kWidth>*>(y.at(row, column)) = b;
    }
};

template <class T>
struct AddBias {
    const T* bias;
    View<T> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float b[kWidth], value[kWidth];
        load(b, bias + column);
        load(value, y.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            value[i] += b[i];
        store(y.at(row, column), value);
    }
};

struct ValueAndSlope {
    float value, slope;
};

/// f(x) and f'(x). The tanh form of GELU (Hendrycks & Gimpel 2016) is x times the logistic function of twice tanh's argument.
template <ActivationFunction kFunction>
__device__ __forceinline__ ValueAndSlope activationAt(float x)
{
    if constexpr (kFunction == ActivationFunction::relu2) {
        const float positive = x > 0 ? x : 0;
        return {positive * positive, 2 * positive};
    } else if constexpr (kFunction == ActivationFunction::silu) {
        const float gate = 1 / (1 + expf(-x));
        return {x * gate, gate + x * gate * (1 - gate)};
    } else {
        constexpr float kRoot = 1.5957691216057308F; // 2 sqrt(2 / pi)
        constexpr float kCubic = 0.044715F;
        const float gate = 1 / (1 + expf(-kRoot * x * (1 + kCubic * x * x)));
        return {x * gate, gate + x * gate * (1 - gate) * kRoot * (1 + 3 * kCubic * x * x)};
    }
}

template <class T, ActivationFunction kFunction>
struct Activate {
    View<const T> x;
    View<T> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float value[kWidth];
        load(value, x.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            value[i] = activationAt<kFunction>(value[i]).value;
        store(y.at(row, column), value);
    }
};

template <class T, ActivationFunction kFunction>
struct ActivateGradient {
    View<const T> x, dy;
    View<T> dx;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float value[kWidth], slope[kWidth];
        load(value, x.at(row, column));
        load(slope, dy.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            slope[i] *= activationAt<kFunction>(value[i]).slope;
        store(dx.at(row, column), slope);
    }
};

/// Columns are y's; x holds gate and, `half` columns on, up.
template <class T, ActivationFunction kFunction>
struct Gate {
    View<const T> x;
    View<T> y;
    std::int64_t half;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float gate[kWidth], up[kWidth];
        load(gate, x.at(row, column));
        load(up, x.at(row, half + column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            up[i] *= activationAt<kFunction>(gate[i]).value;
        store(y.at(row, column), up);
    }
};

template <class T, ActivationFunction kFunction>
struct GateGradient {
    View<const T> x, dy;
    View<T> dx;
    std::int64_t half;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float gate[kWidth], up[kWidth], slope[kWidth];
        load(gate, x.at(row, column));
        load(up, x.at(row, half + column));
        load(slope, dy.at(row, column));
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            const ValueAndSlope f = activationAt<kFunction>(gate[i]);
            gate[i] = slope[i] * up[i] * f.slope;
            up[i] = slope[i] * f.value;
        }
        store(dx.at(row, column), gate);
        store(dx.at(row, half + column), up);
    }
};

/// Columns are the pairs of one head; a thread finds its angle once and turns that pair in every head.
template <class T>
struct Rotate {
    View<T> x;
    const std::int32_t* positions;
    std::int64_t positionStride;
    int heads, headDim;
    const double* frequencies; ///< [pair]
    float length;
    bool inverse;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t pair) const
    {
        const int half = headDim / 2;
        // In double: a float's rounding of a position of 10^5 radians would be worth 0.004.
        constexpr double kTurn = 6.283185307179586;
        const double angle = static_cast<double>(positions[row * positionStride]) * frequencies[pair];
        const auto reduced = static_cast<float>(angle - kTurn * floor(angle / kTurn + 0.5));
        const float cosine = length * cosf(reduced), sine = length * (inverse ? -sinf(reduced) : sinf(reduced));
        T* at = x.at(row, pair);
        for (int head = 0; head < heads; ++head, at += headDim) {
            const float a = toFloat(at[0]), b = toFloat(at[half]);
            at[0] = fromFloat<T>(a * cosine - b * sine);
            at[half] = fromFloat<T>(a * sine + b * cosine);
        }
    }
};

template <class T>
struct Dropout {
    DropoutKey key;
    std::uint32_t threshold;
    float factor;
    const std::int64_t* tokens;
    std::int64_t tokenStride, firstFeature; ///< a multiple of 4 where kWidth is not 1
    View<const T> x;
    View<T> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        float value[kWidth];
        load(value, x.at(row, column));
        const std::int64_t feature = firstFeature + column, token = tokens[row * tokenStride];
        if constexpr (kWidth == 1) {
            const PhiloxCounter words = dropoutWords(key, token, feature / 4);
            value[0] = words.word[feature % 4] < threshold ? 0 : value[0] * factor;
        } else {
#pragma unroll
            for (int four = 0; four < kWidth / 4; ++four) {
                const PhiloxCounter words = dropoutWords(key, token, feature / 4 + four);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    value[4 * four + i] = words.word[i] < threshold ? 0 : value[4 * four + i] * factor;
            }
        }
        store(y.at(row, column), value);
    }
};

/// Row `row` of y is the table's row ids[row] - firstId, zeros if that is not one of `tableRows`.
template <class T>
struct Embed {
    const std::int32_t* ids;
    std::int64_t idStride, firstId, tableRows;
    View<const T> table;
    View<T> y;
    template <int kWidth>
    __device__ void at(std::int64_t row, std::int64_t column) const
    {
        const std::int64_t id = ids[row * idStride] - firstId;
        Pack<T, kWidth> pack{};
        if (id >= 0 && id < tableRows)
            pack = *reinterpret_cast<const Pack<T, kWidth>*>(table.at(id, column));
        *reinterpret_cast<Pack<T, kWidth>*>(y.at(row, column)) = pack;
    }
};

/// Loshchilov & Hutter 2019, algorithm 2, with the gradient clipped first. Parameter may be master itself.
template <class T>
struct Adamw {
    float beta1, beta2, rest1, rest2, epsilon; ///< rest: 1 - beta
    float rate;                                ///< the learning rate over 1 - beta1^step
    float decay;                               ///< 1 - learning rate * weight decay
    float correction;                          ///< 1 / sqrt(1 - beta2^step)
    const double* clipFactor;
    const float* gradient;
    float *first, *second, *master;
    T* parameter; ///< null: none besides master
    template <int kWidth>
    __device__ void at(std::int64_t /*row*/, std::int64_t column) const
    {
        const auto clip = static_cast<float>(*clipFactor);
        if (clip != clip)
            return;
        float g[kWidth], m[kWidth], v[kWidth], w[kWidth];
        load(g, gradient + column);
        load(m, first + column);
        load(v, second + column);
        load(w, master + column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            const float slope = g[i] * clip;
            m[i] = beta1 * m[i] + rest1 * slope;
            v[i] = beta2 * v[i] + rest2 * slope * slope;
            w[i] = w[i] * decay - rate * m[i] / (sqrtf(v[i]) * correction + epsilon);
        }
        store(first + column, m);
        store(second + column, v);
        store(master + column, w);
        if (parameter)
            store(parameter + column, w);
    }
};

template <class T>
struct Sgd {
    double learningRate;
    const double* clipFactor;
    const float* gradient;
    float* master;
    T* parameter; ///< null: none besides master
    template <int kWidth>
    __device__ void at(std::int64_t /*row*/, std::int64_t column) const
    {
        const auto factor = static_cast<float>(learningRate * *clipFactor);
        if (factor != factor)
            return;
        float g[kWidth], w[kWidth];
        load(g, gradient + column);
        load(w, master + column);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            w[i] -= factor * g[i];
        store(master + column, w);
        if (parameter)
            store(parameter + column, w);
    }
};

} // namespace live::cuda
