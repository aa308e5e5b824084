// rankscope-live run as a user and a script call it.
#include "tests/live/cli/child.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sys/stat.h>

namespace {

using nlohmann::json;
using test::Child;
using test::environmentOf;
using test::gallery;
using test::reportOf;
using test::scratch;
using namespace std::chrono_literals;

TEST(RankscopeLive, ReportsWhatTheContractNames)
{
    const json report = reportOf({"run", gallery("58-"), "--steps", "2"});
    for (const char* key : {"scenario", "device", "world_size", "losses", "grad_norms", "tokens_per_second", "step_time_s",
                            "final_parameters_norm", "spans_recorded", "spans_dropped"})
        EXPECT_TRUE(report.contains(key)) << key;
    EXPECT_EQ(report["device"], "cpu");
    EXPECT_EQ(report["world_size"], 4);
    EXPECT_EQ(report["losses"].size(), 2U);
    EXPECT_GT(report["spans_recorded"], 100);
    EXPECT_EQ(report["spans_dropped"], 0);
    EXPECT_GT(report["as_if_parallel_step_s"], 0);
    for (std::size_t rank = 0; rank < 4; ++rank)
        EXPECT_GE(report["reserved_memory_bytes"][rank], report["peak_memory_bytes"][rank]);
}

TEST(RankscopeLive, LearnsTheText)
{
    const json report = reportOf({"run", gallery("64-"), "--steps", "12"});
    EXPECT_LT(report["losses"].back().get<double>(), report["losses"].front().get<double>() - 1);
}

std::string textOf(const std::filesystem::path& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RankscopeLive, WritesOverNothingThatItReadsNorTwiceIntoOneFile)
{
    const std::string file = (scratch() / "own.json").string(), profile = (scratch() / "own-profile.json").string();
    std::filesystem::copy_file(gallery("58-"), file, std::filesystem::copy_options::overwrite_existing);
    std::ofstream(profile) << R"({"gemm": 0.5})";
    const std::string scenario = textOf(file), constants = textOf(profile);
    for (const auto& [flag, out] :
         std::vector<std::pair<std::string, std::string>>{{"--report", file}, {"--trace", file}, {"--report", profile}}) {
        Child child({"run", file, "--steps", "1", "--set", "cluster.efficiency=own-profile.json", flag, out});
        EXPECT_EQ(child.wait(), 1);
        EXPECT_NE(child.err().find(out + ": is a file that was read: write to another name"), std::string::npos) << child.err();
    }
    EXPECT_EQ(textOf(file), scenario);
    EXPECT_EQ(textOf(profile), constants);
    const std::string both = (scratch() / "both.json").string();
    Child child({"run", file, "--steps", "1", "--report", both, "--trace", (scratch() / "." / "both.json").string()});
    EXPECT_EQ(child.wait(), 2);
    EXPECT_NE(child.err().find("--report and --trace would both be written to "), std::string::npos) << child.err();
    EXPECT_FALSE(std::filesystem::exists(both));
}

TEST(RankscopeLive, TrainsOnATextBesideTheScenario)
{
    const std::string file = (scratch() / "with-text.json").string(), text = (scratch() / "beside.txt").string();
    std::filesystem::copy_file(gallery("58-"), file, std::filesystem::copy_options::overwrite_existing);
    std::ofstream(text) << std::string(100'000, 'a'); // learnt at once, unlike what is built in
    EXPECT_EQ(reportOf({"run", file, "--steps", "3", "--set", "live.data=beside.txt"})["losses"],
              reportOf({"run", file, "--steps", "3", "--set", "live.data=" + text})["losses"]);
    const std::string shared = textOf(text);
    Child over({"run", file, "--steps", "1", "--set", "live.data=beside.txt", "--report", text});
    EXPECT_EQ(over.wait(), 1);
    EXPECT_EQ(textOf(text), shared);
    std::ofstream(text) << "To be";
    Child tooShort({"run", file, "--steps", "1", "--set", "live.data=beside.txt"});
    EXPECT_EQ(tooShort.wait(), 1);
    EXPECT_NE(tooShort.err().find(file + ": /live/data: " + text + " has 5 bytes, a sequence needs "), std::string::npos)
        << tooShort.err();
}

TEST(RankscopeLive, WritesATraceAndAReport)
{
    const auto trace = scratch() / "run.json", report = scratch() / "report.json";
    Child child({"run", gallery("58-"), "--steps", "1", "--trace", trace.string(), "--report", report.string()});
    ASSERT_EQ(child.wait(), 0) << child.err();
    const json events = json::parse(std::ifstream(trace))["traceEvents"];
    std::set<std::string> names;
    for (const json& event : events)
        names.insert(event.value("name", ""));
    EXPECT_TRUE(names.contains("attn.qkv"));
    EXPECT_TRUE(names.contains("send.activation"));
    EXPECT_EQ(json::parse(std::ifstream(report))["world_size"], 4);
}

TEST(RankscopeLive, GivesTheSameBitsOverProcessesAsInOne)
{
    const std::vector<std::string> arguments = {"run", gallery("60-"), "--steps", "2"};
    const json alone = reportOf(arguments);
    const auto file = scratch() / "processes.json";
    std::vector<std::unique_ptr<Child>> children;
    const std::string port = std::to_string(test::freePort());
    for (int process = 0; process < 3; ++process) { // 8 ranks: 3, 3 and 2
        const std::string number = std::to_string(process);
        children.push_back(std::make_unique<Child>(
            std::vector<std::string>{"run", gallery("60-"), "--steps", "2", "--report", file.string(), "--workers", "1"},
            environmentOf(number, "3", port)));
    }
    for (const auto& child : children)
        ASSERT_EQ(child->wait(), 0) << child->err();
    const json several = json::parse(std::ifstream(file));
    EXPECT_EQ(several["losses"], alone["losses"]);
    EXPECT_EQ(several["grad_norms"], alone["grad_norms"]);
    EXPECT_EQ(several["final_parameters_norm"], alone["final_parameters_norm"]);
    EXPECT_EQ(several["spans_recorded"], alone["spans_recorded"]) << "one trace of all processes' ranks";
}

/// A pipeline; a ring; experts: sends, sums, exchanges between all.
TEST(RankscopeLive, TrainsOnTheEmulatedDeviceInOneProcessAndInAProcessARank)
{
    for (const std::string& number : {std::string("58-"), std::string("61-"), std::string("63-")}) {
        SCOPED_TRACE(number);
        const std::vector<std::string> arguments = {"run",      gallery(number), "--steps",      "2",
                                                    "--device", "emulated",      "--order-seed", "6"};
        const json alone = reportOf(arguments);
        EXPECT_EQ(alone["device"], "emulated");
        EXPECT_EQ(alone["order_seed"], 6);
        EXPECT_EQ(alone["losses"], reportOf({"run", gallery(number), "--steps", "2", "--device", "cpu"})["losses"]);
        const auto file = scratch() / "emulated.json";
        std::vector<std::unique_ptr<Child>> children;
        const std::string port = std::to_string(test::freePort());
        for (int process = 0; process < 4; ++process) {
            std::vector<std::string> theirs = arguments;
            theirs.insert(theirs.end(), {"--report", file.string()});
            children.push_back(std::make_unique<Child>(theirs, environmentOf(std::to_string(process), "4", port)));
        }
        for (const auto& child : children)
            ASSERT_EQ(child->wait(60s), 0) << child->err();
        const json several = json::parse(std::ifstream(file));
        for (const char* what : {"losses", "grad_norms", "final_parameters_norm"})
            EXPECT_EQ(several[what], alone[what]) << what;
    }
}

TEST(RankscopeLive, EndsOnAllEmulatedProcessesWhenOneIsKilled)
{
    const std::string port = std::to_string(test::freePort());
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < 4; ++process)
        children.push_back(
            std::make_unique<Child>(std::vector<std::string>{"run", gallery("58-"), "--steps", "100000", "--device", "emulated"},
                                    environmentOf(std::to_string(process), "4", port)));
    ASSERT_TRUE(children[0]->says("step 2/")) << children[0]->err();
    children[2]->signal(SIGKILL);
    EXPECT_EQ(children[0]->wait(20s), 1);
    EXPECT_NE(children[0]->err().find("process 2"), std::string::npos) << children[0]->err();
}

TEST(RankscopeLive, ChecksTheCodeForGpusOnTheEmulatedDevice)
{
    Child child({"run", gallery("58-"), "--device", "emulated", "--order-seed", "3", "--check-serial"});
    ASSERT_EQ(child.wait(60s), 0) << child.err();
    for (const char* line : {"all ranks on one GPU, order 3\nequal to serial training bit for bit",
                             "a GPU a rank, NCCL between them, order 3\nequal to serial training bit for bit"})
        EXPECT_NE(child.out().find(line), std::string::npos) << child.out();
    Child refused({"run", gallery("58-"), "--device", "cpu", "--order-seed", "3", "--steps", "1"});
    EXPECT_EQ(refused.wait(), 1);
    EXPECT_NE(refused.err().find("--order-seed is for --device emulated"), std::string::npos) << refused.err();
}

TEST(RankscopeLive, EndsOnAllProcessesWhenOneIsKilled)
{
    const std::string port = std::to_string(test::freePort());
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < 2; ++process) {
        const std::string number = std::to_string(process);
        children.push_back(
            std::make_unique<Child>(std::vector<std::string>{"run", gallery("60-"), "--steps", "100000", "--workers", "1"},
                                    environmentOf(number, "2", port)));
    }
    ASSERT_TRUE(children[0]->says("step 2/")) << children[0]->err();
    children[1]->signal(SIGKILL);
    EXPECT_EQ(children[0]->wait(10s), 1);
    EXPECT_NE(children[0]->err().find("process 1"), std::string::npos) << children[0]->err();
}

