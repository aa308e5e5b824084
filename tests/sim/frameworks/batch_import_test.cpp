// What a script's batch system counts, and arrays that become one text.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kBatchJob = "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                              "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 ";

TEST(BatchImport, EveryOptionOfALineCounts)
{
    for (const char* head :
         {"#SBATCH --nodes=4 --gpus-per-node=8 --time=1:00", "#SBATCH --job-name=\"a b\" -N4 --exclusive --gres gpu:h100:8",
          "#PBS -N job -l select=4:ngpus=8 -l walltime=1:00", "#SBATCH --exclusive -N 4 # nodes\n#SBATCH --gpus-per-node 8"}) {
        const auto out = importedText(std::string("#!/bin/bash\n") + head + "\nsrun python pretrain_gpt.py " + kBatchJob);
        EXPECT_EQ(out.at("/layout/dp"), 32) << head;
        EXPECT_THAT(out.imported.unknown, Not(Contains("/layout/dp"))) << head;
    }
    const auto out =
        importedText("#SBATCH --nodes=4 --gpus-per-node=8 --time=1:00 --exclusive\nsrun python pretrain_gpt.py " + kBatchJob);
    EXPECT_EQ(out.became("#SBATCH --nodes"), "used");
    EXPECT_EQ(out.became("#SBATCH --time"), "harmless");
    EXPECT_EQ(out.valueOf("#SBATCH --time"), "1:00");
    EXPECT_EQ(out.became("#SBATCH --exclusive"), "harmless");
}

TEST(BatchImport, OptionsWithoutANameAreNone)
{
    EXPECT_EQ(importedText("#SBATCH --\n#SBATCH - -- --nodes=4\n#PBS --\nsrun python pretrain_gpt.py " + kBatchJob, 32)
                  .became("#SBATCH --nodes"),
              "used");
}

TEST(BatchImport, ProcessesOfANodeCountWhereNothingElseDoes)
{
    const auto dp = [](const std::string& head, const std::string& start = "srun python") {
        return importedText("#!/bin/bash\n" + head + "\n" + start + " pretrain_gpt.py " + kBatchJob).at("/layout/dp");
    };
    EXPECT_EQ(dp("#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8"), 32);
    EXPECT_EQ(dp("#SBATCH --nodes=4 --exclusive --ntasks-per-node=8"), 32);
    EXPECT_EQ(dp("#SBATCH --nodes=4 --ntasks-per-node=2 --gpus-per-task=4"), 32);
    EXPECT_EQ(dp("#SBATCH --nodes=4 --ntasks-per-node=1 --gres=gpu:8"), 32);
    EXPECT_EQ(dp("#SBATCH --nodes=4 --ntasks-per-node=1\nGPUS_PER_NODE=8"), 32);
    EXPECT_EQ(dp("#SBATCH --nodes=4 --ntasks-per-node=1", "srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES"), 32);
    const auto one =
        importedText("#SBATCH --nodes=4 --ntasks-per-node=1\nsrun torchrun $DISTRIBUTED_ARGS pretrain_gpt.py " + kBatchJob);
    EXPECT_THAT(one.imported.unknown, Contains("/layout/dp")) << "what srun starts may start one for each GPU";
    EXPECT_EQ(one.became("#SBATCH --ntasks-per-node"), "harmless");
    const auto used = importedText("#SBATCH --nodes=4 --ntasks-per-node=8\nsrun python pretrain_gpt.py " + kBatchJob);
    EXPECT_EQ(used.became("#SBATCH --ntasks-per-node"), "used");
}

TEST(BatchImport, AnArrayWithAStarInQuotesIsAllOfIt)
{
    const std::string array = "X=(--bf16 --use-distributed-optimizer)\nX+=(--swiglu --sequence-parallel)\n";
    const std::string command = "torchrun --nproc_per_node 8 pretrain_gpt.py " + kBatchJob + "--tensor-model-parallel-size 2 ";
    for (const char* shell : {"bash -c", "bash -lc", "srun bash -c"}) {
        const auto out = importedText(array + shell + " \"" + command + "${X[*]}\"\n");
        EXPECT_EQ(out.at("/layout/zero_stage"), 1) << shell;
        EXPECT_EQ(out.at("/layout/sequence_parallel"), true) << shell;
        EXPECT_EQ(out.at("/model/hidden_act"), "silu") << shell;
        EXPECT_EQ(out.at("/training/precision"), "bf16") << shell;
    }
    const auto stored =
        importedText(array + "ARGS=\"" + kBatchJob + "${X[*]}\"\ntorchrun --nproc_per_node 8 pretrain_gpt.py $ARGS\n");
    EXPECT_EQ(stored.at("/layout/zero_stage"), 1);
    EXPECT_EQ(stored.at("/model/hidden_act"), "silu");
}

TEST(BatchImport, WordsThatAShellKeepsForItselfAreTold)
{
    const auto out = importedText("X=(--bf16 --swiglu --use-distributed-optimizer)\n"
                                  "bash -c \"torchrun --nproc_per_node 8 pretrain_gpt.py " +
                                  kBatchJob + "${X[@]}\"\n");
    EXPECT_EQ(out.at("/training/precision"), "bf16");
    EXPECT_EQ(out.at("/layout/zero_stage"), 0) << "it is an argument of the shell";
    for (const char* lost : {"--swiglu", "--use-distributed-optimizer"}) {
        EXPECT_EQ(out.became(lost), "unknown");
        EXPECT_THAT(out.textOn(lost), HasSubstr("bash -c"));
    }
}

TEST(BatchImport, AnswersCountInWhatFollowsFromThem)
{
    const std::string script =
        "TP=$1\ntorchrun --nproc_per_node 8 --nnodes 3 pretrain_gpt.py " + kBatchJob + " --tensor-model-parallel-size $TP\n";
    const auto imported = [&script](std::map<std::string, int, std::less<>> sizes) {
        return sim::importSettings({{"run.sh", script}}, {.sizes = std::move(sizes)}, test::catalogue());
    };
    const auto batchNote = [](const sim::Imported& out) {
        for (const sim::Note& note : out.notes)
            if (note.setting == "global batch")
                return note.text;
        return std::string();
    };
    EXPECT_THAT(batchNote(imported({})), HasSubstr("x dp 24"));
    const sim::Imported two = imported({{"/layout/tp", 2}});
    EXPECT_THAT(batchNote(two), HasSubstr("x dp 12"));
    EXPECT_EQ(sim::Json::parse(two.scenario)["layout"]["dp"], 12);
    EXPECT_THAT(batchNote(imported({{"/layout/pp", 2}})), HasSubstr("x dp 24")) << "the file says it: no answer is asked for";
}

} // namespace
