// Editing and saving: nothing the author wrote is lost.
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace sim;
using test::catalogue;

namespace {

namespace fs = std::filesystem;

class Folder {
public:
    Folder() : m_path(fs::temp_directory_path() / ("rankscope_document_" + std::to_string(::getpid())))
    {
        fs::create_directories(m_path);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder()
    {
        fs::permissions(m_path, fs::perms::owner_all);
        fs::remove_all(m_path);
    }
    const fs::path& path() const { return m_path; }

private:
    fs::path m_path;
};

std::string contents(const fs::path& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST(ScenarioDocument, SetsByDotsAndByJsonPointer)
{
    auto document = ScenarioDocument::parse(R"({"model":"llama3-8b","layout":{"tp":2}})");
    document.set("layout.tp", "4");
    document.set("/layout/pp", "2");
    document.set("schedule.kind", "1f1b");
    document.set("training.overlap.p2p", "false");
    EXPECT_EQ(document.get("/layout/tp"), "4");
    EXPECT_EQ(document.get("layout.pp"), "2");
    EXPECT_EQ(document.get("schedule.kind"), "\"1f1b\"") << "what is no JSON is a string";
    EXPECT_EQ(document.get("training.overlap.p2p"), "false");
    EXPECT_EQ(document.get("layout.cp"), std::nullopt);
    document.set("model.num_hidden_layers", "16");
    EXPECT_EQ(document.get("model"), R"({"base":"llama3-8b","num_hidden_layers":16})") << "a bare name becomes a base";
    document.set("perturbations.0.kind", "slow_gpu");
    document.set("perturbations.0.rank", "3");
    document.set("perturbations.1", R"({"kind":"jitter"})");
    EXPECT_EQ(document.get("perturbations"), R"([{"kind":"slow_gpu","rank":3},{"kind":"jitter"}])") << "lists grow by one";
    document.set("cluster", "dgx-a100");
    document.set("cluster.gpu", "h100-sxm");
    document.set("cluster.gpu.memory_gib", "40");
    EXPECT_EQ(document.get("cluster"), R"({"base":"dgx-a100","gpu":{"base":"h100-sxm","memory_gib":40}})");
    document.set("/view/a~1b~0", "1");
    EXPECT_EQ(document.get("view"), R"({"a/b~":1})");
    document.erase("view");
    document.erase("layout.tp");
    document.erase("layout.tp");
    EXPECT_EQ(document.get("layout"), R"({"pp":2})");
}

TEST(ScenarioDocument, AnEntryOfTheBasesListLeavesItsOthers)
{
    auto document = ScenarioDocument::parse(
        R"({"format":"rankscope-scenario","version":1,"name":"n","model":"llama3-8b","cluster":{"base":"dgx-a100","nodes":2},)"
        R"("layout":{"tp":8},"training":{"global_batch_size":2}})");
    const Scenario before = resolvedScenario(document, test::catalogue());
    document.applyOverride("cluster.tiers.1.latency_us=7.5", test::catalogue());
    const Scenario after = resolvedScenario(document, test::catalogue());
    ASSERT_EQ(after.cluster.tiers.size(), before.cluster.tiers.size());
    EXPECT_EQ(after.cluster.tiers[0], before.cluster.tiers[0]);
    EXPECT_EQ(after.cluster.tiers[1].latencyUs, 7.5);
    EXPECT_EQ(after.cluster.tiers[1].bandwidthGBs, before.cluster.tiers[1].bandwidthGBs);
    document.erase("cluster.tiers");
    document.set("layout.tp", "7"); // which is mended later
    document.applyOverride("cluster.tiers.0.latency_us=1.5", test::catalogue());
    document.set("layout.tp", "8");
    EXPECT_EQ(resolvedScenario(document, test::catalogue()).cluster.tiers[0].latencyUs, 1.5);
}

TEST(ScenarioDocument, TellsTextOfAnotherEncoding)
{
    try {
        ScenarioDocument::parse(std::string_view("\xff\xfe{\0}\0", 6), "of-powershell.json");
        FAIL();
    } catch (const ScenarioError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("this is UTF-16; save it as UTF-8"));
    }
}

TEST(ScenarioDocument, RefusesToSetBelowANumber)
{
    auto document = ScenarioDocument::parse(R"({"name":"n","layout":{"tp":2},"list":[1]})");
    const std::string before = document.text();
    EXPECT_THROW(document.set("layout.tp.x", "1"), Error);
    EXPECT_THROW(document.set("list.5", "1"), Error);
    EXPECT_THROW(document.applyOverride("layout.tp"), Error);
    EXPECT_THROW(document.applyOverride("layout.tp", test::catalogue()), Error);
    EXPECT_THROW(document.applyOverride("=3"), Error);
    EXPECT_THROW(document.set("", "3"), Error);
    EXPECT_THROW(document.set("name.x", "1"), Error) << "only model, cluster and GPU have a base";
    EXPECT_EQ(document.text(), before) << "and then nothing has changed";
}

TEST(ScenarioDocument, CannotBeMadeDeeperOrOtherThanAFileCould)
{
    auto document = ScenarioDocument::parse(R"({"layout":{}})");
    std::string deep = "view";
    for (int i = 0; i < 100000; ++i)
        deep += ".x";
    EXPECT_THROW(document.set(deep, "1"), Error);
    EXPECT_THROW(document.set("view", std::string(64, '[') + std::string(64, ']')), Error);
    EXPECT_NO_THROW(document.set("view", std::string(63, '[') + std::string(63, ']')));
    EXPECT_THROW(document.set("name", "\xff\xfe"), Error) << "no UTF-8";
    EXPECT_THROW(document.set("na\xffme", "x"), Error);
    EXPECT_NO_THROW(document.set("name", "NaN"));
    EXPECT_EQ(document.get("name"), "\"NaN\"");
    EXPECT_EQ(ScenarioDocument::parse(document.text()).text(), document.text());
}

TEST(ScenarioDocument, IsAValue)
{
    auto document = ScenarioDocument::parse(R"({"layout":{"tp":2}})", "a.json");
    ScenarioDocument copy = document;
    copy.set("layout.tp", "4");
    copy.setFileName("b.json");
    EXPECT_EQ(document.get("layout.tp"), "2");
    EXPECT_EQ(document.fileName(), "a.json");
    document = std::move(copy);
    EXPECT_EQ(document.get("layout.tp"), "4");
    EXPECT_EQ(document.fileName(), "b.json");
}

TEST(ScenarioDocument, KeepsTheAuthorsOrderAndWords)
{
    const std::string text =
        "{\n  \"source\": \"a\",\n  \"name\": \"ü → \\\"x\\\"\",\n  \"layout\": { \"pp\": 2, \"tp\": 4 }\n}\n";
    EXPECT_EQ(ScenarioDocument::parse(text).text(), text);
}

TEST(ScenarioDocument, SavesWholeOrNotAtAll)
{
    const Folder folder;
    const fs::path file = folder.path() / "a.json";
    const auto document = ScenarioDocument::parse(R"({"name":"new"})");
    std::ofstream(file) << "old";
    ::chmod(file.c_str(), 0640);
    document.saveFile(file);
    EXPECT_EQ(contents(file), document.text());
    struct stat status = {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0640U) << "the file keeps its mode";

    const fs::path link = folder.path() / "link.json";
    fs::create_symlink(file, link);
    ScenarioDocument::parse(R"({"name":"through a link"})").saveFile(link);
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_NE(contents(file).find("through a link"), std::string::npos);

    EXPECT_THROW(document.saveFile(folder.path() / "nowhere" / "a.json"), Error);
    EXPECT_THROW(document.saveFile(folder.path()), Error) << "a folder is no file";
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path()))
        ++files;
    EXPECT_EQ(files, 2U) << "no temporary file is left";
}

