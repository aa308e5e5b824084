// What Megatron's arguments mean where they mean something by being together, or by being absent
// (megatron/training/arguments.py).
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kJob = "python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                         "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

TEST(MegatronImport, ParametersIn8BitsHaveNoNarrowCopiesBesideThem)
{
    const auto keeps = [](const std::string& flags) {
        const auto out = importedText(kJob + "--use-distributed-optimizer " + flags, 8);
        EXPECT_EQ(out.count(Became::notRepresentable), 0) << flags;
        return out.at("/training/stack/keeps_narrow_weights") == Json(true);
    };
    EXPECT_TRUE(keeps("--fp8-format hybrid"));
    EXPECT_FALSE(keeps("--fp8-format hybrid --fp8-param-gather"));
    EXPECT_FALSE(keeps("--fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather"));
    EXPECT_TRUE(keeps("--fp4-format e2m1 --fp8-param-gather")) << "those of four bits are another's";
    EXPECT_EQ(importedText(kJob + "--fp8-param-gather", 8).count(Became::harmless), 1);
}

TEST(MegatronImport, AttentionIsIn8BitsWhereAFlagSaysSo)
{
    const auto isNarrow = [](const std::string& flags) {
        const auto out = importedText(kJob + flags, 8);
        EXPECT_EQ(out.count(Became::notRepresentable), 0) << flags;
        return out.at("/training/stack/narrow_attention") == Json(true);
    };
    EXPECT_FALSE(isNarrow("--fp8-format hybrid"));
    EXPECT_TRUE(isNarrow("--fp8-format hybrid --fp8-dot-product-attention"));
    EXPECT_TRUE(isNarrow("--fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather --fp8-dot-product-attention"));
    EXPECT_FALSE(isNarrow("--fp8-dot-product-attention")) << "nothing is in 8 bits";
    EXPECT_EQ(importedText(kJob + "--fp8-dot-product-attention", 8).count(Became::harmless), 1);
    EXPECT_EQ(importedText(kJob + "--fp8-format hybrid --fp8-multi-head-attention", 8).count(Became::notRepresentable), 1);
}

TEST(MegatronImport, HowLongItTrainsIsTheTokensOfTheRun)
{
    EXPECT_EQ(importedText(kJob + "--train-iters 500", 8).at("/training/tokens"), 500.0 * 64 * 2048);
    EXPECT_EQ(importedText(kJob + "--train-samples 1831054", 8).at("/training/tokens"), 1831054.0 * 2048);
    const std::string ramp = "--rampup-batch-size 16 16 100000 ";
    EXPECT_EQ(importedText(kJob + ramp + "--train-samples 1831054", 8).at("/training/tokens"), 1831054.0 * 2048);
    EXPECT_EQ(importedText(kJob + ramp + "--train-iters 500", 8).at("/training/tokens"),
              importedText(kJob, 8).at("/training/tokens"))
        << "its steps differ: not said";
}

TEST(MegatronImport, GroupedQueriesWithoutANumberShareOneGroup)
{
    EXPECT_EQ(importedText(kJob + "--group-query-attention", 8).at("/model/num_key_value_heads"), 1);
    EXPECT_EQ(importedText(kJob + "--group-query-attention --num-query-groups 4", 8).at("/model/num_key_value_heads"), 4);
    EXPECT_EQ(importedText(kJob, 8).at("/model/num_key_value_heads"), 16);
}

TEST(MegatronImport, NoPositionEmbeddingTakesOnlyTheLearnedOneAway)
{
    EXPECT_EQ(importedText(kJob + "--no-position-embedding", 8).at("/model/position_embedding"), "none");
    for (const char* flags :
         {"--use-rotary-position-embeddings --no-position-embedding", "--no-position-embedding --position-embedding-type rope"}) {
        const auto both = importedText(kJob + flags, 8);
        EXPECT_EQ(both.at("/model/position_embedding"), "rope") << flags;
        EXPECT_EQ(both.count(Became::contradictory), 0) << flags;
    }
}

TEST(MegatronImport, ChunksByLayersCountEmbeddingAndLossWhereTheSplitDoes)
{
    const std::string job =
        "python pretrain_gpt.py --num-layers 30 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
        "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 "
        "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4 ";
    const auto with = importedText(job + "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split", 8);
    EXPECT_EQ(with.at("/schedule/virtual_stages"), 2); // (30 + 2) / 4 / 4
    EXPECT_EQ(with.at("/schedule/layers_per_stage"), Json({3, 4, 4, 4, 4, 4, 4, 3}));
    EXPECT_EQ(with.count(Became::contradictory), 0);
    EXPECT_GT(importedText(job, 8).count(Became::contradictory), 0);
}

