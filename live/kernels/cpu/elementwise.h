// Kernels that treat each element, or each row, by itself: copies, activations, norms, dropout, embeddings.
#pragma once

#include "live/kernels/cpu/matrix.h"
#include "live/kernels/device.h"
#include "live/kernels/philox.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace live::cpu {

/// bfloat16: the upper half of a float.
struct BFloat16 {
    std::uint16_t bits = 0;
    BFloat16() = default;
    explicit BFloat16(float value) // to nearest, ties to even; NaN stays NaN
    {
        const auto word = std::bit_cast<std::uint32_t>(value);
        bits = std::isnan(value) ? static_cast<std::uint16_t>(word >> 16 | 0x40)
                                 : static_cast<std::uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
    }
    explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
    explicit operator double() const { return static_cast<float>(*this); }
};

/// Calls f with a value of the tensor's element type.
template <class Function>
void withFloating(DType type, const Function& function)
{
    switch (type) {
    case DType::f32:
        function(float{});
        return;
    case DType::f64:
        function(double{});
        return;
    case DType::bf16:
        function(BFloat16{});
        return;
    default:
        assert(!"a floating type");
    }
}

template <class To, class From>
To converted(From value)
{
    if constexpr (std::is_same_v<To, From>)
        return value;
    else if constexpr (std::is_same_v<To, BFloat16>)
        return BFloat16(static_cast<float>(value));
    else
        return static_cast<To>(value);
}

/// f(from, to) on each pair of elements.
template <class From, class To, class Function>
void pairwise(const Parallel& parallel, const Tensor& from, const Tensor& to, const Function& function)
{
    assert(from.rows == to.rows && from.columns == to.columns);
    const auto span = [&](const From* x, To* y, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i)
            function(x[i], y[i]);
    };
    if (from.contiguous() && to.contiguous()) {
        constexpr std::int64_t kElements = 65536;
        parallel.over(from.elements(), kElements, [&](std::int64_t first, std::int64_t last) {
            span(from.as<const From>() + first, to.as<To>() + first, last - first);
        });
        return;
    }
    parallel.overRows(from.rows, from.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            span(from.as<const From>() + row * from.stride, to.as<To>() + row * to.stride, from.columns);
    });
}

inline void copy(const Parallel& parallel, const Tensor& from, const Tensor& to)
{
    const auto plain = [&]<class T>(T) { pairwise<T, T>(parallel, from, to, [](T x, T& y) { y = x; }); };
    if (from.type == to.type && bytesOf(from.type) == 2)
        return plain(std::uint16_t{});
    if (from.type == to.type && bytesOf(from.type) == 4)
        return plain(std::uint32_t{});
    if (from.type == to.type)
        return plain(std::uint64_t{});
    withFloating(from.type, [&]<class From>(From) {
        withFloating(to.type,
                     [&]<class To>(To) { pairwise<From, To>(parallel, from, to, [](From x, To& y) { y = converted<To>(x); }); });
    });
}

inline void add(const Parallel& parallel, const Tensor& x, const Tensor& y)
{
    withFloating(x.type, [&]<class From>(From) {
        withFloating(y.type, [&]<class To>(To) {
            using Wide = std::conditional_t<std::is_same_v<To, double>, double, float>;
            pairwise<From, To>(parallel, x, y, [](From a, To& b) { b = converted<To>(converted<Wide>(b) + converted<Wide>(a)); });
        });
    });
}

inline void scale(const Parallel& parallel, const Tensor& tensor, double factor)
{
    withFloating(tensor.type, [&]<class T>(T) {
        using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
        pairwise<T, T>(parallel, tensor, tensor,
                       [by = static_cast<Wide>(factor)](T x, T& y) { y = converted<T>(converted<Wide>(x) * by); });
    });
}

inline void fill(const Parallel& parallel, const Tensor& tensor, double value)
{
    const auto with = [&]<class T>(T element) { pairwise<T, T>(parallel, tensor, tensor, [element](T, T& y) { y = element; }); };
    if (tensor.type == DType::i32)
        with(static_cast<std::int32_t>(value));
    else if (tensor.type == DType::i64)
        with(static_cast<std::int64_t>(value));
    else
        withFloating(tensor.type, [&]<class T>(T) { with(converted<T>(value)); });
}

template <class T>
struct Derivative {
    T value, slope;
};

/// f(x) and f'(x). The tanh form of GELU (Hendrycks & Gimpel 2016) is x times the logistic function of twice tanh's argument.
template <class T>
Derivative<T> activationAt(ActivationFunction function, T x)
{
    switch (function) {
    case ActivationFunction::gelu: {
        constexpr T kRoot = static_cast<T>(1.5957691216057308); // 2 sqrt(2 / pi)
        constexpr T kCubic = static_cast<T>(0.044715);
        const T gate = 1 / (1 + std::exp(-kRoot * x * (1 + kCubic * x * x)));
        return {x * gate, gate + x * gate * (1 - gate) * kRoot * (1 + 3 * kCubic * x * x)};
    }
    case ActivationFunction::silu: {
        const T gate = 1 / (1 + std::exp(-x));
        return {x * gate, gate + x * gate * (1 - gate)};
    }
    case ActivationFunction::relu2:
        break;
    }
    const T positive = std::max(x, T{0});
    return {positive * positive, 2 * positive};
}

