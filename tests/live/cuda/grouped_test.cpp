// Several linear layers in one launch against the same layers one by one on the CPU: parts without rows, parts of one row, tiles
// that end in the middle, more parts than a launch takes.
#include "tests/live/cuda/gpu_fixture.h"
#ifndef RANKSCOPE_TEST_ON_GPU
#include "live/kernels/cuda/grouping.h"
#include "live/kernels/cuda/row_classes.h"
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace live {
namespace {

/// Devices are made with the choice that the environment names.
class WithGrouping {
public:
    explicit WithGrouping(const char* value) { setenv("RANKSCOPE_CUDA_GROUPED", value, 1); }
    ~WithGrouping() { unsetenv("RANKSCOPE_CUDA_GROUPED"); }
    WithGrouping(const WithGrouping&) = delete;
    WithGrouping& operator=(const WithGrouping&) = delete;
};

class GroupedOnGpu : public OnGpu {
protected:
    void SetUp() override
    {
        const WithGrouping always("1");
        OnGpu::SetUp();
    }
};

struct PartsCase {
    std::vector<std::int64_t> rows; ///< of each layer
    std::int64_t inputs, outputs, gap;
    bool biased;
};

std::int64_t rowsOfAll(const std::vector<std::int64_t>& rows)
{
    return std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
}

std::vector<PartsCase> partsCases()
{
    return {{{3, 0, 70, 1, 130}, 24, 136, 0, true},
            {{17, 5}, 72, 24, 8, false},
            {{140}, 24, 136, 0, true},
            {{0, 9, 0}, 7, 5, 3, true}, // in bf16 no rows that 16 bytes fit: one by one
            {std::vector<std::int64_t>(131, 1), 8, 8, 0, false}};
}

TEST_P(GroupedOnGpu, LayersAndTheirGradientsAgree)
{
    for (const auto& [rows, inputs, outputs, gap, biased] : partsCases()) {
        const std::int64_t all = rowsOfAll(rows);
        const DType type = twins().activation();
        const Twin x = twins().activations(all, inputs, gap), y = twins().make(all, outputs, type, gap),
                   dy = twins().activations(all, outputs, gap), dx = twins().make(all, inputs, type, gap);
        std::vector<Twin> weights, biases, dWeights, dBiases;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            weights.push_back(twins().activations(outputs, inputs, 0, 0.2F));
            biases.push_back(biased ? twins().activations(1, outputs) : Twin{});
            dWeights.push_back(twins().sums(outputs, inputs));
            dBiases.push_back(biased ? twins().sums(1, outputs) : Twin{});
        }
        both([&, &rowsOf = rows](Queue& queue, auto of) {
            const auto parts = [&](const std::vector<Twin>& weight, const std::vector<Twin>& bias) {
                std::vector<LinearPart> result;
                for (std::size_t i = 0; i < rowsOf.size(); ++i)
                    result.push_back({.weight = of(weight[i]), .bias = of(bias[i]), .rows = rowsOf[i]});
                return result;
            };
            queue.linearParts(parts(weights, biases), of(x), of(y));
            queue.linearPartsInputGradient(parts(weights, biases), of(dy), of(dx));
            queue.linearPartsWeightGradient(parts(dWeights, dBiases), of(dy), of(x));
        });
        twins().expectSame(y, "y");
        twins().expectSame(dx, "dx");
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::string part = ", part " + std::to_string(i);
            twins().expectSame(dWeights[i], "dWeight" + part, 2e-5F, 1e-4F);
            if (biased)
                twins().expectSame(dBiases[i], "dBias" + part, 2e-5F, 1e-4F);
        }
    }
}

TEST_P(GroupedOnGpu, BitsDoNotDependOnTheOtherPartsOfALaunch)
{
    constexpr std::int64_t kRows = 150, kInputs = 72, kOutputs = 24;
    const Twin x = twins().activations(kRows, kInputs), weight = twins().activations(kOutputs, kInputs, 0, 0.2F);
    const auto forward = [&](const std::vector<std::int64_t>& rows) {
        const Twin y = twins().make(kRows, kOutputs, twins().activation());
        std::vector<LinearPart> parts;
        for (const std::int64_t count : rows)
            parts.push_back({.weight = weight.gpu, .bias = {}, .rows = count});
        gpu().linearParts(parts, x.gpu, y.gpu);
        return twins().values(y.gpu);
    };
    const std::vector<float> whole = forward({kRows});
    EXPECT_EQ(forward({1, 99, 50}), whole);
    EXPECT_EQ(forward(std::vector<std::int64_t>(kRows / 3, 3)), whole);
}

class SinglesOnGpu : public OnGpu {
protected:
    void SetUp() override
    {
        const WithGrouping never("0");
        OnGpu::SetUp();
    }
};

/// Products of row counts near each other share a plan, whichever came first.
TEST_P(SinglesOnGpu, ManyRowCountsInTurnAgree)
{
    constexpr std::int64_t kInputs = 40, kOutputs = 24;
    for (const std::int64_t rows : {37, 48, 33, 47, 64, 65, 80, 66}) {
        const DType type = twins().activation();
        const Twin x = twins().activations(rows, kInputs), weight = twins().activations(kOutputs, kInputs, 0, 0.2F),
                   y = twins().make(rows, kOutputs, type), dy = twins().activations(rows, kOutputs),
                   dx = twins().make(rows, kInputs, type), dWeight = twins().sums(kOutputs, kInputs);
        both([&](Queue& queue, auto of) {
            const std::vector<LinearPart> value{{.weight = of(weight), .bias = {}, .rows = rows}},
                gradient{{.weight = of(dWeight), .bias = {}, .rows = rows}};
            queue.linearParts(value, of(x), of(y));
            queue.linearPartsInputGradient(value, of(dy), of(dx));
            queue.linearPartsWeightGradient(gradient, of(dy), of(x));
        });
        const std::string name = ", " + std::to_string(rows) + " rows";
        twins().expectSame(y, "y" + name);
        twins().expectSame(dx, "dx" + name);
        twins().expectSame(dWeight, "dWeight" + name, 2e-5F, 1e-4F);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, SinglesOnGpu, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(dtypeName(parameter.param)); });

