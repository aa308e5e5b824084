// How tokens are sent to experts, and adapters in the names of Megatron's matrices.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::HasSubstr;

const std::string kOfExperts = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
                               "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 "
                               "--micro-batch-size 1 --global-batch-size 64 --bf16 --num-experts 16 --moe-router-topk 4 "
                               "--moe-ffn-hidden-size 1024 --expert-model-parallel-size 8 ";
const char* const kOnce = "/training/moe/send_once_per_node";

TEST(DispatcherImport, OneThatMegatronDoesNotHaveIsTold)
{
    for (const auto& [word, became] :
         {std::pair{"zzz", "unknown"}, {"alltoall", "used"}, {"alltoall_seq", "used"}, {"allgather", "harmless"}})
        EXPECT_EQ(importedText(kOfExperts + "--moe-token-dispatcher-type " + word + "\n").became("--moe-token-dispatcher-type"),
                  became)
            << word;
}

TEST(DispatcherImport, FlexSendsATokenToANodeOnce)
{
    for (const char* flags : {"--moe-token-dispatcher-type flex --moe-enable-deepep", "--moe-token-dispatcher-type flex",
                              "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep"}) {
        const auto out = importedText(kOfExperts + flags + "\n");
        EXPECT_EQ(out.at(kOnce), true) << flags;
        EXPECT_EQ(out.became("--moe-token-dispatcher-type"), "used") << flags;
    }
    EXPECT_EQ(importedText(kOfExperts + "--moe-token-dispatcher-type flex --moe-enable-deepep\n").became("--moe-enable-deepep"),
              "used");
    EXPECT_EQ(importedText(kOfExperts + "--moe-token-dispatcher-type alltoall\n").at(kOnce), false);
    EXPECT_EQ(importedText(kOfExperts).at(kOnce), false);
}

TEST(DispatcherImport, ABackendOfAnotherKindOfDispatcherIsTold)
{
    const auto refused = importedText(kOfExperts + "--moe-token-dispatcher-type alltoall --moe-enable-deepep\n");
    EXPECT_EQ(refused.at(kOnce), false);
    EXPECT_EQ(refused.became("--moe-enable-deepep"), "contradictory");
    EXPECT_THAT(refused.textOn("--moe-enable-deepep"), HasSubstr("alltoall"));
    const auto unread = importedText(kOfExperts + "--moe-token-dispatcher-type alltoall --moe-flex-dispatcher-backend deepep\n");
    EXPECT_EQ(unread.at(kOnce), false);
    EXPECT_EQ(unread.became("--moe-flex-dispatcher-backend"), "harmless");
}

TEST(DispatcherImport, BridgesPerformanceRecipesNameTheBackendAlone)
{
    const auto recipe = [](const std::string& lines) {
        return importedText("from megatron.bridge.recipes.qwen import qwen3_30b_a3b_pretrain_config\n\n"
                            "def config():\n    cfg = qwen3_30b_a3b_pretrain_config()\n"
                            "    cfg.model.expert_model_parallel_size = 8\n" +
                                lines,
                            8, "qwen3_30b_a3b.py");
    };
    EXPECT_EQ(recipe("    cfg.model.moe_flex_dispatcher_backend = \"hybridep\"\n").at(kOnce), true);
    EXPECT_EQ(recipe("    cfg.model.moe_flex_dispatcher_backend = None\n").at(kOnce), false);
    EXPECT_EQ(recipe("    cfg.model.moe_token_dispatcher_type = \"alltoall\"\n"
                     "    cfg.model.moe_flex_dispatcher_backend = \"deepep\"\n")
                  .at(kOnce),
              false);
}

test::ImportedText withBackend(const std::string& backend)
{
    return importedText("[model]\nname = \"qwen3\"\nflavor = \"30B-A3B\"\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n"
                        "[parallelism]\ndata_parallel_shard_degree = 8\nexpert_parallel_degree = 8\n"
                        "expert_parallel_comm_backend = \"" +
                            backend + "\"\n",
                        8);
}

TEST(DispatcherImport, TorchtitanNamesItToo)
{
    EXPECT_EQ(withBackend("deepep").at(kOnce), true);
    EXPECT_EQ(withBackend("hybridep").at(kOnce), true);
    EXPECT_EQ(withBackend("standard").at(kOnce), false);
}

