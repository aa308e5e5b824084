// What the commands of a script that start others count.
#include "tests/support/imported.h"

#include <gtest/gtest.h>

namespace {

using sim::Became;
using test::importedText;

const std::string kCountedJob = "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                                "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 ";

TEST(ShellFlags, WhatSlurmStartsHasItsNodesAndGpus)
{
    for (const char* start :
         {"srun -N4 --gres=gpu:8 python ", "srun -N 4 --gres gpu:8 python ",
          "srun --gres=gpu:a100:8 -N 4 numactl --membind=0 python ", "/usr/bin/srun --nodes=4 --gres=gpu:8 python ",
          "NODES=4\nsrun -N $NODES --gres=gpu:$((NODES * 2)) torchrun "}) {
        const auto out = importedText(start + kCountedJob + "\n");
        EXPECT_EQ(out.at("/layout/dp"), 32) << start;
        EXPECT_EQ(out.at("/cluster/gpus_per_node"), 8) << start;
        EXPECT_EQ(out.became("-N4"), "no note") << start;
    }
    for (const char* start : {"srun -N 4 --gres=gpu:8 bash -c", "srun -N 4 singularity exec --nv image.sif bash -lc",
                              "sbatch --nodes=4 --gres=gpu:8 --wrap", "mpirun -np 32 bash -c"})
        EXPECT_EQ(importedText("GPUS_PER_NODE=8\n" + std::string(start) + " \"python " + kCountedJob + "\"\n").at("/layout/dp"),
                  32)
            << start;
    EXPECT_EQ(importedText("train() {\n  python " + kCountedJob + "\n}\nsrun -N 4 --gres=gpu:8 train\n").at("/layout/dp"), 32);
}

TEST(ShellFlags, WhatAnotherCommandCountsIsNotOfTheTraining)
{
    const std::string head = "#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n";
    for (const char* other : {"srun --nodes=1 --ntasks=1 python prepare.py --input x", "srun -N 1 hostname",
                              "torchrun --nproc_per_node 2 convert.py --load a", "mpirun -np 2 bash -c 'echo here'"}) {
        const auto out = importedText(head + other + "\nsrun python " + kCountedJob + "\n");
        EXPECT_EQ(out.at("/layout/dp"), 32) << other;
        EXPECT_EQ(out.count(Became::contradictory), 0) << other;
    }
}

} // namespace
