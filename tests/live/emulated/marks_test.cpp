// The instants of a GPU's queue: few events, read as the step goes on.
#include "live/comm/cuda/under_way.h"
#include "live/emulated/emulated_device.h"
#include "live/emulated/emulated_run.h"
#include "live/kernels/cuda/runtime.h"
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "live/tensor/memory.h"
#include "sim/error.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace live::test {
namespace {

using emulated::Machine;

constexpr std::uint64_t kGpusKeepUp = 1; // an order

TEST(Marks, OfAQueueThatNobodyReadsMakeNoEvents)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    const auto queue = device->makeQueue();
    const auto before = machine.statistics();
    const std::uint64_t passed = queue->marksPassed();
    for (int i = 0; i < 60'000; ++i)
        EXPECT_EQ(queue->mark(), 0);
    queue->synchronize();
    EXPECT_EQ(machine.statistics().events, before.events);
    EXPECT_GT(queue->marksPassed(), passed + 1000) << "that the GPU goes on shows all the same";
}

TEST(Marks, AreReadAsTheGpuPassesThemAndTheirEventsUsedAgain)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    const auto queue = device->makeQueue();
    Memory memory(*device);
    const Array x = memory.allocate(DType::f32, 1, 1);
    queue->keepMarks(true);
    const auto before = machine.statistics();
    std::vector<std::int64_t> marks;
    for (int i = 0; i < 60'000; ++i) {
        queue->fill(x, i);
        marks.push_back(queue->mark());
    }
    const auto made = machine.statistics();
    EXPECT_LE(made.events - before.events, 300U);
    std::array<std::int64_t, 3> early = {marks[0], marks[1], marks[10'000]};
    ASSERT_TRUE(queue->readMarks(early)) << "long before the step ends";
    EXPECT_TRUE(early[0] > 0 && early[0] <= early[1] && early[1] <= early[2]);
    queue->resolveMarks(marks);
    EXPECT_TRUE(std::is_sorted(marks.begin(), marks.end()));
    EXPECT_EQ(marks[10'000], early[2]);
    const auto after = machine.statistics();
    EXPECT_LE(after.eventQueries - before.eventQueries, 2U * 60'000 * 13 / 10) << "a reading asks for two events";
    EXPECT_LE(after.eventQueries - made.eventQueries, 3000U) << "little is left for the end";
}

TEST(Copies, FromTheHostHaveReadItsMemoryWhenTheyReturn)
{
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        Machine machine({.orderSeed = seed});
        const auto device = emulated::makeEmulatedDevice(0, DType::f32);
        const auto queue = device->makeQueue();
        Memory memory(*device);
        const Array x = memory.allocate(DType::i32, 1, 1);
        for (std::int32_t i = 0; i < 20; ++i) {
            std::int32_t value = i, back = -1;
            queue->fromHost(&value, x);
            value = -1;
            queue->toHost(x, &back);
            EXPECT_EQ(back, i);
        }
    }
}

TEST(Marks, OneTellsWhereAnOperationEndsAndTheNextBeginsUnlessTheGpuHasNothingToDo)
{
    constexpr std::uint64_t kGpuIsBehind = 5; // an order
    Machine machine({.orderSeed = kGpuIsBehind, .batch = 1});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    const auto queue = device->makeQueue();
    Memory memory(*device);
    const Array x = memory.allocate(DType::f32, 4, 4);
    queue->keepMarks(true);
    std::vector<std::int64_t> marks;
    int shared = 0;
    for (int i = 0; i < 100; ++i) {
        marks.push_back(queue->mark());
        queue->fill(x, i);
        marks.push_back(queue->mark());
        EXPECT_NE(marks.back(), marks[marks.size() - 2]) << "there was work between them";
        shared += i > 0 && marks[marks.size() - 2] == marks[marks.size() - 3] ? 1 : 0;
    }
    EXPECT_GT(shared, 20);
    queue->synchronize();
    EXPECT_NE(queue->mark(), marks.back()) << "the GPU waits: the next operation begins later";
    queue->resolveMarks(marks);
    EXPECT_GT(marks.front(), 0);
    EXPECT_TRUE(std::is_sorted(marks.begin(), marks.end()));
    const std::int64_t afterwards = queue->mark();
    EXPECT_LT(afterwards, 0) << "those from before are forgotten";
}

/// The watchdog's, for one. CUDA would prepare GPU 0 for it, which may be another process's; the machine refuses the call.
TEST(Marks, AreAskedForByThreadsThatHaveNeverUsedAGpu)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    const auto queue = device->makeQueue();
    queue->keepMarks(true);
    queue->mark();
    queue->synchronize();
    std::uint64_t passed = 0;
    std::string refused;
    std::thread([&] {
        try {
            cuda::freeMemory();
        } catch (const sim::Error& error) {
            refused = error.what();
        }
        passed = queue->marksPassed();
    }).join();
    EXPECT_NE(refused.find("would prepare GPU 0"), std::string::npos) << refused;
    EXPECT_GE(passed, 1U);
}

/// The watchdog asks; an exception would end its thread, and with it the process.
TEST(Marks, OfALostGpuStandStill)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    const auto queue = device->makeQueue();
    Memory memory(*device);
    const Array x = memory.allocate(DType::f32, 1, 1);
    queue->keepMarks(true);
    for (int i = 0; i < 20; ++i) {
        queue->fill(x, i);
        queue->mark();
    }
    const std::uint64_t passed = queue->marksPassed();
    queue->fill(x, 0);
    queue->mark();
    machine.locked([&] { machine.fail("the GPU has fallen off the bus"); });
    EXPECT_EQ(queue->marksPassed(), passed);
}

TEST(Sends, OfALostGpuFailInItsWords)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    cuda::makeCurrent(0);
    WorkerPool pool(1);
    cuda::UnderWay sends(pool);
    cuda::EventPool events;
    const cuda::Stream stream = cuda::createStream(false);
    const cuda::SharedEvent done = events.take(0);
    cuda::recordEvent(done.get(), stream);
    Completion completion;
    sends.add(completion, 0, done);
    machine.locked([&] { machine.fail("the GPU has fallen off the bus"); });
    EXPECT_TRUE(sends.finishPassed());
    std::string why;
    try {
        completion.await_resume();
    } catch (const sim::Error& error) {
        why = error.what();
    }
    EXPECT_NE(why.find("fallen off the bus"), std::string::npos) << why;
}

TEST(Marks, SpansComeToTheirReaderDuringTheStep)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    const sim::Scenario scenario = job({"model.num_hidden_layers=8", "training.global_batch_size=8"});
    WorkerPool pool(1);
    const auto device = emulated::makeEmulatedDevice(0, DType::f64);
    const auto communicator = emulated::makeCommunicatorOnMachine(pool, nullptr, 0);
    emulated::pollOnMachine(pool, machine, *communicator);
    live::Run run(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
    Recorder& recorder = *run.recorders().front();
    std::uint64_t duringStep = 0;
    run.ranks().front()->onGradients([&](Rank&) { duringStep = recorder.spans.pushed(); });
    run.train(1);
    const std::uint64_t all = recorder.spans.pushed();
    EXPECT_GT(all, 1000U);
    EXPECT_GT(duringStep, all * 6 / 10);
    std::vector<SpanRecord> spans;
    recorder.spans.drain(spans);
    for (const SpanRecord& span : spans) {
        EXPECT_GT(span.startNs, 0);
        EXPECT_LE(span.startNs, span.endNs);
    }
}

TEST(Marks, EventsOfARunAreAsManyAsLieAheadOfTheGpuNotAsItsSpans)
{
    Machine machine({.orderSeed = kGpusKeepUp});
    WorkerPool pool(1);
    const auto device = emulated::makeEmulatedDevice(0, DType::f64);
    const auto communicator = emulated::makeCommunicatorOnMachine(pool, nullptr, 0);
    emulated::pollOnMachine(pool, machine, *communicator);
    trainSteps(job({"layout.tp=2"}), {.steps = 6, .record = true}, pool, *device, *communicator);
    const std::uint64_t recorded = machine.statistics().events;
    EXPECT_LE(recorded, 600U);
    trainSteps(job({"layout.tp=2"}), {.steps = 6}, pool, *device, *communicator);
    EXPECT_LE(machine.statistics().events - recorded, 60U) << "without a recorder";
}

} // namespace
} // namespace live::test
