// Whatever is given as a file, a key or a value: an answer for a person, one of three exit codes, and an end.
#include "tests/sim/cli/program.h"
#include "tests/support/tries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sys/stat.h>

namespace {

using nlohmann::json;
using test::gallery;
using test::lines;
using test::Outcome;
using test::run;
using test::runJson;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// That a person can read all of it, and that none of it is a library's.
void expectForAPerson(const std::string& told, const std::string& arguments)
{
    for (const std::string& line : lines(told)) {
        EXPECT_LE(line.size(), 1000U) << arguments.substr(0, 200);
        for (const char* raw :
             {"json.exception", "std::", "basic_", "filesystem error", "Could not convert", "not in {", "in range", "stoi"})
            EXPECT_THAT(line, Not(HasSubstr(raw))) << arguments.substr(0, 200);
    }
}

std::string scenario(const std::string& rest)
{
    return R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop",)" + rest + "}";
}

TEST(BadInput, OfAWrongKindBelowAnUnknownKeyIsAProblemLikeAnother)
{
    const std::string file =
        test::write("int8.json", R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","layout":{"dp":2},
        "cluster":{"base":"laptop","gpu":{"peak_tflops":{"int8":"624"}}}})");
    for (const std::string command : {"validate", "describe", "simulate --json", "memory", "groups", "schedule", "traffic"}) {
        const Outcome outcome = run(command + " " + file);
        EXPECT_EQ(outcome.code, 1) << command;
        EXPECT_THAT(outcome.out + outcome.err, StartsWith(file + ": /cluster/gpu/peak_tflops/int8: unknown key")) << command;
        expectForAPerson(outcome.out + outcome.err, command);
    }
}

TEST(BadInput, BeyondTheProblemsThatAreListedIsStillBad)
{
    std::string keys;
    for (int i = 0; i < 1500; ++i)
        keys += "\"unknown" + std::to_string(i) + "\":0,";
    const std::string file = test::write("many.json", scenario(keys + R"("layout":{"tp":"four"})"));
    const Outcome outcome = run("validate " + file);
    EXPECT_EQ(outcome.code, 1);
    ASSERT_THAT(lines(outcome.out), testing::SizeIs(1001));
    EXPECT_EQ(lines(outcome.out).back(), file + ": there are 501 more problems than the 1000 listed");
    EXPECT_EQ(run("simulate " + file).code, 1);
}

TEST(BadInput, ThatNeverEndsIsNotRead)
{
    for (const std::string command :
         {"schedule --import", "validate", "describe", "simulate", "memory", "groups", "traffic", "sweep --vary layout.tp=1"}) {
        const Outcome outcome = run(command + " /dev/zero");
        EXPECT_EQ(outcome.code, 1) << command;
        EXPECT_THAT(outcome.out + outcome.err, HasSubstr("/dev/zero: is ")) << command;
    }
    const std::string endless = test::write("endless.json", "");
    std::filesystem::resize_file(endless, std::uintmax_t{1} << 40U);
    EXPECT_THAT(run("simulate " + endless).err, HasSubstr("has 1,099,511,627,776 bytes; at most 67,108,864 are read"));
    EXPECT_THAT(run("schedule --import " + endless).err, HasSubstr("has 1,099,511,627,776 bytes; at most 268,435,456 are read"));
    EXPECT_THAT(run("schedule --import " + test::scratch().string()).err, HasSubstr("is a folder, not a file"));
}

TEST(BadInput, InAPipeThatNobodyWritesIsGivenUp)
{
    const std::string pipe = (test::scratch() / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const Outcome outcome = run("schedule --import " + pipe);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("is a pipe that nobody has written to for 5000 ms"));
}

TEST(GoodInput, MayComeThroughAPipe)
{
    const std::string file = gallery("05-");
    EXPECT_EQ(run("describe --json /dev/stdin <" + file).out, run("describe --json " + file).out);
    EXPECT_EQ(run("sweep --csv --vary layout.pp=1,2 /dev/stdin <" + file).out,
              run("sweep --csv --vary layout.pp=1,2 " + file).out);
    const std::string piped = "schedule --kind 1f1b --stages 2 --microbatches 2";
    EXPECT_EQ(run(piped + " | " RANKSCOPE_BIN_DIR "/rankscope-sim schedule --import /dev/stdin").out, run(piped).out);
}