TEST(ScenarioDocument, LeavesTheOldFileWhereWritingFails)
{
    const Folder folder;
    const fs::path file = folder.path() / "a.json";
    std::ofstream(file) << "old";
    auto document = ScenarioDocument::parse(R"({"name":"new"})");
    document.set("description", std::string(100000, 'x'));
    // A disk that is full after 4 KiB.
    struct rlimit unlimited = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit full = {4096, unlimited.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    std::string message;
    try {
        document.saveFile(file);
    } catch (const Error& error) {
        message = error.what();
    }
    ::setrlimit(RLIMIT_FSIZE, &unlimited);
    std::signal(SIGXFSZ, oldHandler);
    EXPECT_EQ(message, file.string() + ": cannot be written: File too large");
    EXPECT_EQ(contents(file), "old");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "no temporary file is left";
}

TEST(ScenarioDocument, SavesWhereLinksLeadAndAsTheUserMayRead)
{
    const Folder folder;
    const auto document = ScenarioDocument::parse(R"({"name":"new"})");
    const fs::path target = folder.path() / "target.json";
    fs::create_symlink("target.json", folder.path() / "one.json");
    fs::create_symlink(folder.path() / "one.json", folder.path() / "two.json");
    document.saveFile(folder.path() / "two.json");
    EXPECT_TRUE(fs::is_symlink(folder.path() / "one.json"));
    EXPECT_TRUE(fs::is_symlink(folder.path() / "two.json"));
    EXPECT_EQ(contents(target), document.text()) << "even where the target did not exist";
    fs::create_symlink("loop.json", folder.path() / "loop.json");
    EXPECT_THROW(document.saveFile(folder.path() / "loop.json"), Error);

    const fs::path longName = folder.path() / (std::string(250, 'n') + ".json"); // the longest a folder takes
    document.saveFile(longName);
    EXPECT_EQ(contents(longName), document.text());

    const mode_t oldMask = ::umask(077);
    document.saveFile(folder.path() / "private.json");
    ::umask(oldMask);
    struct stat status = {};
    ASSERT_EQ(::stat((folder.path() / "private.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(ScenarioDocument, DoesNotWaitAtAPipeThatASharedFileNames)
{
    const Folder folder;
    ASSERT_EQ(::mkfifo((folder.path() / "pipe.csv").c_str(), 0600), 0);
    const fs::path file = folder.path() / "s.json";
    std::ofstream(file) << R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":{"base":"laptop",
        "efficiency":"pipe.csv"},"layout":{"pp":2},"schedule":{"kind":"custom","actions":"pipe.csv"}})";
    const auto problems = ScenarioDocument::readFile(file).resolve(catalogue()).problems;
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_EQ(problems[0].pointer, "/cluster/efficiency");
    EXPECT_EQ(problems[1].message, (folder.path() / "pipe.csv").string() + ": is not an ordinary file");
}

TEST(ScenarioDocument, ReadsFilesBesideItAndSaysWhichIsMissing)
{
    const Folder folder;
    const fs::path file = folder.path() / "s.json";
    std::ofstream(file) << R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":{"base":"laptop",
        "efficiency":"profile.json"},"layout":{"pp":2},"schedule":{"kind":"custom","actions":"order.csv"},"training":{"global_batch_size":2}})";
    EXPECT_THROW(readScenario(file, catalogue()), ScenarioError);
    std::ofstream(folder.path() / "order.csv") << "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\n";
    std::ofstream(folder.path() / "profile.json") << R"({"gemm":0.5})";
    const Scenario scenario = readScenario(file, catalogue());
    EXPECT_EQ(scenario.schedule.actions, (std::vector<std::string>{"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}));
    EXPECT_EQ(scenario.cluster.efficiency.gemm, 0.5);
    std::ofstream(folder.path() / "profile.json") << R"({"gemm":1.5,"speed":1})";
    try {
        readScenario(file, catalogue());
        FAIL();
    } catch (const ScenarioError& error) {
        EXPECT_EQ(error.problems().size(), 2U) << error.what();
    }
    EXPECT_THROW(ScenarioDocument::readFile(folder.path() / "none.json"), ScenarioError);
    EXPECT_THROW(ScenarioDocument::readFile(folder.path()), ScenarioError);
    ScenarioDocument document = ScenarioDocument::readFile(file);
    document.erase("/cluster/efficiency");
    for (const char* name : {"mine.csv", "orders/mine"}) {
        document.set("/schedule/actions", name);
        const auto problems = document.resolve(catalogue()).problems;
        ASSERT_EQ(problems.size(), 1U) << name;
        EXPECT_EQ(problems[0].pointer, "/schedule/actions");
        EXPECT_NE(problems[0].message.find((folder.path() / name).string()), std::string::npos) << problems[0].message;
    }
}

TEST(ScenarioDocument, ReadsFilesWithoutAVersionAndSaysSo)
{
    const auto resolved =
        ScenarioDocument::parse(R"({"format":"rankscope-scenario","model":"tiny-gpt","cluster":"laptop","layout":{}})")
            .resolve(catalogue());
    ASSERT_TRUE(resolved.scenario);
    ASSERT_EQ(resolved.problems.size(), 1U);
    EXPECT_EQ(resolved.problems[0].text(), "warning: key \"version\" is missing; read as version 1");
    const auto zero = ScenarioDocument::parse(
                          R"({"format":"rankscope-scenario","version":0,"model":"tiny-gpt","cluster":"laptop","layout":{}})")
                          .resolve(catalogue());
    EXPECT_FALSE(zero.scenario) << "files without a number are older; none has this one";
    ASSERT_EQ(zero.problems.size(), 1U);
    EXPECT_EQ(zero.problems[0].text(), "/version: 0 is too small; nearest: 1");
}

TEST(ScenarioDocument, ChecksWhatWasDerivedThoughNothingFollowsFromIt)
{
    auto document = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":"laptop",
        "layout":{},"derived":{"parameters":"zz","world_size":0,"parameters_per_rank":[1,-1]},"world_size":0})");
    std::vector<std::string> told;
    for (const Problem& problem : document.resolve(catalogue()).problems)
        told.push_back(problem.text());
    EXPECT_THAT(told, testing::UnorderedElementsAre(
                          testing::HasSubstr("/derived/parameters: \"zz\" is a string where a whole number is expected"),
                          testing::HasSubstr("/derived/world_size: 0 is too small; nearest: 1"),
                          testing::HasSubstr("/derived/parameters_per_rank/1: -1 is too small; nearest: 0")));
    document.erase("derived");
    EXPECT_TRUE(document.resolve(catalogue()).scenario);
}

