// LLaMA-Factory's YAML: what it says, what it leaves to its defaults, and the files that it is started with.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kTuning = "model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\ndo_train: true\n"
                            "cutoff_len: 4096\nbf16: true\n";

Json importedWith(const std::vector<sim::SettingsFile>& files)
{
    return Json::parse(sim::importSettings(files, {.gpus = 8}, test::catalogue()).scenario);
}

TEST(LlamaFactoryImport, ItsDefaultsAreThoseOfItsArguments)
{
    const auto out = importedText(kTuning, 8);
    EXPECT_EQ(out.imported.kind, "llamafactory-yaml");
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.at("/layout/zero_stage"), 0) << "neither deepspeed nor fsdp";
    EXPECT_EQ(out.at("/training/sequence_length"), 4096);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 8) << "transformers' own";
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
    EXPECT_EQ(out.at("/training/lora/rank"), 8) << "finetuning_type is lora unless given";
    EXPECT_EQ(out.at("/training/recompute"), "full") << "unless disable_gradient_checkpointing";
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.became("finetuning_type"), "default");
    EXPECT_THAT(out.imported.unknown, testing::ElementsAre("/cluster"));
}

TEST(LlamaFactoryImport, TheStageOfZeroIsInTheFileThatItNames)
{
    const std::string full = kTuning + "finetuning_type: full\nper_device_train_batch_size: 1\n"
                                       "gradient_accumulation_steps: 4\ndeepspeed: examples/deepspeed/ds_z3_config.json\n";
    const auto alone = importedText(full, 8);
    EXPECT_EQ(alone.at("/layout/zero_stage"), 3);
    EXPECT_EQ(alone.became("deepspeed"), "unknown") << "by its name";
    EXPECT_EQ(alone.at("/training/global_batch_size"), 32);
    EXPECT_EQ(alone.at("/training/lora"), Json());
    EXPECT_THAT(importedText(kTuning + "deepspeed: mine.json\n", 8).imported.unknown, testing::Contains("/layout/zero_stage"));
    const sim::SettingsFile json{"mine.json",
                                 "{\"train_batch_size\": \"auto\", \"bf16\": {\"enabled\": \"auto\"}, "
                                 "\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\"}}}"};
    const auto beside = sim::importSettings({{"sft.yaml", full}, json}, {.gpus = 8}, test::catalogue());
    const Json scenario = Json::parse(beside.scenario);
    EXPECT_EQ(scenario["layout"]["zero_stage"], 2);
    EXPECT_EQ(scenario["training"]["offload"]["optimizer"], 1.0);
    for (const sim::Note& note : beside.notes)
        EXPECT_FALSE(note.value == "auto" && note.became == Became::unknown) << note.setting;
}

TEST(LlamaFactoryImport, IsLaunchedByAccelerate)
{
    const sim::SettingsFile launcher{"fsdp.yaml",
                                     "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n"
                                     "num_machines: 2\nnum_processes: 16\n"};
    const auto out = sim::importSettings({launcher, {"sft.yaml", kTuning}}, {}, test::catalogue());
    EXPECT_EQ(out.kind, "llamafactory-yaml");
    const Json scenario = Json::parse(out.scenario);
    EXPECT_EQ(scenario["layout"]["dp"], 16);
    EXPECT_EQ(scenario["layout"]["zero_stage"], 2);
    EXPECT_EQ(scenario["cluster"]["nodes"], 2);
}

TEST(LlamaFactoryImport, KnowsItsKeysOfMegatronCore)
{
    const Json scenario = importedWith(
        {{"moe.yaml",
          "model_name_or_path: Qwen/Qwen3-30B-A3B-Instruct-2507\nstage: sft\nfinetuning_type: full\ncutoff_len: 4096\n"
          "per_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n"
          "tensor_model_parallel_size: 1\npipeline_model_parallel_size: 4\nexpert_model_parallel_size: 2\n"
          "use_distributed_optimizer: true\nrecompute_granularity: full\n"}});
    EXPECT_EQ(scenario["model"]["base"], "qwen3-30b-a3b");
    EXPECT_EQ(scenario["layout"]["pp"], 4);
    EXPECT_EQ(scenario["layout"]["dp"], 2);
    EXPECT_EQ(scenario["layout"]["ep"], 2);
    EXPECT_EQ(scenario["layout"]["zero_stage"], 1);
    EXPECT_EQ(scenario["training"]["global_batch_size"], 16);
}

TEST(LlamaFactoryImport, KnowsFusedLossesAndFewBits)
{
    const auto out = importedText(kTuning + "enable_liger_kernel: true\nlora_dropout: 0.05\nquantization_bit: 4\n", 8);
    EXPECT_EQ(out.at("/training/loss_chunk_tokens"), 1024);
    EXPECT_EQ(out.at("/training/lora/dropout"), 0.05);
    EXPECT_EQ(out.at("/training/lora/base_dtype"), "nf4");
    EXPECT_EQ(importedText(kTuning + "quantization_bit: 8\n", 8).at("/training/lora/base_dtype"), "fp8");
    const auto preference = importedText("stage: dpo\nenable_liger_kernel: true\nmodel_name_or_path: "
                                         "meta-llama/Meta-Llama-3-8B-Instruct\ncutoff_len: 4096\n",
                                         8);
    EXPECT_EQ(preference.imported.scenario.find("loss_chunk_tokens"), std::string::npos) << "its loss asks for logits";
    const auto pure = importedText("model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\nstage: sft\ndo_train: true\n"
                                   "cutoff_len: 4096\nfinetuning_type: full\npure_bf16: true\n",
                                   8);
    EXPECT_EQ(pure.at("/training/precision"), "bf16");
    EXPECT_EQ(pure.at("/training/master_weights"), false);
}

TEST(LlamaFactoryImport, SaysWhatItCannot)
{
    const auto out = importedText(kTuning + "finetuning_type: freeze\nquantization_bit: 4\nneat_packing: true\nuse_galore: true\n"
                                            "no_such_key: 1\n",
                                  8);
    for (const char* setting : {"finetuning_type", "quantization_bit", "neat_packing", "use_galore"})
        EXPECT_EQ(out.became(setting), "not_representable") << setting;
    EXPECT_EQ(out.became("no_such_key"), "unknown");
    EXPECT_THAT(importedText(kTuning + "stage: dpo\n", 8).became("stage"), "contradictory");
    EXPECT_EQ(importedText(kTuning + "lora_target: q_proj,v_proj\nlora_rank: 16\n", 8).at("/training/lora/targets"),
              Json({"q_proj", "v_proj"}));
}

/// A comment says how to start what reads the file, in another program's words.
TEST(LlamaFactoryImport, IsNoScriptForTheCommandInItsComments)
{
    const std::string comments = "# accelerate launch \\\n#     --config_file fsdp2_config.yaml \\\n#     src/train.py "
                                 "examples/qwen3_full_sft.yaml --per_device_train_batch_size 8\n";
    const auto out = importedText(comments + kTuning, 8, "qwen3_full_sft.yaml");
    EXPECT_EQ(out.imported.kind, "llamafactory-yaml");
    EXPECT_EQ(out.scenario, importedText(kTuning, 8, "qwen3_full_sft.yaml").scenario);
    const auto axolotl = importedText("#   accelerate launch -m axolotl.cli.train examples/swanlab/dpo.yml\n"
                                      "base_model: meta-llama/Meta-Llama-3-8B-Instruct\nrl: dpo\nsequence_len: 2048\n",
                                      8, "dpo-swanlab.yml");
    EXPECT_EQ(axolotl.imported.kind, "axolotl-yaml");
}

} // namespace