TEST(BadInput, InACustomScheduleIsToldWithItsKeyLineAndCell)
{
    const auto custom = [](const std::string& name, const std::string& actions) {
        return test::write(
            name, scenario(R"("layout":{"pp":2},"training":{"global_batch_size":2},"schedule":{"kind":"custom","actions":)" +
                           actions + "}"));
    };
    const std::string typo = custom("typo.json", R"(["0F0,0F1,0B0,0B1","1F0,1B0,1X1,1B1"])");
    const std::string missing = custom("missing.json", R"(["0F0,0F1,0B0,0B1","1F0,1B0,1F1"])");
    for (const std::string command : {"validate", "describe", "simulate", "memory", "groups", "schedule", "traffic"}) {
        const Outcome outcome = run(command + " " + typo);
        EXPECT_EQ(outcome.code, 1) << command;
        EXPECT_THAT(outcome.out + outcome.err, StartsWith(typo + ": /schedule/actions: line 2 (rank 1), cell 3: \"1X1\" is not"))
            << command;
        EXPECT_THAT(lines(run(command + " " + missing).err + run(command + " " + missing).out),
                    testing::Each(StartsWith(missing + ": /schedule/actions: ")))
            << command;
    }
    const std::string beside = test::write("order.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,oops,1B1\n");
    const std::string named = custom("named.json", R"("order.csv")");
    EXPECT_THAT(run("validate " + named).out,
                StartsWith(named + ": /schedule/actions: line 2 (rank 1), cell 3: \"oops\" is not"));
}

TEST(BadInput, IsEchoedInShort)
{
    const std::string file = gallery("05-");
    const std::string endless(5000, 'x');
    std::string escape = "'\x1b[31m" + endless + "'";
    for (const std::string& text : {endless, escape})
        for (const std::string& arguments :
             {"validate " + text + ".json",
              "simulate " + file + " --set layout." + text + "=1",
              "simulate " + file + " --set " + text,
              "simulate " + file + " --set name=" + text + " --set layout.order=" + text,
              "simulate " + file + " --set cluster.base=" + text,
              "simulate " + file + " --set model.base=" + text,
              "simulate " + file + " --set schedule.kind=" + text,
              "simulate " + file + " --set training.precision=" + text,
              "simulate " + file + " --set schedule.kind=custom --set schedule.actions=" + text,
              "simulate " + file + " --set cluster.efficiency=" + text,
              text,
              "simulate --" + text,
              "simulate " + file + " " + text,
              "simulate " + file + " --trace " + text,
              "simulate " + file + " --trace x.json --trace-detail " + text,
              "groups " + file + " --rank " + text,
              "sweep " + file + " --vary " + text,
              "sweep " + file + " --vary " + text + "=1",
              "schedule --kind " + text + " --stages 2 --microbatches 2",
              "schedule --kind 1f1b --stages " + text,
              "schedule --kind 1f1b --stages 2 --microbatches 2 --times " + text,
              "schedule --kind 1f1b --stages 2 --microbatches 2 --format " + text,
              "schedule --import " + text,
              "schedule --import " + test::write("order.csv", "0F0," + endless) + " --dialect pytorch"}) {
            const Outcome outcome = run(arguments);
            EXPECT_THAT(outcome.code, testing::AnyOf(1, 2)) << arguments.substr(0, 80);
            EXPECT_THAT(outcome.out + outcome.err, AllOf(Not(IsEmpty()), Not(HasSubstr("\x1b")))) << arguments.substr(0, 80);
            expectForAPerson(outcome.out + outcome.err, arguments);
        }
}

