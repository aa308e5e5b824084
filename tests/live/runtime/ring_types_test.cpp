// A ring joins blocks of attention in the type of sums, from the kernel that makes them on.
#include "live/runtime/null_device.h"
#include "live/runtime/planning_communicator.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <vector>

namespace live::test {
namespace {

/// Computes nothing; notes the types that attention is asked for.
class TypesQueue final : public QueueDecorator {
public:
    TypesQueue(std::unique_ptr<Queue> inner, std::vector<DType>& ofKernels, std::vector<DType>& ofBlocks)
        : QueueDecorator(std::move(inner)), m_ofKernels(ofKernels), m_ofBlocks(ofBlocks)
    {
    }
    void attention(const AttentionShape&, T, T, T, T o, T) override { m_ofKernels.push_back(o.type); }
    void mergeAttention(int, T oBlock, T, T, T) override { m_ofBlocks.push_back(oBlock.type); }

private:
    std::vector<DType>&m_ofKernels, &m_ofBlocks;
};

TEST(Ring, NoHopIsRoundedToTheTypeOfActivations)
{
    for (const int cp : {1, 2, 4}) {
        const sim::Scenario scenario = job({"layout.cp=" + std::to_string(cp)});
        std::vector<DType> ofKernels, ofBlocks;
        DeviceDecorator device(makeNullDevice(DType::bf16, DType::f32), [&](std::unique_ptr<Queue> queue, int) {
            return std::make_unique<TypesQueue>(std::move(queue), ofKernels, ofBlocks);
        });
        WorkerPool pool(1);
        PlanningCommunicator communicator(pool, cp);
        live::Run run(scenario, {.pool = &pool, .device = &device, .communicator = &communicator, .record = false});
        run.train(1);
        const std::size_t layers = 4, microbatches = 4;
        EXPECT_EQ(ofKernels, std::vector<DType>(layers * microbatches * static_cast<std::size_t>(cp * cp),
                                                cp == 1 ? DType::bf16 : DType::f32));
        EXPECT_EQ(ofBlocks, std::vector<DType>(layers * microbatches * static_cast<std::size_t>(cp * (cp - 1)), DType::f32));
    }
}

} // namespace
} // namespace live::test
