// The inner loops themselves. Included by one source file for each instruction set, which says in LIVE_VECTOR_NAMESPACE where
// they go and in LIVE_VECTOR_BYTES how wide a register is. Nothing here may use what other files share as inline functions:
// the linker could keep this file's copy, with instructions that not every processor has.
//
// No include guard: one inclusion a source file.

#include "live/kernels/cpu/vector_kernels.h"

#include <cstdint>
#include <utility>

namespace live::cpu::LIVE_VECTOR_NAMESPACE {
namespace {

template <class T>
struct Lanes {
    using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    typedef T Vector __attribute__((vector_size(LIVE_VECTOR_BYTES)));         // NOLINT(modernize-use-using): the attribute
    typedef Integer Integers __attribute__((vector_size(LIVE_VECTOR_BYTES))); // NOLINT(modernize-use-using)
    static constexpr std::int64_t kCount = LIVE_VECTOR_BYTES / static_cast<std::int64_t>(sizeof(T));
};
template <class T>
using Vector = typename Lanes<T>::Vector;
template <class T>
inline constexpr std::int64_t kLanes = Lanes<T>::kCount;

template <class T>
inline Vector<T> load(const T* from)
{
    Vector<T> vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
}
template <class T>
inline void store(T* to, Vector<T> vector)
{
    __builtin_memcpy(to, &vector, sizeof vector);
}
template <class T>
inline Vector<T> all(T value)
{
    return Vector<T>{} + value; // +0 for value -0: no use of it here minds
}
/// The first `count` elements, the rest `filling`.
template <class T>
inline Vector<T> loadPart(const T* from, std::int64_t count, T filling = 0)
{
    T buffer[kLanes<T>];
    for (std::int64_t i = 0; i < kLanes<T>; ++i)
        buffer[i] = i < count ? from[i] : filling;
    return load(buffer);
}
template <class T>
inline void storePart(T* to, Vector<T> vector, std::int64_t count)
{
    T buffer[kLanes<T>];
    store(buffer, vector);
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = buffer[i];
}
/// Reads or writes a whole vector, or the part of it that is left.
template <class T>
struct Chunk {
    std::int64_t first, count;
    Vector<T> from(const T* x, T filling = 0) const
    {
        return count == kLanes<T> ? load(x + first) : loadPart(x + first, count, filling);
    }
    void to(T* x, Vector<T> vector) const
    {
        if (count == kLanes<T>)
            store(x + first, vector);
        else
            storePart(x + first, vector, count);
    }
};
template <class T, class Body>
inline void forChunks(std::int64_t count, const Body& body)
{
    std::int64_t first = 0;
    for (; first + kLanes<T> <= count; first += kLanes<T>)
        body(Chunk<T>{first, kLanes<T>});
    if (first < count)
        body(Chunk<T>{first, count - first});
}

template <class T>
inline T sumOf(Vector<T> vector)
{
    T parts[kLanes<T>];
    store(parts, vector);
    for (std::int64_t width = kLanes<T> / 2; width > 0; width /= 2)
        for (std::int64_t i = 0; i < width; ++i)
            parts[i] += parts[i + width];
    return parts[0];
}

template <class T>
inline Vector<T> largerOf(Vector<T> a, Vector<T> b)
{
    return a > b ? a : b;
}
template <class T>
inline Vector<T> smallerOf(Vector<T> a, Vector<T> b)
{
    return a < b ? a : b;
}

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
    static constexpr float kLowest = -87.33F, kHighest = 88.3F; ///< below: 0; above: as there
    static constexpr float kRounder = 0x1.8p23F;                ///< adding it leaves a whole number in the lowest bits
    static constexpr float kLog2High = 0x1.63p-1F, kLog2Low = -0x1.bd0106p-13F;
    static constexpr int kBias = 127, kMantissaBits = 23, kDegree = 7;
};
template <>
struct ExpConstants<double> {
    static constexpr double kLowest = -708.3, kHighest = 709.0;
    static constexpr double kRounder = 0x1.8p52;
    static constexpr double kLog2High = 0x1.62e42fee00000p-1, kLog2Low = 0x1.a39ef35793c76p-33;
    static constexpr int kBias = 1023, kMantissaBits = 52, kDegree = 13;
};

/// exp, to about 1 ulp: x = n log 2 + r (Cody & Waite 1980), a power series in r, |r| <= log(2) / 2.
template <class T>
inline Vector<T> exponential(Vector<T> x)
{
    using C = ExpConstants<T>;
    using Integers = typename Lanes<T>::Integers;
    const Vector<T> bounded = largerOf<T>(smallerOf<T>(x, all(C::kHighest)), all(C::kLowest));
    const Vector<T> shifted = bounded * static_cast<T>(1.4426950408889634) + C::kRounder;
    const Vector<T> n = shifted - C::kRounder;
    const Vector<T> r = bounded - n * C::kLog2High - n * C::kLog2Low;
    constexpr double kReciprocals[] = {
        1,         1,          1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
        1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800};
    Vector<T> sum = all(static_cast<T>(kReciprocals[C::kDegree]));
#pragma GCC unroll 16
    for (int i = C::kDegree - 1; i >= 0; --i)
        sum = sum * r + static_cast<T>(kReciprocals[i]);
    const Integers power = (reinterpret_cast<Integers>(shifted) + C::kBias) << C::kMantissaBits;
    const Vector<T> value = sum * reinterpret_cast<Vector<T>>(power);
    return x < C::kLowest ? Vector<T>{} : value;
}

/// 1 / (1 + exp(-x)), with all its digits on both sides.
template <class T>
inline Vector<T> logistic(Vector<T> x)
{
    const Vector<T> e = exponential<T>(x < T{0} ? x : -x);
    return (x < T{0} ? e : all(T{1})) / (e + T{1});
}

// -- products

template <class T>
constexpr std::int64_t kTileColumns = 2 * kLanes<T>;
constexpr std::int64_t kTileRows = LIVE_VECTOR_BYTES == 64   ? 14
                                   : LIVE_VECTOR_BYTES == 32 ? 6
                                                             : 4; // accumulators fill the registers
/// Length of k after which sums go to C. The same on every machine: it decides the bits.
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kBlockRows = 18 * kTileRows; ///< packed A of this many rows stays in the second cache

constexpr std::int64_t roundUp(std::int64_t value, std::int64_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/// Swaps blocks of `Step` lanes between a and b.
template <class T, int Step, std::size_t... Lane>
inline void exchange(Vector<T>& a, Vector<T>& b, std::index_sequence<Lane...>)
{
    constexpr int kCount = sizeof...(Lane);
    const Vector<T> low = __builtin_shufflevector(a, b, ((Lane & Step) ? int{Lane} - Step + kCount : int{Lane})...);
    const Vector<T> high = __builtin_shufflevector(a, b, ((Lane & Step) ? int{Lane} + kCount : int{Lane} + Step)...);
    a = low;
    b = high;
}
template <class T, int Step = 1>
inline void transpose(Vector<T>* rows)
{
    if constexpr (Step < kLanes<T>) {
#pragma GCC unroll 16
        for (int i = 0; i < kLanes<T>; ++i)
            if ((i & Step) == 0)
                exchange<T, Step>(rows[i], rows[i + Step], std::make_index_sequence<static_cast<std::size_t>(kLanes<T>)>{});
        transpose<T, 2 * Step>(rows);
    }
}

/// packed[j * Height + i] = from[i * stride + j] for i < rows, j < depth; 0 for rows <= i < Height. May write a vector more.
template <class T, std::int64_t Height>
void packTransposed(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t depth, T* packed)
{
    constexpr std::int64_t kGroups = (Height + kLanes<T> - 1) / kLanes<T>;
    constexpr std::int64_t kAhead = 8 * kLanes<T>; // as many rows at once are too many for the processor's own prefetching
    for (std::int64_t first = 0; first < depth; first += kLanes<T>) {
        const std::int64_t count = depth - first < kLanes<T> ? depth - first : kLanes<T>;
        Vector<T> block[kGroups][kLanes<T>];
        for (std::int64_t group = 0; group < kGroups; ++group) {
#pragma GCC unroll 16
            for (std::int64_t i = 0; i < kLanes<T>; ++i) {
                const std::int64_t row = group * kLanes<T> + i;
                const T* source = from + row * stride + first;
                block[group][i] = row >= Height || row >= rows ? Vector<T>{}
                                  : count == kLanes<T>         ? load(source)
                                                               : loadPart(source, count);
                if (row < rows)
                    __builtin_prefetch(source + kAhead);
            }
            transpose<T>(block[group]);
        }
        // What is too much of a vector is overwritten by the next one, so the order matters.
        for (std::int64_t j = 0; j < count; ++j)
            for (std::int64_t group = 0; group < kGroups; ++group)
                store(packed + (first + j) * Height + group * kLanes<T>, block[group][j]);
    }
}

/// packed[j * Height + i] = from[j * stride + i], likewise.
template <class T, std::int64_t Height>
void packStraight(const T* from, std::int64_t stride, std::int64_t columns, std::int64_t depth, T* packed)
{
    for (std::int64_t j = 0; j < depth; ++j) {
        const T* source = from + j * stride;
        T* target = packed + j * Height;
        if (columns >= Height) {
            __builtin_memcpy(target, source, Height * sizeof(T));
            continue;
        }
        for (std::int64_t i = 0; i < Height; ++i)
            target[i] = i < columns ? source[i] : T{0};
    }
}

/// `width` columns (or rows) of one operand into panels of Height, `depth` deep.
template <class T, std::int64_t Height>
void packPanels(bool transposed, const T* from, std::int64_t stride, std::int64_t width, std::int64_t depth, T* packed)
{
    for (std::int64_t first = 0; first < width; first += Height) {
        if (transposed)
            packTransposed<T, Height>(from + first * stride, stride, width - first, depth, packed + first * depth);
        else
            packStraight<T, Height>(from + first, stride, width - first, depth, packed + first * depth);
    }
}

/// C (kTileRows x kTileColumns) = or += alpha A B of packed panels.
template <class T>
inline void tile(std::int64_t depth, const T* a, const T* b, T alpha, bool add, T* c, std::int64_t stride)
{
    // C comes from memory while the sums are made.
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kTileRows; ++i) {
        __builtin_prefetch(c + i * stride, 1);
        __builtin_prefetch(c + i * stride + kTileColumns<T> - 1, 1);
    }
    Vector<T> sums[kTileRows][2] = {};
    for (std::int64_t k = 0; k < depth; ++k) {
        const Vector<T> left = load(b), right = load(b + kLanes<T>);
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < kTileRows; ++i) {
            sums[i][0] += left * a[i];
            sums[i][1] += right * a[i];
        }
        a += kTileRows;
        b += kTileColumns<T>;
    }
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kTileRows; ++i)
#pragma GCC unroll 2
        for (std::int64_t half = 0; half < 2; ++half) {
            T* to = c + i * stride + half * kLanes<T>;
            store(to, add ? load(to) + sums[i][half] * alpha : sums[i][half] * alpha);
        }
}

