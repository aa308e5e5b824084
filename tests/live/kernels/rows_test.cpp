// Kernels that treat elements or rows by themselves: norms, activations, copies, dropout, embeddings.
#include "tests/live/kernels/kernel_fixture.h"

#include "live/kernels/philox.h"

#include <numeric>

namespace live {
namespace {

constexpr std::int64_t kWidths[] = {1, 5, 16, 33, 70};
constexpr ActivationFunction kFunctions[] = {ActivationFunction::gelu, ActivationFunction::silu, ActivationFunction::relu2};

TEST(Norm, GradientsAreThoseOfDifferences)
{
    for (const NormKind kind : {NormKind::layernorm, NormKind::rmsnorm})
        for (const std::int64_t width : {5, 33})
            for (const std::int64_t gap : {0, 4}) {
                Workbench<double> bench;
                const Tensor x = bench.random(3, width, gap), gain = bench.random(1, width),
                             bias = kind == NormKind::layernorm ? bench.random(1, width) : Tensor{},
                             y = bench.make(3, width, DType::f64, gap), statistics = bench.make(3, 2),
                             dy = bench.random(3, width, gap), dx = bench.make(3, width, DType::f64, gap),
                             dGain = bench.zeros(1, width), dBias = bias ? bench.zeros(1, width) : Tensor{};
                const auto value = [&] {
                    bench.queue().norm(kind, x, gain, bias, y, statistics);
                    return dot(doubles(bench, y), doubles(bench, dy));
                };
                value();
                bench.queue().normGradient(kind, dy, x, gain, statistics, dx, dGain, dBias);
                expectGradient(x, value, dx);
                expectGradient(gain, value, dGain);
                if (bias)
                    expectGradient(bias, value, dBias);
                bench.queue().normGradient(kind, dy, x, gain, statistics, dx, {}, {}); // empty: skipped
            }
}

TEST(Norm, NormalisesEachRow)
{
    for (const std::int64_t width : kWidths) {
        Workbench<float> bench;
        const Tensor x = bench.random(4, width, 3, 10), gain = bench.make(1, width), y = bench.make(4, width),
                     statistics = bench.make(4, 2);
        bench.queue().fill(gain, 1);
        bench.queue().norm(NormKind::layernorm, x, gain, bench.zeros(1, width), y, statistics);
        for (std::int64_t i = 0; i < 4; ++i) {
            double sum = 0, squares = 0;
            for (std::int64_t j = 0; j < width; ++j) {
                const double value = Workbench<float>::at(y, i, j);
                sum += value;
                squares += value * value;
            }
            EXPECT_NEAR(sum / static_cast<double>(width), 0, 1e-6);
            if (width > 1) {
                EXPECT_NEAR(squares / static_cast<double>(width), 1, 1e-4);
            }
        }
    }
}

TEST(Activation, ValuesAndGradientsAgreeWithTheFormulas)
{
    for (const ActivationFunction function : kFunctions)
        for (const std::int64_t width : kWidths)
            for (const std::int64_t gap : {0, 5}) {
                Workbench<double> bench;
                const Tensor x = bench.random(3, width, gap, 3), y = bench.make(3, width, DType::f64, gap),
                             dy = bench.random(3, width, gap), dx = bench.make(3, width, DType::f64, gap);
                const auto value = [&] {
                    bench.queue().activation(function, x, y);
                    return dot(doubles(bench, y), doubles(bench, dy));
                };
                value();
                for (std::int64_t i = 0; i < 3; ++i)
                    for (std::int64_t j = 0; j < width; ++j) {
                        const double in = Workbench<double>::at(x, i, j);
                        const double expected =
                            function == ActivationFunction::gelu
                                ? 0.5 * in * (1 + std::tanh(std::sqrt(2 / M_PI) * (in + 0.044715 * in * in * in)))
                            : function == ActivationFunction::silu ? in / (1 + std::exp(-in))
                                                                   : (in > 0 ? in * in : 0);
                        ASSERT_NEAR(Workbench<double>::at(y, i, j), expected, 2e-15 * (1 + std::abs(expected)));
                    }
                bench.queue().activationGradient(function, x, dy, dx);
                expectGradient(x, value, dx);
                bench.queue().activationGradient(function, x, dy, dy); // in place
                EXPECT_TRUE(sameBits(bench.values(dx), bench.values(dy)));
            }
}

TEST(Activation, IsSafeAtTheEndsOfTheRange)
{
    Workbench<float> bench;
    const Tensor x = bench.make(1, 6), y = bench.make(1, 6), dy = bench.make(1, 6);
    const std::vector<float> ends{-1e30F, -300, -0.0F, 0, 300, 1e9F};
    for (const ActivationFunction function : {ActivationFunction::gelu, ActivationFunction::silu}) {
        bench.queue().fromHost(ends.data(), x);
        bench.queue().activation(function, x, y);
        EXPECT_EQ(bench.values(y), (std::vector<float>{0, 0, 0, 0, 300, 1e9F}));
        bench.queue().fill(dy, 1);
        bench.queue().activationGradient(function, x, dy, dy);
        EXPECT_EQ(bench.values(dy), (std::vector<float>{0, 0, 0.5F, 0.5F, 1, 1}));
    }
}

TEST(GatedActivation, GradientsAreThoseOfDifferences)
{
    for (const ActivationFunction function : kFunctions)
        for (const std::int64_t width : kWidths) {
            Workbench<double> bench;
            const Tensor x = bench.random(2, 2 * width, 3), y = bench.make(2, width), dy = bench.random(2, width, 1),
                         dx = bench.make(2, 2 * width);
            const auto value = [&] {
                bench.queue().gatedActivation(function, x, y);
                return dot(doubles(bench, y), doubles(bench, dy));
            };
            value();
            bench.queue().gatedActivationGradient(function, x, dy, dx);
            expectGradient(x, value, dx);
        }
}

TEST(RowKernels, FloatAgreesWithDouble)
{
    Workbench<double> exact;
    Workbench<float> bench;
    for (const ActivationFunction function : kFunctions) {
        const Tensor x = bench.random(8, 999, 0, 4), y = bench.make(8, 999), dy = bench.random(8, 999);
        const Tensor xe = exact.make(8, 999), ye = exact.make(8, 999), dye = exact.make(8, 999);
        bench.queue().copy(x, xe); // converts
        bench.queue().copy(dy, dye);
        bench.queue().activation(function, x, y);
        exact.queue().activation(function, xe, ye);
        expectNear(doubles(bench, y), doubles(exact, ye), 5e-7);
        bench.queue().activationGradient(function, x, dy, dy);
        exact.queue().activationGradient(function, xe, dye, dye);
        expectNear(doubles(bench, dy), doubles(exact, dye), 2e-6);
    }
}

TEST(Copy, ConvertsAndKeepsStrides)
{
    Workbench<float> bench;
    const Tensor x = bench.random(5, 7, 2), half = bench.make(5, 7, DType::bf16, 3), back = bench.make(5, 7);
    bench.queue().copy(x, half);
    bench.queue().copy(half, back);
    for (std::int64_t i = 0; i < 5; ++i)
        for (std::int64_t j = 0; j < 7; ++j) {
            const float value = Workbench<float>::at(x, i, j);
            EXPECT_NEAR(Workbench<float>::at(back, i, j), value, std::abs(value) / 256);
        }
    bench.queue().add(x, back);
    const Tensor twice = bench.make(5, 7);
    bench.queue().copy(x, twice);
    bench.queue().add(x, twice);
    expectNear(doubles(bench, back), doubles(bench, twice), 2e-3);
    EXPECT_FALSE(sameBits(bench.values(back), bench.values(twice)));
}

TEST(Bias, IsAddedToEachRowAndItsGradientSumsThem)
{
    Workbench<double> bench;
    for (const std::int64_t rows : {0, 1, 6}) {
        const Tensor bias = bench.random(1, 300), y = bench.zeros(rows, 300, 2), sums = bench.make(1, 300),
                     db = bench.random(1, 300);
        const Tensor old = bench.make(1, 300);
        bench.queue().copy(db, old);
        bench.queue().addBias(bias, y);
        bench.queue().sumRows(y, sums);
        bench.queue().biasGradient(y, db);
        for (std::int64_t j = 0; j < 300; ++j) {
            const double expected = static_cast<double>(rows) * Workbench<double>::at(bias, 0, j);
            EXPECT_NEAR(Workbench<double>::at(sums, 0, j), expected, 1e-14 * 10);
            EXPECT_NEAR(Workbench<double>::at(db, 0, j), expected + Workbench<double>::at(old, 0, j), 1e-13);
        }
    }
}

TEST(Embedding, LooksUpOwnRowsAndAddsTheirGradients)
{
    Workbench<double> bench;
    const Tensor table = bench.random(4, 9), ids = bench.integers(6, 1, {10, 13, 9, 14, 11, 10}), y = bench.random(6, 9, 2);
    bench.queue().embed(ids, table, 10, y); // owns 10 … 13
    const Tensor dTable = bench.zeros(4, 9);
    bench.queue().embedGradient(ids, y, 10, dTable);
    for (std::int64_t j = 0; j < 9; ++j) {
        EXPECT_EQ(Workbench<double>::at(y, 0, j), Workbench<double>::at(table, 0, j));
        EXPECT_EQ(Workbench<double>::at(y, 1, j), Workbench<double>::at(table, 3, j));
        EXPECT_EQ(Workbench<double>::at(y, 2, j), 0);
        EXPECT_EQ(Workbench<double>::at(y, 3, j), 0);
        EXPECT_EQ(Workbench<double>::at(dTable, 0, j), 2 * Workbench<double>::at(table, 0, j));
        EXPECT_EQ(Workbench<double>::at(dTable, 2, j), 0);
    }
}

TEST(Dropout, DependsOnGlobalIndicesAlone)
{
    Workbench<double> bench;
    const DropoutKey key{.seed = 42, .step = 3, .layer = 2, .site = 1, .rate = 0.25};
    const std::int64_t rows = 64, width = 130;
    const Tensor x = bench.make(rows, width), whole = bench.make(rows, width), tokens = bench.make(rows, 1, DType::i64);
    bench.queue().fill(x, 1);
    for (std::int64_t i = 0; i < rows; ++i)
        tokens.as<std::int64_t>()[i] = 1000 + i;
    bench.queue().dropout(key, tokens, 0, x, whole);
    double kept = 0;
    for (const double value : bench.values(whole)) {
        EXPECT_TRUE(value == 0 || value == 1 / 0.75);
        kept += value != 0;
    }
    EXPECT_NEAR(kept / static_cast<double>(rows * width), 0.75, 0.02);
    for (const std::int64_t first : {0, 1, 2, 3, 65}) { // a shard of features, of tokens
        const Tensor part = bench.make(10, width - first);
        bench.queue().dropout(key, tokens.rowRange(7, 10), first, x.rowRange(7, 10).columnRange(first, width - first), part);
        EXPECT_TRUE(sameBits(bench.values(part), bench.values(whole.rowRange(7, 10).columnRange(first, width - first))));
    }
    DropoutKey next = key;
    ++next.step;
    const Tensor other = bench.make(rows, width);
    bench.queue().dropout(next, tokens, 0, x, other);
    EXPECT_FALSE(sameBits(bench.values(other), bench.values(whole)));
}

// Random123's known answers (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, GivesTheKnownAnswers)
{
    const auto draw = [](PhiloxCounter counter, PhiloxKey key) {
        const PhiloxCounter result = philox(counter, key);
        return std::vector<std::uint32_t>(result.word, result.word + 4);
    };
    EXPECT_EQ(draw({{0, 0, 0, 0}}, {{0, 0}}), (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint32_t kOnes = 0xffffffff;
    EXPECT_EQ(draw({{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}),
              (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(draw({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}),
              (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Copy, OfManyBytesOfTheHostIsCutUpAndComesBackAsItWas)
{
    WorkerPool pool(1); // cuts as any number of workers does
    Workbench<double> bench(&pool);
    constexpr std::int64_t kLong = (256 << 10) / 8; // a piece
    struct Block {
        std::int64_t rows, columns, gap;
    };
    for (const Block& block : {Block{1, 2 * kLong + 3, 0}, Block{3, kLong - 1, 0}, Block{3, kLong + 1, 5}, Block{2, 7, 1}}) {
        std::vector<double> host(static_cast<std::size_t>(block.rows * block.columns));
        std::iota(host.begin(), host.end(), 1.0);
        const Tensor tensor = bench.make(block.rows, block.columns, DType::f64, block.gap);
        bench.queue().fromHost(host.data(), tensor);
        EXPECT_EQ(bench.at(tensor, block.rows - 1, 0), host[static_cast<std::size_t>((block.rows - 1) * block.columns)]);
        EXPECT_EQ(bench.values(tensor), host);
    }
}

} // namespace
} // namespace live