TEST(ScenarioDocument, OfANewerVersionSaysOnlyThat)
{
    for (const char* version : {"2", "2147483648", "18446744073709551615"}) {
        const auto problems =
            ScenarioDocument::parse(R"({"format":"rankscope-scenario","modell":"x","version":)" + std::string(version) + "}",
                                    "n.json")
                .resolve(catalogue())
                .problems;
        ASSERT_EQ(problems.size(), 1U);
        EXPECT_EQ(problems[0].text(), "n.json: /version: " + std::string(version) +
                                          " is newer than 1, the newest version this program reads; use a newer Rankscope");
    }
}

TEST(ModelName, IsTheBasesOnlyWhereTheModelIs)
{
    const auto nameOf = [](const std::string& model) {
        const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":)" + model +
                                                      R"(,"cluster":"dgx-a100","layout":{"tp":8,"dp":1}})")
                                  .resolve(catalogue());
        return resolved.scenario ? resolved.scenario->model.name : resolved.problems.at(0).text();
    };
    EXPECT_EQ(nameOf(R"("llama3-8b")"), "Llama 3.1 8B");
    EXPECT_EQ(nameOf(R"({"base":"llama3-8b","num_hidden_layers":32})"), "Llama 3.1 8B") << "as many as it has anyway";
    EXPECT_EQ(nameOf(R"({"base":"llama3-8b","num_hidden_layers":96})"), "Llama 3.1 8B (changed)");
    EXPECT_EQ(nameOf(R"({"base":"llama3-8b","name":"Deep","num_hidden_layers":96})"), "Deep");
    EXPECT_EQ(nameOf(R"({"base":"llama3-8b","name":"Mine"})"), "Mine");
}