template <class T>
std::int64_t productScratch(const Product<T>& p)
{
    const std::int64_t depth = p.k < kDepth ? p.k : kDepth, rows = p.m < kBlockRows ? p.m : kBlockRows;
    return depth * (roundUp(p.n, kTileColumns<T>) + roundUp(rows, kTileRows)) + 4 * kLanes<T>;
}

template <class T>
void product(const Product<T>& p, T* scratch)
{
    for (std::int64_t k = 0; k < p.k; k += kDepth) {
        const std::int64_t depth = p.k - k < kDepth ? p.k - k : kDepth;
        const bool add = p.add || k > 0;
        T* packedB = scratch;
        T* packedA = scratch + roundUp(p.n, kTileColumns<T>) * depth + 2 * kLanes<T>;
        const bool transposeB = p.transposeB == Transposed::yes, transposeA = p.transposeA == Transposed::no;
        packPanels<T, kTileColumns<T>>(transposeB, transposeB ? p.b + k : p.b + k * p.strideB, p.strideB, p.n, depth, packedB);
        for (std::int64_t top = 0; top < p.m; top += kBlockRows) {
            const std::int64_t rows = p.m - top < kBlockRows ? p.m - top : kBlockRows;
            packPanels<T, kTileRows>(transposeA, transposeA ? p.a + top * p.strideA + k : p.a + k * p.strideA + top, p.strideA,
                                     rows, depth, packedA);
            for (std::int64_t left = 0; left < p.n; left += kTileColumns<T>)
                for (std::int64_t row = 0; row < rows; row += kTileRows) {
                    T* c = p.c + (top + row) * p.strideC + left;
                    const std::int64_t height = rows - row < kTileRows ? rows - row : kTileRows;
                    const std::int64_t width = p.n - left < kTileColumns<T> ? p.n - left : kTileColumns<T>;
                    if (height == kTileRows && width == kTileColumns<T>) {
                        tile(depth, packedA + row * depth, packedB + left * depth, p.alpha, add, c, p.strideC);
                        continue;
                    }
                    T edge[kTileRows * kTileColumns<T>] = {};
                    for (std::int64_t i = 0; add && i < height; ++i)
                        for (std::int64_t j = 0; j < width; ++j)
                            edge[i * kTileColumns<T> + j] = c[i * p.strideC + j];
                    tile(depth, packedA + row * depth, packedB + left * depth, p.alpha, add, edge, kTileColumns<T>);
                    for (std::int64_t i = 0; i < height; ++i)
                        for (std::int64_t j = 0; j < width; ++j)
                            c[i * p.strideC + j] = edge[i * kTileColumns<T> + j];
                }
        }
    }
}

