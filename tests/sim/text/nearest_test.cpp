// Words that are wrong are answered with what was meant.
#include "sim/text/nearest.h"

#include <gmock/gmock.h>

namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::vector<std::string> kClusters{"dgx-a100",    "dgx-b200",    "dgx-h200",     "h100-pcie", "h100-sxm-ib400",
                                         "gb200-nvl72", "gb300-nvl72", "dgx-1-v100",   "dgx-b300",  "grand-teton-h100",
                                         "dgx-2-v100",  "h800-ib400",  "l40s-roce100", "aws-p5",    "laptop",
                                         "tpu-v4-pod",  "aws-p4d"};
const std::vector<std::string> kModels{"gpt2",         "mpt-3b",      "gpt3-175b",  "llama2-70b",      "llama3-70b",
                                       "llama3-8b",    "llama3-405b", "qwen3-8b",   "qwen3-235b-a22b", "deepseek-v3",
                                       "mixtral-8x7b", "bloom",       "falcon-40b", "nemotron-4-340b", "opt-175b",
                                       "gpt-oss-120b", "grok-1"};

TEST(NearestWords, AnotherMachinesNameIsNotAMistypedOne)
{
    const std::string h100 = sim::nearestWords("dgx-h100", kClusters);
    EXPECT_THAT(h100, AllOf(HasSubstr("h100-sxm-ib400"), Not(HasSubstr("a100")), Not(HasSubstr("h200")))) << h100;
    EXPECT_EQ(sim::nearestWords("dgx-gb200", kClusters), "; nearest: \"gb200-nvl72\"");
    EXPECT_THAT(sim::nearestWords("H100-80GB", kClusters), HasSubstr("h100"));
    EXPECT_THAT(sim::nearestWords("dgx-a10", kClusters), HasSubstr("dgx-a100")) << "mistyped";
}

TEST(NearestWords, NamesOfAHubAreThoseOfTheCatalogue)
{
    EXPECT_THAT(sim::nearestWords("Qwen/Qwen3-235B-A22B", kModels), StartsWith("; nearest: \"qwen3-235b-a22b\""));
    EXPECT_THAT(sim::nearestWords("deepseek-ai/DeepSeek-V3", kModels), StartsWith("; nearest: \"deepseek-v3\""));
    EXPECT_THAT(sim::nearestWords("meta-llama/Llama-3.1-70B", kModels), StartsWith("; nearest: \"llama3-70b\""));
    EXPECT_THAT(sim::nearestWords("gpt-3", kModels), StartsWith("; nearest: \"gpt3-175b\""));
    EXPECT_THAT(sim::nearestWords("llama3-8n", kModels), StartsWith("; nearest: \"llama3-8b\""));
}

TEST(NearestWords, ShortWordsAreNotNearWhatSharesALetter)
{
    std::vector<std::string> many(kModels);
    many.emplace_back("moe");
    EXPECT_EQ(sim::nearestWords("mbs", many), "");
}

} // namespace
