// Hugging Face's families, nanotron, MaxText and axolotl where their names or defaults are their own.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;

std::string config(const std::string& type, const std::string& more)
{
    return "{\"model_type\": \"" + type + "\", \"vocab_size\": 50000, " + more + "}";
}
const std::string kSizes =
    "\"num_hidden_layers\": 24, \"hidden_size\": 2048, \"num_attention_heads\": 16, \"intermediate_size\": 8192";

TEST(HuggingFaceImport, LayersThatSeeAWindowAreNotAllOfThem)
{
    const auto oss = importedText(
        config("gpt_oss", kSizes + ", \"num_key_value_heads\": 8, \"sliding_window\": 128, \"attention_bias\": true, "
                                   "\"num_local_experts\": 32, \"num_experts_per_tok\": 4"));
    EXPECT_EQ(oss.at("/model/sliding_window_pattern"), 2);
    EXPECT_EQ(oss.at("/model/attention_sinks"), true);
    EXPECT_EQ(oss.at("/model/attention_output_bias"), true);
    const auto listed =
        importedText(config("gpt_oss", "\"num_hidden_layers\": 2, \"hidden_size\": 256, \"num_attention_heads\": 4, "
                                       "\"intermediate_size\": 512, \"sliding_window\": 128, "
                                       "\"layer_types\": [\"sliding_attention\", \"full_attention\"]"));
    EXPECT_EQ(listed.at("/model/sliding_window_pattern"), 2) << "each second layer sees all";
    EXPECT_EQ(importedText(config("gemma2", kSizes + ", \"sliding_window\": 4096")).at("/model/sliding_window_pattern"), 2);
    const auto gemma3 = importedText(config("gemma3_text", kSizes + ", \"sliding_window\": 512, \"sliding_window_pattern\": 6"));
    EXPECT_EQ(gemma3.at("/model/sliding_window_pattern"), 6);
    EXPECT_EQ(gemma3.at("/model/qk_norm"), true);
}

TEST(HuggingFaceImport, OneHeadOfKeysIsSharedByAll)
{
    EXPECT_EQ(importedText(config("falcon", "\"num_hidden_layers\": 32, \"hidden_size\": 4544, \"num_attention_heads\": 71, "
                                            "\"multi_query\": true, \"new_decoder_architecture\": false, \"bias\": false"))
                  .at("/model/num_key_value_heads"),
              1);
    EXPECT_EQ(importedText(config("falcon", "\"num_hidden_layers\": 60, \"hidden_size\": 8192, \"num_attention_heads\": 128, "
                                            "\"num_kv_heads\": 8, \"multi_query\": true, \"new_decoder_architecture\": true"))
                  .at("/model/num_key_value_heads"),
              8);
    EXPECT_EQ(importedText(config("gpt_bigcode",
                                  "\"n_layer\": 40, \"n_embd\": 6144, \"n_head\": 48, \"n_inner\": 24576, \"n_positions\": 8192"))
                  .at("/model/num_key_value_heads"),
              1);
}

TEST(HuggingFaceImport, FamiliesHaveNamesOfTheirOwn)
{
    const auto opt =
        importedText(config("opt", "\"num_hidden_layers\": 64, \"hidden_size\": 9216, \"num_attention_heads\": 72, "
                                   "\"ffn_dim\": 36000, \"activation_function\": \"relu\", \"max_position_embeddings\": 2048"));
    EXPECT_EQ(opt.at("/model/intermediate_size"), 36000);
    EXPECT_EQ(opt.became("activation_function"), "not_representable");
    const auto dbrx =
        importedText(config("dbrx", "\"n_layers\": 40, \"d_model\": 6144, \"n_heads\": 48, \"max_seq_len\": 32768, "
                                    "\"attn_config\": {\"kv_n_heads\": 8, \"rope_theta\": 500000}, "
                                    "\"ffn_config\": {\"ffn_hidden_size\": 10752, \"moe_num_experts\": 16, \"moe_top_k\": 4}"));
    EXPECT_EQ(dbrx.at("/model/num_key_value_heads"), 8);
    EXPECT_EQ(dbrx.at("/model/num_experts"), 16);
    EXPECT_EQ(dbrx.at("/model/num_experts_per_tok"), 4);
    EXPECT_EQ(dbrx.at("/model/moe_intermediate_size"), 10752);
    const auto bert = importedText(config("bert", kSizes + ", \"layer_norm_eps\": 1e-12, \"hidden_act\": \"gelu\""));
    EXPECT_EQ(bert.at("/model/gated_mlp"), false);
    EXPECT_EQ(bert.at("/model/position_embedding"), "learned");
    EXPECT_EQ(importedText(config("smollm3", kSizes + ", \"no_rope_layers\": [1, 1, 1, 0, 1, 1, 1, 0]"))
                  .at("/model/no_rope_layer_interval"),
              4);
}

