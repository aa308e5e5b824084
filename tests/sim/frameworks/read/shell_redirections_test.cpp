// Texts in a script that are scripts themselves: what is submitted or written with a here-document.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedText;
using testing::HasSubstr;

const std::string kSubmittedJob =
    "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
    "--max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 ";
const std::string kBatchHead = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n";

TEST(ShellHereDocuments, AScriptThatIsSubmittedIsRead)
{
    const std::string job = kBatchHead + "TP=2\nsrun python " + kSubmittedJob + "--tensor-model-parallel-size $TP\n";
    for (const std::string& script :
         {"TP=4\nsbatch <<'EOF'\n" + job + "EOF\n", "TP=4\ncat > job.sh <<'EOF'\n" + job + "EOF\nsbatch job.sh\n",
          "cat <<EOF > job.sh\nTP=4\n" + job + "EOF\n" + "sbatch <<'EOF'\n" + job + "EOF\n",
          "ssh host bash -s <<'END'\n" + job + "END\n"}) {
        const auto out = importedText(script);
        EXPECT_EQ(out.at("/layout/tp"), 2) << script;
        EXPECT_EQ(out.at("/layout/dp"), 16) << script;
    }
    const auto submitted = importedText("sbatch --nodes=4 --gres=gpu:8 --wrap=\"srun python " + kSubmittedJob + "--bf16\"\n");
    EXPECT_EQ(submitted.at("/layout/dp"), 32);
    EXPECT_EQ(submitted.at("/training/precision"), "bf16");
}

TEST(ShellHereDocuments, WhatIsNotQuotedIsReplacedWhereItStandsAndWhatIsWhereItRuns)
{
    const auto out = importedText("TP=2\nPP=8\nsbatch <<EOF\n" + kBatchHead + "PP=4\nsrun python " + kSubmittedJob +
                                  "--tensor-model-parallel-size $TP --pipeline-model-parallel-size \\$PP\nEOF\n");
    EXPECT_EQ(out.at("/layout/tp"), 2);
    EXPECT_EQ(out.at("/layout/pp"), 4);
    const auto open =
        importedText("if [ -f hosts ]; then TP=4; fi\nread -r -d '' ARGS <<EOF\n--tensor-model-parallel-size $TP\nEOF\n"
                     "python " +
                         kSubmittedJob + "$ARGS\n",
                     8);
    EXPECT_THAT(open.textOn("--tensor-model-parallel-size"), HasSubstr("a branch of line 1, which"));
}

TEST(ShellHereDocuments, OtherTextsAreNoScripts)
{
    const auto out = importedText("cat > hosts <<EOF\nTP=4\nEOF\nTP=2\npython - <<EOF\nTP = 8\nEOF\npython " + kSubmittedJob +
                                      "--tensor-model-parallel-size $TP\n",
                                  8);
    EXPECT_EQ(out.at("/layout/tp"), 2);
}

TEST(ShellCommands, ALoopThatCountsBeginsAtItsFirstNumber)
{
    for (const char* head :
         {"for ((PP=4; PP<=8; PP++)); do", "for (( PP = 2 * 2; PP < 9; PP *= 2 ))\ndo", "for ((PP=4,X=1; X<2; X++)); do"}) {
        const auto out =
            importedText(std::string(head) + "\n  python " + kSubmittedJob + "--pipeline-model-parallel-size $PP\ndone\n", 8);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.valueOf("for"), HasSubstr("((")) << head;
    }
}

TEST(ShellCommands, ArgumentsAreThoseThatAreSet)
{
    const auto stages = [](const std::string& head) {
        return importedText(head + "\npython " + kSubmittedJob + "\"$@\"\n", 8).at("/layout/pp");
    };
    EXPECT_EQ(stages("set -- --pipeline-model-parallel-size 4\nset -e"), 4);
    EXPECT_EQ(stages("set -- --swiglu\nset -- \"$@\" --pipeline-model-parallel-size 4"), 4);
    EXPECT_EQ(importedText("PP=4\nset -- $(getopt -o p: -- \"$@\")\nwhile [[ $# -gt 0 ]]; do PP=$2; shift; done\npython " +
                               kSubmittedJob + "--pipeline-model-parallel-size $PP\n",
                           8)
                  .at("/layout/pp"),
              4)
        << "of options nothing is known";
    EXPECT_EQ(importedText("PP=4\nprintf -v PP '%d' 8\npython " + kSubmittedJob + "--pipeline-model-parallel-size $PP\n", 8)
                  .became("--pipeline-model-parallel-size"),
              "unknown");
}

} // namespace
