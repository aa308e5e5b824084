// The program as scripts call it: forms, exit codes, what goes where.
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
    int code = -1;
    std::string out, err;
};

fs::path scratch()
{
    static const fs::path folder = [] {
        fs::path path = fs::temp_directory_path() / ("rankscope_cli_" + std::to_string(::getpid()));
        fs::create_directories(path);
        return path;
    }();
    return folder;
}

std::string read(const fs::path& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

Outcome run(const std::string& arguments)
{
    const fs::path errors = scratch() / "stderr";
    const std::string command = std::string(RANKSCOPE_BIN_DIR "/rankscope-sim ") + arguments + " 2>" + errors.string();
    Outcome outcome;
    FILE* pipe = ::popen(command.c_str(), "r");
    std::array<char, 65536> buffer{};
    while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
        outcome.out.append(buffer.data(), n);
    const int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.err = read(errors);
    return outcome;
}

std::string gallery(const std::string& name)
{
    return RANKSCOPE_SOURCE_DIR "/scenarios/" + name + ".json";
}

std::string write(const std::string& name, const std::string& text)
{
    const fs::path path = scratch() / name;
    std::ofstream(path) << text;
    return path.string();
}

} // namespace

TEST(Cli, ExitCodesTellBadInputFromWrongCalls)
{
    EXPECT_EQ(run("--version").code, 0);
    EXPECT_EQ(run("--help").code, 0);
    EXPECT_EQ(run("simulate --help").code, 0);
    EXPECT_EQ(run("").code, 2);
    EXPECT_EQ(run("dance").code, 2);
    EXPECT_EQ(run("simulate").code, 2);
    EXPECT_EQ(run("simulate " + gallery("01-dp2-two-nodes") + " --nonsense").code, 2);
    EXPECT_EQ(run("schedule --kind 1f1b").code, 2);
    const Outcome missing = run("simulate /nowhere.json");
    EXPECT_EQ(missing.code, 1);
    EXPECT_TRUE(missing.out.empty());
    EXPECT_NE(missing.err.find("/nowhere.json"), std::string::npos);
}

TEST(Cli, ValidatePrintsALineAProblemAndNothingForGoodFiles)
{
    std::string all;
    for (const auto& entry : fs::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().extension() == ".json")
            all += " " + entry.path().string();
    const Outcome good = run("validate" + all);
    EXPECT_EQ(good.code, 0) << good.out;
    EXPECT_TRUE(good.out.empty()) << good.out;

    const std::string bad = write("bad.json", R"({"format":"rankscope-scenario","version":1,"model":"llama3-405b",
        "cluster":"h100-sxm-roce400","layout":{"tp":6,"colour":1},"training":{"precision":"bf61"}})");
    const Outcome outcome = run("validate " + bad);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3) << outcome.out;
    EXPECT_NE(outcome.out.find(bad + ": /layout/tp: 6 does not divide num_attention_heads 128 (of llama3-405b); nearest: 4, 8"),
              std::string::npos)
        << outcome.out;

    const std::string hangs =
        write("hangs.json", R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop",
        "layout":{"pp":2},"schedule":{"kind":"custom","actions":["0F0,0B0","1B0,1F0"]},"training":{"global_batch_size":1}})");
    const Outcome hung = run("validate " + hangs);
    EXPECT_EQ(hung.code, 1);
    EXPECT_FALSE(hung.out.empty());
}

TEST(Cli, DescribePrintsTheResolvedScenarioAndExactParameters)
{
    const Outcome outcome = run("describe --json " + gallery("42-llama3-405b-16384-gpus"));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("parameters"), 405853388800);
    EXPECT_EQ(json.at("world_size"), 16384);
    EXPECT_EQ(json.at("parameters_per_rank").size(), 16U);
    EXPECT_FALSE(json.at("model").contains("base"));
    EXPECT_EQ(json.at("schedule").at("layers_per_stage").size(), 128U);
}

TEST(Cli, GroupsAreMegatronCores)
{
    const Json golden = Json::parse(read(RANKSCOPE_TEST_DATA "/groups/megatron_w64_tp2_cp2_ep8_pp2.json"));
    const std::string file = write("w64.json", R"({"format":"rankscope-scenario","version":1,"model":"tiny-moe","cluster":
        {"base":"h100-sxm-ib400"},"layout":{"tp":2,"cp":2,"ep":8,"pp":2,"dp":8,"sequence_parallel":true}})");
    const Outcome outcome = run("groups --json " + file + " --set model.num_experts=8");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json.at("world_size"), 64);
    std::vector<std::string> names;
    for (const auto& [name, groups] : json.at("groups").items())
        names.push_back(name);
    EXPECT_EQ(names.size(), 16U);
    const Json& expected = golden.at("groups");
    for (const auto& [name, groups] : expected.items())
        if (json.at("groups").contains(name)) {
            EXPECT_EQ(json.at("groups").at(name), groups) << name;
        }

    const Json rank = Json::parse(run("groups --json --rank 13 " + file).out);
    EXPECT_EQ(rank.at("rank"), 13);
    EXPECT_EQ(rank.at("groups").at("tp"), (Json{12, 13}));
    EXPECT_EQ(run("groups --rank 64 " + file).code, 1);
}

