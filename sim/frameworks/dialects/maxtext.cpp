// MaxText's YAML and overrides (AI-Hypercomputer/maxtext at e591f30): axes of a mesh inside a slice (ici) and between slices
// (dcn).
#include "sim/frameworks/job.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim::frameworks {

void readMaxText(Job& job)
{
    Reading& reading = job.reading;
    if (const auto name = reading.word("model_name", "/model/base"); name && *name != "default")
        putModelByName(job, "model_name", *name);
    const auto axis = [&](const char* name, std::string_view pointer, int fallback) {
        long long size = 1;
        int open = 0;
        for (const char* tier : {"ici_", "dcn_"}) {
            const int part =
                reading.integer(tier + std::string(name) + "_parallelism", pointer).value_or(tier[0] == 'i' ? fallback : 1);
            open += part < 0 ? 1 : 0;
            size *= std::max(1, std::min(part, 1 << 16));
        }
        return std::pair(static_cast<int>(std::min<long long>(size, 1 << 22)), open);
    };
    const auto [tensor, tensorOpen] = axis("tensor", "/layout/tp", 1);
    const auto [sequence, sequenceOpen] = axis("tensor_sequence", "/layout/tp", 1);
    const auto [context, contextOpen] = axis("context", "/layout/cp", 1);
    const auto [pipeline, pipelineOpen] = axis("pipeline", "/layout/pp", 1);
    const auto [expert, expertOpen] = axis("expert", "/layout/ep", 1);
    const auto [data, dataOpen] = axis("data", "/layout/dp", 1);
    const auto [fsdp, fsdpOpen] = axis("fsdp", "/layout/dp_shard", 1);
    const auto [transpose, transposeOpen] = axis("fsdp_transpose", "/layout/dp_shard", 1);
    job.tp = std::clamp(tensor, 1, 1 << 16) * (tensor < (1 << 14) ? std::min(sequence, 1 << 8) : 1);
    job.cp = context;
    job.pp = pipeline;
    // Experts are an axis of the same product: their ranks share a batch as data-parallel ones do.
    const long long given =
        std::min<long long>(1LL * data * fsdp, 1 << 22) * std::min<long long>(1LL * transpose * expert, 1 << 10);
    const bool isOpen = dataOpen + fsdpOpen + transposeOpen > 0;
    if (!isOpen || !job.askedGpus) {
        if (isOpen)
            job.ask("/layout/dp", "an axis of -1 takes the rest of the devices, which the file does not count: give --gpus N");
        job.givenDp = static_cast<int>(std::min<long long>(given, 1 << 24));
        job.gpusFrom = "ici_fsdp_parallelism";
    }
    settleWorld(job);
    const bool isSharded = fsdp > 1 || fsdpOpen > 0 || transpose > 1;
    job.layout["zero_stage"] = isSharded ? 3 : 0;
    if (isSharded && data > 1 && job.dp % data == 0)
        job.layout["dp_shard"] = job.dp / data * job.cp;
    job.layout["ep"] = std::max(1, expert);
    job.layout["sequence_parallel"] = sequence > 1;
    if (const auto length = reading.integer("max_target_length", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    else {
        job.training["sequence_length"] = 2048;
        reading.byDefault("max_target_length", 2048, "/training/sequence_length");
    }
    double perDevice = 12;
    if (const auto batch = reading.real("per_device_batch_size", "/training/micro_batch_size");
        batch && *batch > 0 && *batch < 1e6)
        perDevice = *batch;
    else
        reading.byDefault("per_device_batch_size", 12, "/training/micro_batch_size");
    const int accumulation =
        std::clamp(reading.integer("gradient_accumulation_steps", "/training/global_batch_size").value_or(1), 1, 1 << 16);
    const double global = std::min(std::round(perDevice * static_cast<double>(job.gpus.value_or(1)) * accumulation), 1e9);
    job.globalBatch = std::max(1, static_cast<int>(global));
    int parts = accumulation;
    if (job.pp > 1) {
        const int microbatches = reading.integer("num_pipeline_microbatches", "/training/micro_batch_size").value_or(-1);
        const bool isDelayed = reading.flag("pipeline_delay_activation_forwarding", "/training/micro_batch_size").value_or(false);
        parts = std::clamp(microbatches > 0 ? microbatches : job.pp * (isDelayed ? 2 : 1), 1, 1 << 20);
        const int repeats = std::clamp(reading.integer("num_pipeline_repeats", "/schedule/virtual_stages").value_or(1), 1, 10000);
        job.schedule["kind"] = repeats > 1 ? "looped-bfs" : "gpipe";
        job.schedule["virtual_stages"] = repeats;
    }
    job.microBatch = static_cast<int>(std::max<long long>(1, *job.globalBatch / (1LL * job.dp * parts)));
    settleBatch(job);
    const std::string dtype = precisionWord(reading.wordOr("dtype", "/training/precision", "bfloat16"));
    job.training["precision"] = dtype.empty() ? "bf16" : dtype;
    if (const auto quantized = reading.word("quantization", "/training/precision");
        quantized && quantized->find("fp8") != std::string::npos)
        job.training["precision"] = "fp8";
    const std::string remat = reading.wordOr("remat_policy", "/training/recompute", "full");
    job.training["recompute"] = remat == "full" ? "full" : remat == "none" ? "none" : "selective";
    if (remat != "full" && remat != "none" && remat != "minimal")
        reading.say("remat_policy", Became::notRepresentable, "which tensors are kept has no key: selective is nearest");
    const std::string attention = reading.wordOr("attention", "/training/flash_attention", "autoselected");
    job.training["flash_attention"] = attention != "dot_product";
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/param_gather", true);
    job.put("/training/overlap/p2p", true);
    reading.byDefault("XLA's scheduler", true, "/training/overlap/grad_reduce", "transfers are hidden where the compiler can");
    struct SizeName {
        const char *name, *key;
    };
    for (const auto& [name, key] :
         {SizeName{"base_num_decoder_layers", "num_hidden_layers"}, SizeName{"base_emb_dim", "hidden_size"},
          SizeName{"base_mlp_dim", "intermediate_size"}, SizeName{"base_num_query_heads", "num_attention_heads"},
          SizeName{"base_num_kv_heads", "num_key_value_heads"}, SizeName{"head_dim", "head_dim"},
          SizeName{"vocab_size", "vocab_size"}, SizeName{"num_experts", "num_experts"},
          SizeName{"num_experts_per_tok", "num_experts_per_tok"}})
        if (const auto value = reading.integer(name, std::string("/model/") + key);
            value && *value > 0 && (std::string_view(key) != "num_experts" || *value > 1) &&
            (std::string_view(key) != "num_experts_per_tok" || job.model.contains("num_experts")))
            job.model[key] = *value;
    if (tensorOpen + sequenceOpen + contextOpen + pipelineOpen + expertOpen > 0)
        reading.addNote("-1", Became::unknown, "an axis other than data or fsdp takes the rest of the devices: 1 is imported");
    static constexpr std::array kMaxTextNot = {Alias{"ici_autoregressive_parallelism", "has no key"},
                                               Alias{"optimizer_memory_host_offload", "see training.offload.optimizer"},
                                               Alias{"context_parallel_strategy", "how context-parallel ranks talk has no key"}};
    reading.notRepresentable(kMaxTextNot);
    static constexpr std::array<std::string_view, 40> kMaxTextHarmless = {"base_output_directory",
                                                                          "run_name",
                                                                          "hardware",
                                                                          "scan_layers",
                                                                          "steps",
                                                                          "dataset*",
                                                                          "enable_*",
                                                                          "learning_rate*",
                                                                          "tokenizer*",
                                                                          "log*",
                                                                          "profiler*",
                                                                          "base_config",
                                                                          "checkpoint*",
                                                                          "async*",
                                                                          "hf_*",
                                                                          "grain*",
                                                                          "use_iota*",
                                                                          "sa_*",
                                                                          "weight_dtype",
                                                                          "opt_type",
                                                                          "adam*",
                                                                          "gcs*",
                                                                          "reuse*",
                                                                          "skip*",
                                                                          "upload*",
                                                                          "compile*",
                                                                          "dump*",
                                                                          "xla*",
                                                                          "jax*",
                                                                          "load*",
                                                                          "packing",
                                                                          "allow_split*",
                                                                          "decoder_block",
                                                                          "mlp_activations",
                                                                          "logits*",
                                                                          "normalize*",
                                                                          "rope_*",
                                                                          "metrics*",
                                                                          "monitor*",
                                                                          "max_prefill*"};
    reading.harmless(kMaxTextHarmless);
}

} // namespace sim::frameworks