TEST(HuggingFaceImport, AnEncoderBesideTheDecoderIsSaidToBeAStandIn)
{
    const auto t5 = importedText(config("t5", "\"d_model\": 1024, \"d_ff\": 2816, \"d_kv\": 64, \"num_layers\": 24, "
                                              "\"num_decoder_layers\": 24, \"num_heads\": 16, \"vocab_size\": 32128, "
                                              "\"is_gated_act\": true, \"dense_act_fn\": \"gelu_new\""));
    EXPECT_EQ(t5.at("/model/num_hidden_layers"), 48);
    EXPECT_EQ(t5.at("/model/num_attention_heads"), 16);
    EXPECT_EQ(t5.at("/model/intermediate_size"), 2816);
    EXPECT_EQ(t5.at("/model/gated_mlp"), true);
    EXPECT_EQ(t5.at("/model/hidden_act"), "gelu");
    EXPECT_EQ(t5.became("model_type"), "not_representable");
    EXPECT_THAT(t5.textOn("model_type"), testing::HasSubstr("stand-in"));
    EXPECT_EQ(t5.count(Became::unknown), 4) << "GPUs, micro-batch, sequence, cluster: all of the model is read";
    const auto bart = importedText(config("bart", "\"d_model\": 1024, \"encoder_layers\": 12, \"decoder_layers\": 12, "
                                                  "\"encoder_attention_heads\": 16, \"encoder_ffn_dim\": 4096, "
                                                  "\"vocab_size\": 50265, \"max_position_embeddings\": 1024"));
    EXPECT_EQ(bart.at("/model/num_hidden_layers"), 24);
    EXPECT_EQ(bart.became("model_type"), "not_representable");
}

TEST(HuggingFaceImport, AModelBesideAnEncoderIsItsTextPart)
{
    const auto out =
        importedText("{\"model_type\": \"llama4\", \"text_config\": {\"model_type\": \"llama4_text\", \"num_hidden_layers\": 48, "
                     "\"hidden_size\": 5120, \"num_attention_heads\": 40, \"num_key_value_heads\": 8, \"vocab_size\": 202048, "
                     "\"intermediate_size\": 8192, \"intermediate_size_mlp\": 16384, \"interleave_moe_layer_step\": 1, "
                     "\"num_local_experts\": 16, \"num_experts_per_tok\": 1, \"attention_chunk_size\": 8192}, "
                     "\"vision_config\": {\"hidden_size\": 1408}}");
    EXPECT_EQ(out.at("/model/hidden_size"), 5120);
    EXPECT_EQ(out.became("model_type"), "not_representable");
    EXPECT_THAT(out.textOn("model_type"), testing::HasSubstr("stand-in"));
    EXPECT_EQ(out.at("/model/intermediate_size"), 16384);
    EXPECT_EQ(out.at("/model/moe_intermediate_size"), 8192);
    EXPECT_EQ(out.at("/model/num_shared_experts"), 1);
    EXPECT_EQ(out.at("/model/no_rope_layer_interval"), 4);
    EXPECT_EQ(out.became("vision_config.hidden_size"), "not_representable");
}

const std::string kNanotron =
    "parallelism:\n  dp: 2\n  tp: 1\n  pp: 1\ntokens:\n  micro_batch_size: 2\n  sequence_length: 1024\n"
    "  batch_accumulation_per_replica: 1\nmodel:\n  dtype: bfloat16\n  model_config:\n    num_hidden_layers: 12\n"
    "    hidden_size: 1024\n    num_attention_heads: 16\n    intermediate_size: 4096\n    vocab_size: 32000\n";

