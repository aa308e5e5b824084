// Which year's Megatron runs a script.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedScript;
using testing::HasSubstr;

std::string stackOf(const std::string& flags)
{
    const auto out = importedScript("", flags);
    return out.at("/training/stack/id").get<std::string>();
}

TEST(MegatronSoftware, IsNamedByFlagsThatCameOrWentWithARelease)
{
    EXPECT_EQ(stackOf("--checkpoint-activations --fp16"), "megatron-2021");
    EXPECT_EQ(stackOf("--activations-checkpoint-method uniform --DDP-impl local"), "megatron-2021");
    EXPECT_EQ(stackOf("--DDP-impl local --recompute-activations --sequence-parallel"), "megatron-2022");
    EXPECT_EQ(stackOf("--use-mcore-models --transformer-impl transformer_engine --bf16"), "megatron-te-2024");
    EXPECT_EQ(stackOf("--use-mcore-models --moe-router-fusion"), "megatron-te-2025");
    EXPECT_EQ(stackOf("--cuda-graph-impl local"), "megatron-te-2025");
}

TEST(MegatronSoftware, IsLeftOpenWhereNoFlagProvesIt)
{
    const auto out = importedScript("", "--bf16 --sequence-parallel");
    EXPECT_EQ(sim::Json::parse(out.imported.scenario)["training"].contains("stack"), false);
    EXPECT_THAT(out.textOn("--software"), HasSubstr("no flag says which year's"));
    const auto local = importedScript("", "--transformer-impl local --use-mcore-models");
    EXPECT_EQ(sim::Json::parse(local.imported.scenario)["training"].contains("stack"), false);
    EXPECT_THAT(local.textOn("--software"), HasSubstr("--transformer-impl local"));
}

} // namespace
