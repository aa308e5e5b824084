// Megatron's arguments that become no key: those that change the step and that a scenario cannot say, and those that change
// neither layout, time nor memory.
#include "sim/frameworks/job.h"

#include <array>
#include <string_view>

namespace sim::frameworks {
namespace {

struct UsualValue {
    std::string_view name;
    Json value;
};

/// What is no other than it would be without: no key is missed.
bool isUsualValue(const Reading& reading, const UsualValue& usual)
{
    const Json* value = reading.peek(usual.name);
    while (value != nullptr && value->is_array() && value->size() == 1)
        value = &value->front();
    return value != nullptr && *value == usual.value; // 1 and 1.0 are equal
}

/// Megatron names modules or shares of them; the key counts whole layers.
constexpr std::string_view kOnTheHost = "activations on the host: see training.offload.activation_layers, of whole layers";

constexpr std::array kUnsayable = {
    Alias{"cp_comm_type", "imported as a ring: a2a of all layers is training.stack.exchanges_heads, all_gather, a2a+p2p and ways "
                          "that layers differ in have no key"},
    Alias{"hierarchical_context_parallel_sizes", "context parallelism in levels has no key"},
    Alias{"hybrid_context_parallel", "context parallelism that varies by sequence has no key"},
    Alias{"embed_layernorm", "the normalisation of embeddings is not in the model"},
    Alias{"tp_comm_overlap_cfg", "buffers of tensor-parallel overlap have no key"},
    Alias{"tp_comm_overlap_*", "kinds of tensor-parallel overlap have no key"},
    Alias{"tp_comm_split_*", "kinds of tensor-parallel overlap have no key"},
    Alias{"tp_comm_atomic_*", "kinds of tensor-parallel overlap have no key"},
    Alias{"tp_comm_bulk_*", "kinds of tensor-parallel overlap have no key"},
    Alias{"delay_wgrad_compute", "delayed weight gradients are a schedule here (zb-h1 and the like)"},
    Alias{"outer_dp_sharding_strategy", "sharding between replicas has no key"},
    Alias{"*cuda_graph*", "what CUDA graphs hold is said of the software: see training.stack.cuda_graphs"},
    Alias{"moe_expert_capacity_factor", "tokens that are dropped have no key; see training.moe.imbalance"},
    Alias{"moe_pad_expert_input_to_capacity", "tokens that are dropped have no key"},
    Alias{"overlap_p2p_communication_warmup_flush", "overlap in warm-up alone has no key"},
    Alias{"overlap_param_gather_with_optimizer_step", "gathering beside the optimizer has no key"},
    Alias{"align_*", "has no key"},
    Alias{"distribute_saved_activations", "activations shared among tensor-parallel ranks have no key; see sequence_parallel"},
    Alias{"cpu_offloading*", "see training.offload"},
    Alias{"partition_activations", "activations shared among tensor-parallel ranks have no key; see sequence_parallel"},
    Alias{"cross_entropy_loss_fusion", "kernels of the loss are the software's: see training.stack.loss"},
    Alias{"moe_grouped_gemm", "whether experts' products are one kernel is the software's: see training.stack.expert_launch_us"},
    Alias{"*num_weight_shards", "re-materialised weights have no key"},
    Alias{"encoder_*", "an encoder beside the text model has no key: a stand-in without it is imported"},
    Alias{"decoder_seq_length", "an encoder beside the text model has no key: a stand-in without it is imported"},
    Alias{"multi_token_prediction*", "see model.num_nextn_predict_layers"},
    Alias{"rope_scaling_factor", "see model.rope_scaling"},
    Alias{"rotary_percent", "heads that are turned in part have no key"},
    Alias{"rotary_scaling_factor", "see model.rope_scaling"},
    Alias{"ds_config.zero_optimization.offload_*", "offloading to the host or NVMe: see training.offload.optimizer"},
    Alias{"ds_config.zero_optimization.zero_hpz_partition_size", "secondary partitions have no key"},
    Alias{"cpu_optimizer", "see training.offload.optimizer"},
    Alias{"mamba_*", "state-space layers have no key"},
    Alias{"is_hybrid_model", "state-space layers have no key"},
    Alias{"hybrid_*_ratio", "state-space layers have no key"},
    Alias{"mtp_hybrid_override_pattern", "state-space layers have no key"},
    Alias{"experimental_attention_variant*", "attention that is linear or sparse has no key: it is counted as usual attention"},
    Alias{"linear_*", "attention that is linear has no key"},
    Alias{"gdp_*", "attention that is linear has no key"},
    Alias{"dsa_*", "attention that is sparse has no key"},
    Alias{"attention_output_gate", "a gate behind attention is not in the model"},
    Alias{"heterogeneous_*", "layers that differ from one another have no key"},
    Alias{"enable_mhc_connections", "several residual streams have no key"},
    Alias{"moe_latent_size", "experts behind a smaller projection have no key"},
    Alias{"moe_token_drop*", "tokens that are dropped have no key; see training.moe.imbalance"},
    Alias{"moe_min_capacity", "tokens that are dropped have no key"},
    Alias{"moe_layer_recompute", "see training.recompute.modules"},
    Alias{"moe_paged_stash*", kOnTheHost},
    Alias{"fine_grained_activation_offloading", kOnTheHost},
    Alias{"offload_modules", kOnTheHost},
    Alias{"activation_offload_fraction", kOnTheHost},
    Alias{"checkpoint_in_cpu", kOnTheHost},
    Alias{"ds_sequence_parallel_fpdt*", "sequences in chunks that lie on the host have no key"},
    Alias{"mtp_use_repeated_layer", "prediction modules that share weights have no key"},
    Alias{"mtp_hsm", "mixing among prediction modules has no key"},
    Alias{"*standalone", "a stage of its own has no key"},
    Alias{"standalone_embedding_stage", "a stage of its own has no key"},
    Alias{"pipeline_model_parallel_split_rank", "an encoder beside the decoder has no key"},
    Alias{"enable_full_sharding_in_hsdp", "optimizer states shared among replicas of HSDP have no key"},
    Alias{"defer_embedding_wgrad_compute", "the embedding's weight gradients at the end of the pipeline have no key"},
    Alias{"wgrad_deferral_limit", "the embedding's weight gradients at the end of the pipeline have no key"},
    Alias{"no_scatter_gather_tensors_in_pipeline", "sends between stages that are not cut over tp have no key"},
    Alias{"*num_microbatches_with_partial_activation_checkpoints", "recomputation of some micro-batches has no key"},
    Alias{"num_micro_batches_with_partial_activation_checkpoints", "recomputation of some micro-batches has no key"},
    Alias{"activations_checkpoint_layers_per_pipeline", "recomputation that differs by stage has no key"},
    Alias{"te_precision_config_file", "precision layer by layer has no key"},
    Alias{"fp4_param*", "parameters gathered in 4 bits have no key"},
    Alias{"fp8_output_proj", "precision layer by layer has no key"},
    Alias{"fp8_multi_head_attention", "8 bits between attention and the products around it have no key; of attention itself see "
                                      "training.stack.narrow_attention"},
    Alias{"fp32_residual_connection", "a residual stream in 32 bits has no key"},
    Alias{"apply_residual_connection_post_layernorm", "the order of normalisation has no key"},
    Alias{"post_self_attn_layernorm", "a second normalisation behind attention has no key"},
    Alias{"post_mlp_layernorm", "a second normalisation behind the MLP has no key"},
    Alias{"headscale", "scaled heads have no key"},
    Alias{"scale_positional_embedding", "see model.rope_scaling"},
    Alias{"rotary_seq_len_interpolation_factor", "see model.rope_scaling"},
    Alias{"seq_len_interpolation_factor", "see model.rope_scaling"},
    Alias{"mscale*", "see model.rope_scaling"},
    Alias{"yarn_*", "see model.rope_scaling"},
    Alias{"relative_attention_*", "a bias inside of attention is not counted"},
    Alias{"retro_*", "retrieval has no key"},
    Alias{"perform_rl_step", "the step of training is imported; generation in between is not"},
    Alias{"rl_inference_*", "the step of training is imported; generation in between is not"},
    Alias{"sft", kPackedDocuments},
    Alias{"use_packed_sequence", kPackedDocuments},
    Alias{"reset_attention_mask", kPackedDocuments},
    Alias{"freeze_*", "weights that are not trained have no key; see training.lora"},
    Alias{"bitfit", "weights that are not trained have no key; see training.lora"},
    Alias{"use_bnb_optimizer", "optimizer states in 8 bits have no key"},
    Alias{"random_ltd", "tokens that layers leave out have no key"},
    Alias{"curriculum_*", "sequences that grow have no key"},
    Alias{"*_teacher", "a teacher beside the model has no key"},
    Alias{"export_kd_*", "a teacher beside the model has no key"},
    Alias{"language_model_type", "the model beside a vision encoder is a name here: say it with --set model.base=…"},
    Alias{"vision_model_type", "an encoder beside the text model has no key: a stand-in without it is imported"},
    Alias{"recompute_vision", "an encoder beside the text model has no key: a stand-in without it is imported"},
    Alias{"mos", "a teacher beside the model has no key"},
    Alias{"packing_seq_length", kPackedDocuments},
    Alias{"img_*", "an encoder beside the text model has no key: a stand-in without it is imported"},
    Alias{"patch_dim", "an encoder beside the text model has no key: a stand-in without it is imported"},
    Alias{"total_seq_length", "see training.sequence_length"},
    Alias{"disable_tp_comm_*", "kinds of tensor-parallel overlap have no key"},
    Alias{"*gtp_*", "re-materialised weights have no key"},
    Alias{"mhc_*", "several residual streams have no key"},
    Alias{"rope_type", "see model.rope_scaling"},
    Alias{"beta_fast", "see model.rope_scaling"},
    Alias{"beta_slow", "see model.rope_scaling"},
    Alias{"original_max_position_embeddings", "see model.rope_scaling"},
    Alias{"moe_extended_tp", "experts cut over more ranks than etp have no key"},
    Alias{"moe_expert_rank_capacity_factor", "tokens that are dropped have no key"},
    Alias{"max_seqlen_per_dp_cp_rank", "sequences of several lengths: see training.documents"},
    Alias{"fine_grained_offloading_*", kOnTheHost},
    Alias{"min_offloaded_tensor_size", kOnTheHost},
    Alias{"delta_offload_*", kOnTheHost},
    // Primus-Turbo's (AMD-AGI/Primus, configs/modules/megatron/primus_turbo.yaml)
    Alias{"use_turbo_mega_moe", "experts of one kernel are the software's: see training.stack.fuses_experts"},
    Alias{"enable_turbo_attention_float8", "attention in 8 bits has no key"},
    Alias{"enable_attention_float8", "attention in 8 bits has no key"},
    Alias{"use_sink_attention", "see model.attention_sinks"},
    Alias{"sink_sliding_window", "see model.sliding_window"},
    Alias{"enable_primus_turbo", "kernels of Primus-Turbo are the software's: see training.stack"},
    Alias{"use_turbo_*", "kernels of Primus-Turbo are the software's: see training.stack"},
    Alias{"turbo_fused_*", "kernels of Primus-Turbo are the software's: see training.stack"},
    Alias{"turbo_sync_free_moe_stage", "what waits for the host is the software's: see training.stack.cuda_graphs"},
};

// clang-format off: words, not values
constexpr auto kWithoutEffect = std::to_array<std::string_view>(
    {"train_iters", "train_samples", "lr*", "*_lr", "min_lr", "*_lr_*", "weight_decay*", "start_weight_decay", "end_weight_decay",
     "adam_*", "sgd_momentum", "clip_grad", "init_method*", "seed", "data_path", "data_*", "*_data_path", "train_data*",
     "valid_*", "test_*", "split", "tokenizer*", "vocab_file", "merge_file", "save*", "load*", "*_checkpoint", "ckpt*",
     "dist_ckpt*", "use_dist_ckpt*", "async_save", "auto_detect_ckpt*", "no_load_*", "no_save_*", "exit_*", "log_*", "*log*",
     "tensorboard*", "wandb*", "eval_*", "timing_*", "profile*", "mock_data", "distributed_*", "num_workers",
     "no_gradient_accumulation_fusion", "gradient_accumulation_fusion", "attention_softmax_in_fp32",
     "apply_query_key_layer_scaling", "use_checkpoint_*", "use_mcore_models", "use_legacy_models", "transformer_impl", "spec",
     "make_vocab_size_divisible_by", "deterministic_mode", "use_cpu_initialization", "calculate_per_token_loss", "cross_entropy*",
     "manual_gc*", "empty_unused*", "moe_aux_loss_coeff", "moe_z_loss_coeff", "moe_router_*", "moe_permute_fusion", "moe_use_*",
     "moe_per_layer*", "moe_shared_expert_overlap", "moe_shared_expert_gate", "mtp_loss_scaling_factor", "fp8_amax*",
     "fp8_margin", "fp8_interval", "fp8_wgrad", "fp8_recipe", "initial_loss_scale", "loss_scale*", "hysteresis", "min_loss_scale",
     "override_*", "use_ring_exchange_p2p", "local_rank", "rank", "node_rank", "master_addr", "master_port", "rdzv_*",
     "no_masked_softmax_fusion", "no_bias_*_fusion", "bias_*_fusion", "no_rope_fusion", "apply_rope_fusion",
     "no_persist_layer_norm", "rotary_interleaved", "qk_clip*", "megatron_fsdp_*", "init_model_with_meta_device", "fsdp_*",
     "ddp_*", "no_check_for_nan*", "check_for_nan*", "enable_one_logger", "position_*", "params_dtype", "inference*",
     "flash_decode", "reset_*", "eod_*", "create_attention_mask*", "no_create_attention*", "dataloader_type", "finetune",
     "skip_*", "deepspeed", "deepspeed_config", "deepspeed_mpi", "zero_*", "contiguous_checkpointing", "synchronize_each_layer",
     "profile_backward", "hostfile", "include", "exclude", "launcher", "force_multi", "no_python", "module", "kill_switch_path",
     "codecarbon_dir", "sync_tp_duplicated_parameters", "abort_on_*", "partition", "time", "job_name", "output", "error",
     "exclusive", "account", "mem", "cpus_per_task", "container*", "export", "mpi", "kill_on_bad_exit", "wait", "jobid", "ntasks",
     "gres", "qos", "constraint", "cpu_bind", "label", "unbuffered", "ntasks_per_node", "tee", "redirects", "max_restarts",
     "monitor_interval", "standalone", "exp_name", "name", "use_te*",
     // logs, checkpoints, restarts, profilers
     "use_persistent_ckpt_worker", "no_ckpt_*", "async_*", "verify_integrity", "rerun_mode", "error_injection_*",
     "check_weight_hash*", "check_for_*", "straggler_*", "*straggler*", "inprocess_*", "non_persistent_*", "persistent_save_*",
     "replication*", "enable_ft_package", "calc_ft_timeouts", "ft_*", "result_rejected*", "iterations_to_skip", "most_recent_k",
     "fully_parallel_*", "strict_fsdp_dtensor_load", "no_strict_*", "*_resume", "resume*", "adlr_autoresume*", "record_*",
     "*profil*", "nvtx_*", "otel_*", "app_tag_*", "run_workload_*", "flight_recorder_*", "filter_warnings", "runtime_time_unit",
     "throughput_*", "no_record_throughput", "no_barrier_*", "barrier_*", "timers", "gpu_sniff_*", "moe_routing_trace_*",
     "dump_*", "distrib_optim_*", "universal_checkpoint", "codecarbon*",
     // data, tokenizer, evaluation
     "no_mmap_bin_files", "num_dataset_builder_threads", "per_split_data_args_path", "per_dataset_*", "*_split_paths*", "fim_*",
     "dataloader_*", "renormalize_*", "object_storage_*", "s3_*", "*_msc", "tiktoken_*", "no_use_tokenizer*", "null_tokenizer_*",
     "special_tokens", "chat_template", "legacy_tokenizer", "vocab_extra_ids", "pad_vocab_size", "trust_remote_code", "sft_*",
     "multiple_validation*", "full_validation", "validation*", "start_eval_*", "mmap_*", "train_tokens", "train_sync_interval",
     "phase_transition_*", "decrease_batch_size_if_needed", "overlapping_eval", "norm_target_loss", "loss_on_targets_only",
     "dataset_*", "dataset", "patch_tokenizer_type", "max_padding_length", "gt_path", "input_image_path", "prompt*", "image_*",
     "max_num_tiles", "use_tiling", "use_thumbnail", "pixel_shuffle", "disable_vision*",
     // optimizers, initialisation, numbers that the loss is made of
     "muon_*", "lion_*", "wd_*", "no_weight_decay*", "apply_wd_*", "wsd_*", "mup*", "use_mup", "no_initialization",
     "perform_initialization", "embedding_init*", "output_layer_init*", "deep_init", "fp16_lm_cross_entropy", "fp32_*",
     "moe_loss_coeff", "moe_eval_capacity_factor", "moe_input_jitter_eps", "create_moe_param_group", "grpo_*", "rl_*", "langrl_*",
     "temperature", "top_k", "top_p", "kd*", "*_grad_scale_func", "grad_scale_func", "softmax_scale", "glu_linear_offset",
     "activation_func_clamp_value", "qk_l2_norm", "use_scaled_init_method", "do_layer_norm_weight_decay",
     // which kernel, which library, which stream
     "no_*_fusion", "no_async_tensor_model_parallel_allreduce", "no_query_key_layer_scaling", "scaled_*softmax_fusion",
     "masked_softmax_fusion", "bias_activation_fusion", "persist_layer_norm", "fused_*", "use_fused_*", "no_rope_*",
     "use_flashinfer*", "use_transformer_engine_op_fuser", "use_grouped_gemm_*", "use_kitchen*", "kitchen_*", "use_nccl_ub",
     "nccl_*", "*_nccl_ub", "use_sharp", "sharp_*", "disable_gloo*", "use_gloo*", "high_priority_*", "te_rng_tracker",
     "batch_p2p_*", "sync_batch_comm", "no_contiguous_buffers*", "use_contiguous_buffers*", "no_delay_grad_reduce",
     "delay_grad_reduce", "delay_param_gather", "no_align_*", "suggested_communication_unit_size", "symmetric_ar_type",
     "disable_symmetric_*", "no_clone_*", "clone_*", "deallocate_*", "no_manual_gc*", "reuse_grad_buf_*", "keep_fp8_*",
     "no_fp8_wgrad", "tp_only_amax_red", "flash_attention_version", "moe_hybridep_*", "moe_flex_*", "moe_single_*",
     "moe_ncclep_*", "moe_pad_experts_*", "moe_enable_routing_replay", "disable_jit_fuser", "disable_mamba*", "no_pin_*",
     "overlap_cpu_optimizer_*", "use_torch_optimizer_*", "no_use_layer_wise*", "lazy_mpu_init", "enable_experimental",
     "enable_autocast", "autocast_dtype", "disable_bf16_reduced_precision_matmul", "variable_seq_lengths", "pipeline_dtype",
     "pipeline_model_parallel_comm_backend", "transformer_pipeline_model_parallel_size", "model_provider", "export_*",
     "use_legacy_*", "refit_method", "openai_gelu", "onnx_safe", "bert_*", "contigious_checkpointing", "repeated_dataloader",
     "enable_zbh1_exact_semantics", "tp_comm_bootstrap_backend", "create_all_gather_group", "no_sync_func", "param_sync_func",
     "grad_sync_func", "finalize_*", "cache_dir", "task", "quant_recipe", "memory_*", "enable_gpt_oss", "enable_megatron_core_*",
     "moe_apply_probs_on_input", "moe_upcycling_*", "moe_*_dtype", "moe_deepep_num_sms", "moe_permute_*", "moe_*_interleave_size",
     "mla_down_proj_fusion", "mlp_chunks_*", "mrope_section", "fp*_recipe", "fp*_quantizer_factory",
     "overlap_dispatch_backward_*", "ep_overlap_early_*", "*prefill*", "num_speculative_tokens", "out_seq_length", "greedy",
     "num_samples", "sample_*", "output_*", "cache_mla_latents", "use_inference_*", "max_tokens_to_oom", "batch_invariant_*",
     "use_*_from_checkpoint_args", "model_spec", "disable_parameter_transpose_cache", "use_mamba_mem_eff_path",
     "mtp_detach_heads", "bias_dropout_add_fusion", "fake_process_group", "gc_interval", "use_same_sampling_seed*", "gas",
     "mlp_type", "epochs", "disable_moe_token_dropping", "num_partitions", "partition_id", "num_frames", "incoming_requests_*",
     "num_tokens_to_generate", "termination_id", "modelopt_*", "_cpu_offloading_context", "scatter_gather_tensors_in_pipeline",
     "retriever_*", "mask_prob", "short_seq_prob", "add_position_embedding",
     // Primus-Turbo: which library, how many compute units, how numbers are rounded
     "turbo_*", "mxfp4_*", "sink_window_*"});
// clang-format on

} // namespace

void noteUnreadMegatronArguments(Reading& reading)
{
    const std::array kUsualValues = {UsualValue{"rotary_percent", 1}, UsualValue{"num_weight_shards", 1}, UsualValue{"mscale", 1},
                                     UsualValue{"rope_scaling_factor", 1}, UsualValue{"rotary_scaling_factor", 1}};
    for (const UsualValue& usual : kUsualValues)
        if (isUsualValue(reading, usual))
            reading.say(usual.name, Became::harmless, "is the default");
    reading.notRepresentable(kUnsayable);
    reading.harmless(kWithoutEffect);
}

} // namespace sim::frameworks
