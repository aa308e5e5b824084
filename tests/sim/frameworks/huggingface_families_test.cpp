// What families of Hugging Face's models always have, and what they call by names of their own.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Json;
using test::importedText;
using testing::HasSubstr;

/// A config.json of a type, with the sizes of a model and `more` members.
test::ImportedText configOf(const std::string& type, const std::string& more = "")
{
    return importedText("{\"model_type\": \"" + type +
                            "\", \"hidden_size\": 2048, \"num_attention_heads\": 16, \"num_key_value_heads\": 4, "
                            "\"num_hidden_layers\": 8, \"intermediate_size\": 8192, \"vocab_size\": 32000, "
                            "\"max_position_embeddings\": 4096, \"tie_word_embeddings\": false" +
                            (more.empty() ? "" : ", " + more) + "}",
                        8);
}

const std::string kExperts = R"("num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 1024)";

TEST(HuggingFaceFamilies, ALanguageModelWithOtherInputsIsOneOfItsFamily)
{
    for (const char* type : {"qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_5_vl_text"})
        EXPECT_EQ(configOf(type).at("/model/qkv_bias"), true) << type;
    for (const char* type : {"qwen3", "qwen3_vl_text", "exaone4", "apertus"})
        EXPECT_EQ(configOf(type).at("/model/qk_norm"), true) << type;
    EXPECT_EQ(configOf("qwen3_vl_moe_text", kExperts).at("/model/qk_norm"), true);
    EXPECT_EQ(configOf("llama").at("/model/qk_norm"), false);
}

TEST(HuggingFaceFamilies, RotationsOfKimiHaveNothingBetweenFastAndSlow)
{
    const auto scaled = [](const char* fast) {
        const auto out = configOf("llama", std::string(R"("rope_scaling": {"type": "yarn", "factor": 32, "beta_slow": 1, )") +
                                               R"("original_max_position_embeddings": 4096, "beta_fast": )" + fast + "}");
        return sim::ScenarioDocument::parse(out.imported.scenario).resolve(test::catalogue()).scenario.has_value();
    };
    EXPECT_TRUE(scaled("32"));
    EXPECT_TRUE(scaled("1")) << "config.json of Kimi-K2-Base";
    EXPECT_FALSE(scaled("0.5"));
}

/// transformers, modeling_rope_utils.py: the kind says how, and each but "default" wants a factor.
TEST(HuggingFaceFamilies, HalfARotationIsToldAndNotScaled)
{
    const auto of = [](const char* table) { return configOf("llama", std::string(R"("rope_scaling": )") + table); };
    EXPECT_TRUE(of(R"({"rope_type": "yarn"})").at("/model/rope_scaling").is_null());
    EXPECT_EQ(of(R"({"rope_type": "yarn"})").became("rope_scaling.rope_type"), "unknown");
    EXPECT_EQ(of(R"({"type": "linear"})").became("rope_scaling.type"), "unknown");
    EXPECT_EQ(of(R"({"factor": 4.0})").became("rope_scaling.factor"), "unknown");
    EXPECT_EQ(of(R"({"rope_type": "dynamic", "factor": 4.0})").became("rope_scaling.rope_type"), "not_representable");
    EXPECT_EQ(of(R"({"rope_type": "default"})").became("rope_scaling.rope_type"), "used");
    EXPECT_EQ(of(R"({"rope_type": "linear", "factor": 4})").at("/model/rope_scaling/factor"), 4);
    for (const char* noTable : {"[1, 2]", R"("yarn")", "4"}) {
        EXPECT_TRUE(of(noTable).at("/model/rope_scaling").is_null()) << noTable;
        EXPECT_EQ(of(noTable).became("rope_scaling"), "unknown") << noTable;
    }
    EXPECT_NE(of("null").became("rope_scaling"), "unknown");
    const auto half =
        of(R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "original_max_position_embeddings": 8192})");
    EXPECT_EQ(half.at("/model/rope_scaling/high_freq_factor"), 4);
    EXPECT_EQ(half.became("rope_scaling.low_freq_factor"), "used");
    EXPECT_EQ(half.became("rope_scaling.high_freq_factor"), "default");
}

