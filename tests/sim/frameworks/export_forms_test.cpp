// What is written is what the framework takes: names and forms of its own settings, and refusals by its own rules.
#include "tests/support/catalogue.h"

#include "sim/frameworks/export/writers.h"
#include "sim/frameworks/frameworks.h"
#include "sim/scenario/document.h"
#include "sim/scenario/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Json;
using testing::HasSubstr;
using testing::Not;

using Changes = std::initializer_list<std::pair<const char*, const char*>>;

sim::Scenario changed(const std::string& model, Changes values, const std::string& cluster = "h100-sxm-ib400")
{
    auto document =
        sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": {"base": ")" + model +
                                     R"("}, "cluster": {"base": ")" + cluster + R"("}, "layout": {"tp": 1}, "training": {}})");
    for (const auto& [pointer, value] : values)
        document.set(pointer, value);
    return sim::resolvedScenario(document, test::catalogue());
}

/// The text, or the refusal.
std::string formOf(std::string_view kind, const sim::Scenario& scenario)
{
    try {
        return sim::exportSettings(scenario, kind, test::catalogue()).text;
    } catch (const sim::Error& error) {
        return error.what();
    }
}

/// Pointers of what it says that it loses, all but the software's and the model's name.
std::vector<std::string> lostBy(std::string_view kind, const sim::Scenario& scenario)
{
    std::vector<std::string> pointers;
    for (const sim::Note& note : sim::exportSettings(scenario, kind, test::catalogue()).notes)
        if (note.became == sim::Became::notRepresentable)
            pointers.push_back(note.pointer);
    return pointers;
}

bool loses(std::string_view kind, const sim::Scenario& scenario, std::string_view pointer)
{
    const std::vector<std::string> all = lostBy(kind, scenario);
    return std::find(all.begin(), all.end(), pointer) != all.end();
}

Json importedModel(const std::string& kind, const std::string& text, int gpus)
{
    const auto back = sim::importSettings({{"job", text}}, {.kind = kind, .gpus = gpus}, test::catalogue());
    const auto document = sim::ScenarioDocument::parse(back.scenario);
    return Json::parse(sim::resolvedText(sim::resolvedScenario(document, test::catalogue())));
}

