// Whatever a job throws is told and the next one is done; nobody waits for what is no longer wanted.
#include "app/session/worker.h"

#include "app/session/failure.h"
#include "sim/error.h"
#include "tests/app/session/session_fixtures.h"

#include <QCoreApplication>
#include <QStringList>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

namespace app {
namespace {

using namespace test;
using namespace std::chrono_literals;

TEST(Worker, TellsWhateverIsThrownAndGoesOn)
{
    Worker worker;
    QStringList told;
    const auto submit = [&](std::function<void()> work) {
        worker.submit({.kind = 0,
                       .work = [work = std::move(work)](const Task&) { work(); },
                       .failed = [&](const QString& why) { told << why; }});
    };
    submit([] { throw sim::Error("tp 3 does not divide 8"); });
    submit([] { throw std::bad_alloc(); });
    submit([] { throw std::runtime_error("no such thing"); });
    submit([] { throw 42; });
    bool isDone = false;
    worker.submit({.kind = 1, .work = [&](const Task& task) { task.tell([&] { isDone = true; }); }, .failed = {}});
    ASSERT_TRUE(waitFor([&] { return isDone; }));
    ASSERT_EQ(told.size(), 4);
    EXPECT_EQ(told[0], QStringLiteral("tp 3 does not divide 8"));
    EXPECT_TRUE(told[1].contains(QStringLiteral("memory"))) << told[1].toStdString();
    EXPECT_TRUE(told[2].contains(QStringLiteral("no such thing"))) << told[2].toStdString();
    EXPECT_FALSE(told[3].isEmpty());
    EXPECT_TRUE(waitFor([&] { return !worker.isBusy(); }));
}

/// A job that ends when it is told to, or when it is no longer wanted.
struct Patient {
    std::atomic<bool> mayEnd{false};
    std::atomic<int> begun{0};
    Job job(int kind, std::function<void()> heard)
    {
        return {.kind = kind,
                .work =
                    [this, heard = std::move(heard)](const Task& task) {
                        ++begun;
                        while (!mayEnd && !task.isCancelled())
                            std::this_thread::sleep_for(100us);
                        task.tell(heard); // even if it is cancelled: then nobody hears it
                    },
                .failed = {}};
    }
};

TEST(Worker, DoesTheMostUrgentFirst)
{
    Worker worker;
    Patient first;
    QStringList order;
    worker.submit(first.job(0, [&] { order << QStringLiteral("first"); }));
    ASSERT_TRUE(waitFor([&] { return first.begun == 1; }));
    for (const int kind : {3, 1, 2, 1})
        worker.submit(
            {.kind = kind,
             .work = [&order, kind](const Task& task) { task.tell([&order, kind] { order << QString::number(kind); }); },
             .failed = {}});
    first.mayEnd = true;
    ASSERT_TRUE(waitFor([&] { return order.size() == 5; }));
    EXPECT_EQ(order.join(QLatin1Char(' ')), QStringLiteral("first 1 1 2 3"));
}

TEST(Worker, AJobMakesRoomForAMoreUrgentOneAndIsDoneAnew)
{
    Worker worker;
    Patient slow;
    QStringList order;
    worker.submit(slow.job(5, [&] { order << QStringLiteral("slow"); }));
    ASSERT_TRUE(waitFor([&] { return slow.begun == 1; }));
    worker.submit(
        {.kind = 1, .work = [&](const Task& task) { task.tell([&] { order << QStringLiteral("urgent"); }); }, .failed = {}});
    ASSERT_TRUE(waitFor([&] { return order.size() == 1 && slow.begun == 2; }));
    slow.mayEnd = true;
    ASSERT_TRUE(waitFor([&] { return !worker.isBusy(); }));
    EXPECT_EQ(order.join(QLatin1Char(' ')), QStringLiteral("urgent slow"));
}

TEST(Worker, WhatIsDroppedIsNeverHeard)
{
    Worker worker;
    Patient dropped;
    int heard = 0;
    worker.submit(dropped.job(2, [&] { ++heard; }));
    ASSERT_TRUE(waitFor([&] { return dropped.begun == 1; }));
    worker.submit(
        {.kind = 2, .work = [&](const Task&) { throw sim::Error("never done"); }, .failed = [&](const QString&) { ++heard; }});
    worker.drop(2);
    EXPECT_TRUE(waitFor([&] { return !worker.isBusy(); }));
    // Told and not yet heard:
    std::atomic<bool> isTold{false};
    worker.submit({.kind = 2,
                   .work =
                       [&](const Task& task) {
                           task.tell([&] { ++heard; });
                           isTold = true;
                       },
                   .failed = {}});
    while (!isTold)
        std::this_thread::yield();
    worker.drop(2);
    EXPECT_TRUE(waitFor([&] { return !worker.isBusy(); }));
    EXPECT_EQ(heard, 0);
}

TEST(Worker, OneThatWaitsWakesWhenItIsNoLongerWanted)
{
    std::mutex mutex;
    std::condition_variable_any wake;
    std::atomic<bool> waits{false};
    Worker worker;
    worker.submit({.kind = 0,
                   .work =
                       [&](const Task& task) {
                           std::unique_lock lock(mutex);
                           waits = true;
                           wake.wait(lock, task.stopToken(), [] { return false; });
                       },
                   .failed = {}});
    while (!waits)
        std::this_thread::yield();
    worker.stop();
    EXPECT_FALSE(worker.isBusy());
}

TEST(Worker, WhatItsOwnerIsToldMayEndIt)
{
    auto worker = std::make_unique<Worker>();
    for (int i = 0; i < 3; ++i)
        worker->submit({.kind = 0, .work = [&](const Task& task) { task.tell([&] { worker.reset(); }); }, .failed = {}});
    EXPECT_TRUE(waitFor([&] { return worker == nullptr; }));
    QCoreApplication::processEvents();
}

TEST(Worker, ItsEndIsSafeAtAnyMoment)
{
    for (int round = 0; round < 200; ++round) {
        int heard = 0;
        {
            Worker worker;
            for (int kind = 0; kind < 4; ++kind)
                worker.submit({.kind = kind % 3,
                               .work =
                                   [&heard, kind](const Task& task) {
                                       task.tell([&heard] { ++heard; });
                                       if (kind == 1)
                                           throw std::bad_alloc();
                                   },
                               .failed = [&heard](const QString&) { ++heard; }});
            std::this_thread::sleep_for(std::chrono::microseconds(round * 5));
            if (round % 2 == 0)
                QCoreApplication::processEvents();
            if (round % 3 == 0)
                worker.drop(round % 4);
        }
        const int before = heard;
        QCoreApplication::processEvents();
        ASSERT_EQ(heard, before) << "nothing comes after it";
    }
}

TEST(Failure, WhateverReadingAFileThrowsNamesTheFile)
{
    const QString file = QStringLiteral("job.json");
    for (const auto& thrower : std::vector<std::function<Problems()>>{
             []() -> Problems { throw std::bad_alloc(); }, []() -> Problems { throw 42; },
             []() -> Problems { throw std::out_of_range("at"); }, []() -> Problems { throw sim::Error("too large"); }}) {
        const Problems problems = problemsOf(file, thrower);
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_EQ(problems.front().file, "job.json");
        EXPECT_FALSE(problems.front().message.empty());
    }
}

} // namespace
} // namespace app
