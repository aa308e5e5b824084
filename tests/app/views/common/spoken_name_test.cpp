// Names of ops and groups as people read them.
#include "sim/mesh/mesh.h"
#include "sim/mesh/spoken_group.h"
#include "sim/text/spoken_name.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

TEST(SpokenName, OpsAreToldByTheirPartAndPass)
{
    EXPECT_EQ(spokenOp("attn.qkv"), "attention QKV");
    EXPECT_EQ(spokenOp("mlp.up.wgrad"), "MLP up, weight gradient");
    EXPECT_EQ(spokenOp("attn.core.backward"), "attention core backward");
    EXPECT_EQ(spokenOp("grad.reduce"), "gradient reduction");
    EXPECT_EQ(spokenOp("12F"), "F of stage 12");
    EXPECT_EQ(spokenPass("0W"), "W of stage 0");
    EXPECT_EQ(spokenPass("attn.qkv"), "attn.qkv");
    EXPECT_EQ(spokenOp("mtp.hidden_norm"), "multi-token prediction hidden norm");
}

TEST(SpokenName, WhatIsOfNoModelOfOursKeepsItsName)
{
    for (const char* name :
         {"", "optimizer", "0F3", "aten::mm", "ncclDevKernel_AllReduce_Sum_bf16", "void gemm<128, 2>", "volta.gemm"})
        EXPECT_EQ(spokenOp(name), name);
}

TEST(SpokenName, GroupsHaveNoKeysInThem)
{
    EXPECT_EQ(spokenGroup("dp_cp"), "dp × cp");
    EXPECT_EQ(spokenGroup("tp"), "tp");
    EXPECT_EQ(spokenGroup("dp_cp", Layout{.dp = 4}), "dp") << "nothing is cut along cp";
    EXPECT_EQ(spokenGroup("dp_cp", Layout{.cp = 2, .dp = 4}), "dp × cp");
    EXPECT_EQ(spokenGroup("expt_dp", Layout{.dp = 4}), "expert dp");
    for (int i = 0; i < kProcessGroupCount; ++i) {
        const auto name = processGroupName(static_cast<ProcessGroup>(i));
        EXPECT_EQ(spokenGroup(name).find('_'), std::string::npos) << name;
        EXPECT_EQ(symbolOfGroup(name).find('_'), std::string::npos) << name;
    }
}

} // namespace
} // namespace sim
