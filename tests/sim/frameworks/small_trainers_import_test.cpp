// nanotron and picotron: what they do whatever their files seem to say.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::HasSubstr;

std::string nanotronText(const std::string& optimizer)
{
    return "parallelism:\n  dp: 8\n  pp: 1\n  tp: 2\n  pp_engine: 1f1b\n  tp_mode: REDUCE_SCATTER\ntokens:\n"
           "  sequence_length: 2048\n  micro_batch_size: 4\n  batch_accumulation_per_replica: 8\noptimizer:\n" +
           optimizer +
           "model:\n  dtype: bfloat16\n  model_config:\n    is_llama_config: true\n    hidden_size: 2048\n"
           "    intermediate_size: 8192\n    num_hidden_layers: 24\n    num_attention_heads: 32\n"
           "    num_key_value_heads: 32\n    vocab_size: 49152\n    max_position_embeddings: 2048\n";
}

TEST(NanotronImport, ParametersAreGatheredAtTheEndOfTheStep)
{
    // optim/zero.py, step: all_gather_coalesced, which is waited for
    const auto out = importedText(nanotronText("  zero_stage: 1\n  accumulate_grad_in_fp32: true\n"));
    EXPECT_EQ(out.at("/training/overlap/param_gather"), false);
    EXPECT_EQ(out.at("/training/overlap/grad_reduce"), true);
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
}

TEST(NanotronImport, RunsModuleByModuleWithFlashAttention)
{
    const auto out = importedText(nanotronText("  zero_stage: 1\n"));
    EXPECT_EQ(out.at("/training/stack/id"), "pytorch-eager");
    EXPECT_EQ(out.at("/training/flash_attention"), true);
    EXPECT_EQ(out.became("software"), "default");
}

TEST(NanotronImport, AttentionAloneRunsAgainInAnyCase)
{
    std::string old = nanotronText("  zero_stage: 1\n");
    old.replace(old.find("  pp_engine"), 0, "  recompute_granularity: SELECTIVE\n");
    const auto out = importedText(old);
    EXPECT_EQ(out.at("/training/recompute"), "none");
    EXPECT_EQ(out.became("parallelism.recompute_granularity"), "harmless");
}

TEST(NanotronImport, HasOneKindOfZero)
{
    const auto out = importedText(nanotronText("  zero_stage: 2\n  accumulate_grad_in_fp32: true\n"));
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_THAT(out.textOn("optimizer.zero_stage"), HasSubstr("ZeRO-1"));
}

TEST(NanotronImport, WithoutGradientsInFp32NothingIs)
{
    const auto out = importedText(nanotronText("  zero_stage: 0\n  accumulate_grad_in_fp32: false\n"));
    EXPECT_EQ(out.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(out.at("/training/moment_dtype"), "bf16");
    bool isTold = false;
    for (const sim::Note& note : out.imported.notes)
        isTold = isTold || (note.setting == "optimizer.accumulate_grad_in_fp32" && note.became == sim::Became::notRepresentable);
    EXPECT_TRUE(isTold) << "no copy of the parameters in fp32";
    EXPECT_EQ(importedText(nanotronText("  zero_stage: 0\n  accumulate_grad_in_fp32: true\n")).at("/training/moment_dtype"),
              "fp32");
}

std::string picotronText(const std::string& environment, const std::string& dtype = "bfloat16", const std::string& cpu = "false")
{
    return R"({"distributed": {"tp_size": 2, "cp_size": 1, "pp_size": 2, "dp_size": 2, "pp_engine": "1f1b", "use_cpu": )" + cpu +
           R"(}, "model": {"name": "HuggingFaceTB/SmolLM-1.7B", "num_hidden_layers": 24, "num_attention_heads": 32,
               "num_key_value_heads": 32, "dtype": ")" +
           dtype + R"(", "use_flash_attention": true}, "training": {"seq_length": 1024, "micro_batch_size": 4,
               "gradient_accumulation_steps": 8}, "environment": {)" +
           environment + "}}";
}

TEST(PicotronImport, RunsModuleByModule)
{
    EXPECT_EQ(importedText(picotronText("\"FLASH_ATTEN\": \"1\"")).at("/training/stack/id"), "pytorch-eager");
}

TEST(PicotronImport, TheEnvironmentSaysWhichAttentionThereIs)
{
    const auto out = importedText(picotronText(R"("FLASH_ATTEN": "0")"));
    EXPECT_EQ(out.at("/training/flash_attention"), false);
    EXPECT_EQ(out.became("environment.FLASH_ATTEN"), "used");
    EXPECT_EQ(out.became("model.use_flash_attention"), "harmless");
    EXPECT_EQ(importedText(picotronText(R"("FLASH_ATTEN": "1")")).at("/training/flash_attention"), true);
}

TEST(PicotronImport, TheDeviceSaysTheFormatAndNothingIsKeptInFp32)
{
    const auto out = importedText(picotronText(R"("FLASH_ATTEN": "1")", "float32"));
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.became("model.dtype"), "contradictory");
    const auto told = importedText(picotronText(R"("FLASH_ATTEN": "1")"));
    EXPECT_GT(told.count(sim::Became::notRepresentable), 0);
    EXPECT_EQ(importedText(picotronText(R"("FLASH_ATTEN": "0")", "float32", "true")).at("/training/precision"), "fp32");
}

TEST(NanotronImport, LayersAreDealtOutByWhatTheyCompute)
{
    const auto layers = [](const std::string& pp, const std::string& vocabulary) {
        std::string text = nanotronText("  zero_stage: 0\n  accumulate_grad_in_fp32: true\n");
        text.replace(text.find("pp: 1"), 5, "pp: " + pp);
        text.replace(text.find("vocab_size: 49152"), 17, "vocab_size: " + vocabulary);
        return importedText(text).at("/schedule/layers_per_stage");
    };
    // A layer is 4 h^2 + 3 h f = 67.1 M, the output of 49152 words 100.7 M: one and a half.
    EXPECT_EQ(layers("2", "49152"), sim::Json({13, 11}));
    EXPECT_EQ(layers("2", "1024"), sim::Json({13, 11})) << "the block that passes a half is still on the first stage";
    EXPECT_EQ(layers("4", "128256"), sim::Json({7, 7, 7, 3}));
}

TEST(NanotronImport, MoreLayersThanAScenarioTakesAreDealtToNoStage)
{
    std::string text = nanotronText("  zero_stage: 0\n  accumulate_grad_in_fp32: true\n");
    text.replace(text.find("pp: 1"), 5, "pp: 2");
    text.replace(text.find("num_hidden_layers: 24"), 21, "num_hidden_layers: 2000000000");
    const auto out = importedText(text);
    EXPECT_EQ(out.became("model.model_config.num_hidden_layers"), "unknown");
    EXPECT_THAT(out.textOn("model.model_config.num_hidden_layers"), HasSubstr("more than the 10000"));
    EXPECT_FALSE(sim::Json::parse(out.imported.scenario).at("schedule").contains("layers_per_stage"));
}

} // namespace
