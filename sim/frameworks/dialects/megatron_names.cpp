// Megatron-LM's names: today's, and what they were called since 2020. From megatron/training/arguments.py at d98e8a6 and older
// versions' scripts.
#include "sim/frameworks/job.h"

#include <array>

namespace sim::frameworks {
namespace {

template <bool kWhen>
Json fullWhen(const Json& value)
{
    return value == Json(kWhen) ? Json("full") : Json(nullptr);
}
Json ropeIfTrue(const Json& value)
{
    return value == Json(true) ? Json("rope") : Json(nullptr);
}
Json multiqueryIfTrue(const Json& value)
{
    return value == Json(true) ? Json("multiquery") : Json(nullptr);
}
Json e4m3IfTrue(const Json& value)
{
    return value == Json(true) ? Json("e4m3") : Json(nullptr);
}
Json hybridIfTrue(const Json& value)
{
    return value == Json(true) ? Json("hybrid") : Json(nullptr);
}

constexpr std::array kMegatronAliases = {
    Alias{"batch_size", "micro_batch_size"},
    Alias{"model_parallel_size", "tensor_model_parallel_size"},
    Alias{"intra_layer_model_parallel_size", "tensor_model_parallel_size"},
    Alias{"expert_parallel", "expert_model_parallel_size"},
    Alias{"moe_expert_parallel_size", "expert_model_parallel_size"},
    Alias{"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
    Alias{"checkpoint_activations", "recompute_granularity", fullWhen<true>},
    Alias{"deepspeed_activation_checkpointing", "recompute_granularity", fullWhen<true>},
    Alias{"activations_checkpoint_granularity", "recompute_granularity"},
    Alias{"activations_checkpoint_method", "recompute_method"},
    Alias{"activations_checkpoint_num_layers", "recompute_num_layers"},
    Alias{"checkpoint_num_layers", "recompute_num_layers"},
    Alias{"distribute_checkpointed_activations", "distribute_saved_activations"},
    Alias{"use_rotary_position_embeddings", "position_embedding_type", ropeIfTrue},
    Alias{"pipe_parallel_size", "pipeline_model_parallel_size"},
    Alias{"glu_activation", "activation"},
    Alias{"fp8_e4m3", "fp8_format", e4m3IfTrue},
    Alias{"fp8_hybrid", "fp8_format", hybridIfTrue},
    Alias{"fp8", "fp8_format"},
    Alias{"fp4", "fp4_format"},
    Alias{"fp8_params", "fp8_param_gather"},
    Alias{"fp8_param", "fp8_param_gather"},
    Alias{"overlap_p2p_comm_warmup_flush", "overlap_p2p_communication_warmup_flush"},
    Alias{"use_custom_fsdp", "use_megatron_fsdp"},
    Alias{"torch_fsdp2_reshard_after_forward", "torch_fsdp2_no_reshard_after_forward", negated}, // of a dump
    Alias{"first_pipeline_num_layers", "decoder_first_pipeline_num_layers"},
    Alias{"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    Alias{"last_pipeline_num_layers", "decoder_last_pipeline_num_layers"},
    Alias{"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    Alias{"microbatch_group_size_per_vp_stage", "microbatch_group_size_per_virtual_pipeline_stage"},
    Alias{"hybrid_override_pattern", "hybrid_layer_pattern"},
    Alias{"qkv_bias", "add_qkv_bias"},
    Alias{"qk_nope_head_dim", "qk_head_dim"}, // Pai-Megatron-Patch, as config.json has them
    Alias{"qk_rope_head_dim", "qk_pos_emb_head_dim"},
    Alias{"use_multiquery_attention", "attention_head_type", multiqueryIfTrue}, // BigCode's fork, 2023
    Alias{"max_length", "seq_length"},                                          // ms-swift
    Alias{"rotary_percentage", "rotary_percent"},
    Alias{"rope_theta", "rotary_base"},
    Alias{"rotary_position_embeddings_theta", "rotary_base"},
    Alias{"num_key_value_heads", "num_query_groups"},
    Alias{"layernorm_zero_centered_gamma", "apply_layernorm_1p"},
    Alias{"warmup", "lr_warmup_fraction"},
    Alias{"add_bias_linear", "disable_bias_linear", negated},
    Alias{"bias", "disable_bias_linear", negated},
    Alias{"overlap_p2p_comm", "no_overlap_p2p_communication", negated},
    Alias{"overlap_p2p_communication", "no_overlap_p2p_communication", negated},
    Alias{"share_embeddings_and_output_weights", "untie_embeddings_and_output_weights", negated},
    Alias{"num_moe_experts", "num_experts"},
    Alias{"ub_tp_comm_overlap", "tp_comm_overlap"},
    Alias{"encoder_seq_length", "seq_length"},
    Alias{"sequence_length", "seq_length"},
    Alias{"grad_reduce_in_fp32", "grad_reduce_in_bf16", negated},
    Alias{"nproc_per_node", "@gpus_per_node"},
    Alias{"gpus_per_node", "@gpus_per_node"},
    Alias{"num_gpus", "@gpus_per_node"},
    Alias{"npernode", "@gpus_per_node"},
    Alias{"nnodes", "@nodes"},
    Alias{"num_nodes", "@nodes"},
    Alias{"nodes", "@nodes"},
    Alias{"world_size", "@gpus"},
};

} // namespace

void useMegatronNames(Reading& reading)
{
    reading.rename([](const std::string& name) {
        std::string out = name;
        if (const std::size_t dashes = out.rfind("--"); dashes != std::string::npos)
            out = out.substr(dashes + 2);
        if (out.starts_with("ds_config."))
            return out;
        for (char& c : out)
            c = c == '-' ? '_' : c;
        return out;
    });
    reading.apply(kMegatronAliases);
    reading.setSpelling([](std::string_view name) {
        std::string flag(name);
        for (char& c : flag)
            c = c == '_' ? '-' : c;
        return flag.starts_with('@') || flag.find(' ') != std::string::npos || flag.find('.') != std::string::npos ? flag
                                                                                                                   : "--" + flag;
    });
}

} // namespace sim::frameworks
