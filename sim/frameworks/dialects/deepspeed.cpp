// DeepSpeed's JSON (deepspeedai/DeepSpeed at edaa722), alone and beside the arguments of Megatron-DeepSpeed (at 4efb479).
#include "sim/frameworks/dialects/deepspeed.h"
#include "sim/frameworks/dialects/fsdp.h"
#include "sim/frameworks/dialects/megatron_layers.h"
#include "sim/frameworks/job.h"
#include "sim/frameworks/stacks.h"
#include "sim/text/quoted.h"

#include <algorithm>
#include <array>

namespace sim::frameworks {
namespace {

constexpr std::array kDeepSpeedNotRepresentable = {
    Alias{"*zero_optimization.offload_param.device", "parameters on the host have no key"},
    Alias{"*zero_optimization.zero_hpz_partition_size", "secondary partitions have no key"},
    Alias{"*zero_optimization.zero_quantized_*", "quantized transfers have no key"},
    Alias{"*seq_parallel_communication_data_type", "the size of Ulysses' groups comes from the launcher (sequence parallel "
                                                   "size): layout.cp beside training.stack.exchanges_heads"},
    Alias{"*progressive_layer_drop.enabled", "layers that are left out at random have no key"},
    Alias{"*data_efficiency.enabled", "tokens that layers leave out and sequences that grow have no key"},
    Alias{"*hybrid_engine.enabled", "the step of training is imported; generation in between is not"},
    Alias{"*compile.deepcompile", "a compiler that moves ZeRO's transfers has no key"},
    Alias{"*sequence_parallel_size", "see layout.cp and training.stack.exchanges_heads"},
    Alias{"*sparse_attention*", "has no key"},
    Alias{"*compression_training*", "has no key"},
    Alias{"*curriculum_learning*", "has no key"},
    Alias{"*expert_parallel.*", "see layout.ep"},
    Alias{"*activation_checkpointing.partition_activations",
          "activations shared among tensor-parallel ranks have no key; see layout.sequence_parallel"},
    Alias{"*activation_checkpointing.cpu_checkpointing", "activations on the host: see training.offload.activation_layers"},
};

/// A stage of ZeRO; others than 0 to 3 are told.
int zeroStage(Reading& reading, const std::string& name, int given)
{
    const int nearest = std::clamp(given, 0, 3);
    if (nearest != given)
        reading.say(name, Became::unknown,
                    "ZeRO has stages 0 to 3, not " + std::to_string(given) + ": " + std::to_string(nearest) + " is imported",
                    "/layout/zero_stage");
    return nearest;
}

} // namespace

DeepSpeedFacts readDeepSpeedJson(Job& job, const std::string& prefix)
{
    Reading& reading = job.reading;
    DeepSpeedFacts facts;
    const std::string stage = prefix + "zero_optimization.stage", whole = prefix + "zero_optimization";
    const std::optional<bool> isOn = // of the oldest files (zero/config.py, get_zero_config)
        reading.peek(whole) != nullptr && reading.peek(whole)->is_boolean() ? reading.flag(whole, "/layout/zero_stage")
                                                                            : std::nullopt;
    if (isOn && reading.peek(stage) == nullptr) {
        facts.stage = *isOn ? 1 : 0;
        reading.say(whole, Became::used, *isOn ? "true is stage 1" : "false is stage 0", "/layout/zero_stage");
    } else {
        facts.stage = zeroStage(reading, stage, reading.integerOr(stage, "/layout/zero_stage", 0));
    }
    facts.overlap = reading.flag(prefix + "zero_optimization.overlap_comm", "/training/overlap/grad_reduce");
    const bool bf16 = reading.flag(prefix + "bf16.enabled", "/training/precision").value_or(false) ||
                      reading.flag(prefix + "bfloat16.enabled", "/training/precision").value_or(false);
    const bool fp16 = reading.flag(prefix + "fp16.enabled", "/training/precision").value_or(false);
    facts.precision = bf16 ? "bf16" : fp16 ? "fp16" : "";
    if (bf16 && fp16)
        reading.say(prefix + "fp16.enabled", Became::contradictory, "bf16 is on as well, and is imported", "/training/precision");
    if (const std::optional<int> shard = reading.integer(prefix + "zero_optimization.mics_shard_size", "/layout/dp_shard");
        shard && *shard > 0)
        job.layout["dp_shard"] = *shard;
    if (const auto given = reading.word(prefix + "data_types.grad_accum_dtype", "/training/gradient_dtype")) {
        const std::string format = precisionWord(*given);
        facts.gradient = format == "fp32" ? "fp32" : "bf16"; // or another of two bytes
        const bool isOwn = (facts.gradient == "bf16") == (bf16 || fp16);
        if (facts.stage == 0 && reading.has(stage) && !isOwn)
            reading.say(prefix + "data_types.grad_accum_dtype", Became::contradictory,
                        quotedText(*given) + ": without ZeRO (stage 0 of " + reading.placeOf(stage) +
                            ") DeepSpeed adds gradients up in the model's own format alone, and refuses this",
                        "/training/gradient_dtype");
    }
    const std::string transfer = prefix + "communication_data_type";
    if (const auto given = reading.word(transfer, "")) {
        const std::string format = precisionWord(*given), usual = facts.precision.empty() ? "fp32" : facts.precision;
        if (format == usual)
            reading.say(transfer, Became::harmless, "is the default");
        else
            reading.say(transfer, Became::notRepresentable,
                        quotedText(*given) + ": gradients are reduced as they are added up here, see training.gradient_dtype");
    }
    return facts;
}

void putGradientsOfDeepSpeed(Job& job, const DeepSpeedFacts& facts, const std::string& prefix)
{
    const std::string precision = memberOr<std::string>(job.training, "precision", "fp32");
    const bool isWhole = precision == "fp32" || precision == "tf32";
    job.training["gradient_dtype"] = !facts.gradient.empty() ? facts.gradient : isWhole ? "fp32" : "bf16"; // or fp16, as wide
    job.reading.takeDefaults("/training/gradient_dtype");
    if (facts.gradient.empty())
        job.reading.byDefault(prefix + "data_types.grad_accum_dtype", precision, "/training/gradient_dtype",
                              "is not given: DeepSpeed adds gradients up in the model's own format");
}

void putOverlapOfDeepSpeed(Job& job, const DeepSpeedFacts& facts, const std::string& prefix)
{
    if (!facts.overlap)
        job.reading.byDefault(prefix + "zero_optimization.overlap_comm", facts.stage == 3, "/training/overlap/grad_reduce",
                              "is not given: on at stage 3 only");
    job.put("/training/overlap/grad_reduce", facts.overlap.value_or(facts.stage == 3));
    job.put("/training/overlap/param_gather", facts.stage == 3);
    job.put("/training/overlap/tp_comm", false);
}

bool isShardedByBf16(int stage, std::string_view precision, bool hasPipelineModule)
{
    return stage == 0 && precision == "bf16" && hasPipelineModule;
}

namespace {

void shardByBf16(Reading& reading, DeepSpeedFacts& facts, const std::string& setting)
{
    facts.stage = 1;
    reading.addNote(setting, Became::used,
                    "BF16_Optimizer, which trains pipelines, shards the optimizer over data-parallel ranks by itself: stage 0 is "
                    "ZeRO-1",
                    "/layout/zero_stage");
}

} // namespace

void readOffload(Job& job, const std::string& prefix, int stage)
{
    Reading& reading = job.reading;
    const std::string offload = prefix + "zero_optimization.offload_optimizer.";
    const std::string device = reading.word(offload + "device", "/training/offload/optimizer").value_or("none");
    const bool isOld = reading.flag(prefix + "zero_optimization.cpu_offload", "/training/offload/optimizer").value_or(false);
    const std::optional<double> ratio = reading.real(offload + "ratio", "/training/offload/optimizer");
    if (device == "none" && !isOld) {
        if (reading.has(offload + "device"))
            reading.say(offload + "device", Became::harmless, "is switched off");
        return;
    }
    const bool isInPart = stage == 3 && ratio.has_value(); // runtime/zero/offload_config.py
    job.training["offload"]["optimizer"] = isInPart ? number(std::clamp(*ratio, 0.0, 1.0)) : Json(1);
    if (ratio && !isInPart && *ratio < 1)
        reading.say(offload + "ratio", Became::used,
                    "counts at stage 3 alone: at stage " + std::to_string(stage) + " all of the optimizer is on the host",
                    "/training/offload/optimizer");
    if (device == "nvme")
        reading.say(offload + "device", Became::notRepresentable, "nvme: imported as the host's memory, which is faster",
                    "/training/offload/optimizer");
}

void harmlessOfDeepSpeed(Reading& reading)
{
    reading.notRepresentable(kDeepSpeedNotRepresentable);
    reading.harmless(std::array<std::string_view, 42>{"*zero_optimization.*",
                                                      "*progressive_layer_drop.*",
                                                      "*data_efficiency.*",
                                                      "*hybrid_engine.*",
                                                      "*nebula.*",
                                                      "*eigenvalue.*",
                                                      "*compile.*",
                                                      "*tensor_parallel.tp_grain_size",
                                                      "*use_data_before_expert_parallelism",
                                                      "*bf16.*",
                                                      "*fp16.*",
                                                      "*bfloat16.*",
                                                      "*scheduler.*",
                                                      "*optimizer.params.*",
                                                      "*gradient_clipping",
                                                      "*steps_per_print",
                                                      "*wall_clock_breakdown",
                                                      "*zero_allow_untested_optimizer",
                                                      "*zero_force_ds_cpu_optimizer",
                                                      "*prescale_gradients",
                                                      "*gradient_predivide_factor",
                                                      "*tensorboard.*",
                                                      "*wandb.*",
                                                      "*csv_monitor.*",
                                                      "*flops_profiler.*",
                                                      "*aio.*",
                                                      "*comms_logger.*",
                                                      "*activation_checkpointing.*",
                                                      "*dump_state",
                                                      "*checkpoint.*",
                                                      "*data_types.*",
                                                      "*communication_data_type",
                                                      "*elasticity.*",
                                                      "*disable_allgather",
                                                      "*memory_breakdown",
                                                      "*sparse_gradients",
                                                      "*amp.*",
                                                      "*autotuning.*",
                                                      "*monitor_config.*",
                                                      "*pipeline.*",
                                                      "*fp32_allreduce",
                                                      "*torch_autocast*"});
}

DeepSpeedFacts factsOfDeepSpeedFile(Job& job, std::string_view setting, const std::string& file)
{
    Reading& reading = job.reading;
    if (reading.hasPrefix("ds_config.")) {
        const DeepSpeedFacts facts = readDeepSpeedJson(job, "ds_config.");
        readOffload(job, "ds_config.", facts.stage);
        reading.say(setting, Became::used, "the file is given, too", "/layout/zero_stage");
        return facts;
    }
    int stage = -1;
    for (const std::string_view word : {"zero", "ds_z", "stage", "_z"}) // zero3.json, zero_2, ds_z3_config.json
        for (std::size_t at = file.find(word); stage < 0 && at != std::string::npos; at = file.find(word, at + 1)) {
            const std::size_t digit = file.find_first_not_of("_-", at + word.size());
            if (digit != std::string::npos && file[digit] >= '0' && file[digit] <= '3')
                stage = file[digit] - '0';
        }
    if (stage < 0) {
        job.ask("/layout/zero_stage", "the stage of ZeRO is in " + shownText(file, 80) + ", which is not given: 0 is assumed");
        reading.say(setting, Became::unknown, "its stage is in that file; give it too", "/layout/zero_stage");
        return {};
    }
    reading.say(setting, Became::unknown, "the stage is read from the file's name; give the file too", "/layout/zero_stage");
    return {.stage = stage};
}

namespace {

/// Which program reads the file it does not say; most have models of Transformers, and none of them Megatron's kernels.
void assumeTransformers(Job& job, bool isZero3)
{
    job.ask("/training/stack", "the program that uses this file is not in it: models of Transformers, run module by module, are "
                               "assumed; with --set training.stack=… another");
    putStackOfTransformers(job, isZero3);
}

/// By words that Megatron-DeepSpeed has since 2023 alone.
void putSoftwareOfMegatronDeepSpeed(Job& job)
{
    static constexpr std::array<std::string_view, 6> kSince2023 = {
        "use_flash_attn", "use_flash_attn_v2", "use_flash_attn_triton", "swiglu", "normalization", "ds_sequence_parallel_size"};
    const auto since = std::find_if(kSince2023.begin(), kSince2023.end(), [&](auto name) { return job.reading.has(name); });
    if (since == kSince2023.end())
        putSoftware(job, stacks::kMegatronDeepSpeed, "Megatron's kernels of 2021 with DeepSpeed's optimizer");
    else
        putSoftware(job, stacks::kMegatronDeepSpeed2023,
                    job.reading.spelled(*since) + " came with 2023: the same on that year's libraries");
}

} // namespace

void readDeepSpeed(Job& job)
{
    Reading& reading = job.reading;
    useTrainerNames(reading);
    DeepSpeedFacts facts = readDeepSpeedJson(job, "");
    for (const char* name : {"deepspeed", "deepspeed_config"}) // a file that is not given
        if (const Json* const file = reading.peek(name);
            file != nullptr && file->is_string() && reading.peek("zero_optimization.stage") == nullptr) {
            reading.takeDefaults("/layout/zero_stage");
            facts.stage = factsOfDeepSpeedFile(job, name, file->get<std::string>()).stage;
        }
    readOffload(job, "", facts.stage);
    const std::optional<int> tp = reading.integer("tensor_parallel.autotp_size", "/layout/tp");
    job.tp = std::max(1, tp.value_or(1));
    if (!tp)
        reading.addNote("tensor_parallel.autotp_size", Became::byDefault,
                        "tensor and pipeline sizes are in the program that uses this file: 1", "/layout/tp");
    if (const std::optional<int> ulysses = reading.size("sequence_parallel_size", "/layout/cp"); ulysses && *ulysses > 1) {
        job.cp = std::min(*ulysses, 1 << 12);
        putExchangedHeads(job, "sequence_parallel_size");
        job.givenDp = reading.size("data_parallel_size", "/layout/dp"); // deepspeed.initialize makes a mesh of the two
    }
    if (const std::optional<int> stages = reading.size("pipeline.stages", "/layout/pp"))
        job.pp = *stages;
    if (const std::optional<int> world = reading.integer("world_size", "/cluster"))
        job.gpus = world;
    const auto size = [&reading](std::string_view name) {
        const Json* const value = reading.peek(name);
        return value == nullptr ? 0LL : std::max<long long>(0, valueAs<int>(*value).value_or(0));
    };
    const long long each = size("train_micro_batch_size_per_gpu") * size("gradient_accumulation_steps");
    if (const long long all = size("train_batch_size");
        !job.askedGpus && !job.gpus && each > 0 && all > 0 && all % each == 0 && all / each < (1 << 20)) {
        job.givenDp = static_cast<int>(all / each);
        reading.addNote("train_batch_size", Became::used,
                        "over micro-batch and accumulation it leaves dp " + std::to_string(all / each), "/layout/dp");
    }
    readTrainerWorld(job);
    settleWorld(job);
    if (isShardedByBf16(facts.stage, facts.precision, job.pp > 1))
        shardByBf16(reading, facts, "zero_optimization.stage");
    job.layout["zero_stage"] = facts.stage;
    if (const std::optional<int> experts = reading.integer("expert_parallel.autoep_size", "/layout/ep");
        experts && *experts > 0) {
        job.layout["ep"] = *experts;
        if (*experts > 1)
            job.layout["etp"] = 1; // AutoEP cuts none of the experts that it spreads
    }
    const auto positive = [](std::optional<int> value) { return value && *value > 0 ? value : std::nullopt; };
    job.microBatch = positive(reading.integer("train_micro_batch_size_per_gpu", "/training/micro_batch_size"));
    job.globalBatch = positive(reading.integer("train_batch_size", "/training/global_batch_size"));
    job.accumulation = positive(reading.integer("gradient_accumulation_steps", "/training/global_batch_size"));
    if (!job.globalBatch && !job.microBatch)
        job.ask("/training/global_batch_size",
                "the batch is not in the file, or \"auto\": one micro-batch of each replica is assumed");
    settleBatch(job);
    job.training["precision"] = facts.precision.empty() ? "fp32" : facts.precision;
    if (facts.precision.empty())
        reading.byDefault("bf16.enabled", false, "/training/precision", "is not given, nor fp16: fp32");
    putOverlapOfDeepSpeed(job, facts, "");
    const std::optional<int> interval = reading.integer("pipeline.activation_checkpoint_interval", "/training/recompute");
    job.put("/training/recompute", job.pp > 1 && interval.value_or(0) > 0 ? "full" : "none");
    if (const std::optional<std::string> type = reading.word("optimizer.type", "/training/optimizer"))
        putOptimizer(job, "optimizer.type", *type);
    if (reading.flag("tensor_parallel.tp_overlap_comm", "/training/overlap/tp_comm").value_or(false))
        job.put("/training/overlap/tp_comm", true);
    readTrainer(job);
    putGradientsOfDeepSpeed(job, facts, "");
    if (const std::string_view setting = settingOfTransformers(reading); !setting.empty())
        putStackOfTransformers(job, setting, facts.stage == 3);
    else
        assumeTransformers(job, facts.stage == 3);
    harmlessOfDeepSpeed(reading);
}

namespace {

/// --num-experts is one number or one for each layer that has experts, 1 for a dense model; --expert-interval says which layers.
void readExpertsOfDeepSpeed(Job& job, MegatronRules& rules)
{
    Reading& reading = job.reading;
    if (!reading.flag("enable_expert_tensor_parallelism", "/layout/etp").value_or(false))
        rules.expertTensor = 1;
    std::vector<int> counts;
    if (const auto given = reading.any("num_experts", "/model/num_experts"))
        for (const std::string& word : wordsOfList(*given))
            if (const std::optional<int> count = wholeNumber<int>(valueOf(word)); count && *count > 0)
                counts.push_back(*count);
    rules.experts = counts.empty() ? 1 : *std::min_element(counts.begin(), counts.end());
    if (const int most = counts.empty() ? 1 : *std::max_element(counts.begin(), counts.end()); most != *rules.experts)
        reading.say("num_experts", Became::notRepresentable,
                    "layers have " + std::to_string(*rules.experts) + " to " + std::to_string(most) +
                        " experts: " + std::to_string(*rules.experts) + " is imported for all of them",
                    "/model/num_experts");
    if (*rules.experts > 1)
        rules.expertInterval = std::clamp(reading.integerOr("expert_interval", "/model/moe_layer_freq", 2), 1, 10000);
    if (reading.word("mlp_type", "/model/num_shared_experts") == "residual" && *rules.experts > 1)
        job.model["num_shared_experts"] = 1; // a dense MLP as large as an expert, which all tokens go through
}

} // namespace

void readMegatronDeepSpeed(Job& job)
{
    Reading& reading = job.reading;
    const bool ofNeox = isNeox(reading);
    reading.switchesStandAlone();
    if (ofNeox)
        useNeoxNames(reading);
    useMegatronNames(reading);
    if (ofNeox)
        reading.setSpelling([](std::string_view name) { return std::string(name); });
    reading.apply(std::array{Alias{"activation_checkpointing", "recompute_granularity"}, Alias{"topk", "moe_router_topk"},
                             Alias{"moe_train_capacity_factor", "moe_expert_capacity_factor"}});
    DeepSpeedFacts facts = readDeepSpeedJson(job, "ds_config.");
    if (const Json* const file = reading.peek("deepspeed_config"); file != nullptr && file->is_string() &&
                                                                   !reading.hasPrefix("ds_config.") &&
                                                                   !reading.has("zero_stage")) { // it is not given
        reading.takeDefaults("/layout/zero_stage");
        facts.stage = factsOfDeepSpeedFile(job, "deepspeed_config", file->get<std::string>()).stage;
    }
    const std::optional<int> stage = reading.integer("zero_stage", "/layout/zero_stage");
    if (stage && reading.peek("ds_config.zero_optimization.stage") != nullptr && *stage != facts.stage)
        reading.say("zero_stage", Became::contradictory,
                    "--zero-stage " + std::to_string(*stage) + " of " + reading.placeOf("zero_stage") + " and stage " +
                        std::to_string(facts.stage) + " of " + reading.placeOf("ds_config.zero_optimization.stage") +
                        ": DeepSpeed's file counts");
    else if (stage && reading.peek("ds_config.zero_optimization.stage") == nullptr)
        facts.stage = zeroStage(reading, "zero_stage", *stage);
    const bool bf16 = reading.peek("bf16") != nullptr || facts.precision == "bf16";
    const bool isPlain = reading.flag("no_pipeline_parallel", "/layout/pp").value_or(false); // else even one stage is a pipeline
    if (reading.has("deepspeed") && isShardedByBf16(facts.stage, bf16 ? "bf16" : "", !isPlain))
        shardByBf16(reading, facts, "ds_config.zero_optimization.stage");
    for (const auto& [name, flag] : {std::pair{"ds_config.train_micro_batch_size_per_gpu", "micro_batch_size"},
                                     std::pair{"ds_config.train_batch_size", "global_batch_size"}}) {
        const std::optional<int> inFile = reading.integer(
            name, flag == std::string_view("micro_batch_size") ? "/training/micro_batch_size" : "/training/global_batch_size");
        const Json* const asFlag = reading.peek(flag);
        if (inFile && asFlag != nullptr && valueAs<int>(*asFlag).value_or(*inFile) != *inFile)
            reading.say(name, Became::contradictory,
                        std::to_string(*inFile) + ", and " + reading.spelled(flag) + " is " + shownValue(*asFlag) + " on " +
                            reading.placeOf(flag) + ": the latter counts");
    }
    reading.integer("ds_config.gradient_accumulation_steps", "/training/global_batch_size");
    readOffload(job, "ds_config.", facts.stage);
    const std::optional<std::string> partition = reading.word("pp_partition_method", "/schedule/layers_per_stage");
    MegatronRules rules{.groupsNeedFlag = false,
                        .zeroStage = facts.stage,
                        .gradReduce = facts.overlap.value_or(facts.stage == 3),
                        .expertsPerToken = 1,
                        .partitionsAnyCount = true,
                        .routerHasBias = false,
                        .attentionIsFused = false};
    readExpertsOfDeepSpeed(job, rules);
    readMegatronArguments(job, rules);
    putReduceBucket(job);
    if (ofNeox)
        putNeoxDefaults(job);
    if (const std::optional<std::string> type = reading.word("ds_config.optimizer.type", "/training/optimizer");
        type && !reading.has("optimizer"))
        putOptimizer(job, "ds_config.optimizer.type", *type);
    if (const int ep = memberOr<int>(job.layout, "ep", 1), experts = rules.experts.value_or(1); ep > experts) {
        job.layout["ep"] = experts;
        reading.say("expert_model_parallel_size", Became::notRepresentable,
                    "no more ranks than experts share them: " + std::to_string(experts) + " is imported");
    }
    if (reading.flag("enable_zbh1_pipeline", "/schedule/kind").value_or(false) && job.pp > 1)
        job.schedule["kind"] = "zb-h1";
    if (!facts.overlap)
        reading.byDefault("ds_config.zero_optimization.overlap_comm", facts.stage == 3, "/training/overlap/grad_reduce",
                          "is not given: on at stage 3 only");
    if (job.training["precision"] == "fp32" && !facts.precision.empty())
        job.training["precision"] = facts.precision;
    putGradientsOfDeepSpeed(job, facts, "ds_config.");
    for (const char* name : {"accumulate_allreduce_grads_in_fp32", "grad_reduce_in_bf16"})
        if (reading.has(name))
            reading.say(name, Became::harmless, "DeepSpeed's data_types.grad_accum_dtype says it");
    const int layers = memberOr<int>(job.model, "num_hidden_layers", 0);
    if (partition && partition->find("embedding") != std::string::npos && job.pp > 1 && layers > 0) {
        const int units = layers + 2; // both embeddings count as layers
        std::vector<int> counts = greedyLayers(units, job.pp);
        counts.front() -= 1;
        counts.back() -= 1;
        if (*std::min_element(counts.begin(), counts.end()) >= 0)
            job.schedule["layers_per_stage"] = counts;
        reading.say("pp_partition_method", Became::used,
                    "embeddings count as layers: " + std::to_string(units) + " over " + std::to_string(job.pp) + " stages",
                    "/schedule/layers_per_stage");
    } else if (partition && *partition != "uniform" && !partition->starts_with("type:transformer")) {
        reading.say("pp_partition_method", Became::notRepresentable, *partition + ": layers are spread evenly",
                    "/schedule/layers_per_stage");
    }
    if (!ofNeox)
        putSoftwareOfMegatronDeepSpeed(job);
    harmlessOfDeepSpeed(reading);
    reading.harmless(std::array<std::string_view, 3>{"ds_config.*", "*_config", "no_pipeline_parallel"});
}

} // namespace sim::frameworks
