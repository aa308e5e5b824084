// ms-swift's trainers on Transformers.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Json;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;

TEST(SwiftImport, ItsPresetsOfDeepSpeedAreKnown)
{
    const auto out =
        importedText("nproc_per_node=2\nCUDA_VISIBLE_DEVICES=0,1 \\\nNPROC_PER_NODE=$nproc_per_node \\\nswift sft \\\n"
                     "    --model Qwen/Qwen2.5-1.5B --tuner_type full --dataset 'a#500' 'b#500' \\\n"
                     "    --torch_dtype bfloat16 --per_device_train_batch_size 1 \\\n"
                     "    --gradient_accumulation_steps $(expr 16 / $nproc_per_node) --max_length 2048 \\\n"
                     "    --deepspeed zero2\n");
    EXPECT_EQ(out.imported.kind, "swift-args");
    EXPECT_EQ(out.at("/layout/dp"), 2);
    EXPECT_EQ(out.at("/layout/zero_stage"), 2);
    EXPECT_EQ(out.became("--deepspeed"), "used");
    EXPECT_EQ(out.at("/training/overlap/grad_reduce"), false) << "its files switch overlap_comm off";
    EXPECT_EQ(out.at("/training/lora"), Json());
    EXPECT_EQ(out.at("/training/master_weights"), true);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    const auto three = importedText("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --train_type full --max_length 2048 "
                                    "--deepspeed zero3_offload\n");
    EXPECT_EQ(three.at("/layout/zero_stage"), 3);
    EXPECT_EQ(three.at("/training/offload/optimizer"), 1.0);
    EXPECT_EQ(three.at("/training/stack/id"), "deepspeed-2023");
}

TEST(SwiftImport, ItsDefaultsAreAdaptersAndSixteenExamples)
{
    const auto out = importedText("NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --dataset x --max_length 4096\n");
    EXPECT_EQ(out.at("/training/lora/rank"), 8);
    EXPECT_EQ(out.at("/training/lora/targets").size(), 7U) << "all-linear";
    EXPECT_EQ(out.at("/training/micro_batch_size"), 1);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/layout/zero_stage"), 0);
    EXPECT_EQ(importedText("swift sft --model Qwen/Qwen3-8B --dataset x --max_length 4096\n").at("/layout/dp"), 1)
        << "without NPROC_PER_NODE there is one process";
    EXPECT_EQ(importedText("NPROC_PER_NODE=8 swift pt --model Qwen/Qwen3-8B --max_length 512\n").at("/training/lora"), Json());
}

TEST(SwiftImport, FullTuningWithoutSharesUpdatesItsWeightsAsTheyAre)
{
    const auto out = importedText("swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --torch_dtype bfloat16 "
                                  "--max_length 2048\n");
    EXPECT_EQ(out.at("/training/master_weights"), false);
}

TEST(SwiftImport, UlyssesCutsTheProcesses)
{
    const auto out = importedText("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --tuner_type full --max_length 65536 "
                                  "--sequence_parallel_size 4 --deepspeed zero3 --packing true\n");
    EXPECT_EQ(out.at("/layout/cp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 2);
    EXPECT_EQ(out.became("--sequence_parallel_size"), "not_representable");
    EXPECT_EQ(out.became("--packing"), "not_representable");
}

TEST(SwiftImport, ReinforcementIsTold)
{
    const auto out = importedText("NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --tuner_type full "
                                  "--max_length 2048 --max_completion_length 1024 --num_generations 8 --deepspeed zero3\n");
    EXPECT_EQ(out.at("/training/sequence_length"), 3072);
    EXPECT_EQ(out.became("--rlhf_type"), "not_representable");
    EXPECT_THAT(out.textOn("--rlhf_type"), HasSubstr("generation"));
    const auto dpo = importedText("NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B --max_length 2048 "
                                  "--per_device_train_batch_size 2 --gradient_accumulation_steps 1\n");
    EXPECT_EQ(dpo.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(dpo.at("/training/global_batch_size"), 32);
}

} // namespace