TEST(BadInput, OfJsonIsToldInWordsAndWithItsPlace)
{
    for (const auto& [text, told] : std::vector<std::pair<std::string, std::string>>{
             {"", "there is nothing in it"},
             {"{\"format\": ", "line 1, column 11: the text ends in the middle"},
             {"{\"tp\": NaN}", "line 1, column 8: NaN stands where a value is expected; text needs double quotes"},
             {"{\"a\n\": 1}", "line 1, column 4: a string holds a line break"},
             {"{\n\"a\": \"b\n\"}", "line 2, column 8: a string holds a line break"},
             {"{\n\"tp\": 01}", "line 2, column 8: 01 is no way to write a number"},
             {"{'tp': 1}", "'tp' stands where a key in double quotes"},
             {"{\"a\": 1e999}", "a number is too large"},
             {"{\"a\": 1} {}", ": { stands after the end of the document"},
             {"{\"a\": \"\xff\"}", "is not UTF-8"},
             {"{\"a\" \"\\\"b\"}", ": \"\\\"b\" stands where : is expected"},
             {"{\"a\": 1.}", ": 1. is no way to write a number"},
             {"{\"a\": [1 2]}", "stands where , or ] is expected"},
             {"{\"a\": 1,}", "stands where a key in double quotes"},
             {"{\"a\": \"\\q\"}", ": \\q is no escape that JSON has"},
             {"{\"a\": \"", "has no closing"},
             {"{\"a\": 1, \"a\": 2}", "/a: line 1, column 12: key \"a\" is given twice"},
             {"[]", "a scenario is a JSON object"},
             {std::string("{}\0 glued {", 12), "line 1, column 3: JSON has no NUL byte"},
             {std::string(100, '['), "nested more than 64 levels deep"}}) {
        const std::string file = test::write("text.json", text);
        const Outcome outcome = run("validate " + file);
        EXPECT_EQ(outcome.code, 1) << text;
        EXPECT_THAT(outcome.out, AllOf(StartsWith(file + ": "), HasSubstr(told))) << text;
        expectForAPerson(outcome.out, text);
    }
}

TEST(BadOptions, AreAnsweredInWords)
{
    const std::string file = gallery("05-");
    for (const auto& [arguments, told] : std::vector<std::pair<std::string, std::string>>{
             {"groups " + file + " --rank 010", "--rank: \"010\" is not written as a whole number is; write 10"},
             {"groups " + file + " --rank two", "--rank: \"two\" is not a whole number of at least 0"},
             {"groups " + file + " --rank 99999999999",
              "\"99999999999\" is not a whole number of at least 0 and at most 2147483647"},
             {"schedule --kind 1f1b --stages 0 --microbatches 4", "--stages: \"0\" is not a whole number of at least 1"},
             {"schedule --kind auto --stages 2 --microbatches 4 --memory-cap nan",
              "--memory-cap: \"nan\" is not a number above 0"},
             {"schedule --kind 1f1b --stages 2 --microbatches 2 --format png", "--format: \"png\" is none of csv, csv-2024, "},
             {"simulate " + file + " --set", "--set needs POINTER=VALUE"},
             {"trace compare one", "A B are needed; given: 1"},
             {"simulate " + file + " --nonsense", "This command takes no \"--nonsense\""},
             {"simulate " + file + " --vary layout.tp=1", "This command takes no \"--vary layout.tp=1\""}}) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.code, 2) << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(told)) << arguments;
        expectForAPerson(outcome.err, arguments);
    }
}

TEST(Set, WithoutAValueErasesAKey)
{
    const std::string file = gallery("05-"); // says its micro-batch size and name
    const json before = runJson("describe --json " + file);
    ASSERT_NE(before.at("training").at("global_batch_size"), 16);
    for (const std::string pointer : {"training.global_batch_size", "/training/global_batch_size"})
        EXPECT_EQ(runJson("describe --json " + file + " --set " + pointer + "=").at("training").at("global_batch_size"), 16)
            << "the default: dp 2 x 4 pp of them";
    EXPECT_FALSE(runJson("describe --json " + file + " --set name=").contains("name"));
    EXPECT_EQ(run("describe --json " + file + " --set layout.dp_shard=").out, run("describe --json " + file).out)
        << "the file does not say it";
    const Outcome without = run("validate " + file + " --set model=");
    EXPECT_EQ(without.code, 1);
    EXPECT_THAT(without.out, HasSubstr("key \"model\" is missing"));
    EXPECT_THAT(run("simulate " + file + " --set model.base=").err, HasSubstr("/model: key \"num_hidden_layers\" is missing"));
}

TEST(Set, OfAKeyThatNoScenarioHasIsRefusedWithoutAValueToo)
{
    const std::string file = gallery("05-");
    for (const std::string value : {"", "true"}) {
        const Outcome outcome = run("simulate " + file + " --set layout.sequence_paralel=" + value);
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(outcome.err, HasSubstr(R"(/layout/sequence_paralel: unknown key; nearest: "sequence_parallel")"));
    }
    EXPECT_EQ(run("simulate " + file + " --set nosuch=").code, 1);
    EXPECT_EQ(run("simulate " + file + " --set cluster.tiers.0.nosuch=").code, 1) << "in a list of the base";
    EXPECT_EQ(run("simulate " + file + " --set view.picture=").code, 0) << "what was on screen may say anything";
    const std::string wrong = test::write("paralel.json", scenario(R"("layout":{"dp":2,"sequence_paralel":true})"));
    EXPECT_EQ(run("validate " + wrong).code, 1);
    EXPECT_EQ(run("validate " + wrong + " --set layout.sequence_paralel=").code, 0) << "what is there may go";
}