TEST(HuggingFaceFamilies, AnEmptyListOfLayersWithoutRotationIsAsNone)
{
    const std::string experts = R"("num_local_experts": 16, "intermediate_size_mlp": 16384, "interleave_moe_layer_step": 1)";
    EXPECT_EQ(configOf("llama4_text", experts + R"(, "no_rope_layers": [])").at("/model/no_rope_layer_interval"), 4);
    EXPECT_EQ(
        configOf("llama4_text", experts + R"(, "no_rope_layers": [1, 1, 1, 1, 1, 1, 1, 1])").at("/model/no_rope_layer_interval"),
        0);
}

TEST(HuggingFaceFamilies, ExpertsThatABiasBalancesHaveARouterWithIt)
{
    EXPECT_EQ(configOf("kimi_k2", kExperts + R"(, "topk_method": "noaux_tc")").at("/model/router_bias"), true);
    EXPECT_EQ(configOf("deepseek_v2", kExperts + R"(, "topk_method": "greedy")").at("/model/router_bias"), false);
    EXPECT_EQ(configOf("deepseek_v3", kExperts).at("/model/router_bias"), true);
    EXPECT_EQ(configOf("minimax_m2", kExperts + R"(, "use_routing_bias": true)").at("/model/router_bias"), true);
    EXPECT_EQ(configOf("ernie4_5_moe", kExperts + R"(, "moe_use_aux_free": true)").at("/model/router_bias"), true);
}

TEST(HuggingFaceFamilies, TheFirstQwenIsLlamasWithBiasesAndHalfTheWidth)
{
    const auto out = configOf("qwen", R"("layer_norm_epsilon": 1e-6, "no_bias": true, "kv_channels": 128, "rotary_pct": 1.0)");
    EXPECT_EQ(out.at("/model/normalization"), "rmsnorm");
    EXPECT_EQ(out.at("/model/qkv_bias"), true);
    EXPECT_EQ(out.at("/model/bias"), false);
    EXPECT_EQ(out.at("/model/intermediate_size"), 4096);
    EXPECT_EQ(out.became("kv_channels"), "used");
}

TEST(HuggingFaceFamilies, ErniesExpertsHaveNamesOfTheirOwn)
{
    const auto out = configOf("ernie4_5_moe", R"("moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536,
        "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": 7, "moe_layer_interval": 1)");
    EXPECT_EQ(out.at("/model/num_experts"), 64);
    EXPECT_EQ(out.at("/model/num_experts_per_tok"), 6);
    EXPECT_EQ(out.at("/model/num_shared_experts"), 2);
    EXPECT_EQ(out.at("/model/first_k_dense_replace"), 1);
    EXPECT_EQ(out.became("moe_layer_end_index"), "used");
    EXPECT_EQ(configOf("ernie4_5_moe", kExperts + R"(, "moe_layer_end_index": 5)").became("moe_layer_end_index"),
              "not_representable");
}

TEST(HuggingFaceFamilies, ANumberForEachLayerIsOneWhereAllAreEqual)
{
    const auto out = configOf("hunyuan_v1_moe", R"("num_experts": 64, "moe_topk": [8, 8, 8, 8, 8, 8, 8, 8],
        "num_shared_expert": [1, 1, 1, 1, 1, 1, 1, 1], "moe_intermediate_size": [3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072])");
    EXPECT_EQ(out.at("/model/num_experts_per_tok"), 8);
    EXPECT_EQ(out.at("/model/num_shared_experts"), 1);
    EXPECT_EQ(out.at("/model/moe_intermediate_size"), 3072);
    EXPECT_EQ(out.became("moe_topk"), "used");
    const auto mixed = configOf("hunyuan_v1_moe", R"("num_experts": 64, "moe_topk": [8, 4, 8, 8, 8, 8, 8, 8])");
    EXPECT_EQ(mixed.at("/model/num_experts_per_tok"), 8);
    EXPECT_EQ(mixed.became("moe_topk"), "not_representable");
}

