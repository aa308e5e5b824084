// `trace`: what is told of recorded files, and that what is simulated comes back through a file.
#include "tests/sim/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>

namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kKineto = std::string(RANKSCOPE_TEST_DATA) + "/kineto/";

TEST(TraceCommand, TellsWhatARealFileHolds)
{
    const json info = test::runJson("trace info --json " + kKineto + "nccl_data.json.gz");
    EXPECT_EQ(info.at("events"), 40573);
    EXPECT_EQ(info.at("world_size"), 2);
    const json& rank = info.at("ranks").at(0);
    EXPECT_EQ(rank.at("rank"), 0);
    EXPECT_EQ(rank.at("kernels"), 2700);
    EXPECT_EQ(rank.at("collectives"), 21);
    EXPECT_EQ(rank.at("busy_ns"), 157500014);
    EXPECT_EQ(rank.at("first_ns"), 1716423322388068751);
    EXPECT_EQ(info.at("groups").size(), 1U);
    EXPECT_EQ(info.at("steps").size(), 3U);
    for (const char* key : {"files", "axes", "schedule", "clock", "skipped", "problems"})
        EXPECT_TRUE(info.contains(key)) << key;
    EXPECT_THAT(test::run("trace info " + kKineto + "nccl_data.json.gz").out, HasSubstr("2,700"));
}

TEST(TraceCommand, SaysWhatItsTableCountsAndWhatIsKnownOfARunWithoutDevices)
{
    const std::string data = RANKSCOPE_TEST_DATA;
    EXPECT_THAT(test::run("trace info " + data + "/slow-rank").out, HasSubstr("collectives, messages"));
    const std::string gloo = test::run("trace info " + data + "/torch-parallel/gloo-late-input").out;
    EXPECT_THAT(gloo, HasSubstr("it comes to them late, and what it computed before was not recorded"));
    EXPECT_THAT(gloo, testing::Not(HasSubstr("GPU")));
}

TEST(TraceCommand, WhatIsSimulatedIsTheSameThroughEitherFormatAndBack)
{
    const std::string chrome = (test::scratch() / "step.json").string(), perfetto = (test::scratch() / "step.pftrace").string();
    const std::string scenario = test::gallery("05-");
    ASSERT_EQ(test::run("simulate " + scenario + " --trace " + chrome).code, 0);
    ASSERT_EQ(test::run("simulate " + scenario + " --trace " + perfetto).code, 0);
    const json fromChrome = test::runJson("trace info --json " + chrome),
               fromPerfetto = test::runJson("trace info --json " + perfetto);
    ASSERT_GT(fromChrome.at("ranks").size(), 1U);
    for (std::size_t rank = 0; rank < fromChrome.at("ranks").size(); ++rank)
        for (const char* key : {"rank", "spans", "kernels", "collectives", "busy_ns", "last_ns", "stands_for"})
            EXPECT_EQ(fromChrome.at("ranks").at(rank).at(key), fromPerfetto.at("ranks").at(rank).at(key)) << key;
    EXPECT_EQ(fromChrome.at("world_size"), test::runJson("simulate --json " + scenario).at("world_size"));
    const std::string again = (test::scratch() / "again.pftrace").string();
    ASSERT_EQ(test::run("trace convert " + chrome + " " + again).code, 0);
    const json fromAgain = test::runJson("trace info --json " + again);
    EXPECT_EQ(fromAgain.at("ranks").at(0).at("busy_ns"), fromChrome.at("ranks").at(0).at("busy_ns"));
}

TEST(TraceCommand, RefusesWhatIsNoTraceAndSaysWhatWouldBe)
{
    const test::Outcome text = test::run("trace info " + kKineto + "SOURCES.md");
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.err, HasSubstr("is no trace that is known: Chrome or Kineto JSON"));
    EXPECT_THAT(test::run("trace info /nowhere").err, HasSubstr("no such file or folder"));
    EXPECT_EQ(test::run("trace info").code, 2);
    EXPECT_EQ(test::run("trace convert " + kKineto).code, 2);
    EXPECT_EQ(test::run("trace convert " + kKineto + " out.txt").code, 2);
}

