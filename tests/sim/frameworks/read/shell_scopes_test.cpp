// What ends with a subshell or a function of a script, and what goes on behind it.
#include "tests/support/imported.h"

#include <gtest/gtest.h>

namespace {

using sim::Json;
using test::importedText;

Json stagesBehind(const std::string& head)
{
    return test::importedScript(head).at("/layout/pp");
}

TEST(ShellScopes, WhatASubshellAssignsEndsWithIt)
{
    for (const char* head :
         {"PP=4\n( PP=8 )", "PP=4\n(PP=8; export PP)", "PP=4\n( cd x && PP=8 ) || exit 1", "PP=4\nfalse && ( X=1; PP=8 )",
          "( PP=8 )\nPP=${PP:-4}", "PP=4\n(\n  case a in\n  a) PP=8 ;;\n  esac\n  if true; then PP=2; fi\n) &",
          "PP=2\n( PP=8; ( PP=16 ); [ $PP = 8 ] || exit 1\n echo $((PP)) ) 2>&1 | tee log\nPP=$((PP * 2))",
          "PP=(2 4)\n( PP[0]=8; PP+=(16) )\nPP=${PP[1]}", "f() { PP=8; }\nPP=4\nf &", "f() { PP=8; }\nPP=4\nf | tee log",
          "f() { PP=8; }\nPP=4\n( f )", "f() { ( PP=8 ); }\nPP=4\nf"})
        EXPECT_EQ(stagesBehind(head), 4) << head;
    for (const char* head : {"f() { PP=4; }\nPP=2\nf &> log", "PP=2\n{ PP=4; } &> log", "PP=2\ntrue && { PP=4; }\n( PP=8 )",
                             "PP=2\n( make it ) || PP=4", "PP=2\n( make it ) && PP=4"})
        EXPECT_EQ(stagesBehind(head), 4) << "no subshell: " << head;
}

TEST(ShellScopes, PartsOfPipesAndWhatIsInTheBackgroundAreSubshells)
{
    for (const char* head : {"PP=4\nPP=8 | cat",
                             "PP=4\nPP=8 &",
                             "PP=4\nPP+=8 |& cat",
                             "PP=4\n{ PP=8; } | cat",
                             "PP=4\n{ PP=8; X=1; } > log 2>&1 &",
                             "PP=4\necho x | { PP=8; X=1; }",
                             "PP=4\necho x |\n  PP=8",
                             "PP=4\necho x | (( PP = 8 ))",
                             "PP=4\necho x | read PP",
                             "PP=4\nX=1 && PP=8 &",
                             "PP=4\nPP=8 && X=1 &",
                             "PP=4\nif true; then PP=8; fi | cat",
                             "PP=4\nfor i in 1; do PP=8; done | cat",
                             "PP=4\ncat x | while read l; do PP=8; done",
                             "PP=4\nwhile read l; do PP=8; done < x | cat",
                             "PP=4\nf() { PP=8; }\ncat x | f",
                             "PP=4\ncase a in a) PP=8;; esac &",
                             "PP=4\n{ if true; then { PP=8; }; fi; } &",
                             "PP=4\necho $((PP++)) | cat",
                             "PP=4\necho ${X:=8} | cat\nPP=${X:-4}",
                             "PP=4\ncat x | for PP in 8; do X=1; done",
                             "PP=4\nfalse && echo x | { PP=8; }",
                             "PP=4\n{ PP=8; } | cat && { X=1; }",
                             "PP=4\nif true; then PP=8 & fi",
                             "f() {\n local PP=8\n { PP=16; } | cat\n X=$((PP / 2))\n}\nf\nPP=$X"})
        EXPECT_EQ(stagesBehind(head), 4) << head;
    for (const char* head :
         {"PP=2\n{ PP=4; } > log", "PP=2\nif true; then PP=4; fi > log 2>&1", "PP=2\nwhile true; do PP=4; break; done < x",
          "PP=2\n{ PP=4; } && cat x | sort", "PP=2\nPP=4 && cat x | sort", "PP=2\nPP=4; cat x &", "PP=2\nsleep 1 & PP=4",
          "PP=8\necho x | { PP=4; PP=$((PP / 2)); }\nPP=$((PP / 2))", "PP=2\nif true; then PP=4\n", "PP=2\n{\n  PP=4\n"})
        EXPECT_EQ(stagesBehind(head), 4) << "no subshell: " << head;
    const auto out =
        importedText("PP=2\n{ PP=4; " + test::kScriptJob + "--pipeline-model-parallel-size $PP; } 2>&1 | tee log\n", 8);
    EXPECT_EQ(out.at("/layout/pp"), 4) << "in it they are";
}

TEST(ShellScopes, GroupsEndAsTheirLastCommandDoesAndUntilRunsWhileItsConditionFails)
{
    for (const char* head : {"PP=4\nA=1; { false; } && PP=8", "PP=4\n( A=1; false ) && PP=8",
                             "PP=8\n[ 1 = 1 ] && { A=1; false; } || PP=4", "PP=4\nuntil true; do PP=8; done"})
        EXPECT_EQ(stagesBehind(head), 4) << head;
}

TEST(ShellScopes, NumbersThatBeginWithZeroAreNoDecimalsInSums)
{
    EXPECT_NE(stagesBehind("X=010\nPP=$((X))"), 10);
    EXPECT_EQ(stagesBehind("X=0\nPP=$((X + 4))"), 4);
}

TEST(ShellScopes, WhatTakesTooLongIsRefused)
{
    std::string nots, shifts = "set --";
    for (int i = 0; i < 30'000; ++i)
        nots += "! ";
    for (int i = 0; i < 5000; ++i)
        shifts += " a";
    shifts += "\n";
    for (int i = 0; i < 20'000; ++i)
        shifts += "shift 0\n";
    EXPECT_ANY_THROW(importedText(nots + "true\n" + test::kScriptJob + "\n"));
    EXPECT_ANY_THROW(importedText(shifts + test::kScriptJob + "\n"));
}

TEST(ShellScopes, AnEmptyValueEndsWithItsCommand)
{
    for (const char* head :
         {"E=\n./prepare --x\nPP=4$E", "E=; ./prepare --x\nPP=4$E", "PP=2\nE= && PP=4",
          "f() {\n local E=\n if true; then PP=4; fi\n}\nPP=2\nf", "PP=4\n( E= )\nE=\nif [ \"$E\" ]; then PP=8; fi"})
        EXPECT_EQ(stagesBehind(head), 4) << head;
}

TEST(ShellScopes, ASubshellStartsWhatItSays)
{
    const auto out = importedText("PP=2\n(\n  PP=4\n  NUM_GPUS=64\n  " + test::kScriptJob +
                                  "--pipeline-model-parallel-size $PP\n) 2>&1 | tee log\n");
    EXPECT_EQ(out.at("/layout/pp"), 4);
    EXPECT_EQ(out.at("/layout/dp"), 16) << "its variables are told, too";
}

TEST(ShellScopes, WhatIsLocalEndsWithItsFunction)
{
    for (const char* head : {"f() { local PP=8; }\nPP=4\nf", "f() {\n  declare PP\n  PP=8\n}\nPP=4\nf",
                             "g() { PP=16; }\nf() {\n  local X=1 PP=8\n  g\n}\nPP=4\nf", "f() { local -r PP=8; }\nPP=4; f 2",
                             "f() { declare -g PP=4; }\nPP=2\nf", "f() { export PP=4; }\nPP=2\nf", "local PP=4",
                             "f() { local PP=$1; X=$PP; }\nPP=2\nf 4\nPP=$X"})
        EXPECT_EQ(stagesBehind(head), 4) << head;
}

TEST(ShellScopes, WhatStandsInFrontOfACommandIsThatOnesAlone)
{
    EXPECT_EQ(stagesBehind("PP=4\nPP=8 ./prepare --x"), 4);
    EXPECT_EQ(stagesBehind("PP=4\nPP=8 X=1 \\\n  ./prepare --x"), 4);
    EXPECT_EQ(stagesBehind("PP=2\nf() { PP=4; }\nX=8 f"), 4) << "what a function assigns stays";
    EXPECT_EQ(stagesBehind("PP=2 PP=4"), 4) << "no command";
    EXPECT_EQ(stagesBehind("PP=4\nPP+=8 ./prepare --x"), 4);
    EXPECT_EQ(stagesBehind("E=\nPP=2\nX=1 PP=4 $E\nX=3"), 4) << "a command of no word";
    EXPECT_EQ(importedText("PP=4\nPP=8 " + test::kScriptJob + "--pipeline-model-parallel-size $PP\n", 8).at("/layout/pp"), 4)
        << "its words are read without them";
    const auto gpus = [](const std::string& before, const std::string& behind) {
        return importedText(before + "NPROC_PER_NODE=2 \\\n  " + test::kScriptJob + "\n" + behind).at("/layout/dp");
    };
    EXPECT_EQ(gpus("", "NPROC_PER_NODE=1 python export.py --load x\n"), 2);
    EXPECT_EQ(gpus("NPROC_PER_NODE=8 python convert.py --load x\n", ""), 2);
    EXPECT_EQ(gpus("export NPROC_PER_NODE=4\n", ""), 2);
}

} // namespace
