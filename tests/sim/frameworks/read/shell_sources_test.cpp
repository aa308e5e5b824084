// Scripts that a script starts as processes of their own.
#include "tests/support/imported.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using sim::Json;

sim::Imported startedScripts(const std::string& run, const std::string& train, bool isFirst = true)
{
    std::vector<sim::SettingsFile> files{{"run.sh", run}, {"dir/train.sh", train}};
    if (!isFirst)
        std::swap(files[0], files[1]);
    return sim::importSettings(files, {.gpus = 8}, test::catalogue());
}

Json stagesOfStarted(const sim::Imported& out)
{
    return Json::parse(out.scenario)["layout"]["pp"];
}

TEST(ShellSources, AScriptThatIsStartedGetsWhatIsExportedAndItsArguments)
{
    const std::string train = test::kScriptJob + "--pipeline-model-parallel-size ${PP:-4}\n";
    for (const char* run :
         {"export PP=4\nbash train.sh\n", "PP=4\nexport PP\nsh ./train.sh\n", "PP=4 bash train.sh\n",
          "set -a\nPP=4\nset +a\nbash -x train.sh\n", "declare -x PP=4\n./train.sh\n", "PP=2\nbash train.sh\n",
          "export PP=2\nexport -n PP\nbash train.sh\n", "export PP=4\nsrun bash \"$DIR/train.sh\"\n",
          "export PP=2\nPP=4 nohup ./train.sh &\n", "set -o allexport\nPP=4\nsbatch -N 1 --exclusive train.sh\n",
          "PP=(2 8)\nexport PP\nbash train.sh\n", "f() { bash train.sh; }\nexport PP=4\nf\n"})
        for (const bool isFirst : {true, false})
            EXPECT_EQ(stagesOfStarted(startedScripts(run, train, isFirst)), 4) << run;
    const std::string takes = test::kScriptJob + "--pipeline-model-parallel-size $1\n";
    EXPECT_EQ(stagesOfStarted(startedScripts("bash train.sh 4\n", takes)), 4);
    EXPECT_EQ(stagesOfStarted(startedScripts("f() { bash train.sh 4; X=$1; }\nf 2\n", takes)), 4);
}

TEST(ShellSources, NothingOfAScriptThatIsStartedComesBack)
{
    const std::string train = "PP=8\nexport TP=8\nf() { PP=16; }\ncd x\n";
    for (const char* run : {"PP=4\nbash train.sh\n", "export PP=4\nbash train.sh\n", "f() { PP=4; }\nbash train.sh\nf\n",
                            "PP=4\n( bash train.sh )\n", "PP=4\nif [ -f hosts ]; then bash train.sh; fi\n"})
        EXPECT_EQ(stagesOfStarted(startedScripts(run + test::kScriptJob + "--pipeline-model-parallel-size $PP\n", train)), 4)
            << run;
}

TEST(ShellSources, AScriptThatIsNamedIsNotStarted)
{
    const std::string train = test::kScriptJob + "--pipeline-model-parallel-size ${PP:-8}\n"; // read by itself it says 8
    for (const char* run :
         {"cat train.sh\n", "chmod +x ./train.sh\n", "echo bash train.sh\n", "X='bash train.sh'\n", "train.sh\n"})
        EXPECT_EQ(stagesOfStarted(startedScripts("export PP=4\n" + std::string(run), train)), 8) << run;
}

TEST(ShellSources, AScriptThatStartsItselfIsReadAFewTimes)
{
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "bash train.sh\n";
    EXPECT_EQ(stagesOfStarted(startedScripts(many, many + test::kScriptJob + "--pipeline-model-parallel-size 4\n")), 4);
}

} // namespace
