// OpenRLHF's programs, and Pai-Megatron-Patch's that train Transformers' models under DeepSpeed.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::Contains;
using testing::HasSubstr;

const std::string kOpenRlhfFlags =
    " --data.max_len 2048 --data.dataset Open-Orca/OpenOrca --train.batch_size 256 --train.micro_batch_size 2 "
    "--model.model_name_or_path meta-llama/Meta-Llama-3-8B --ckpt.output_dir out --ckpt.save_steps -1 "
    "--logger.logging_steps 1 --eval.steps -1 --ds.zero_stage 2 --train.max_epochs 1 --ds.param_dtype bf16 "
    "--ds.attn_implementation flash_attention_2 --adam.lr 5e-6 --model.gradient_checkpointing_enable\n";

TEST(OpenRlhfImport, AllFlagsOfItsScriptsAreKnown)
{
    const auto out = importedText("deepspeed --module openrlhf.cli.train_sft" + kOpenRlhfFlags, 8);
    EXPECT_EQ(out.imported.kind, "deepspeed-json");
    EXPECT_EQ(out.at("/layout/zero_stage"), 2);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 256);
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.count(Became::unknown), 1) << "the cluster";
    EXPECT_EQ(out.became("bf16.enabled"), "no note") << "the type is given";
    EXPECT_EQ(out.became("--ds.nonsense"), "no note");
    EXPECT_EQ(
        importedText("deepspeed --module openrlhf.cli.train_sft --ds.nonsense 3" + kOpenRlhfFlags, 8).became("--ds.nonsense"),
        "unknown");
}

TEST(OpenRlhfImport, ItsSoftwareIsTransformersUnderDeepSpeed)
{
    const auto out = importedText("deepspeed --module openrlhf.cli.train_sft" + kOpenRlhfFlags, 8);
    EXPECT_EQ(out.at("/training/stack/id"), "huggingface");
    EXPECT_THAT(out.imported.unknown, testing::Not(Contains("/training/stack")));
}

TEST(OpenRlhfImport, PairsAreTwoSequences)
{
    const auto out = importedText("deepspeed --module openrlhf.cli.train_dpo" + kOpenRlhfFlags, 8);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 4);
    EXPECT_EQ(out.at("/training/global_batch_size"), 512);
    EXPECT_THAT(out.textOn("objective"), HasSubstr("reference"));
}

TEST(OpenRlhfImport, OfRaysJobsTheActorIsRead)
{
    const auto out = importedText("python3 -m openrlhf.cli.train_ppo_ray --ref.num_nodes 1 --ref.num_gpus_per_node 8 "
                                  "--actor.num_nodes 2 --actor.num_gpus_per_node 8 --vllm.num_engines 4 --train.colocate_all "
                                  "--actor.model_name_or_path OpenRLHF/Llama-3-8b-sft-mixture --train.batch_size 128 "
                                  "--rollout.batch_size 1024 --data.max_len 2048 --ds.zero_stage 3 --ds.param_dtype bf16 "
                                  "--actor.gradient_checkpointing_enable --critic.adam.lr 9e-6\n");
    EXPECT_EQ(out.imported.kind, "deepspeed-json");
    EXPECT_EQ(out.at("/layout/dp"), 16);
    EXPECT_EQ(out.at("/layout/zero_stage"), 3);
    EXPECT_EQ(out.at("/training/global_batch_size"), 128);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_THAT(out.textOn("objective"), HasSubstr("generation"));
    EXPECT_EQ(out.became("--vllm.num_engines"), "not_representable");
    EXPECT_EQ(out.became("--ref.num_nodes"), "not_representable");
    EXPECT_EQ(out.became("--critic.adam.lr"), "not_representable");
}

TEST(PaiImport, ItsModelsOfTransformersAreNotMegatrons)
{
    const std::string script =
        "GPUS_PER_NODE=8\nNNODES=1\nrun_cmd=\"torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES "
        "ds_train_huggingface_llama.py --load /ckpts/llama2-7b-hf --save out --num-layers 32 --hidden-size 4096 --seq-length "
        "2048 "
        "--num-attention-heads 32 --intermediate-size 11008 --micro-batch-size 1 --epochs 2 --lr 1e-5 --num-workers 1 "
        "--gradient-accumulation-steps 2 --bf16 --enable-gradient-checkpointing\"\neval ${run_cmd}\n";
    const auto out = importedText(script);
    EXPECT_EQ(out.imported.kind, "deepspeed-json");
    EXPECT_EQ(out.at("/training/stack/id"), "huggingface");
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 32);
    EXPECT_EQ(out.at("/model/intermediate_size"), 11008);
    EXPECT_EQ(out.at("/training/sequence_length"), 2048);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_THAT(out.imported.unknown, Contains("/layout/zero_stage")) << "in the file that it writes of a template";
}

} // namespace
