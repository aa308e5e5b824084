// Several linear layers in one launch against the same layers one by one on the CPU: parts without rows, parts of one row, tiles
// that end in the middle, more parts than a launch takes.
#include "tests/live/cuda/gpu_fixture.h"
#ifndef RANKSCOPE_TEST_ON_GPU
#include "live/kernels/cuda/grouping.h"
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
    return {{{3, 0, 70, 1, 130}, 40, 136, 0, true},
            {{17, 5}, 72, 24, 8, false},
            {{200}, 32, 264, 0, true},
            {{0, 9, 0}, 7, 5, 3, true}, // in bf16 no rows that 16 bytes fit: one by one
            {std::vector<std::int64_t>(131, 1), 8, 16, 0, false}};
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
    constexpr std::int64_t kRows = 150, kInputs = 264, kOutputs = 40;
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

TEST(GroupingChoice, ByShapeGroupsWhatWouldNotFillTheGpu)
{
    EXPECT_TRUE(cuda::leavesProcessorsIdle(shapeOfExperts(8, 64, 1536, 2048), kProcessors));
    EXPECT_FALSE(cuda::leavesProcessorsIdle(shapeOfExperts(8, 2048, 28672, 4096), kProcessors));
    EXPECT_FALSE(cuda::leavesProcessorsIdle(shapeOfExperts(1, 64, 1536, 2048), kProcessors)) << "one layer";
    GroupedShape gradient = shapeOfExperts(8, 64, 28672, 4096);
    gradient.kind = GroupedShape::Kind::weightGradient;
    EXPECT_FALSE(cuda::leavesProcessorsIdle(gradient, kProcessors)) << "few rows, but a large result";
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