// _add_mla_args and _add_network_size_args of megatron/training/arguments.py
TEST(ExportForms, MegatronsCommandLineHasNoArgumentForEachField)
{
    const sim::Scenario yarn =
        changed("deepseek-v3", {{"layout.dp", "8"},
                                {"layout.ep", "8"},
                                {"layout.zero_stage", "1"},
                                {"training.offload.activation_layers", "4"},
                                {"model.rope_scaling", R"({"rope_type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1,
                                 "original_max_position_embeddings": 4096, "mscale": 1, "mscale_all_dim": 1})"}});
    const std::string text = formOf("megatron-args", yarn);
    EXPECT_THAT(text, HasSubstr("--rope-type yarn"));
    EXPECT_THAT(text, HasSubstr("--cpu-offloading-num-layers 4"));
    EXPECT_THAT(text, HasSubstr("--moe-layer-freq '([0]*3+[1]*58)'"));
    EXPECT_THAT(text, HasSubstr("--qk-layernorm"));
    for (const char* flag : {"--original-max-position-embeddings", "--beta-", "--cpu-offloading\n"})
        EXPECT_THAT(text, Not(HasSubstr(flag)));
    for (const char* pointer : {"/model/rope_scaling", "/training/offload"})
        for (const std::string& lost : lostBy("megatron-args", yarn))
            EXPECT_FALSE(lost.starts_with(pointer)) << lost;
    const std::string bridge = formOf("bridge-python", yarn);
    for (const char* line : {"cfg.model.original_max_position_embeddings = 4096", "cfg.model.cpu_offloading = True"})
        EXPECT_THAT(bridge, HasSubstr(line));
}

// arguments.py, validate_args: max_position_embeddings >= seq_length whatever the positions are
TEST(ExportForms, MegatronHasAsManyPositionsAsTokens)
{
    const sim::Scenario longer = changed("mixtral-8x7b", {{"training.sequence_length", "65536"}});
    EXPECT_THAT(formOf("megatron-args", longer), HasSubstr("--max-position-embeddings 65536"));
    EXPECT_THAT(formOf("megatron-args", changed("mixtral-8x7b", {{"training.sequence_length", "4096"}})),
                HasSubstr("--max-position-embeddings 32768"));
}

// arguments.py, validate_args: --overlap-param-gather wants the distributed optimizer
TEST(ExportForms, MegatronSharesOutTheOptimizerOfOneReplicaWhereSomethingWantsIt)
{
    const std::string text =
        formOf("megatron-args",
               changed("llama3-8b", {{"layout.tp", "8"}, {"layout.sequence_parallel", "true"}, {"layout.zero_stage", "2"}}));
    EXPECT_THAT(text, HasSubstr("--overlap-param-gather"));
    EXPECT_THAT(text, HasSubstr("--use-distributed-optimizer"));
}

TEST(ExportForms, MegatronKeepsActivationsOnTheHostWhereItsConfigurationTakesThem)
{
    const auto with = [](const char* layers, const char* pp, const char* recompute) {
        return formOf("megatron-args", changed("llama3-8b", {{"layout.pp", pp},
                                                             {"training.recompute", recompute},
                                                             {"training.offload.activation_layers", layers},
                                                             {"training.global_batch_size", "8"}}));
    };
    EXPECT_THAT(with("8", "1", "\"none\""), HasSubstr("--cpu-offloading-num-layers 8"));
    for (const std::string& refused : {with("4", "2", "\"none\""), with("8", "1", "\"full\""), with("32", "1", "\"none\"")})
        EXPECT_THAT(refused, HasSubstr("/training/offload/activation_layers: Megatron"));
}

// transformer_config.py: a bias that balances experts wants sigmoid; a router's own is a linear layer's
TEST(ExportForms, MegatronsRouterHasTheBiasThatItsLayersHave)
{
    const auto oss = [](const char* etp, const char* tp) {
        return changed("gpt-oss-20b", {{"layout.dp", "8"},
                                       {"layout.ep", "8"},
                                       {"layout.tp", tp},
                                       {"layout.etp", etp},
                                       {"layout.sequence_parallel", std::string_view(tp) == "1" ? "false" : "true"},
                                       {"layout.zero_stage", "1"}});
    };
    const std::string text = formOf("megatron-args", oss("1", "1"));
    for (const char* flag : {"--moe-router-enable-expert-bias", "--disable-bias-linear", "--add-qkv-bias"})
        EXPECT_THAT(text, Not(HasSubstr(flag)));
    for (const char* kind : {"megatron-args", "bridge-python"})
        for (const char* key : {"bias", "qkv_bias", "attention_output_bias", "expert_bias", "router_bias"})
            EXPECT_FALSE(loses(kind, oss("1", "1"), std::string("/model/") + key)) << kind << " " << key;
    EXPECT_THAT(formOf("bridge-python", oss("1", "1")), HasSubstr("cfg.model.add_bias_linear = True"));
    // Experts that are cut have none: then it says of biases what it can.
    const std::string cut = formOf("megatron-args", oss("2", "2"));
    EXPECT_THAT(cut, HasSubstr("--add-qkv-bias"));
    EXPECT_THAT(cut, Not(HasSubstr("--moe-router-enable-expert-bias")));
    EXPECT_TRUE(loses("megatron-args", oss("2", "2"), "/model/router_bias"));
    EXPECT_THAT(
        formOf("megatron-args",
               changed("mixtral-8x7b",
                       {{"layout.tp", "2"}, {"layout.etp", "2"}, {"layout.sequence_parallel", "true"}, {"model.bias", "true"}})),
        HasSubstr("/layout/etp: Megatron gives experts biases"));
    EXPECT_THAT(formOf("megatron-args", changed("deepseek-v3", {})), HasSubstr("--moe-router-enable-expert-bias"));
}

TEST(ExportForms, ConfigurationsOfMegatronHaveValuesAndNoCommandLine)
{
    const sim::Scenario oss = changed("gpt-oss-20b", {{"model.rms_norm_eps", "1e-6"}});
    const sim::Scenario deepseek = changed("deepseek-v2-lite", {});
    for (const char* line : {"cfg.model.window_size = (127, 0)", "cfg.model.layernorm_epsilon = 1e-06"})
        EXPECT_THAT(formOf("bridge-python", oss), HasSubstr(line));
    EXPECT_THAT(formOf("bridge-python", oss), Not(HasSubstr("norm_epsilon = \"")));
    EXPECT_THAT(formOf("bridge-python", deepseek), HasSubstr("cfg.model.moe_layer_freq = [0,1,1,"));
    EXPECT_THAT(formOf("nemo-yaml", deepseek), HasSubstr("moe_layer_freq: [0,1,1,"));
    EXPECT_THAT(formOf("nemo-yaml", oss), HasSubstr("window_size: [127,0]"));
    EXPECT_THAT(formOf("nemo-yaml", oss), HasSubstr("layernorm_epsilon: 1e-06"));
    for (const char* kind : {"bridge-python", "nemo-yaml"}) {
        for (const char* pointer : {"/model/sliding_window", "/model/rms_norm_eps"})
            EXPECT_FALSE(loses(kind, oss, pointer)) << kind << pointer;
        EXPECT_FALSE(loses(kind, deepseek, "/model/first_k_dense_replace")) << kind;
    }
    const sim::Scenario full = changed("llama3-8b", {{"training.precision", "\"fp32\""}});
    EXPECT_THAT(formOf("bridge-python", full), HasSubstr("cfg.mixed_precision = MixedPrecisionConfig(fp32=True, "));
    EXPECT_FALSE(loses("bridge-python", full, "/training/precision"));
}

// torchtitan 0.2.0: components/quantization, config/job_config.py
TEST(ExportForms, TorchtitanConvertsByTheNamesThatItHas)
{
    const auto dense = [](const char* precision) {
        return changed("llama3-8b", {{"layout.dp", "8"}, {"layout.zero_stage", "3"}, {"training.precision", precision}},
                       "dgx-b200");
    };
    EXPECT_THAT(formOf("torchtitan-toml", dense("\"fp8\"")), HasSubstr("converters = [\"quantize.linear.float8\"]"));
    EXPECT_THAT(formOf("torchtitan-toml", dense("\"mxfp8\"")), HasSubstr("converters = [\"quantize.linear.mx\"]"));
    EXPECT_THAT(formOf("torchtitan-toml", dense("\"fp16\"")), HasSubstr("/training/precision: torchtitan trains in bfloat16"));
    EXPECT_THAT(formOf("torchtitan-toml", dense("\"tf32\"")), HasSubstr("mixed_precision_param = \"float32\""));
    for (const char* precision : {"\"fp8\"", "\"mxfp8\"", "\"fp32\""})
        EXPECT_FALSE(loses("torchtitan-toml", dense(precision), "/training/precision")) << precision;
    const std::string experts =
        formOf("torchtitan-toml",
               changed("qwen3-30b-a3b", {{"layout.dp", "8"}, {"layout.zero_stage", "3"}, {"training.precision", "\"fp8\""}}));
    EXPECT_THAT(experts, HasSubstr("converters = [\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"]"));
    EXPECT_THAT(experts, HasSubstr("[quantize.grouped_mm.float8]\nfqns = [\"experts\"]"));
    const sim::Scenario halves =
        changed("llama3-8b", {{"layout.dp", "8"}, {"layout.zero_stage", "3"}, {"training.gradient_dtype", "\"bf16\""}});
    EXPECT_THAT(formOf("torchtitan-toml", halves), Not(HasSubstr("mixed_precision_reduce")));
    EXPECT_TRUE(loses("torchtitan-toml", halves, "/training/gradient_dtype"));
    EXPECT_THAT(formOf("torchtitan-toml", changed("llama3-8b", {{"training.optimizer", "\"sgd\""}})),
                HasSubstr("/training/optimizer: torchtitan has"));
}

// types.py: base_moe_mlp_dim, decoder_block, num_pipeline_microbatches; configs/gpu of MaxText
TEST(ExportForms, MaxTextHasTheBlocksOfItsOwnModels)
{
    const std::string mixtral = formOf("maxtext", changed("mixtral-8x7b", {}));
    for (const char* line : {"decoder_block: mixtral", "base_moe_mlp_dim: 14336", "base_mlp_dim: 14336", "hardware: gpu",
                             "rope_max_timescale: 1000000", "mlp_activations: [\"silu\",\"linear\"]"})
        EXPECT_THAT(mixtral, HasSubstr(line));
    const std::string qwen = formOf("maxtext", changed("qwen3-30b-a3b", {}));
    for (const char* line : {"decoder_block: qwen3_moe", "base_moe_mlp_dim: 768", "base_mlp_dim: 768", "use_qk_norm: true"})
        EXPECT_THAT(qwen, HasSubstr(line));
    const std::string deepseek = formOf("maxtext", changed("deepseek-v3", {}));
    for (const char* line : {"decoder_block: deepseek", "attention_type: mla", "kv_lora_rank: 512", "first_num_dense_layers: 3",
                             "base_mlp_dim: 18432", "base_moe_mlp_dim: 2048", "shared_experts: 1"})
        EXPECT_THAT(deepseek, HasSubstr(line));
    EXPECT_THAT(formOf("maxtext", changed("llama4-maverick", {})), HasSubstr("interleave_moe_layer_step: 2"));
    EXPECT_THAT(formOf("maxtext", changed("gpt3-175b", {})), HasSubstr("decoder_block: gpt3"));
    EXPECT_THAT(formOf("maxtext", changed("llama3.2-1b", {})), HasSubstr("logits_via_embedding: true"));
    EXPECT_THAT(formOf("maxtext", changed("llama3-8b", {}, "tpu-v5p-pod")), HasSubstr("hardware: tpu"));
    for (const char* model : {"mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3", "llama3-8b", "llama3.2-1b", "gpt3-175b",
                              "llama4-maverick", "gpt-oss-20b"})
        for (const char* key : {"rope_theta",
                                "tie_word_embeddings",
                                "hidden_act",
                                "gated_mlp",
                                "normalization",
                                "num_hidden_layers",
                                "intermediate_size",
                                "moe_intermediate_size",
                                "num_shared_experts",
                                "first_k_dense_replace",
                                "moe_layer_freq",
                                "kv_lora_rank",
                                "qk_norm",
                                "sliding_window",
                                "sliding_window_pattern",
                                "attention_sinks",
                                "router_bias",
                                "expert_bias",
                                "qkv_bias",
                                "attention_output_bias",
                                "scoring_func",
                                "routed_scaling_factor",
                                "attention_chunk_size",
                                "no_rope_layer_interval"})
            EXPECT_FALSE(loses("maxtext", changed(model, {}), std::string("/model/") + key)) << model << " " << key;
    // A block has what it has: shared experts beside usual attention are no block's.
    const sim::Scenario shared = changed("qwen2-57b-a14b", {});
    EXPECT_THAT(formOf("maxtext", shared), HasSubstr("decoder_block: mixtral"));
    EXPECT_TRUE(loses("maxtext", shared, "/model/num_shared_experts"));
}

// configs/base.yml: n_routing_groups, rope_type and the parameters of yarn
TEST(ExportForms, MaxTextHasGroupsOfExpertsAndStretchedPositions)
{
    const sim::Scenario yarn =
        changed("deepseek-v3", {{"model.rope_scaling", R"({"rope_type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1,
                                 "original_max_position_embeddings": 4096, "mscale": 1, "mscale_all_dim": 1})"},
                                {"model.max_position_embeddings", "163840"},
                                {"model.n_group", "8"},
                                {"model.topk_group", "4"}});
    for (const char* pointer : {"/model/rope_scaling", "/model/n_group", "/model/topk_group", "/model/max_position_embeddings"})
        for (const std::string& lost : lostBy("maxtext", yarn))
            EXPECT_FALSE(lost.starts_with(pointer)) << lost;
    EXPECT_THAT(formOf("maxtext", yarn), HasSubstr("n_routing_groups: 8"));
}

TEST(ExportForms, MaxTextsMeshLiesInsideOfNodesAndBetween)
{
    const sim::Scenario many = changed("llama3-8b", {{"layout.tp", "4"},
                                                     {"layout.dp", "8"},
                                                     {"layout.pp", "2"},
                                                     {"layout.zero_stage", "3"},
                                                     {"schedule.kind", "\"gpipe\""},
                                                     {"training.global_batch_size", "64"}});
    const std::string text = formOf("maxtext", many);
    for (const char* line :
         {"ici_tensor_parallelism: 4", "ici_fsdp_parallelism: 2", "ici_pipeline_parallelism: 1", "ici_data_parallelism: 1",
          "dcn_fsdp_parallelism: 4", "dcn_pipeline_parallelism: 2", "dcn_data_parallelism: 1"})
        EXPECT_THAT(text, HasSubstr(std::string("\n") + line + "\n"));
    const Json back = importedModel("maxtext", text, 64);
    for (const auto& [key, size] : {std::pair{"tp", 4}, {"dp", 8}, {"pp", 2}, {"dp_shard", 8}})
        EXPECT_EQ(back["layout"][key], size) << key;
    const auto staged = [](const char* batch, const char* precision) {
        return formOf("maxtext", changed("llama3-8b", {{"layout.pp", "4"},
                                                       {"schedule.kind", "\"gpipe\""},
                                                       {"training.precision", precision},
                                                       {"training.global_batch_size", batch}}));
    };
    EXPECT_THAT(staged("6", "\"bf16\""), HasSubstr("/training/global_batch_size: MaxText wants"));
    EXPECT_THAT(staged("8", "\"bf16\""), HasSubstr("num_pipeline_microbatches: 8"));
    EXPECT_THAT(staged("8", "\"fp8\""), HasSubstr("quantization: fp8"));
    EXPECT_THAT(formOf("maxtext", changed("llama3-8b", {{"training.precision", "\"fp8\""}, {"training.global_batch_size", "4"}})),
                HasSubstr("/training/precision: MaxText does not accumulate"));
}

TEST(ExportForms, SettingsWithoutAModelLoseNothingOfWhatTheySay)
{
    for (const auto& file : test::galleryFiles()) {
        const sim::Scenario scenario = sim::readScenario(file, test::catalogue());
        for (const char* kind : {"deepspeed-json", "accelerate-yaml"})
            try {
                for (const sim::Note& note : sim::exportSettings(scenario, kind, test::catalogue()).notes) {
                    EXPECT_FALSE(note.pointer == "/training/optimizer" && note.value == "\"adamw\"") << file << kind;
                    EXPECT_NE(note.pointer, "/training/moment_dtype") << file << kind;
                }
                EXPECT_TRUE(loses(kind, scenario, "/training/sequence_length")) << "is said to the program";
            } catch (const sim::Error&) {
                continue;
            }
    }
}

TEST(ExportForms, WhatAnImporterReadsIsWritten)
{
    const sim::Scenario nope = changed("llama3-8b", {{"model.no_rope_layer_interval", "4"}, {"model.rms_norm_eps", "1e-6"}});
    for (const char* key : {"rope_theta", "rms_norm_eps", "no_rope_layer_interval"})
        EXPECT_FALSE(loses("nanotron-yaml", nope, std::string("/model/") + key)) << key;
    EXPECT_THAT(formOf("nanotron-yaml", nope), HasSubstr("rope_theta: 500000"));
    for (
        const char* scaling :
        {R"({"rope_type": "linear", "factor": 4})",
         R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192})",
         R"({"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096, "truncate": false, "mscale": 0.7})"}) {
        const sim::Scenario scaled = changed("llama3-8b", {{"model.rope_scaling", scaling}});
        for (const std::string& lost : lostBy("huggingface", scaled))
            EXPECT_FALSE(lost.starts_with("/model/rope_scaling")) << lost << scaling;
    }
}