TEST(TraceCommand, TellsTheCriticalPathOfTheStepThatIsAskedFor)
{
    const std::string run = std::string(RANKSCOPE_TEST_DATA) + "/torch-parallel/pp2-dp2";
    const json info = test::runJson("trace info --json " + run);
    ASSERT_GE(info.at("steps").size(), 2U);
    for (const json& step : info.at("steps")) {
        const std::string number = step.at("number").dump();
        const json of = test::runJson("trace info --json --step " + number + " " + run);
        EXPECT_EQ(of.at("answers").at("critical_path").at("step"), step.at("number"));
    }
    const test::Outcome none = test::run("trace info --step 77 " + run);
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("--step 77: no such step was recovered; there "));
    const test::Outcome beyond = test::run("trace info --step 99999999999999999999 " + run);
    EXPECT_EQ(beyond.code, 2);
    EXPECT_THAT(beyond.err, HasSubstr("\"99999999999999999999\" is not a whole number from 0 to 9223372036854775807"));
}

TEST(TraceCommand, KeepsACacheWhereAskedAndSaysTheSameFromIt)
{
    namespace fs = std::filesystem;
    const fs::path run = test::scratch() / "cached-run", cache = test::scratch() / "cached-run.rankscope-cache";
    fs::remove_all(run);
    fs::remove(cache);
    fs::copy(std::string(RANKSCOPE_TEST_DATA) + "/slow-rank", run);
    const test::Outcome read = test::run("trace info --json " + run.string());
    EXPECT_FALSE(fs::exists(cache));
    const test::Outcome kept = test::run("trace info --json --cache " + run.string());
    EXPECT_EQ(kept.code, 0);
    EXPECT_EQ(kept.out, read.out);
    EXPECT_THAT(kept.err, HasSubstr("cached-run.rankscope-cache keeps what was read, in "));
    ASSERT_TRUE(fs::exists(cache));
    const test::Outcome again = test::run("trace info --json " + run.string());
    EXPECT_EQ(again.out, read.out);
    EXPECT_EQ(again.err, read.err);
    fs::resize_file(cache, 100);
    const test::Outcome damaged = test::run("trace info --json " + run.string());
    EXPECT_EQ(damaged.out, read.out);
    EXPECT_THAT(damaged.err, HasSubstr("cached-run.rankscope-cache: is cut off: it has 100 bytes"));
    const std::string both = test::run("trace info --cache " + run.string() + " 2>&1").out;
    EXPECT_LT(both.find("findings"), both.find("keeps what was read")) << "the answer does not wait for the cache";
    EXPECT_GT(fs::file_size(cache), 100U);
    const test::Outcome piped =
        test::run("trace info --cache /dev/stdin < " + std::string(RANKSCOPE_TEST_DATA) + "/slow-rank/run.json.gz");
    EXPECT_EQ(piped.code, 0) << piped.err;
    EXPECT_THAT(piped.err, HasSubstr("no cache was kept: a run that comes through a pipe is read only once"));
    // Where none can be written the answer is there all the same.
    fs::remove(cache);
    fs::create_directory(cache);
    const test::Outcome unwritten = test::run("trace info --json --cache " + run.string());
    EXPECT_EQ(unwritten.code, 0);
    EXPECT_EQ(unwritten.out, read.out);
    EXPECT_THAT(unwritten.err, HasSubstr("no cache was kept: "));
    EXPECT_THAT(unwritten.err, HasSubstr("cached-run.rankscope-cache: is not an ordinary file"));
    fs::remove_all(cache);
}

TEST(TraceCommand, CallsNoGpuIdleOfWhichNothingWasRecorded)
{
    std::string events;
    for (int step = 0; step < 3; ++step)
        events += (step > 0 ? "," : "") +
                  std::string(R"({"ph":"X","pid":1,"tid":1,"cat":"user_annotation","dur":990,"name":"ProfilerStep#)") +
                  std::to_string(step) + R"(","ts":)" + std::to_string(1000 * step) +
                  R"(},{"ph":"X","pid":1,"tid":1,"cat":"cpu_op","dur":300,"name":"aten::mm","ts":)" +
                  std::to_string(1000 * step + 9) + "}";
    const std::string file =
        test::write("host_only_rank0.json", R"({"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)" + events + "]}");
    const test::Outcome outcome = test::run("trace info " + file);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("no kernels that compute were recorded"));
    EXPECT_THAT(outcome.out, testing::Not(HasSubstr("idle")));
}