TEST(DispatcherExport, ComesBackAsItWas)
{
    const auto megatron = importedText(kOfExperts + "--moe-token-dispatcher-type flex --moe-enable-deepep\n");
    const auto titan = withBackend("deepep");
    for (const auto& [in, kind] : {std::pair{&megatron, "megatron-args"},
                                   {&megatron, "nemo-yaml"},
                                   {&megatron, "bridge-python"},
                                   {&titan, "torchtitan-toml"}}) {
        const auto resolved = sim::ScenarioDocument::parse(in->imported.scenario).resolve(test::catalogue());
        ASSERT_TRUE(resolved.scenario);
        ASSERT_TRUE(resolved.scenario->training.moe.sendOncePerNode) << kind;
        const sim::Exported out = sim::exportSettings(*resolved.scenario, kind, test::catalogue());
        EXPECT_THAT(out.text, HasSubstr("deepep")) << kind;
        for (const sim::Note& note : out.notes)
            EXPECT_NE(note.pointer, kOnce) << kind << ": " << note.text;
    }
}

const std::string kAdapters = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --tuner_type lora --lora_rank 16 "
                              "--micro_batch_size 1 --global_batch_size 16 --max_length 4096 ";

TEST(MegatronAdapters, BesideAMatrixThereIsOne)
{
    const auto all = importedText(kAdapters + "--target_modules all-linear\n");
    EXPECT_EQ(all.at("/training/lora/fused"), true);
    EXPECT_EQ(all.at("/training/lora/targets").size(), 7U);
    EXPECT_EQ(importedText(kAdapters).at("/training/lora/targets").size(), 7U) << "the default";
    const auto two = importedText(kAdapters + "--target_modules linear_qkv linear_proj\n");
    EXPECT_EQ(two.at("/training/lora/targets"), sim::Json({"q_proj", "k_proj", "v_proj", "o_proj"}));
    const auto parts = importedText(kAdapters + "--target_modules linear_q linear_v\n");
    EXPECT_EQ(parts.at("/training/lora/targets"), sim::Json({"q_proj", "v_proj"}));
    EXPECT_EQ(parts.at("/training/lora/fused"), false) << "CanonicalLoRA's";
    const auto other = importedText(kAdapters + "--target_modules linear_qkv linear_kv_down\n");
    EXPECT_EQ(other.became("--target_modules"), "not_representable");
    EXPECT_THAT(other.textOn("--target_modules"), HasSubstr("linear_kv_down"));
}

/// Qwen3-30B-A3B: 128 experts in each of 48 layers, 2,048 and 768 wide.
TEST(MegatronAdapters, BesideExpertsAreToldWithWhatIsLeftOut)
{
    const auto notesOf = [](const std::string& script) {
        std::string all;
        for (const sim::Note& note : importedText(script).imported.notes)
            if (note.became == sim::Became::notRepresentable && note.pointer == "/training/lora/targets")
                all += note.text;
        return all;
    };
    const std::string sizes = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type lora --lora_rank 8 "
                              "--expert_model_parallel_size 8 --micro_batch_size 1 --global_batch_size 16 --max_length 4096 ";
    // 8 x (2 x 2,048 + 3 x 768) x 128 x 48
    for (const char* targets : {"--target_modules all-linear\n", "--target_modules linear_qkv linear_fc1 linear_fc2\n", "\n"})
        EXPECT_THAT(notesOf(sizes + targets), HasSubstr("315 million")) << targets;
    EXPECT_EQ(importedText(sizes + "--target_modules all-linear\n").at("/training/lora/targets").size(), 4U);
    EXPECT_EQ(notesOf(sizes + "--target_modules linear_qkv linear_proj\n"), "");
    // Of PEFT's: 8 x 3 x (2,048 + 768) x 128 x 48
    EXPECT_THAT(notesOf("NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-30B-A3B --lora_rank 8 --max_length 4096 "
                        "--target_modules all-linear\n"),
                HasSubstr("415 million"));
}

TEST(MegatronImport, AnActivationsInputKeptIn8BitsIsHalfAsLarge)
{
    const auto out = importedText(kOfExperts + "--fp8-format hybrid --activation-func-fp8-input-store\n");
    EXPECT_EQ(out.at("/training/stack/activation/saved"), 0.5);
    EXPECT_EQ(importedText(kOfExperts + "--fp8-format hybrid\n").at("/training/stack/activation/saved"), 1.0);
}

} // namespace
