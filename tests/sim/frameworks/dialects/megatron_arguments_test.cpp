// Megatron's own files of arguments: several runs in one.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using test::importedText;
using testing::HasSubstr;

TEST(MegatronImport, OfSeveralRunsInOneFileTheFirstIsRead)
{
    const auto out = importedText(
        "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ENV_VARS:\n  MODEL_ARGS:\n    GPUS_PER_NODE: 2\n  MODEL_ARGS_2:\n"
        "    GPUS_PER_NODE: 8\nBASE_MODEL_ARGS: &base\n  --num-layers: 32\n  --hidden-size: 3072\n  --num-attention-heads: 32\n"
        "  --seq-length: 512\n  --max-position-embeddings: 4096\n  --micro-batch-size: 1\n  --global-batch-size: 16\n"
        "MODEL_ARGS:\n  <<: *base\n  --tensor-model-parallel-size: 2\n  --pipeline-model-parallel-size: 1\n"
        "MODEL_ARGS_2:\n  <<: *base\n  --tensor-model-parallel-size: 1\n  --pipeline-model-parallel-size: 8\n");
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/layout/pp"), 1);
    EXPECT_EQ(out.at("/layout/dp"), 1) << "of the 2 GPUs of its own";
    EXPECT_EQ(out.at("/model/num_hidden_layers"), 32);
    EXPECT_EQ(out.count(sim::Became::contradictory), 0);
    EXPECT_EQ(out.became("MODEL_ARGS_2.--pipeline-model-parallel-size"), "harmless");
    EXPECT_THAT(out.textOn("MODEL_ARGS_2.--pipeline-model-parallel-size"), HasSubstr("MODEL_ARGS, the first, is read"));
}

TEST(MegatronImport, APatternOfLayersThatCodeMakesIsAskedFor)
{
    const auto out =
        importedText("printf -v FREQ '[%s]' \"$(IFS=', '; echo \"${arr[*]}\")\"\npython pretrain_gpt.py --num-layers 27 "
                     "--hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
                     "--micro-batch-size 1 --vocab-size 163840 --num-experts 64 --moe-layer-freq $FREQ\n",
                     8);
    EXPECT_EQ(out.became("--moe-layer-freq"), "unknown");
    const std::vector<std::string>& unknown = out.imported.unknown;
    EXPECT_NE(std::find(unknown.begin(), unknown.end(), "/model/first_k_dense_replace"), unknown.end());
}

} // namespace
