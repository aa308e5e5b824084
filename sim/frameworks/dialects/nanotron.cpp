// nanotron's YAML (huggingface/nanotron at 2411b02) and picotron's JSON (huggingface/picotron at 59714b1).
#include "sim/frameworks/job.h"
#include "sim/frameworks/placements.h"
#include "sim/frameworks/stacks.h"

#include "sim/scenario/key_facts.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sim::frameworks {

namespace {

/// moe_config of Qwen, or the first models' moe_num_experts; sizes by default are those of nanotron's MoEConfig.
void readNanotronExperts(Job& job, const std::string& config)
{
    Reading& reading = job.reading;
    const std::string moe = config + "moe_config.";
    if (const auto experts = reading.integer(config + "moe_num_experts", "/model/num_experts"); experts && *experts > 1) {
        job.model["num_experts"] = *experts;
        job.model["num_experts_per_tok"] = reading.integerOr(config + "num_experts_per_tok", "/model/num_experts_per_tok", 1);
        job.model["moe_intermediate_size"] = std::max(1, memberOr<int>(job.model, "intermediate_size", 1));
        return;
    }
    const auto experts = reading.integer(moe + "num_experts", "/model/num_experts");
    if (!experts || *experts < 1)
        return;
    job.model["num_experts"] = *experts;
    job.model["num_experts_per_tok"] = reading.integerOr(moe + "top_k", "/model/num_experts_per_tok", 2);
    const int size = reading.sizeOr(moe + "moe_intermediate_size", "/model/moe_intermediate_size", 1408);
    job.model["moe_intermediate_size"] = size;
    if (!reading.flag(moe + "enable_shared_expert", "/model/num_shared_experts").value_or(false))
        return;
    const int shared = reading.sizeOr(moe + "shared_expert_intermediate_size", "/model/num_shared_experts", 5632);
    const int count = std::max(1, static_cast<int>(std::lround(1.0 * shared / size)));
    job.model["num_shared_experts"] = count;
    if (1LL * count * size != shared)
        reading.addNote(moe + "shared_expert_intermediate_size", Became::notRepresentable,
                        std::to_string(shared) + " is no multiple of an expert's " + std::to_string(size) + ": " +
                            std::to_string(count) + " shared experts are imported");
}

void putNanotronLayers(Job& job)
{
    const auto size = [&job](const char* key) { return memberOr<int>(job.model, key, 0); };
    const int layers = size("num_hidden_layers");
    const std::optional<KeyFacts> facts = keyFacts(job.catalogue, "/model/num_hidden_layers");
    if (job.pp < 2 || job.pp > layers || (facts && layers > facts->high)) // more than a scenario takes are told as such
        return;
    const std::vector<int> counts = nanotronLayers(
        {layers, size("hidden_size"), size("num_attention_heads"), size("intermediate_size"), size("vocab_size")}, job.pp);
    if (counts.empty())
        return;
    job.schedule["layers_per_stage"] = counts;
    job.reading.byDefault("layers of each stage", counts, "/schedule/layers_per_stage",
                          "nanotron deals layers and the output out by what they compute");
}

} // namespace

