// The inner loops of every instruction set that this processor runs.
#include "live/kernels/cpu/vector_kernels.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>

namespace live::cpu {
namespace {

template <class T>
class EachInstructionSet : public testing::Test {
public:
    std::vector<T> random(std::int64_t count, double deviation = 1)
    {
        std::normal_distribution<double> normal(0, deviation);
        std::vector<T> values(static_cast<std::size_t>(count));
        for (T& value : values)
            value = static_cast<T>(normal(m_random));
        return values;
    }

private:
    std::mt19937 m_random{3};
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(EachInstructionSet, Types);

TYPED_TEST(EachInstructionSet, ExponentialIsWithinTwoUlp)
{
    using T = TypeParam;
    for (const auto& kernels : runnableVectorKernels<T>()) {
        const T lowest = sizeof(T) == 4 ? T{-87} : T{-708};
        std::vector<T> x;
        for (int i = 0; i <= 100003; ++i) // an odd number: the last vector is not full
            x.push_back(lowest * static_cast<T>(i) / T{100003});
        std::vector<T> y = x;
        const T sum = kernels.exponentials(y.data(), 0, static_cast<std::int64_t>(y.size()));
        long double expected = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const long double exact = std::exp(static_cast<long double>(x[i]));
            const long double ulp =
                std::abs(std::nextafter(static_cast<T>(exact), std::numeric_limits<T>::max()) - static_cast<T>(exact));
            ASSERT_LE(std::abs(static_cast<long double>(y[i]) - exact), 2 * ulp) << kernels.name << ' ' << x[i];
            expected += exact;
        }
        EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(expected), 1e-6 * static_cast<double>(expected));
        T ends[] = {-std::numeric_limits<T>::infinity(), T{-1e6}, T{0}};
        EXPECT_EQ(kernels.exponentials(ends, 0, 3), T{1}) << kernels.name;
        EXPECT_EQ(ends[0], T{0});
        EXPECT_EQ(ends[1], T{0});
    }
}

/// C for all four transpositions against the plain sums, with strides and edges; nothing beside C is written.
TYPED_TEST(EachInstructionSet, ProductsAreTheSums)
{
    using T = TypeParam;
    const double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-14;
    for (const auto& kernels : runnableVectorKernels<T>())
        for (const auto& [m, n, k] :
             std::vector<std::array<std::int64_t, 3>>{{1, 1, 1}, {15, 33, 5}, {14, 32, 300}, {30, 7, 17}, {260, 40, 9}})
            for (const bool transposeA : {false, true})
                for (const bool transposeB : {false, true})
                    for (const bool add : {false, true}) {
                        const std::int64_t strideA = (transposeA ? m : k) + 3, strideB = (transposeB ? k : n) + 2,
                                           strideC = n + 1;
                        const auto a = this->random(strideA * (transposeA ? k : m)),
                                   b = this->random(strideB * (transposeB ? n : k));
                        auto c = this->random(strideC * m);
                        const auto old = c;
                        const Product<T> product{transposeA ? Transposed::yes : Transposed::no,
                                                 transposeB ? Transposed::yes : Transposed::no,
                                                 m,
                                                 n,
                                                 k,
                                                 T{0.5},
                                                 a.data(),
                                                 strideA,
                                                 b.data(),
                                                 strideB,
                                                 add,
                                                 c.data(),
                                                 strideC};
                        std::vector<T> scratch(static_cast<std::size_t>(kernels.productScratch(product)));
                        kernels.product(product, scratch.data());
                        for (std::int64_t i = 0; i < m; ++i)
                            for (std::int64_t j = 0; j < strideC; ++j) {
                                const auto at = static_cast<std::size_t>(i * strideC + j);
                                if (j >= n) {
                                    ASSERT_EQ(c[at], old[at]);
                                    continue;
                                }
                                double sum = 0, size = 1;
                                for (std::int64_t l = 0; l < k; ++l) {
                                    const double term =
                                        0.5 *
                                        static_cast<double>(
                                            a[static_cast<std::size_t>(transposeA ? l * strideA + i : i * strideA + l)]) *
                                        static_cast<double>(
                                            b[static_cast<std::size_t>(transposeB ? j * strideB + l : l * strideB + j)]);
                                    sum += term;
                                    size += std::abs(term);
                                }
                                sum += add ? static_cast<double>(old[at]) : 0;
                                ASSERT_NEAR(static_cast<double>(c[at]), sum, tolerance * size)
                                    << kernels.name << ' ' << m << ' ' << n << ' ' << k << ' ' << i << ' ' << j;
                            }
                    }
}

TYPED_TEST(EachInstructionSet, GivesWhatTheOthersGive)
{
    using T = TypeParam;
    const auto& sets = runnableVectorKernels<T>();
    const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-14;
    for (const std::int64_t count : {1, 7, 16, 61}) {
        const auto x = this->random(count, 3), dy = this->random(count), gain = this->random(count);
        std::vector<T> expected;
        for (const auto& kernels : sets) {
            std::vector<T> all;
            const auto size = static_cast<std::size_t>(count);
            const auto append = [&](const std::vector<T>& values) { all.insert(all.end(), values.begin(), values.end()); };
            std::vector<T> y(size), z(size), statistics(2);
            for (const auto function : {ActivationFunction::gelu, ActivationFunction::silu, ActivationFunction::relu2}) {
                kernels.activation(function, x.data(), y.data(), count);
                append(y);
                kernels.activationGradient(function, x.data(), dy.data(), y.data(), count);
                append(y);
                kernels.gatedActivationGradient(function, x.data(), gain.data(), dy.data(), y.data(), z.data(), count);
                append(y);
                append(z);
            }
            kernels.norm(NormKind::rmsnorm, x.data(), gain.data(), nullptr, y.data(), statistics.data(), count);
            append(y);
            append(statistics);
            kernels.normGradient(NormKind::rmsnorm, dy.data(), x.data(), gain.data(), statistics.data(), y.data(), count);
            append(y);
            z = gain;
            kernels.addGainGradient(dy.data(), x.data(), statistics.data(), z.data(), count);
            kernels.addTo(dy.data(), z.data(), count);
            kernels.scale(z.data(), T{0.5}, count);
            append(z);
            std::vector<T> first(size), second(size), weights = x;
            kernels.adamw({T{1}, T(1e-2), T{1}, T(0.9), T(0.95), T(0.1), T(0.05), T(1e-8), T{1}}, dy.data(), first.data(),
                          second.data(), weights.data(), count);
            append(weights);
            all.push_back(kernels.maximum(x.data(), count));
            all.push_back(kernels.dot(x.data(), dy.data(), count));
            all.push_back(static_cast<T>(kernels.sumOfSquares(x.data(), count)));
            if (expected.empty())
                expected = all;
            for (std::size_t i = 0; i < all.size(); ++i)
                ASSERT_NEAR(static_cast<double>(all[i]), static_cast<double>(expected[i]),
                            tolerance * (4 + std::abs(static_cast<double>(expected[i]))))
                    << kernels.name << ' ' << i;
        }
    }
}

} // namespace
} // namespace live::cpu
