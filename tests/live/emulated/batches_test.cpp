// Launches put aside and started together: nothing is lost, nothing is seen too early, and no bit changes.
#include "live/emulated/emulated_device.h"
#include "live/emulated/emulated_run.h"
#include "live/emulated/handles.h"
#include "live/kernels/cuda/launch_batches.h"
#include "live/kernels/cuda/stream_queue.h"
#include "live/tensor/memory.h"
#include "sim/error.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace live::test {
namespace {

using cuda::BatchRule, cuda::LaunchBatches;
using emulated::Machine;
using testing::HasSubstr;

constexpr std::uint64_t kAtOnce = 1, kLate = 2; // orders

std::string refusal(const std::function<void()>& call)
{
    try {
        call();
    } catch (const sim::Error& error) {
        return error.what();
    }
    return {};
}

TEST(LaunchBatches, WhoeverLooksAtAStreamWhoseLaunchesAreCapturedIsRefused)
{
    Machine machine({.orderSeed = kAtOnce});
    cuda::makeCurrent(0);
    const cuda::Stream stream = cuda::createStream(false);
    const cuda::Event event = cuda::createEvent(true);
    void* const block = cuda::allocateMemory(64);
    EXPECT_THAT(refusal([&] { cuda::recordEventInGraph(event, stream); }), HasSubstr("which is not captured"));
    const cuda::Graph graph = cuda::captureGraph(stream, [&] {
        cuda::clear(stream, block, 64);
        std::array<char, 64> host{};
        const std::string kCaptured = "while 1 launches are captured on it";
        EXPECT_THAT(refusal([&] { cuda::recordEvent(event, stream); }), HasSubstr(kCaptured));
        EXPECT_THAT(refusal([&] { cuda::synchronizeStream(stream); }), HasSubstr(kCaptured));
        EXPECT_THAT(refusal([&] { cuda::copyRows(stream, block, 64, host.data(), 64, 64, 1); }), HasSubstr(kCaptured));
        EXPECT_THAT(refusal([&] { cuda::copyRows(stream, host.data(), 64, block, 64, 64, 1); }), HasSubstr(kCaptured));
        EXPECT_THAT(refusal([&] { cuda::captureGraph(stream, [] {}); }), HasSubstr(kCaptured));
    });
    EXPECT_EQ(machine.statistics().operations, 0U) << "nothing of it has begun";
    cuda::startGraph(graph, stream);
    cuda::recordEvent(event, stream);
    cuda::waitForEvent(stream, event);
    cuda::synchronizeStream(stream);
    EXPECT_EQ(machine.statistics().operations, 3U);
    cuda::destroyGraph(graph);
    cuda::destroyEvent(event);
    cuda::releaseMemory(block);
}

TEST(LaunchBatches, AQueueStartsThemBeforeAnybodyLooks)
{
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        Machine machine({.orderSeed = seed, .batch = 7, .areGraphs = seed % 2 == 1});
        const auto device = emulated::makeEmulatedDevice(0, DType::f32);
        const auto queue = device->makeQueue();
        auto& gpuQueue = dynamic_cast<cuda::GpuQueue&>(*queue);
        Memory memory(*device);
        const Array x = memory.allocate(DType::f32, 1, 1), y = memory.allocate(DType::f32, 1, 1);
        for (int i = 1; i < 40; ++i) {
            float value = static_cast<float>(i), back = 0;
            queue->fromHost(&value, x);
            for (int j = 0; j < i; ++j) // batches that are full, and some that are not
                queue->copy(x, y);
            queue->toHost(y, &back);
            EXPECT_EQ(back, value);
            queue->fill(y, 0);
            const cuda::Event event = cuda::createEvent(false);
            cuda::recordEvent(event, gpuQueue.stream());
            cuda::synchronizeEvent(event);
            cuda::destroyEvent(event);
            EXPECT_EQ(*y->as<float>(), 0) << "what was given before is before the event";
        }
    }
}

TEST(LaunchBatches, MemoryGoesBackInTheMiddleOfAStepOnlyAfterWhatUsesItHasBegun)
{
    constexpr std::int64_t kBytes = 1 << 20;
    Machine machine({.orderSeed = kLate, .memoryBytes = kBytes, .batch = 100});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    Memory memory(*device);
    const auto queue = device->makeQueue();
    memory.beforeGivingBack([&] { queue->flush(); });
    {
        const Array half = memory.allocate(DType::f32, 1, kBytes / 8);
        queue->fill(half, 1);
    }
    const Array most = memory.allocate(DType::f32, 1, kBytes / 4);
    queue->fill(most, 2);
    queue->synchronize();
    EXPECT_EQ(machine.failure(), "");
}

