// Branches that a script alone does not decide: what is assigned in them, and where it is read again.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Json;
using testing::HasSubstr;
using testing::Not;

/// Of a script that decides how many stages it has, on eight GPUs.
test::ImportedText stagesScript(const std::string& head, const std::string& flags = "--pipeline-model-parallel-size $X")
{
    return test::importedScript(head, flags);
}
constexpr const char* kStagesFlag = "--pipeline-model-parallel-size";

TEST(ShellBranches, EachArmIsOneOfItsOwnThoughAllStandInOneLine)
{
    for (const char* head : {"if [ -f hosts ]; then N=8; else if [ $N = 8 ]; then X=4; else X=2; fi; fi",
                             "if [ -f hosts ]; then N=8; elif [ $N = 8 ]; then X=4; else X=2; fi",
                             "if [ -f hosts ]; then N=8; elif [ -f others ]; then (( N == 8 )) && X=4 || X=2; fi",
                             "case $SIZE in a) N=8;; *) if [ $N = 8 ]; then X=4; else X=2; fi;; esac",
                             "case $SIZE in a) N=8;; b) case $N in 8) X=4;; *) X=2;; esac;; esac",
                             "[ -f hosts ] && { N=8; } || { if [ $N = 8 ]; then X=4; else X=2; fi; }"}) {
        const auto out = stagesScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 2) << head;
        EXPECT_THAT(out.textOn(kStagesFlag), HasSubstr("a branch of line 1, which")) << head;
    }
}

TEST(ShellBranches, AGroupEndsAsItsLastCommandDoes)
{
    for (const char* head : {"X=2\n{ [ -f hosts ]; } && X=4", "X=2\n( [ -f hosts ] ) && X=4",
                             "X=2\n{ A=1; [ -f hosts ]; } || X=4", "X=2\n{\n [ -f hosts ]\n} && X=4"}) {
        const auto out = stagesScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kStagesFlag), HasSubstr("a branch of line ")) << head;
    }
    for (const char* head : {"X=2\n{ [ 1 = 1 ]; } && X=4", "X=4\n{ [ 1 = 2 ]; } && X=2", "X=2\n{ [ -f hosts ]; A=1; } && X=4"}) {
        const auto out = stagesScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kStagesFlag), Not(HasSubstr("a branch of"))) << head;
    }
}

TEST(ShellBranches, AValueHoldsInItsBranchAndInThoseInsideOfIt)
{
    for (const char* test :
         {"if [ -f b ]; then\n if [ $N = 8 ]; then X=4; else X=2; fi\n fi", "[ -f b ] &&\n [ $N = 8 ] && X=4",
          "[ -f b ] && {\n [ $N = 8 ] && X=4 || X=2; }", "case $B in\n a)\n case $N in\n 8) X=4;;\n *) X=2;;\n esac\n esac",
          "if [ -f b ]; then\n (( N == 8 )) && X=4 || X=2\n fi", "if [ -f b ]; then\n ! (( N == 8 )) && X=2 || X=4\n fi",
          "f() {\n [ $N = 8 ] && X=4 || X=2\n }\n if [ -f b ]; then f; fi",
          "if [ -f b ]; then\n if [ ${#A[@]} = 3 ]; then X=${A[1]}; else X=2; fi\n fi"})
        EXPECT_EQ(stagesScript("if [ -f a ]; then\n N=8; A=(2 4 8)\n " + std::string(test) + "\nfi").at("/layout/pp"), 4) << test;
    EXPECT_THAT(stagesScript("if [ -f a ]; then\n N=8\n if [ -f b ]; then X=$((N / 2)); fi\nfi").textOn(kStagesFlag),
                HasSubstr("a branch of line 3, which"));
}

TEST(ShellBranches, AValueOfAnotherBranchStaysOpenWhereverItIsPassedOn)
{
    const std::string other = "if [ -f a ]; then N=8; else N=2; fi\n";
    for (const char* rest :
         {"if [ -f b ]; then\n M=$N\n if [ $M = 2 ]; then X=4; else X=2; fi\nfi",
          "if [ -f b ]; then\n M=1\n if [ $N$M = 21 ]; then X=4; else X=2; fi\nfi",
          "if [ -f b ]; then\n M=1\n if [ $M$N = 12 ]; then X=4; else X=2; fi\nfi",
          ": ${M:=$N}\nif [ $M = 2 ]; then X=4; else X=2; fi", "A[0]=$N\nif [ ${A[0]} = 2 ]; then X=4; else X=2; fi"})
        EXPECT_EQ(stagesScript(other + rest).at("/layout/pp"), 2) << rest;
    for (const char* value : {"A=(2 2 4); X=${A[$N]}", "A=(2 2 4); X=${A[N]}", "declare -A A=([2]=4 [8]=2); X=${A[$N]}"})
        EXPECT_THAT(stagesScript(other + value).textOn(kStagesFlag), HasSubstr("a branch of line 1, which")) << value;
    for (const char* loop :
         {"if [ -f a ]; then for X in 4 8; do :; done; fi", "if [ -f a ]; then read -r -d '' X <<EOF\n4\nEOF\nfi"})
        EXPECT_THAT(stagesScript(loop).textOn(kStagesFlag), HasSubstr("a branch of line 1, which")) << loop;
}