// -- rows

template <class T>
T maximum(const T* x, std::int64_t count)
{
    constexpr T kNothing = -static_cast<T>(__builtin_inf());
    Vector<T> largest = all(kNothing);
    forChunks<T>(count, [&](Chunk<T> chunk) { largest = largerOf<T>(largest, chunk.from(x, kNothing)); });
    T parts[kLanes<T>], result = kNothing;
    store(parts, largest);
    for (const T part : parts)
        result = part > result ? part : result;
    return result;
}

template <class T>
T dot(const T* a, const T* b, std::int64_t count)
{
    Vector<T> sum{};
    forChunks<T>(count, [&](Chunk<T> chunk) { sum += chunk.from(a) * chunk.from(b); });
    return sumOf<T>(sum);
}

template <class T>
void scale(T* x, T factor, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i)
        x[i] *= factor;
}

template <class T>
T exponentials(T* x, T shift, std::int64_t count)
{
    constexpr std::int64_t kBlock = 1024; // sums of sums: a vocabulary is long enough to lose digits
    T total = 0;
    for (std::int64_t first = 0; first < count; first += kBlock) {
        Vector<T> sum{};
        forChunks<T>(count - first < kBlock ? count - first : kBlock, [&](Chunk<T> chunk) {
            const Vector<T> value = exponential<T>(chunk.from(x + first, -static_cast<T>(__builtin_inf())) - shift);
            chunk.to(x + first, value);
            sum += value;
        });
        total += sumOf<T>(sum);
    }
    return total;
}

