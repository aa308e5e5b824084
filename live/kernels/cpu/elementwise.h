// Kernels that treat each element, or each row, by itself: copies, activations, norms, dropout, embeddings.
#pragma once

#include "live/kernels/cpu/matrix.h"
#include "live/kernels/cpu/vector_kernels.h"
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

/// f(first, count, row) on pieces of rows: of the whole as one row where all the tensors' rows lie side by side.
template <class Function>
void overElements(const Parallel& parallel, std::int64_t rows, std::int64_t columns, bool contiguous, const Function& function)
{
    constexpr std::int64_t kElements = 16384;
    if (contiguous) {
        parallel.over(rows * columns, kElements,
                      [&](std::int64_t first, std::int64_t last) { function(std::int64_t{0}, first, last - first); });
        return;
    }
    parallel.overRows(rows, columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            function(row, std::int64_t{0}, columns);
    });
}

template <class T>
void activation(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<T> y)
{
    assert(x.rows == y.rows && x.columns == y.columns);
    const auto& kernels = vectorKernels<T>();
    overElements(parallel, x.rows, x.columns, x.contiguous() && y.contiguous(),
                 [&](std::int64_t row, std::int64_t first, std::int64_t count) {
                     kernels.activation(function, x.row(row) + first, y.row(row) + first, count);
                 });
}

template <class T>
void activationGradient(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<const T> dy,
                        Matrix<T> dx)
{
    assert(x.rows == dy.rows && x.columns == dy.columns && x.rows == dx.rows && x.columns == dx.columns);
    const auto& kernels = vectorKernels<T>();
    overElements(parallel, x.rows, x.columns, x.contiguous() && dy.contiguous() && dx.contiguous(),
                 [&](std::int64_t row, std::int64_t first, std::int64_t count) {
                     kernels.activationGradient(function, x.row(row) + first, dy.row(row) + first, dx.row(row) + first, count);
                 });
}

template <class T>
void gatedActivation(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<T> y)
{
    assert(x.rows == y.rows && x.columns == 2 * y.columns);
    const auto& kernels = vectorKernels<T>();
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            kernels.gatedActivation(function, x.row(row), x.row(row) + y.columns, y.row(row), y.columns);
    });
}

template <class T>
void gatedActivationGradient(const Parallel& parallel, ActivationFunction function, Matrix<const T> x, Matrix<const T> dy,
                             Matrix<T> dx)
{
    assert(x.rows == dy.rows && x.columns == 2 * dy.columns && dx.rows == x.rows && dx.columns == x.columns);
    const auto& kernels = vectorKernels<T>();
    parallel.overRows(dy.rows, dy.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            kernels.gatedActivationGradient(function, x.row(row), x.row(row) + dy.columns, dy.row(row), dx.row(row),
                                            dx.row(row) + dy.columns, dy.columns);
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
    constexpr std::int64_t kColumns = 128;
    parallel.over(dy.columns, kColumns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = 0; row < dy.rows; ++row) {
            const std::int64_t id = ids.at(row) - firstId;
            if (id < 0 || id >= dTable.rows)
                continue;
            vectorKernels<T>().addTo(dy.row(row) + first, dTable.row(id) + first, last - first);
        }
    });
}

/// sums[column] = (or +=) the sum over rows, in their order, of what addRow(row, first, sums, count) adds for `count` columns.
template <class T, class Function>
void columnSums(const Parallel& parallel, std::int64_t rows, std::int64_t columns, bool accumulate, T* sums,
                const Function& addRow)
{
    constexpr std::int64_t kBlock = 128;
    parallel.over(columns, kBlock, [&](std::int64_t first, std::int64_t last) {
        T block[kBlock] = {};
        for (std::int64_t row = 0; row < rows; ++row)
            addRow(row, first, block, last - first);
        for (std::int64_t i = first; i < last; ++i)
            sums[i] = (accumulate ? sums[i] : T{0}) + block[i - first];
    });
}

template <class T>
void addBias(const Parallel& parallel, Matrix<const T> bias, Matrix<T> y)
{
    assert(bias.columns == y.columns && bias.rows == 1);
    parallel.overRows(y.rows, y.columns, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            vectorKernels<T>().addTo(bias.data, y.row(row), y.columns);
    });
}

} // namespace live::cpu
