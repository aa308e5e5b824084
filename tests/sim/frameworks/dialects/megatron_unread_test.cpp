// Settings around Megatron's that become no key: Primus' kernels, FlagScale's other models.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::HasSubstr;

const std::string kSizesOfSections = "  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  seq_length: 2048\n"
                                     "  max_position_embeddings: 2048\n  micro_batch_size: 1\n  global_batch_size: 8\n";

TEST(PrimusImport, ItsKernelsAreToldAndAreNoStrangers)
{
    const auto out = importedText("overrides:\n  tensor_model_parallel_size: 1\n" + kSizesOfSections +
                                      "  bf16: true\n  enable_primus_turbo: true\n  use_turbo_attention: true\n"
                                      "  use_turbo_grouped_gemm: false\n  use_turbo_deepep: true\n  turbo_deepep_num_cu: 64\n"
                                      "  turbo_deepep_use_comm_stream: false\n  turbo_sync_free_moe_stage: 1\n"
                                      "  use_turbo_rms_norm: true\n  turbo_gemm_backend: default\n"
                                      "  moe_use_fused_router_with_aux_score: true\n  mxfp4_scale_rounding_mode: 0\n",
                                  8);
    for (const char* kernels : {"enable_primus_turbo", "use_turbo_attention", "use_turbo_rms_norm"}) {
        EXPECT_EQ(out.became("overrides." + std::string(kernels)), "not_representable") << kernels;
        EXPECT_THAT(out.textOn("overrides." + std::string(kernels)), HasSubstr("training.stack")) << kernels;
    }
    EXPECT_EQ(out.became("overrides.use_turbo_deepep"), "used");
    EXPECT_EQ(out.became("overrides.turbo_sync_free_moe_stage"), "not_representable");
    for (const char* harmless : {"use_turbo_grouped_gemm", "turbo_deepep_num_cu", "turbo_deepep_use_comm_stream",
                                 "turbo_gemm_backend", "moe_use_fused_router_with_aux_score", "mxfp4_scale_rounding_mode"})
        EXPECT_EQ(out.became("overrides." + std::string(harmless)), "harmless") << harmless;
}

TEST(FlagScaleImport, RwkvIsRefusedWithItsReason)
{
    const std::string system = "system:\n  tensor_model_parallel_size: 1\nmodel:\n" + kSizesOfSections;
    const std::string program = "experiment:\n  task:\n    type: train\n    backend: megatron\n"
                                "    entrypoint: ./flagscale/train/train_";
    const auto told = [](const std::vector<sim::SettingsFile>& files) -> std::string {
        try {
            return sim::importSettings(files, {.gpus = 8}, test::catalogue()).kind;
        } catch (const sim::Error& error) {
            return error.what();
        }
    };
    const std::string data = "data:\n  tokenizer:\n    vocab_file: ./examples/rwkv/tokenizer/vocab.json\n";
    EXPECT_THAT(told({{"7b.yaml", system + data}}), HasSubstr("7b.yaml: is of RWKV, whose layers have no attention"));
    EXPECT_THAT(told({{"train.yaml", program + "rwkv.py\n"}, {"7b.yaml", system}}), HasSubstr("train.yaml: is of RWKV"));
    EXPECT_EQ(told({{"7b.yaml", system}}), "megatron-yaml");
}

} // namespace