TEST(HuggingFaceFamilies, ChatGlmSaysItsVocabularyAndBiasesInItsOwnWords)
{
    const auto out = importedText(R"({"model_type": "chatglm", "num_layers": 28, "hidden_size": 4096, "num_attention_heads": 32,
        "multi_query_attention": true, "multi_query_group_num": 2, "ffn_hidden_size": 13696, "padded_vocab_size": 65024,
        "add_qkv_bias": true, "add_bias_linear": false, "layernorm_epsilon": 1e-05, "rmsnorm": true, "kv_channels": 128,
        "seq_length": 8192, "tie_word_embeddings": false})",
                                  8);
    EXPECT_EQ(out.at("/model/vocab_size"), 65024);
    EXPECT_EQ(out.at("/model/qkv_bias"), true);
    EXPECT_EQ(out.at("/model/bias"), false);
    EXPECT_EQ(out.at("/model/rms_norm_eps"), 1e-5);
    EXPECT_EQ(out.at("/model/head_dim"), 128);
    for (const sim::Note& note : out.imported.notes)
        EXPECT_FALSE(note.became == sim::Became::unknown && note.line > 0) << note.setting;
}

TEST(HuggingFaceFamilies, LayersOfOtherKindsAreTold)
{
    const auto jamba = configOf("jamba", kExperts + R"(, "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
        "expert_layer_offset": 1, "mamba_d_state": 16)");
    EXPECT_EQ(jamba.became("attn_layer_period"), "not_representable");
    EXPECT_EQ(jamba.became("mamba_d_state"), "not_representable");
    EXPECT_EQ(jamba.at("/model/moe_layer_freq"), 2);
    EXPECT_EQ(jamba.at("/model/first_k_dense_replace"), 1);
    EXPECT_EQ(configOf("minimax", R"("attn_type_list": [0, 1])").became("attn_type_list"), "not_representable");
    EXPECT_EQ(configOf("minimax_m2", R"("attn_type_list": [1, 1])").became("attn_type_list"), "harmless");
    EXPECT_EQ(configOf("apertus", R"("hidden_act": "xielu")").became("hidden_act"), "not_representable");
}

TEST(HuggingFaceFamilies, AttentionBesideTheMlpIsTold)
{
    EXPECT_EQ(configOf("falcon", R"("parallel_attn": true)").became("parallel_attn"), "not_representable");
    EXPECT_EQ(configOf("falcon", R"("parallel_attn": false)").became("parallel_attn"), "harmless");
    EXPECT_EQ(configOf("gpt_neox").became("use_parallel_residual"), "not_representable");
    const auto cohere = configOf("cohere");
    EXPECT_TRUE(std::any_of(cohere.imported.notes.begin(), cohere.imported.notes.end(), [](const sim::Note& note) {
        return note.became == sim::Became::notRepresentable && note.text.find("side by side") != std::string::npos;
    }));
}

TEST(HuggingFaceFamilies, LettersSayWhichLayersHaveAWindow)
{
    const auto out = configOf("exaone4", R"("sliding_window": 1024, "sliding_window_pattern": "LLLG")");
    EXPECT_EQ(out.at("/model/sliding_window_pattern"), 4);
    EXPECT_EQ(out.became("sliding_window_pattern"), "used");
    EXPECT_EQ(configOf("exaone4", R"("sliding_window": 1024, "sliding_window_pattern": "LGLL")").became("sliding_window_pattern"),
              "not_representable");
}

