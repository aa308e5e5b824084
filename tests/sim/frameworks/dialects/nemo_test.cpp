// NeMo 1 beside its GPT: T5's two halves, fine-tuning, Aligner.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::HasSubstr;

std::string halves(const std::string& encoder, const std::string& decoder)
{
    return "trainer:\n  num_nodes: 1\n  devices: 8\n  precision: bf16\nmodel:\n  micro_batch_size: 4\n  global_batch_size: 64\n"
           "  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 2\n"
           "  pipeline_model_parallel_split_rank: ${divide_floor:${.pipeline_model_parallel_size}, 2}\n  seq_length: 512\n"
           "  max_position_embeddings: ${.seq_length}\n  encoder:\n" +
           encoder + "  decoder:\n" + decoder + "  share_decoder_tokens_head_embeddings: true\n  optim:\n    name: fused_adam\n";
}

TEST(NemoImport, AnEncoderAndADecoderAreTheLayersOfOneDecoder)
{
    const std::string half = "    num_layers: 12\n    hidden_size: 768\n    ffn_hidden_size: 2048\n    num_attention_heads: 12\n"
                             "    kv_channels: 64\n    activation: 'geglu'\n    hidden_dropout: 0.1\n"
                             "    activations_checkpoint_granularity: full\n    activations_checkpoint_method: uniform\n"
                             "    activations_checkpoint_num_layers: 1\n";
    const auto out = importedText(halves(half, half));
    EXPECT_EQ(out.imported.kind, "nemo-yaml");
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 24);
    EXPECT_EQ(out.at("/model/hidden_size"), 768);
    EXPECT_EQ(out.at("/model/intermediate_size"), 2048);
    EXPECT_EQ(out.at("/model/gated_mlp"), true);
    EXPECT_EQ(out.at("/model/tie_word_embeddings"), true);
    EXPECT_EQ(out.at("/training/recompute"), "full");
    EXPECT_EQ(out.became("model.decoder.num_layers"), "not_representable");
    EXPECT_EQ(out.became("model.encoder.hidden_size"), "harmless");
    EXPECT_EQ(out.valueOf("model.pipeline_model_parallel_split_rank"), "1");

    const std::string narrow =
        "    num_layers: 6\n    hidden_size: 512\n    ffn_hidden_size: 2048\n    num_attention_heads: 12\n";
    const auto unlike = importedText(halves(narrow, half));
    EXPECT_EQ(unlike.at("/model/num_hidden_layers"), 18);
    EXPECT_EQ(unlike.at("/model/hidden_size"), 768);
    EXPECT_THAT(unlike.textOn("model.encoder.hidden_size"), HasSubstr("768"));
}

std::string fineTuning(const std::string& peft)
{
    return "trainer:\n  devices: 8\n  num_nodes: 8\n  precision: bf16\n  metric:\n    #     _target_: <metric "
           "class>\nexp_manager:\n"
           "  explicit_log_dir: x\nmodel:\n  name_or_path: mistralai/Mixtral-8x7B-v0.1\n  tensor_model_parallel_size: 4\n"
           "  pipeline_model_parallel_size: 4\n  encoder_seq_length: 32768\n  peft:\n" +
           peft +
           "  data:\n    train_ds:\n      global_batch_size: 128\n      micro_batch_size: 1\n"
           "      max_seq_length: ${model.encoder_seq_length}\n  optim:\n    name: distributed_fused_adam\nmax_length: 512\n";
}

TEST(NemoImport, FineTuningHasItsBatchWithItsData)
{
    const auto out = importedText(fineTuning("    peft_scheme: \"none\"\n    lora_tuning:\n      adapter_dim: 32\n"));
    EXPECT_EQ(out.imported.kind, "nemo-yaml") << "a comment speaks of _target_";
    EXPECT_EQ(out.at("/training/global_batch_size"), 128);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 1);
    EXPECT_EQ(out.at("/training/sequence_length"), 32768);
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/model/num_experts"), 8);
    EXPECT_EQ(out.became("max_length"), "harmless");
    EXPECT_FALSE(sim::Json::parse(out.imported.scenario).at("training").contains("lora"));
    EXPECT_EQ(
        importedText(fineTuning("    peft_scheme: lora\n    lora_tuning:\n      adapter_dim: 16\n")).at("/training/lora/rank"),
        16);
}

} // namespace