TEST(MegatronImport, AWorldThatIsNotGivenIsTheSmallestThatItsExpertsLieOver)
{
    const auto out = importedText(kJob + "--num-experts 64 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 "
                                         "--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 2");
    EXPECT_EQ(out.at("/layout/dp"), 4); // 16 ranks = etp 1 x ep 8 x pp 2
    EXPECT_THAT(out.imported.unknown, testing::Contains("/layout/dp"));
    EXPECT_EQ(out.at("/model/num_experts"), 64) << "it resolves";
}

TEST(MegatronImport, PartOfASharedExpertIsOneAndSaid)
{
    const auto out =
        importedText(kJob + "--num-experts 8 --moe-ffn-hidden-size 1024 --moe-shared-expert-intermediate-size 512", 8);
    EXPECT_EQ(out.at("/model/num_shared_experts"), 1);
    EXPECT_EQ(out.became("--moe-shared-expert-intermediate-size"), "not_representable");
}

TEST(MegatronImport, LayersOfSeveralKindsAreCountedAndSaidNotToBe)
{
    const std::string job = "python pretrain_mamba.py --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                            "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 "
                            "--pipeline-model-parallel-size 2 ";
    const auto out = importedText(job + "--hybrid-layer-pattern 'M-M*|M-ME-|M-|*-/M*/M*'", 8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 13);
    EXPECT_EQ(out.at("/model/num_nextn_predict_layers"), 2);
    EXPECT_EQ(out.at("/schedule/layers_per_stage"), Json({4, 5, 2, 2}));
    EXPECT_EQ(out.became("--hybrid-layer-pattern"), "not_representable");
    EXPECT_EQ(importedText(job + "--hybrid-override-pattern M-M*M-M*", 8).at("/model/num_hidden_layers"), 8);
}

TEST(MegatronImport, AnEncoderBesideTheDecoderIsSaidToBeLayersOfOne)
{
    const auto out = importedText("python pretrain_t5.py --encoder-num-layers 12 --decoder-num-layers 12 --hidden-size 768 "
                                  "--num-attention-heads 12 --encoder-seq-length 512 --decoder-seq-length 128 "
                                  "--max-position-embeddings 512 --micro-batch-size 16 --global-batch-size 512 --bf16",
                                  8);
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 24);
    EXPECT_EQ(out.at("/training/sequence_length"), 512);
    EXPECT_EQ(out.became("--decoder-num-layers"), "not_representable");
}

TEST(MegatronImport, WindowsSinksAndLayersWithoutRotationHaveKeys)
{
    const auto out = importedText(kJob + "--position-embedding-type rope --window-size 127,0 --window-attn-skip-freq 2 "
                                         "--softmax-type learnable --no-rope-freq 4 --use-rope-scaling --rope-scaling-factor 32",
                                  8);
    EXPECT_EQ(out.at("/model/sliding_window"), 128);
    EXPECT_EQ(out.at("/model/sliding_window_pattern"), 2);
    EXPECT_EQ(out.at("/model/attention_sinks"), true);
    EXPECT_EQ(out.at("/model/no_rope_layer_interval"), 4);
    EXPECT_EQ(out.at("/model/rope_scaling/rope_type"), "llama3");
    EXPECT_EQ(out.at("/model/rope_scaling/factor"), 32);
    EXPECT_EQ(out.count(Became::notRepresentable), 0);
    const auto listed = importedText(kJob + "--window-size 127,0 --window-attn-skip-freq '([1]*3+[0])*6'", 8);
    EXPECT_EQ(listed.at("/model/layer_types").size(), 24U);
    EXPECT_EQ(listed.at("/model/layer_types/2"), "sliding_attention");
    EXPECT_EQ(listed.at("/model/layer_types/3"), "full_attention");
}

TEST(MegatronImport, PatternsOfExpertsAreListsAsPythonHasThem)
{
    for (const char* pattern : {"([0]+[1])*12", "12*([0,1])", "[0,1]*12", "( [0] + [1] )*3*4"}) {
        const auto out = importedText(kJob + "--num-experts 8 --moe-layer-freq '" + pattern + "'", 8);
        EXPECT_EQ(out.at("/model/first_k_dense_replace"), 1) << pattern;
        EXPECT_EQ(out.at("/model/moe_layer_freq"), 2) << pattern;
    }
}