TEST(RankscopeLive, TellsOtherProcessesWhyOneCannotBegin)
{
    const std::string port = std::to_string(test::freePort());
    std::vector<std::unique_ptr<Child>> children;
    for (const std::string& number : {std::string("0"), std::string("1")}) {
        std::map<std::string, std::string> environment = environmentOf(number, "2", port);
        environment["CUDA_VISIBLE_DEVICES"] = ""; // where there is a GPU too
        children.push_back(std::make_unique<Child>(
            std::vector<std::string>{"run", gallery("61-"), "--steps", "3", "--device", number == "0" ? "cpu" : "cuda"},
            environment));
    }
    EXPECT_EQ(children[0]->wait(20s), 1);
    EXPECT_EQ(children[1]->wait(20s), 1);
    const std::string why = children[1]->err().substr(children[1]->err().find(':') + 1, 30);
    EXPECT_NE(children[0]->err().find(why), std::string::npos) << children[0]->err() << children[1]->err();
}

TEST(RankscopeLive, StopsAfterItsStepWhenInterrupted)
{
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        Child child({"run", gallery("58-"), "--steps", "100000", "--json"});
        ASSERT_TRUE(child.catches(signal)) << child.err();
        child.signal(signal);
        ASSERT_EQ(child.wait(20s), 0) << child.err();
        const json report = json::parse(child.out());
        EXPECT_TRUE(report["stopped"]);
    }
}

