#include "tests/live/kernels/kernel_fixture.h"

namespace live {
namespace {

struct Shape {
    std::int64_t rows, inputs, outputs;
};
const Shape kShapes[] = {{0, 3, 4}, {1, 1, 1}, {1, 7, 5}, {3, 5, 2}, {17, 33, 65}, {29, 300, 31}, {130, 520, 67}, {64, 64, 128}};

double entry(const Tensor& tensor, std::int64_t row, std::int64_t column)
{
    return tensor.type == DType::f32 ? static_cast<double>(Workbench<float>::at(tensor, row, column))
                                     : Workbench<double>::at(tensor, row, column);
}

template <class T>
class Linear : public testing::Test {
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Linear, Types);

TYPED_TEST(Linear, AgreesWithThePlainSumsAlsoOnColumnsOfWiderTensors)
{
    const double tolerance = std::is_same_v<TypeParam, float> ? 2e-5 : 1e-13;
    for (const auto& [rows, inputs, outputs] : kShapes)
        for (const std::int64_t gap : {0, 3}) {
            Workbench<TypeParam> bench;
            const Tensor x = bench.random(rows, inputs, gap), w = bench.random(outputs, inputs, gap, 1 / std::sqrt(inputs)),
                         bias = bench.random(1, outputs), y = bench.random(rows, outputs, gap);
            bench.queue().linear(x, w, bias, y);
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t j = 0; j < outputs; ++j) {
                    double sum = entry(bias, 0, j);
                    for (std::int64_t k = 0; k < inputs; ++k)
                        sum += entry(x, i, k) * entry(w, j, k);
                    ASSERT_NEAR(entry(y, i, j), sum, tolerance * (1 + std::abs(sum))) << rows << ' ' << inputs << ' ' << outputs;
                }
            const Tensor dx = bench.random(rows, inputs, gap);
            bench.queue().linearInputGradient(y, w, dx);
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t k = 0; k < inputs; ++k) {
                    double sum = 0;
                    for (std::int64_t j = 0; j < outputs; ++j)
                        sum += entry(y, i, j) * entry(w, j, k);
                    ASSERT_NEAR(entry(dx, i, k), sum, tolerance * (1 + std::abs(sum)));
                }
            const Tensor dw = bench.random(outputs, inputs, gap), dBias = bench.random(1, outputs);
            const Tensor oldW = bench.make(outputs, inputs), oldBias = bench.make(1, outputs);
            bench.queue().copy(dw, oldW);
            bench.queue().copy(dBias, oldBias);
            bench.queue().linearWeightGradient(y, x, dw, dBias);
            for (std::int64_t j = 0; j < outputs; ++j) {
                double column = entry(oldBias, 0, j);
                for (std::int64_t i = 0; i < rows; ++i)
                    column += entry(y, i, j);
                ASSERT_NEAR(entry(dBias, 0, j), column, 5 * tolerance * (1 + std::abs(column)));
                for (std::int64_t k = 0; k < inputs; ++k) {
                    double sum = entry(oldW, j, k);
                    for (std::int64_t i = 0; i < rows; ++i)
                        sum += entry(y, i, j) * entry(x, i, k);
                    ASSERT_NEAR(entry(dw, j, k), sum, 5 * tolerance * (1 + std::abs(sum)));
                }
            }
        }
}

TYPED_TEST(Linear, ASliceOfTheOutputsOrOfTheRowsHasTheBitsOfTheWhole)
{
    Workbench<TypeParam> bench;
    const std::int64_t rows = 70, inputs = 777, outputs = 96;
    const Tensor x = bench.random(rows, inputs), w = bench.random(outputs, inputs), whole = bench.make(rows, outputs);
    bench.queue().linear(x, w, {}, whole);
    for (const std::int64_t parts : {2, 3, 4, 8}) {
        const std::int64_t share = outputs / parts;
        for (std::int64_t part = 0; part < parts; ++part) {
            const Tensor y = bench.make(rows, share);
            bench.queue().linear(x, w.rowRange(part * share, share), {}, y);
            ASSERT_TRUE(sameBits(bench.values(y), bench.values(whole.columnRange(part * share, share)))) << parts;
            // The slice's weight gradient too.
            const Tensor dw = bench.zeros(outputs, inputs), dwSlice = bench.zeros(share, inputs);
            bench.queue().linearWeightGradient(whole, x, dw, {});
            bench.queue().linearWeightGradient(y, x, dwSlice, {});
            ASSERT_TRUE(sameBits(bench.values(dwSlice), bench.values(dw.rowRange(part * share, share)))) << parts;
        }
    }
    for (const std::int64_t first : {0, 1, 13, 35}) {
        const Tensor y = bench.make(rows - first, outputs);
        bench.queue().linear(x.rowRange(first, rows - first), w, {}, y);
        EXPECT_TRUE(sameBits(bench.values(y), bench.values(whole.rowRange(first, rows - first)))) << first;
    }
}

TYPED_TEST(Linear, BitsDoNotDependOnTheNumberOfWorkers)
{
    const auto run = [](WorkerPool* pool) {
        Workbench<TypeParam> bench(pool);
        const Tensor x = bench.random(300, 520), w = bench.random(1100, 520), y = bench.make(300, 1100),
                     dx = bench.make(300, 520), dw = bench.zeros(1100, 520), db = bench.zeros(1, 1100);
        bench.queue().linear(x, w, {}, y);
        bench.queue().linearInputGradient(y, w, dx);
        bench.queue().linearWeightGradient(y, x, dw, db);
        std::vector<TypeParam> all;
        for (const Tensor& tensor : {y, dx, dw, db})
            for (const TypeParam value : bench.values(tensor))
                all.push_back(value);
        return all;
    };
    const auto alone = run(nullptr);
    withWorkers(3, [&](WorkerPool& pool) {
        for (int again = 0; again < 3; ++again)
            EXPECT_TRUE(sameBits(alone, run(&pool)));
    });
}

} // namespace
} // namespace live