TEST(MegatronImport, AttentionIsFusedWhereTheImplementationCanBe)
{
    EXPECT_EQ(importedText(kJob, 8).at("/training/flash_attention"), true);
    EXPECT_EQ(importedText(kJob + "--transformer-impl local", 8).at("/training/flash_attention"), false);
    EXPECT_EQ(importedText(kJob + "--transformer-impl local --use-flash-attn", 8).at("/training/flash_attention"), true);
    EXPECT_EQ(importedText(kJob + "--deepspeed", 8).at("/training/flash_attention"), false);
    EXPECT_EQ(importedText(kJob + "--deepspeed --use-flash-attn-v2", 8).at("/training/flash_attention"), true);
}

TEST(MegatronImport, PyTorchsWrapperReducesBesideTheBackwardPass)
{
    EXPECT_EQ(importedText(kJob + "--DDP-impl torch", 8).at("/training/overlap/grad_reduce"), true);
    EXPECT_EQ(importedText(kJob + "--DDP-impl local", 8).at("/training/overlap/grad_reduce"), false);
}

TEST(MegatronImport, ParametersThatFsdpKeepsAreTheSecondStage)
{
    EXPECT_EQ(importedText(kJob + "--use-torch-fsdp2", 8).at("/layout/zero_stage"), 3);
    EXPECT_EQ(importedText(kJob + "--use-torch-fsdp2 --torch-fsdp2-no-reshard-after-forward", 8).at("/layout/zero_stage"), 2);
}

TEST(MegatronImport, FunctionalTestsMayHoldScriptsBesideTheirArguments)
{
    const auto out =
        importedText("BEFORE_SCRIPT: |\n  python quantize.py \\\n    --bf16 \\\n    --seq-length 4096\nMODEL_ARGS:\n"
                     "  --num-layers: 24\n  --hidden-size: 2048\n  --num-attention-heads: 16\n  --seq-length: 2048\n"
                     "  --max-position-embeddings: 2048\n  --micro-batch-size: 2\n  --bf16: true\nMODE: pretraining\n",
                     8);
    EXPECT_EQ(out.at("/model/hidden_size"), 2048);
    EXPECT_EQ(out.at("/training/sequence_length"), 2048);
    EXPECT_EQ(out.became("MODE"), "harmless");
}

TEST(MegatronImport, OptionsThatChangeTheStepAreNotCalledStrangers)
{
    const auto out = importedText(kJob + "--no-bias-gelu-fusion --use-persistent-ckpt-worker --defer-embedding-wgrad-compute "
                                         "--experimental-attention-variant gated_delta_net --fine-grained-activation-offloading",
                                  8);
    EXPECT_EQ(out.became("--no-bias-gelu-fusion"), "harmless");
    EXPECT_EQ(out.became("--use-persistent-ckpt-worker"), "harmless");
    EXPECT_EQ(out.became("--defer-embedding-wgrad-compute"), "not_representable");
    EXPECT_EQ(out.became("--experimental-attention-variant"), "not_representable");
    EXPECT_EQ(out.became("--fine-grained-activation-offloading"), "not_representable");
}

TEST(MegatronImport, AModelThatStandsInHasExpertsWhereTheyAreLaidOut)
{
    const auto out = importedText("python pretrain_gpt.py --use-checkpoint-args --expert-model-parallel-size 64 "
                                  "--expert-tensor-parallel-size 1 --micro-batch-size 1 --global-batch-size 64 --bf16",
                                  64);
    EXPECT_EQ(out.at("/layout/ep"), 64);
    EXPECT_EQ(out.at("/model/num_experts"), 128);
    EXPECT_THAT(out.imported.unknown, testing::Contains("/model"));
}

const std::string kNemo = "trainer:\n  num_nodes: 1\n  devices: 8\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n"
                          "  global_batch_size: 64\n  tensor_model_parallel_size: 2\n  encoder_seq_length: 2048\n"
                          "  max_position_embeddings: 2048\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n";

TEST(NemoImport, Fp8IsASwitchAndItsFormsSayWhichKind)
{
    const auto off = importedText(kNemo + "  fp8: false\n  fp8_e4m3: false\n  fp8_hybrid: true\n");
    EXPECT_EQ(off.at("/training/precision"), "bf16");
    EXPECT_EQ(off.count(Became::contradictory), 0);
    EXPECT_EQ(importedText(kNemo + "  fp8: true\n  fp8_e4m3: false\n  fp8_hybrid: true\n").at("/training/precision"), "fp8");
}