template <class T>
void attentionSlopes(T* p, T* s, T logSumExp, T product, std::int64_t count)
{
    forChunks<T>(count, [&](Chunk<T> chunk) {
        const Vector<T> probability = exponential<T>(chunk.from(p) - logSumExp);
        chunk.to(p, probability);
        chunk.to(s, probability * (chunk.from(s) - product));
    });
}

/// The tanh form of GELU (Hendrycks & Gimpel 2016) is x times the logistic function of twice tanh's argument.
template <class T>
struct Gelu {
    static constexpr T kRoot = static_cast<T>(1.5957691216057308); // 2 sqrt(2 / pi)
    static constexpr T kCubic = static_cast<T>(0.044715);
    static Vector<T> bounded(Vector<T> x) { return largerOf<T>(smallerOf<T>(x, all(T{100})), all(T{-100})); }
    static Vector<T> gate(Vector<T> x) { return logistic<T>(x * kRoot * (x * x * kCubic + T{1})); }
    static Vector<T> value(Vector<T> x) { return x * gate(bounded(x)); }
    static Vector<T> slope(Vector<T> input)
    {
        const Vector<T> x = bounded(input), g = gate(x);
        return g + x * g * (T{1} - g) * (x * x * (3 * kCubic * kRoot) + kRoot);
    }
};
template <class T>
struct Silu {
    static Vector<T> value(Vector<T> x) { return x * logistic<T>(x); }
    static Vector<T> slope(Vector<T> x)
    {
        const Vector<T> gate = logistic<T>(x);
        return gate + x * gate * (T{1} - gate);
    }
};
template <class T>
struct Relu2 {
    static Vector<T> positive(Vector<T> x) { return x > T{0} ? x : Vector<T>{}; }
    static Vector<T> value(Vector<T> x) { return positive(x) * positive(x); }
    static Vector<T> slope(Vector<T> x) { return positive(x) * T{2}; }
};