TEST(TraceCommand, TellsHowMuchMemoryWasHeldAtMost)
{
    std::string events;
    for (const auto& [at, bytes] : {std::pair(1000, 1LL << 30), std::pair(2000, 3LL << 30), std::pair(3000, 2LL << 30)})
        events += std::string(events.empty() ? "" : ",") +
                  R"({"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":0,"tid":0,"ts":)" + std::to_string(at) +
                  R"(,"args":{"Total Allocated":)" + std::to_string(bytes) + R"(,"Device Type":1,"Device Id":1}})";
    events += R"(,{"ph":"X","pid":1,"tid":1,"cat":"cpu_op","dur":300,"name":"aten::mm","ts":900})";
    const std::string file =
        test::write("memory_rank0.json", R"({"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)" + events + "]}");
    EXPECT_THAT(test::run("trace info " + file).out, HasSubstr("memory: at most 3.00 GiB at once"));
    EXPECT_EQ(test::runJson("trace info --json " + file)["ranks"][0]["peak_memory_bytes"], 3LL << 30);
}

TEST(TraceCommand, ConvertsToWhatSaysTheSame)
{
    const json info = test::runJson("trace info --json " + kKineto + "nccl_data.json.gz");
    for (const char* ending : {".json", ".pftrace"}) {
        const std::string out = (test::scratch() / (std::string("converted") + ending)).string();
        ASSERT_EQ(test::run("trace convert " + kKineto + "nccl_data.json.gz " + out).code, 0);
        const json again = test::runJson("trace info --json " + out);
        for (const char* key : {"world_size", "groups", "steps"})
            EXPECT_EQ(again.at(key), info.at(key)) << key;
        for (const char* key : {"rank", "host", "device", "kernels", "collectives", "first_ns", "last_ns", "busy_ns"})
            EXPECT_EQ(again.at("ranks").at(0).at(key), info.at("ranks").at(0).at(key)) << key;
    }
}

TEST(TraceCommand, SaysOfPackedFilesThatTheyAreNotWritten)
{
    const test::Outcome packed =
        test::run("trace convert " + kKineto + "nccl_data.json.gz " + (test::scratch() / "out.json.gz").string());
    EXPECT_EQ(packed.code, 2);
    EXPECT_THAT(packed.err, HasSubstr("gzip and zstd pack it, and what they packed is read"));
}

TEST(TraceCommand, WritesOverNoneOfTheFilesItReads)
{
    const std::filesystem::path file =
        test::write("in.json", R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}]})");
    const test::Outcome same = test::run("trace convert " + file.string() + " " + file.string());
    EXPECT_EQ(same.code, 2);
    EXPECT_THAT(same.err, HasSubstr("in.json\" is one of the files to read"));
    EXPECT_EQ(test::run("trace convert " + test::scratch().string() + " " + file.string()).code, 2);
}

/// As a live run writes it: spans say what their group is for, and who belongs to it follows from who meets.
TEST(TraceCommand, ListsTheRanksOfGroupsThatTheFileOnlyNames)
{
    std::string events;
    for (int rank = 0; rank < 2; ++rank) {
        const std::string pid = R"(,"pid":)" + std::to_string(rank);
        events += R"({"ph":"M","name":"process_name")" + pid + R"(,"args":{"name":"rank )" + std::to_string(rank) + " (dp" +
                  std::to_string(rank) + " pp0 cp0 tp0)\"}},\n";
        for (int i = 0; i < 3; ++i)
            events += R"({"ph":"X","name":"gradient.reduce","cat":"dp comm","tid":3)" + pid + R"(,"ts":)" +
                      std::to_string(1000 * i) + R"(,"dur":50,"args":{"group":"dp_cp","correlation":)" + std::to_string(7 + i) +
                      "}},\n";
    }
    events.resize(events.size() - 2);
    const std::string file = test::write("live.json", R"({"schemaVersion":1,"traceEvents":[)" + events + "]}");
    const json groups = test::runJson("trace info --json " + file).at("groups");
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups.at(0).at("ranks"), json::array({0, 1}));
    const std::string text = test::run("trace info " + file).out;
    EXPECT_THAT(text, HasSubstr("2  0 1    " + groups.at(0).at("evidence").get<std::string>()));
    EXPECT_THAT(text, testing::Not(HasSubstr("  0  ? "))) << "no group is of nobody";
}

