// Scripts as people write them: what the batch system says, options of the script itself, branches, DeepSpeed's file in it.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Became;
using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kModel = "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                           "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 ";

TEST(ScriptImport, KnowsTheVariablesOfItsBatchSystem)
{
    const auto out = importedText("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\nNNODES=$SLURM_NNODES\n"
                                  "torchrun --nproc_per_node $SLURM_GPUS_ON_NODE --nnodes $NNODES pretrain_gpt.py " +
                                  kModel);
    EXPECT_EQ(out.at("/layout/dp"), 32);
    EXPECT_EQ(out.count(Became::contradictory), 0);
}

TEST(ScriptImport, WhatIsDecidedOutsideDoesNotReplaceWhatTheFileSays)
{
    const auto out =
        importedText("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\ntorchrun --nnodes $HOW_MANY pretrain_gpt.py " + kModel);
    EXPECT_EQ(out.at("/layout/dp"), 32);
    EXPECT_EQ(out.count(Became::contradictory), 0);
    EXPECT_THAT(out.textOn("--nnodes"), HasSubstr("decided outside"));
}

TEST(ScriptImport, IsReadAsWhenItIsStartedWithoutOptions)
{
    const auto out =
        importedText("TP=2\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --tp) TP=$2; shift 2;;\n    *) exit 1;;\n  esac\ndone\n"
                     "if [ $# -ge 1 ]; then\n  TP=$1\nfi\npython pretrain_gpt.py --tensor-model-parallel-size $TP " +
                         kModel,
                     8);
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.count(Became::unknown), importedText("python pretrain_gpt.py " + kModel, 8).count(Became::unknown));
}

TEST(ScriptImport, ChoosesTheBranchOfACaseThatIsKnown)
{
    const std::string script =
        "case $SIZE in\n  small|tiny) # for tests\n    PP=2;;\n  7*)\n    PP=4\n    ;;\n  *) PP=8 ;;\nesac\n"
        "python pretrain_gpt.py --pipeline-model-parallel-size $PP " +
        kModel;
    EXPECT_EQ(importedText("SIZE=tiny\n" + script, 8).at("/layout/pp"), 2);
    EXPECT_EQ(importedText("SIZE=70b\n" + script, 8).at("/layout/pp"), 4);
    EXPECT_EQ(importedText("SIZE=huge\n" + script, 8).at("/layout/pp"), 8);
    const auto open = importedText(script, 8);
    EXPECT_EQ(open.became("case"), "unknown");
}

TEST(ScriptImport, OutputOfACommandIsOneWordWhateverItsBlanks)
{
    const auto out = importedText("GPUS=$(($(ssh head nvidia-smi --query-gpu=name --format=csv | wc -l)-2))\n"
                                  "NAME=run_$(date +%Y --utc)_x\npython pretrain_gpt.py --save $NAME --num-workers $GPUS " +
                                      kModel,
                                  8);
    for (const sim::Note& note : out.imported.notes)
        EXPECT_THAT(note.setting, testing::Not(testing::AnyOf("--query-gpu", "--format", "--utc", "-l"))) << note.text;
}

TEST(ScriptImport, ADeepSpeedFileInItMayLeaveValuesOpen)
{
    const auto out = importedText("ZERO_STAGE=$2\ncat <<EOT > ds.json\n{\n  \"zero_optimization\": {\"stage\": $ZERO_STAGE},\n"
                                  "  \"train_batch_size\": 64,\n  \"bf16\": {\"enabled\": true}\n}\nEOT\n"
                                  "deepspeed pretrain_gpt.py --deepspeed --deepspeed_config ds.json " +
                                      kModel,
                                  8);
    EXPECT_EQ(out.became("zero_optimization.stage"), "unknown");
    EXPECT_THAT(out.textOn("zero_optimization.stage"), HasSubstr("decided outside"));
}

TEST(ScriptImport, CountsGpusOfAllNodesWhereNoNodesAreCounted)
{
    EXPECT_EQ(importedText("NUM_GPUS=64\npython pretrain_gpt.py " + kModel).at("/layout/dp"), 64);
    EXPECT_EQ(importedText("NUM_GPUS=64\npython pretrain_gpt.py " + kModel).at("/cluster/gpus_per_node"), 8);
    EXPECT_EQ(importedText("NUM_GPUS=8\nNNODES=4\npython pretrain_gpt.py " + kModel).at("/layout/dp"), 32);
}

TEST(MegatronDeepSpeedImport, ExpertsAreInEverySecondLayerAndEachTokenTakesOne)
{
    const auto out = importedText("deepspeed pretrain_gpt.py --deepspeed --no-pipeline-parallel --num-experts 128 "
                                  "--moe-expert-parallel-size 64 --moe-train-capacity-factor 1.0 " +
                                      kModel,
                                  64);
    EXPECT_EQ(out.at("/model/num_experts"), 128);
    EXPECT_EQ(out.at("/model/num_experts_per_tok"), 1);
    EXPECT_EQ(out.at("/model/moe_layer_freq"), 2);
    EXPECT_EQ(out.at("/model/first_k_dense_replace"), 1);
    EXPECT_EQ(out.at("/layout/ep"), 64);
    EXPECT_EQ(out.at("/layout/etp"), 1);
    EXPECT_EQ(importedText("deepspeed pretrain_gpt.py --deepspeed --num-experts 1 " + kModel, 8).at("/model/num_experts"), 0);
    const auto pyramid = importedText("deepspeed pretrain_gpt.py --deepspeed --no-pipeline-parallel --expert-interval 4 "
                                      "--num-experts 32 32 32 32 32 64 --mlp-type residual --moe-expert-parallel-size 64 " +
                                          kModel,
                                      64);
    EXPECT_EQ(pyramid.at("/model/num_experts"), 32);
    EXPECT_EQ(pyramid.at("/model/num_shared_experts"), 1);
    EXPECT_EQ(pyramid.at("/layout/ep"), 32);
    EXPECT_EQ(pyramid.became("--num-experts"), "not_representable");
}

TEST(MegatronDeepSpeedImport, LayersNeedNotDivideOverStages)
{
    const std::string model = "--num-layers 30 --hidden-size 2560 --num-attention-heads 32 --seq-length 2048 "
                              "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 "
                              "--pipeline-model-parallel-size 4 --deepspeed ";
    const auto plain = importedText("deepspeed pretrain_gpt.py " + model, 8);
    EXPECT_EQ(plain.at("/schedule/layers_per_stage"), Json({8, 8, 8, 6}));
    EXPECT_EQ(plain.count(Became::contradictory), 0);
    const auto counted = importedText("deepspeed pretrain_gpt.py --pp-partition-method 'type:transformer|embedding' " + model, 8);
    EXPECT_EQ(counted.at("/schedule/layers_per_stage"), Json({7, 8, 8, 7}));
    EXPECT_EQ(counted.count(Became::contradictory), 0);
}

TEST(MegatronDeepSpeedImport, UlyssesTakesItsShareOfTheRanks)
{
    const auto out = importedText("deepspeed pretrain_gpt.py --deepspeed --ds-sequence-parallel-size 4 " + kModel, 32);
    EXPECT_EQ(out.at("/layout/cp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 8);
    EXPECT_EQ(out.became("--ds-sequence-parallel-size"), "not_representable");
}

} // namespace