INSTANTIATE_TEST_SUITE_P(Types, GroupedOnGpu, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(dtypeName(parameter.param)); });

#ifndef RANKSCOPE_TEST_ON_GPU

using cuda::GroupedShape;
using cuda::Grouping;
using cuda::GroupingChoice;

constexpr int kProcessors = 132;

GroupedShape shapeOfExperts(std::int64_t parts, std::int64_t rows, std::int64_t outputs, std::int64_t inputs)
{
    return {.kind = GroupedShape::Kind::forward, .outputs = outputs, .inputs = inputs, .parts = parts, .rows = parts * rows};
}

TEST(GroupingChoice, ByShapeIsWhatWasFasterOnAnH100)
{
    const auto groups = [](GroupedShape shape, GroupedShape::Kind kind) {
        shape.kind = kind;
        return cuda::leavesProcessorsIdle(shape, kProcessors);
    };
    struct Measured {
        const char* name;
        GroupedShape shape;
        bool rows, weights; ///< faster in one launch: results and gradients of inputs; gradients of weights
    };
    for (const auto& [name, shape, rows, weights] :
         {Measured{"Mixtral", shapeOfExperts(8, 1024, 28672, 4096), false, false},
          Measured{"Mixtral, few rows", shapeOfExperts(8, 64, 28672, 4096), false, false},
          Measured{"DeepSeek-V2-Lite", shapeOfExperts(64, 192, 2816, 2048), false, false},
          Measured{"Qwen3-30B-A3B", shapeOfExperts(128, 256, 1536, 2048), false, false},
          Measured{"Qwen3-30B-A3B, few rows", shapeOfExperts(128, 32, 1536, 2048), true, false},
          Measured{"narrow", shapeOfExperts(8, 512, 2816, 1024), false, false},
          Measured{"tiny", shapeOfExperts(8, 64, 512, 256), true, true},
          Measured{"one layer", shapeOfExperts(1, 64, 512, 256), false, false}}) {
        EXPECT_EQ(groups(shape, GroupedShape::Kind::forward), rows) << name;
        EXPECT_EQ(groups(shape, GroupedShape::Kind::inputGradient), rows) << name;
        EXPECT_EQ(groups(shape, GroupedShape::Kind::weightGradient), weights) << name;
    }
}

TEST(RowClasses, AreFewAndSpareLittle)
{
    std::vector<std::int64_t> classes;
    for (std::int64_t rows = 1; rows <= 4096; ++rows) {
        const std::int64_t size = cuda::rowClass(rows);
        ASSERT_GE(size, rows);
        ASSERT_LE(size, std::max<std::int64_t>(rows + rows / 4, rows + 15));
        EXPECT_EQ(cuda::rowClass(size), size) << "a class is its own";
        if (rows % 64 != 0)
            classes.push_back(size);
    }
    std::sort(classes.begin(), classes.end());
    EXPECT_LE(std::unique(classes.begin(), classes.end()) - classes.begin(), 32);
    EXPECT_EQ(cuda::rowClass(0), 0);
    EXPECT_EQ(cuda::rowClass(704), 704) << "batches keep a plan of their own";

    const cuda::MatmulProblem forward{.m = 96, .n = 100, .k = 40}, gradient{.m = 96, .n = 100, .k = 40, .transposeB = true};
    EXPECT_EQ(cuda::ofItsClass(forward), (cuda::MatmulProblem{.m = 96, .n = 112, .k = 40}));
    EXPECT_EQ(cuda::ofItsClass(gradient), (cuda::MatmulProblem{.m = 96, .n = 100, .k = 48, .transposeB = true}));
}

TEST(GroupingChoice, ByTimeKeepsTheFasterAfterEachHasBeenTried)
{
    const GroupedShape shape = shapeOfExperts(8, 64, 1536, 2048);
    for (const bool groupedIsSlow : {true, false}) {
        GroupingChoice choice(Grouping::byTime, kProcessors);
        int grouped = 0, single = 0;
        const auto work = [](int& calls, bool slow) {
            ++calls;
            if (slow)
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
        };
        for (int call = 0; call < 20; ++call)
            choice.run(
                shape, nullptr, [&] { work(grouped, groupedIsSlow); }, [&] { work(single, !groupedIsSlow); });
        EXPECT_EQ(grouped + single, 20) << "each call does its work once";
        EXPECT_EQ(groupedIsSlow ? grouped : single, 4) << "the slow one only while both are tried";
    }
}

TEST(GroupingChoice, TheEnvironmentDecidesBeforeAnythingElse)
{
    EXPECT_EQ(cuda::groupingWanted(), Grouping::byShape);
    setenv("RANKSCOPE_CUDA_TUNE", "1", 1);
    EXPECT_EQ(cuda::groupingWanted(), Grouping::byTime);
    {
        const WithGrouping never("0");
        EXPECT_EQ(cuda::groupingWanted(), Grouping::never);
    }
    {
        const WithGrouping always("1");
        EXPECT_EQ(cuda::groupingWanted(), Grouping::whereItCan);
    }
    unsetenv("RANKSCOPE_CUDA_TUNE");
}

#endif

} // namespace
} // namespace live