TEST(TraceCommand, NamesEachFileThatIsNone)
{
    const std::filesystem::path folder = test::scratch() / "mixed";
    std::filesystem::create_directories(folder);
    test::write("mixed/a.json", R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1}]})");
    test::write("mixed/b.json", "");
    test::write("mixed/c.txt", "no trace");
    test::write("mixed/d.json", R"({"traceEvents":[]})");
    const test::Outcome info = test::run("trace info " + folder.string());
    EXPECT_THAT(info.out, HasSubstr("b.json: is empty"));
    EXPECT_THAT(info.out, HasSubstr("c.txt: is no trace that is known"));
    EXPECT_THAT(info.err, HasSubstr("d.json: holds no event"));
}

TEST(TraceCommand, ComparesTwoRunsAndNamesWhatIsSlower)
{
    const std::string a = (test::scratch() / "a.pftrace").string(), b = (test::scratch() / "b.json").string();
    const std::string scenario = test::gallery("06-");
    ASSERT_EQ(test::run("simulate " + scenario + " --trace " + a).code, 0);
    ASSERT_EQ(test::run("simulate " + scenario + " --set cluster.gpu.efficiency.gemm=0.4 --trace " + b).code, 0);
    EXPECT_THAT(test::run("trace compare " + a + " " + a).out, HasSubstr("what differs\n  nothing\n"));
    const json difference = test::runJson("trace compare --json " + a + " " + b);
    EXPECT_EQ(difference.at("verdict"), "slower");
    EXPECT_GT(difference.at("step_s").at("ratio"), 1.2);
    EXPECT_EQ(difference.at("findings").at(0).at("kind"), "step");
    EXPECT_EQ(difference.at("kernels").at(0).at("verdict"), "slower");
    for (const json& collective : difference.at("collectives"))
        EXPECT_EQ(collective.at("verdict"), "alike") << collective;
    EXPECT_EQ(test::run("trace compare " + a).code, 2);
    EXPECT_EQ(test::run("trace compare " + a + " " + kKineto + "SOURCES.md").code, 1);
    const test::Outcome nothing =
        test::run("trace compare " + a + " " +
                  test::write("hosts.json",
                              R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":1}]})"));
    EXPECT_EQ(nothing.code, 1);
    EXPECT_THAT(nothing.err, HasSubstr("holds no kernel and no collective"));
}

TEST(TraceCommand, CalibratesTheScenarioOfARunIntoAProfile)
{
    const std::filesystem::path folder = test::scratch();
    const std::string run = (folder / "run.pftrace").string(), profile = (folder / "here.json").string();
    const std::string scenario = test::gallery("06-");
    ASSERT_EQ(test::run("simulate " + scenario + " --set cluster.gpu.efficiency.gemm=0.4 --full --trace " + run).code, 0);
    const json answer = test::runJson("trace calibrate " + run + " --scenario " + scenario + " --out " + profile + " --json");
    const double measured = answer.at("measured").at("step_s"), calibrated = answer.at("calibrated").at("step_s");
    EXPECT_LT(answer.at("predicted").at("error"), -0.15);
    EXPECT_NEAR(calibrated / measured, 1, 0.02);
    EXPECT_EQ(answer.at("profile").at("file"), profile);
    // The file says the same to a scenario that names it.
    const json again = test::runJson("simulate " + scenario + " --set cluster.efficiency=" + profile + " --json");
    EXPECT_NEAR(again.at("step_time_s").get<double>() / measured, 1, 0.02);
    const test::Outcome over = test::run("trace calibrate " + run + " --scenario " + scenario +
                                         " --set cluster.efficiency=" + profile + " --out " + profile);
    EXPECT_EQ(over.code, 1);
    EXPECT_THAT(over.err, HasSubstr("is a file that was read: write to another name"));
    const test::Outcome without = test::run("trace calibrate " + run);
    EXPECT_EQ(without.code, 2);
    EXPECT_THAT(without.err, HasSubstr("--scenario"));
}

