#include "live/kernels/kernel_log.h"

#include <gtest/gtest.h>

namespace live {
namespace {

TEST(KernelLog, GivesEachOwnerItsKernelsInTheirOrderWhicheverHalfCameFirst)
{
    KernelLog log;
    log.addKernel(11, "second", 200, 250);
    log.addScope(10, scopeOf(3, 70));
    log.addScope(12, scopeOf(4, 70));
    log.addKernel(10, "first", 100, 150);
    log.addScope(11, scopeOf(3, 71));
    log.addKernel(12, "other", 120, 180);
    log.addKernel(13, "nobody's", 300, 310);

    const std::vector<KernelTime> own = log.take(3);
    ASSERT_EQ(own.size(), 2U);
    EXPECT_EQ(own[0].name, "first");
    EXPECT_EQ(numberOf(own[0].scope), 70U);
    EXPECT_EQ(own[0].startNs, 100);
    EXPECT_EQ(own[0].endNs, 150);
    EXPECT_EQ(own[1].name, "second");
    EXPECT_EQ(numberOf(own[1].scope), 71U);
    EXPECT_TRUE(log.take(3).empty()) << "taken";
    ASSERT_EQ(log.take(4).size(), 1U);
}

TEST(KernelLog, ForgetsTheOldestOfWhatNeverFindsItsOtherHalf)
{
    constexpr std::uint32_t kMany = 200'000;
    KernelLog log;
    for (std::uint32_t launch = 0; launch < kMany; ++launch)
        log.addScope(launch, scopeOf(0, launch)); // copies
    log.addKernel(0, "late", 1, 2);
    log.addKernel(kMany - 1, "kernel", 3, 4);
    const std::vector<KernelTime> kernels = log.take(0);
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(numberOf(kernels[0].scope), kMany - 1);
}

TEST(KernelNames, AreShort)
{
    EXPECT_EQ(shortKernelName("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"),
              "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas");
    EXPECT_EQ(shortKernelName("_ZN4live4cuda17routerWeightsTestIfEEvPKT_"), "routerWeightsTest");
    EXPECT_EQ(
        shortKernelName("void live::cuda::groupedRowsKernel<live::cuda::GroupedTensorTiling<128>, true, float>(long, long)"),
        "groupedRowsKernel");
    EXPECT_EQ(shortKernelName("void live::(anonymous namespace)::sumKernel<4>(float*)"), "sumKernel");
    EXPECT_EQ(shortKernelName("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_64x64_32x6_nn_align8>(Params)"),
              "cutlass_80_tensorop_bf16_s16816gemm_64x64_32x6_nn_align8");
    EXPECT_EQ(shortKernelName(nullptr), "kernel");
}

} // namespace
} // namespace live
