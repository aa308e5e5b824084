// Exact sums, the optimizer, and a rank's memory.
#include "tests/live/kernels/kernel_fixture.h"

#include "sim/error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace live {
namespace {

using Words = std::array<std::int64_t, kExactSumWords>;

double exact(const std::vector<double>& values)
{
    Words words{};
    for (const double value : values)
        addToExactSum(words, value);
    return exactSumValue(words);
}

TEST(ExactSum, RoundsOnce)
{
    EXPECT_EQ(exact({}), 0);
    EXPECT_EQ(exact({1, 1e100, 1, -1e100}), 2);
    EXPECT_EQ(exact({0x1p53, 1}), 0x1p53);                    // a tie goes to even
    EXPECT_EQ(exact({0x1p53, 1, 0x1p-1074}), 0x1p53 + 2);     // just above the tie
    EXPECT_EQ(exact({-0x1p53, -1, -0x1p-1074}), -0x1p53 - 2); // and on the other side
    EXPECT_EQ(exact({0x1p53 + 2, 1}), 0x1p53 + 4);
    EXPECT_EQ(exact({0x1p-1074, 0x1p-1074}), 0x1p-1073);
    EXPECT_EQ(exact({1e308, 1e308, -1e308, -1e308, 3}), 3);
    EXPECT_EQ(exact({1.5, -1.5}), 0);
    EXPECT_TRUE(std::isnan(exact({1, std::numeric_limits<double>::infinity()})));
    EXPECT_TRUE(std::isinf(exact({std::numeric_limits<double>::max(), std::numeric_limits<double>::max()})));
}

TEST(ExactSum, DoesNotDependOnOrderOrGrouping)
{
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> exponent(-300, 300);
    std::vector<double> values(3000);
    for (double& value : values)
        value = std::ldexp(normal(random), exponent(random));
    const double expected = exact(values);
    for (int again = 0; again < 5; ++again) {
        std::shuffle(values.begin(), values.end(), random);
        Words all{};
        for (std::size_t group = 0; group < 7; ++group) {
            Words part{};
            for (std::size_t i = group; i < values.size(); i += 7)
                addToExactSum(part, values[i]);
            for (std::size_t w = 0; w < part.size(); ++w)
                all[w] += part[w];
        }
        EXPECT_EQ(exactSumValue(all), expected);
    }
    // Against 64-bit significands where those are exact: whole numbers.
    long double sum = 0;
    Words words{};
    for (int i = 0; i < 10000; ++i) {
        const double value = std::floor(normal(random) * 1e15);
        sum += static_cast<long double>(value);
        addToExactSum(words, value);
    }
    EXPECT_EQ(exactSumValue(words), static_cast<double>(sum));
}

/// As ranks of a model of a trillion parameters would have them: words that are nearly full, of which two overflow.
TEST(ExactSum, SumsOfManyTermsAddUpOnceTheyAreCarried)
{
    Workbench<double> bench;
    const Tensor words = bench.make(2, kExactSumWords, DType::i64);
    constexpr std::int64_t kFull = ((std::int64_t{1} << 31) - 1) * 0xFFFFFFFF; // so many digits as a word takes
    for (const std::int64_t sign : {1, -1}) {
        for (std::int64_t row = 0; row < 2; ++row)
            for (std::int64_t i = 0; i < kExactSumWords; ++i)
                words.rowRange(row, 1).as<std::int64_t>()[i] = i < 40 ? sign * kFull : 0;
        const auto of = [&](std::int64_t row) {
            return std::span<std::int64_t, kExactSumWords>(words.rowRange(row, 1).as<std::int64_t>(), kExactSumWords);
        };
        const double each = exactSumValue(of(0));
        bench.queue().carryExactSums(words);
        for (std::int64_t row = 0; row < 2; ++row) {
            EXPECT_EQ(exactSumValue(of(row)), each) << "it is the same sum";
            for (std::size_t i = 0; i + 2 < kExactSumWords; ++i) {
                EXPECT_GE(of(row)[i], 0);
                EXPECT_LE(of(row)[i], 0xFFFFFFFF);
            }
        }
        Words sum{};
        for (std::size_t i = 0; i < kExactSumWords; ++i)
            sum[i] = of(0)[i] + of(1)[i];
        EXPECT_EQ(exactSumValue(sum), 2 * each);
    }
}

TEST(ExactSumOfSquares, IsTheSameForAnyCutAtBlocksAndAnyNumberOfWorkers)
{
    Workbench<float> bench;
    const Tensor values = bench.random(1, 300001);
    const auto cut = [&](Queue& queue, std::int64_t piece) {
        const Tensor words = bench.make(1, kExactSumWords, DType::i64);
        queue.fill(words, 0);
        for (std::int64_t first = 0; first < values.columns; first += piece)
            queue.exactSumOfSquares(values.columnRange(first, std::min(piece, values.columns - first)), words);
        return exactSumValue(std::span<const std::int64_t, kExactSumWords>(words.as<std::int64_t>(), kExactSumWords));
    };
    const double whole = cut(bench.queue(), values.columns);
    double plain = 0;
    for (const double value : doubles(bench, values))
        plain += value * value;
    EXPECT_NEAR(whole, plain, 1e-9 * plain);
    EXPECT_EQ(cut(bench.queue(), 64), whole);
    EXPECT_EQ(cut(bench.queue(), 6400), whole);
    withWorkers(3, [&](WorkerPool& pool) {
        const auto device = makeCpuDevice(DType::f32, &pool);
        EXPECT_EQ(cut(*device->makeQueue(), values.columns), whole);
    });
}

TEST(ClipFactor, ScalesLargeGradientsDown)
{
    Workbench<double> bench;
    const Tensor gradient = bench.make(1, 2), words = bench.make(1, kExactSumWords, DType::i64), factor = bench.make(1, 1);
    const std::vector<double> values{3, 4};
    bench.queue().fromHost(values.data(), gradient);
    bench.queue().fill(words, 0);
    bench.queue().exactSumOfSquares(gradient, words);
    const auto with = [&](double maxNorm) {
        bench.queue().clipFactor(words, maxNorm, factor);
        return *factor.as<double>();
    };
    EXPECT_DOUBLE_EQ(with(1), 1 / (5 + 1e-6));
    EXPECT_EQ(with(10), 1);
    EXPECT_EQ(with(0), 1);
    const Tensor several = bench.make(2, kExactSumWords, DType::i64), bad = bench.make(1, 1);
    bench.queue().fill(several, 0);
    bench.queue().exactSumOfSquares(gradient, several.rowRange(1, 1));
    bench.queue().clipFactor(several, 1, factor);
    EXPECT_DOUBLE_EQ(*factor.as<double>(), 1 / (5 + 1e-6));
    bench.queue().fill(bad, -std::numeric_limits<double>::infinity());
    bench.queue().exactSum(bad, several.rowRange(0, 1));
    bench.queue().clipFactor(several, 0, factor);
    EXPECT_TRUE(std::isnan(*factor.as<double>())) << "of another sum that is not finite";
    bench.queue().fill(words, 0);
    bench.queue().exactSum(gradient, words);
    EXPECT_EQ(exactSumValue(std::span<const std::int64_t, kExactSumWords>(words.as<std::int64_t>(), kExactSumWords)), 7);
}

TEST(Adamw, FollowsThePaper)
{
    Workbench<double> bench;
    Workbench<float> single;
    const std::int64_t count = 1003;
    const Tensor weight = bench.random(1, count), m = bench.zeros(1, count), v = bench.zeros(1, count), clip = bench.make(1, 1);
    const Tensor weight32 = single.make(1, count), m32 = single.zeros(1, count), v32 = single.zeros(1, count),
                 gradient32 = single.make(1, count);
    bench.queue().copy(weight, weight32);
    std::vector<double> w = bench.values(weight), first(w.size(), 0), second(w.size(), 0);
    bench.queue().fill(clip, 0.5);
    for (std::int64_t step = 1; step <= 4; ++step) {
        const AdamwStep parameters{.learningRate = 0.01, .step = step};
        const Tensor gradient = bench.random(1, count);
        bench.queue().copy(gradient, gradient32);
        bench.queue().adamw(parameters, clip, gradient, m, v, weight, weight);
        single.queue().adamw(parameters, clip, gradient32, m32, v32, weight32, weight32);
        const auto g = bench.values(gradient);
        for (std::size_t i = 0; i < w.size(); ++i) {
            const double slope = 0.5 * g[i];
            first[i] = 0.9 * first[i] + 0.1 * slope;
            second[i] = 0.95 * second[i] + 0.05 * slope * slope;
            const double mHat = first[i] / (1 - std::pow(0.9, step)), vHat = second[i] / (1 - std::pow(0.95, step));
            w[i] -= 0.01 * 0.1 * w[i] + 0.01 * mHat / (std::sqrt(vHat) + 1e-8);
        }
    }
    expectNear(doubles(bench, weight), w, 1e-14);
    expectNear(doubles(single, weight32), w, 1e-6);
}

TEST(Adamw, WritesTheRoundedCopyAndSgdSubtracts)
{
    Workbench<float> bench;
    const Tensor weight = bench.random(1, 100), gradient = bench.random(1, 100), rounded = bench.make(1, 100, DType::bf16),
                 clip = bench.make(1, 1, DType::f64), back = bench.make(1, 100);
    bench.queue().fill(clip, 2);
    const auto w = doubles(bench, weight), g = doubles(bench, gradient);
    bench.queue().sgd(0.25, clip, gradient, weight, rounded);
    bench.queue().copy(rounded, back);
    for (std::size_t i = 0; i < w.size(); ++i) {
        EXPECT_NEAR(doubles(bench, weight)[i], w[i] - 0.5 * g[i], 1e-6);
        EXPECT_NEAR(doubles(bench, back)[i], w[i] - 0.5 * g[i], 0.01 * (1 + std::abs(w[i])));
    }
}

TEST(Memory, CountsWhatIsHeldAndUsesBlocksAgain)
{
    const auto device = makeCpuDevice(DType::f32, nullptr);
    Memory memory(*device);
    std::vector<std::int64_t> reports;
    memory.onChange([&](std::int64_t total) { reports.push_back(total); });
    Array a = memory.allocate(DType::f32, 10, 100, MemoryUse::parameters);
    const void* where = a->data;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(where) % 64, 0U);
    Array b = memory.allocate(DType::f64, 3, 1);
    EXPECT_EQ(memory.held(MemoryUse::parameters), 4000);
    EXPECT_EQ(memory.held(), 4024);
    a.reset();
    EXPECT_EQ(memory.held(), 24);
    EXPECT_EQ(memory.peak(), 4024);
    Array c = memory.allocate(DType::f32, 100, 10, MemoryUse::gradients); // the same block
    EXPECT_EQ(c->data, where);
    EXPECT_EQ(memory.held(MemoryUse::gradients), 4000);
    Array d = std::move(c);
    EXPECT_EQ(memory.held(), 4024);
    const Array empty = memory.allocate(DType::f32, 0, 10);
    EXPECT_NE(empty->data, nullptr);
    memory.resetPeak();
    d.reset();
    EXPECT_EQ(memory.peak(), 4024);
    EXPECT_EQ(reports, (std::vector<std::int64_t>{4000, 4024, 24, 4024, 24}));
}

TEST(CpuDevice, RefusesWhatItCannotDo)
{
    EXPECT_THROW(makeCpuDevice(DType::bf16, nullptr), sim::Error);
    const auto device = makeCpuDevice(DType::f64, nullptr);
    EXPECT_EQ(device->info().accumulation, DType::f64);
    EXPECT_THROW(device->allocate(std::size_t{1} << 60), sim::Error);
}

} // namespace
} // namespace live
