// Primus' experiments over Megatron, torchtitan and MaxText: what their trainers' files give where the overrides are silent.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Json;
using test::ImportedText;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;

/// An experiment on eight GPUs; overrides are indented by six blanks.
ImportedText experimentOf(const std::string& framework, const std::string& model, const std::string& overrides,
                          const std::string& trainer = "pre_trainer.yaml")
{
    return importedText(
        "work_group: amd\nuser_name: root\nexp_name: a\nworkspace: ./output\n\nmodules:\n  pre_trainer:\n    framework: " +
            framework + "\n    config: " + trainer + "\n    model: " + model + ".yaml\n    overrides:\n" + overrides,
        8, "job.yaml");
}

TEST(Primus, MegatronsOptimizerIsShardedUnlessTold)
{
    const std::string layout = "      tensor_model_parallel_size: 2\n      seq_length: 4096\n      overlap_grad_reduce: true\n"
                               "      overlap_param_gather: true\n      norm_epsilon: 1.0e-5\n      auto_continue_train: false\n";
    const auto out = experimentOf("megatron", "llama3_8B", layout);
    EXPECT_EQ(out.at("/model/name"), importedText("base_model: meta-llama/Meta-Llama-3-8B\n", 8).at("/model/name"));
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/training/overlap/param_gather"), true);
    EXPECT_EQ(out.became("modules.pre_trainer.overrides.overlap_param_gather"), "used");
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    for (const sim::Note& note : out.imported.notes)
        EXPECT_FALSE(note.line > 0 && note.became == sim::Became::unknown) << note.setting;
    EXPECT_EQ(experimentOf("megatron", "llama3_8B", layout + "      use_distributed_optimizer: false\n").at("/layout/zero_stage"),
              0);
    EXPECT_EQ(experimentOf("megatron", "llama3_8B", layout, "sft_trainer.yaml").at("/layout/zero_stage"), 0);
}

TEST(Primus, LayersThatAreNamedAreRunAgainAndNoOthers)
{
    const auto out =
        experimentOf("megatron", "llama3_8B",
                     "      pipeline_model_parallel_size: 4\n      seq_length: 4096\n      recompute_granularity: full\n"
                     "      recompute_layer_ids: 0,1,8,9,16,17,24,25\n");
    EXPECT_EQ(out.at("/training/recompute"), Json({{"kind", "full"}, {"layers", 2}}));
    EXPECT_EQ(out.became("modules.pre_trainer.overrides.recompute_granularity"), "used");
}

TEST(Primus, AdaptersAreRead)
{
    const auto out = experimentOf(
        "megatron", "llama3_8B",
        "      seq_length: 4096\n      lora:\n        enabled: true\n        dim: 16\n        alpha: 32\n", "sft_trainer.yaml");
    EXPECT_EQ(out.at("/training/lora/rank"), 16);
    EXPECT_EQ(
        experimentOf("megatron", "llama3_8B", "      seq_length: 4096\n      lora:\n        enabled: false\n        dim: 16\n")
            .imported.scenario.find("lora"),
        std::string::npos);
}

TEST(Primus, TorchtitanIsCompiledAndKeepsAllUnlessTold)
{
    const auto out =
        experimentOf("torchtitan", "llama3.1_70B",
                     "      training:\n        local_batch_size: 3\n        global_batch_size: 48\n        seq_len: 8192\n"
                     "      parallelism:\n        tensor_parallel_degree: 4\n");
    EXPECT_EQ(out.imported.kind, "torchtitan-toml");
    EXPECT_EQ(out.at("/layout/tp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 2);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 3);
    EXPECT_EQ(out.at("/training/global_batch_size"), 48);
    EXPECT_EQ(out.at("/training/stack/id"), "pytorch-compiled-2025");
    EXPECT_EQ(out.at("/training/recompute"), "none");
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 80);
    const auto narrow = experimentOf("torchtitan", "qwen3_1.7b-fp8", "      training:\n        seq_len: 4096\n");
    EXPECT_EQ(narrow.at("/training/precision"), "fp8");
    EXPECT_EQ(narrow.at("/model/num_hidden_layers"), 28);
    EXPECT_EQ(experimentOf("torchtitan", "llama4_17Bx16E", "      training:\n        seq_len: 4096\n").at("/model/num_experts"),
              16);
}

TEST(Primus, MaxTextsWeightsAreInSixteenBits)
{
    const auto out =
        experimentOf("maxtext", "mixtral_8x7B",
                     "      ici_fsdp_parallelism: 8\n      ici_sequence_parallelism: 1\n      per_device_batch_size: 4\n"
                     "      max_target_length: 4096\n");
    EXPECT_EQ(out.imported.kind, "maxtext");
    EXPECT_EQ(out.at("/model/num_experts"), 8);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(out.at("/training/moment_dtype"), "bf16");
}

} // namespace