TEST(Set, BelowAWordThatIsShortForAnObjectKeepsTheWord)
{
    const json training = runJson("describe --json " + gallery("39-") + " --set training.recompute.layers=1").at("training");
    EXPECT_EQ(training.at("recompute"), (json{{"kind", "full"}, {"layers", 1}}));
}

TEST(Describe, PrintsAScenarioThatOpensAgain)
{
    std::string all;
    test::Tried which;
    for (const auto& file : test::galleryFiles()) {
        if (!which.next())
            continue;
        const Outcome described = run("describe --json " + file.string());
        ASSERT_EQ(described.code, 0) << file << described.err;
        const std::string again = test::write(file.stem().string() + ".again.json", described.out);
        EXPECT_EQ(run("describe --json " + again).out, described.out) << file;
        json first = runJson("simulate --json " + file.string()), second = runJson("simulate --json " + again);
        first.erase("wall_ms");
        second.erase("wall_ms");
        EXPECT_EQ(first, second) << file;
        all += " " + again;
    }
    const Outcome valid = run("validate" + all);
    EXPECT_EQ(valid.code, 0);
    EXPECT_THAT(valid.out, IsEmpty());
}

TEST(Describe, PutsWhatIsNoPartOfTheFileUnderDerived)
{
    const json described = runJson("describe --json " + gallery("42-"));
    const json& derived = described.at("derived");
    EXPECT_EQ(derived.at("parameters"), 405853388800);
    EXPECT_EQ(derived.at("world_size"), 16384);
    EXPECT_EQ(derived.at("parameters_per_rank").size(), 16U);
    EXPECT_EQ(described.at("world_size"), derived.at("world_size")) << "and where scripts have always found it";
    json changed = described;
    changed["layout"]["dp"] = 64;
    changed["cluster"].erase("nodes");
    changed["training"]["global_batch_size"] = 1024;
    changed["layout"].erase("dp_shard");
    const std::string file = test::write("changed.json", changed.dump());
    EXPECT_EQ(runJson("describe --json " + file).at("derived").at("world_size"), 8192)
        << "what was derived before does not count";
    const Outcome asked = run("validate " + test::write("asked.json", scenario(R"("layout":{"dp":2},"world_size":4)")));
    EXPECT_EQ(asked.code, 1) << "nobody who writes it expects that it is ignored";
    EXPECT_THAT(asked.out, HasSubstr("/world_size: is what `describe` prints"));
}

TEST(Describe, KeepsTheBlocksThatNoNumberFollowsFrom)
{
    const std::string blocks = R"("view":{"pictures":["timeline"],"rank":1},"cases":{"all":{"set":{"/layout/zero_stage":3}}},)"
                               R"("holds":["world_size == 2","all.world_size == 2"])";
    const std::string file = test::write("blocks.json", scenario(R"("layout":{"dp":2},)" + blocks));
    const json described = runJson("describe --json " + file), written = json::parse("{" + blocks + "}");
    for (const auto& [block, value] : written.items())
        EXPECT_EQ(described.at(block), value);
    const std::string again = test::write("blocks_again.json", described.dump());
    EXPECT_EQ(runJson("describe --json " + again), described);
    const Outcome holds = run("validate --holds " + again);
    EXPECT_EQ(holds.code, 0) << holds.out << holds.err;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they take all addresses there are
/// A list of so many numbers takes memory to be destroyed, too.
TEST(BadInput, ThatDoesNotFitIntoMemoryIsSaid)
{
    std::string list = "1.5";
    for (int i = 0; i < 900'000; ++i)
        list += ",1.5";
    const std::string file = test::write("long.json", R"({"format":"rankscope-scenario","version":1,"model":[)" + list + "]}");
    int said = 0;
    for (const char* kib : {"30000", "40000", "60000"}) {
        const test::Outcome outcome =
            test::shell(std::string("ulimit -v ") + kib + "; " RANKSCOPE_BIN_DIR "/rankscope-sim validate " + file);
        EXPECT_TRUE(outcome.code == 1 || outcome.code == 127) << outcome.code << " " << kib << outcome.err; // not even loaded
        said += outcome.err.find("not enough memory") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(said, 0);
}
#endif

} // namespace
