// Sums of a script that assign.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using test::importedScript;
using testing::HasSubstr;
using testing::Not;

const std::string kFlagOfSums = "--pipeline-model-parallel-size";

TEST(ShellSums, AssignWhereverTheyStand)
{
    for (const char* head : {"X=4; Y=$((X++)); PP=$((X-1))",
                             "X=4; PP=$((X++))",
                             "X=3; PP=$((++X))",
                             "X=5; PP=$((--X))",
                             "X=5; Y=$((X--)); PP=$X",
                             "X=2; Y=$((X+=2)); PP=$X",
                             "X=2; PP=$((X+=2))",
                             "PP=2; : $((PP*=2))",
                             "PP=2; echo $((PP=4)) > log",
                             "X=3; PP=$(( X++ , X ))",
                             "PP=$(( (X = 2) * X ))",
                             "PP=$((X = Y = 4))",
                             "X=3; [ $((X++)) = 3 ] && PP=$X",
                             "PP=4; echo ${X:-$((Y=2))}; PP=$((Y*2))",
                             "X=1; PP=$((X++ + X++ + 1))",
                             "X=4; PP=$((X == 4 ? X : X++))",
                             "PP=4; X=$((0 && PP++))",
                             "PP=4; X=$((1 || PP++))",
                             "PP=4; X=$((1 ? 2 : PP++))",
                             "PP=3; X=$((1 && PP++))",
                             "PP=12; ((PP &= 6))",
                             "X=3; PP=$((X++ > 2 ? X : 1))",
                             "PP=8; [ 1 = 2 ] && echo $((PP++)); ((PP -= 4))",
                             "PP=$((-(-4)))",
                             "PP=$((4 - -0))"}) {
        const auto out = importedScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_THAT(out.textOn(kFlagOfSums), Not(HasSubstr("branch"))) << head;
    }
}

TEST(ShellSums, SayHowTheirCommandEnds)
{
    for (const char* head :
         {"X=3; (( X++ > 2 )) && PP=$X", "PP=2; if (( PP++ > 1 )); then PP=$((PP+1)); fi", "PP=4; X=0; (( X++ )) && PP=8",
          "PP=2; let X=1 && PP=4", "X=1; if [ 1 = 2 ] && (( X++ )); then PP=8; else PP=$((X * 4)); fi",
          "X=1; if true; then PP=4; elif (( X++ )); then PP=8; fi; PP=$((PP * X))", "PP=5; if ! (( PP-- )); then PP=8; fi",
          "PP=4; false && (( PP++ ))"}) {
        const auto out = importedScript(head);
        EXPECT_EQ(out.at("/layout/pp"), 4) << head;
        EXPECT_EQ(out.became("if"), "no note") << head;
    }
}

TEST(ShellSums, LeaveOpenWhatTheyAssignWhereTheyAreNotKnown)
{
    for (const char* head : {"PP=4; X=$((N + PP++))", "PP=4; ((PP += N))", "PP=4; X=$((N && PP++))", "PP=4; ((X = N, PP = N))",
                             "PP=4; if [ -f hosts ] && (( PP++ )); then X=1; fi", "PP=$((PP++))"}) {
        const auto out = importedScript(head);
        EXPECT_EQ(out.became(kFlagOfSums), "unknown") << head;
        EXPECT_EQ(out.at("/layout/pp"), 1) << head;
    }
    const std::string branch = "if [ -f hosts ]; then N=2; else N=4; fi\n";
    for (const char* sum : {"PP=$((X = N))", "Y=$((X = N)); PP=$X", "X=3; Y=$((N > 1 && X++)); PP=$X",
                            "X=4; Y=$((N > 8 && X++)); PP=$X", "Y=$((X = 0 + $N)); PP=$X"}) {
        const auto out = importedScript(branch + sum);
        EXPECT_EQ(out.at("/layout/pp"), 4) << sum;
        EXPECT_THAT(out.textOn(kFlagOfSums), HasSubstr("a branch of line 1, which")) << sum;
    }
}

TEST(ShellSums, ManyThatAssignAreCounted)
{
    std::string steps = "X++", names = "N*(";
    for (int i = 0; i < 1000; ++i)
        steps += "+X++";
    for (int i = 0; i < 100'000; ++i)
        names += "a++,";
    std::string lines = "X=1\n";
    for (int i = 0; i < 100; ++i)
        lines += "Y=$((" + steps + "))\n";
    EXPECT_ANY_THROW(importedScript(lines)) << "in seconds, not in minutes";
    EXPECT_ANY_THROW(importedScript("Y=$((" + names + "1)))")) << "nor in gigabytes";
}

} // namespace
