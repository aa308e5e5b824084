// Where a function of a script ends, and how.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedScript;
using testing::HasSubstr;
using testing::Not;

const std::string kFlagOfEnd = "--pipeline-model-parallel-size";

TEST(ShellFunctions, EndWhereTheyReturn)
{
    for (const char* head :
         {"f() { PP=4; return; PP=8; }\nPP=2\nf", "f() { PP=4; if true; then return 1; fi; PP=8; }\nPP=2\nf",
          "f() {\n [ $1 = 4 ] && { PP=4; return; }\n PP=8\n}\nf 4", "f() { case a in a) PP=4; return;; esac; PP=8; }\nf",
          "g() { return; PP=8; }\nf() { g; PP=4; }\nf", "f() { PP=4; eval 'return; PP=2'; PP=8; }\nf",
          "f() { for i in 1 2; do PP=4; return; done; PP=8; }\nf", "f() { ( return; ); PP=4; }\nf",
          "f() { return; PP=8; }\nPP=4\nf\nX=1", "f() { PP=4; bash -c 'return'; }\nf", "return\nPP=4",
          "f() { true || return; PP=4; }\nf", "f() { false && return; PP=4; }\nf"}) {
        const auto out = importedScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kFlagOfEnd), Not(HasSubstr("branch"))) << head;
    }
}

TEST(ShellFunctions, EndAsTheirLastCommandOrTheirReturnSays)
{
    for (const char* head :
         {"f() { return 1; }\nPP=4\nf && PP=8", "f() { return 1; }\nPP=2\nf || PP=4", "f() { return 0; }\nPP=4\nf || PP=8",
          "f() { [ $1 -gt 4 ]; }\nPP=4\nf 2 && PP=8", "f() { false; return; }\nPP=4\nf && PP=8",
          "f() { local X=1; }\nPP=4\nf || PP=8", "X=0\nf() { return $X; }\nPP=2\nf && PP=4"}) {
        const auto out = importedScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kFlagOfEnd), Not(HasSubstr("branch"))) << head;
    }
    for (const char* head :
         {"f() { [ -f hosts ]; }\nPP=2\nf && PP=4", "f() {\n [ -f hosts ] && return 1\n X=1\n}\nPP=2\nf || PP=4"})
        EXPECT_THAT(importedScript(head).textOn(kFlagOfEnd), HasSubstr("a branch of line ")) << head;
}

TEST(ShellFunctions, WhatStandsBehindAReturnThatIsNotDecidedIsNotEither)
{
    for (const char* head :
         {"f() {\n [ -f hosts ] && return\n PP=4\n}\nPP=2\nf", "f() {\n if [ -f hosts ]; then return; fi\n PP=4\n}\nPP=2\nf",
          "f() {\n while read X; do return; done\n PP=4\n}\nPP=2\nf",
          "f() {\n if [ -f hosts ]; then PP=8; return; PP=16; fi\n PP=4\n}\nPP=2\nf",
          "f() {\n case $A in a) return;; esac\n PP=4\n}\nPP=2\nf",
          "f() {\n [ -f hosts ] && { X=1; return; }\n PP=4\n [ -f others ] && return\n}\nPP=2\nf"}) {
        const auto out = importedScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kFlagOfEnd), HasSubstr("a branch of line 2, which")) << head;
    }
    const auto inside = importedScript("f() {\n [ -f hosts ] && return\n X=4\n if [ $X = 4 ]; then Y=4; fi\n PP=$Y\n}\nf\n");
    EXPECT_EQ(inside.at("/layout/pp"), 4) << "in the function itself it is";
    EXPECT_EQ(inside.became("if"), "no note");
    const auto inArm = importedScript("f() {\n if [ -f a ]; then\n  if [ -f b ]; then return; fi\n  PP=8\n else\n  X=1\n fi\n}\n"
                                      "PP=4\nf\nif true; then PP=4; fi");
    EXPECT_EQ(inArm.at("/layout/pp"), 4);
    EXPECT_THAT(inArm.textOn(kFlagOfEnd), Not(HasSubstr("branch"))) << "nothing behind the function hangs on it";
}

/// Stages of a script of two jobs, of two stages and of four, the latter with more settings; `between` stands between them.
sim::Json stagesOf(const std::string& between, const std::string& head = {})
{
    return test::importedText(head + "\n" + test::kScriptJob + "--pipeline-model-parallel-size 2\n" + between + "\n" +
                                  test::kScriptJob + "--bf16 --pipeline-model-parallel-size 4\n",
                              8)
        .at("/layout/pp");
}

TEST(ShellFunctions, AScriptEndsWhereItExitsBehindWhatItTrains)
{
    for (const char* end : {"exit", "exit 0", "exit $?", "if true; then exit; fi", "f() { exit; }\nf", "true && exit",
                            "false || { echo done; exit; }", "eval exit", "for i in 1 2; do exit; done"})
        EXPECT_EQ(stagesOf(end), 2) << end;
    for (const char* other :
         {"if [ -f hosts ]; then exit; fi", "[ -f hosts ] && exit", "false && exit", "true || exit", "cp -r a b || exit 1",
          "cp -r a b || { echo failed; exit 1; }", "( exit )", "bash -c exit", "f() { exit; }\n( f )",
          "f() { exit; }\nf | tee log", "while read X; do exit; done", "wait || f() { exit; }"})
        EXPECT_EQ(stagesOf(other), 4) << other;
    EXPECT_EQ(stagesOf("", "if [ $# -lt 1 ]; then echo how; exit 1; fi"), 4) << "it would say no more than how it is called";
    EXPECT_EQ(test::importedScript("PP=4\n( PP=2; exit; PP=1 )").at("/layout/pp"), 4);
}

TEST(ShellFunctions, ReturnWhereACommandFailsIsNotTaken)
{
    for (const char* head : {"f() { cp -r a b || return; PP=4; }\nPP=2\nf", "f() { cd a || { echo none; return 1; }; PP=4; }\nf"})
        EXPECT_EQ(importedScript(head).at("/layout/pp"), 4) << head;
}

} // namespace
