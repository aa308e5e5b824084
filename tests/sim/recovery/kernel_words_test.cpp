// What kernels' names tell: real ones of Megatron, FlashAttention, cuDNN and Transformer Engine.
#include "sim/recovery/kernel_words.h"

#include <gtest/gtest.h>

namespace {

TEST(KernelWords, TellTheWayAndAttention)
{
    using Way = sim::KernelWay;
    sim::RunEvidence evidence;
    const std::vector<std::pair<Way, bool>> expected = {
        {Way::forward, true},         {Way::gradient, true},  {Way::gradient, true},  {Way::forward, false},
        {Way::weightGradient, false}, {Way::gradient, false}, {Way::optimizer, false}};
    evidence.names = {"flash_fwd_kernel<Flash_fwd_kernel_traits<128>>",
                      "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
                      "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma",
                      "nvjet_hsh_128x256_64x4_NNT",
                      "cutlass_wgrad",
                      "FusedLayerNormBackward",
                      "void multi_tensor_apply_kernel<AdamFunctor>"};
    const sim::KernelWords words(evidence);
    for (std::uint32_t name = 0; name < evidence.names.size(); ++name) {
        SCOPED_TRACE(evidence.names[name]);
        EXPECT_EQ(words.way[name], expected[name].first);
        EXPECT_EQ(words.isAttention[name], expected[name].second);
        EXPECT_EQ(words.isBackward(name), name == 1 || name == 2 || name == 4 || name == 5);
    }
}

TEST(KernelWords, AreOneTableAlsoOfAotritonAndFlexAttention)
{
    for (const char* name : {"attn_fwd.kd", "bwd_kernel_dk_dv.kd", "bwd_kernel_dq.kd", "triton_tem_fused_flex_attention_0",
                             "triton_tem_fused_flex_attention_backward_1"})
        EXPECT_TRUE(sim::namesFusedAttention(name)) << name;
    for (const char* name : {"bwd_kernel_dk_dv.kd", "triton_tem_fused_flex_attention_backward_1",
                             "cudnn_generated_fort_native_sdpa_sm90_flash_bprop"})
        EXPECT_TRUE(sim::namesGradient(name)) << name;
    EXPECT_FALSE(sim::namesGradient("attn_fwd.kd"));
    EXPECT_FALSE(sim::namesFusedAttention("nvjet_hsh_128x256_64x4_nnt"));
}

TEST(KernelWords, TellExpertsFromTablesOfEmbeddings)
{
    // Megatron Core, Transformer Engine, vLLM, DeepSeek; TorchRec, FBGEMM.
    for (const char* name : {"MoELayer: forward", "fused_moe_kernel", "_unpermute_kernel", "dpsk::ep::internode::dispatch",
                             "TopKRouter", "void grouped_gemm::kernel<1>", "SequentialMLP experts"}) {
        EXPECT_TRUE(sim::namesExperts(sim::loweredName(name))) << name;
        EXPECT_FALSE(sim::namesTables(sim::loweredName(name))) << name;
    }
    for (const char* name : {"## all2all_data:kjt splits ##", "## KJTListSplitsAwaitable wait() ##",
                             "## wait_sparse_data_dist ##", "split_embedding_codegen_forward_unweighted_kernel",
                             "## PooledEmbeddingsAwaitable wait() ##", "void fbgemm_gpu::permute_2D_sparse_data_kernel<long>"}) {
        EXPECT_FALSE(sim::namesExperts(sim::loweredName(name))) << name;
        EXPECT_TRUE(sim::namesTables(sim::loweredName(name))) << name;
    }
    for (const char* name : {"embedding_dense_backward", "vocab_embedding", "ampere_sgemm", "themoe", "permute"}) {
        EXPECT_FALSE(sim::namesExperts(sim::loweredName(name))) << name;
        EXPECT_FALSE(sim::namesTables(sim::loweredName(name))) << name;
    }
}

} // namespace
