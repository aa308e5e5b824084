// VeOmni's YAML.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kVeomniModel =
    "model:\n  model_path: Qwen3-8B-Base\n  ops_implementation:\n    attn_implementation: flash_attention_2\n"
    "data:\n  train_path: tulu-3-sft-mixture\n  data_type: conversation\n  max_seq_len: 2048\n";
const std::string kVeomniTrain = "train:\n  accelerator:\n    ulysses_size: 1\n    fsdp_config:\n      fsdp_mode: fsdp2\n"
                                 "  gradient_checkpointing:\n    enable: true\n  global_batch_size: 64\n  micro_batch_size: 2\n"
                                 "  optimizer:\n    type: adamw\n    lr: 1.0e-4\n  checkpoint:\n    output_dir: out\n";

TEST(VeOmniImport, ShardsAllByFsdp2)
{
    const auto out = importedText(kVeomniModel + kVeomniTrain, 16);
    EXPECT_EQ(out.imported.kind, "veomni-yaml");
    EXPECT_EQ(Json::parse(out.imported.scenario)["model"]["base"], "qwen3-8b");
    EXPECT_EQ(out.at("/layout/dp"), 16);
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/training/gradient_dtype"), "fp32") << "reduce_dtype";
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.at("/training/loss_chunk_tokens"), 1024) << "Liger's loss unless told";
    EXPECT_EQ(out.at("/training/stack/id"), "flash-attn");
    EXPECT_EQ(out.became("train.optimizer.lr"), "harmless");
}

TEST(VeOmniImport, ExpertsAreFoldedAndUlyssesCutsSequences)
{
    std::string text = kVeomniModel + kVeomniTrain;
    text.replace(text.find("Qwen3-8B-Base"), 13, "Qwen3-30B-A3B");
    text.replace(text.find("ulysses_size: 1"), 15, "ulysses_size: 2\n    ep_size: 8\n    dp_replicate_size: 2");
    const auto out = importedText(text, 16);
    EXPECT_EQ(out.at("/layout/cp"), 2);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.at("/layout/ep"), 8);
    EXPECT_EQ(out.at("/layout/dp_shard"), 8) << "half of the 16 ranks";
    EXPECT_EQ(out.became("train.accelerator.ulysses_size"), "used");
    EXPECT_EQ(out.at("/training/stack/exchanges_heads"), true);
}

TEST(VeOmniImport, WhatItRefusesIsTold)
{
    std::string text = kVeomniModel + kVeomniTrain;
    text.replace(text.find("ulysses_size: 1"), 15, "tp_size: 2");
    EXPECT_EQ(importedText(text, 16).became("train.accelerator.tp_size"), "contradictory");
}

TEST(VeOmniImport, ReadsItsOlderNames)
{
    const auto out =
        importedText(kVeomniModel + "train:\n  data_parallel_mode: fsdp2\n  ulysses_parallel_size: 1\n"
                                    "  enable_full_shard: false\n  enable_gradient_checkpointing: false\n"
                                    "  enable_mixed_precision: true\n  global_batch_size: 64\n  micro_batch_size: 1\n"
                                    "  optimizer: adamw\n  lr: 1.0e-4\n  use_wandb: false\n",
                     8);
    EXPECT_EQ(out.imported.kind, "veomni-yaml");
    EXPECT_EQ(out.at("/layout/zero_stage"), 2);
    EXPECT_EQ(out.at("/training/recompute"), "none");
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
}

TEST(VeOmniImport, PreferencesAreTwoSequencesEach)
{
    std::string text = kVeomniModel + kVeomniTrain;
    text.replace(text.find("conversation"), 12, "dpo");
    const auto out = importedText(text, 8);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(out.at("/training/global_batch_size"), 128);
    EXPECT_THAT(out.textOn("data.data_type"), HasSubstr("reference"));
}

} // namespace