/// The catalogue's Llama 3.1 turns slower than its rotary base says; what has no rotations has nothing to scale.
TEST(ModelName, TheBasesScalingGoesWithItsRotations)
{
    const auto resolved = [](const std::string& model) {
        return ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": )" + model +
                                       R"(, "cluster": "dgx-a100", "layout": {"tp": 8}})")
            .resolve(test::catalogue());
    };
    const auto scaled = resolved(R"("llama3-8b")");
    ASSERT_TRUE(scaled.scenario);
    EXPECT_EQ(scaled.scenario->model.ropeScaling.kind, RopeScalingKind::llama3);
    EXPECT_EQ(scaled.scenario->model.ropeScaling.originalLength, 8192);
    for (const char* without : {R"({"base": "llama3-8b", "position_embedding": "learned"})",
                                R"({"base": "llama3-8b", "rope_scaling": {"rope_type": "default"}})"}) {
        const auto other = resolved(without);
        ASSERT_TRUE(other.scenario) << without;
        EXPECT_EQ(other.scenario->model.ropeScaling.kind, RopeScalingKind::none) << without;
    }
    const auto longer = resolved(R"({"base": "llama3-8b", "rope_scaling": {"factor": 16}})");
    ASSERT_TRUE(longer.scenario) << "numbers change the base's rule";
    EXPECT_EQ(longer.scenario->model.ropeScaling.kind, RopeScalingKind::llama3);
    EXPECT_EQ(longer.scenario->model.ropeScaling.factor, 16);
    EXPECT_EQ(longer.scenario->model.ropeScaling.originalLength, 8192);
    const auto own = resolved(R"({"base": "llama3-8b", "rope_scaling": {"rope_type": "llama3", "factor": 16}})");
    ASSERT_TRUE(own.scenario) << "a rule of its own has the format's defaults";
    EXPECT_EQ(own.scenario->model.ropeScaling.originalLength, own.scenario->model.maxPositionEmbeddings);
    const auto none = resolved(R"({"base": "llama2-7b", "rope_scaling": {"factor": 16}})");
    EXPECT_FALSE(none.scenario);
    ASSERT_FALSE(none.problems.empty());
    EXPECT_EQ(none.problems.front().text(),
              "/model/rope_scaling: key \"rope_type\" is missing, and the base \"llama2-7b\" scales "
              "nothing; write \"linear\", \"llama3\" or \"yarn\"");
    EXPECT_FALSE(resolved(R"({"base": "llama3-8b", "position_embedding": "none",
                              "rope_scaling": {"rope_type": "linear", "factor": 2}})")
                     .scenario)
        << "what somebody gave is not dropped";
}

