// Megatron-LM, NeMo 1 and Megatron-Bridge: one set of settings in three spellings.
#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/limit_table.h"
#include "sim/frameworks/limits.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sim::frameworks {
namespace {

/// Fields of its configuration that Megatron's command line has no argument for: it knows one value of them, or another argument
/// says it (megatron/training/arguments.py, _add_mla_args and _add_network_size_args).
bool isNoArgument(std::string_view name)
{
    return name == "original_max_position_embeddings" || name == "beta_fast" || name == "beta_slow" || name == "cpu_offloading";
}

/// "([0]*3+[1]*58)" where the list has two runs, else as it is.
std::string patternText(const Json& list)
{
    std::vector<std::pair<Json, int>> runs;
    for (const Json& value : list) {
        if (runs.empty() || runs.back().first != value)
            runs.emplace_back(value, 0);
        ++runs.back().second;
    }
    if (runs.size() > 2)
        return list.dump();
    std::string text;
    for (const auto& [value, times] : runs)
        text += (text.empty() ? "([" : "+[") + value.dump() + "]*" + std::to_string(times);
    return text + ")";
}

std::string argumentText(const std::string& name, const Json& value)
{
    if (name == "window_size")
        return "'" + value[0].dump() + "," + value[1].dump() + "'";
    if (name == "moe_layer_freq" && value.is_array())
        return "'" + patternText(value) + "'";
    if (!value.is_string())
        return value.dump();
    const std::string word = value.get<std::string>();
    const bool isPlain = name == "recompute_modules" || word.find_first_of(" *|([,") == std::string::npos;
    return isPlain ? word : "'" + word + "'";
}

} // namespace

std::string writeMegatron(const Scenario& s)
{
    std::string text = "#!/usr/bin/env bash\nset -euo pipefail\n";
    if ((s.layout.tp > 1 || s.layout.cp > 1) && s.layout.zeroStage != 3) // Megatron-FSDP refuses to start with it
        text += "export CUDA_DEVICE_MAX_CONNECTIONS=1 # GPUs before Blackwell\n";
    const int perNode = std::min(s.cluster.gpusPerNode, s.layout.worldSize());
    const int nodes = std::max(1, s.layout.worldSize() / std::max(1, perNode));
    text +=
        "DISTRIBUTED_ARGS=(\n    --nproc_per_node " + std::to_string(perNode) + "\n    --nnodes " + std::to_string(nodes) + "\n";
    if (nodes > 1) // each node starts the script; Slurm numbers them
        text += "    --node_rank \"${NODE_RANK:-${SLURM_NODEID:?of this node, from 0}}\"\n"
                "    --master_addr \"${MASTER_ADDR:?the first node}\"\n    --master_port \"${MASTER_PORT:-29500}\"\n";
    text += std::string(")\n# Data, tokenizer, ") + (s.training.tokens > 0 ? "" : "--train-iters ") +
            "and learning rate follow as arguments of this script.\nMODEL_ARGS=(\n";
    for (const auto& [name, value] : megatronFlags(s)) {
        if (isNoArgument(name))
            continue;
        std::string flag = name;
        std::replace(flag.begin(), flag.end(), '_', '-');
        text += "    --" + flag + (value.is_boolean() ? "" : " " + argumentText(name, value)) + "\n";
    }
    return text + ")\ntorchrun \"${DISTRIBUTED_ARGS[@]}\" pretrain_gpt.py \"${MODEL_ARGS[@]}\" \"$@\"\n";
}

