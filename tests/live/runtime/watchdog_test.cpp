// Nothing hangs: a run in which nothing moves is ended, and told why.
#include "live/runtime/run.h"
#include "live/runtime/watchdog.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>
#include <mutex>
#include <vector>

namespace live::test {
namespace {

const Settings kLayout = {"layout.dp=2", "layout.tp=2", "layout.pp=2"};

/// What training throws; "" if it ends well.
std::string failureOf(Run& run)
{
    try {
        run.train(5);
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

/// Loses a request of rank 1: the others wait for it for ever.
class LosingCommunicator final : public Communicator {
public:
    LosingCommunicator(WorkerPool& pool, std::unique_ptr<Communicator> inner) : m_pool(pool), m_inner(std::move(inner)) {}
    std::string name() const override { return m_inner->name(); }
    void issue(const CommRequest& request, Completion& completion) override
    {
        {
            const std::lock_guard lock(m_mutex);
            if (!m_lost && request.group->ranks[static_cast<std::size_t>(request.member)] == 1 && request.what == "mlp.sum") {
                m_lost = &completion;
                return;
            }
        }
        m_inner->issue(request, completion);
    }
    void abort(const std::string& why) override
    {
        Completion* lost = nullptr;
        {
            const std::lock_guard lock(m_mutex);
            std::swap(lost, m_lost);
        }
        if (lost)
            lost->fail(m_pool, std::make_exception_ptr(sim::Error(why)));
        m_inner->abort(why);
    }

private:
    WorkerPool& m_pool;
    std::unique_ptr<Communicator> m_inner;
    std::mutex m_mutex;
    Completion* m_lost = nullptr;
};

TEST(Watchdog, EndsARunInWhichNothingMovesAndSaysWhoWaitsInWhat)
{
    WorkerPool pool(2);
    const auto device = makeCpuDevice(DType::f32, &pool);
    LosingCommunicator communicator(pool, makeLocalCommunicator(pool));
    live::Run run(job(kLayout), {.pool = &pool, .device = device.get(), .communicator = &communicator});
    const Watchdog watchdog(run, std::chrono::milliseconds(200));
    const std::string failure = failureOf(run);
    EXPECT_NE(failure.find("nothing moved for too long: rank "), std::string::npos) << failure;
    EXPECT_NE(failure.find("mlp.sum of group tp"), std::string::npos) << failure;
}

TEST(Watchdog, LeavesARunAloneThatMoves)
{
    WorkerPool pool(2);
    const auto device = makeCpuDevice(DType::f32, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    live::Run run(job(kLayout), {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
    const Watchdog watchdog(run, std::chrono::seconds(20));
    EXPECT_EQ(failureOf(run), "");
}

} // namespace
} // namespace live::test
