// How often the optimizer asks the device: once for each run of parameters that are updated alike, however many they are.
#include "live/runtime/null_device.h"
#include "live/runtime/planning_communicator.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace live::test {
namespace {

struct Updates {
    int calls = 0;
    std::int64_t elements = 0;
};

class UpdatesQueue final : public QueueDecorator {
public:
    UpdatesQueue(std::unique_ptr<Queue> inner, Updates& updates) : QueueDecorator(std::move(inner)), m_updates(updates) {}
    void adamw(const AdamwStep&, T, T, T, T, T master, T) override { note(master); }
    void sgd(double, T, T, T master, T) override { note(master); }

private:
    void note(T master)
    {
        ++m_updates.calls;
        m_updates.elements += master.columns;
    }
    Updates& m_updates;
};

Updates updatesOfAStep(const Settings& settings)
{
    const sim::Scenario scenario = job(settings);
    Updates updates;
    DeviceDecorator device(makeNullDevice(DType::bf16, DType::f32), [&](std::unique_ptr<Queue> queue, int) {
        return std::make_unique<UpdatesQueue>(std::move(queue), updates);
    });
    WorkerPool pool(1);
    PlanningCommunicator communicator(pool, 1);
    live::Run run(scenario, {.pool = &pool, .device = &device, .communicator = &communicator, .record = false});
    run.train(1);
    return updates;
}

TEST(OptimizerLaunches, DoNotGrowWithTheExperts)
{
    for (const char* const optimizer : {"training.optimizer=adamw", "training.optimizer=sgd"}) {
        const Updates few = updatesOfAStep(kExperts + Settings{optimizer});
        const Updates many = updatesOfAStep(kExperts + Settings{"model.num_experts=32", optimizer});
        EXPECT_EQ(many.calls, few.calls) << optimizer;
        // 28 experts more in each of 4 layers, two matrices of 32 x 32 each; and their rows of the router.
        EXPECT_EQ(many.elements - few.elements, 4 * 28 * (2 * 32 * 32 + 32)) << optimizer << ": each element once";
    }
}

TEST(OptimizerLaunches, KeepApartWhatDecaysAndWhatDoesNot)
{
    const Updates plain = updatesOfAStep({}), unbiased = updatesOfAStep({"model.bias=false"});
    EXPECT_GT(plain.calls, unbiased.calls) << "biases do not decay and lie between the matrices";
}

} // namespace
} // namespace live::test
