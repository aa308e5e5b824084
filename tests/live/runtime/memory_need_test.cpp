// What a run takes is known before it takes it, and what does not fit is refused with the numbers and the nearest that does.
#include "live/runtime/memory_need.h"
#include "live/runtime/processors.h"

#include "live/runtime/run.h"
#include "live/tasks/worker_pool.h"
#include "sim/error.h"
#include "tests/live/support/jobs.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace live::test {
namespace {

using testing::AllOf, testing::HasSubstr;

constexpr std::int64_t kMib = std::int64_t{1} << 20;

/// Over all ranks, planned over measured.
double plannedOverMeasured(const sim::Scenario& scenario)
{
    WorkerPool pool(1);
    const auto device = makeCpuDevice(DType::f64, &pool);
    const auto communicator = makeLocalCommunicator(pool);
    Run run(scenario, {.pool = &pool, .device = device.get(), .communicator = communicator.get(), .record = false});
    run.train(3);
    double planned = 0, measured = 0;
    for (Rank* rank : run.ranks())
        measured += static_cast<double>(rank->context().memory.peakReserved());
    for (const PlannedMemory& rank : run.plan().memory)
        planned += static_cast<double>(rank.reserved);
    return planned / measured;
}

TEST(MemoryNeed, IsKnownWithinThreePercentWhereShapesAre)
{
    const Settings pp2 = {"layout.pp=2", "training.global_batch_size=8"};
    for (const Settings& settings : {Settings{}, Settings{"training.recompute=full"}, Settings{"layout.cp=4"}, kTp2, pp2,
                                     pp2 + Settings{"schedule.kind=zb-h1"}, Settings{"layout.dp=2", "layout.zero_stage=3"},
                                     pp2 + Settings{"layout.dp=2", "layout.zero_stage=2"}})
        EXPECT_NEAR(plannedOverMeasured(job(settings)), 1, 0.03) << (settings.empty() ? "plain" : settings.back());
}

/// They choose a few tokens here: how unevenly is not known.
TEST(MemoryNeed, IsKnownWithinTwentyPercentWhereTokensChooseTheirExperts)
{
    for (const Settings& settings : {kExperts, kExperts + Settings{"layout.dp=2", "layout.ep=2"}, kDeepSeek})
        EXPECT_NEAR(plannedOverMeasured(job(settings)), 1, 0.2) << settings.back();
}

MemoryNeed needOf(const sim::Scenario& scenario)
{
    const int world = scenario.layout.worldSize();
    return memoryNeed(planRun(scenario, {}, DType::f32, DType::f32), {.rankCount = world, .ranksOfMachine = world}, 1);
}

TEST(MemoryNeed, IsRefusedWithTheNumbersOfTheLimitThatItExceeds)
{
    const MemoryNeed need = needOf(job({}));
    EXPECT_EQ(whatDoesNotFit(need, {{"a", need.host, need.host, false}}, {}, ""), "");
    EXPECT_THAT(whatDoesNotFit(need, {{"a", need.host, need.host, false}, {"b", need.host - 1, 2 * kMib, false}}, {}, ""),
                AllOf(HasSubstr("of b "), HasSubstr("of 2.00 MiB are free"), HasSubstr("weights "), HasSubstr("activations ")));
    // What processes share is compared with what all of them need.
    MemoryNeed two = need;
    two.machine = 2 * need.host;
    EXPECT_NE(whatDoesNotFit(two, {{"a", need.host, need.host, true}}, {}, ""), "");
}

TEST(MemoryNeed, OfAGpuIsItsRanksTensorsAndWhatLibrariesAreAssumedToTake)
{
    const CommPlan plan = planRun(job({"layout.tp=2"}), {}, DType::bf16, DType::f32);
    const MemoryNeed one =
        memoryNeed(plan, {.rankCount = 1, .ranksOfMachine = 2, .processes = 2, .onGpu = true, .usesNccl = true}, 1);
    EXPECT_EQ(one.tensors, plan.memory[0].reserved);
    EXPECT_GT(one.gpu, one.tensors + 128 * kMib);
    EXPECT_LT(one.host, 64 * kMib);
    // Groups within a GPU are none of NCCL's.
    const MemoryPlace both{.rankCount = 2, .ranksOfMachine = 2, .onGpu = true, .usesNccl = true};
    EXPECT_LT(memoryNeed(plan, both, 1).communication, 128 * kMib);
    const MemoryNeed emulated = memoryNeed(plan, {.rankCount = 2, .ranksOfMachine = 2, .onGpu = true, .isEmulated = true}, 1);
    EXPECT_EQ(emulated.gpu, plan.memory[0].reserved + plan.memory[1].reserved);
    EXPECT_GT(emulated.host, emulated.gpu);
    EXPECT_THAT(whatDoesNotFit(emulated, {}, emulated.gpu - 1, "GPU 0"),
                AllOf(HasSubstr("of the GPU's memory"), HasSubstr("GPU 0 has")));
    MemoryNeed barely = emulated;
    barely.gpu = 1024 * kMib + kMib / 8;
    EXPECT_THAT(whatDoesNotFit(barely, {}, 1024 * kMib, "GPU 0"),
                AllOf(HasSubstr("the run needs 1.0001 GiB of"), HasSubstr("GPU 0 has 1 GiB free")));
}

TEST(MemoryNeed, TheNearestThatFitsIsTold)
{
    const sim::Scenario large = job({"training.micro_batch_size=4", "training.global_batch_size=16", "layout.dp=2"});
    const auto limitedTo = [&](std::int64_t bytes) {
        return nearestThatFits(large, [bytes](const sim::Scenario& smaller) { return needOf(smaller).tensors <= bytes; });
    };
    sim::Scenario recomputed = large;
    recomputed.training.recompute = sim::Recompute::full;
    recomputed.training.recomputeLayers = 4;
    EXPECT_EQ(limitedTo(needOf(recomputed).tensors), "training.recompute=full");
    recomputed.training.microBatchSize = 1;
    EXPECT_THAT(limitedTo(needOf(recomputed).tensors), HasSubstr("micro_batch_size="));
    EXPECT_EQ(limitedTo(1), "");
    recomputed.layout.zeroStage = 3;
    recomputed.training.optimizer = sim::Optimizer::sgd;
    EXPECT_THAT(limitedTo(needOf(recomputed).tensors), HasSubstr(", training.optimizer=sgd"));
}

TEST(MemoryNeed, OfStatesThatWouldFitWithOthersIsRefusedWithThese)
{
    const sim::Scenario scenario = job({"live.dtype=fp32"});
    const auto refusalAt = [&](double bytesOfParameter) {
        const auto free = static_cast<std::int64_t>(bytesOfParameter * static_cast<double>(statesOfJob(scenario)) / 16);
        return whichStatesDoNotFit(scenario, {.rankCount = 1, .ranksOfMachine = 1}, {{"a", free, free, true}});
    };
    EXPECT_EQ(refusalAt(16), "");
    EXPECT_THAT(refusalAt(15.5), HasSubstr("are free; nearest: training.moment_dtype=bf16, with which they need "));
    EXPECT_THAT(refusalAt(11.5), HasSubstr("are free; nearest: training.optimizer=sgd, with which they need "));
    EXPECT_THAT(refusalAt(7.5), HasSubstr("are free: no layout fits here; use a smaller model"));
}

class Limits : public testing::Test {
protected:
    Limits() : m_root(std::filesystem::temp_directory_path() / ("memory_limits." + std::to_string(::getpid())))
    {
        write("proc/meminfo", "MemTotal: 2048 kB\nMemAvailable:    1024 kB\n");
    }
    ~Limits() override { std::filesystem::remove_all(m_root); }
    void write(const std::string& file, const std::string& text) const
    {
        std::filesystem::create_directories((m_root / file).parent_path());
        std::ofstream(m_root / file) << text;
    }
    std::int64_t freeOf(const std::string& name) const
    {
        for (const MemoryLimit& limit : hostMemoryLimits(m_root))
            if (limit.name.find(name) != std::string::npos)
                return limit.free;
        return -1;
    }
    const std::filesystem::path m_root;
};

TEST_F(Limits, TheMachineHasWhatItCallsAvailable)
{
    EXPECT_EQ(freeOf("MemAvailable"), kMib);
}

TEST_F(Limits, ControlGroupsOfVersion2LimitThoseBelowThem)
{
    write("proc/self/cgroup", "0::/slurm/job\n");
    write("sys/fs/cgroup/slurm/memory.max", "1000\n");
    write("sys/fs/cgroup/slurm/memory.current", "700\n");
    write("sys/fs/cgroup/slurm/memory.stat", "anon 500\ninactive_file 200\n");
    write("sys/fs/cgroup/slurm/job/memory.max", "max\n");
    write("sys/fs/cgroup/slurm/job/memory.current", "700\n");
    EXPECT_EQ(freeOf("/slurm (memory.max)"), 500); // files kept are given up first
    EXPECT_EQ(freeOf("/slurm/job"), -1);
}

TEST_F(Limits, ControlGroupsOfVersion1TellNoLimitByALargeNumber)
{
    write("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/1\n0::/\n");
    write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "5000\n");
    write("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "1000\n");
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(freeOf("/docker/1 (memory.limit_in_bytes)"), 4000);
    EXPECT_EQ(freeOf("the control group / ("), -1);
}

TEST_F(Limits, ControlGroupsGiveProcessorsTheTimeOf)
{
    const Processors all = processors(m_root);
    EXPECT_EQ(all.usable, processors().usable);
    if (all.usable < 2)
        GTEST_SKIP() << "one processor cannot become less";
    write("proc/self/cgroup", "0::/docker/1\n");
    write("sys/fs/cgroup/docker/cpu.max", "50000 100000\n");
    write("sys/fs/cgroup/docker/1/cpu.max", "max 100000\n");
    EXPECT_EQ(processors(m_root).usable, 1);
    EXPECT_EQ(processors(m_root).why, "the control group /docker (cpu.max)");
    write("sys/fs/cgroup/docker/cpu.max", "100001 100000\n");
    EXPECT_EQ(processors(m_root).usable, 2);
    write("sys/fs/cgroup/docker/cpu.max", "max 100000\n");
    EXPECT_EQ(processors(m_root).usable, all.usable);
    write("proc/self/cgroup", "5:cpu,cpuacct:/x\n");
    write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n");
    write("sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(processors(m_root).usable, all.usable);
    write("sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n");
    EXPECT_EQ(processors(m_root).usable, 1);
}

TEST_F(Limits, UlimitsCountWhatTheProcessHasAlready)
{
    write("proc/self/status", "VmSize: 1024 kB\nVmData: 512 kB\n");
    for (const auto& [resource, name, used] : {std::tuple(RLIMIT_AS, "ulimit -v", kMib), {RLIMIT_DATA, "ulimit -d", kMib / 2}}) {
        rlimit before{};
        ::getrlimit(resource, &before);
        rlimit limited = before;
        limited.rlim_cur = std::min<rlim_t>(before.rlim_max, rlim_t{1} << 40);
        ::setrlimit(resource, &limited);
        EXPECT_EQ(freeOf(name), static_cast<std::int64_t>(limited.rlim_cur) - used);
        ::setrlimit(resource, &before);
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they keep terabytes of addresses
TEST(MemoryOfTheCpu, TellsWhatItCannotGiveHoweverLittleAndWhichLimitHolds)
{
    const auto useUp = [](int resource) {
        const auto device = makeCpuDevice(DType::f32, nullptr);
        rlimit limited{};
        ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limited);
        limited.rlim_cur = rlim_t{3} << 29;
        ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limited);
        try {
            constexpr std::size_t kPiece = 300 << 10;
            for (int piece = 0; piece < 10'000; ++piece) // 3 GB, given up with the process
                device->allocate(kPiece);
        } catch (const sim::Error& error) {
            std::fputs(error.what(), stderr);
        }
        ::_exit(3);
    };
    EXPECT_EXIT(useUp(RLIMIT_AS), testing::ExitedWithCode(3),
                "cannot give 300 KiB more: .*, ulimit -v allows this process 1536 MiB");
    EXPECT_EXIT(useUp(RLIMIT_DATA), testing::ExitedWithCode(3),
                "cannot give 300 KiB more: .*, ulimit -d allows this process 1536 MiB");
}
#endif

} // namespace
} // namespace live::test
