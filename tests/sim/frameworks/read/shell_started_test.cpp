// What a command of a script starts: a function behind srun and the like, a text behind bash -c.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using sim::Json;
using test::importedText;
using testing::HasSubstr;

const std::string kStartedJob = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
                                "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 "
                                "--global-batch-size 64 --vocab-size 32000 ";

/// How a script with a function that trains, and with no more than a number given to it, is split.
Json widthOf(const std::string& start)
{
    return importedText("train() {\n  " + kStartedJob + "--tensor-model-parallel-size ${1:-4}\n}\n" + start + "\n")
        .at("/layout/tp");
}

TEST(ShellStarted, AFunctionIsCalledWithItsOwnArgumentsBehindWhateverStartsIt)
{
    for (const char* start :
         {"srun -c $CPUS train 2", "srun -c 8 -N1 -n 8 --label train 2", "srun --ntasks 8 --export=ALL,X=1 train 2",
          "bash -c 'train 2'", "srun -l bash -lc 'train 2'", "bash -c 'train \"$@\"' _ 2", "bash -c 'train $1' _ 2",
          "bash -e -o pipefail -c 'train 2'", "timeout $LIMIT train 2", "timeout -k 5 10m train 2",
          "mpirun -np 1 -x PATH --mca btl tcp,self --allow-run-as-root train 2", "nohup train 2 &", "nice -n 5 train 2",
          "singularity exec --nv image.sif bash -c 'train 2'", "env -u X Y=1 numactl --membind=0 /usr/bin/time -p train 2",
          "taskset -c 0-7 stdbuf -oL train 2"})
        EXPECT_EQ(widthOf(start), 2) << start;
    for (const char* other : {"python -c 'train 2'", "srun --job-name train python convert.py 2", "srun -J train hostname 2",
                              "python convert.py bash -c 'train 2'", "echo bash -c 'train 2'"})
        EXPECT_EQ(widthOf(other), 4) << "not called, and read for all that it says: " << other;
}

TEST(ShellStarted, WhatIsStartedIsAProcessOfItsOwn)
{
    for (const char* start : {"nohup f &", "srun -n 1 f", "bash -c f", "bash -c 'PP=8'", "bash -c 'f; echo --pp $PP'",
                              "ssh host \"PP=8; echo --pp $PP\"", "srun bash -c 'export PP=8'"})
        EXPECT_EQ(importedText("f() { PP=8; }\nPP=4\n" + std::string(start) + "\n" + kStartedJob +
                               "--pipeline-model-parallel-size $PP\n")
                      .at("/layout/pp"),
                  4)
            << start;
}

TEST(ShellStarted, ATextTakesWhatStandsBehindItWhereItSaysSo)
{
    const auto takes = [](const std::string& arguments) {
        return importedText("ARGS=(--swiglu --bf16)\nbash -c '" + kStartedJob + arguments + "' _ \"${ARGS[@]}\"\n");
    };
    for (const char* all : {"\"$@\"", "$*", "${@}", "$1 $2"}) {
        EXPECT_EQ(takes(all).at("/model/hidden_act"), "silu") << all;
        EXPECT_EQ(takes(all).became("--swiglu"), "used") << all;
    }
    EXPECT_THAT(takes("").textOn("--swiglu"), HasSubstr("stands behind the text that bash -c runs"));
    const auto once = takes("--fp16");
    EXPECT_EQ(std::count_if(once.imported.notes.begin(), once.imported.notes.end(),
                            [](const sim::Note& note) { return note.setting == "--num-layers"; }),
              1)
        << "it is run once";
}

TEST(ShellStarted, ATextThatTwoShellsReadIsExpandedByTheSecond)
{
    const std::string job =
        "export RUN=\"" + kStartedJob + "--tensor-model-parallel-size 2\"\nsbatch <<EOF\n#!/bin/bash\nsrun -l \\\n  bash -c ";
    for (const char* text : {R"(\\\${RUN})", R"("\$RUN")"}) {
        const auto out = importedText(job + text + " 2>&1 | tee log\nEOF\n");
        EXPECT_EQ(out.at("/layout/tp"), 2) << text;
        for (const sim::Note& note : out.imported.notes)
            EXPECT_THAT(note.text, testing::Not(HasSubstr("does not get it"))) << text;
    }
}

} // namespace
