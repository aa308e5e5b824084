// TRL's YAML and command lines, and other programs under Transformers' Trainer.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kSft = "model_name_or_path: Qwen/Qwen3-4B\ndataset_name: trl-lib/Capybara\nlearning_rate: 2.0e-5\n"
                         "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\nmax_length: 4096\n";
const sim::SettingsFile kZero3{"zero3.yaml",
                               "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"
                               "  offload_optimizer_device: none\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n"};

TEST(TrlImport, ItsYamlHasTheTrainersArguments)
{
    const auto out = importedText(kSft, 8);
    EXPECT_EQ(out.imported.kind, "trl-args");
    EXPECT_EQ(Json::parse(out.imported.scenario)["model"]["base"], "qwen3-4b");
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_THAT(out.imported.unknown, testing::ElementsAre("/layout/zero_stage", "/cluster"))
        << "the command that starts it shares the states";
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 2 * 8 * 8);
    EXPECT_EQ(out.at("/training/sequence_length"), 4096);
    EXPECT_EQ(out.at("/training/precision"), "bf16") << "unless fp16 is given";
    EXPECT_EQ(out.at("/training/recompute"), "full") << "TRL's default, not Transformers'";
    EXPECT_EQ(out.at("/training/loss_chunk_tokens"), 256) << "chunked_nll";
    EXPECT_EQ(out.at("/training/stack/id"), "huggingface");
    EXPECT_EQ(out.count(Became::unknown), 2) << "no setting is one";
}

TEST(TrlImport, AcceleratesFileSharesTheStates)
{
    const auto out = sim::importSettings({{"sft.yaml", kSft}, kZero3}, {}, test::catalogue());
    EXPECT_EQ(out.kind, "trl-args");
    const Json scenario = Json::parse(out.scenario);
    EXPECT_EQ(scenario["layout"]["dp"], 16);
    EXPECT_EQ(scenario["layout"]["zero_stage"], 3);
    EXPECT_EQ(scenario["cluster"]["nodes"], 2);
    EXPECT_EQ(scenario["training"]["stack"]["base"], "deepspeed-2023");
    EXPECT_EQ(scenario["training"]["stack"]["reduce_bucket"], 500'000'000) << "Accelerate's file has no word for it";
    EXPECT_EQ(scenario["training"]["global_batch_size"], 2 * 8 * 16);
}

TEST(TrlImport, ItsCommandNamesOneOfItsOwnLaunchers)
{
    const std::string command = "trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name x --max_length 2048 "
                                "--per_device_train_batch_size 4 --accelerate_config ";
    const auto zero = importedText(command + "zero2\n");
    EXPECT_EQ(zero.imported.kind, "trl-args");
    EXPECT_EQ(zero.at("/layout/zero_stage"), 2);
    EXPECT_EQ(zero.at("/layout/dp"), 8) << "its files start eight processes";
    EXPECT_EQ(zero.became("--accelerate_config"), "used");
    EXPECT_EQ(importedText(command + "fsdp2 --num_processes 4\n").at("/layout/dp"), 4);
    const auto mine = importedText(command + "configs/mine.yaml\n", 8);
    EXPECT_THAT(mine.imported.unknown, Contains("/layout/zero_stage")) << "how states are shared is in a file that is not there";
}

TEST(TrlImport, AcceleratesCommandStartsItsScripts)
{
    const auto out = importedText("#!/bin/bash\naccelerate launch --config_file examples/accelerate_configs/deepspeed_zero3.yaml "
                                  "--num_processes 32 --num_machines 4 trl/scripts/sft.py \\\n"
                                  "  --model_name_or_path Qwen/Qwen2.5-14B --torch_dtype bfloat16 --max_seq_length 8192 \\\n"
                                  "  --per_device_train_batch_size 1 --gradient_checkpointing --bf16 --use_liger_kernel\n");
    EXPECT_EQ(out.imported.kind, "trl-args");
    EXPECT_EQ(out.at("/layout/dp"), 32);
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.became("--config_file"), "unknown") << "the stage is of the file's name";
    EXPECT_EQ(out.at("/cluster/nodes"), 4);
    EXPECT_EQ(out.at("/training/loss_chunk_tokens"), 1024) << "Liger's";
    EXPECT_EQ(out.at("/training/master_weights"), true) << "DeepSpeed has a copy";
}

TEST(TrlImport, WeightsOf16BitsThatNothingCopiesAreUpdatedAsTheyAre)
{
    const auto plain = importedText("trl sft --model_name_or_path Qwen/Qwen3-4B --dataset_name x --torch_dtype bfloat16 "
                                    "--per_device_train_batch_size 2 --accelerate_config multi_gpu\n");
    EXPECT_EQ(plain.at("/training/master_weights"), false);
    EXPECT_THAT(plain.textOn("--torch_dtype"), HasSubstr("as they are"));
    EXPECT_EQ(importedText(kSft + "torch_dtype: bfloat16\n", 8).became("torch_dtype"), "unknown")
        << "as nobody says how states are shared";
    EXPECT_EQ(importedText(kSft + "torch_dtype: bfloat16\nfsdp: full_shard auto_wrap\n", 8).at("/training/master_weights"), true);
    EXPECT_EQ(importedText(kSft + "torch_dtype: bfloat16\nuse_peft: true\n", 8).at("/training/master_weights"), true);
    EXPECT_EQ(importedText(kSft + "torch_dtype: float32\n", 8).at("/training/master_weights"), true);
}

