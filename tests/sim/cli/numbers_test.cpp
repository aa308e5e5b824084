// What the commands print at the ends of what scenarios may say: finite numbers, or words and an exit code.
#include "tests/sim/cli/program.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

constexpr const char* kSmall = R"({"format":"rankscope-scenario","version":1,"model":"tiny-llama","cluster":"h100-sxm-ib400",
"layout":{"tp":2,"pp":2,"dp":2},"training":{"global_batch_size":8}})";

/// Pointers of what is no number though it should be: null is what a JSON writer makes of NaN.
void collectNulls(const json& value, const std::string& pointer, std::vector<std::string>& nulls)
{
    if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>())))
        nulls.push_back(pointer);
    if (value.is_structured())
        for (const auto& [key, child] : value.items())
            collectNulls(child, pointer + "/" + key, nulls);
}

const std::vector<std::string> kExtremes = {
    "cluster.gpu.memory_bandwidth_gbs=1e-15",
    "cluster.gpu.memory_bandwidth_gbs=0.001",
    "cluster.gpu.peak_tflops.bf16=1e-6",
    "cluster.gpu.peak_tflops.bf16=1e7",
    "'cluster.efficiency={\"launch_us\":0,\"gemm\":1,\"memory\":1}'",
    "training.sequence_length=1073741824",
    "training.sequence_length=2",
    "training.global_batch_size=1048576",
    "model.num_hidden_layers=2 --set model.hidden_size=1048576",
    "'perturbations=[{\"kind\":\"slow_gpu\",\"rank\":0,\"factor\":1e6},{\"kind\":\"slow_gpu\",\"rank\":0,\"factor\":1e6}]'",
    "'perturbations=[{\"kind\":\"jitter\",\"sigma\":10}]'",
    "'cluster.tiers=[{\"name\":\"x\",\"span\":\"all\",\"bandwidth_gbs\":0.001,\"latency_us\":1e6}]'",
};

} // namespace

TEST(Numbers, OfEveryCommandAreFiniteOrItSaysWhyThereAreNone)
{
    const std::string file = write("small.json", kSmall);
    test::Tried which;
    for (const std::string& extreme : kExtremes)
        for (const char* command : {"simulate", "memory", "traffic", "describe"}) {
            if (!which.next())
                continue;
            const Outcome outcome = run(std::string(command) + " " + file + " --json --set " + extreme);
            SCOPED_TRACE(std::string(command) + " " + extreme);
            EXPECT_TRUE(outcome.code == 0 || outcome.code == 1) << outcome.code << outcome.err;
            if (outcome.code != 0) {
                EXPECT_GT(outcome.err.size(), 20U);
                EXPECT_THAT(outcome.err, testing::ContainsRegex("[0-9]"));
                continue;
            }
            std::vector<std::string> nulls;
            collectNulls(json::parse(outcome.out), "", nulls);
            EXPECT_THAT(nulls, testing::IsEmpty());
        }
}

TEST(Numbers, OfASweepOverExtremesAreFinite)
{
    const std::string file = write("small.json", kSmall);
    const Outcome outcome = run("sweep " + file +
                                " --csv --vary cluster.gpu.memory_bandwidth_gbs=1e-15,0.001,1000000"
                                " --vary training.sequence_length=2,256,1073741824");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(lines(outcome.out).size(), 10U);
    EXPECT_THAT(outcome.out, testing::Not(testing::AnyOf(HasSubstr("nan"), HasSubstr("inf,"), HasSubstr(",-"))));
}

// Sums of nanoseconds beyond 2^53 were subtracted as floating point numbers.
TEST(Numbers, OfLongStepsShowNoBubbleBelowZero)
{
    const Outcome outcome =
        run("simulate " + gallery("01-") + " --set model=tiny-llama --set training.sequence_length=1073741824");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("-0.0")));
}

TEST(Numbers, OfSharedCardsSayWhoHasThem)
{
    const std::string file = write("cards.json", R"({"format":"rankscope-scenario","version":1,"model":"tiny-llama",
"cluster":{"base":"h100-sxm-ib400","gpus_per_node":8,"nodes":4,"tiers":[
{"name":"nvlink","span":8,"bandwidth_gbs":450,"latency_us":3},
{"name":"net","span":16,"bandwidth_gbs":25,"latency_us":5,"gpus_per_nic":8},
{"name":"spine","span":"all","bandwidth_gbs":25,"latency_us":9}]},
"layout":{"dp":4,"placement":[0,8,16,24]},"training":{"global_batch_size":4}})");
    const Outcome described = run("describe " + file);
    EXPECT_THAT(described.out, HasSubstr("NVLink 450 GB/s a GPU, net 25 GB/s a card of 8 GPUs, spine 3.125 GB/s a GPU\n"));
    EXPECT_THAT(run("describe " + file + " --set cluster.tiers.1.gpus_per_nic=1 --set cluster.tiers.1.bandwidth_gbs=12.5").out,
                HasSubstr("NVLink 450 GB/s, net 12.5 GB/s, spine 25 GB/s\n"));
    // One rank on each card: it has all of it, and no link carries more than it can.
    for (const json& tier : runJson("traffic --json " + file).at("tiers")) {
        EXPECT_EQ(tier.at("bandwidth_gbs_per_gpu"), tier.at("name") == "nvlink" ? 450.0 : 25.0);
        EXPECT_LT(tier.at("mean_load").get<double>(), 1);
    }
}
