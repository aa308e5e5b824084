// Launches put aside and started as graphs, on the GPU: the same results in every step, though arguments and shapes change, and
// instants among them that can be read.
#include "live/tensor/memory.h"
#include "tests/live/cuda/gpu_fixture.h"

#include <algorithm>
#include <cstdlib>

namespace live {
namespace {

struct Step {
    std::vector<float> values;
    std::vector<std::int64_t> marks;
};

/// 200 launches a step, of which one more in odd steps; each step begins with other numbers.
std::vector<Step> train(const char* graphs, bool marks, std::string* why)
{
    constexpr std::int64_t kRows = 64, kColumns = 256;
    constexpr int kSteps = 6, kLaunches = 200;
    ::setenv("RANKSCOPE_CUDA_GRAPHS", graphs, 1); // NOLINT(concurrency-mt-unsafe): tests run one at a time
    const std::unique_ptr<Device> device = gpuForTests(DType::f32, why);
    ::unsetenv("RANKSCOPE_CUDA_GRAPHS"); // NOLINT(concurrency-mt-unsafe): see above
    if (!device)
        return {};
    const std::unique_ptr<Queue> queue = device->makeQueue();
    Memory memory(*device);
    const Array x = memory.allocate(DType::f32, kRows, kColumns), w = memory.allocate(DType::f32, kColumns, kColumns),
                y = memory.allocate(DType::f32, kRows, kColumns);
    queue->keepMarks(marks);
    std::vector<Step> steps;
    for (int i = 0; i < kSteps; ++i) {
        Step step;
        step.marks.push_back(queue->mark());
        queue->fill(x, 1 + 0.01 * i);
        queue->fill(w, 1.0 / (static_cast<double>(kColumns) + i));
        queue->fill(y, i);
        for (int j = 0; j < kLaunches; ++j) {
            if (j % 3 == 0)
                queue->linear(x, w, {}, y);
            else
                queue->add(y, x);
            if (j % 10 == 0)
                step.marks.push_back(queue->mark());
        }
        if (i % 2 == 1)
            queue->activation(ActivationFunction::gelu, y, x);
        step.marks.push_back(queue->mark());
        step.values.resize(kRows * kColumns);
        queue->toHost(x, step.values.data());
        if (marks)
            queue->resolveMarks(step.marks);
        queue->stepDone();
        steps.push_back(std::move(step));
    }
    return steps;
}

TEST(BatchesOfLaunches, AreTheSameLaunches)
{
    std::string why;
    const std::vector<Step> plain = train("0", false, &why);
    if (plain.empty())
        GTEST_SKIP() << why;
    for (const bool marks : {false, true}) {
        const std::vector<Step> together = train("1", marks, &why);
        ASSERT_EQ(together.size(), plain.size());
        for (std::size_t i = 0; i < plain.size(); ++i)
            EXPECT_EQ(together[i].values, plain[i].values) << "step " << i;
    }
    EXPECT_NE(plain[0].values, plain[1].values);
}

TEST(BatchesOfLaunches, TellTheInstantsAmongThem)
{
    std::string why;
    const std::vector<Step> steps = train("1", true, &why);
    if (steps.empty())
        GTEST_SKIP() << why;
    std::int64_t before = 0;
    for (const Step& step : steps) {
        EXPECT_GT(step.marks.front(), before) << "after all of the step before";
        EXPECT_TRUE(std::is_sorted(step.marks.begin(), step.marks.end()));
        EXPECT_LT(step.marks.front(), step.marks.back());
        before = step.marks.back();
    }
}

} // namespace
} // namespace live