TEST(HuggingFaceImport, ExpertsBeginWhereEachFamilyCountsThemFrom)
{
    const auto firstOf = [](const std::string& type, const std::string& keys) {
        return importedText("{\"model_type\": \"" + type +
                            "\", \"num_hidden_layers\": 8, \"hidden_size\": 256, \"num_attention_heads\": 4, "
                            "\"num_key_value_heads\": 4, \"vocab_size\": 1000, \"intermediate_size\": 512, "
                            "\"moe_intermediate_size\": 256, \"n_routed_experts\": 4, \"num_experts_per_tok\": 2, " +
                            keys + "}")
            .at("/model/first_k_dense_replace");
    };
    // DeepSeek's layers are those whose number the step divides, but for the first k.
    EXPECT_EQ(firstOf("deepseek_v2", "\"first_k_dense_replace\": 1, \"moe_layer_freq\": 2"), 2);
    EXPECT_EQ(firstOf("deepseek_v2", "\"first_k_dense_replace\": 4, \"moe_layer_freq\": 2"), 4);
    EXPECT_EQ(firstOf("deepseek_v2", "\"first_k_dense_replace\": 3, \"moe_layer_freq\": 1"), 3);
    // Of each step Llama 4's is the last.
    EXPECT_EQ(firstOf("llama4_text", "\"interleave_moe_layer_step\": 2"), 1);
}

TEST(NanotronImport, ExpertsAreThoseOfItsOwnDefaults)
{
    const auto qwen = importedText(kNanotron + "    moe_config:\n      num_experts: 8\n      enable_shared_expert: true\n");
    EXPECT_EQ(qwen.at("/model/num_experts_per_tok"), 2);
    EXPECT_EQ(qwen.at("/model/moe_intermediate_size"), 1408);
    EXPECT_EQ(qwen.at("/model/num_shared_experts"), 4);
    const auto first = importedText(kNanotron + "    is_llamoe_config: true\n    moe_num_experts: 4\n    num_experts_per_tok: 1\n"
                                                "    moe_capacity_factor: 1\n");
    EXPECT_EQ(first.at("/model/num_experts"), 4);
    EXPECT_EQ(first.at("/model/moe_intermediate_size"), 4096);
    EXPECT_EQ(first.became("model.model_config.moe_capacity_factor"), "not_representable");
    EXPECT_EQ(importedText(kNanotron + "    is_mamba_config: true\n").became("model.model_config.is_mamba_config"),
              "not_representable");
    EXPECT_EQ(importedText(kNanotron + "    rope_theta: 500000.0\n").at("/model/rope_theta"), 500000);
}

TEST(MaxTextImport, IsCompiledByXla)
{
    EXPECT_EQ(
        importedText("model_name: llama3-8b\nici_fsdp_parallelism: 8\nper_device_batch_size: 2\n", 8).at("/training/stack/id"),
        "xla");
}

TEST(MaxTextImport, AxesThatAreNotGivenTakeTheRest)
{
    const auto sharded =
        importedText("python3 -m maxtext.train base.yml run_name=x ici_tensor_parallelism=4 per_device_batch_size=2 "
                     "base_emb_dim=4096",
                     32);
    EXPECT_EQ(sharded.at("/layout/tp"), 4);
    EXPECT_EQ(sharded.at("/layout/dp"), 8);
    EXPECT_EQ(sharded.at("/layout/zero_stage"), 3);
    const auto replicated =
        importedText("python3 -m maxtext.train base.yml ici_fsdp_parallelism=8 per_device_batch_size=2 base_emb_dim=4096", 32);
    EXPECT_EQ(replicated.at("/layout/dp"), 32);
    EXPECT_EQ(replicated.at("/layout/dp_shard"), 8);
    EXPECT_EQ(replicated.count(Became::contradictory), 0);
}

TEST(MaxTextImport, ReadsACommandOfAScriptWithItsVariables)
{
    const auto out =
        importedText("export BATCH=${1:-4}\nEXECUTABLE=train\nfor ARGUMENT in \"$@\"; do\n  export \"$KEY\"=\"$VALUE\"\ndone\n"
                     "python3 -m maxtext.$EXECUTABLE base.yml run_name=$RUN \\\n  per_device_batch_size=$BATCH "
                     "ici_fsdp_parallelism=8 global_parameter_scale=64 max_target_length=4096\n",
                     8);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 64); // 16 x 4, as base.yml has 16
    EXPECT_EQ(out.at("/model/hidden_size"), 8192);
    EXPECT_EQ(out.at("/model/num_attention_heads"), 64);
    for (const sim::Note& note : out.imported.notes)
        EXPECT_FALSE(note.line > 0 && note.became == Became::unknown) << note.setting << ": " << note.text;
}