TEST(ExportForms, QwensExpertsAreInItsFamilysWords)
{
    const sim::Scenario qwen2 = changed("qwen2-57b-a14b", {});
    const Json config = Json::parse(formOf("huggingface", qwen2));
    EXPECT_EQ(config["model_type"], "qwen2_moe");
    EXPECT_EQ(config["shared_expert_intermediate_size"], 20480);
    for (const char* key : {"n_shared_experts", "first_k_dense_replace", "moe_layer_freq"})
        EXPECT_FALSE(config.contains(key)) << key;
    EXPECT_FALSE(loses("huggingface", qwen2, "/model/num_shared_experts"));
    for (const auto& [first, every] : {std::pair{"2", "1"}, {"1", "2"}, {"0", "1"}}) {
        const sim::Scenario some =
            changed("qwen3-30b-a3b", {{"model.first_k_dense_replace", first}, {"model.moe_layer_freq", every}});
        for (const char* key : {"first_k_dense_replace", "moe_layer_freq"})
            EXPECT_FALSE(loses("huggingface", some, std::string("/model/") + key)) << first << every << key;
    }
    EXPECT_EQ(Json::parse(
                  formOf("huggingface", changed("mixtral-8x7b", {{"model.moe_intermediate_size", "4096"}})))["intermediate_size"],
              4096);
}