void readNanotron(Job& job)
{
    Reading& reading = job.reading;
    job.tp = reading.sizeOr("parallelism.tp", "/layout/tp", 1);
    job.pp = reading.sizeOr("parallelism.pp", "/layout/pp", 1);
    job.cp = reading.sizeOr("parallelism.context_parallel_size", "/layout/cp", 1);
    job.givenDp = reading.integer("parallelism.dp", "/layout/dp");
    job.gpusFrom = "parallelism.dp";
    settleWorld(job);
    job.layout["order"] = "tp-cp-ep-dp-pp";
    if (const int ep = reading.integerOr("parallelism.expert_parallel_size", "/layout/ep", 1); ep > 1)
        reading.say("parallelism.expert_parallel_size", Became::notRepresentable,
                    "is an axis of nanotron's grid outside of tp x pp x dp x cp and not part of the world: not folded in, ep 1 "
                    "is imported");
    job.layout["ep"] = 1;
    const std::string mode = reading.wordOr("parallelism.tp_mode", "/layout/sequence_parallel", "ALL_REDUCE");
    const bool scatters =
        mode == "REDUCE_SCATTER" || mode == "reduce_scatter" || mode == "TensorParallelLinearMode.REDUCE_SCATTER";
    job.layout["sequence_parallel"] = scatters && job.tp > 1;
    if (scatters && job.tp == 1)
        reading.say("parallelism.tp_mode", Became::used, "with tp 1 there is nothing to scatter: false is imported");
    const int stage = reading.integerOr("optimizer.zero_stage", "/layout/zero_stage", 0);
    job.layout["zero_stage"] = std::clamp(stage, 0, 1);
    if (stage > 1)
        reading.say("optimizer.zero_stage", Became::used,
                    "nanotron has one kind of it, which shards the optimizer: ZeRO-1 is imported", "/layout/zero_stage");
    std::string engine = reading.wordOr("parallelism.pp_engine", "/schedule/kind", "afab");
    std::transform(engine.begin(), engine.end(), engine.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    job.schedule["kind"] =
        engine.find("afab") != std::string::npos || engine.find("allforward") != std::string::npos ? "gpipe" : "1f1b";
    job.schedule["virtual_stages"] = 1;

    if (const auto length = reading.integer("tokens.sequence_length", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    job.microBatch = reading.integer("tokens.micro_batch_size", "/training/micro_batch_size");
    job.accumulation = reading.integerOr("tokens.batch_accumulation_per_replica", "/training/global_batch_size", 1);
    settleBatch(job);
    const std::string dtype = precisionWord(reading.wordOr("model.dtype", "/training/precision", "bfloat16"));
    job.training["precision"] = dtype.empty() ? "bf16" : dtype;
    const bool recomputes = reading.flagOr("parallelism.recompute_layer", "/training/recompute", false);
    job.training["recompute"] = recomputes ? "full" : "none";
    if (const auto old = reading.word("parallelism.recompute_granularity", "/training/recompute")) // of early 2024
        reading.say("parallelism.recompute_granularity", Became::harmless,
                    *old + ": attention alone would run again, which flash-attn's kernels do in any case");
    const bool isWide = reading.flagOr("optimizer.accumulate_grad_in_fp32", "/training/gradient_dtype", false);
    job.training["gradient_dtype"] = isWide || job.training["precision"] == "fp32" ? "fp32" : "bf16";
    if (!isWide && job.training["precision"] != "fp32") { // the optimizer's parameters are the model's own
        job.training["moment_dtype"] = "bf16";
        reading.addNote("optimizer.accumulate_grad_in_fp32", Became::notRepresentable,
                        "without it gradients and moments are in the model's format, which is imported, and there is no copy of "
                        "the parameters in fp32, which the scenario counts (4 bytes a parameter)",
                        "/training/moment_dtype");
    }
    const bool async = reading.flagOr("parallelism.tp_linear_async_communication", "/training/overlap/tp_comm", false);
    job.put("/training/overlap/tp_comm", async && job.tp > 1);
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/param_gather", false); // at the end of the optimizer's step (optim/zero.py, step)
    job.put("/training/overlap/p2p", false);
    reading.byDefault("parameters' all-gather", false, "/training/overlap/param_gather", "is waited for at the end of the step");
    reading.byDefault("gradient buckets", true, "/training/overlap/grad_reduce",
                      "gradients are reduced by bucket beside the backward pass");
    reading.byDefault("pipeline p2p", false, "/training/overlap/p2p", "sends and receives are waited for");
    job.training["flash_attention"] = true;
    reading.byDefault("attention", true, "/training/flash_attention", "is flash-attn's, whatever the file says");
    putSoftware(job, stacks::kEager,
                "nanotron runs module by module; its norms and rotations are flash-attn's kernels, of which this counts more");
    if (const auto name = reading.word("optimizer.optimizer_factory.name", "/training/optimizer"))
        putOptimizer(job, "optimizer.optimizer_factory.name", *name);

    readHuggingFaceModel(job, "model.model_config.");
    const std::string config = "model.model_config.";
    if (const auto window = reading.integer(config + "sliding_window_size", "/model/sliding_window"); window && *window > 0) {
        job.model["sliding_window"] = *window;
        reading.addNote(config + "sliding_window_size", Became::notRepresentable,
                        "a window on every layer is imported; which layers have it the file does not say");
    }
    job.model["hidden_act"] =
        reading.peek(config + "hidden_act") != nullptr && *reading.peek(config + "hidden_act") == Json("gelu") ? "gelu" : "silu";
    job.model["gated_mlp"] = true;
    job.model["normalization"] = "rmsnorm";
    job.model["position_embedding"] = "rope";
    job.model["bias"] = false;
    if (const auto qkv = reading.flag(config + "attention_bias", "/model/qkv_bias"); qkv.value_or(false))
        job.model["qkv_bias"] = true;
    if (reading.flag(config + "qkv_bias", "/model/qkv_bias").value_or(false))
        job.model["qkv_bias"] = true;
    if (const auto theta = reading.real(config + "rope_theta", "/model/rope_theta"); theta && *theta > 1)
        job.model["rope_theta"] = number(*theta);
    if (const auto epsilon = reading.real(config + "rms_norm_eps", "/model/rms_norm_eps");
        epsilon && *epsilon > 0 && *epsilon < 1)
        job.model["rms_norm_eps"] = number(*epsilon);
    readRopeScaling(job, config + "rope_scaling.");
    if (const auto every = reading.integer(config + "no_rope_layer", "/model/no_rope_layer_interval"); every && *every > 0)
        job.model["no_rope_layer_interval"] = *every; // of SmolLM3: each n-th layer has no positions
    if (reading.flag(config + "is_starcoder2_config", "/model").value_or(false)) {
        job.model["hidden_act"] = "gelu";
        job.model["gated_mlp"] = false;
        job.model["normalization"] = "layernorm";
        job.model["bias"] = true;
        if (reading.flag(config + "multi_query", "/model/num_key_value_heads").value_or(false))
            job.model["num_key_value_heads"] = 1;
    }
    readNanotronExperts(job, config);
    putNanotronLayers(job);
    for (const char* name :
         {"tokens.train_steps", "tokens.sequence_length", "tokens.micro_batch_size", "tokens.batch_accumulation_per_replica"})
        if (const Json* const given = reading.peek(name); given != nullptr && given->is_number_float())
            reading.addNote(name, Became::contradictory,
                            "nanotron takes a whole number in digits and refuses this, which PyYAML reads as a word (2e5) or a "
                            "fraction (2.0e+5): read as the number that is meant");
    static constexpr std::array kNotSaid = {
        Alias{"parallelism.tp_recompute_allgather", "gathering again in the backward pass has no key"},
        Alias{"parallelism.moe_layer_recompute", "see training.recompute.modules"},
        Alias{"model.model_config.is_mamba_config", "state-space layers have no key: it is read as a transformer"},
        Alias{"model.model_config.ssm_cfg*", "state-space layers have no key"},
        Alias{"model.model_config.moe_capacity_factor", "tokens that are dropped have no key"},
        Alias{"model.model_config.rope_scaling*", "see model.rope_scaling"},
        Alias{"model.model_config.rope_seq_len_interpolation_factor", "see model.rope_scaling"},
        Alias{"model.model_config._use_doc_masking", kPackedDocuments},
        Alias{"doremi.*", "a reference model beside the model has no key"}};
    reading.notRepresentable(kNotSaid);
    static constexpr std::array<std::string_view, 21> kNanotronHarmless = {"general.*",
                                                                           "data.*",
                                                                           "checkpoints.*",
                                                                           "logging.*",
                                                                           "data_stages*",
                                                                           "lighteval*",
                                                                           "profiler*",
                                                                           "s3_upload*",
                                                                           "metrics_logging*",
                                                                           "optimizer.*",
                                                                           "tokenizer.*",
                                                                           "tokens.train_steps",
                                                                           "tokens.val_check_interval",
                                                                           "tokens.limit_*",
                                                                           "model.init_method*",
                                                                           "model.make_vocab_size_divisible_by",
                                                                           "model.ddp_bucket_cap_mb",
                                                                           "model.model_config.*_token_id",
                                                                           "model.model_config.is_*",
                                                                           "model.model_config.moe_config.token_dispatcher_type",
                                                                           "model.model_config.*"};
    reading.harmless(kNanotronHarmless);
}

namespace {

/// The model is whole in bf16 on GPUs and in fp32 on CPUs, whatever the file says (train.py), and AdamW keeps its moments as its
/// parameters are.
void readPicotronPrecision(Job& job)
{
    Reading& reading = job.reading;
    const bool isOnCpu = reading.flag("distributed.use_cpu", "/training/precision").value_or(false);
    const std::string precision = isOnCpu ? "fp32" : "bf16";
    job.training["precision"] = precision;
    if (const auto given = reading.word("model.dtype", "/training/precision"); given && precisionWord(*given) != precision)
        reading.say("model.dtype", Became::contradictory,
                    quotedText(*given) + " is read by nothing: picotron trains in " + precision +
                        (isOnCpu ? ", as distributed.use_cpu is true" : " on GPUs"),
                    "/training/precision");
    if (!isOnCpu)
        reading.addNote("model.dtype", Became::notRepresentable,
                        "parameters and moments are in bf16, without a copy of the parameters in fp32: the scenario counts that "
                        "copy and moments in fp32, 8 bytes a parameter more",
                        "/training/moment_dtype");
}

} // namespace

void readPicotron(Job& job)
{
    Reading& reading = job.reading;
    job.tp = reading.sizeOr("distributed.tp_size", "/layout/tp", 1);
    job.cp = reading.sizeOr("distributed.cp_size", "/layout/cp", 1);
    job.pp = reading.sizeOr("distributed.pp_size", "/layout/pp", 1);
    job.givenDp = reading.integer("distributed.dp_size", "/layout/dp");
    job.gpusFrom = "distributed.dp_size";
    settleWorld(job);
    job.layout["order"] = "tp-cp-pp-dp";
    job.layout["zero_stage"] = 0;
    job.layout["sequence_parallel"] = false;
    job.schedule["kind"] = reading.wordOr("distributed.pp_engine", "/schedule/kind", "1f1b") == "afab" ? "gpipe" : "1f1b";
    job.schedule["virtual_stages"] = 1;
    if (const auto name = reading.word("model.name", "/model/base"))
        putModelByName(job, "model.name", *name);
    readHuggingFaceModel(job, "model.");
    const int layers = memberOr<int>(job.model, "num_hidden_layers", 0);
    if (job.pp > 1 && layers > 0)
        job.schedule["layers_per_stage"] = evenLayers(layers, std::min(job.pp, 100000));
    if (const auto length = reading.integer("training.seq_length", "/training/sequence_length"))
        job.training["sequence_length"] = *length;
    job.microBatch = reading.integer("training.micro_batch_size", "/training/micro_batch_size");
    job.accumulation = reading.integerOr("training.gradient_accumulation_steps", "/training/global_batch_size", 1);
    settleBatch(job);
    // A run ends with whichever comes first (train.py).
    if (const auto most = reading.real("training.max_tokens", "/training/tokens"); most && *most >= 1) {
        const double ofStep = 1.0 * memberOr<int>(job.training, "sequence_length", 0) * job.globalBatch.value_or(0);
        const auto steps = reading.integer("training.total_train_steps", "/training/tokens");
        job.training["tokens"] = steps && ofStep > 0 ? std::min(*most, *steps * ofStep) : *most;
    }
    readPicotronPrecision(job);
    job.training["recompute"] = "none";
    // Which attention and which norm there are the environment says alone (picotron/model.py).
    const std::optional<int> kernels = reading.integer("environment.FLASH_ATTEN", "/training/flash_attention");
    job.training["flash_attention"] = kernels.value_or(1) == 1;
    if (!kernels)
        reading.byDefault("environment.FLASH_ATTEN", 1, "/training/flash_attention");
    if (reading.has("model.use_flash_attention"))
        reading.say("model.use_flash_attention", Became::harmless, "is read by nothing: environment.FLASH_ATTEN decides");
    putSoftware(
        job, stacks::kEager,
        kernels.value_or(1) == 1
            ? "picotron runs module by module; its norms and rotations are flash-attn's kernels, of which this counts more"
            : "picotron runs module by module");
    job.put("/training/overlap/grad_reduce", true);
    job.put("/training/overlap/p2p", false);
    job.put("/training/overlap/tp_comm", false);
    reading.byDefault("gradient buckets", true, "/training/overlap/grad_reduce",
                      "gradients are reduced by bucket beside the backward pass");
    reading.byDefault("pipeline p2p", false, "/training/overlap/p2p", "sends and receives are waited for");
    static constexpr std::array<std::string_view, 8> kPicotronHarmless = {
        "distributed.backend", "model.use_fused_adam", "model.name", "training.*",
        "dataset.*",           "checkpoint.*",         "logging.*",  "environment.*"};
    reading.harmless(kPicotronHarmless);
}

} // namespace sim::frameworks