TEST(NemoImport, ReadsWhatItCallsBySpellingsOfItsOwn)
{
    const auto out =
        importedText(kNemo + "  bias: false\n  qkv_bias: true\n  ub_tp_comm_overlap: true\n  sequence_parallel: false\n"
                             "  position_embedding_type: ALiBi\n  optim:\n    name: mcore_distributed_optim\n"
                             "    grad_sync_dtype: bf16\n");
    EXPECT_EQ(out.at("/model/qkv_bias"), true);
    EXPECT_EQ(out.at("/training/gradient_dtype"), "bf16");
    EXPECT_EQ(out.at("/training/overlap/tp_comm"), false) << "NeMo switches it off without sequence parallelism";
    EXPECT_THAT(out.textOn("model.position_embedding_type"), HasSubstr("alibi"));
}

TEST(MegatronImport, ALossWithTheHeadsProductInItHasNoLogits)
{
    EXPECT_EQ(importedText(kJob + "--cross-entropy-loss-fusion --cross-entropy-fusion-impl linear", 8)
                  .at("/training/loss_chunk_tokens"),
              1024);
    for (const char* other :
         {"--cross-entropy-loss-fusion --cross-entropy-fusion-impl te", "--cross-entropy-fusion-impl linear"}) {
        const auto out = importedText(kJob + other, 8);
        EXPECT_EQ(out.imported.scenario.find("loss_chunk_tokens"), std::string::npos) << other;
        EXPECT_EQ(out.became("--cross-entropy-fusion-impl"), "harmless") << other;
    }
}

TEST(MegatronImport, MomentsHaveTheirFormatBesideAPrecisionAwareOptimizerAlone)
{
    const std::string moments = "--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 ";
    EXPECT_EQ(importedText(kJob + "--use-precision-aware-optimizer " + moments, 8).at("/training/moment_dtype"), "bf16");
    EXPECT_EQ(importedText(kJob + moments, 8).at("/training/moment_dtype"), "fp32");
    const auto one = importedText(kJob + "--use-precision-aware-optimizer --exp-avg-dtype bf16", 8);
    EXPECT_EQ(one.at("/training/moment_dtype"), "fp32");
    EXPECT_EQ(one.became("--exp-avg-dtype"), "not_representable");
    const auto eight = importedText(kJob + "--use-precision-aware-optimizer --exp-avg-dtype fp8 --main-params-dtype fp16", 8);
    EXPECT_EQ(eight.became("--exp-avg-dtype"), "not_representable");
    EXPECT_EQ(eight.became("--main-params-dtype"), "not_representable");
    EXPECT_EQ(importedText(kJob + "--main-grads-dtype fp32", 8).became("--main-grads-dtype"), "harmless");
}

TEST(MegatronImport, LayersWhoseActivationsAreOnTheHostAreAKey)
{
    const auto out = importedText(kJob + "--cpu-offloading --cpu-offloading-num-layers 6", 8);
    EXPECT_EQ(out.at("/training/offload/activation_layers"), 6);
    // The number alone switches it on (validate_args); it is the only argument that there is.
    EXPECT_EQ(importedText(kJob + "--cpu-offloading-num-layers 6", 8).at("/training/offload/activation_layers"), 6);
}

TEST(MegatronImport, ItsOwnFlashAttentionAndABackendDoNotContradict)
{
    const auto out = importedText(kJob + "--use-flash-attn --transformer-impl transformer_engine --attention-backend fused", 8);
    EXPECT_EQ(out.count(Became::contradictory), 0);
    EXPECT_EQ(out.at("/training/flash_attention"), true);
    EXPECT_EQ(out.became("--use-flash-attn"), "harmless");
    EXPECT_EQ(importedText(kJob + "--use-flash-attn --transformer-impl local", 8).at("/training/flash_attention"), true);
    EXPECT_EQ(importedText(kJob + "--transformer-impl local", 8).at("/training/flash_attention"), false);
}