// parallelism_config.py of Accelerate
TEST(ExportForms, AccelerateShardsWhereItCutsSequences)
{
    const auto with = [](const char* zero, const char* shard) {
        return formOf("accelerate-yaml",
                      changed("llama3-8b",
                              {{"layout.cp", "2"}, {"layout.dp", "4"}, {"layout.zero_stage", zero}, {"layout.dp_shard", shard}}));
    };
    EXPECT_THAT(with("3", "8"), HasSubstr("parallelism_config_cp_size: 2"));
    EXPECT_THAT(with("3", "4"), HasSubstr("parallelism_config_dp_replicate_size: 2"));
    EXPECT_THAT(with("3", "2"), HasSubstr("/layout/dp_shard: Accelerate refuses replicas (dp 4) without shards beside cp 2"));
    EXPECT_THAT(with("0", "8"), HasSubstr("/layout/zero_stage: Accelerate refuses replicas"));
}

// module_inject/auto_ep_folding.py and runtime/engine.py of DeepSpeed
TEST(ExportForms, DeepSpeedSpreadsExpertsThatItDoesNotCut)
{
    const auto with = [](const char* tp, const char* etp, const char* zero, const char* shard) {
        return changed("mixtral-8x7b", {{"layout.tp", tp},
                                        {"layout.dp", "8"},
                                        {"layout.ep", "8"},
                                        {"layout.etp", etp},
                                        {"layout.zero_stage", zero},
                                        {"layout.dp_shard", shard}});
    };
    EXPECT_THAT(formOf("deepspeed-json", with("2", "2", "1", "8")), HasSubstr("/layout/etp: DeepSpeed does not cut the experts"));
    EXPECT_THAT(formOf("deepspeed-json", with("2", "1", "3", "8")), HasSubstr("/layout/zero_stage: DeepSpeed takes tensor"));
    EXPECT_THAT(formOf("deepspeed-json", with("1", "1", "3", "4")),
                HasSubstr("/layout/dp_shard: DeepSpeed shards spread experts"));
    EXPECT_THAT(formOf("deepspeed-json", with("1", "1", "3", "8")), HasSubstr("\"autoep_size\": 8"));
    const sim::Scenario folded = with("2", "1", "2", "8");
    EXPECT_THAT(formOf("deepspeed-json", folded), HasSubstr("\"autotp_size\": 2"));
    for (const char* key : {"tp", "ep", "etp", "zero_stage"})
        EXPECT_FALSE(loses("deepspeed-json", folded, std::string("/layout/") + key)) << key;
}

