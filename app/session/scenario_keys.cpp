#include "app/session/scenario_keys.h"

#include "app/session/edit.h"
#include "sim/analysis/whole_run.h"
#include "sim/schedule/families/families.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace app {
namespace {

using S = KeySection;
using Scenario = sim::Scenario;

bool hasExperts(const Scenario& s)
{
    return s.model.numExperts > 0;
}
bool hasWindow(const Scenario& s)
{
    return s.model.slidingWindow > 0 && s.model.layerTypes.empty();
}
bool hasRope(const Scenario& s)
{
    return s.model.positionEmbedding == sim::PositionEmbedding::rope && !s.model.isLatentAttention();
}
bool hasLatentAttention(const Scenario& s)
{
    return s.model.isLatentAttention();
}
bool isOrdinaryAttention(const Scenario& s)
{
    return !s.model.isLatentAttention();
}
bool hasChunks(const Scenario& s)
{
    const sim::ChunkRange chunks = sim::scheduleFamily(s.schedule.kind).chunks;
    return chunks.most != chunks.least || s.schedule.virtualStages > 1;
}
bool hasGroups(const Scenario& s)
{
    return sim::scheduleFamily(s.schedule.kind).dealsInGroups() && s.layout.pp > 1;
}
bool hasSlices(const Scenario& s)
{
    return sim::scheduleFamily(s.schedule.kind).cutsSequences();
}
bool isSynthesised(const Scenario& s)
{
    return sim::scheduleFamily(s.schedule.kind).isSearched;
}
bool isPipeline(const Scenario& s)
{
    return s.stages() > 1;
}
bool isSharded(const Scenario& s)
{
    return s.layout.zeroStage > 0 && s.layout.dp * s.layout.cp > 1;
}
bool isFullySharded(const Scenario& s)
{
    return s.layout.zeroStage == 3;
}
bool mayReduceEach(const Scenario& s)
{
    return s.layout.zeroStage >= 2 && s.layout.pp == 1 && s.microbatches() > 1;
}
bool recomputesLayers(const Scenario& s)
{
    return s.training.recompute == sim::Recompute::full;
}
bool recomputesModules(const Scenario& s)
{
    return s.training.recompute == sim::Recompute::selective;
}
bool hasAdapters(const Scenario& s)
{
    return s.model.lora.isOn();
}

constexpr std::array kKeys{
    ScenarioKey{"/model", S::model, "Model"},

    ScenarioKey{"/model/num_hidden_layers", S::modelDetails, "Layers"},
    ScenarioKey{"/model/hidden_size", S::modelDetails, "Hidden size"},
    ScenarioKey{"/model/intermediate_size", S::modelDetails, "MLP size"},
    ScenarioKey{"/model/num_attention_heads", S::modelDetails, "Heads"},
    ScenarioKey{"/model/num_key_value_heads", S::modelDetails, "KV heads", "", "", isOrdinaryAttention},
    ScenarioKey{"/model/head_dim", S::modelDetails, "Head size", "", "", isOrdinaryAttention},
    ScenarioKey{"/model/vocab_size", S::modelDetails, "Vocabulary"},
    ScenarioKey{"/model/max_position_embeddings", S::modelDetails, "Positions"},
    ScenarioKey{"/model/position_embedding", S::modelDetails, "Position kind"},
    ScenarioKey{"/model/hidden_act", S::modelDetails, "Activation"},
    ScenarioKey{"/model/normalization", S::modelDetails, "Norm"},
    ScenarioKey{"/model/rms_norm_eps", S::modelDetails, "RMS norm epsilon"},
    ScenarioKey{"/model/layer_norm_epsilon", S::modelDetails, "Layer norm epsilon"},
    ScenarioKey{"/model/rope_theta", S::modelDetails, "Rotary base"},
    ScenarioKey{"/model/gated_mlp", S::modelDetails, "Gated MLP"},
    ScenarioKey{"/model/tie_word_embeddings", S::modelDetails, "Tied embeddings"},
    ScenarioKey{"/model/bias", S::modelDetails, "Biases everywhere"},
    ScenarioKey{"/model/qkv_bias", S::modelDetails, "QKV biases"},
    ScenarioKey{"/model/attention_output_bias", S::modelDetails, "Attention output bias"},
    ScenarioKey{"/model/qk_norm", S::modelDetails, "Query and key norm"},
    ScenarioKey{"/model/attention_sinks", S::modelDetails, "Attention sinks"},

    ScenarioKey{"/model/hidden_dropout", S::modelDetails, "Dropout"},
    ScenarioKey{"/model/attention_dropout", S::modelDetails, "Attention dropout"},
    ScenarioKey{"/model/num_nextn_predict_layers", S::modelDetails, "Tokens ahead"},
    ScenarioKey{"/model/sliding_window", S::modelDetails, "Sliding window", "tokens", "none"},
    ScenarioKey{"/model/sliding_window_pattern", S::modelDetails, "Full attention every", "layers", "none", hasWindow},
    ScenarioKey{"/model/attention_chunk_size", S::modelDetails, "Attention chunk", "tokens", "none"},
    ScenarioKey{"/model/layer_types", S::modelDetails, "Layer types", "", "by the rows above"},
    ScenarioKey{"/model/no_rope_layer_interval", S::modelDetails, "No positions every", "layers", "none", hasRope},

    ScenarioKey{"/model/num_experts", S::experts, "Experts"},
    ScenarioKey{"/model/num_experts_per_tok", S::experts, "Per token", "", "", hasExperts},
    ScenarioKey{"/model/moe_intermediate_size", S::experts, "Expert size", "", "", hasExperts},
    ScenarioKey{"/model/num_shared_experts", S::experts, "Shared", "", "", hasExperts},
    ScenarioKey{"/model/first_k_dense_replace", S::experts, "Dense first", "layers", "", hasExperts},
    ScenarioKey{"/model/moe_layer_freq", S::experts, "Every", "layers", "", hasExperts},
    ScenarioKey{"/model/router_bias", S::experts, "Router bias", "", "", hasExperts},
    ScenarioKey{"/model/expert_bias", S::experts, "Expert biases", "", "", hasExperts},
    ScenarioKey{"/model/scoring_func", S::experts, "Scores", "", "", hasExperts},
    ScenarioKey{"/model/n_group", S::experts, "Groups", "", "", hasExperts},
    ScenarioKey{"/model/topk_group", S::experts, "Groups per token", "", "", hasExperts},
    ScenarioKey{"/model/norm_topk_prob", S::experts, "Weights sum to 1", "", "", hasExperts},
    ScenarioKey{"/model/routed_scaling_factor", S::experts, "Weights times", "", "", hasExperts},

    ScenarioKey{"/model/kv_lora_rank", S::latentAttention, "KV rank"},
    ScenarioKey{"/model/q_lora_rank", S::latentAttention, "Query rank", "", "", hasLatentAttention},
    ScenarioKey{"/model/qk_nope_head_dim", S::latentAttention, "Plain part", "", "", hasLatentAttention},
    ScenarioKey{"/model/qk_rope_head_dim", S::latentAttention, "Rotary part", "", "", hasLatentAttention},
    ScenarioKey{"/model/v_head_dim", S::latentAttention, "Value head", "", "", hasLatentAttention},

    ScenarioKey{"/cluster", S::cluster, "Cluster"},
    ScenarioKey{"/cluster/nodes", S::cluster, "Nodes"},

    ScenarioKey{"/cluster/gpu", S::gpu, "GPU"},
    ScenarioKey{"/cluster/gpus_per_node", S::gpu, "GPUs a node"},
    ScenarioKey{"/cluster/gpu/memory_gib", S::gpu, "Memory", "GiB"},
    ScenarioKey{"/cluster/gpu/memory_bandwidth_gbs", S::gpu, "Memory speed", "GB/s"},
    ScenarioKey{"/cluster/gpu/peak_tflops/bf16", S::gpu, "BF16", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/peak_tflops/fp8", S::gpu, "FP8", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/peak_tflops/fp16", S::gpu, "FP16", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/peak_tflops/tf32", S::gpu, "TF32", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/peak_tflops/fp32", S::gpu, "FP32", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/peak_tflops/mxfp8", S::gpu, "MXFP8", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/peak_tflops/nvfp4", S::gpu, "NVFP4", "TFLOP/s", "has none"},
    ScenarioKey{"/cluster/gpu/host_bandwidth_gbs", S::gpu, "Host link", "GB/s"},
    ScenarioKey{"/cluster/host/memory_bandwidth_gbs", S::gpu, "Host memory speed", "GB/s"},
    ScenarioKey{"/cluster/host/memory_gib", S::gpu, "Host memory", "GiB"},
    ScenarioKey{"/cluster/gpu/multiprocessors", S::gpu, "Processors"},
    ScenarioKey{"/cluster/gpu/power_watts", S::gpu, "Power limit", "W", "not known"},

    ScenarioKey{"/cluster/tiers/*/bandwidth_gbs", S::links, "Bandwidth", "GB/s"},
    ScenarioKey{"/cluster/tiers/*/gpus_per_nic", S::links, "GPUs per NIC"},
    ScenarioKey{"/cluster/tiers/*/latency_us", S::links, "Latency", "µs"},
    ScenarioKey{"/cluster/tiers/*/span", S::links, "Joins", "GPUs", "all"},
    ScenarioKey{"/cluster/tiers/*/in_network_reduction", S::links, "Reduces in the switch"},
    ScenarioKey{"/cluster/tiers/*/mesh", S::links, "Links in pairs"},

    ScenarioKey{"/cluster/efficiency", S::efficiency, "Profile", "", "the catalogue's"},
    ScenarioKey{"/cluster/efficiency/gemm", S::efficiency, "Matrix products"},
    ScenarioKey{"/cluster/efficiency/gemm_half_k", S::efficiency, "Half at K"},
    ScenarioKey{"/cluster/efficiency/grouped_gemm", S::efficiency, "Expert products"},
    ScenarioKey{"/cluster/efficiency/weight_gradient", S::efficiency, "Weight gradients"},
    ScenarioKey{"/cluster/efficiency/fp8_gemm", S::efficiency, "8-bit products"},
    ScenarioKey{"/cluster/efficiency/attention_forward", S::efficiency, "Attention F"},
    ScenarioKey{"/cluster/efficiency/attention_backward", S::efficiency, "Attention B"},
    ScenarioKey{"/cluster/efficiency/attention_half_length", S::efficiency, "Half at length"},
    ScenarioKey{"/cluster/efficiency/memory", S::efficiency, "Memory traffic"},
    ScenarioKey{"/cluster/efficiency/network", S::efficiency, "Network"},
    ScenarioKey{"/cluster/efficiency/inter_node", S::efficiency, "Network between nodes"},
    ScenarioKey{"/cluster/efficiency/all_to_all", S::efficiency, "All-to-all"},
    ScenarioKey{"/cluster/efficiency/in_network", S::efficiency, "Sums in switches"},
    ScenarioKey{"/cluster/efficiency/collective_us", S::efficiency, "Collective start", "µs"},
    ScenarioKey{"/cluster/efficiency/host_link", S::efficiency, "Link to the host"},
    ScenarioKey{"/cluster/efficiency/host_memory", S::efficiency, "Host memory traffic"},
    ScenarioKey{"/cluster/efficiency/beside_transfers", S::efficiency, "Kernels beside transfers", "×"},
    ScenarioKey{"/cluster/efficiency/beside_all_to_all", S::efficiency, "Kernels beside all-to-alls", "×"},
    ScenarioKey{"/cluster/efficiency/kernel_us", S::efficiency, "Kernel start", "µs"},
    ScenarioKey{"/cluster/efficiency/launch_us", S::efficiency, "Shortest kernel", "µs"},

    ScenarioKey{"/layout/tp", S::layout, "Tensor", "tp"},
    ScenarioKey{"/layout/cp", S::layout, "Context", "cp"},
    ScenarioKey{"/layout/pp", S::layout, "Pipeline", "pp"},
    ScenarioKey{"/layout/dp", S::layout, "Data", "dp"},
    ScenarioKey{"/layout/ep", S::layout, "Expert", "ep", "", hasExperts},
    ScenarioKey{"/layout/etp", S::layout, "Expert tensor", "etp", "", hasExperts},
    ScenarioKey{"/layout/sequence_parallel", S::layout, "Sequence parallel"},
    ScenarioKey{"/layout/zero_stage", S::layout, "ZeRO"},
    ScenarioKey{"/layout/dp_shard", S::layout, "Shard", "ranks", "", isSharded},
    ScenarioKey{"/layout/reshard_after_forward", S::layout, "Reshard after use", "", "", isFullySharded},
    ScenarioKey{"/layout/reduce_each_microbatch", S::layout, "Reduce each micro-batch", "", "", mayReduceEach},
    ScenarioKey{"/layout/order", S::layout, "Order"},
    ScenarioKey{"/layout/placement", S::layout, "Placement"},

    ScenarioKey{"/schedule/kind", S::schedule, "Kind"},
    ScenarioKey{"/schedule/virtual_stages", S::schedule, "Virtual stages", "", "", hasChunks},
    ScenarioKey{"/schedule/microbatch_group", S::schedule, "Group", "", "", hasGroups},
    ScenarioKey{"/schedule/sequence_slices", S::schedule, "Slices", "", "", hasSlices},
    ScenarioKey{"/schedule/memory_cap_gib", S::schedule, "Memory cap", "GiB", "the GPU's", isSynthesised},
    ScenarioKey{"/schedule/layers_per_stage", S::schedule, "Stage layers", "", "", isPipeline},
    ScenarioKey{"/training/global_batch_size", S::schedule, "Global batch"},
    ScenarioKey{"/training/micro_batch_size", S::schedule, "Micro-batch"},

    ScenarioKey{"/training/sequence_length", S::training, "Sequence"},
    ScenarioKey{"/training/recompute", S::training, "Recompute"},
    ScenarioKey{"/training/recompute/layers", S::training, "In a chunk", "layers", "all", recomputesLayers},
    ScenarioKey{"/training/recompute/modules", S::training, "Run again in the backward pass", "", "core_attn", recomputesModules},
    ScenarioKey{"/training/lora/rank", S::training, "Adapter rank", "", "no LoRA"},
    ScenarioKey{"/training/lora/targets", S::training, "Layers with adapters", "", "", hasAdapters},
    ScenarioKey{"/training/lora/base_dtype", S::training, "Frozen weights", "", "", hasAdapters},
    ScenarioKey{"/training/lora/dropout", S::training, "Adapter dropout", "", "", hasAdapters},
    ScenarioKey{"/training/lora/fused", S::training, "Adapters share A", "", "", hasAdapters},
    ScenarioKey{"/training/tokens", S::training, "Whole run", "tokens", "not said", nullptr, sim::kTokensUnlessSaid},
    ScenarioKey{"/training/precision", S::training, "Precision"},
    ScenarioKey{"/training/optimizer", S::training, "Optimizer"},
    ScenarioKey{"/training/causal", S::training, "Causal attention"},
    ScenarioKey{"/training/stack", S::training, "Software"},
    ScenarioKey{"/training/attention", S::training, "Attention"},
    ScenarioKey{"/training/loss_chunk_tokens", S::training, "Loss in chunks", "tokens", "all at once"},
    ScenarioKey{"/training/master_weights", S::training, "Master copy"},
    ScenarioKey{"/training/gradient_dtype", S::training, "Gradients"},
    ScenarioKey{"/training/moment_dtype", S::training, "Moments"},
    ScenarioKey{"/training/offload/optimizer", S::training, "Offload optimizer"},
    ScenarioKey{"/training/offload/activation_layers", S::training, "Offload layers", "of each stage"},
    ScenarioKey{"/training/moe/dispatch_dtype", S::training, "Dispatch", "", "", hasExperts},
    ScenarioKey{"/training/moe/combine_dtype", S::training, "Combine", "", "", hasExperts},
    ScenarioKey{"/training/moe/send_once_per_node", S::training, "Once a node", "", "", hasExperts},
    ScenarioKey{"/training/moe/imbalance", S::training, "Imbalance", "×", "", hasExperts},

    ScenarioKey{"/training/overlap/grad_reduce", S::overlap, "Gradient reduction"},
    ScenarioKey{"/training/overlap/param_gather", S::overlap, "Parameter gathering"},
    ScenarioKey{"/training/overlap/tp_comm", S::overlap, "Tensor parallel"},
    ScenarioKey{"/training/overlap/p2p", S::overlap, "Pipeline sends"},
    ScenarioKey{"/training/overlap/ep_comm", S::overlap, "Expert all-to-all", "", "", hasExperts},

    ScenarioKey{"/perturbations/*/kind", S::perturbations, "What"},
    ScenarioKey{"/perturbations/*/rank", S::perturbations, "Rank", "", "all"},
    ScenarioKey{"/perturbations/*/factor", S::perturbations, "Slower by", "×"},
    ScenarioKey{"/perturbations/*/sigma", S::perturbations, "Deviation"},
    ScenarioKey{"/perturbations/*/seed", S::perturbations, "Seed"},
    ScenarioKey{"/perturbations/*/mtbf_hours", S::perturbations, "A GPU fails in", "h", "50,000"},
    ScenarioKey{"/perturbations/*/checkpoint_every_s", S::perturbations, "Saved every", "s", "best"},
    ScenarioKey{"/perturbations/*/checkpoint_s", S::perturbations, "A save holds up", "s", "by bytes"},
    ScenarioKey{"/perturbations/*/storage_gbs", S::perturbations, "A node writes", "GB/s", "1"},
    ScenarioKey{"/perturbations/*/restart_s", S::perturbations, "Restart", "s", "600"},
    ScenarioKey{"/perturbations/*/replace_s", S::perturbations, "Node away", "s", "0"},
    ScenarioKey{"/perturbations/*/spares", S::perturbations, "Spare nodes", "", "0"},
    ScenarioKey{"/perturbations/*/days", S::perturbations, "Told of", "days", "30"},

    ScenarioKey{"/live/device", S::live, "Device"},
    ScenarioKey{"/live/steps", S::live, "Steps"},
    ScenarioKey{"/live/learning_rate", S::live, "Learning rate"},
    ScenarioKey{"/live/dropout", S::live, "Dropout"},
    ScenarioKey{"/live/weight_decay", S::live, "Weight decay"},
    ScenarioKey{"/live/clip_norm", S::live, "Clip norm"},
    ScenarioKey{"/live/aux_loss", S::live, "Balancing loss", "", "", hasExperts},
    ScenarioKey{"/live/dtype", S::live, "Arithmetic"},
    ScenarioKey{"/live/seed", S::live, "Seed"},
    ScenarioKey{"/live/data", S::live, "Data"},
};

constexpr std::array kLeftOut{
    KeyLeftOut{"/format", "says what the file is"},
    KeyLeftOut{"/version", "says what the file is"},
    KeyLeftOut{"/name", "words for people"},
    KeyLeftOut{"/description", "words for people"},
    KeyLeftOut{"/source", "words for people"},
    KeyLeftOut{"/view", "what was on screen"},
    KeyLeftOut{"/cases", "what the description is proven with"},
    KeyLeftOut{"/holds", "what the description is proven with"},
    KeyLeftOut{"/parameters", "derived"},
    KeyLeftOut{"/active_parameters", "derived"},
    KeyLeftOut{"/parameters_per_rank", "derived"},
    KeyLeftOut{"/mtp_parameters", "derived"},
    KeyLeftOut{"/trainable_parameters", "derived"},
    KeyLeftOut{"/world_size", "derived"},
    KeyLeftOut{"/derived/parameters", "derived"},
    KeyLeftOut{"/derived/active_parameters", "derived"},
    KeyLeftOut{"/derived/parameters_per_rank", "derived"},
    KeyLeftOut{"/derived/mtp_parameters", "derived"},
    KeyLeftOut{"/derived/trainable_parameters", "derived"},
    KeyLeftOut{"/derived/world_size", "derived"},
    KeyLeftOut{"/model/base", "the chooser of models sets it"},
    KeyLeftOut{"/model/name", "words for people"},
    KeyLeftOut{"/cluster/base", "the chooser of clusters sets it"},
    KeyLeftOut{"/cluster/name", "words for people"},
    KeyLeftOut{"/cluster/gpu/base", "the chooser of GPUs sets it"},
    KeyLeftOut{"/cluster/gpu/name", "words for people"},
    KeyLeftOut{"/cluster/gpu/efficiency", "the same numbers as /cluster/efficiency, which wins"},
    KeyLeftOut{"/cluster/tiers/*/name", "words for people"},
    KeyLeftOut{"/cluster/efficiency/id", "words for people"},
    KeyLeftOut{"/cluster/efficiency/attention", "of each kernel; the GPU's file has them"},
    KeyLeftOut{"/cluster/efficiency/attention_half_lengths", "of each kernel; the GPU's file has them"},
    KeyLeftOut{"/cluster/efficiency/attention_half_heads", "of each kernel; the GPU's file has them"},
    KeyLeftOut{"/cluster/efficiency/device", "measured, not chosen"},
    KeyLeftOut{"/cluster/efficiency/precision", "measured, not chosen"},
    KeyLeftOut{"/cluster/efficiency/kernels", "measured, not chosen"},
    KeyLeftOut{"/cluster/efficiency/kernels_alone", "measured, not chosen"},
    KeyLeftOut{"/cluster/efficiency/transfers", "measured, not chosen"},
    KeyLeftOut{"/schedule/actions", "the order editor writes them"},
    KeyLeftOut{"/training/recompute/kind", "/training/recompute is its short form"},
    KeyLeftOut{"/model/rope_scaling", "costs nothing; the scenario's file has it"},
    KeyLeftOut{"/training/documents/lengths", "a list; the scenario's file has it"},
    KeyLeftOut{"/training/documents/weights", "a list; the scenario's file has it"},
    KeyLeftOut{"/training/documents/seed", "the scenario's file has it"},
    KeyLeftOut{"/training/stack/base", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/id", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/name", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/date", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/use_for", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/attention", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gradient_dtype", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/softmax_multiple", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/pads_vocabulary", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/narrow_gather", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/narrow_reduce", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/narrow_attention", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/narrow_saved", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/shares_attention_output", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/keeps_narrow_weights", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gathers_after_reduction", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gathers_ahead", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gather_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/reruns_unread", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/keeps_unread", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/passes_gradients", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/offloads_gradients", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/sharded_loss_saved", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/selective", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/sends_shards", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/reduces_whole", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/reduces_wide", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/parameters_are_master", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/plain_tensor_parallel", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gathers_apart", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/sequence_copy_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/exchanges_heads", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/reduces_among_all", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/whole_embedding", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/whole_head", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/blocks_launches", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gathers_logits", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gathers_heads", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/repeats_keys", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/scatters_sends", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/keeps_messages", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/keeps_outputs", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gathers_chunks", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gemm", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/network", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/launch_us", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/backward_launch_us", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/collective_launch_us", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/expert_launch_us", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/fuses_experts", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/cuda_graphs", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/cast_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/cast_launches", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/optimizer_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/gradient_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/ring_merge_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/ring_gradient_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/ring_gradients_wide", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/weight_gradient_bytes", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/update_moments", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/joins_gradients", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/updated_together", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/reduce_bucket", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/reductions_ahead", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/keeps_loss_head", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/step_ms", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/norm", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/activation", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/residual", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/rope", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/softmax", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/loss", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/embedding", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/permute", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/product", "the chooser of software sets it"},
    KeyLeftOut{"/training/stack/attention_product", "the chooser of software sets it"},
    KeyLeftOut{"/training/flash_attention", "/training/attention says more"},
};

/// Words of the file that say too little on screen.
struct OptionText {
    std::string_view pointer, json, text;
};
constexpr std::array kOptionTexts{
    OptionText{"/training/lora/base_dtype", "\"bf16\"", "BF16"},
    OptionText{"/training/lora/base_dtype", "\"fp8\"", "FP8"},
    OptionText{"/training/lora/base_dtype", "\"nf4\"", "NF4"},
    OptionText{"/layout/zero_stage", "0", "0 · nothing"},
    OptionText{"/layout/zero_stage", "1", "1 · optimizer"},
    OptionText{"/layout/zero_stage", "2", "2 · + gradients"},
    OptionText{"/layout/zero_stage", "3", "3 · all (FSDP)"},
    OptionText{"/layout/order", "\"tp-cp-ep-dp-pp\"", "tp-cp-ep-dp-pp"},
    OptionText{"/layout/order", "\"tp-cp-ep-pp-dp\"", "tp-cp-ep-pp-dp"},
    OptionText{"/layout/order", "\"tp-cp-dp-pp\"", "tp-cp-dp-pp"},
    OptionText{"/layout/order", "\"tp-cp-pp-dp\"", "tp-cp-pp-dp"},
    OptionText{"/layout/order", "\"tp-dp-cp-pp\"", "tp-dp-cp-pp"},
    OptionText{"/layout/order", "\"cp-tp-dp-pp\"", "cp-tp-dp-pp"},
    OptionText{"/layout/order", "\"dp-tp-cp-pp\"", "dp-tp-cp-pp"},
    OptionText{"/layout/order", "\"pp-tp-cp-dp\"", "pp-tp-cp-dp"},
    OptionText{"/layout/placement", "\"packed\"", "Packed"},
    OptionText{"/layout/placement", "\"round-robin\"", "Round-robin"},
    OptionText{"/training/recompute", "\"none\"", "None"},
    OptionText{"/training/recompute", "\"selective\"", "Some modules"},
    OptionText{"/training/recompute", "\"full\"", "Whole layers"},
    OptionText{"/training/precision", "\"bf16\"", "BF16"},
    OptionText{"/training/precision", "\"fp16\"", "FP16"},
    OptionText{"/training/precision", "\"fp8\"", "FP8"},
    OptionText{"/training/precision", "\"mxfp8\"", "MXFP8"},
    OptionText{"/training/precision", "\"nvfp4\"", "NVFP4"},
    OptionText{"/training/precision", "\"tf32\"", "TF32"},
    OptionText{"/training/precision", "\"fp32\"", "FP32"},
    OptionText{"/training/optimizer", "\"adamw\"", "AdamW"},
    OptionText{"/training/optimizer", "\"sgd\"", "SGD"},
    OptionText{"/training/attention", "\"auto\"", "The software's"},
    OptionText{"/training/attention", "\"unfused\"", "Unfused"},
    OptionText{"/training/attention", "\"triton\"", "Triton"},
    OptionText{"/training/attention", "\"flash2\"", "FlashAttention-2"},
    OptionText{"/training/attention", "\"flash3\"", "FlashAttention-3"},
    OptionText{"/training/attention", "\"cudnn\"", "cuDNN"},
    OptionText{"/training/moment_dtype", "\"fp32\"", "FP32"},
    OptionText{"/training/moment_dtype", "\"bf16\"", "BF16"},
    OptionText{"/training/gradient_dtype", "\"fp32\"", "FP32"},
    OptionText{"/training/gradient_dtype", "\"bf16\"", "BF16"},
    OptionText{"/training/moe/dispatch_dtype", "\"fp32\"", "FP32"},
    OptionText{"/training/moe/dispatch_dtype", "\"bf16\"", "BF16"},
    OptionText{"/training/moe/dispatch_dtype", "\"fp8\"", "FP8"},
    OptionText{"/training/moe/combine_dtype", "\"fp32\"", "FP32"},
    OptionText{"/training/moe/combine_dtype", "\"bf16\"", "BF16"},
    OptionText{"/training/moe/combine_dtype", "\"fp8\"", "FP8"},
    OptionText{"/model/hidden_act", "\"gelu\"", "GELU"},
    OptionText{"/model/hidden_act", "\"silu\"", "SiLU"},
    OptionText{"/model/hidden_act", "\"relu2\"", "Squared ReLU"},
    OptionText{"/model/scoring_func", "\"softmax\"", "Softmax"},
    OptionText{"/model/scoring_func", "\"sigmoid\"", "Sigmoid"},
    OptionText{"/model/normalization", "\"layernorm\"", "LayerNorm"},
    OptionText{"/model/normalization", "\"rmsnorm\"", "RMSNorm"},
    OptionText{"/model/position_embedding", "\"learned\"", "Learned"},
    OptionText{"/model/position_embedding", "\"rope\"", "Rotary (RoPE)"},
    OptionText{"/model/position_embedding", "\"none\"", "None"},
    OptionText{"/perturbations/*/kind", "\"slow_gpu\"", "Slow GPU"},
    OptionText{"/perturbations/*/kind", "\"slow_link\"", "Slow link"},
    OptionText{"/perturbations/*/kind", "\"jitter\"", "Jitter"},
    OptionText{"/perturbations/*/kind", "\"failure\"", "Failures"},
    OptionText{"/live/device", "\"auto\"", "Automatic"},
    OptionText{"/live/device", "\"cpu\"", "CPU"},
    OptionText{"/live/device", "\"cuda\"", "CUDA"},
    OptionText{"/live/device", "\"emulated\"", "CUDA, emulated"},
    OptionText{"/live/dtype", "\"fp64\"", "FP64"},
    OptionText{"/live/dtype", "\"fp32\"", "FP32"},
    OptionText{"/live/dtype", "\"bf16\"", "BF16"},
};

/// Words that several of may be chosen.
constexpr std::array kWordTexts{
    OptionText{"/training/recompute/modules", "\"core_attn\"", "Attention's core"},
    OptionText{"/training/recompute/modules", "\"layernorm\"", "Norms"},
    OptionText{"/training/recompute/modules", "\"mla_up_proj\"", "Latent up projections"},
    OptionText{"/training/recompute/modules", "\"moe_act\"", "Experts' activation"},
    OptionText{"/training/recompute/modules", "\"mlp\"", "Dense MLP"},
    OptionText{"/training/recompute/modules", "\"moe\"", "Experts' layer"},
    OptionText{"/training/recompute/modules", "\"shared_experts\"", "Shared experts"},
    OptionText{"/training/recompute/modules", "\"operators\"", "Every other product"},
    OptionText{"/training/lora/targets", "\"q_proj\"", "Query"},
    OptionText{"/training/lora/targets", "\"k_proj\"", "Key"},
    OptionText{"/training/lora/targets", "\"v_proj\"", "Value"},
    OptionText{"/training/lora/targets", "\"o_proj\"", "Output"},
    OptionText{"/training/lora/targets", "\"gate_proj\"", "Gate"},
    OptionText{"/training/lora/targets", "\"up_proj\"", "Up"},
    OptionText{"/training/lora/targets", "\"down_proj\"", "Down"},
};

std::vector<KeyOption> optionsFrom(const std::vector<sim::Catalogue::Entry>& entries)
{
    std::vector<KeyOption> out;
    for (const sim::Catalogue::Entry& entry : entries)
        out.push_back({app::quoted(entry.id), entry.name, {}});
    return out;
}

bool matches(std::string_view pattern, std::string_view pointer)
{
    const std::size_t star = pattern.find('*');
    if (star == std::string_view::npos || !pointer.starts_with(pattern.substr(0, star)))
        return false;
    const std::size_t end = pointer.find_first_not_of("0123456789", star);
    return end != star && end != std::string_view::npos && pointer.substr(end) == pattern.substr(star + 1);
}

} // namespace

std::span<const ScenarioKey> scenarioKeys()
{
    return kKeys;
}

const ScenarioKey* findScenarioKey(std::string_view pointer)
{
    auto found = std::find_if(kKeys.begin(), kKeys.end(), [&](const ScenarioKey& key) { return key.pointer == pointer; });
    if (found == kKeys.end())
        found = std::find_if(kKeys.begin(), kKeys.end(), [&](const ScenarioKey& key) { return matches(key.pointer, pointer); });
    return found == kKeys.end() ? nullptr : &*found;
}

std::string pointerAt(std::string_view pattern, std::size_t index)
{
    std::string out(pattern);
    if (const std::size_t star = out.find('*'); star != std::string::npos)
        out.replace(star, 1, std::to_string(index));
    return out;
}

std::string sentenceName(const ScenarioKey& key)
{
    if (key.pointer == "/training/recompute/layers") // which its row says, below what is recomputed
        return "recomputed layers a chunk";
    const std::string_view last = key.pointer.substr(key.pointer.rfind('/') + 1);
    if (last == key.unit) // the axes go by their letters
        return std::string(last);
    std::string name = key.label;
    const bool isWord = name.size() > 1 && std::islower(static_cast<unsigned char>(name[1])) != 0 && name != "ZeRO";
    if (isWord)
        name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    return name;
}

bool perturbationTakes(std::string_view kind, std::string_view pointer)
{
    const std::string_view key = pointer.substr(pointer.rfind('/') + 1);
    const bool isFailure = kind == "failure", isJitter = kind == "jitter";
    if (key == "kind")
        return true;
    if (key == "rank")
        return !isFailure;
    if (key == "seed")
        return isJitter || isFailure;
    return key == "factor" ? kind.starts_with("slow") : key == "sigma" ? isJitter : isFailure;
}

std::span<const KeyLeftOut> keysLeftOut()
{
    return kLeftOut;
}

std::vector<KeyOption> keyOptions(const sim::Catalogue& catalogue, const ScenarioKey& key)
{
    if (key.pointer == "/model")
        return optionsFrom(catalogue.models());
    if (key.pointer == "/cluster")
        return optionsFrom(catalogue.clusters());
    if (key.pointer == "/cluster/gpu")
        return optionsFrom(catalogue.gpus());
    if (key.pointer == "/training/stack")
        return optionsFrom(catalogue.stacks());
    std::vector<KeyOption> out;
    if (key.pointer == "/schedule/kind") {
        for (const sim::ScheduleFamily& family : sim::scheduleFamilies())
            out.push_back({app::quoted(family.kind), std::string(family.title), std::string(family.character)});
        return out;
    }
    for (const OptionText& option : kOptionTexts) {
        if (option.pointer == key.pointer)
            out.push_back({std::string(option.json), std::string(option.text), {}});
    }
    return out;
}

std::vector<KeyOption> wordOptions(const ScenarioKey& key)
{
    std::vector<KeyOption> out;
    for (const OptionText& option : kWordTexts)
        if (option.pointer == key.pointer)
            out.push_back({std::string(option.json), std::string(option.text), {}});
    return out;
}

} // namespace app