TEST(HuggingFaceFamilies, AModelThatSpeaksHasItsTextTwoBlocksIn)
{
    const auto out =
        test::importedText(R"({"model_type": "qwen3_omni_moe", "enable_talker": true, "thinker_config": {"model_type":
        "qwen3_omni_moe_thinker", "text_config": {"num_hidden_layers": 6, "hidden_size": 2048, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 768, "moe_intermediate_size": 768, "num_experts": 8,
        "num_experts_per_tok": 2, "vocab_size": 152064, "max_position_embeddings": 65536}}, "talker_config": {"hidden_size": 1024}})");
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 6);
    EXPECT_EQ(out.at("/model/num_experts"), 8);
    EXPECT_EQ(out.at("/model/vocab_size"), 152064);
    EXPECT_THAT(out.imported.unknown, testing::Not(testing::Contains("/model")));
}

TEST(HuggingFaceFamilies, SeedOssSaysOfItsOutputWhetherItHasABias)
{
    const auto of = [](const std::string& output) {
        return test::importedText(
            R"({"model_type": "seed_oss", "num_hidden_layers": 4, "hidden_size": 2048, "num_attention_heads": 16,
            "num_key_value_heads": 8, "intermediate_size": 6144, "vocab_size": 155136, "attention_bias": true, "attention_out_bias": )" +
            output + "}");
    };
    EXPECT_EQ(of("false").at("/model/attention_output_bias"), false);
    EXPECT_EQ(of("true").at("/model/attention_output_bias"), true);
    EXPECT_EQ(of("true").at("/model/qkv_bias"), true);
}

/// Beside its name in the catalogue a model's config.json changes nothing; that of Llama 3 is another's than 3.1's.
TEST(HuggingFaceFamilies, AConfigWithItsScalingIsTheCataloguesModel)
{
    const auto of = [](const std::string& scaling) {
        const auto imported = sim::importSettings(
            {{"job.yml", "base_model: meta-llama/Llama-3.1-8B\nsequence_len: 8192\nmicro_batch_size: 1\n"},
             {"config.json", R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
                                 "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
                                 "rope_theta": 500000.0, "rms_norm_eps": 1e-05, "max_position_embeddings": 131072,
                                 "tie_word_embeddings": false)" +
                                 scaling + "}"}},
            {.gpus = 8}, test::catalogue());
        return *sim::ScenarioDocument::parse(imported.scenario).resolve(test::catalogue()).scenario;
    };
    const auto same = of(R"(, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                             "original_max_position_embeddings": 8192, "rope_type": "llama3"})");
    const auto named = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "llama3-8b",
                                                         "cluster": "dgx-a100", "layout": {"tp": 8}})")
                           .resolve(test::catalogue());
    EXPECT_EQ(same.model.ropeScaling, named.scenario->model.ropeScaling);
    EXPECT_EQ(same.model.ropeScaling.kind, sim::RopeScalingKind::llama3);
    const auto other = of("");
    EXPECT_EQ(other.model.ropeScaling.kind, sim::RopeScalingKind::none);
}

/// An export of a model of the catalogue has what its published config.json has.
TEST(HuggingFaceFamilies, ExportsTheScalingOfTheCatalogue)
{
    const auto exported = [](const std::string& model) {
        const auto scenario = sim::ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": ")" +
                                                           model + R"(", "cluster": "dgx-a100", "layout": {"tp": 8}})")
                                  .resolve(test::catalogue());
        return sim::exportSettings(*scenario.scenario, "huggingface", test::catalogue()).text;
    };
    EXPECT_THAT(exported("llama3-70b"), HasSubstr("\"rope_type\": \"llama3\""));
    EXPECT_THAT(exported("deepseek-v3"), HasSubstr("\"mscale_all_dim\": 1"));
    EXPECT_THAT(exported("gpt-oss-20b"), HasSubstr("\"truncate\": false"));
    EXPECT_THAT(exported("qwen3-8b"), testing::Not(HasSubstr("rope_scaling")));
}

} // namespace