// train.py of picotron
TEST(ExportForms, PicotronHasAModelsNameAndAllItsSections)
{
    const Json config = Json::parse(formOf("picotron-json", changed("llama3-8b", {{"training.flash_attention", "false"}})));
    EXPECT_EQ(config["model"]["name"], "meta-llama/Llama-3.1-8B");
    for (const auto& [section, key] : {std::pair{"environment", "OMP_NUM_THREADS"},
                                       {"environment", "TOKENIZERS_PARALLELISM"},
                                       {"dataset", "name"},
                                       {"dataset", "num_workers"},
                                       {"checkpoint", "load_path"},
                                       {"checkpoint", "save_frequency"},
                                       {"logging", "use_wandb"},
                                       {"training", "total_train_steps"},
                                       {"training", "max_tokens"},
                                       {"model", "use_fused_adam"}})
        EXPECT_TRUE(config[section].contains(key)) << section << " " << key;
    EXPECT_EQ(config["environment"]["FLASH_ATTEN"], "0");
    EXPECT_FALSE(loses("picotron-json", changed("llama3-8b", {}), "/model/base"));
    EXPECT_TRUE(loses("picotron-json", changed("gpt2", {}), "/model/base"));
    EXPECT_TRUE(loses("picotron-json", changed("llama3-8b", {{"training.precision", "\"fp32\""}}), "/training/precision"));
    for (const auto& entry : test::catalogue().models())
        if (const std::string id = sim::frameworks::huggingFaceId(entry.id); !id.empty()) {
            const Json back = importedModel("picotron-json", formOf("picotron-json", changed(entry.id, {})), 1);
            const Json* const model = test::catalogue().modelJson(entry.id);
            for (const char* key : {"hidden_size", "intermediate_size", "vocab_size"})
                EXPECT_EQ(back["model"][key], (*model)[key]) << id;
        }
}

