// Arguments of Megatron that it refuses together: both places are told. From validate_args, transformer_config.py, moe_layer.py.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::AllOf;
using testing::HasSubstr;

const std::string kRefusalJob = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
                                "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
                                "--micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 32000";

std::string refusalOn(const std::string& flags, const std::string& setting)
{
    const auto out = importedText(kRefusalJob + " \\\n" + flags + "\n");
    EXPECT_EQ(out.became(setting), "contradictory") << flags;
    return out.textOn(setting);
}
std::string refusalBecame(const std::string& flags, const std::string& setting)
{
    return importedText(kRefusalJob + " \\\n" + flags + "\n").became(setting);
}

TEST(MegatronRefusals, TorchFsdpTakesNeitherPipelinesNorExpertsNorAnotherOptimizer)
{
    EXPECT_THAT(refusalOn("--use-torch-fsdp2 --use-distributed-optimizer \\\n--pipeline-model-parallel-size 2 "
                          "--num-experts 8 --expert-model-parallel-size 2",
                          "--use-torch-fsdp2"),
                AllOf(HasSubstr("--pipeline-model-parallel-size 2 (line 3)"), HasSubstr("--use-distributed-optimizer (line 2)"),
                      HasSubstr("--expert-model-parallel-size"), HasSubstr("tied embeddings")));
    EXPECT_EQ(refusalBecame("--use-torch-fsdp2 --untie-embeddings-and-output-weights", "--use-torch-fsdp2"), "used");
}

TEST(MegatronRefusals, OverlapAndExpertsTakeSequenceParallelism)
{
    refusalOn("--tensor-model-parallel-size 2 --tp-comm-overlap", "--tp-comm-overlap");
    EXPECT_THAT(refusalOn("--sequence-parallel --tp-comm-overlap", "--tp-comm-overlap"), HasSubstr("switches off"));
    EXPECT_EQ(refusalBecame("--tensor-model-parallel-size 2 --sequence-parallel --tp-comm-overlap", "--tp-comm-overlap"), "used");
    EXPECT_THAT(refusalOn("--num-experts 8 --tensor-model-parallel-size 2", "--num-experts"), HasSubstr("(line 2)"));
    EXPECT_EQ(refusalBecame("--num-experts 8 --tensor-model-parallel-size 2 --sequence-parallel", "--num-experts"), "used");
}

TEST(MegatronRefusals, FullRecomputationTakesAMethodAndACount)
{
    EXPECT_THAT(refusalOn("--recompute-granularity full", "--recompute-granularity"), HasSubstr("--recompute-method"));
    EXPECT_THAT(refusalOn("--recompute-granularity full --recompute-method uniform", "--recompute-granularity"),
                HasSubstr("--recompute-num-layers"));
    EXPECT_EQ(refusalBecame("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
                            "--recompute-granularity"),
              "used");
    EXPECT_EQ(refusalBecame("--checkpoint-activations", "--checkpoint-activations"), "used") << "of 2020, whole in itself";
}

TEST(MegatronRefusals, ChunksAreSaidOnceAndOfAPipeline)
{
    EXPECT_THAT(refusalOn("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*16|t*16L' "
                          "--num-virtual-stages-per-pipeline-rank 4",
                          "--num-virtual-stages-per-pipeline-rank"),
                HasSubstr("--pipeline-model-parallel-layout"));
    refusalOn("--num-virtual-stages-per-pipeline-rank 4", "--num-virtual-stages-per-pipeline-rank");
    EXPECT_EQ(refusalBecame("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4",
                            "--num-virtual-stages-per-pipeline-rank"),
              "used");
}

TEST(MegatronRefusals, MegatronFsdpTakesOneKindOfCheckpoint)
{
    const std::string fsdp = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
                             "--use-distributed-optimizer --untie-embeddings-and-output-weights ";
    EXPECT_THAT(refusalOn(fsdp + "--ckpt-format torch_dist", "--use-megatron-fsdp"), HasSubstr("torch_dist (line 2)"));
    EXPECT_EQ(refusalBecame(fsdp + "--ckpt-format fsdp_dtensor", "--use-megatron-fsdp"), "used");
}

TEST(MegatronImport, GradientsOfFp16AreIn16BitsUnlessTold)
{
    const std::string job = "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                            "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 ";
    const auto format = [&](const std::string& flags) { return importedText(job + flags, 8).at("/training/gradient_dtype"); };
    EXPECT_EQ(format("--fp16"), "bf16") << "two bytes";
    EXPECT_EQ(format("--fp16 --accumulate-allreduce-grads-in-fp32"), "fp32");
    EXPECT_EQ(format("--bf16"), "fp32");
    EXPECT_EQ(format("--bf16 --accumulate-allreduce-grads-in-fp32"), "fp32");
    EXPECT_EQ(format("--bf16 --grad-reduce-in-bf16"), "bf16");
    EXPECT_EQ(format("--bf16 --use-precision-aware-optimizer --main-grads-dtype bf16"), "bf16");
    EXPECT_EQ(format(""), "fp32");
    EXPECT_EQ(importedText(job + "--fp16 --accumulate-allreduce-grads-in-fp32", 8).became("--accumulate-allreduce-grads-in-fp32"),
              "used");
    EXPECT_EQ(importedText(job + "--fp16 --grad-reduce-in-bf16", 8).became("--grad-reduce-in-bf16"), "harmless");
}