TEST(MaxTextImport, WhatAFileBesideBaseSetsIsAskedFor)
{
    const std::string head = "#!/bin/bash\npython3 -m maxtext.trainers.pre_train.train ${ROOT:-$PWD}/configs/";
    const auto out = importedText(head + "models/gpu/llama2_7b.yml run_name=x dcn_data_parallelism=2 ici_fsdp_parallelism=8\n");
    for (const char* pointer : {"/model", "/training/micro_batch_size", "/training/sequence_length", "/training/recompute"})
        EXPECT_THAT(out.imported.unknown, testing::Contains(pointer));
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 32) << "by the file's name";
    EXPECT_EQ(out.became("llama2_7b.yml"), "unknown");
    const auto base = importedText(head + "base.yml run_name=x dcn_data_parallelism=2 ici_fsdp_parallelism=8\n");
    EXPECT_EQ(base.at("/model/num_hidden_layers"), 16);
    EXPECT_THAT(base.imported.unknown, testing::Not(testing::Contains("/model")));
}

TEST(MaxTextImport, OfSeveralCommandsTheOneThatTrainsIsRead)
{
    const auto out =
        importedText("M=llama3-8b\npython3 -m tests.utils.forward_pass_logit_checker base.yml run_name=a model_name=$M "
                     "per_device_batch_size=1 max_target_length=4 ici_fsdp_parallelism=1 ici_tensor_parallelism=4 steps=1\n"
                     "python3 -m maxtext.trainers.pre_train.train base.yml run_name=b model_name=$M per_device_batch_size=2 "
                     "max_target_length=1024 ici_fsdp_parallelism=4\n"
                     "python3 -m maxtext.inference.decode base.yml run_name=c model_name=$M per_device_batch_size=1 "
                     "max_prefill_predict_length=512 max_target_length=512 ici_tensor_parallelism=4 scan_layers=False\n",
                     4);
    EXPECT_EQ(out.at("/layout/tp"), 1);
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/sequence_length"), 1024);
    for (const char* other : {"tests.utils.forward_pass_logit_checker", "maxtext.inference.decode"}) {
        EXPECT_EQ(out.became(other), "unknown");
        EXPECT_THAT(out.textOn(other), testing::HasSubstr("that of line 3"));
    }
}

TEST(MaxTextImport, PositionsAreStretchedAndExpertsGroupedAsTheFileSays)
{
    // configs/models/deepseek3-671b.yml
    const std::string deepseek =
        "base_emb_dim: 7168\nbase_num_query_heads: 128\nbase_num_kv_heads: 128\nbase_mlp_dim: 18432\nbase_moe_mlp_dim: 2048\n"
        "base_num_decoder_layers: 61\nfirst_num_dense_layers: 3\nnum_experts: 256\nnum_experts_per_tok: 8\nshared_experts: 1\n"
        "n_routing_groups: 8\ntopk_routing_group: 4\nkv_lora_rank: 512\nq_lora_rank: 1536\nqk_nope_head_dim: 128\n"
        "qk_rope_head_dim: 64\nv_head_dim: 128\nvocab_size: 129280\ndecoder_block: \"deepseek\"\n";
    const auto out =
        importedText(deepseek + "rope_type: \"yarn\"\nmax_position_embeddings: 163840\nbeta_fast: 16\nmscale: 0.707\n", 8);
    EXPECT_EQ(out.at("/model/n_group"), 8);
    EXPECT_EQ(out.at("/model/topk_group"), 4);
    EXPECT_EQ(out.at("/model/rope_scaling/rope_type"), "yarn");
    EXPECT_EQ(out.at("/model/rope_scaling/factor"), 40) << "base.yml's";
    EXPECT_EQ(out.at("/model/rope_scaling/beta_fast"), 16);
    EXPECT_EQ(out.at("/model/rope_scaling/mscale_all_dim"), 0.707);
    EXPECT_EQ(out.at("/model/max_position_embeddings"), 163840);
    EXPECT_EQ(importedText(deepseek + "beta_fast: 16\n", 8).became("beta_fast"), "harmless") << "of yarn alone";
    EXPECT_EQ(importedText("model_name: deepseek2-16b\nper_device_batch_size: 1\n", 8).at("/model/num_hidden_layers"), 27);
}

TEST(MaxTextImport, LayersAreOfTheKindTheFileSays)
{
    const auto out =
        importedText("base_emb_dim: 12288\nbase_num_query_heads: 96\nbase_num_kv_heads: 96\nbase_mlp_dim: 49152\n"
                     "base_num_decoder_layers: 96\nhead_dim: 128\ntrainable_position_size: 16384\nmlp_activations: [\"gelu\"]\n"
                     "vocab_size: 50304\ndecoder_block: \"gpt3\"\nlogits_via_embedding: true\n",
                     8);
    EXPECT_EQ(out.at("/model/hidden_act"), "gelu");
    EXPECT_EQ(out.at("/model/gated_mlp"), false);
    EXPECT_EQ(out.at("/model/position_embedding"), "learned");
    EXPECT_EQ(out.at("/model/tie_word_embeddings"), true);
}