namespace {

const Json* flagOf(const MegatronFlags& flags, std::string_view name)
{
    const auto found = std::find_if(flags.begin(), flags.end(), [name](const auto& flag) { return flag.first == name; });
    return found == flags.end() ? nullptr : &found->second;
}

/// Megatron Core's settings that NeMo 1's files do not have.
bool isYoungerThanNemo(std::string_view name)
{
    static constexpr std::array<std::string_view, 14> kNames = {"use_rope_scaling",
                                                                "rope_scaling_factor",
                                                                "rope_type",
                                                                "rotary_scaling_factor",
                                                                "original_max_position_embeddings",
                                                                "beta_fast",
                                                                "beta_slow",
                                                                "mscale",
                                                                "mscale_all_dim",
                                                                "no_rope_freq",
                                                                "softmax_type",
                                                                "exp_avg_dtype",
                                                                "exp_avg_sq_dtype",
                                                                "use_precision_aware_optimizer"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

} // namespace

std::string writeNemo(const Scenario& s)
{
    const bool sharesGradients = s.layout.zeroStage == 2; // of its FSDP; Megatron Core's own has no such stage
    if (sharesGradients && s.layout.pp > 1 && isSplitInReplicas(s))
        throw Error(fsdpPipelineText(s)); // with the stage that the file has, not that of the flags
    Scenario asFsdp = s;
    asFsdp.layout.zeroStage = sharesGradients ? 3 : s.layout.zeroStage;
    const MegatronFlags flags = megatronFlags(asFsdp);
    const int perNode = std::min(s.cluster.gpusPerNode, s.layout.worldSize());
    Json model = Json::object();
    if (sharesGradients && flagOf(flags, "use_megatron_fsdp") != nullptr)
        model["fsdp_sharding_strategy"] = "grad";
    Json optim{{"name", flagOf(flags, "use_distributed_optimizer") != nullptr && s.layout.zeroStage == 1
                            ? "mcore_distributed_optim"
                            : "fused_adam"}};
    static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"seq_length", "encoder_seq_length"},
        {"norm_epsilon", "layernorm_epsilon"},
        {"num_experts", "num_moe_experts"},
        {"tp_comm_overlap", "ub_tp_comm_overlap"},
        {"fp8_param_gather", "fp8_params"},
        {"num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size"},
        {"recompute_granularity", "activations_checkpoint_granularity"},
        {"recompute_method", "activations_checkpoint_method"},
        {"recompute_num_layers", "activations_checkpoint_num_layers"}};
    for (const auto& [name, value] : flags) {
        if (name == "disable_bias_linear")
            model["bias"] = false;
        else if (name == "untie_embeddings_and_output_weights")
            model["share_embeddings_and_output_weights"] = false;
        else if (name == "swiglu")
            model["activation"] = "fast-swiglu";
        else if (name == "squared_relu")
            model["activation"] = "squared-relu";
        else if (name == "quick_geglu")
            model["activation"] = "fast-geglu";
        else if (name == "normalization")
            model["normalization"] = "rmsnorm";
        else if (name == "grad_reduce_in_bf16" || name == "accumulate_allreduce_grads_in_fp32")
            optim["grad_sync_dtype"] = name == "grad_reduce_in_bf16" ? "bf16" : "fp32";
        else if (name == "overlap_grad_reduce")
            optim["overlap_grad_sync"] = true;
        else if (name == "overlap_param_gather")
            optim["overlap_param_sync"] = true;
        else if (name == "fp8_format")
            model["fp8"] = model["fp8_hybrid"] = true; // the switch, and which form: NeMo refuses the one without the other
        else if (name == "use_megatron_fsdp")
            model["fsdp"] = true;
        else if (name != "bf16" && name != "fp16" && name != "group_query_attention" && name != "use_distributed_optimizer" &&
                 name != "data_parallel_sharding_strategy" && name != "no_overlap_p2p_communication" &&
                 name != "attention_backend" && name != "train_iters" && name != "ckpt_format" && !isYoungerThanNemo(name)) {
            std::string own = name;
            for (const auto& [megatron, nemo] : kNames)
                if (megatron == name)
                    own = nemo;
            model[own] = value;
        }
    }
    if (s.layout.pp > 1 && s.schedule.virtualStages > 1)
        model["overlap_p2p_comm"] = s.training.overlap.p2p;
    model["optim"] = optim;
    Json trainer{{"num_nodes", std::max(1, s.layout.worldSize() / std::max(1, perNode))},
                 {"devices", perNode},
                 {"precision", flagOf(flags, "bf16") != nullptr   ? "bf16"
                               : flagOf(flags, "fp16") != nullptr ? "16"
                                                                  : "32"}};
    if (const Json* const steps = flagOf(flags, "train_iters"))
        trainer["max_steps"] = *steps;
    return yamlText({{"trainer", trainer}, {"model", model}});
}

