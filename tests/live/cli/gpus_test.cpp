// One command that uses several GPUs, what it refuses, and what it says of a machine; on GPUs that are not there.
#include "tests/live/cli/child.h"

#include <csignal>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using test::Child;
using test::gallery;
using namespace std::chrono_literals;

bool says(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// Tensor, pipeline and data parallelism; experts with all-to-alls. Eight and four ranks; three GPUs hold unequally many.
TEST(RankscopeLiveGpus, OneCommandTrainsOnSeveralWithSeveralRanksOnEach)
{
    for (const auto& [number, gpus] : {std::pair("60-", "2"), {"60-", "3"}, {"60-", "8"}, {"63-", "2"}}) {
        SCOPED_TRACE(number);
        const auto losses = [&](const std::vector<std::string>& more) {
            std::vector<std::string> arguments = {"run", gallery(number), "--steps", "2", "--set", "live.dtype=fp64", "--json"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            Child child(arguments);
            EXPECT_EQ(child.wait(100s), 0) << child.err();
            return json::parse(child.out(), nullptr, false)["losses"].get<std::vector<double>>();
        };
        const std::vector<double> one = losses({"--device", "cpu"}), several = losses({"--device", "emulated", "--gpus", gpus});
        ASSERT_EQ(one.size(), several.size());
        for (std::size_t step = 0; step < one.size(); ++step)
            EXPECT_NEAR(several[step], one[step], 1e-11);
    }
}

TEST(RankscopeLiveGpus, CtrlCEndsAllProcessesAfterTheStep)
{
    Child child({"run", gallery("60-"), "--steps", "100000", "--device", "emulated", "--gpus", "2"});
    ASSERT_TRUE(child.says("step 2/")) << child.err();
    child.signal(SIGINT);
    EXPECT_EQ(child.wait(30s), 0) << child.err();
}

/// One that is stopped hangs the others, which all know why; it itself would never end.
TEST(RankscopeLiveGpus, AHangIsToldOnceAndEndsTheCommand)
{
    Child child({"run", gallery("58-"), "--steps", "100000", "--device", "emulated", "--gpus", "4", "--deadline", "1"});
    ASSERT_TRUE(child.says("step 2/")) << child.err();
    const std::vector<pid_t> started = child.children();
    ASSERT_EQ(started.size(), 4U);
    ASSERT_EQ(::kill(started.back(), SIGSTOP), 0);
    EXPECT_EQ(child.wait(55s), 1);
    const std::string text = child.err();
    const std::size_t told = text.find("nothing moved for too long");
    ASSERT_NE(told, std::string::npos) << text;
    EXPECT_EQ(text.find("nothing moved for too long", told + 1), std::string::npos) << text;
    EXPECT_TRUE(says(text, " of 4 ")) << text;
}

TEST(RankscopeLiveGpus, WhatCannotBeIsRefusedWithTheNumbers)
{
    Child tooMany({"run", gallery("60-"), "--device", "emulated", "--gpus", "9"});
    EXPECT_EQ(tooMany.wait(), 1);
    EXPECT_TRUE(says(tooMany.err(), "--gpus 9: the layout has 8 ranks, and each GPU holds one or more; at most 8"))
        << tooMany.err();
    Child onCpu({"run", gallery("60-"), "--device", "cpu", "--gpus", "2"});
    EXPECT_EQ(onCpu.wait(), 1);
    EXPECT_TRUE(says(onCpu.err(), "--gpus 2: live.device is cpu")) << onCpu.err();
    Child serial({"run", gallery("60-"), "--device", "cpu", "--gpus", "2", "--check-serial"});
    EXPECT_EQ(serial.wait(), 1);
    EXPECT_TRUE(says(serial.err(), "--gpus 2 with --check-serial is for --device cuda and emulated")) << serial.err();
}

/// The nearest numbers that are named are those that train.
TEST(RankscopeLiveGpus, TooManyStreamsAreRefusedWithTheGpusThatWouldDo)
{
    const char* const nearest = "nearest: --gpus 2 (";
    const std::vector<std::string> untrained = {"--check-serial", "--set", "live.data=/nowhere.txt"}; // nor one rank before it
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--steps", "1"}, {"--check-serial"}, untrained}) {
        std::vector<std::string> arguments = {"run", gallery("64-"), "--device", "emulated", "--gpus", "3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        Child refused(arguments);
        EXPECT_EQ(refused.wait(), 1);
        for (const char* words : {" ranks that share a GPU use ", "a GPU has 32 hardware queues", nearest, " or --gpus 4 ("})
            EXPECT_TRUE(says(refused.err(), words)) << refused.err();
    }
    Child trains({"run", gallery("64-"), "--device", "emulated", "--gpus", "4", "--steps", "1"});
    EXPECT_EQ(trains.wait(), 0) << trains.err();
}

/// As --gpus does where there are several: the first of them then trains one rank by itself.
TEST(RankscopeLiveGpus, ProcessesOfALauncherAreHeldAgainstOneRank)
{
    const std::string port = std::to_string(test::freePort());
    const auto variables = [&](const char* rank) {
        return std::map<std::string, std::string>{
            {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
    };
    const std::vector<std::string> arguments = {"run", gallery("58-"), "--device", "emulated", "--steps", "1", "--check-serial"};
    Child second(arguments, variables("1")), first(arguments, variables("0"));
    EXPECT_EQ(first.wait(), 0) << first.err();
    EXPECT_EQ(second.wait(), 0) << second.err();
    EXPECT_TRUE(says(first.out(), "equal to serial training bit for bit: losses and gradient norms\n"
                                  "  one step: whether weights are updated right is not seen; --steps 2 does\n"))
        << first.out();
    EXPECT_TRUE(says(first.err(), "2 processes")) << first.err();
    EXPECT_EQ(second.out(), "");
}

/// As under torchrun --nproc-per-node 1: a process that took these for its own would start others without end.
TEST(RankscopeLiveGpus, ALauncherOfOneProcessChangesNothingForThoseThatAreStarted)
{
    const std::map<std::string, std::string> launcher = {
        {"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "192.0.2.1"}, {"MASTER_PORT", "1"}};
    Child child({"run", gallery("60-"), "--steps", "1", "--device", "emulated", "--gpus", "2"}, launcher);
    EXPECT_EQ(child.wait(60s), 0) << child.err();
    EXPECT_TRUE(says(child.err(), "2 processes")) << child.err();
}

/// An emulated GPU has 8 GiB.
TEST(RankscopeLiveGpus, WhatDoesNotFitTheirMemoryIsRefusedBeforeItIsTaken)
{
    Child child({"run", gallery("60-"), "--device", "emulated", "--set", "model.hidden_size=8192", "--set",
                 "model.intermediate_size=32768", "--set", "model.num_attention_heads=64", "--set",
                 "model.num_key_value_heads=64", "--set", "model.head_dim=128"});
    EXPECT_EQ(child.wait(), 1);
    EXPECT_TRUE(says(child.err(), "of the GPU's memory (weights ")) << child.err();
    EXPECT_TRUE(says(child.err(), "emulated GPU has 8.00 GiB free")) << child.err();
}

/// What the process then holds at most is what was told within 15 %, on a job of some hundred megabytes.
TEST(RankscopeLiveGpus, WhatIsNeededIsToldBesideWhatWasTaken)
{
    Child child({"run", gallery("60-"), "--steps", "2", "--device", "cpu", "--workers", "2", "--json", "--set",
                 "model.hidden_size=512", "--set", "model.intermediate_size=2048", "--set", "model.num_attention_heads=8",
                 "--set", "model.num_key_value_heads=8", "--set", "model.head_dim=64"});
    ASSERT_EQ(child.wait(), 0) << child.err();
    const json report = json::parse(child.out());
    const auto needed = report["memory_needed_bytes"].get<double>(), taken = report["peak_resident_bytes"].get<double>();
    EXPECT_GT(taken, 300e6);
    EXPECT_NEAR(needed / taken, 1, 0.15) << needed << " and " << taken;
}

TEST(RankscopeLiveDoctor, TriesEachDeviceAndSaysWhyThereAreNoMore)
{
    Child child({"doctor"});
    EXPECT_EQ(child.wait(), 0) << child.err();
    const std::string out = child.out();
    for (const char* part : {"build ", "CPU ", "a product is right", "memory ", "MemAvailable", "/dev/shm", "ulimit ",
                             "-l (locked memory, KiB) ", "NCCL ", "next "})
        EXPECT_TRUE(says(out, part)) << part << "\n" << out;
}

} // namespace