TEST(Cli, ScheduleSpeaksCsvJsonAndPictures)
{
    const Outcome csv = run("schedule --kind 1f1b --stages 2 --microbatches 3");
    EXPECT_EQ(csv.out, "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
    const Json json = Json::parse(run("schedule --kind 1f1b --stages 4 --microbatches 8 --format json").out);
    EXPECT_EQ(json.at("ranks").size(), 4U);
    EXPECT_EQ(json.at("makespan"), 33) << "(m + p - 1)(F + B)";
    EXPECT_EQ(json.at("span"), 33);
    EXPECT_EQ(json.at("peak_activations"), (Json{4, 3, 2, 1}));
    EXPECT_EQ(json.at("stage_to_rank"), (Json{0, 1, 2, 3}));
    EXPECT_NEAR(json.at("bubble").at("over_ideal").get<double>(), 3.0 / 8, 1e-12);
    EXPECT_EQ(
        Json::parse(run("schedule --kind gpipe --stages 2 --microbatches 2 --times 2,1,1,0 --format json").out).at("makespan"),
        12);
    EXPECT_NE(run("schedule --kind gpipe --stages 2 --microbatches 2 --format ascii").out.find("F0 F1"), std::string::npos);
    const Outcome unknown = run("schedule --kind 1f1c --stages 2 --microbatches 2");
    EXPECT_EQ(unknown.code, 1);
    EXPECT_NE(unknown.err.find("1f1b"), std::string::npos);
}

TEST(Cli, SimulatePrintsOneDocumentAndFullIsTheSame)
{
    const std::string file = gallery("21-slow-gpu");
    const Outcome outcome = run("simulate --json " + file);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    Json folded = Json::parse(outcome.out);
    for (const char* key :
         {"step_time_s", "tokens_per_second", "tokens_per_second_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu",
          "mfu", "mfu_full_attention", "hfu", "bubble_fraction", "exposed_comm_fraction", "peak_memory_gib", "fits", "parameters",
          "world_size", "per_pipeline_rank", "simulated_ops", "wall_ms"})
        EXPECT_TRUE(folded.contains(key)) << key;
    for (const char* key : {"tp", "cp", "ep", "pp", "dp"})
        EXPECT_TRUE(folded.at("exposed_comm_fraction").contains(key)) << key;
    EXPECT_EQ(folded.at("per_pipeline_rank").size(), 4U);
    Json full = Json::parse(run("simulate --json --full " + file).out);
    for (Json* json : {&folded, &full}) {
        json->erase("wall_ms");
        json->erase("simulated_ops");
    }
    EXPECT_EQ(folded, full);
    EXPECT_NE(run("simulate " + file).out.find("step time"), std::string::npos);
}

TEST(Cli, SetOverridesAKeyWhereverAFileIsRead)
{
    const std::string file = gallery("05-dp2-tp4-pp2-sixteen-gpus");
    const Json before = Json::parse(run("describe --json " + file).out);
    const Json after = Json::parse(run("describe --json " + file + " --set layout.pp=1 --set /layout/dp=4").out);
    EXPECT_EQ(before.at("layout").at("pp"), 2);
    EXPECT_EQ(after.at("layout").at("pp"), 1);
    EXPECT_EQ(after.at("layout").at("dp"), 4);
    EXPECT_EQ(run("simulate " + file + " --set layout.tp=5").code, 1);
    EXPECT_EQ(run("simulate " + file + " --set layout").code, 1);
}

TEST(Cli, MemoryAddsUp)
{
    const Json json = Json::parse(run("memory --json " + gallery("42-llama3-405b-16384-gpus")).out);
    ASSERT_EQ(json.at("per_pipeline_rank").size(), 16U);
    double largest = 0;
    for (const Json& rank : json.at("per_pipeline_rank")) {
        double sum = 0;
        for (const char* part : {"parameters", "gradients", "optimizer", "activations", "buffers"})
            sum += rank.at(part).get<double>();
        EXPECT_NEAR(sum, rank.at("total").get<double>(), 1e-9);
        largest = std::max(largest, sum);
    }
    EXPECT_EQ(json.at("fits"), largest <= json.at("capacity").get<double>());
}

TEST(Cli, SweepHasARowForEveryCombinationAndSaysWhyOneIsMissing)
{
    const Outcome outcome =
        run("sweep --csv " + gallery("35-sweep-64-tp8-pp8") + " --vary layout.tp=2,3,8 --vary training.micro_batch_size=1,2");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream lines(outcome.out);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line.substr(0, 47), "layout.tp,training.micro_batch_size,step_time_s");
    int rows = 0, refused = 0;
    while (std::getline(lines, line)) {
        ++rows;
        refused += line.find("does not divide") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(rows, 6);
    EXPECT_EQ(refused, 2);
    EXPECT_EQ(run("sweep " + gallery("35-sweep-64-tp8-pp8") + " --vary layout.tp=3,5").code, 1);
    EXPECT_EQ(run("sweep " + gallery("35-sweep-64-tp8-pp8") + " --vary layout.tp").code, 2);
}

TEST(Cli, TracesAreWrittenByTheirEnding)
{
    const std::string file = gallery("09-tp2-cp2-pp2-dp2-grid");
    const fs::path json = scratch() / "t.json", perfetto = scratch() / "t.pftrace";
    ASSERT_EQ(run("simulate " + file + " --trace " + json.string()).code, 0);
    ASSERT_EQ(run("simulate " + file + " --trace " + perfetto.string() + " --trace-detail actions").code, 0);
    EXPECT_GT(Json::parse(read(json)).at("traceEvents").size(), 1000U);
    EXPECT_GT(fs::file_size(perfetto), 1000U);
    EXPECT_EQ(run("simulate " + file + " --trace " + (scratch() / "t.xyz").string()).code, 1);
}