TEST(Defaults, FollowTheLayout)
{
    const auto scenario = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"llama3-405b",
        "cluster":"h100-sxm-roce400","layout":{"tp":8,"pp":16,"dp":4,"cp":2},"schedule":{"virtual_stages":8}})")
                              .resolve(catalogue())
                              .scenario;
    ASSERT_TRUE(scenario);
    EXPECT_EQ(scenario->layout.etp, 8);
    EXPECT_EQ(scenario->layout.dpShard, 8) << "dp x cp";
    EXPECT_EQ(scenario->cluster.nodes, 128) << "as many as the layout needs";
    EXPECT_EQ(scenario->schedule.kind, "interleaved-1f1b");
    EXPECT_EQ(scenario->schedule.microbatchGroup, 16);
    EXPECT_EQ(scenario->training.sequenceLength, 131072);
    EXPECT_EQ(scenario->training.globalBatchSize, 4 * 4 * 16);
    // Llama 3: 126 layers on 128 stages; the outer two hold the embedding and the head alone.
    ASSERT_EQ(scenario->schedule.layersPerStage.size(), 128U);
    EXPECT_EQ(scenario->schedule.layersPerStage.front(), 0);
    EXPECT_EQ(scenario->schedule.layersPerStage[1], 1);
    EXPECT_EQ(scenario->schedule.layersPerStage.back(), 0);
}
