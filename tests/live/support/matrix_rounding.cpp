#include "tests/live/support/matrix.h"

namespace live::test {
namespace {

const Settings kDp2 = {"layout.dp=2"}, kDp4 = {"layout.dp=4"}, kCp2 = {"layout.cp=2"};
const Settings kTp4 = {"layout.tp=4", "model.num_key_value_heads=4"};
const Settings kSp = {"layout.sequence_parallel=true"};
const Settings kTwoSequences = {"training.micro_batch_size=2", "training.global_batch_size=8"};
const Settings kSlices = {"layout.pp=2", "schedule.kind=seq-1f1b", "schedule.sequence_slices=4"};
const Settings kBatch8 = {"training.global_batch_size=8"};
const Settings kNorms = kLlama + Settings{"model.qk_norm=true"};
const Settings kOneKey = kLlama + Settings{"model.num_key_value_heads=1"};
const Settings kWindow = {"model.sliding_window=5"}, kChunks = {"model.attention_chunk_size=6"};

const std::vector<Variant> kVariants = {
    {"dp2", kDp2},
    {"dp4", kDp4},
    {"dp4_tied_dropout", kDp4 + kTied, 0.1},
    {"dp2_two_sequences", kDp2 + kTwoSequences},
    {"tp2", kTp2},
    {"tp4", kTp4},
    {"tp4_tied_dropout", kTp4 + kTied, 0.1},
    {"tp2_llama", kTp2 + kLlama},
    {"tp2_sp", kTp2 + kSp},
    {"tp4_sp_two_sequences", kTp4 + kSp + kTwoSequences},
    {"tp4_sp_tied_dropout", kTp4 + kSp + kTied, 0.1},
    {"tp2_sp_llama_dropout", kTp2 + kSp + kLlama, 0.1},
    {"tp2_qkv_bias_only", kTp2 + kSp + kLlama + Settings{"model.qkv_bias=true", "model.attention_output_bias=true"}},
    {"tp2_relu2", kTp2 + Settings{"model.hidden_act=relu2"}},
    {"tp2_gated_with_bias", kTp2 + Settings{"model.gated_mlp=true"}},
    {"cp2", kCp2},
    {"cp4", {"layout.cp=4"}},
    {"cp4_llama_two_sequences", kLlama + kTwoSequences + Settings{"layout.cp=4"}},
    {"cp2_dropout_tied", kCp2 + kTied, 0.1},
    {"cp2_sees_all", kCp2 + Settings{"training.causal=false"}},
    {"cp2_tp2_sp", kCp2 + kTp2 + kSp},
    {"no_positions", kCp2 + Settings{"model.position_embedding=none"}},
    {"hybrid_sharding_zero1", kDp4 + kBatch8 + Settings{"layout.dp_shard=2", "layout.zero_stage=1"}},
    {"hybrid_sharding_zero2", kDp4 + kBatch8 + Settings{"layout.dp_shard=2", "layout.zero_stage=2"}},
    {"hybrid_sharding_zero3_tied", kDp4 + kBatch8 + kTied + Settings{"layout.dp_shard=2", "layout.zero_stage=3"}},
    {"hybrid_sharding_over_cp", kDp2 + kCp2 + Settings{"layout.dp_shard=2", "layout.zero_stage=3"}},
    {"zero2_tied", kDp2 + kZero2 + kTied},
    {"zero2_in_turn",
     kDp2 + kZero2 + kTied + Settings{"training.overlap.grad_reduce=false", "training.overlap.param_gather=false"}},
    {"zero3_tied_dropout", kDp2 + kZero3 + kTied, 0.1},
    {"zero2_zb", kDp2 + kZero2 + kBatch8 + kPp2 + Settings{"schedule.kind=zb-h1"}},
    {"zero3_interleaved",
     kDp2 + kZero3 + kBatch8 + kPp2 + Settings{"schedule.kind=interleaved-1f1b", "schedule.virtual_stages=2"}},
    {"zero3_sp", kDp2 + kZero3 + kTp2 + kSp},
    {"looped_bfs", {"layout.pp=2", "schedule.kind=looped-bfs", "schedule.virtual_stages=2"}},
    {"dualpipe", {"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"}},
    {"dualpipe_pp4_tied", kTied + kBatch8 + Settings{"layout.pp=4", "schedule.kind=dualpipe", "schedule.virtual_stages=2"}},
    {"dualpipe_dp2_zero1",
     kDp2 + kBatch8 + Settings{"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2", "layout.zero_stage=1"}},
    {"dualpipe_zero3_tied",
     kDp2 + kBatch8 + kTied +
         Settings{"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2", "layout.zero_stage=3"}},
    {"dualpipe_experts", kExperts + Settings{"layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"}},
    {"seq_1f1b", kSlices},
    {"seq_1f1b_llama_two_sequences", kSlices + kLlama + kTwoSequences},
    {"seq_1f1b_tp2_sp_dropout", kSlices + kTp2 + kSp, 0.1},
    {"seq_1f1b_dp2_zero2", kSlices + kDp2 + kZero2 + kTied},
    {"ep2", kExperts + kDp2 + Settings{"layout.ep=2"}},
    {"ep4_dropout", kExperts + kDp4 + Settings{"layout.ep=4"}, 0.1},
    {"ep2_dp4", kExperts + kDp4 + Settings{"layout.ep=2"}},
    {"ep2_over_cp", kExperts + kCp2 + Settings{"layout.ep=2"}},
    {"experts_tp2", kExperts + kTp2},
    {"experts_tp2_ep2", kExperts + kTp2 + kDp2 + Settings{"layout.ep=2"}},
    {"experts_tp2_sp_etp2", kExperts + kTp2 + kSp, 0.1},
    {"experts_tp2_sp_etp1_ep2", kExperts + kTp2 + kSp + Settings{"layout.etp=1", "layout.ep=2"}},
    {"experts_tp2_sp_etp1_ep4", kExperts + kTp2 + kSp + kDp2 + Settings{"layout.etp=1", "layout.ep=4"}},
    {"experts_tp2_sp_etp2_ep2", kExperts + kTp2 + kSp + kDp2 + Settings{"layout.etp=2", "layout.ep=2"}},
    {"experts_tp2_sp_cp2_ep2", kExperts + kLlama + kTp2 + kSp + kCp2 + Settings{"layout.ep=2"}},
    {"experts_tp4_etp4_rows_that_come_unevenly",
     kExperts + Settings{"layout.tp=4", "layout.dp=2", "layout.ep=2", "training.sequence_length=6"}},
    {"experts_some_slices_without_rows",
     kExperts + kDp4 + Settings{"model.num_experts_per_tok=1", "layout.ep=2", "layout.etp=2", "training.sequence_length=1"}},
    {"experts_etp2_without_tp", kExperts + kDp2 + Settings{"layout.etp=2"}},
    {"experts_every_other_layer",
     kExperts + kDp2 + Settings{"layout.ep=2", "model.first_k_dense_replace=1", "model.moe_layer_freq=2"}},
    {"experts_zero1_ep2", kExperts + kDp4 + Settings{"layout.ep=2", "layout.zero_stage=1"}},
    {"experts_slices", kExperts + kSlices},
    {"experts_slices_dp2_ep2_dropout", kExperts + kSlices + kDp2 + Settings{"layout.ep=2"}, 0.1},
    {"experts_slices_tp2_sp_two_sequences", kExperts + kSlices + kTp2 + kSp + kTwoSequences},
    {"experts_slices_full_recompute_zero3",
     kExperts + kSlices + kDp2 + kZero3 + Settings{"layout.ep=2", R"(training.recompute="full")"}},
    {"latent_experts_slices_tp2", kDeepSeek + kSlices + kTp2},
    {"experts_hybrid_sharding_zero1", kExperts + kDp4 + kBatch8 + Settings{"layout.dp_shard=2", "layout.zero_stage=1"}},
    {"experts_hybrid_sharding_zero2_ep2",
     kExperts + kDp4 + kBatch8 + Settings{"layout.ep=2", "layout.dp_shard=2", "layout.zero_stage=2"}},
    {"experts_hybrid_sharding_zero3_over_cp_tp2",
     kExperts + kDp2 + kCp2 + kTp2 + kSp + Settings{"layout.ep=2", "layout.dp_shard=2", "layout.zero_stage=3"}},
    {"experts_zero2", kExperts + kDp4 + kBatch8 + Settings{"layout.ep=2", "layout.zero_stage=2"}},
    {"experts_zero3_hybrid_with_cp", kExperts + kDp2 + kCp2 + Settings{"layout.ep=2", "layout.zero_stage=3"}},
    {"one_expert_a_rank_some_idle",
     kExperts + kDp4 + Settings{"model.num_experts_per_tok=1", "layout.ep=4", "training.sequence_length=4"}},
    {"experts_ep3", kExperts + Settings{"model.num_experts=6", "layout.dp=6", "layout.ep=3", "training.global_batch_size=6",
                                        "training.sequence_length=2"}},
    {"norms_of_heads_tp2", kNorms + kTp2},
    {"norms_of_heads_tp2_sp_cp2", kNorms + kTp2 + kSp + kCp2, 0.1},
    {"heads_shared_by_two_ranks", kLlama + Settings{"layout.tp=4"}},
    {"heads_shared_by_all_ranks", kOneKey + Settings{"layout.tp=4", "model.qkv_bias=true"} + kSp},
    {"heads_shared_norms_zero2", kOneKey + kNorms + kTp2 + kDp2 + kZero2},
    {"heads_shared_zero3", kOneKey + kTp2 + kDp2 + kZero3},
    {"heads_shared_tied_dropout", kLlama + kTied + Settings{"layout.tp=4", "model.qkv_bias=true"}, 0.1},
    {"heads_shared_norms_slices", kOneKey + kNorms + kTp2 + kSlices},
    {"heads_copied_by_two_ranks", kLlama + kCopiedHeads + Settings{"layout.tp=4"}},
    {"heads_copied_by_all_ranks", kOneKey + kCopiedHeads + Settings{"layout.tp=4", "model.qkv_bias=true"} + kSp},
    {"heads_copied_norms_zero2", kOneKey + kCopiedHeads + kNorms + kTp2 + kDp2 + kZero2},
    {"heads_copied_zero3", kOneKey + kCopiedHeads + kTp2 + kDp2 + kZero3},
    {"heads_shared_pp2_zb", kOneKey + kTp2 + kPp2 + Settings{"schedule.kind=zb-h1"}},
    {"window_tp2_two_sequences", kWindow + kTp2 + kTwoSequences},
    {"window_cp2", kWindow + kCp2},
    {"window_cp4_two_sequences", kWindow + kTwoSequences + Settings{"layout.cp=4"}},
    {"window_slices", kWindow + kSlices},
    {"window_of_every_other_layer", kWindow + kCp2 + Settings{"model.sliding_window_pattern=2"}},
    {"chunks_cp2", kChunks + kCp2},
    {"chunks_cp4_two_sequences", kChunks + kTwoSequences + Settings{"layout.cp=4"}},
    {"chunks_slices", kChunks + kSlices},
    {"chunks_and_layers_without_positions", kLlama + kChunks + kTp2 + Settings{"model.no_rope_layer_interval=2"}},
    {"sinks_tp2_window_cp2", kLlama + kTp2 + kWindow + kCp2 + Settings{"model.attention_sinks=true"}},
    {"sinks_slices_norms", kNorms + kSlices + Settings{"model.attention_sinks=true"}, 0.1},
    {"experts_biased_tp2_sp_etp2_ep2",
     kExperts + kTp2 + kSp + kDp2 + Settings{"layout.ep=2", "model.expert_bias=true", "model.router_bias=true"}},
    {"experts_biased_etp2_zero2",
     kExperts + kDp4 + kBatch8 + Settings{"layout.etp=2", "layout.ep=2", "layout.zero_stage=2", "model.bias=true"}},
    {"shared_expert_tp2", kExperts + kTp2 + Settings{"model.num_shared_experts=1"}},
    {"shared_expert_tp2_sp_ep2_zb",
     kExperts + kTp2 + kSp + kPp2 + Settings{"model.num_shared_experts=2", "layout.etp=1", "layout.ep=2", "schedule.kind=zb-h1"}},
    {"experts_tp2_etp1", kExperts + kTp2 + Settings{"layout.etp=1", "layout.ep=2"}},
    {"experts_rows_that_tp_does_not_divide", kExperts + Settings{"training.sequence_length=10", "layout.tp=4", "layout.etp=1"}},
    {"experts_order_of_axes",
     kExperts + kTp2 + kDp2 + kCp2 + Settings{"layout.ep=2", "layout.etp=1", "layout.order=ep-dp-cp-tp-pp"}},
    {"experts_order_of_axes_sp_etp2",
     kExperts + kTp2 + kSp + kDp2 + kPp2 + Settings{"layout.ep=2", "layout.etp=2", "layout.order=dp-ep-tp-cp-pp"}},
    {"experts_order_of_axes_etp2", kExperts + kTp2 + kDp4 + Settings{"layout.ep=2", "layout.order=cp-dp-tp-ep-pp"}},
    {"router_bias", kExperts + kTp2 + Settings{"model.router_bias=true", "model.norm_topk_prob=false"}},
    {"latent_tp2", kDeepSeek + kTp2},
    {"latent_tp2_sp_etp1", kDeepSeek + kTp2 + kSp + Settings{"layout.etp=1", "layout.ep=2"}, 0.1},
    {"latent_direct_queries_tp4_sp", kDeepSeek + kTp4 + kSp + Settings{"model.q_lora_rank=0"}},
    {"latent_cp2_two_sequences", kDeepSeek + kCp2 + kTwoSequences},
    {"latent_window_cp2_dp2_ep2", kDeepSeek + kWindow + kCp2 + kDp2 + Settings{"layout.ep=2"}},
    {"latent_without_positions", kDeepSeek + kTp2 + Settings{"model.position_embedding=none", "model.qk_rope_head_dim=0"}},
    {"latent_layernorm_slices", kDeepSeek + kSlices + Settings{"model.num_experts=0", "model.normalization=layernorm"}},
    {"latent_pp2_zb_zero3", kDeepSeek + kPp2 + kDp2 + kZero3 + kBatch8 + Settings{"layout.ep=2", "schedule.kind=zb-h1"}},
    {"latent_all_at_once",
     kDeepSeek + kDp2 + kTp2 + kSp + kCp2 + kPp2 + kTied +
         Settings{"layout.ep=4", "layout.etp=1", "layout.zero_stage=1", "schedule.kind=1f1b"},
     0.1},
    {"fewer_words_than_ranks", {"model.vocab_size=3", "layout.tp=4"}},
    {"rows_that_tp_does_not_divide", {"training.sequence_length=10", "layout.tp=4"}},
    {"ends_without_layers", kTied + Settings{"model.num_hidden_layers=2", "layout.pp=4", "schedule.layers_per_stage=[0,1,1,0]"}},
    {"uneven_stages", {"model.num_hidden_layers=5", "layout.pp=2", "schedule.layers_per_stage=[4,1]", "schedule.kind=zb-h1"}},
    {"dp3_cp2_hybrid_sharding",
     {"layout.dp=3", "layout.cp=2", "training.global_batch_size=6", "layout.zero_stage=1", "layout.dp_shard=3"}},
    {"odd_order_of_axes", kDp2 + kTp2 + kCp2 + kPp2 + kZero2 + Settings{"layout.order=pp-dp-cp-tp"}},
    {"odd_sizes", {"model.hidden_size=20", "model.head_dim=5", "layout.tp=2", "layout.sequence_parallel=true"}},
    {"moments_in_bf16", kDp2 + kTp2 + kZero2 + Settings{"training.moment_dtype=bf16"}},
    {"adapters_tp2_dp2_zero2", kAdapters + kLlama + kTp2 + kDp2 + kZero2},
    {"adapters_tp4_sp_heads_shared", kAdapters + kLlama + kSp + Settings{"layout.tp=4"}, 0.1},
    {"adapters_tp4_sp_heads_copied", kAdapters + kLlama + kCopiedHeads + kSp + Settings{"layout.tp=4"}, 0.1},
    {"adapters_biases_cp2_zero3", kAdapters + kCp2 + kDp2 + kZero3},
    {"adapters_tied_pp2_zb_hybrid_sharding",
     kAdapters + kTied + kDp4 + kBatch8 + kPp2 + Settings{"schedule.kind=zb-h1", "layout.dp_shard=2", "layout.zero_stage=1"}},
    {"adapters_experts_ep2", kAdapters + kExperts + kTp2 + kDp2 + Settings{"layout.ep=2"}},
    {"adapters_slices_norms", kAdapters + kNorms + kSlices + kTp2},
    {"adapters_dualpipe_sinks",
     kAdapters + kLlama + kBatch8 +
         Settings{"model.attention_sinks=true", "layout.pp=2", "schedule.kind=dualpipe", "schedule.virtual_stages=2"}},
    {"adapters_of_some_layers",
     kTp2 + kSp + Settings{R"(training.lora={"rank":6,"targets":["q_proj","v_proj","down_proj"]})", "live.learning_rate=0.05"}},
    {"sgd_dp2_tp2", kDp2 + kTp2 + Settings{"training.optimizer=sgd", "live.learning_rate=0.1"}},
    {"all_at_once", kDp2 + kTp2 + kSp + kCp2 + kPp2 + kTied + Settings{"layout.zero_stage=2", "schedule.kind=zb-h1"}, 0.1},
    {"all_at_once_experts", kExperts + kLlama + kDp2 + kTp2 + kSp + kCp2 + kPp2 + Settings{"layout.ep=2", "layout.zero_stage=1"},
     0.1},
};

} // namespace

const std::vector<Variant>& variants()
{
    return kVariants;
}

sim::Scenario jobOf(const Variant& variant, const std::string& dtype)
{
    return job(variant.settings + Settings{"live.dtype=" + dtype, "live.dropout=" + std::to_string(variant.dropout)});
}

TrainOptions optionsOfVariants()
{
    TrainOptions options;
    // Gradients of key biases are 0 but for rounding, which Adam's epsilon must not blow up.
    options.training.epsilon = 1e-5;
    return options;
}

} // namespace live::test