TEST(LaunchBatches, MarksAmongThemTellTheirOwnTimes)
{
    for (const auto& [seed, areGraphs] : {std::pair{kAtOnce, false}, {kAtOnce, true}, {kLate, false}, {kLate, true}}) {
        Machine machine({.orderSeed = seed, .batch = 5, .areGraphs = areGraphs});
        const auto device = emulated::makeEmulatedDevice(0, DType::f32);
        const auto queue = device->makeQueue();
        Memory memory(*device);
        const Array x = memory.allocate(DType::f32, 1, 1);
        queue->keepMarks(true);
        const auto before = machine.statistics();
        for (int step = 0; step < 3; ++step) { // events are used again, and say what they said before until their turn comes
            std::vector<std::int64_t> marks;
            for (int i = 0; i < 2000; ++i) {
                marks.push_back(queue->mark());
                queue->fill(x, i);
                marks.push_back(queue->mark());
            }
            std::array<std::int64_t, 1> last = {marks.back()};
            queue->readMarks(last);
            queue->resolveMarks(marks);
            EXPECT_GT(marks.front(), 0);
            EXPECT_TRUE(std::is_sorted(marks.begin(), marks.end()))
                << "step " << step << " of order " << seed << (areGraphs ? ", graphs" : "");
            EXPECT_LT(marks.front(), marks.back());
            queue->stepDone();
        }
        EXPECT_LE(machine.statistics().events - before.events, 6000U);
    }
}

TEST(LaunchBatches, TheWatchdogSeesThatTheyGoOn)
{
    Machine machine({.orderSeed = kAtOnce, .batch = 10});
    const auto device = emulated::makeEmulatedDevice(0, DType::f32);
    const auto queue = device->makeQueue();
    Memory memory(*device);
    const Array x = memory.allocate(DType::f32, 1, 1);
    const std::uint64_t passed = queue->marksPassed();
    for (int i = 0; i < 1000; ++i) {
        queue->mark();
        queue->fill(x, i);
    }
    queue->synchronize();
    EXPECT_GT(queue->marksPassed(), passed + 20);
}

TEST(LaunchBatches, ChangeNoBitOfATraining)
{
    for (const Settings& settings : {Settings{}, Settings{"layout.pp=2", "schedule.kind=zb-h1", "training.global_batch_size=8"},
                                     Settings{"layout.dp=2", "layout.zero_stage=3"}, Settings{"layout.tp=2", "layout.cp=2"}}) {
        std::vector<std::vector<double>> losses;
        for (const std::size_t batch : {1, 3, 4, 48}) {
            emulated::EmulationOptions options{.machine = {.orderSeed = kLate, .batch = batch, .areGraphs = batch != 3}};
            options.train.steps = 3;
            const TrainedSteps trained = emulated::trainOnMachine(job(settings), options);
            std::vector<double> ofSteps = trained.losses;
            ofSteps.insert(ofSteps.end(), trained.gradientNorms.begin(), trained.gradientNorms.end());
            losses.push_back(ofSteps);
        }
        for (const std::vector<double>& together : losses)
            EXPECT_EQ(together, losses[0]);
    }
}

/// Steps whose length somebody else knows.
std::vector<bool> usesOf(double plain, double batched, int steps)
{
    LaunchBatches batches({.use = BatchRule::Use::byTime});
    std::vector<bool> uses;
    std::chrono::steady_clock::time_point now{};
    for (int step = 0; step < steps; ++step) {
        uses.push_back(batches.isUsed());
        now += std::chrono::microseconds(static_cast<std::int64_t>(1e6 * (batches.isUsed() ? batched : plain)));
        batches.stepDone(now);
    }
    return uses;
}

TEST(LaunchBatches, WhatTakesLessTimeStays)
{
    const std::vector<bool> faster = usesOf(8e-3, 4e-3, 20), slower = usesOf(8e-3, 7.9e-3, 20);
    for (const auto& uses : {faster, slower}) {
        EXPECT_EQ(std::count(uses.begin(), uses.begin() + 6, true), 0);
        EXPECT_EQ(std::count(uses.begin() + 6, uses.begin() + 12, true), 6);
    }
    EXPECT_EQ(std::count(faster.begin() + 12, faster.end(), true), 8);
    EXPECT_EQ(std::count(slower.begin() + 12, slower.end(), true), 0) << "a hundredth is not worth it";
}

} // namespace
} // namespace live::test
