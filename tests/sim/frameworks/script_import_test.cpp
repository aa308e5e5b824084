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
    EXPECT_EQ(out.became("--ds-sequence-parallel-size"), "used");
    EXPECT_EQ(out.at("/training/stack/exchanges_heads"), true);
    EXPECT_EQ(Json::parse(out.imported.scenario)["training"]["stack"]["base"], "megatron-deepspeed-2023");
}

TEST(MegatronImport, HeadsAreExchangedWhereAllLayersDo)
{
    const auto of = [](const std::string& flags) {
        return importedText("python pretrain_gpt.py --transformer-impl transformer_engine " + flags + " " + kModel, 8);
    };
    for (const char* all : {"a2a", "a2a a2a a2a"}) {
        const auto out = of("--context-parallel-size 4 --cp-comm-type " + std::string(all));
        EXPECT_EQ(out.became("--cp-comm-type"), "used") << all;
        EXPECT_EQ(out.at("/training/stack/exchanges_heads"), true) << all;
        EXPECT_EQ(Json::parse(out.imported.scenario)["training"]["stack"]["base"], "megatron-te-2024") << all;
    }
    for (const char* other : {"a2a+p2p", "all_gather", "a2a p2p"}) {
        const auto out = of("--context-parallel-size 4 --cp-comm-type " + std::string(other));
        EXPECT_EQ(out.became("--cp-comm-type"), "not_representable") << other;
        EXPECT_EQ(Json::parse(out.imported.scenario)["training"]["stack"], "megatron-te-2024") << other;
    }
    EXPECT_EQ(of("--context-parallel-size 4 --cp-comm-type p2p p2p").became("--cp-comm-type"), "harmless");
    EXPECT_EQ(of("--cp-comm-type a2a").became("--cp-comm-type"), "harmless") << "no ranks to exchange with";
}

TEST(ScriptImport, ArithmeticEndsWhereItsOwnParenthesesDo)
{
    const auto out = importedText("NODES=2; MBS=1; GAS=4\nARGS=(\n  --num-layers 24 --hidden-size 2048 --num-attention-heads 16\n"
                                  "  --global-batch-size $((MBS*GAS*(NODES*8)))\n  --seq-length 2048 --micro-batch-size $MBS\n"
                                  "  --bf16 --use-distributed-optimizer\n)\n"
                                  "torchrun --nproc_per_node 8 --nnodes $NODES pretrain_gpt.py \"${ARGS[@]}\" --swiglu\n");
    EXPECT_EQ(out.at("/training/global_batch_size"), 64);
    EXPECT_EQ(out.at("/training/precision"), "bf16") << "what stands behind it is not lost";
    EXPECT_EQ(out.at("/layout/zero_stage"), 1);
    EXPECT_EQ(out.at("/model/hidden_act"), "silu");
    EXPECT_EQ(importedText("A=$(((3)*(2+2)))\npython pretrain_gpt.py --tensor-model-parallel-size $(((A)-(8))) " + kModel, 8)
                  .at("/layout/tp"),
              4);
}

TEST(ScriptImport, OfTwoAssignmentsBehindATestOneIsRun)
{
    const auto stages = [](const std::string& head) {
        return importedText(head + "\npython pretrain_gpt.py --pipeline-model-parallel-size $PP " + kModel, 8).at("/layout/pp");
    };
    EXPECT_EQ(stages("NNODES=2\n[ \"$NNODES\" -gt 1 ] && PP=4 || PP=1"), 4);
    EXPECT_EQ(stages("NNODES=1\n[ \"$NNODES\" -gt 1 ] && PP=4 || PP=2"), 2);
    EXPECT_EQ(stages("NNODES=1\n[[ $NNODES == 1 ]] &&\n  PP=4 ||\n  PP=2"), 4) << "a list goes on behind the end of a line";
    EXPECT_EQ(stages("PP=1\nNNODES=1\n[ $NNODES -gt 1 ] || { A=1; PP=8; } && PP=2"), 2);
    EXPECT_EQ(stages("PP=1\nNNODES=1\n[ $NNODES -gt 1 ] && { A=1; PP=8; } || { PP=4; B=1; }"), 4);
    EXPECT_EQ(stages("PP=1\nNNODES=2\n[ $NNODES -gt 1 ] && { A=1; PP=8; } || { PP=4; B=1; }"), 8);
    EXPECT_EQ(stages("f() {\n  X=1\n}\nPP=2\ntrue || PP=8"), 2);
    const auto open =
        importedText("[ -f hosts ] && PP=2 || PP=4\npython pretrain_gpt.py --pipeline-model-parallel-size $PP " + kModel, 8);
    EXPECT_THAT(open.textOn("--pipeline-model-parallel-size"), HasSubstr("stands in a branch of line 1"));
    EXPECT_THAT(importedText("cd here && PP=2\npython pretrain_gpt.py --pipeline-model-parallel-size $PP " + kModel, 8)
                    .textOn("--pipeline-model-parallel-size"),
                testing::Not(HasSubstr("branch")));
}