TEST(MegatronImport, VariablesOfTransformerEngineLeaveKernelsOut)
{
    const auto attentionOf = [](const std::string& variables, const std::string& flags = "") {
        const auto out = importedText(variables + "\ntorchrun pretrain_gpt.py " + kJob + flags, 8);
        return out.at("/training/flash_attention") == false ? "unfused" : out.at("/training/attention").dump();
    };
    const std::string stacks = attentionOf("");
    EXPECT_EQ(attentionOf("export NVTE_FUSED_ATTN=0"), "\"flash2\"");
    EXPECT_EQ(attentionOf("export NVTE_FUSED_ATTN=0", " --attention-backend auto"), "\"flash2\"");
    EXPECT_EQ(attentionOf("export NVTE_FUSED_ATTN=1\nexport NVTE_FLASH_ATTN=0"), stacks);
    EXPECT_EQ(attentionOf("export NVTE_FUSED_ATTN=0\nexport NVTE_FLASH_ATTN=0"), "unfused");
    EXPECT_EQ(attentionOf("export NVTE_FUSED_ATTN=0", " --attention-backend fused"), "\"cudnn\"") << "which sets them itself";
    EXPECT_EQ(attentionOf("export NVTE_FUSED_ATTN=0", " --transformer-impl local"), "unfused") << "has nothing of it";
}

TEST(MegatronImport, LatentAttentionScalesPositionsByItsOwnRule)
{
    const std::string latent =
        "--multi-latent-attention --kv-lora-rank 512 --qk-nope-head-dim 128 --qk-rope-head-dim 64 --v-head-dim 128 "
        "--position-embedding-type rope --use-rope-scaling ";
    const auto out = importedText(kJob + latent + "--rope-type yarn --rotary-scaling-factor 20 --mscale 1.0", 8);
    EXPECT_EQ(out.at("/model/rope_scaling/rope_type"), "yarn");
    EXPECT_EQ(out.at("/model/rope_scaling/factor"), 20);
    EXPECT_EQ(out.at("/model/qk_rope_head_dim"), 64);
    EXPECT_EQ(out.became("--qk-nope-head-dim"), "used");
    EXPECT_TRUE(importedText(kJob + latent, 8).at("/model/rope_scaling").is_null()) << "Llama 3's rule is not latent attention's";
}

TEST(MegatronImport, AForksMultiqueryIsOneGroup)
{
    EXPECT_EQ(importedText(kJob + "--attention-head-type multiquery", 8).at("/model/num_key_value_heads"), 1);
    EXPECT_EQ(importedText(kJob + "--attention-head-type multihead", 8).at("/model/num_key_value_heads"), 16);
}

TEST(MegatronImport, RecomputedActivationsAreSelectiveWhateverStandsBeside)
{
    for (const char* flags : {"--recompute-activations --recompute-granularity full", "--recompute-granularity full "
                                                                                      "--recompute-activations"}) {
        const auto out = importedText(kJob + flags, 8);
        EXPECT_EQ(out.at("/training/recompute"), "selective") << flags;
        EXPECT_EQ(out.became("--recompute-granularity"), "contradictory") << flags;
    }
    EXPECT_EQ(importedText(kJob + "--recompute-activations", 8).became("--recompute-activations"), "used");
}

TEST(MegatronImport, ParametersAreGatheredBesideTheForwardPassOfADistributedOptimizerAlone)
{
    const auto became = [](const std::string& flags) {
        return importedText(kJob + flags + " --overlap-param-gather", 8).became("--overlap-param-gather");
    };
    EXPECT_EQ(became(""), "contradictory");
    EXPECT_EQ(became("--overlap-grad-reduce"), "contradictory");
    EXPECT_EQ(became("--use-distributed-optimizer"), "contradictory");
    EXPECT_EQ(became("--use-distributed-optimizer --overlap-grad-reduce"), "used");
}

TEST(NemoImport, DivisionsOfItsInterpolationsAreWhole)
{
    const auto out = importedText(kNemo + "  ffn_hidden_size: ${divide_ceil:${multiply:${.hidden_size}, 8}, 3}\n"
                                          "  num_query_groups: ${int_div:${.num_attention_heads}, 5}\n");
    EXPECT_EQ(out.at("/model/intermediate_size"), 5462);   // 2048 x 8 / 3 = 5461.3
    EXPECT_EQ(out.valueOf("model.num_query_groups"), "3"); // 16 / 5 = 3.2
}

TEST(MegatronImport, PredictionModulesOfTheLastStageAreWhereTheScenarioHasThem)
{
    const std::string job = kJob + "--pipeline-model-parallel-size 2 --mtp-num-layers 1 --pipeline-model-parallel-layout ";
    EXPECT_EQ(importedText(job + "'Et*11|t*13mL'", 8).count(Became::notRepresentable), 0);
    EXPECT_GT(importedText(job + "'Et*11|t*12|tm|L'", 8).count(Became::notRepresentable), 0);
}