/// Its registry lost Llama 2 before the keys that are written came (pytorch/torchtitan 4d88a8a44, 8570415c3).
TEST(ExportForms, TorchtitanIsToldWhereItsFlavourIsGone)
{
    for (const char* model : {"llama2-7b", "llama2-13b", "llama2-70b"}) {
        const std::string text = formOf("torchtitan-toml", changed(model, {{"layout.dp", "8"}}));
        EXPECT_THAT(text, HasSubstr("# torchtitan has no Llama 2 since December 2024")) << model;
        EXPECT_THAT(text, HasSubstr("local_batch_size")) << model;
        const Json back = importedModel("torchtitan-toml", text, 8);
        for (const char* key : {"hidden_size", "intermediate_size", "num_hidden_layers"})
            EXPECT_EQ(back["model"][key], (*test::catalogue().modelJson(model))[key]) << model;
    }
    EXPECT_THAT(formOf("torchtitan-toml", changed("llama3-8b", {{"layout.dp", "8"}})), Not(HasSubstr("model registry")));
}

// distributed/parallel_dims.py of v0.2.0, _validate
TEST(ExportForms, TorchtitanIsGivenExpertsThatItsDegreesTake)
{
    const auto form = [](const char* tp, const char* ep, const char* etp, const char* stage) {
        return formOf("torchtitan-toml", changed("mixtral-8x7b", {{"layout.tp", tp},
                                                                  {"layout.dp", "8"},
                                                                  {"layout.ep", ep},
                                                                  {"layout.etp", etp},
                                                                  {"layout.sequence_parallel", "true"},
                                                                  {"layout.zero_stage", stage},
                                                                  {"training.global_batch_size", "8"}}));
    };
    EXPECT_THAT(form("4", "2", "1", "3"), HasSubstr("must be a multiple of 4"));
    EXPECT_THAT(form("4", "4", "1", "3"), HasSubstr("expert_parallel_degree = 4"));
    EXPECT_THAT(form("4", "2", "4", "3"), HasSubstr("expert_parallel_degree = 2"));
    EXPECT_THAT(form("1", "4", "1", "0"), HasSubstr("nearest: ZeRO 3")) << "plain data parallelism has no shards";
}