/// Of a world of two: a kernel, and a sum with the other rank.
std::string ofNobody(const std::string& name, int start)
{
    const std::string at = std::to_string(start);
    return test::write(name,
                       R"({"distributedInfo":{"backend":"nccl","world_size":2,"pg_config":[{"pg_name":"0","pg_desc":"undefined",)"
                       R"("pg_size":2,"ranks":[0,1]}]},"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,)"
                       R"("ts":)" +
                           at +
                           R"(,"dur":100,"args":{"device":0,"stream":7}},{"ph":"X","cat":"kernel",)"
                           R"("name":"ncclDevKernel_AllReduce","pid":0,"tid":9,"ts":)" +
                           std::to_string(start + 110) +
                           R"(,"dur":50,"args":{"device":0,"stream":9,"Collective name":"allreduce","Process Group Name":"0",)"
                           R"("Process Group Ranks":"[0, 1]","Group size":2}}]})");
}

TEST(TraceCommand, IsToldWhoIsWhoAndHowRanksLie)
{
    const std::string a = ofNobody("alice.json", 1000), b = ofNobody("bob.json", 1010), both = a + " " + b;
    const json unknown = test::runJson("trace info --json " + both);
    EXPECT_TRUE(unknown.at("ranks").at(0).at("rank").is_null());
    const json known = test::runJson("trace info --json --rank bob.json=0 --rank " + a + "=1 --grid pp=2 " + both);
    std::map<std::string, int> ranks;
    for (const json& rank : known.at("ranks"))
        ranks[std::to_string(rank.at("rank").get<int>())] = 1;
    EXPECT_EQ(ranks.size(), 2U);
    EXPECT_EQ(known.at("ranks").at(0).at("rank_from"), "--rank");
    EXPECT_EQ(known.at("answers").at("ranks").at(0).at("rank"), 0) << "by their numbers, not as the files come";
    EXPECT_EQ(known.at("axes").at(0).at("name"), "pp");
    EXPECT_EQ(known.at("answers").at("ranks").size(), 2U);
    const auto refuses = [&](const std::string& options, const std::string& why) {
        const test::Outcome outcome = test::run("trace info " + options + " " + both);
        EXPECT_NE(outcome.code, 0) << options;
        EXPECT_THAT(outcome.err, HasSubstr(why));
    };
    refuses("--grid tp=3", "tp 3 is 3 ranks, and the recording is of 2");
    refuses("--grid tp", "is no axis with its size; e.g. --grid tp=2,dp=4,pp=2");
    refuses("--grid tp=2,tp=2", "says an axis twice");
    refuses("--grid ep=1,ep=2", "says an axis twice");
    refuses("--grid tp=16777217", "a job has at most 16777216 ranks");
    refuses("--grid tp=99999999999", "a job has at most 16777216 ranks");
    refuses("--grid tp=8192,dp=4096", "a job has at most 16777216 ranks");
    refuses("--rank bob.json=16777216", "a rank is at most 16777215");
    refuses("--rank bob.json=99999999999", "a rank is at most 16777215");
    refuses("--rank carol.json=0", "no file that was read is called so");
    refuses("--rank bob.json", "e.g. --rank worker-a.json=3");
    refuses("--rank alice.json=1 --rank bob.json=1", "rank 1 is that of another file");
}

TEST(TraceCommand, SaysOfAGridThatItIsNotKnownAndMakesUpNoLayout)
{
    const std::string run = kKineto + "sampled_rank-0.json.gz";
    const std::string unknown = "how the 128 ranks lie in a grid is not known, as nothing tells which of them form groups";
    EXPECT_THAT(test::run("trace info " + run).out, HasSubstr(unknown));
    const test::Outcome refused = test::run("trace calibrate " + run + " --scenario " + test::gallery("60-"));
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr(unknown));
    EXPECT_THAT(refused.err, HasSubstr("or give a scenario of 128 ranks, whose layout is then taken"));
}

