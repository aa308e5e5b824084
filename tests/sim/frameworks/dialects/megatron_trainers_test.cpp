// Trainers around Megatron's, whose own defaults count: ms-swift and slime.
#include "tests/support/imported.h"

#include <gtest/gtest.h>

namespace {

using test::importedText;

TEST(SwiftImport, ItsOwnDefaultsCount)
{
    const std::string command =
        "NPROC_PER_NODE=8 \\\nmegatron sft \\\n    --model Qwen/Qwen3-30B-A3B \\\n    --max_length 4096 \\\n"
        "    --tensor_model_parallel_size 2 --pipeline_model_parallel_size 2 \\\n"
        "    --expert_model_parallel_size 4 --sequence_parallel true";
    const auto out = importedText(command + "\n");
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/layout/etp"), 1);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 1);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/recompute"), "selective");
    EXPECT_EQ(out.became("megatron"), "harmless");
    const auto given =
        importedText(command + " --use_distributed_optimizer false --expert_tensor_parallel_size 2 "
                               "--expert_model_parallel_size 2 --global_batch_size 32 --recompute_granularity none\n");
    EXPECT_EQ(given.at("/layout/zero_stage"), 0);
    EXPECT_EQ(given.at("/layout/etp"), 2);
    EXPECT_EQ(given.at("/training/global_batch_size"), 32);
    EXPECT_EQ(given.at("/training/recompute"), "none");
}

TEST(SwiftImport, AdaptersHaveTheTargetsThatAreGiven)
{
    const auto out = importedText("NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 4096 --tuner_type lora "
                                  "--lora_rank 16 --lora_alpha 32 --target_modules q_proj v_proj --packing true "
                                  "--num_train_epochs 1 --tensor_model_parallel_size 2\n");
    EXPECT_EQ(out.at("/training/lora/rank"), 16);
    EXPECT_EQ(out.at("/training/lora/targets"), sim::Json({"q_proj", "v_proj"}));
    EXPECT_EQ(out.became("--packing"), "not_representable");
    for (const char* harmless : {"--num_train_epochs", "--lora_alpha"})
        EXPECT_EQ(out.became(harmless), "harmless") << harmless;
}

TEST(SlimeImport, TheActorsGpusTrainInBf16WithTheOptimizerShared)
{
    const auto out = importedText(
        "ray start --head --num-gpus 8\nray job submit --address http://127.0.0.1:8265 -- python3 train.py \\\n"
        "  --actor-num-nodes 1 --actor-num-gpus-per-node 4 --rollout-num-gpus 4 \\\n"
        "  --num-layers 36 --hidden-size 2560 --num-attention-heads 32 --ffn-hidden-size 9728 --vocab-size 151936 --swiglu \\\n"
        "  --tensor-model-parallel-size 2 --global-batch-size 256 --advantage-estimator grpo --eps-clip 0.2\n");
    EXPECT_EQ(out.at("/layout/dp"), 2);
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.became("--rollout-num-gpus"), "not_representable");
    EXPECT_EQ(out.became("--advantage-estimator"), "harmless");
}

} // namespace