std::string writeBridge(const Scenario& s)
{
    const MegatronFlags flags = megatronFlags(s);
    std::string text = "# Settings on top of any pre-training recipe of Megatron-Bridge; " +
                       std::to_string(s.layout.worldSize()) +
                       " GPUs.\n"
                       "# import torch, torch.nn.functional as F; from megatron.core.transformer.enums import AttnBackend\n"
                       "# from megatron.bridge.training.mixed_precision import MixedPrecisionConfig\n";
    const auto line = [&](const std::string& name, const Json& value) {
        text += "cfg." + name + " = " + pythonLiteral(value) + "\n";
    };
    const auto raw = [&](const std::string& name, const std::string& value) { text += "cfg." + name + " = " + value + "\n"; };
    const Precision precision = s.training.precision;
    if (precision == Precision::fp32 || precision == Precision::tf32) // which no recipe of its precisions is of
        raw("mixed_precision", "MixedPrecisionConfig(fp32=True, params_dtype=torch.float32, pipeline_dtype=torch.float32)");
    else
        line("mixed_precision", precision == Precision::fp8     ? "bf16_with_fp8_current_scaling_mixed"
                                : precision == Precision::mxfp8 ? "bf16_with_mxfp8_mixed"
                                : precision == Precision::nvfp4 ? "bf16_with_nvfp4_mixed"
                                : precision == Precision::fp16  ? "fp16_mixed"
                                                                : "bf16_mixed");
    raw("model.gated_linear_unit", s.model.gatedMlp ? "True" : "False");
    raw("model.activation_func", s.model.hiddenAct == HiddenActivation::silu   ? "F.silu"
                                 : s.model.hiddenAct == HiddenActivation::gelu ? "F.gelu"
                                                                               : "squared_relu");
    line("model.add_bias_linear", flagOf(flags, "disable_bias_linear") == nullptr);
    line("model.share_embeddings_and_output_weights", s.model.tieWordEmbeddings);
    for (const auto& [name, value] : flags) {
        if (name == "swiglu" || name == "squared_relu" || name == "quick_geglu" || name == "bf16" || name == "fp16" ||
            name.starts_with("fp8") || name.starts_with("fp4") || name == "group_query_attention" ||
            name == "disable_bias_linear" || name == "untie_embeddings_and_output_weights")
            continue;
        if (name == "num_experts")
            line("model.num_moe_experts", value);
        else if (name == "norm_epsilon")
            line("model.layernorm_epsilon", value);
        else if (name == "window_size") // a tuple
            raw("model.window_size", "(" + value[0].dump() + ", " + value[1].dump() + ")");
        else if (name == "micro_batch_size" || name == "global_batch_size" || name == "train_iters")
            line("train." + name, value);
        else if (name == "seq_length") {
            line("model.seq_length", value);
            line("dataset.seq_length", value);
        } else if (name == "vocab_size")
            line("tokenizer.vocab_size", value);
        else if (name == "num_virtual_stages_per_pipeline_rank")
            line("model.virtual_pipeline_model_parallel_size", value);
        else if (name == "decoder_first_pipeline_num_layers")
            line("model.num_layers_in_first_pipeline_stage", value);
        else if (name == "decoder_last_pipeline_num_layers")
            line("model.num_layers_in_last_pipeline_stage", value);
        else if (name == "microbatch_group_size_per_virtual_pipeline_stage")
            line("model.microbatch_group_size_per_vp_stage", value);
        else if (name == "no_overlap_p2p_communication")
            line("model.overlap_p2p_comm", false);
        else if (name == "grad_reduce_in_bf16")
            line("ddp.grad_reduce_in_fp32", false);
        else if (name == "accumulate_allreduce_grads_in_fp32")
            line("ddp.grad_reduce_in_fp32", true);
        else if (name == "use_tp_pp_dp_mapping")
            line("dist.use_tp_pp_dp_mapping", true);
        else if (name == "tp_comm_overlap" || name == "overlap_moe_expert_parallel_comm")
            line("comm_overlap." + name, value);
        else if (name.starts_with("overlap_") || name == "use_megatron_fsdp" || name == "data_parallel_sharding_strategy" ||
                 name == "use_distributed_optimizer" || name == "num_distributed_optimizer_instances")
            line("ddp." + name, value);
        else if (name == "ckpt_format")
            line("checkpoint." + name, value);
        else if (name == "use_rope_scaling")
            line("model.rope_scaling", true);
        else if (name == "attention_backend")
            raw("model.attention_backend", value == Json("flash") ? "AttnBackend.flash" : "AttnBackend.unfused");
        else if (name.starts_with("exp_avg"))
            raw("optimizer." + name, "torch.bfloat16");
        else if (name == "optimizer" || name.starts_with("optimizer_") || name == "use_precision_aware_optimizer")
            line("optimizer." + name, value);
        else if (name == "recompute_modules") {
            Json list = Json::array();
            std::string word;
            for (const char c : value.get<std::string>() + " ")
                if (c != ' ')
                    word += c;
                else if (!word.empty())
                    list.push_back(std::exchange(word, {}));
            line("model.recompute_modules", list);
        } else
            line("model." + name, value);
    }
    // Recipes have these on.
    const Training& t = s.training;
    if (s.layout.zeroStage == 0)
        for (const char* block : {"ddp.", "optimizer."})
            line(std::string(block) + "use_distributed_optimizer", false);
    const std::string planned = t.overlap.tpComm || t.overlap.epComm ? "comm_overlap." : "ddp.";
    if (!t.overlap.gradReduce)
        line(planned + "overlap_grad_reduce", false);
    if (!t.overlap.paramGather || !t.overlap.gradReduce || s.layout.zeroStage == 0)
        line(planned + "overlap_param_gather", false);
    return text;
}

} // namespace sim::frameworks