/// Two ranks of four, of one data-parallel replica: tp [0, 1], and sums of gradients with ranks 2 and 3, of which there is no
/// file.
TEST(TraceCommand, OfOneReplicaSaysOfWhomItsNumbersAreAndWhatIsNotSeen)
{
    namespace fs = std::filesystem;
    const fs::path folder = test::scratch() / "replica";
    fs::create_directories(folder);
    for (const int rank : {0, 1}) {
        const auto exchange = [](int at, int lasts, int stream, const std::string& group, const std::string& description,
                                 const std::string& ranks) {
            return R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16","pid":0,"tid":)" +
                   std::to_string(stream) + R"(,"ts":)" + std::to_string(at) + R"(,"dur":)" + std::to_string(lasts) +
                   R"(,"args":{"Collective name":"allreduce","In msg nelems":65536,"Group size":2,"dtype":"BFloat16",)"
                   R"("Process Group Name":")" +
                   group + R"(","Process Group Description":")" + description + R"(","Process Group Ranks":")" + ranks + "\"}}";
        };
        const std::string replicas = "[" + std::to_string(rank) + ", " + std::to_string(rank + 2) + "]";
        std::string events;
        for (int step = 0; step < 3; ++step) {
            const int at = 1000 * (step + 1);
            events += (step > 0 ? "," : "") + std::string(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)") +
                      std::to_string(step) + R"(","pid":1,"tid":1,"dur":990,"ts":)" + std::to_string(at) +
                      R"(},{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"dur":300,"ts":)" + std::to_string(at + 10) +
                      "}," + exchange(at + 400, 100, 8, "1", "mesh_tp", "[0, 1]") + "," +
                      exchange(at + 600, 200, 9, "2", "mesh_dp", replicas);
        }
        test::write("replica/rank" + std::to_string(rank) + ".json",
                    R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":)" + std::to_string(rank) +
                        R"(,"world_size":4,"pg_config":[{"pg_name":"1","pg_desc":"mesh_tp","pg_size":2,"ranks":[0,1]},)"
                        R"({"pg_name":"2","pg_desc":"mesh_dp","pg_size":2,"ranks":)" +
                        replicas + R"(}]},"traceEvents":[)" + events + "]}");
    }
    const std::string text = test::run("trace info " + folder.string()).out;
    EXPECT_THAT(text, HasSubstr("2 of 4 ranks are recorded: who waits for the others is not seen"));
    EXPECT_THAT(text, HasSubstr("; whether anybody waits for the 2 ranks that are not recorded is not seen"));
    EXPECT_THAT(text, HasSubstr(" through the 2 of 4 ranks that are recorded, "));
    EXPECT_THAT(text, HasSubstr("In the mean of the 2 of 4 ranks that are recorded and of 3 steps, "));
}

TEST(TraceCommand, NamesWhatTookLongestWithoutCallingItMostOfAStepThatIsIdle)
{
    const std::string file = test::write(
        "idle_rank0.json", R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)"
                           R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#5","pid":1,"tid":1,"ts":0,"dur":100},)"
                           R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#6","pid":1,"tid":1,"ts":100,"dur":100},)"
                           R"({"ph":"X","cat":"kernel","name":"ge\nmm","pid":0,"tid":7,"ts":10,"dur":5}]})");
    const std::string text = test::run("trace info " + file).out;
    EXPECT_THAT(text, HasSubstr("rank 0 for 100 µs, longest in ge\\nmm\n")) << "a name is no line";
    EXPECT_THAT(text, testing::Not(HasSubstr("most of it")));
}

TEST(TraceCommand, OfOneRanksInspectorSaysThatMembersAreNotKnownAndTheLastStepIsCut)
{
    std::string lines =
        R"({"header":{"id":"0xabc","rank":0,"n_ranks":2,"nnodes":1},"metadata":{)"
        R"("inspector_output_format_version":"v4.3","dump_timestamp_us":1700000000000000,"hostname":"h0","pid":10}})"
        "\n";
    for (int i = 0; i < 3; ++i) {
        const std::string start = std::to_string(1'700'000'000'000'000 + 1000 * i),
                          stop = std::to_string(1'700'000'000'000'100 + 1000 * i);
        lines += R"({"coll_perf":{"coll":"AllReduce","coll_sn":)" + std::to_string(i) +
                 R"(,"coll_msg_size_bytes":1048576,"coll_exec_time_us":100,"coll_timing_source":"kernel_gpu",)"
                 R"("event_trace_ts":{"coll_start_ts":)" +
                 start + R"(,"coll_stop_ts":)" + stop + "}}}\n";
    }
    const std::string text = test::run("trace info " + test::write("inspector.log", lines)).out;
    EXPECT_THAT(text, HasSubstr("rank 0: 3 collectives name no group whose ranks are known"));
    EXPECT_THAT(text, HasSubstr("what ends the last is not recorded: it is as long as what was recorded of it"));
}

} // namespace
