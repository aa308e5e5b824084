// LLaMA-Factory's version 1, whose YAML has tables of plugins.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Json;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;

const std::string kFull =
    "model: Qwen/Qwen3-0.6B\nmodel_class: llm\nkernel_config:\n  name: auto\n"
    "train_dataset: data/v1_sft_demo.yaml\noutput_dir: outputs/test\nmicro_batch_size: 2\ncutoff_len: 4096\n"
    "learning_rate: 1.0e-4\nmax_steps: 10\n";

TEST(LlamaFactoryV1Import, Fsdp2SharesAll)
{
    const auto out = importedText(kFull + "dist_config:\n  name: fsdp2\n  dcp_path: null\nglobal_batch_size: 64\n", 8);
    EXPECT_EQ(out.imported.kind, "llamafactory-yaml");
    EXPECT_EQ(Json::parse(out.imported.scenario)["model"]["base"], "qwen3-0.6b");
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/gradient_dtype"), "fp32");
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
    EXPECT_EQ(out.at("/training/sequence_length"), 4096);
    EXPECT_EQ(out.at("/training/precision"), "bf16") << "unless switched off";
    EXPECT_EQ(out.at("/training/recompute"), "full") << "enable_activation_checkpointing is on";
    EXPECT_EQ(out.at("/training/stack/id"), "huggingface");
    EXPECT_THAT(out.imported.unknown, testing::ElementsAre("/cluster"));
}

TEST(LlamaFactoryV1Import, DeepSpeedsFileIsInItsTable)
{
    const std::string text = kFull + "dist_config:\n  name: deepspeed\n  config_file: examples/deepspeed/ds_z3_config.json\n";
    const auto alone = importedText(text, 8);
    EXPECT_EQ(alone.at("/layout/zero_stage"), 3);
    EXPECT_EQ(alone.became("dist_config.config_file"), "unknown") << "by its name";
    EXPECT_EQ(alone.at("/training/global_batch_size"), 16) << "one micro-batch of each replica";
    EXPECT_EQ(alone.at("/training/stack/id"), "deepspeed-2023");
}

TEST(LlamaFactoryV1Import, AdaptersAndTheirBaseAreTables)
{
    const auto out = importedText(kFull + "peft_config:\n  name: lora\n  r: 16\n  lora_alpha: 32\n  target_modules: all\n"
                                          "quant_config:\n  name: bnb\n  quantization_bit: 4\ndist_config:\n  name: fsdp2\n",
                                  8);
    EXPECT_EQ(out.at("/training/lora/rank"), 16);
    EXPECT_EQ(out.at("/training/lora/targets").size(), 7U);
    EXPECT_EQ(out.at("/training/lora/base_dtype"), "nf4");
    EXPECT_EQ(importedText(kFull + "peft_config:\n  name: freeze\n", 8).became("peft_config.name"), "not_representable");
}

TEST(LlamaFactoryV1Import, UlyssesAndReplicasOfShards)
{
    const auto out =
        importedText(kFull + "dist_config:\n  name: fsdp2\ncp_mode: ulysses\ncp_size: 2\nmp_replicate_size: 2\n", 16);
    EXPECT_EQ(out.at("/layout/cp"), 2);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.at("/layout/dp_shard"), 8);
    EXPECT_EQ(out.became("cp_size"), "used");
    EXPECT_EQ(out.at("/training/stack/exchanges_heads"), true);
}

TEST(LlamaFactoryV1Import, NothingIsLostWithoutANote)
{
    const auto out = importedText(kFull + "dist_config:\n  name: fsdp2\n  new_option: 3\noptim_config:\n  name: muon\n"
                                          "pref_loss: sigmoid\nbatching_strategy: padding_free\n",
                                  8);
    EXPECT_EQ(out.became("dist_config.new_option"), "unknown");
    EXPECT_EQ(out.became("optim_config.name"), "not_representable");
    EXPECT_EQ(out.became("batching_strategy"), "not_representable");
    EXPECT_EQ(out.at("/training/micro_batch_size"), 4) << "pairs";
}

} // namespace
