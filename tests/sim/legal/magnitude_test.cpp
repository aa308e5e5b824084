// Numbers that are too small, or too large together, are refused where they stand, with what would do instead.
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

/// Errors of a small job with these keys changed, one a line.
std::string errorsOf(const std::vector<std::string>& overrides)
{
    auto document = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"tiny-llama",
"cluster":"h100-sxm-ib400","layout":{"tp":2,"pp":2,"dp":2}})");
    for (const std::string& assignment : overrides)
        document.applyOverride(assignment);
    std::string text;
    for (const Problem& problem : document.resolve(catalogue()).problems)
        if (problem.severity == Severity::error)
            text += problem.text() + "\n";
    return text;
}

} // namespace

TEST(Magnitudes, OfHardwareAreWhatHardwareCanBe)
{
    EXPECT_EQ(errorsOf({"cluster.gpu.memory_bandwidth_gbs=1e-15"}),
              "/cluster/gpu/memory_bandwidth_gbs: 1e-15 is too small; nearest: 0.001\n");
    EXPECT_EQ(errorsOf({"cluster.gpu.peak_tflops.bf16=1e-300"}),
              "/cluster/gpu/peak_tflops/bf16: 1e-300 is too small; nearest: 1e-06\n");
    EXPECT_EQ(errorsOf({"cluster.efficiency={\"gemm\":1e-9}"}), "/cluster/efficiency/gemm: 1e-09 is too small; nearest: 0.001\n");
    EXPECT_EQ(errorsOf({R"(perturbations=[{"kind":"slow_gpu","rank":0,"factor":0.5}])"}),
              "/perturbations/0/factor: 0.5 is too small; nearest: 1\n");
}

TEST(Magnitudes, OfFactorsOnOneRankMultiply)
{
    const std::string slow = R"({"kind":"slow_gpu","rank":1,"factor":)", link = R"({"kind":"slow_link","rank":1,"factor":)";
    EXPECT_EQ(errorsOf({"perturbations=[" + slow + "1000000}," + link + "1000000}]"}), "");
    EXPECT_EQ(
        errorsOf({"perturbations=[" + slow + "1000},{\"kind\":\"slow_gpu\",\"rank\":0,\"factor\":1000000}," + slow + "4000}]"}),
        "/perturbations/2/factor: 4e+03 makes kernels of rank 1, which others make 1e+03 times as long already, 4e+06 times as "
        "long, more than 1e+06; nearest: 1000\n");
    EXPECT_THAT(errorsOf({"perturbations=[" + link + "1000000}," + link + "1000000}," + link + "1000000}]"}),
                testing::AllOf(testing::HasSubstr("/perturbations/1/factor: 1e+06 makes transfers of rank 1"),
                               testing::HasSubstr("/perturbations/2/factor: "), testing::HasSubstr("nearest: 1\n")));
}

TEST(Magnitudes, OfModelsEndFarAboveAnyModel)
{
    EXPECT_THAT(
        errorsOf({"model.num_experts=65536", "model.num_experts_per_tok=1", "model.moe_intermediate_size=8388608",
                  "model.hidden_size=1048576"}),
        testing::StartsWith("/model/num_experts: with num_experts 65536 the model has 6.92e+18 parameters, more than 1e+15; "
                            "nearest: 9\n"));
    EXPECT_THAT(errorsOf({"model.num_hidden_layers=10000", "model.hidden_size=1048576", "model.intermediate_size=8388608"}),
                testing::HasSubstr("/model/num_hidden_layers: with num_hidden_layers 10000 the model has 2.64e+17 parameters, "
                                   "more than 1e+15; nearest: 37\n"));
    EXPECT_EQ(errorsOf({"model=llama3-405b", "model.num_hidden_layers=10000", "layout.tp=1"}), "");
}

TEST(Magnitudes, OfOneMicroBatchFitATensor)
{
    EXPECT_THAT(
        errorsOf(
            {"training.sequence_length=1073741824", "training.micro_batch_size=1048576", "training.global_batch_size=2097152"}),
        testing::StartsWith("/training/micro_batch_size: micro_batch_size 1048576 x sequence_length 1073741824 make a tensor of "
                            "3.89e+18 bytes on one rank, more than 1.8e+16; nearest: 4854\n"));
    EXPECT_THAT(
        errorsOf({"training.sequence_length=1073741824", "training.flash_attention=false", "training.global_batch_size=2"}),
        testing::StartsWith("/training/attention: the scores of micro_batch_size 1 (default) x sequence_length 1073741824 "
                            "squared make a tensor of 4.15e+19 bytes on one rank, more than 1.8e+16; nearest: flash2\n"));
}

TEST(Magnitudes, OfAStepEndWhereTimesAreNoLongerCounted)
{
    // Ran at any share of the peak while times wrapped.
    EXPECT_THAT(
        errorsOf({"training.sequence_length=1073741824", "training.global_batch_size=16384"}),
        testing::AllOf(testing::StartsWith("/training/sequence_length: global_batch_size 16384 x sequence_length 1073741824 at "),
                       testing::HasSubstr("times are counted up to 2^62 ns (146 years); nearest: ")));
    EXPECT_THAT(errorsOf({"model=llama3-405b", "cluster.gpu.peak_tflops.bf16=0.1", "training.sequence_length=8192",
                          "training.global_batch_size=1000000"}),
                testing::AllOf(testing::StartsWith("/training/global_batch_size: global_batch_size 1000000 x sequence_length "),
                               testing::HasSubstr("; nearest: ")));
    // Nineteen years on a laptop are a legal question.
    EXPECT_EQ(errorsOf({"model=llama3-405b", "cluster=laptop", "layout={}", "training.sequence_length=8192",
                        "training.global_batch_size=2000"}),
              "");
}

TEST(Magnitudes, SayANearestThatIsRight)
{
    for (const std::vector<std::string>& bad :
         {std::vector<std::string>{"training.sequence_length=1073741824", "training.global_batch_size=16384"},
          {"training.sequence_length=1073741824", "training.micro_batch_size=1048576", "training.global_batch_size=2097152"},
          {"model.num_hidden_layers=10000", "model.hidden_size=1048576", "model.intermediate_size=8388608"},
          {"model=llama3-405b", "cluster.gpu.peak_tflops.bf16=0.1", "training.sequence_length=8192",
           "training.global_batch_size=1000000"}}) {
        std::vector<std::string> overrides = bad;
        for (int i = 0; i < 6; ++i) { // one right number may show the next that is wrong
            const std::string problem = errorsOf(overrides);
            if (problem.empty())
                break;
            const std::size_t nearest = problem.find("; nearest: ");
            ASSERT_NE(nearest, std::string::npos) << problem;
            const std::string rest = problem.substr(nearest + 11);
            overrides.push_back(problem.substr(0, problem.find(':')) + "=" + rest.substr(0, rest.find_first_of(",\n")));
        }
        EXPECT_EQ(errorsOf(overrides), "") << testing::PrintToString(overrides);
    }
}