template <class T, class Body>
inline void withFunction(ActivationFunction function, const Body& body)
{
    switch (function) {
    case ActivationFunction::gelu:
        body(Gelu<T>{});
        return;
    case ActivationFunction::silu:
        body(Silu<T>{});
        return;
    case ActivationFunction::relu2:
        body(Relu2<T>{});
        return;
    }
}

template <class T>
void activation(ActivationFunction function, const T* x, T* y, std::int64_t count)
{
    withFunction<T>(function,
                    [&]<class F>(F) { forChunks<T>(count, [&](Chunk<T> chunk) { chunk.to(y, F::value(chunk.from(x))); }); });
}
template <class T>
void activationGradient(ActivationFunction function, const T* x, const T* dy, T* dx, std::int64_t count)
{
    withFunction<T>(function, [&]<class F>(F) {
        forChunks<T>(count, [&](Chunk<T> chunk) { chunk.to(dx, chunk.from(dy) * F::slope(chunk.from(x))); });
    });
}
template <class T>
void gatedActivation(ActivationFunction function, const T* gate, const T* up, T* y, std::int64_t count)
{
    withFunction<T>(function, [&]<class F>(F) {
        forChunks<T>(count, [&](Chunk<T> chunk) { chunk.to(y, F::value(chunk.from(gate)) * chunk.from(up)); });
    });
}
template <class T>
void gatedActivationGradient(ActivationFunction function, const T* gate, const T* up, const T* dy, T* dGate, T* dUp,
                             std::int64_t count)
{
    withFunction<T>(function, [&]<class F>(F) {
        forChunks<T>(count, [&](Chunk<T> chunk) {
            const Vector<T> x = chunk.from(gate), slope = chunk.from(dy), factor = chunk.from(up);
            chunk.to(dGate, slope * factor * F::slope(x));
            chunk.to(dUp, slope * F::value(x));
        });
    });
}

template <class T>
void norm(const NormRule& rule, const T* x, const T* gain, const T* bias, T* y, T* statistics, std::int64_t count)
{
    const auto width = static_cast<T>(count);
    Vector<T> sum{}, squares{};
    if (rule.kind == NormKind::layernorm)
        forChunks<T>(count, [&](Chunk<T> chunk) { sum += chunk.from(x); });
    const T mean = sumOf<T>(sum) / width;
    forChunks<T>(count, [&](Chunk<T> chunk) {
        const Vector<T> centred = chunk.from(x, mean) - mean;
        squares += centred * centred;
    });
    const T variance = sumOf<T>(squares) / width + static_cast<T>(rule.epsilon);
    T inverse = 0;
    if constexpr (sizeof(T) == 4)
        inverse = 1 / __builtin_sqrtf(variance);
    else
        inverse = 1 / __builtin_sqrt(variance);
    forChunks<T>(count, [&](Chunk<T> chunk) {
        const Vector<T> value = (chunk.from(x) - mean) * inverse * chunk.from(gain);
        chunk.to(y, bias ? value + chunk.from(bias) : value);
    });
    statistics[0] = mean;
    statistics[1] = inverse;
}