TEST(RankscopeLive, EndsWhereTheLossIsNoNumber)
{
    Child child({"run", gallery("58-"), "--steps", "50", "--set", "live.learning_rate=1000", "--set", "training.optimizer=sgd",
                 "--set", "live.clip_norm=0"});
    EXPECT_EQ(child.wait(), 1);
    for (const char* word : {": the loss is nan", "head.logits in micro-batch ", " on rank 3"})
        EXPECT_NE(child.err().find(word), std::string::npos) << child.err();
    EXPECT_EQ(child.err().find("loss nan"), std::string::npos) << "a step without a result is not reported";
}

TEST(RankscopeLive, LeavesReportAndTraceOfTheStepsBeforeItFailed)
{
    const auto trace = scratch() / "failed.json", report = scratch() / "failed-report.json";
    Child child({"run", gallery("58-"), "--steps", "50", "--set", "live.learning_rate=1000", "--set", "training.optimizer=sgd",
                 "--set", "live.clip_norm=0", "--report", report.string(), "--trace", trace.string(), "--json"});
    EXPECT_EQ(child.wait(), 1);
    const json told = json::parse(std::ifstream(report));
    EXPECT_EQ(told, json::parse(child.out()));
    EXPECT_NE(told["failed"].get<std::string>().find(": the loss is nan"), std::string::npos);
    EXPECT_TRUE(told["final_parameters_norm"].is_null());
    EXPECT_GE(told["losses"].size(), 1U);
    EXPECT_EQ(told["losses"].size(), told["step_time_s"].size());
    EXPECT_NE(child.err().find("step " + std::to_string(told["losses"].size() + 1) + ": the loss is nan"), std::string::npos);
    EXPECT_GT(json::parse(std::ifstream(trace))["traceEvents"].size(), 100U);
}

