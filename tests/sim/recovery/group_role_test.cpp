// Process groups by what libraries call them.
#include "sim/recovery/group_role.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

/// python/rankscope/_attach/axes.py is held to the same list, by tests/python/attach_test.py.
TEST(GroupRole, IsThatOfTheWholeDescription)
{
    std::ifstream file(RANKSCOPE_TEST_DATA "/group_descriptions.json");
    const nlohmann::json named = nlohmann::json::parse(file);
    for (const auto& [description, means] : named.at("descriptions").items())
        EXPECT_EQ(sim::groupRoleName(sim::roleFromDescription(description)), means.at("role").get<std::string>()) << description;
}

TEST(ExchangeFromName, KnowsWhatRankscopeCallsItsOwnByWhatTheyAreFor)
{
    for (const char* sum : {"attn.sum", "mlp.sum", "embed.sum", "head.sum", "moe.sum", "shared.sum", "sums", "loss.sums",
                            "loss.max", "gradient.sequence", "attn.reduce"})
        EXPECT_TRUE(sim::reduces(sim::exchangeFromName(sum))) << sum;
    for (const char* ring : {"ring.kv", "ring.dkv", "attn.ring"})
        EXPECT_EQ(sim::exchangeFromName(ring), sim::Exchange::sendReceive) << ring;
    for (const char* gather : {"attn.gather", "mlp.gather"})
        EXPECT_EQ(sim::exchangeFromName(gather), sim::Exchange::allGather) << gather;
    EXPECT_EQ(sim::exchangeFromName("ncclDevKernel_Generic_Sum"), sim::Exchange::unknown) << "what it sums by is no exchange";
}

} // namespace
