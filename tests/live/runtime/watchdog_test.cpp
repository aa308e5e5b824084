// Nothing hangs: a run in which nothing moves is ended, and told why.
#include "live/comm/processes.h"
#include "live/comm/socket.h"
#include "live/comm/store.h"
#include "live/runtime/run.h"
#include "live/runtime/watchdog.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/decorators.h"
#include "tests/live/support/jobs.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>
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
    void prepare(const std::vector<GroupUse>& uses) override { m_inner->prepare(uses); }
    bool poll() override { return m_inner->poll(); }
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

/// Its kernels on rank 1 take long: far longer than the deadline, without a word in between.
class SlowQueue final : public QueueDecorator {
public:
    using QueueDecorator::QueueDecorator;
    void activation(ActivationFunction function, T x, T y) override
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(m_slept++ == 0 ? 700 : 0));
        QueueDecorator::activation(function, x, y);
    }

private:
    int m_slept = 0;
};

TEST(Watchdog, LeavesARankAloneThatComputesForLongWhileOthersWaitForIt)
{
    for (const Settings& layout : {kLayout, Settings{}}) {
        WorkerPool pool(2);
        DeviceDecorator device(makeCpuDevice(DType::f32, &pool), [](std::unique_ptr<Queue> inner, int rank) {
            return rank <= 1 ? std::make_unique<SlowQueue>(std::move(inner)) : std::move(inner);
        });
        const auto communicator = makeLocalCommunicator(pool);
        live::Run run(job(layout), {.pool = &pool, .device = &device, .communicator = communicator.get()});
        const Watchdog watchdog(run, std::chrono::milliseconds(150));
        EXPECT_EQ(failureOf(run), "");
    }
}

/// What several processes' watchdogs tell each other, and nothing else of a store.
class CountingStore final : public Store {
public:
    explicit CountingStore(bool othersMove) : m_othersMove(othersMove) {}
    int process() const override { return 0; }
    int processes() const override { return 2; }
    int port() const override { return 0; }
    std::string address() const override { return {}; }
    void set(const std::string&, const std::string&) override {}
    std::string get(const std::string&) override { return {}; }
    std::int64_t add(const std::string& key, std::int64_t number) override
    {
        return key == "watchdog" ? m_sum += number + (m_othersMove ? 1 : 0)
                                 : 1; // the other has told how its ranks stand: of none
    }
    void barrier(const std::string&) override {}
    void abort(const std::string&) override {}
    std::string abortReason() const override { return {}; }
    std::shared_ptr<void> onAbort(AbortHandler) override { return {}; }
    ClockSample sampleClock() override { return {}; }

private:
    const bool m_othersMove;
    std::int64_t m_sum = 0;
};

TEST(Watchdog, WaitsForAnotherProcessThatMovesAndNotForOneThatDoesNot)
{
    for (const bool othersMove : {true, false}) {
        WorkerPool pool(2);
        const auto device = makeCpuDevice(DType::f32, &pool);
        LosingCommunicator communicator(pool, makeLocalCommunicator(pool));
        live::Run run(job(kLayout), {.pool = &pool, .device = device.get(), .communicator = &communicator});
        CountingStore store(othersMove);
        const Watchdog watchdog(run, std::chrono::milliseconds(100), &store);
        const std::jthread end([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(600));
            run.abort("the test is over");
        });
        EXPECT_EQ(failureOf(run).find("nothing moved") != std::string::npos, !othersMove);
    }
}

TEST(Watchdog, TellsWhoWaitsForWhomOverProcesses)
{
    const int port = portOf(listenOn("127.0.0.1", 0));
    const sim::Scenario scenario = job(kLayout);
    std::array<std::string, 2> failures;
    const auto process = [&](int number) {
        LaunchEnvironment launch;
        launch.launcher = Launcher::flags;
        launch.process = number;
        launch.processes = 2;
        launch.masterPort = port;
        const auto store = openStore(launch);
        WorkerPool pool(1);
        const auto device = makeCpuDevice(DType::f32, &pool);
        const int world = scenario.layout.worldSize();
        LosingCommunicator communicator(pool, makeProcessCommunicator(pool, launch, world, store.get()));
        pool.setPoller([&] { return communicator.poll(); });
        const RankRange mine = ranksOf(number, 2, world);
        live::Run run(scenario, {.pool = &pool,
                                 .device = device.get(),
                                 .communicator = &communicator,
                                 .firstRank = mine.first,
                                 .rankCount = mine.count});
        const Watchdog watchdog(run, std::chrono::milliseconds(400), store.get());
        store->barrier("begin");
        if (number == 0) // so that those who wait for it have waited longest
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
        failures[static_cast<std::size_t>(number)] = failureOf(run);
    };
    {
        const std::jthread second(process, 1);
        process(0);
    }
    // The second stage's ranks, of process 1, wait for the first's, of process 0, of which one has lost a sum.
    // Whoever is not the first to end it may hear of lost connections instead.
    EXPECT_THAT(failures, testing::Contains(testing::ContainsRegex(
                              "rank [4-7] has waited .* to which rank [0-3] has not come: it is in 0F0; rank [0-3] has waited .* "
                              "in all-reduce mlp.sum of group tp")));
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