template <class T>
void activation(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<T> y)
{
    assert(x.rows == y.rows && x.columns == y.columns);
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t i = 0; i < x.columns; ++i)
                y.row(row)[i] = activationAt(function, x.row(row)[i]).value;
    });
}

template <class T>
void activationGradient(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<const T> dy,
                        Matrix<T> dx)
{
    assert(x.rows == dy.rows && x.columns == dy.columns && x.rows == dx.rows && x.columns == dx.columns);
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t i = 0; i < x.columns; ++i)
                dx.row(row)[i] = dy.row(row)[i] * activationAt(function, x.row(row)[i]).slope;
    });
}

template <class T>
void gatedActivation(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<T> y)
{
    assert(x.rows == y.rows && x.columns == 2 * y.columns);
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const T *gate = x.row(row), *up = gate + y.columns;
            for (std::int64_t i = 0; i < y.columns; ++i)
                y.row(row)[i] = activationAt(function, gate[i]).value * up[i];
        }
    });
}

template <class T>
void gatedActivationGradient(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<const T> dy,
                             Matrix<T> dx)
{
    assert(x.rows == dy.rows && x.columns == 2 * dy.columns && dx.rows == x.rows && dx.columns == x.columns);
    parallel.overRows(dy.rows, dy.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const T *gate = x.row(row), *up = gate + dy.columns;
            for (std::int64_t i = 0; i < dy.columns; ++i) {
                const auto f = activationAt(function, gate[i]);
                const T slope = dy.row(row)[i];
                dx.row(row)[i] = slope * up[i] * f.slope;
                dx.row(row)[i + dy.columns] = slope * f.value;
            }
        }
    });
}

template <class T>
void dropout(const Parallel& parallel, const DropoutKey& key, Matrix<const std::int64_t> tokens, std::int64_t firstFeature,
             Matrix<const T> x, Matrix<T> y)
{
    assert(x.rows == y.rows && x.columns == y.columns);
    const std::uint32_t threshold = dropoutThreshold(key.rate);
    const auto factor = static_cast<T>(1 / (1 - key.rate));
    parallel.overRows(x.rows, x.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            PhiloxCounter words{};
            for (std::int64_t i = 0; i < x.columns; ++i) {
                const std::int64_t feature = firstFeature + i;
                if (i == 0 || feature % 4 == 0)
                    words = dropoutWords(key, tokens.at(row), feature / 4);
                y.row(row)[i] = words.word[feature % 4] < threshold ? T{0} : x.row(row)[i] * factor;
            }
        }
    });
}

template <class T>
void embed(const Parallel& parallel, Matrix<const std::int32_t> ids, Matrix<const T> table, std::int64_t firstId, Matrix<T> y)
{
    assert(table.columns == y.columns);
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
            const std::int64_t id = ids.at(row) - firstId;
            if (id >= 0 && id < table.rows)
                std::copy_n(table.row(id), y.columns, y.row(row));
            else
                std::fill_n(y.row(row), y.columns, T{0});
        }
    });
}

template <class T>
void embedGradient(const Parallel& parallel, Matrix<const std::int32_t> ids, Matrix<const T> dy, std::int64_t firstId,
                   Matrix<T> dTable)
{
    assert(dTable.columns == dy.columns);
    parallel.overColumns(dy.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = 0; row < dy.rows; ++row) {
            const std::int64_t id = ids.at(row) - firstId;
            if (id < 0 || id >= dTable.rows)
                continue;
            for (std::int64_t i = first; i < last; ++i)
                dTable.row(id)[i] += dy.row(row)[i];
        }
    });
}

/// sums[column] = (or +=) the sum of f(row, column) over rows, in their order.
template <class T, class Function>
void columnSums(const Parallel& parallel, std::int64_t rows, std::int64_t columns, bool accumulate, T* sums,
                const Function& function)
{
    parallel.overColumns(columns, [&](std::int64_t first, std::int64_t last) {
        constexpr std::int64_t kBlock = 128;
        T block[kBlock];
        for (std::int64_t start = first; start < last; start += kBlock) {
            const std::int64_t count = std::min(kBlock, last - start);
            std::fill_n(block, count, T{0});
            for (std::int64_t row = 0; row < rows; ++row)
                for (std::int64_t i = 0; i < count; ++i)
                    block[i] += function(row, start + i);
            for (std::int64_t i = 0; i < count; ++i)
                sums[start + i] = (accumulate ? sums[start + i] : T{0}) + block[i];
        }
    });
}

template <class T>
void addBias(const Parallel& parallel, Matrix<const T> bias, Matrix<T> y)
{
    assert(bias.columns == y.columns);
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            for (std::int64_t i = 0; i < y.columns; ++i)
                y.row(row)[i] += bias.at(i);
    });
}

} // namespace live::cpu