TEST(RankscopeLive, WritesItsReportWhereTheTraceDoesNotFit)
{
    const auto trace = scratch() / "large.json", report = scratch() / "small.json";
    Child child({"run", gallery("58-"), "--steps", "2", "--report", report.string(), "--trace", trace.string()}, {}, 20'000);
    EXPECT_EQ(child.wait(), 1);
    EXPECT_NE(child.err().find("large.json: cannot be written"), std::string::npos) << child.err();
    EXPECT_FALSE(exists(trace));
    EXPECT_EQ(json::parse(std::ifstream(report))["losses"].size(), 2U);
}

TEST(RankscopeLive, SaysWhichEndpointIsTaken)
{
    const std::string endpoint = "tcp://127.0.0.1:" + std::to_string(test::freePort());
    Child first({"run", gallery("58-"), "--steps", "100000", "--listen", endpoint});
    ASSERT_TRUE(first.says("listening at"));
    Child second({"run", gallery("58-"), "--steps", "1", "--listen", endpoint});
    EXPECT_EQ(second.wait(), 1);
    EXPECT_NE(second.err().find(endpoint), std::string::npos) << second.err();
}

TEST(RankscopeLive, ListensWhereARunWasAndReplacesNothingElse)
{
    const auto file = scratch() / "notes", stale = scratch() / "stale";
    std::ofstream(file) << "kept";
    Child refused({"run", gallery("58-"), "--steps", "1", "--listen", "ipc://" + file.string()});
    EXPECT_EQ(refused.wait(), 1);
    EXPECT_NE(refused.err().find(file.string()), std::string::npos) << refused.err();
    std::string text;
    EXPECT_TRUE(std::filesystem::is_regular_file(file) && std::getline(std::ifstream(file), text) && text == "kept");

    Child killed({"run", gallery("58-"), "--steps", "100000", "--listen", "ipc://" + stale.string()});
    ASSERT_TRUE(killed.says("listening at"));
    killed.signal(SIGKILL);
    killed.wait();
    ASSERT_TRUE(std::filesystem::is_socket(stale));
    Child next({"run", gallery("58-"), "--steps", "1", "--listen", "ipc://" + stale.string()});
    EXPECT_EQ(next.wait(), 0) << next.err();
}

TEST(RankscopeLive, SaysBeforeTheFirstStepWhatCannotBeWritten)
{
    const auto file = scratch() / "file", folder = scratch() / "folder";
    std::ofstream(file) << "kept";
    std::filesystem::create_directory(folder);
    const auto link = scratch() / "link";
    std::filesystem::create_symlink("nothing", link);
    const std::string tooLong(256, 'n');
    const std::vector<std::pair<std::string, std::filesystem::path>> results = {{"--checkpoint", file / "x"},
                                                                                {"--checkpoint", file},
                                                                                {"--report", folder},
                                                                                {"--report", file / "x"},
                                                                                {"--trace", folder},
                                                                                {"--report", "/proc/report.json"},
                                                                                {"--checkpoint", "/proc/folder"},
                                                                                {"--save-weights", "/proc/folder"},
                                                                                {"--checkpoint", folder / tooLong},
                                                                                {"--save-weights", folder / tooLong},
                                                                                {"--report", folder / tooLong},
                                                                                {"--trace", folder / (tooLong + ".json")},
                                                                                {"--checkpoint", link}};
    for (const auto& [option, path] : results) {
        Child child({"run", gallery("58-"), "--steps", "1", option, path.string()});
        EXPECT_EQ(child.wait(), option == "--trace" && path == folder ? 2 : 1) << path; // whose name is of no kind of trace
        EXPECT_TRUE(child.err().starts_with(option)) << child.err();
        EXPECT_EQ(child.err().find("step 1"), std::string::npos) << child.err();
        EXPECT_EQ(child.err().find("filesystem error"), std::string::npos) << child.err();
    }
}

TEST(RankscopeLive, WritesToFilesOfTheLongestNames)
{
    const std::string report = (scratch() / std::string(255, 'r')).string(),
                      trace = (scratch() / (std::string(250, 't') + ".json")).string();
    Child child({"run", gallery("58-"), "--steps", "1", "--report", report, "--trace", trace});
    EXPECT_EQ(child.wait(), 0) << child.err();
    EXPECT_TRUE(std::filesystem::exists(report) && std::filesystem::exists(trace));
}

TEST(RankscopeLive, SaysInItsOwnWordsWhatLibrariesFound)
{
    const auto model = scratch() / "odd-model", deep = scratch() / "deep-model";
    for (const auto& [folder, value] :
         {std::pair{model, std::string("5")}, {deep, std::string(200'000, '[') + std::string(200'000, ']')}}) {
        std::filesystem::create_directory(folder);
        std::ofstream(folder / "config.json") << R"({"model_type": "x", "architectures": )" << value << "}";
    }
    const std::string tooLong(300, 'n');
    for (const std::vector<std::string>& options : {std::vector<std::string>{"--weights", model.string()},
                                                    {"--weights", deep.string()},
                                                    {"--weights", tooLong},
                                                    {"--resume", tooLong}}) {
        std::vector<std::string> arguments = {"run", gallery("58-"), "--steps", "1"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        Child child(arguments);
        EXPECT_EQ(child.wait(), 1) << child.err();
        for (const char* word : {"json.exception", "filesystem error", "std::"})
            EXPECT_EQ(child.err().find(word), std::string::npos) << child.err();
        EXPECT_NE(child.err().find(options[1].substr(0, 100)), std::string::npos) << child.err();
    }
}

TEST(RankscopeLive, SaysWhenItsHelpCannotBeWritten)
{
    for (const char* call : {"--help", "--version", "run --help"}) {
        Child child({"-c", RANKSCOPE_BIN_DIR "/rankscope-live " + std::string(call) + " >/dev/full"}, {}, 0, "/bin/bash");
        EXPECT_EQ(child.wait(), 1) << call;
        EXPECT_NE(child.err().find("Standard output"), std::string::npos) << child.err();
    }
}

TEST(RankscopeLive, ChecksALayoutAgainstSerialTraining)
{
    Child child({"run", gallery("58-"), "--check-serial"});
    ASSERT_EQ(child.wait(), 0) << child.err();
    EXPECT_NE(child.out().find("bit for bit"), std::string::npos) << child.out();

    Child script({"run", gallery("58-"), "--check-serial", "--json"});
    ASSERT_EQ(script.wait(), 0) << script.err();
    const nlohmann::json told = nlohmann::json::parse(script.out());
    EXPECT_TRUE(told.at("good").get<bool>());
    ASSERT_EQ(told.at("checks").size(), 1U);
    EXPECT_LT(told.at("checks").at(0).at("loss").get<double>(), 1e-4);
    EXPECT_LT(told.at("checks").at(0).at("updates").get<double>(), 1e-4);
}

/// At once: the plan of 16,384 ranks takes minutes.
TEST(RankscopeLive, RefusesAtOnceAModelThatNoLayoutFitsIntoThisMachine)
{
    Child child({"run", gallery("42-"), "--steps", "1", "--device", "cpu"});
    EXPECT_EQ(child.wait(20s), 1);
    EXPECT_NE(
        child.err().find("the weights, gradients and moments of this model's 405,853,388,800 parameters alone need 5.91 TiB"),
        std::string::npos)
        << child.err();
}

TEST(RankscopeLive, CollectsNothingForATraceThatCannotBeWritten)
{
    for (const auto& [file, says] : {std::pair{(scratch() / "steps.txt").string(), "a trace is written as .pftrace"},
                                     {(scratch() / "nowhere" / "steps.json").string(), "there is no folder"}}) {
        Child child({"collect", "--listen", "ipc://" + (scratch() / "viewers").string(), "--trace", file});
        EXPECT_EQ(child.wait(20s), file.ends_with(".txt") ? 2 : 1);
        EXPECT_NE(child.err().find(says), std::string::npos) << child.err();
        EXPECT_EQ(child.err().find("viewers:"), std::string::npos) << "it listens already";
    }
}

TEST(RankscopeLive, SaysHowManyFilesItNeedsToListen)
{
    const std::string program = RANKSCOPE_BIN_DIR "/rankscope-live";
    const std::string all = "it needs 13 more open files, [0-9]+ are open and 12 allowed; nearest: ulimit -n [0-9]+ before";
    for (const std::string& command : {"run " + gallery("57-") + " --device cpu --steps 1 --listen tcp://127.0.0.1:0",
                                       std::string("collect --listen tcp://127.0.0.1:0")}) {
        Child child({"-c", "ulimit -n 12; exec " + program + " " + command}, {}, 0, "/bin/sh");
        EXPECT_EQ(child.wait(), 1) << command;
        EXPECT_TRUE(std::regex_search(child.err(), std::regex("cannot listen at tcp://127.0.0.1:0: " + all)))
            << command << ": " << child.err();
    }
}

/// A pipe's writer may never come.
TEST(RankscopeLive, DoesNotWaitForPipesInPlaceOfFiles)
{
    const auto folder = scratch() / "pipes", checkpoint = folder / "step-00000002";
    Child first({"run", gallery("56-"), "--steps", "2", "--checkpoint", folder.string()});
    ASSERT_EQ(first.wait(), 0) << first.err();
    for (const char* const name : {"second_moments.safetensors", "weights.safetensors", "manifest.json"}) {
        std::filesystem::remove(checkpoint / name);
        ASSERT_EQ(::mkfifo((checkpoint / name).c_str(), S_IRUSR | S_IWUSR), 0);
        Child next({"run", gallery("56-"), "--steps", "3", "--resume", folder.string()});
        EXPECT_EQ(next.wait(20s), 1) << name;
        EXPECT_NE(next.err().find(std::string(name) + (name[0] == 'm' ? ":" : "") + " is not an ordinary file"),
                  std::string::npos)
            << next.err();
    }
}

TEST(RankscopeLive, RefusesWhatItCannotTrain)
{
    struct Case {
        std::vector<std::string> arguments;
        int code;
        std::string says;
    };
    const std::string file = gallery("58-");
    const std::vector<Case> cases = {
        {{"run", file, "--set", "layout.pp=3"}, 1, "/schedule/layers_per_stage"},
        {{"run", file, "--device", "gpu"}, 2, "--device"},
        {{"run", file, "--resume", "/nonexistent"}, 1, "checkpoint"},
        {{"run", file, "--weights", "/nonexistent"}, 1, "/nonexistent has no config.json"},
        {{"run", file, "--weights", "x", "--resume", "y"}, 2, "--resume"},
        {{"run", file, "--save-weights", "x", "--set", "model.hidden_act=relu2"}, 1, "GPT2LMHeadModel lacks hidden_act relu2"},
        {{"run", file, "--trace", "/nonexistent/x.pftrace"}, 1, "--trace"},
        {{"run", file, "--steps", "1", "--trace", (scratch() / "x.txt").string()}, 2, ".pftrace"},
        {{"run", file, "--listen", "tcp://0.0.0.0:0", "--steps", "1"}, 1, "key"},
        {{"run", file, "--listen", "tcp://127.0.0.1:99999", "--steps", "1"}, 2, "65535"},
        {{"run", file, "--listen", "tcp://127.0.0.1:5x", "--steps", "1"}, 2, "65535"},
        {{"run", file, "--listen", "tcp://localhost:0", "--steps", "1"}, 0, "listening at tcp://127.0.0.1:"},
        {{"run", file, "--listen", "inproc://x", "--steps", "1"}, 2, "ipc://PATH"},
        {{"run", file, "--listen", "ipc://@x", "--steps", "1"}, 2, "path of a file"},
        {{"run", file, "--listen", "", "--steps", "1"}, 2, "--listen"},
        {{"run", file, "--report", "", "--steps", "1"}, 2, "--report"},
        {{"run", file, "--nvls", "--device", "cpu"},
         1,
         "--nvls lets NCCL sum in the switches between GPUs, but live.device is cpu"},
        {{"run", file, "--nvls", "--device", "emulated"}, 1, "but live.device is emulated; nearest: leave --nvls out"},
        {{"run", file, "--nvls", "--check-serial"}, 2, "--nvls with --check-serial"},
        {{"run", file, "--kernel-times", "--device", "cpu"}, 1, "has no profiler that times its kernels; nearest: leave it out"},
        {{"run", file, "--kernel-times", "--check-serial"}, 2, "--kernel-times with --check-serial"},
        {{"run", file, "--check-serial", "--report", "r.json"}, 2, "--report excludes --check-serial"},
        {{"run", file, "--check-serial", "--trace", "t.json"}, 2, "--trace excludes --check-serial"},
        {{"run", file, "--check-serial", "--listen", "tcp://127.0.0.1:0"}, 2, "--listen excludes --check-serial"},
        {{"run", file, "--set", "=x"}, 2, "--set: POINTER=VALUE"},
        {{"run", file, "--set", "layout.tp"}, 2, "--set: POINTER=VALUE"},
        {{"run", file, "--device", "cdua"}, 2, "nearest: \"cuda\", \"cpu\""},
        {{"run", ""}, 2, "FILE: nothing is given"},
        {{"run", file, "--key", "k", "--allow", ""}, 2, "--allow: nothing is given"},
        {{"collect", "--ingest", "here"}, 2, "there is no endpoint \"here\""},
        {{"collect", "--profile", "5-2"}, 2, "\"5-2\" is no range of steps"},
        {{"keys", ""}, 2, "NAME: nothing is given"},
        {{"keys", std::string(300, 'n')}, 1, "File name too long"},
        {{"validate", ""}, 2, "FILE: nothing is given"},
        {{"validate", file, "--profile", ""}, 2, "--profile: nothing is given"},
        {{"validate", file, "--traces", "/no/such/folder"}, 2, "--traces: there is no folder /no/such/folder"},
        {{"validate", file, file, "--traces", ::testing::TempDir()}, 2, "would both be written as \""},
        {{"validate", file, "--out", "/no/such/folder/x.json"}, 1, "--out: there is no folder /no/such/folder"},
        {{"run", file, "--device", "cuda", "--check-serial", "--set", "live.dtype=bf16"},
         1,
         "/live/dtype: layouts on a GPU are compared in fp32; this is bf16; nearest: --set live.dtype=fp32"},
        {{"run", file, "--set", "live.data=/nonexistent.txt"},
         1,
         file + ": /live/data: cannot read /nonexistent.txt: No such file or directory"},
        {{"run", file, "--device", "cpu", "--set", "live.dtype=bf16"},
         1,
         ".json: /live/dtype: the CPU computes in fp32 or fp64, not in bf16; nearest: --set live.dtype=fp32"},
        {{"run", file, "--check-serial", "--set", "live.dtype=bf16"},
         1,
         ".json: /live/dtype: layouts are compared on the CPU, which "},
        {{"run", file, "--set", "model.num_nextn_predict_layers=1"},
         1,
         ".json: /model/num_nextn_predict_layers: live training does not do multi-token prediction (1); nearest: 0"},
        {{"validate", file, "--set", "model.num_nextn_predict_layers=1", "--set", "training.precision=fp32"},
         1,
         ".json: /model/num_nextn_predict_layers: "},
        {{"run", file, "--order-seed", "-1"}, 2, "\"-1\" is not a whole number from 0 to 18446744073709551615; the nearest is 0"},
        {{"run", file, "--order-seed", "18446744073709551616"}, 2, "; the nearest is 18446744073709551615"},
        {{"run", file, "--order-seed", ""}, 2, "\"\" is not a whole number from 0 to 18446744073709551615\n"},
        {{"run", file, "--order-seed", "3x"}, 2, "\"3x\" is not a whole number from 0 to 18446744073709551615\n"},
        {{"run", file, "--order-seed", "010"}, 2, "\"010\" is not written as a whole number is; write 10"},
        {{"run", file, "--steps", "0"}, 2, "\"0\" is not a whole number from 1 to 1000000000; the nearest is 1"},
        {{"run", file, "--steps", "1", "--steps", "2"}, 2, "--steps is given twice (1, 2); once is enough"},
        {{"run", file, "--steps", ""}, 2, "\"\" is not a whole number from 1 to 1000000000\n"},
        {{"run", file, "--workers", "99999999999999999999"}, 2, "from 1 to 4096; the nearest is 4096"},
        {{"run", file, "--deadline", "nan"}, 2, "\"nan\" is not a number from 0.05 to 1e+06\n"},
        {{"run", file, "--deadline", "0"}, 2, "\"0\" is not a number from 0.05 to 1e+06; the nearest is 0.05"},
        {{"profile", "--out", "/no/such/folder/x.json"}, 1, "--out: there is no folder /no/such/folder"},
        {{"profile", "--seconds", "inf"}, 2, "\"inf\" is not a number from 1 to 3600; the nearest is 3600"},
        {{"validate", file, "--device", "cuda", "--set", "training.precision=bf16"},
         1,
         "training.precision is bf16, but live.dtype is fp32; add --set /training/precision=fp32"},
        {{"validate", file, "--device", "cuda", "--set", "training.precision=fp32"}, 1, " ranks would share the GPU"},
        {{"validate", file, "--device", "gpu"}, 2, "--device"},
        {{"validate", file, "--device", "cuda", "--rehearse"}, 2, "--rehearse is for --device cpu"},
        {{"validate", file, "--rounds", "-3"}, 2, "\"-3\" is not a whole number from 1 to 1000; the nearest is 1"},
        {{"run"}, 2, "FILE"},
        {{"walk"}, 2, "walk"},
    };
    for (const Case& bad : cases) {
        Child child(bad.arguments);
        EXPECT_EQ(child.wait(), bad.code) << child.err();
        EXPECT_NE(child.err().find(bad.says), std::string::npos) << child.err();
    }
}

} // namespace
