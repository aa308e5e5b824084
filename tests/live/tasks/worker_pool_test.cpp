#include "live/tasks/task.h"
#include "live/tasks/worker_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>

namespace live {
namespace {

using namespace std::chrono_literals;

/// Lets others run: goes to the end of the queue.
struct Yield {
    WorkerPool& pool;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) const { pool.post(handle); }
    void await_resume() const noexcept {}
};

/// Runs tasks to their end.
void runAll(WorkerPool& pool, std::vector<Task<>>& tasks, const std::atomic<int>& ended)
{
    for (Task<>& task : tasks)
        pool.post(task.handle());
    pool.run([&] { return ended.load() == static_cast<int>(tasks.size()); });
    for (Task<>& task : tasks)
        task.result();
}

Task<> yieldOften(WorkerPool& pool, int times, std::atomic<int>& count, std::atomic<int>& ended)
{
    for (int i = 0; i < times; ++i) {
        count.fetch_add(1);
        co_await Yield{pool};
    }
    ended.fetch_add(1);
}

class WorkerPoolOf : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, WorkerPoolOf, ::testing::Values(1, 2, 3, 4));

TEST_P(WorkerPoolOf, EveryPostIsResumedOnce)
{
    WorkerPool pool(GetParam());
    std::atomic<int> count{0}, ended{0};
    std::vector<Task<>> tasks;
    for (int i = 0; i < 64; ++i)
        tasks.push_back(yieldOften(pool, 200, count, ended));
    runAll(pool, tasks, ended);
    EXPECT_EQ(count.load(), 64 * 200);
}

TEST_P(WorkerPoolOf, ThePiecesOfAParallelForAreEachDoneOnce)
{
    WorkerPool pool(GetParam());
    std::atomic<int> ended{0};
    const auto sums = [](WorkerPool& on, std::atomic<int>& end) -> Task<> {
        for (const std::int64_t count : {0, 1, 7, 64, 1000, 4097}) {
            std::vector<int> touched(static_cast<std::size_t>(count), 0);
            on.parallelFor(count, 8, [&](std::int64_t first, std::int64_t last) {
                EXPECT_EQ(first % 8, 0);
                EXPECT_LE(last - first, 8);
                for (std::int64_t i = first; i < last; ++i)
                    ++touched[static_cast<std::size_t>(i)];
            });
            EXPECT_EQ(std::accumulate(touched.begin(), touched.end(), 0), count);
            co_await Yield{on};
        }
        end.fetch_add(1);
    };
    std::vector<Task<>> tasks;
    for (int i = 0; i < 20; ++i)
        tasks.push_back(sums(pool, ended));
    runAll(pool, tasks, ended);
}

TEST_P(WorkerPoolOf, ParallelForWorksOutsideOfRun)
{
    WorkerPool pool(GetParam());
    std::atomic<std::int64_t> sum{0};
    pool.parallelFor(1000, 10, [&](std::int64_t first, std::int64_t last) { sum += last - first; });
    EXPECT_EQ(sum.load(), 1000);
}

TEST(WorkerPool, IdleWorkersHelp)
{
    WorkerPool pool(2);
    std::atomic<int> ended{0};
    std::mutex mutex;
    std::condition_variable comes;
    std::set<std::thread::id> helpers;
    const auto work = [&](WorkerPool& on, std::atomic<int>& end) -> Task<> {
        const auto patience = std::chrono::steady_clock::now() + 20s;
        bool isHelped = false;
        while (!isHelped && std::chrono::steady_clock::now() < patience) // on a busy machine the other one is late to be idle
            on.parallelFor(2, 1, [&](std::int64_t, std::int64_t) {
                std::unique_lock lock(mutex);
                helpers.insert(std::this_thread::get_id());
                comes.notify_all();
                comes.wait_for(lock, 10ms, [&] { return helpers.size() == 2; });
                isHelped = helpers.size() == 2;
            });
        end.fetch_add(1);
        co_return;
    };
    std::vector<Task<>> tasks;
    tasks.push_back(work(pool, ended));
    runAll(pool, tasks, ended);
    EXPECT_EQ(helpers.size(), 2u);
}