TEST(AxolotlImport, ExpertsAreAnAxisThatTheWorldHolds)
{
    const auto out =
        importedText("base_model: Qwen/Qwen3-30B-A3B\nexpert_parallel_size: 4\nsequence_len: 2048\nmicro_batch_size: 1\n"
                     "attn_implementation: eager\nbf16: auto\n");
    EXPECT_EQ(out.at("/layout/dp"), 4);
    EXPECT_EQ(out.at("/layout/ep"), 4);
    EXPECT_EQ(out.at("/training/flash_attention"), false);
}

TEST(AxolotlImport, TheCataloguesModelsForTestsAreNobodyElses)
{
    const auto of = [](const std::string& name) {
        return importedText("base_model: " + name + "\nsequence_len: 2048\nmicro_batch_size: 1\n", 8);
    };
    EXPECT_EQ(of("Acme/Tiny-Llama-9b").became("base_model"), "unknown");
    EXPECT_EQ(of("TinyLlama/TinyLlama_v1.1").at("/model/hidden_size"), 2048) << "of 1.1 billion parameters";
}

/// YAML 1.1 of PyYAML, and a float that is a whole number of steps.
TEST(NanotronImport, WordsOfYamlInCapitalsAreReadAsPythonReadsThem)
{
    const auto of = [](const std::string& recomputes) {
        return importedText("parallelism: {dp: 8, pp: 1, tp: 1, pp_engine: afab, recompute_layer: " + recomputes +
                            "}\ntokens: {sequence_length: 2048, micro_batch_size: 1, train_steps: 200000}\nmodel:\n"
                            "  model_config: {hidden_size: 1024, num_hidden_layers: 8, num_attention_heads: 16,"
                            " intermediate_size: 4096, vocab_size: 32000, max_position_embeddings: 2048}\n"
                            "optimizer: {zero_stage: 0, accumulate_grad_in_fp32: true}\n");
    };
    for (const char* on : {"TRUE", "True", "true", "YES", "On", "ON"})
        EXPECT_EQ(of(on).at("/training/recompute"), "full") << on;
    for (const char* off : {"FALSE", "False", "NO", "Off", "OFF"}) {
        EXPECT_EQ(of(off).at("/training/recompute"), "none") << off;
        EXPECT_EQ(of(off).became("parallelism.recompute_layer"), "used") << off;
    }
    EXPECT_EQ(of("NULL").became("parallelism.recompute_layer"), "default");
    EXPECT_EQ(of("TRUE").at("/training/tokens"), 2e5 * 8 * 2048);
}

/// PyYAML reads 2e5 as a word, having no point in it, and dacite takes no word or fraction for a whole number. What is meant is
/// read, and that it would be refused is told.
TEST(NanotronImport, NumbersWithAnExponentAreReadAndToldAsRefused)
{
    const auto of = [](const std::string& steps) {
        return importedText("parallelism: {dp: 8, pp: 1, tp: 1, pp_engine: afab}\ntokens: {sequence_length: 2048, "
                            "micro_batch_size: 1, train_steps: " +
                            steps +
                            "}\nmodel:\n  model_config: {hidden_size: 1024, num_hidden_layers: 8, num_attention_heads: 16,"
                            " intermediate_size: 4096, vocab_size: 32000, max_position_embeddings: 2048}\n");
    };
    for (const char* steps : {"2e5", "2.0e+5", "200000"}) {
        const auto out = of(steps);
        EXPECT_EQ(out.at("/training/tokens"), 2e5 * 8 * 2048) << steps;
        EXPECT_EQ(out.count(sim::Became::contradictory), steps == std::string("200000") ? 0 : 1) << steps;
    }
}

TEST(NanotronImport, PositionsAreScaledAndLeftOutAsTheModelSays)
{
    const auto out =
        importedText("parallelism: {dp: 2, pp: 1, tp: 2, pp_engine: 1f1b, tp_mode: REDUCE_SCATTER}\n"
                     "tokens: {sequence_length: 4096, micro_batch_size: 1}\nmodel:\n  dtype: bfloat16\n  model_config:\n"
                     "    hidden_size: 2048\n    num_hidden_layers: 8\n    num_attention_heads: 16\n    intermediate_size: 8192\n"
                     "    vocab_size: 32000\n    max_position_embeddings: 4096\n    no_rope_layer: 4\n    rope_scaling:\n"
                     "      rope_type: llama3\n      factor: 32.0\n      low_freq_factor: 1.0\n      high_freq_factor: 4.0\n"
                     "      original_max_position_embeddings: 8192\n"
                     "optimizer: {zero_stage: 0, accumulate_grad_in_fp32: true}\n");
    EXPECT_EQ(out.at("/model/rope_scaling/factor"), 32);
    EXPECT_EQ(out.at("/model/no_rope_layer_interval"), 4);
    EXPECT_EQ(out.count(sim::Became::notRepresentable), 0);
}