TEST(ExportForms, NanotronRepeatsNoHeads)
{
    const auto form = [](const char* tp) {
        return formOf("nanotron-yaml", changed("llama3-8b", {{"layout.tp", tp}, {"layout.sequence_parallel", "true"}}));
    };
    EXPECT_THAT(form("16"), HasSubstr("does not repeat key-value heads"));
    EXPECT_THAT(form("8"), HasSubstr("tp: 8"));
    const std::string alone = formOf("nanotron-yaml", changed("llama3-8b", {{"layout.zero_stage", "3"}}));
    EXPECT_THAT(alone, HasSubstr("zero_stage: 1")) << "it has no other";
}

TEST(ExportForms, NanotronsOwnStagesAreTold)
{
    const sim::Scenario even = changed("llama3-8b", {{"layout.pp", "2"}, {"training.global_batch_size", "8"}});
    EXPECT_TRUE(loses("nanotron-yaml", even, "/schedule/layers_per_stage") ||
                loses("nanotron-yaml", even, "/schedule/layers_per_stage/0"));
}

TEST(ExportForms, HuggingFacesTypesKeepWhatIsTheirOwn)
{
    for (const char* model : {"llama4-scout", "llama4-maverick", "gpt-oss-20b"})
        for (const std::string& lost : lostBy("huggingface", changed(model, {})))
            EXPECT_FALSE(lost.starts_with("/model/")) << model << " " << lost;
    EXPECT_THAT(formOf("huggingface", changed("llama4-scout", {})), HasSubstr("\"llama4_text\""));
    EXPECT_THAT(formOf("huggingface", changed("gpt-oss-20b", {})), HasSubstr("\"gpt_oss\""));
}

TEST(ExportForms, NemosFsdpSharesGradientsAlone)
{
    const sim::Scenario scenario = changed("llama3-8b", {{"layout.dp", "8"}, {"layout.zero_stage", "2"}});
    EXPECT_THAT(formOf("nemo-yaml", scenario), HasSubstr("fsdp_sharding_strategy: grad"));
    EXPECT_FALSE(loses("nemo-yaml", scenario, "/layout/zero_stage"));
    EXPECT_THAT(formOf("megatron-args", scenario), HasSubstr("no ZeRO-2"));
    for (const char* stage : {"2", "3"}) // the stage that the file has, though the flags are those of the third
        EXPECT_THAT(
            formOf("nemo-yaml", changed("llama3-8b", {{"layout.dp", "4"}, {"layout.pp", "2"}, {"layout.zero_stage", stage}})),
            HasSubstr("ZeRO " + std::string(stage) + " is Megatron-FSDP's, which excludes pipelines; pp is 2"));
}

} // namespace