TEST(ShellBranches, OneElementOfAListLeavesItsSumsOpen)
{
    const std::string list = "A=(--pipeline-model-parallel-size 2 --swiglu)\n", flags = "$(echo ${A[@]})";
    EXPECT_THAT(stagesScript(list + "if [ -f hosts ]; then A[1]=4; fi", flags).textOn(kStagesFlag),
                HasSubstr("a branch of line 2, which"));
    EXPECT_THAT(stagesScript(list + "A[1]=4", flags).textOn(kStagesFlag), Not(HasSubstr("branch")));
    EXPECT_EQ(stagesScript("A=(2)\nif [ -f hosts ]; then A=(); fi\nif [ ${#A[@]} = 0 ]; then X=4; else X=2; fi").at("/layout/pp"),
              2)
        << "one without elements too";
}

TEST(ShellBranches, AListPassesOverAllThatBeginsBehindItsTest)
{
    for (const char* list :
         {"false && if true; then X=8; fi", "false && for i in 1 2; do Y=1; X=8; done", "true || case a in a) Y=1; X=8;; esac",
          "[ 1 = 2 ] && while true; do Y=1; X=8; done", "false && if [ -f x ]; then X=8; elif true; then X=2; else X=16; fi",
          "false && case $B in a) X=8;; *) X=2;; esac"}) {
        const auto out = stagesScript("X=4\n" + std::string(list));
        EXPECT_EQ(out.at("/layout/pp"), 4) << list;
        EXPECT_THAT(out.textOn(kStagesFlag), Not(HasSubstr("branch"))) << list;
    }
    EXPECT_EQ(stagesScript("X=2\nfalse && if true; then X=8; fi\nX=4").at("/layout/pp"), 4) << "and nothing behind it";
}

TEST(ShellBranches, PatternsOfACaseThatAreNotTakenApartLeaveItOpen)
{
    const auto open = stagesScript("case 7b in a) X=8;; [78]b) X=2;; *) X=4;; esac");
    EXPECT_THAT(open.textOn(kStagesFlag), HasSubstr("a branch of line 1, which"));
    EXPECT_EQ(open.became("case"), "unknown");
    const auto told = stagesScript("case 7b in 7b) X=4;; [78]b) X=2;; *) X=8;; esac");
    EXPECT_EQ(told.at("/layout/pp"), 4);
    EXPECT_EQ(told.became("case"), "no note");
}

TEST(ShellBranches, WhatStandsBehindACommandWhoseOutputIsAssignedIsNotDecided)
{
    for (const char* head : {"X=2\nY=$(make it) && X=4", "X=2\nY=$(make it) || X=4", "X=2\nY=`make it` || X=4",
                             "X=2\nY=a Z=b$(make it) && X=4", "X=2\nY=$(make it) && { X=4; }", "X=2\nY=(a $(make it)) || X=4"}) {
        const auto out = stagesScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kStagesFlag), HasSubstr("a branch of line 2, which")) << head;
    }
    for (const char* head : {"X=4\nY=$(echo a) || X=8", "X=4\nY=a || X=8", "X=4\nexport Y=$(make it) || X=8",
                             "X=2\nY=$(make it); X=4", "Y=$(make it)\nX=2\nZ=$Y && X=4"}) {
        const auto out = stagesScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kStagesFlag), Not(HasSubstr("branch"))) << head;
    }
}

TEST(ShellBranches, AnArmOfACaseMayGoOnInTheNextOne)
{
    for (const char* one : {"case a in a) X=2 ;& b) X=4;; c) X=8;; esac", "case a in a) X=2\n;;& b) X=8;; a*) X=4;; esac",
                            "case a in a) X=4;;& b) X=8;; esac", "case a in a) X=2;& b) Y=1;& c) X=4;; *) X=8;; esac",
                            "case b in a) X=8;& b) X=4;; esac", "case a in a) X=2;;& *) X=$((X * 2));; esac",
                            "case a in a) X=2 ;& b) X=$((X * 2)) ;; esac", "case c in a) X=2;& b) X=8;;& c) X=4;; esac"}) {
        const auto out = stagesScript(one);
        EXPECT_EQ(out.at("/layout/pp"), 4) << one;
        EXPECT_THAT(out.textOn(kStagesFlag), Not(HasSubstr("branch"))) << one;
    }
    EXPECT_THAT(stagesScript("case $S in a) X=2 ;& b) X=4;; esac").textOn(kStagesFlag), HasSubstr("a branch of line 1, which"));
}

TEST(ShellBranches, EachArmBeginsWithWhatStoodInFront)
{
    for (const char* head :
         {"X=\nif [ -f a ]; then X+=8; else X+=4; fi", "if [ -f a ]; then X+=8; elif [ -f b ]; then X+=2; else X+=4; fi",
          "X=\ncase $S in a) X+=8;; b) X+=4;; esac", "X=\ncase $S in a) X+=4;; *) Y=1;; esac",
          "A=()\nif [ -f a ]; then A+=(8); else A+=(4); fi\nX=${A[0]}",
          "X=2\nif [ -f a ]; then X=$((X * 4)); else X=$((X * 2)); fi",
          "if [ -f a ]; then\n if [ -f b ]; then X+=8; fi\nelse\n X+=4\nfi",
          "f() { X+=$1; }\nX=\nif [ -f a ]; then f 8; else f 4; fi",
          "f() {\n local X=\n if [ -f a ]; then X+=8; else X+=4; fi\n Y=$X\n}\nf\nX=$Y"}) {
        const auto out = stagesScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kStagesFlag), HasSubstr("a branch of line ")) << head;
    }
    EXPECT_EQ(stagesScript("X=\nif [ -f a ]; then X+=1; fi\nif [ -f b ]; then X+=2; fi").at("/layout/pp"), 12)
        << "of two branches both may be run";
    EXPECT_EQ(stagesScript("if [ 1 = 1 ]; then X=4; else X=8; fi\nX+=").at("/layout/pp"), 4);
}

} // namespace