TEST(HuggingFaceImport, RotationIsOneTableSinceTransformersFive)
{
    const auto out = importedText(
        "{\"model_type\": \"llama\", \"hidden_size\": 2048, \"num_hidden_layers\": 8, \"num_attention_heads\": 16,\n"
        "\"intermediate_size\": 8192, \"vocab_size\": 32000, \"max_position_embeddings\": 8192, \"rope_parameters\": {\n"
        "\"rope_theta\": 500000.0, \"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0,\n"
        "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}}",
        8, "config.json");
    EXPECT_EQ(out.at("/model/rope_theta"), 500000);
    EXPECT_EQ(out.at("/model/rope_scaling/factor"), 8);
}

TEST(HuggingFaceImport, AnEpsilonOfNormalisationSaysNothingOfItsKind)
{
    const auto out =
        importedText("{\"model_type\": \"transformer\", \"hidden_size\": 2048, \"num_hidden_layers\": 8, \"num_heads\": 16,\n"
                     "\"intermediate_size\": 8192, \"vocab_size\": 32000, \"norm_eps\": 1e-6, \"hidden_act\": \"swish\"}",
                     8, "config.json");
    EXPECT_EQ(out.at("/model/normalization"), "rmsnorm");
    EXPECT_EQ(out.at("/model/num_attention_heads"), 16);
}

std::string becameOf(const sim::Imported& imported, const std::string& setting)
{
    for (const sim::Note& note : imported.notes)
        if (note.setting == setting)
            return std::string(sim::wordOf(note.became));
    return "no note";
}

const std::string kAccelerateDeepSpeed =
    "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds_z3.json\n"
    "  zero3_init_flag: true\nnum_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n";

TEST(AccelerateImport, DeepSpeedsFileSaysWhatItsOwnDoesNot)
{
    const sim::SettingsFile yaml{.name = "acc.yaml", .text = kAccelerateDeepSpeed};
    const sim::SettingsFile file{.name = "ds_z3.json",
                                 .text = R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
                                            "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 2,
                                            "gradient_accumulation_steps": 4})"};
    for (const auto& files : {std::vector{yaml, file}, std::vector{file, yaml}}) {
        const sim::Imported out = sim::importSettings(files, {}, test::catalogue());
        const Json scenario = Json::parse(out.scenario);
        EXPECT_EQ(out.kind, "accelerate-yaml");
        EXPECT_EQ(scenario["layout"]["zero_stage"], 3);
        EXPECT_EQ(scenario["training"]["micro_batch_size"], 2);
        EXPECT_EQ(scenario["training"]["global_batch_size"], 2 * 4 * 16);
        EXPECT_EQ(scenario["training"]["offload"]["optimizer"], 1);
        EXPECT_EQ(becameOf(out, "deepspeed_config.deepspeed_config_file"), "used");
    }
    const auto alone = importedText(kAccelerateDeepSpeed);
    EXPECT_EQ(alone.became("deepspeed_config.deepspeed_config_file"), "unknown");
    EXPECT_EQ(alone.at("/layout/zero_stage"), 3) << "by its name";
    std::string other = kAccelerateDeepSpeed;
    other.replace(other.find("ds_z3"), 5, "config");
    EXPECT_THAT(importedText(other).imported.unknown, testing::Contains("/layout/zero_stage"));
    EXPECT_EQ(importedText("distributed_type: DEEPSPEED\nnum_processes: 16\ndeepspeed_config:\n  zero3_init_flag: true\n")
                  .at("/layout/zero_stage"),
              2);
}

TEST(AccelerateImport, MegatronsWordsOnItAreMegatrons)
{
    const auto out = importedText(
        "distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  megatron_lm_num_micro_batches: 8\n  megatron_lm_pp_degree: 2\n"
        "  megatron_lm_recompute_activations: true\n  megatron_lm_sequence_parallelism: true\n  megatron_lm_tp_degree: 2\n"
        "  megatron_lm_gradient_clipping: 1.0\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n");
    EXPECT_EQ(out.at("/training/global_batch_size"), 8 * 2);
    EXPECT_EQ(out.at("/training/recompute"), "selective");
    EXPECT_EQ(out.became("megatron_lm_config.megatron_lm_num_micro_batches"), "used");
    EXPECT_EQ(out.became("megatron_lm_config.megatron_lm_gradient_clipping"), "harmless");
}