/// dx = r (w - mean(w) - xh mean(w xh)) with w = dy gain and xh the normalised x; RMSNorm lacks the mean(w).
template <class T>
void normGradient(NormKind kind, const T* dy, const T* x, const T* gain, const T* statistics, T* dx, std::int64_t count)
{
    const auto width = static_cast<T>(count);
    const T mean = statistics[0], inverse = statistics[1];
    Vector<T> sums{}, products{};
    forChunks<T>(count, [&](Chunk<T> chunk) {
        const Vector<T> weighted = chunk.from(dy) * chunk.from(gain);
        sums += weighted;
        products += weighted * ((chunk.from(x, mean) - mean) * inverse);
    });
    const T sum = kind == NormKind::layernorm ? sumOf<T>(sums) / width : T{0}, product = sumOf<T>(products) / width;
    forChunks<T>(count, [&](Chunk<T> chunk) {
        const Vector<T> weighted = chunk.from(dy) * chunk.from(gain), normalised = (chunk.from(x) - mean) * inverse;
        chunk.to(dx, (weighted - sum - normalised * product) * inverse);
    });
}

template <class T>
void addGainGradient(const T* dy, const T* x, const T* statistics, T* sums, std::int64_t count)
{
    const T mean = statistics[0], inverse = statistics[1];
    forChunks<T>(count,
                 [&](Chunk<T> chunk) { chunk.to(sums, chunk.from(sums) + chunk.from(dy) * ((chunk.from(x) - mean) * inverse)); });
}

template <class T>
void addTo(const T* x, T* sums, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i)
        sums[i] += x[i];
}

template <class T>
inline Vector<T> squareRoot(Vector<T> x)
{
    T parts[kLanes<T>];
    store(parts, x);
    for (T& part : parts) {
        if constexpr (sizeof(T) == 4)
            part = __builtin_sqrtf(part);
        else
            part = __builtin_sqrt(part);
    }
    return load(parts);
}

template <class T>
void adamw(const AdamwFactors<T>& f, const T* gradient, T* firstMoment, T* secondMoment, T* master, std::int64_t count)
{
    forChunks<T>(count, [&](Chunk<T> chunk) {
        const Vector<T> slope = chunk.from(gradient) * f.clip;
        const Vector<T> m = chunk.from(firstMoment) * f.beta1 + slope * f.rest1;
        const Vector<T> v = chunk.from(secondMoment) * f.beta2 + slope * slope * f.rest2;
        chunk.to(firstMoment, m);
        chunk.to(secondMoment, v);
        chunk.to(master, chunk.from(master) * f.decay - m * f.rate / (squareRoot<T>(v) * f.correction + f.epsilon));
    });
}

template <class T>
double sumOfSquares(const T* x, std::int64_t count)
{
    double sums[8] = {};
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (std::int64_t lane = 0; lane < 8; ++lane)
            sums[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(x[i + lane]);
    for (std::int64_t lane = 0; i + lane < count; ++lane)
        sums[lane] += static_cast<double>(x[i + lane]) * static_cast<double>(x[i + lane]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

} // namespace

template <class T>
VectorKernels<T> kernels(const char* name)
{
    return {name,
            kTileRows,
            kTileColumns<T>,
            productScratch<T>,
            product<T>,
            maximum<T>,
            dot<T>,
            scale<T>,
            exponentials<T>,
            attentionSlopes<T>,
            activation<T>,
            activationGradient<T>,
            gatedActivation<T>,
            gatedActivationGradient<T>,
            norm<T>,
            normGradient<T>,
            addGainGradient<T>,
            addTo<T>,
            adamw<T>,
            sumOfSquares<T>};
}
template VectorKernels<float> kernels(const char*);
template VectorKernels<double> kernels(const char*);

} // namespace live::cpu::LIVE_VECTOR_NAMESPACE
