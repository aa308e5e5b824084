// import on the command line: what a script that calls it can rely on.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

using nlohmann::json;
using test::Outcome;
using test::run;
using test::runJson;
using test::write;
using testing::HasSubstr;
using testing::Not;

std::string scriptWith(const char* name, const char* tp)
{
    return write(name, std::string("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
                                   "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 "
                                   "--micro-batch-size 1 --global-batch-size 64 --tensor-model-parallel-size ") +
                           tp + "\n");
}

TEST(ImportCommand, ReadsAJobThatBreaksARuleAndSaysSo)
{
    const std::string broken = scriptWith("import_tp_3.sh", "3"), good = scriptWith("import_tp_2.sh", "2");
    const Outcome outcome = run("import " + broken);
    EXPECT_EQ(outcome.code, 0) << "its settings were read";
    EXPECT_THAT(outcome.err, HasSubstr("/layout/tp: 3 does not divide"));
    EXPECT_THAT(outcome.err, HasSubstr("its job breaks a rule"));
    const json answer = runJson("import " + broken + " --json");
    EXPECT_EQ(answer.at("legal"), false);
    EXPECT_FALSE(answer.at("problems").empty());
    // What a script asks that goes on with legal jobs alone.
    EXPECT_EQ(run("validate " + write("import_tp_3.json", outcome.out)).code, 1);
    EXPECT_THAT(run("import " + good).err, Not(HasSubstr("breaks a rule")));
    EXPECT_EQ(runJson("import " + good + " --json").at("legal"), true);
    EXPECT_EQ(run("import " + write("import_nothing.sh", "echo nothing\n")).code, 1);
}

} // namespace