TEST(Optimizers, ThatAreNotTheScenariosAreToldInEveryKind)
{
    const std::string axolotl = "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 4096\nmicro_batch_size: 1\noptimizer: ";
    for (const char* other : {"adamw_bnb_8bit", "paged_adamw_32bit", "lion_8bit", "adafactor", "muon"})
        EXPECT_EQ(importedText(axolotl + other + "\n", 8).became("optimizer"), "not_representable") << other;
    for (const char* own : {"adamw_torch_fused", "adamw_torch", "adamw_apex_fused", "sgd"})
        EXPECT_EQ(importedText(axolotl + own + "\n", 8).became("optimizer"), "used") << own;
    EXPECT_EQ(importedText(axolotl + "sgd\n", 8).at("/training/optimizer"), "sgd");
    const auto tuned = importedText(axolotl + "adamw_torch\nadapter: qlora\nlora_r: 32\nlora_dropout: 0.05\nload_in_4bit: true\n"
                                              "liger_fused_linear_cross_entropy: true\n",
                                    8);
    EXPECT_EQ(tuned.at("/training/lora/base_dtype"), "nf4");
    EXPECT_EQ(tuned.at("/training/lora/dropout"), 0.05);
    EXPECT_EQ(tuned.at("/training/loss_chunk_tokens"), 1024);
    const auto deepSpeed = [](const std::string& type) {
        return importedText(
                   R"({"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 2, "optimizer": {"type": ")" + type +
                       "\"}}",
                   8)
            .became("optimizer.type");
    };
    EXPECT_EQ(deepSpeed("Lamb"), "not_representable");
    EXPECT_EQ(deepSpeed("OneBitAdam"), "not_representable");
    EXPECT_EQ(deepSpeed("AdamW"), "used");
    const std::string titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 2048\n[optimizer]\nname = ";
    EXPECT_EQ(importedText(titan + "\"Lion\"\n", 8).became("optimizer.name"), "not_representable");
    EXPECT_EQ(importedText(titan + "\"AdamW\"\n", 8).became("optimizer.name"), "used");
    const std::string factory = "optimizer:\n  optimizer_factory:\n    name: ";
    EXPECT_EQ(importedText(kNanotron + factory + "lion\n").became("optimizer.optimizer_factory.name"), "not_representable");
    EXPECT_EQ(importedText(kNanotron + factory + "adamW\n").became("optimizer.optimizer_factory.name"), "used");
}

TEST(DeepSpeedImport, GradientsHaveAFormatOfTheirOwn)
{
    const std::string head =
        R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}, )";
    const auto two = importedText(head + R"("data_types": {"grad_accum_dtype": "bf16"}, "communication_data_type": "fp32"})", 8);
    EXPECT_EQ(two.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(two.became("data_types.grad_accum_dtype"), "used");
    EXPECT_EQ(two.became("communication_data_type"), "not_representable");
    const auto four = importedText(head + R"("data_types": {"grad_accum_dtype": "fp32"}, "communication_data_type": "bf16"})", 8);
    EXPECT_EQ(four.at("/training/gradient_dtype"), "fp32");
    EXPECT_EQ(four.became("communication_data_type"), "harmless") << "the default of bf16";
}

TEST(HuggingFaceImport, WhatAFamilyLeavesOutIsItsOwn)
{
    const auto coder = importedText(config("starcoder2", kSizes + ", \"scale_attention_softmax_in_fp32\": true"));
    EXPECT_EQ(coder.at("/model/tie_word_embeddings"), true);
    EXPECT_EQ(coder.became("scale_attention_softmax_in_fp32"), "harmless");
    const auto gemma = importedText(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
        "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}, "vision_config": {"hidden_size": 1152}})");
    EXPECT_EQ(gemma.at("/model/num_attention_heads"), 8);
    EXPECT_EQ(gemma.at("/model/num_key_value_heads"), 4);
    EXPECT_EQ(gemma.at("/model/head_dim"), 256);
    EXPECT_EQ(gemma.at("/model/vocab_size"), 262208);
    EXPECT_EQ(gemma.at("/model/hidden_size"), 2560);
    EXPECT_THAT(gemma.imported.unknown, testing::Not(testing::Contains("/model")));
    EXPECT_EQ(importedText(config("gpt_neox", kSizes + ", \"rotary_pct\": 0.25")).became("rotary_pct"), "not_representable");
    EXPECT_EQ(importedText(config("gpt_neox", kSizes + ", \"rotary_pct\": 1.0")).became("rotary_pct"), "harmless");
}