TEST(MegatronImport, AVocabularyIsGuessedOfAModelWithAsManyExperts)
{
    const auto out = importedText("pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --swiglu "
                                  "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 "
                                  "--max-position-embeddings 32768 --micro-batch-size 1 --num-experts 8 --moe-router-topk 2 ",
                                  8);
    EXPECT_EQ(out.at("/model/vocab_size"), 32000);
    EXPECT_THAT(out.textOn("model.vocab_size"), HasSubstr("mixtral-8x7b"));
    EXPECT_THAT(out.textOn("model.vocab_size"), testing::Not(HasSubstr("(llama3-8b)")));
    const auto dense = importedText("pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --swiglu "
                                    "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --seq-length 4096 "
                                    "--max-position-embeddings 8192 --micro-batch-size 1 ",
                                    8);
    EXPECT_EQ(dense.at("/model/vocab_size"), 128256);
    EXPECT_THAT(dense.textOn("model.vocab_size"), testing::Not(HasSubstr("mixtral")));
}

TEST(MegatronImport, WhatChangesTheStepIsNotHarmless)
{
    const std::string job = "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                            "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 ";
    const std::string fsdp = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params ";
    const auto became = [&](const std::string& flags, const std::string& setting) {
        return importedText(job + flags, 8).became(setting);
    };
    EXPECT_EQ(became("--cross-entropy-loss-fusion", "--cross-entropy-loss-fusion"), "not_representable");
    EXPECT_EQ(became("--num-experts 8 --moe-grouped-gemm", "--moe-grouped-gemm"), "not_representable");
    EXPECT_EQ(became("--fp8-format hybrid --first-last-layers-bf16", "--first-last-layers-bf16"), "not_representable");
    EXPECT_EQ(became("--first-last-layers-bf16", "--first-last-layers-bf16"), "harmless");
    EXPECT_EQ(importedText(job + fsdp + "--megatron-fsdp-main-grads-dtype bf16", 8).at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(became(fsdp + "--megatron-fsdp-main-grads-dtype bf16", "--megatron-fsdp-main-grads-dtype"), "used");
    EXPECT_EQ(became(fsdp + "--megatron-fsdp-grad-comm-dtype bf16", "--megatron-fsdp-grad-comm-dtype"), "not_representable");
    EXPECT_EQ(became(fsdp + "--megatron-fsdp-main-params-dtype bf16", "--megatron-fsdp-main-params-dtype"), "not_representable");
    EXPECT_EQ(became("--megatron-fsdp-main-grads-dtype bf16", "--megatron-fsdp-main-grads-dtype"), "harmless");
}

TEST(MegatronImport, ADumpSaysWhetherFsdpDropsItsParameters)
{
    const auto stage = [](const char* reshards) {
        return importedText(std::string("------ arguments ------\n  num_layers .... 8\n  hidden_size .... 1024\n"
                                        "  num_attention_heads .... 16\n  seq_length .... 1024\n"
                                        "  max_position_embeddings .... 1024\n  micro_batch_size .... 1\n"
                                        "  global_batch_size .... 64\n  untie_embeddings_and_output_weights .... True\n"
                                        "  use_torch_fsdp2 .... True\n  torch_fsdp2_reshard_after_forward .... ") +
                            reshards + "\n  tensor_model_parallel_size .... 2\n  world_size .... 8\n------ end ------\n")
            .at("/layout/zero_stage");
    };
    EXPECT_EQ(stage("False"), 2);
    EXPECT_EQ(stage("True"), 3);
}

TEST(MegatronImport, LatentAttentionTakesYarnUnlessTold)
{
    // training/argument_utils.py leaves the class's own default; training/arguments.py has a factor of 1
    const std::string job = "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                            "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 "
                            "--multi-latent-attention --position-embedding-type rope ";
    const auto usual = importedText(job, 8);
    EXPECT_EQ(usual.became("--rope-type"), "default");
    EXPECT_TRUE(usual.at("/model/rope_scaling/rope_type").is_null()) << "a factor of 1 scales nothing";
    EXPECT_EQ(importedText(job + "--rotary-scaling-factor 40", 8).at("/model/rope_scaling/rope_type"), "yarn");
    EXPECT_EQ(importedText(job + "--rotary-scaling-factor 40", 8).at("/model/rope_scaling/factor"), 40);
    EXPECT_TRUE(
        importedText(job + "--rope-type rope --rotary-scaling-factor 40", 8).at("/model/rope_scaling/rope_type").is_null());
}

TEST(ImportNotes, UsesNoValueThatAScenarioDoesNotTake)
{
    const auto out = importedText("torchrun pretrain_gpt.py --num-layers 2000000000 --hidden-size 2000000000 "
                                  "--num-attention-heads 2 --micro-batch-size 2000000000 --global-batch-size 2000000000 "
                                  "--seq-length 2000000000 --num-experts 2000000000\n");
    for (const char* setting :
         {"--num-layers", "--hidden-size", "--micro-batch-size", "--global-batch-size", "--seq-length", "--num-experts"}) {
        EXPECT_EQ(out.became(setting), "unknown") << setting;
        EXPECT_THAT(out.textOn(setting), HasSubstr("is more than the")) << setting;
    }
    EXPECT_TRUE(sim::ScenarioDocument::parse(out.imported.scenario).resolve(test::catalogue()).scenario);
    const auto ranks = importedText("parallelism:\n  dp: 0\n  tp: 1000000\n  pp: 1000000\ntokens:\n  sequence_length: 128\n"
                                    "  micro_batch_size: 1\nmodel:\n  model_config:\n    num_hidden_layers: 2147483647\n"
                                    "    hidden_size: 2147483647\n    num_attention_heads: 16\n");
    EXPECT_LE(ranks.at("/layout/tp").get<int>() * ranks.at("/layout/pp").get<int>(), 1 << 20);
}

} // namespace
