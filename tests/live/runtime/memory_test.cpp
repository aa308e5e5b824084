// A step gives back what it took, and takes what the plan said.
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/jobs.h"

#include <gtest/gtest.h>

namespace live::test {
namespace {

struct Held {
    std::vector<std::int64_t> activations, buffers; ///< after each step, of all ranks
    std::vector<std::int64_t> peaks, planned;       ///< by rank
};

Held heldBy(const sim::Scenario& scenario)
{
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f64, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    Run run(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .record = false});
    Held held;
    run.train(3, [&](const StepReport&) {
        std::int64_t activations = 0, buffers = 0;
        for (Rank* rank : run.ranks()) {
            activations += rank->context().memory.held(MemoryUse::activations);
            buffers += rank->context().memory.held(MemoryUse::buffers);
        }
        held.activations.push_back(activations);
        held.buffers.push_back(buffers);
        return Verdict::goOn;
    });
    for (Rank* rank : run.ranks())
        held.peaks.push_back(rank->context().memory.peak());
    held.planned = run.plan().peakBytes;
    return held;
}

TEST(MemoryOfAStep, IsGivenBack)
{
    const Settings pp2 = {"layout.pp=2", "training.global_batch_size=8"};
    const Settings dp2 = {"layout.dp=2"};
    const std::vector<Settings> jobs = {
        {},
        {"training.recompute=full"},
        {"training.recompute=selective"},
        {"layout.cp=4"},
        {"layout.tp=2", "layout.sequence_parallel=true"},
        pp2 + Settings{"schedule.kind=zb-h1"},
        pp2 + Settings{"schedule.kind=zb-v", "schedule.virtual_stages=2"},
        pp2 + Settings{"schedule.kind=dualpipe", "schedule.virtual_stages=2"},
        pp2 + Settings{"schedule.kind=seq-1f1b", "schedule.sequence_slices=4"},
        dp2 + kTied + Settings{"layout.zero_stage=2"},
        dp2 + pp2 + Settings{"layout.zero_stage=3"},
        dp2 + kTied + Settings{"layout.zero_stage=3"},
        dp2 + kExperts + Settings{"layout.ep=2"},
    };
    for (const Settings& settings : jobs) {
        const Held held = heldBy(job(settings));
        for (std::size_t step = 0; step < held.activations.size(); ++step) {
            EXPECT_EQ(held.activations[step], 0) << (settings.empty() ? "plain" : settings.back());
            EXPECT_EQ(held.buffers[step], held.buffers[0]) << (settings.empty() ? "plain" : settings.back());
        }
    }
}

/// Where no transfer overlaps, which might end sooner or later than planned, and no tokens choose their experts.
TEST(MemoryOfAStep, PeaksAsPlanned)
{
    for (const Settings& settings : {Settings{}, Settings{"layout.tp=2"}, Settings{"layout.cp=2"},
                                     Settings{"layout.dp=2", "layout.zero_stage=3", "training.overlap.grad_reduce=false"}}) {
        const Held held = heldBy(job(settings));
        EXPECT_EQ(held.peaks, held.planned) << (settings.empty() ? "plain" : settings.back());
    }
}

} // namespace
} // namespace live::test