TEST(TrlImport, AdaptersCountBesideUsePeft)
{
    const auto lora = importedText(kSft + "use_peft: true\nlora_r: 32\nload_in_4bit: true\n", 8);
    EXPECT_EQ(lora.at("/training/lora/rank"), 32);
    EXPECT_EQ(lora.at("/training/lora/targets"), Json({"q_proj", "v_proj"})) << "PEFT's own";
    EXPECT_EQ(lora.at("/training/lora/base_dtype"), "nf4");
    EXPECT_EQ(lora.at("/training/lora/dropout"), 0.05);
    const auto without = importedText(kSft + "lora_r: 32\n", 8);
    EXPECT_EQ(without.at("/training/lora"), Json());
    EXPECT_EQ(without.became("lora_r"), "unknown");
}

TEST(TrlImport, APairOfPreferencesIsTwoSequences)
{
    const auto dpo = importedText("trl dpo --model_name_or_path Qwen/Qwen3-0.6B --dataset_name x --max_length 1024 "
                                  "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --num_processes 8\n");
    EXPECT_EQ(dpo.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(dpo.at("/training/global_batch_size"), 2 * 2 * 4 * 8);
    EXPECT_THAT(dpo.textOn("objective"), HasSubstr("reference model is not simulated"));
    EXPECT_EQ(dpo.at("/training/loss_chunk_tokens"), 0) << "SFT's loss alone is in chunks";
    EXPECT_EQ(importedText(kSft + "beta: 0.1\n", 8).at("/training/micro_batch_size"), 4) << "by what only DPO has";
}

TEST(TrlImport, ReinforcementSaysWhatIsNotSimulated)
{
    const auto out = importedText(kSft + "num_generations: 16\nmax_prompt_length: 512\nmax_completion_length: 1024\n"
                                         "use_vllm: true\nreward_funcs:\n- accuracy\n",
                                  8);
    EXPECT_EQ(out.at("/training/sequence_length"), 1536);
    EXPECT_EQ(out.became("objective"), "not_representable");
    EXPECT_THAT(out.textOn("objective"), HasSubstr("generation, rewards"));
    EXPECT_EQ(out.became("use_vllm"), "not_representable");
    EXPECT_EQ(out.became("num_generations"), "harmless");
}

TEST(TrlImport, OtherProgramsHaveTransformersDefaults)
{
    const auto out =
        importedText("torchrun --nproc_per_node 8 --nnodes 2 run_clm.py --model_name_or_path gpt2-xl --block_size 1024 "
                     "--per_device_train_batch_size 4 --fsdp \"full_shard auto_wrap\" --dataset_name wikitext\n");
    EXPECT_EQ(out.imported.kind, "trl-args");
    EXPECT_EQ(out.at("/layout/dp"), 16);
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/precision"), "fp32");
    EXPECT_EQ(out.at("/training/recompute"), "none");
    EXPECT_EQ(out.at("/training/loss_chunk_tokens"), 0);
}

TEST(TrlImport, NothingIsLostWithoutANote)
{
    const auto out = importedText(kSft + "some_new_flag: 3\nhub_strategy: every_save\npacking: true\n", 8);
    EXPECT_EQ(out.became("some_new_flag"), "unknown");
    EXPECT_EQ(out.became("hub_strategy"), "harmless");
    EXPECT_EQ(out.became("packing"), "not_representable");
}

TEST(TrlImport, AStageStandsRightBehindItsWordInAFilesName)
{
    const std::string command = "accelerate launch --num_processes 8 --config_file ";
    const std::string rest = " -m trl.scripts.sft --model_name_or_path deepseek-ai/DeepSeek-R1-0528-Qwen3-8B "
                             "--per_device_train_batch_size 1\n";
    const auto stageTwo = importedText(command + "ds_zero_stage2.yaml" + rest);
    EXPECT_EQ(stageTwo.at("/layout/zero_stage"), 2);
    EXPECT_EQ(Json::parse(stageTwo.imported.scenario)["model"]["base"], "qwen3-8b") << "its distillation, not DeepSeek-V3";
    EXPECT_THAT(importedText(command + "ds_zero_a100.yaml" + rest).imported.unknown, Contains("/layout/zero_stage"));
    EXPECT_EQ(importedText(command + "fsdp_stage1.yaml" + rest).at("/layout/zero_stage"), 3) << "FSDP's, which has no stages";
}

} // namespace