const std::string kFewFlags =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
    "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

TEST(MegatronImport, APaddedVocabularyCountsWhereTheTokenizersIsNotGiven)
{
    const auto dump = [](const std::string& vocabulary) {
        return importedText("  num_layers ...... 24\n  hidden_size ...... 2048\n  num_attention_heads ...... 16\n"
                            "  seq_length ...... 2048\n  micro_batch_size ...... 1\n  tensor_model_parallel_size ...... 4\n"
                            "  padded_vocab_size ...... 50688\n  vocab_size ...... " +
                                vocabulary + "\n",
                            8);
    };
    EXPECT_EQ(dump("50257").at("/model/vocab_size"), 50257);
    EXPECT_EQ(dump("50257").count(Became::contradictory), 0);
    EXPECT_EQ(dump("None").at("/model/vocab_size"), 50688);
    EXPECT_EQ(importedText(kFewFlags + "--vocab-size 50257 --pad-vocab-size-to 50432\n").at("/model/vocab_size"), 50432);
}

TEST(MegatronImport, WhatIsTheDefaultLosesNothing)
{
    const auto out = importedText(kFewFlags + "--rotary-percent 1.0 --cp-comm-type p2p --moe-token-dispatcher-type allgather\n");
    for (const char* flag : {"--rotary-percent", "--cp-comm-type", "--moe-token-dispatcher-type"})
        EXPECT_EQ(out.became(flag), "harmless") << flag;
    const auto other = importedText(kFewFlags + "--rotary-percent 0.5 --cp-comm-type a2a\n");
    EXPECT_EQ(other.became("--rotary-percent"), "not_representable");
    EXPECT_EQ(other.became("--cp-comm-type"), "harmless") << "of one context-parallel rank";
}

TEST(MegatronImport, WhatIsAskedIsNamedAsTheScenariosKey)
{
    const auto out = importedText(kFewFlags);
    EXPECT_EQ(out.became("cluster"), "unknown");
    EXPECT_EQ(out.became("model.vocab_size"), "unknown");
    EXPECT_EQ(out.became("--cluster"), "no note");
}

TEST(MegatronImport, ATokenizerSaysTheVocabularyThatIsAssumed)
{
    const auto size = [](const std::string& flags) { return importedText(kFewFlags + flags).at("/model/vocab_size"); };
    EXPECT_EQ(size("--tokenizer-type GPT2BPETokenizer\n"), 50257);
    EXPECT_EQ(size("--tokenizer-type Llama2Tokenizer --tokenizer-model /x/tokenizer.model\n"), 32000);
    EXPECT_EQ(size("--tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B\n"), 128256);
    EXPECT_THAT(importedText(kFewFlags + "--tokenizer-type GPT2BPETokenizer\n").imported.unknown,
                testing::Contains("/model/vocab_size"))
        << "it is asked for";
    EXPECT_THAT(importedText(kFewFlags).textOn("model.vocab_size"), testing::Not(HasSubstr("internlm")))
        << "positions are learnt";
}

TEST(MegatronYamlImport, AnMlpOfTheActivationSwigluIsNarrower)
{
    const std::string text = "language_model:\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n"
                             "  activation_func: swiglu\n  seq_length: 4096\nmodel_parallel:\n  tensor_model_parallel_size: 2\n"
                             "micro_batch_size: 1\nglobal_batch_size: 64\n";
    EXPECT_EQ(importedText(text, 8).at("/model/intermediate_size"), 10880); // int(4 h x 2 / 3 / 64) x 64
    std::string gelu = text;
    gelu.replace(gelu.find("swiglu"), 6, "gelu");
    EXPECT_EQ(importedText(gelu, 8).at("/model/intermediate_size"), 16384);
}

TEST(MegatronImport, ThePositionsTellLlama2FromLlama3)
{
    const std::string job =
        "python pretrain_gpt.py --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 "
        "--group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm --position-embedding-type rope "
        "--seq-length 4096 --max-position-embeddings 8192 --micro-batch-size 1 --global-batch-size 64 ";
    EXPECT_EQ(test::importedText(job + "--rotary-base 500000", 64).at("/model/vocab_size"), 128256);
    EXPECT_EQ(test::importedText(job + "--rotary-base 10000", 64).at("/model/vocab_size"), 32000);
}

} // namespace
