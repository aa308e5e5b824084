#include "tests/live/support/matrix.h"

namespace live::test {
namespace {

const std::vector<Pipeline> kPipelines = {
    {"gpipe", 2, 1, 4},
    {"gpipe", 4, 1, 4},
    {"1f1b", 2, 1, 4},
    {"1f1b", 4, 1, 6},
    {"interleaved-1f1b", 2, 2, 4},
    {"interleaved-1f1b", 4, 2, 8},
    {"zb-h1", 2, 1, 4},
    {"zb-h1", 4, 1, 6},
    {"zb-h2", 4, 1, 7},
    {"zb-1p", 4, 1, 6},
    {"zb-2p", 4, 1, 7},
    {"zb-v", 2, 2, 4, true},
    {"zb-v", 4, 2, 6, true},
    {"v-half", 4, 2, 6, true},
    {"v-min", 4, 2, 6, true},
    {"interleaved-zb", 2, 2, 4},
    {"interleaved-zb", 4, 2, 8},
    {"dualpipe-v", 2, 2, 4, true},
    {"dualpipe-v", 4, 2, 8, true},
    {"auto", 4, 1, 6},
    {"custom", 2, 2, 4},
};

const Settings kDp2Batch8 = {"layout.dp=2", "training.global_batch_size=8"},
               kDp4Batch8 = {"layout.dp=4", "training.global_batch_size=8"};
/// One micro-batch: ZeRO 2 and 3 reduce after each one, and sums of several would be rounded in another order.
const Settings kDp2Once = {"layout.dp=2", "training.global_batch_size=2"},
               kDp4Once = {"layout.dp=4", "training.global_batch_size=4"};
const Settings kZero0 = {"layout.zero_stage=0"}, kZero1 = {"layout.zero_stage=1"};
const Settings kZeroBubble = {"layout.pp=2", "schedule.kind=zb-h1"};
const Settings kSp2 = {"layout.tp=2", "layout.sequence_parallel=true"};
const Settings kFull = {R"(training.recompute="full")"}, kSelective = {R"(training.recompute="selective")"};

/// Recomputation of these alone.
Settings modules(const std::string& names)
{
    return {R"(training.recompute={"kind":"selective","modules":[)" + names + "]}"};
}

const std::vector<Twins> kTwins = {
    {"zero1_dp2", kDp2Batch8, kZero0, kZero1},
    {"zero2_dp2", kDp2Once, kZero0, kZero2},
    {"zero3_dp2", kDp2Once, kZero0, kZero3},
    {"zero1_dp4", kDp4Batch8 + kTied, kZero0, kZero1},
    {"zero2_dp4", kDp4Once + kTied, kZero0, kZero2},
    {"zero3_dp4", kDp4Once + kTied, kZero0, kZero3},
    {"zero1_dp2_pp2", kDp2Batch8 + kPp2 + kTied, kZero0, kZero1},
    {"zero2_dp2_zero_bubble", kDp2Batch8 + kZeroBubble + kTied, kZero0, kZero2},
    {"zero3_dp2_pp2", kDp2Batch8 + kPp2 + kTied, kZero0, kZero3},
    {"zero3_dp2_zero_bubble", kDp2Batch8 + kZeroBubble, kZero0, kZero3},
    {"zero2_dp2_tp2_sp", kDp2Once + kSp2 + kTied, kZero0, kZero2},
    {"zero3_dp2_tp2_sp_llama", kDp2Once + kSp2 + kLlama, kZero0, kZero3},
    {"zero2_dp2_cp2", kDp2Once + Settings{"layout.cp=2"}, kZero0, kZero2},
    {"zero1_experts", kDp4Batch8 + kExperts + Settings{"layout.ep=2"}, kZero0, kZero1},
    {"zero3_experts", kDp4Once + kExperts + Settings{"layout.ep=2"}, kZero0, kZero3},
    {"zero3_experts_pp2", kDp2Batch8 + kExperts + kPp2, kZero0, kZero3},
    {"zero3_heads_shared", kDp2Once + kLlama + kTp2 + Settings{"model.num_key_value_heads=1"}, kZero0, kZero3},
    {"zero2_latent", kDp2Once + kDeepSeek + kTp2, kZero0, kZero2},
    {"full_recompute_latent", kDeepSeek + kSp2, {}, kFull},
    {"selective_recompute_window_cp2", {"layout.cp=2", "model.sliding_window=5"}, {}, kSelective},
    {"window_of_all_is_none", kLlama + kTp2, {}, {"model.sliding_window=16"}},
    {"full_recompute", {}, {}, kFull},
    {"full_recompute_of_one_layer", {}, {}, {R"(training.recompute={"kind":"full","layers":1})"}},
    {"full_recompute_pp2_zb", kZeroBubble, {}, kFull},
    {"full_recompute_tp2_sp", kSp2, {}, kFull},
    {"full_recompute_cp2_llama", kLlama + Settings{"layout.cp=2"}, {}, kFull},
    {"full_recompute_experts", kExperts, {}, kFull},
    {"full_recompute_experts_ep2", kExperts + kDp2Batch8 + Settings{"layout.ep=2"}, {}, kFull},
    {"full_recompute_slices", {"layout.pp=2", "schedule.kind=seq-1f1b", "schedule.sequence_slices=4"}, {}, kFull},
    {"full_recompute_zero3", kDp2Batch8 + kZero3, {}, kFull},
    {"selective_recompute", {}, {}, kSelective},
    {"selective_recompute_pp2_zb", kZeroBubble, {}, kSelective},
    {"selective_recompute_tp2", kTp2, {}, kSelective},
    {"selective_recompute_cp4", {"layout.cp=4"}, {}, kSelective},
    {"selective_recompute_slices", {"layout.pp=2", "schedule.kind=seq-1f1b", "schedule.sequence_slices=4"}, {}, kSelective},
    {"mlp_again", {"live.dropout=0.1"}, {}, modules(R"("mlp","layernorm")")},
    {"mlp_again_pp2_zb", kZeroBubble, {}, modules(R"("mlp")")},
    {"norms_again_tp2_sp", kSp2, {}, modules(R"("layernorm","core_attn")")},
    {"experts_again", kExperts + kDp2Batch8 + Settings{"layout.ep=2", "live.dropout=0.1"}, {}, modules(R"("moe")")},
    {"experts_again_pp2_zb", kDeepSeek + kZeroBubble, {}, modules(R"("moe","layernorm")")},
    {"activation_of_experts_again", kExperts + kTp2, {}, modules(R"("moe_act")")},
    {"shared_experts_again",
     kDeepSeek + kSp2 + Settings{"layout.etp=1"},
     {},
     modules(R"("shared_experts","layernorm","moe_act")")},
    {"latent_heads_again", kDeepSeek + kSp2, {}, modules(R"("mla_up_proj","core_attn")")},
    {"latent_heads_again_direct_queries_zb",
     kDeepSeek + kZeroBubble + Settings{"model.q_lora_rank=0"},
     {},
     modules(R"("mla_up_proj","layernorm")")},
    {"heads_again_slices_zero3",
     kDeepSeek + kDp2Batch8 + kZero3 +
         Settings{"model.num_experts=0", "model.num_shared_experts=0", "model.first_k_dense_replace=0", "layout.pp=2",
                  "schedule.kind=seq-1f1b", "schedule.sequence_slices=4"},
     {},
     modules(R"("mla_up_proj","core_attn","layernorm","mlp")")},
    {"moments_in_bf16_zero3_pp2", kDp2Batch8 + kPp2 + Settings{"training.moment_dtype=bf16"}, kZero0, kZero3},
    {"adapters_zero3", kDp2Once + kTied + kAdapters, kZero0, kZero3},
    {"adapters_zero1_tp2", kDp2Batch8 + kTp2 + kLlama + kAdapters, kZero0, kZero1},
    {"adapters_full_recompute_zb", kZeroBubble + kAdapters, {}, kFull},
    {"adapters_mlp_again_tp2", kTp2 + kAdapters, {}, modules(R"("mlp","core_attn","layernorm")")},
    {"no_gradient_overlap_dp2", kDp2Batch8 + kTied, {}, {"training.overlap.grad_reduce=false"}},
    {"no_gradient_overlap_zero2", kDp2Batch8 + kZero2, {}, {"training.overlap.grad_reduce=false"}},
    {"no_overlap_at_all",
     kDp2Batch8 + kZero3 + kPp2,
     {},
     {"training.overlap.grad_reduce=false", "training.overlap.param_gather=false", "training.overlap.p2p=false"}},
    {"blocks_of_forward_and_backward",
     kExperts + kPp2 + Settings{"layout.dp=2", "layout.ep=2", "training.global_batch_size=8"},
     {},
     {"training.overlap.ep_comm=true"}},
    {"hybrid_sharding_dp4", kDp4Once + Settings{"layout.dp_shard=2"}, kZero1, kZero3},
    {"order_of_axes", {"layout.tp=2", "layout.pp=2", "layout.dp=2"}, {"layout.order=tp-dp-pp"}, {"layout.order=pp-dp-tp"}},
};

} // namespace

const std::vector<Pipeline>& pipelines()
{
    return kPipelines;
}

const std::vector<Twins>& twins()
{
    return kTwins;
}

std::string nameOf(const Pipeline& pipeline)
{
    return testName(std::string(pipeline.kind) + "_pp" + std::to_string(pipeline.ranks) + "_v" + std::to_string(pipeline.chunks));
}

Settings settingsOf(const Pipeline& pipeline)
{
    Settings settings = {"layout.pp=" + std::to_string(pipeline.ranks), std::string("schedule.kind=") + pipeline.kind,
                         "schedule.virtual_stages=" + std::to_string(pipeline.chunks),
                         "training.global_batch_size=" + std::to_string(pipeline.microbatches)};
    if (pipeline.ranks * pipeline.chunks == 8)
        settings.emplace_back("model.num_hidden_layers=8");
    if (std::string(pipeline.kind) == "custom")
        settings.emplace_back(
            R"(schedule.actions=["0F0,0F1,2F0,2F1,2I0,2I1,2W0,0I0,2W1,0I1,0F2,0W0,2F2,0W1,2B2,0F3,0B2,2F3,2B3,0B3",
                                                  "1F0,1F1,3F0,3F1,3I0,3I1,1I0,1I1,3W0,1W0,1W1,3W1,1F2,3F2,3B2,1B2,1F3,3F3,3B3,1B3"])");
    return settings;
}

} // namespace live::test
