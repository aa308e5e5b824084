// A step gives back what it took, and takes what the plan said.
#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "tests/live/support/jobs.h"

#include <fstream>
#include <gtest/gtest.h>
#include <string>

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

/// A micro-batch less under way would hide it: one alone.
TEST(MemoryOfAStep, IsLessWhereModulesAreMadeAgain)
{
    const Settings one = kDeepSeek + Settings{"training.global_batch_size=1"};
    const auto peakWith = [&](const std::string& modules) {
        const std::string recompute = R"(training.recompute={"kind":"selective","modules":[)" + modules + "]}";
        return heldBy(job(one + (modules.empty() ? Settings{} : Settings{recompute}))).peaks.front();
    };
    const std::int64_t all = peakWith("");
    for (const char* const module : {"core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts"})
        EXPECT_LT(peakWith("\"" + std::string(module) + "\""), all) << module;
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

/// Of this process, KiB.
std::int64_t residentMemory()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (std::int64_t value = 0; word == "VmRSS:" && status >> value)
            return value;
    return 0;
}

/// Experts get other numbers of tokens in every micro-batch: no step is like any before.
TEST(MemoryOfManySteps, DoesNotGrowWhereTokensChooseTheirExperts)
{
    const sim::Scenario scenario =
        job(kExperts + Settings{"layout.dp=2", "layout.ep=2", "model.num_hidden_layers=1", "training.sequence_length=64",
                                "model.max_position_embeddings=64", "training.micro_batch_size=4", "training.global_batch_size=8",
                                "live.dtype=fp32"});
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f32, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    live::Run run(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get()});
    std::int64_t resident = 0, reserved = 0;
    std::size_t kinds = 0;
    std::vector<SpanRecord> spans;
    std::vector<CounterRecord> values;
    const auto reservedNow = [&] {
        std::int64_t sum = 0;
        for (Rank* rank : run.ranks())
            sum += rank->context().memory.reserved();
        return sum;
    };
    run.train(500, [&](const StepReport& report) {
        for (Recorder* recorder : run.recorders()) { // as a collector does
            spans.clear();
            values.clear();
            recorder->spans.drain(spans);
            recorder->memory.drain(values);
        }
        if (report.step == 50) {
            resident = residentMemory();
            reserved = reservedNow();
            kinds = run.spanKinds().from().size();
        }
        return Verdict::goOn;
    });
    EXPECT_EQ(run.spanKinds().from().size(), kinds);
    EXPECT_LE(reservedNow(), reserved * 3 / 2);
    EXPECT_LE(residentMemory(), resident + 4096) << "KiB";
}

} // namespace
} // namespace live::test