TEST(MaxTextImport, FormatsAndOptimizersAreNotHarmless)
{
    const std::string head = "base_emb_dim: 2048\nbase_num_decoder_layers: 16\nici_fsdp_parallelism: 8\n";
    const auto weights = importedText(head + "weight_dtype: bfloat16\n", 8);
    EXPECT_EQ(weights.became("weight_dtype"), "not_representable");
    EXPECT_EQ(weights.at("/training/moment_dtype"), "bf16");
    EXPECT_EQ(weights.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(importedText(head + "weight_dtype: float32\n", 8).became("weight_dtype"), "harmless");
    EXPECT_EQ(importedText(head + "opt_type: sgd\n", 8).at("/training/optimizer"), "sgd");
    EXPECT_EQ(importedText(head + "opt_type: muon\n", 8).became("opt_type"), "not_representable");
    EXPECT_EQ(importedText(head + "opt_type: adam_pax\n", 8).became("opt_type"), "used");
    EXPECT_EQ(importedText(head + "quantization: int8\n", 8).became("quantization"), "not_representable");
    EXPECT_EQ(importedText(head + "quantization: fp8\n", 8).at("/training/precision"), "fp8");
}

TEST(KindOfSettings, ATorchtitanRegistryIsToldHowToPrint)
{
    const std::string registry = "from torchtitan.trainer import Trainer\n\ndef llama3_debugmodel() -> Trainer.Config:\n"
                                 "    return Trainer.Config(training=TrainingConfig(local_batch_size=8))\n";
    for (const char* kind : {"", "torchtitan-toml"}) {
        std::string told;
        try {
            sim::importSettings({{"config_registry.py", registry}}, {.kind = kind}, test::catalogue());
        } catch (const sim::Error& error) {
            told = error.what();
        }
        EXPECT_THAT(told, testing::HasSubstr("--debug.print_config")) << kind;
    }
}

TEST(MaxTextImport, AScriptWhoseHelpNamesSettingsIsAScript)
{
    const auto out = importedText("#!/bin/bash\nusage() { echo -e \"\\t-i ici_tensor_parallelism: 8\"; }\n"
                                  "python3 -m maxtext.trainers.pre_train.train base.yml model_name=llama3-8b "
                                  "ici_tensor_parallelism=2 ici_fsdp_parallelism=4 per_device_batch_size=1\n",
                                  8);
    EXPECT_EQ(out.at("/layout/tp"), 2);
}

TEST(AxolotlImport, AdaptersBesideOtherLayersAreTold)
{
    const auto out = importedText("base_model: meta-llama/Meta-Llama-3-8B\nadapter: lora\nlora_r: 16\nsequence_len: 4096\n"
                                  "lora_target_modules:\n  - q_proj\n  - in_proj\nmicro_batch_size: 1\n",
                                  8);
    EXPECT_EQ(out.became("lora_target_modules"), "not_representable");
    EXPECT_EQ(out.at("/training/lora/targets"), Json({"q_proj"}));
}

/// The software is left open where a compiler runs the model, and that is told.
TEST(AccelerateImport, TellsThatACompilerLeavesTheSoftwareOpen)
{
    const std::string fsdp = "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n";
    EXPECT_EQ(importedText(fsdp + "dynamo_config:\n  dynamo_backend: INDUCTOR\n").became("dynamo_config.dynamo_backend"),
              "not_representable");
    EXPECT_EQ(importedText(fsdp + "dynamo_config:\n  dynamo_backend: 'NO'\n").became("dynamo_config.dynamo_backend"), "harmless");
    const std::string axolotl = "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n";
    EXPECT_EQ(importedText(axolotl + "torch_compile: true\n", 8).became("torch_compile"), "not_representable");
    EXPECT_EQ(importedText(axolotl + "torch_compile: false\n", 8).became("torch_compile"), "harmless");
}

TEST(DeepSpeedImport, GuessesAsManyRanksAsItsShardsLieOver)
{
    const auto out = importedText(R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 8,
        "zero_optimization": {"stage": 3, "mics_shard_size": 8}, "tensor_parallel": {"autotp_size": 4}, "bf16": {"enabled": true}})");
    EXPECT_EQ(out.at("/layout/dp_shard"), 8);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_THAT(out.textOn("layout.dp"), testing::HasSubstr("32 ranks, the fewest that its shards lie over"));
}

} // namespace
