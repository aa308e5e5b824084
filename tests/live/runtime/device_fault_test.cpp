// A device that fails in the middle of a step ends the run with its own words.
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>

namespace live::test {
namespace {

/// After its third activation every call fails, as a GPU's do that is lost.
class LostQueue final : public QueueDecorator {
public:
    explicit LostQueue(std::unique_ptr<Queue> inner) : QueueDecorator(std::move(inner)) {}
    void activation(ActivationFunction function, T x, T y) override
    {
        if (++m_activations == 3)
            fail();
        QueueDecorator::activation(function, x, y);
    }
    std::int64_t mark() override
    {
        if (m_activations >= 3)
            fail();
        return QueueDecorator::mark();
    }

private:
    [[noreturn]] static void fail() { throw sim::Error("the GPU has fallen off the bus"); }
    int m_activations = 0;
};

TEST(DeviceFault, InASpanThatIsRecordedIsToldInTheDevicesWords)
{
    WorkerPool pool(1);
    DeviceDecorator device(makeCpuDevice(DType::f64, &pool),
                           [](std::unique_ptr<Queue> inner, int) { return std::make_unique<LostQueue>(std::move(inner)); });
    const auto communicator = makeLocalCommunicator(pool);
    live::Run run(job({}), {.pool = &pool, .device = &device, .communicator = communicator.get()});
    std::string why;
    try {
        run.train(1);
    } catch (const sim::Error& error) {
        why = error.what();
    }
    EXPECT_EQ(why, "the GPU has fallen off the bus");
}

} // namespace
} // namespace live::test
