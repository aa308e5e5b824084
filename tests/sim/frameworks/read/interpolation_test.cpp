// What stands for variables of the environment in YAML: Primus' "${NAME:2}", OmegaConf's "${oc.env:NAME,2}".
#include "tests/support/imported.h"

#include <gtest/gtest.h>

namespace {

using test::importedText;

TEST(Interpolation, AVariableOfTheEnvironmentHasTheValueThatStandsWithIt)
{
    const auto out = importedText(
        "work_group: ${TEAM:amd}\nmodules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      num_layers: 24\n"
        "      hidden_size: 2880\n      num_attention_heads: 64\n      num_experts: 32\n"
        "      expert_model_parallel_size: ${PRIMUS_EP:8}\n      micro_batch_size: ${PRIMUS_MICRO_BATCH_SIZE:2}\n"
        "      global_batch_size: ${oc.env:GLOBAL_BATCH,16}\n      seq_length: ${PRIMUS_SEQ_LENGTH:8192}\n"
        "      tensor_model_parallel_size: ${PRIMUS_TP}\n      stderr_sink_level: DEBUG\n",
        8);
    EXPECT_EQ(out.at("/layout/ep"), 8);
    EXPECT_EQ(out.at("/training/micro_batch_size"), 2);
    EXPECT_EQ(out.at("/training/global_batch_size"), 16);
    EXPECT_EQ(out.at("/training/sequence_length"), 8192);
    EXPECT_EQ(out.became("modules.pre_trainer.overrides.tensor_model_parallel_size"), "unknown") << "nobody says it";
    for (const char* harmless :
         {"work_group", "modules.pre_trainer.framework", "modules.pre_trainer.overrides.stderr_sink_level"})
        EXPECT_EQ(out.became(harmless), "harmless") << harmless;
}

} // namespace