TEST(WorkerPool, TheQueueIsFair)
{
    // No coroutine gets two turns ahead of another one.
    WorkerPool pool(1);
    std::atomic<int> ended{0};
    std::vector<int> turns(64, 0);
    const auto turn = [](WorkerPool& on, std::vector<int>& all, std::size_t own, std::atomic<int>& end) -> Task<> {
        for (int i = 0; i < 50; ++i) {
            const auto [least, most] = std::minmax_element(all.begin(), all.end());
            EXPECT_LE(*most - *least, 1);
            ++all[own];
            co_await Yield{on};
        }
        end.fetch_add(1);
    };
    std::vector<Task<>> tasks;
    for (std::size_t i = 0; i < turns.size(); ++i)
        tasks.push_back(turn(pool, turns, i, ended));
    runAll(pool, tasks, ended);
}

TEST(WorkerPool, APostFromOutsideWakesASleepingWorker)
{
    WorkerPool pool(2);
    for (int round = 0; round < 20; ++round) {
        std::atomic<int> count{0}, ended{0};
        Task<> task = yieldOften(pool, 1, count, ended);
        std::atomic<std::int64_t> postedNs{0};
        const auto nowNs = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
        std::thread poster([&] {
            std::this_thread::sleep_for(3ms); // all are asleep
            postedNs = nowNs();
            pool.post(task.handle());
        });
        pool.run([&] { return ended.load() == 1; });
        EXPECT_LT(nowNs() - postedNs.load(), 1'000'000'000);
        poster.join();
    }
}

TEST(WorkerPool, APollerIsAskedWhileAllAreBusyAndNeverByTwoAtOnce)
{
    WorkerPool pool(3);
    std::atomic<int> inside{0}, asked{0}, ended{0};
    std::atomic<bool> twice{false};
    pool.setPoller([&] {
        if (inside.fetch_add(1) != 0)
            twice = true;
        ++asked;
        inside.fetch_sub(1);
        return false;
    });
    // Ends only once the poller was asked, and there is always something else to run.
    const auto wait = [](WorkerPool& on, std::atomic<int>& polls, std::atomic<int>& end) -> Task<> {
        while (polls.load() < 50)
            co_await Yield{on};
        end.fetch_add(1);
    };
    std::vector<Task<>> tasks;
    for (int i = 0; i < 8; ++i)
        tasks.push_back(wait(pool, asked, ended));
    runAll(pool, tasks, ended);
    EXPECT_FALSE(twice.load());
}

TEST(WorkerPool, WhatAPollerPostsIsRun)
{
    WorkerPool pool(2);
    std::atomic<int> count{0}, ended{0};
    std::vector<Task<>> tasks;
    tasks.push_back(yieldOften(pool, 3, count, ended));
    int polls = 0;
    pool.setPoller([&] {
        if (++polls != 5)
            return false;
        pool.post(tasks[0].handle());
        return true;
    });
    pool.run([&] { return ended.load() == 1; });
    EXPECT_EQ(count.load(), 3);
}

TEST(WorkerPool, WakeAsksAgain)
{
    WorkerPool pool(2);
    std::atomic<bool> over{false};
    std::thread other([&] {
        std::this_thread::sleep_for(5ms);
        over = true;
        pool.wake();
    });
    pool.run([&] { return over.load(); });
    other.join();
}

TEST(WorkerPool, CanRunAgain)
{
    WorkerPool pool(2);
    for (int round = 0; round < 10; ++round) {
        std::atomic<int> count{0}, ended{0};
        std::vector<Task<>> tasks;
        tasks.push_back(yieldOften(pool, 10, count, ended));
        runAll(pool, tasks, ended);
        EXPECT_EQ(count.load(), 10);
    }
}

TEST(Task, AnExceptionReachesWhoAwaits)
{
    const auto inner = []() -> Task<int> {
        throw std::runtime_error("inner");
        co_return 1;
    };
    const auto outer = [&]() -> Task<int> {
        try {
            co_return co_await inner();
        } catch (const std::runtime_error&) {
            co_return 2;
        }
    };
    Task<int> task = outer();
    task.handle().resume();
    ASSERT_TRUE(task.done());
    EXPECT_EQ(task.result(), 2);
}

Task<std::int64_t> identity(std::int64_t value)
{
    co_return value;
}

Task<std::int64_t> sumOf(std::int64_t count)
{
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += co_await identity(i);
    co_return sum;
}

/// Also where the compiler makes no jump of a resumption: without optimisation, under sanitizers.
TEST(Task, AwaitingManyThatNeverPauseTakesNoStack)
{
    constexpr std::int64_t kCount = 1'000'000;
    Task<std::int64_t> task = sumOf(kCount);
    task.handle().resume();
    ASSERT_TRUE(task.done());
    EXPECT_EQ(task.result(), kCount * (kCount - 1) / 2);
}

} // namespace
} // namespace live
