// Megatron-Bridge's recipes and NeMo 2's overrides: what a call says, what a later assignment replaces, which function is meant.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;

TEST(RecipeImport, ACallOfOneWordIsThatWord)
{
    const std::string recipe = "def llama3_8b_pretrain_8gpu_h100_config():\n    cfg = llama3_8b_pretrain_config()\n";
    const auto precision = [&](const std::string& call) {
        return importedText(recipe + "    cfg.mixed_precision = " + call + "\n    cfg.train.global_batch_size = 128\n")
            .at("/training/precision");
    };
    EXPECT_EQ(precision("_perf_precision(\"fp8_cs\")"), "fp8");
    EXPECT_EQ(precision("_perf_precision(\"fp8_mx\")"), "mxfp8");
    EXPECT_EQ(precision("_perf_precision(\"nvfp4\")"), "nvfp4");
    EXPECT_EQ(precision("\"bf16_mixed\""), "bf16");
}

TEST(RecipeImport, LayoutsAreGivenToAFunction)
{
    const auto out =
        importedText("def deepseek_v3_pretrain_1024gpu_h100_bf16_config():\n    cfg = deepseek_v3_pretrain_config()\n"
                     "    cfg.model.tensor_model_parallel_size = 2\n    cfg.model.pipeline_model_parallel_size = 8\n"
                     "    cfg.model.virtual_pipeline_model_parallel_size = 4\n"
                     "    cfg.model.expert_model_parallel_size = 64\n    cfg.model.sequence_parallel = True\n"
                     "    cfg.train.global_batch_size = 16384\n    cfg.train.micro_batch_size = 1\n"
                     "    set_deepseek_v3_pipeline_model_parallel_layout(cfg.model, \"Et|(tt|)*30mL\")\n"
                     "    cfg.env_vars = {\n        **COMMON_PERF_ENV_VARS,\n        # a comment, with a comma\n"
                     "        \"CUDA_DEVICE_MAX_CONNECTIONS\": 1,\n    }\n    return cfg\n");
    EXPECT_EQ(out.at("/schedule/virtual_stages"), 4);
    EXPECT_EQ(out.at("/schedule/layers_per_stage/0"), 1);
    EXPECT_EQ(out.at("/schedule/layers_per_stage/31"), 0);
    EXPECT_EQ(out.at("/model/num_experts"), 256);
    EXPECT_EQ(out.at("/layout/ep"), 64);
    EXPECT_EQ(out.became("cfg.env_vars.CUDA_DEVICE_MAX_CONNECTIONS"), "harmless");
}

TEST(RecipeImport, ALaterAssignmentTakesTheEarlierOnesPlace)
{
    const auto out =
        importedText("def llama3_8b_pretrain_8gpu_config():\n    cfg = base()\n    cfg.train.global_batch_size = 128\n"
                     "    cfg.train.global_batch_size = 256\n    cfg.model.tensor_model_parallel_size = 2\n");
    EXPECT_EQ(out.at("/training/global_batch_size"), 256);
    EXPECT_EQ(out.count(Became::contradictory), 0);
    EXPECT_THAT(out.textOn("cfg.train.global_batch_size"), HasSubstr("assigned again on line 4"));
}

TEST(RecipeImport, OfSeveralFunctionsTheFirstIsReadWithThoseItCalls)
{
    const auto out = importedText(
        "LENGTH = 4096\n\ndef _common(cfg):\n    cfg.model.seq_length = LENGTH\n    cfg.model.sequence_parallel = True\n\n"
        "def llama3_70b_pretrain_64gpu_config():\n    cfg = llama3_70b_pretrain_config()\n    _common(cfg)\n"
        "    cfg.model.tensor_model_parallel_size = 4\n    cfg.train.global_batch_size = 128\n    return cfg\n\n"
        "def llama3_70b_pretrain_128gpu_config():\n    cfg = llama3_70b_pretrain_64gpu_config()\n"
        "    cfg.model.tensor_model_parallel_size = 8\n    return cfg\n");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/training/sequence_length"), 4096);
    EXPECT_EQ(out.at("/layout/sequence_parallel"), true);
    EXPECT_EQ(out.became("def llama3_70b_pretrain_128gpu_config"), "unknown");
    EXPECT_EQ(out.count(Became::contradictory), 0);
}

TEST(RecipeImport, TheModelIsWhatTheBridgeIsMadeOf)
{
    const auto out =
        importedText("def pretrain():\n    cfg = _pretrain_common()\n"
                     "    cfg.model = "
                     "AutoBridge.from_hf_pretrained(\"deepseek-ai/DeepSeek-V2-Lite\").to_megatron_provider(load_weights=False)\n"
                     "    cfg.model.mtp_num_layers = 0\n    cfg.model.expert_model_parallel_size = 8\n",
                     8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 27);
    EXPECT_EQ(out.became("cfg.model.mtp_num_layers"), "used");
}

TEST(RecipeImport, OverridesOfTheSecondNemoAreRecognised)
{
    const auto out =
        importedText("ENV_VARS:\n  SKIP_PYTEST: 1\nMODEL_ARGS:\n  trainer.num_nodes: 1\n  trainer.devices: 8\n"
                     "  trainer.strategy.tensor_model_parallel_size: 2\n  trainer.strategy.sequence_parallel: True\n"
                     "  model.config.num_layers: 12\n  model.config.hidden_size: 768\n  model.config.num_attention_heads: 16\n"
                     "  data.micro_batch_size: 4\n  data.global_batch_size: 64\n  data.seq_length: 2048\nTEST_TYPE: regular\n");
    EXPECT_EQ(out.imported.kind, "bridge-python");
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/layout/dp"), 4);
    EXPECT_EQ(out.at("/model/hidden_size"), 768);
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
    EXPECT_EQ(out.at("/training/sequence_length"), 2048);
}

TEST(RecipeImport, ExpertsThatFitOnlyUncutAreNotCut)
{
    const auto recipe = [](const std::string& gpus) {
        return importedText("def kimi_k2_pretrain_" + gpus +
                            "gpu_h100_bf16_config():\n    cfg = kimi_k2_pretrain_config()\n"
                            "    cfg.model.tensor_model_parallel_size = 8\n    cfg.model.pipeline_model_parallel_size = 16\n"
                            "    cfg.model.expert_model_parallel_size = 64\n    cfg.model.sequence_parallel = True\n"
                            "    cfg.train.global_batch_size = 4096\n    cfg.train.micro_batch_size = 1\n");
    };
    const auto out = recipe("1024");
    EXPECT_EQ(out.at("/layout/etp"), 1);
    EXPECT_THAT(out.imported.unknown, testing::Contains("/layout/etp"));
    EXPECT_EQ(recipe("8192").at("/layout/etp"), 8);
}

TEST(RecipeImport, ClustersThatAreGuessedHaveThePrecision)
{
    const auto out =
        importedText("def llama3_8b_pretrain_8gpu_config():\n    cfg = base()\n"
                     "    cfg.mixed_precision = _perf_precision(\"nvfp4\")\n    cfg.train.global_batch_size = 128\n");
    EXPECT_EQ(out.at("/training/precision"), "nvfp4");
    EXPECT_EQ(sim::Json::parse(out.imported.scenario)["cluster"]["base"], "dgx-b200");
    EXPECT_EQ(importedText("def gpt_oss_20b_pretrain_8gpu_config():\n    cfg = base()\n"
                           "    cfg.mixed_precision = _gpt_oss_20b_fp8mx_precision()\n    cfg.train.global_batch_size = 64\n")
                  .at("/training/precision"),
              "mxfp8");
}

} // namespace