TEST(ScriptImport, DoubleBracketsMatchPatternsThatAreNotQuoted)
{
    const auto layers = [](const std::string& test) {
        return importedText("MODEL=7B-chat\nP='7B*'\nif " + test + "; then N=32; else N=40; fi\npython pretrain_gpt.py " +
                                kModel.substr(kModel.find("--hidden")) + "--num-layers $N\n",
                            8)
            .at("/model/num_hidden_layers");
    };
    EXPECT_EQ(layers("[[ $MODEL == 7B* ]]"), 32);
    EXPECT_EQ(layers("[[ $MODEL == \"7B\"* ]]"), 32);
    EXPECT_EQ(layers("[[ $MODEL == $P ]]"), 32);
    EXPECT_EQ(layers("[[ $MODEL == 70* ]]"), 40);
    EXPECT_EQ(layers("[[ $MODEL != *chat ]]"), 40);
    EXPECT_EQ(layers("! [[ $MODEL == *chat ]]"), 40);
    EXPECT_EQ(layers("[[ $MODEL == \"7B*\" ]]"), 40) << "quoted it is text";
    EXPECT_EQ(layers("[[ $MODEL == 7B\\* ]]"), 40);
    EXPECT_EQ(layers("[ $MODEL = \"7B*\" ]"), 40);
    const auto open = importedText("MODEL=7B\nif [[ $MODEL == [67]B ]]; then N=32; else N=40; fi\npython pretrain_gpt.py " +
                                       kModel.substr(kModel.find("--hidden")) + "--num-layers $N\n",
                                   8);
    EXPECT_EQ(open.became("if"), "unknown");
}

TEST(ScriptImport, ResourcesBesideGpusAreNotCounted)
{
    for (const char* gres : {"gpu:v100:4,nvme:100", "nvme:100,gpu:v100:4", "gpu:4(S:0-1)", "gpu:4"}) {
        const auto out = importedText("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=" + std::string(gres) +
                                      "\nsrun python pretrain_gpt.py " + kModel);
        EXPECT_EQ(out.at("/cluster/gpus_per_node"), 4) << gres;
        EXPECT_EQ(out.at("/layout/dp"), 16) << gres;
    }
    EXPECT_EQ(importedText("#SBATCH --nodes=4\n#SBATCH --gres=gpu\npython pretrain_gpt.py " + kModel).at("/layout/dp"), 4);
}

TEST(MegatronDeepSpeedImport, Bf16ShardsTheOptimizerOfPipelinesAlone)
{
    const std::string start = "deepspeed --num_gpus 8 pretrain_gpt.py --deepspeed --zero-stage 0 ";
    EXPECT_EQ(importedText(start + kModel).at("/layout/zero_stage"), 1) << "one stage is a pipeline, too";
    EXPECT_EQ(importedText(start + "--no-pipeline-parallel " + kModel).at("/layout/zero_stage"), 0);
    const std::string json =
        R"({"train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 0})";
    EXPECT_EQ(importedText(json + "}", 8).at("/layout/zero_stage"), 0);
    EXPECT_EQ(importedText(json + R"(, "pipeline": {"stages": 2}})", 8).at("/layout/zero_stage"), 1);
}

TEST(ScriptImport, AFileOfArgumentsBesideHasTheScriptsVariables)
{
    const std::string yaml =
        "MODEL_ARGS:\n  --tensor-model-parallel-size: ${TP}\n  --pipeline-model-parallel-size: ${PP}\n"
        "  --num-layers: 24\n  --hidden-size: 2048\n  --num-attention-heads: 16\n  --ffn-hidden-size: ${WIDTH}\n"
        "  --max-position-embeddings: 2048\n  --micro-batch-size: 1\n  --global-batch-size: 64\n";
    const std::string script = "export WIDTH=6144\nTP=2 PP=4 bash train.sh\n";
    const std::string train = "torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 --seq-length 2048 $(arguments model.yaml)\n";
    const sim::Imported out =
        sim::importSettings({{"run.sh", script}, {"train.sh", train}, {"model.yaml", yaml}}, {.gpus = 8}, test::catalogue());
    const auto resolved = sim::ScenarioDocument::parse(out.scenario).resolve(test::catalogue());
    ASSERT_TRUE(resolved.scenario);
    EXPECT_EQ(resolved.scenario->layout.tp, 2);
    EXPECT_EQ(resolved.scenario->layout.pp, 4);
    EXPECT_EQ(resolved.scenario->model.intermediateSize, 6144);
    for (const std::string& asked : out.unknown)
        EXPECT_TRUE(asked != "/layout/tp" && asked != "/model/intermediate_size") << asked;
}

} // namespace
