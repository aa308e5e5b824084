// Editing and saving: nothing the author wrote is lost.
#include "sim/scenario/document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace sim;

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
    document.set("perturbations.0.kind", "slow_gpu"); // makes an object: a list is written whole
    document.erase("layout.tp");
    document.erase("layout.tp");
    EXPECT_EQ(document.get("layout"), R"({"pp":2})");
}

TEST(ScenarioDocument, RefusesToSetBelowANumber)
{
    auto document = ScenarioDocument::parse(R"({"layout":{"tp":2},"list":[1]})");
    const std::string before = document.text();
    EXPECT_THROW(document.set("layout.tp.x", "1"), Error);
    EXPECT_THROW(document.set("list.5", "1"), Error);
    EXPECT_THROW(document.applyOverride("layout.tp"), Error);
    EXPECT_THROW(document.applyOverride("=3"), Error);
    EXPECT_EQ(document.text(), before) << "and then nothing has changed";
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

TEST(ScenarioDocument, ReadsFilesBesideItAndSaysWhichIsMissing)
{
    const Catalogue catalogue = Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    const Folder folder;
    const fs::path file = folder.path() / "s.json";
    std::ofstream(file) << R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":{"base":"laptop",
        "efficiency":"profile.json"},"layout":{"pp":2},"schedule":{"kind":"custom","actions":"order.csv"},"training":{"global_batch_size":2}})";
    EXPECT_THROW(readScenario(file, catalogue), ScenarioError);
    std::ofstream(folder.path() / "order.csv") << "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\n";
    std::ofstream(folder.path() / "profile.json") << R"({"gemm":0.5})";
    const Scenario scenario = readScenario(file, catalogue);
    EXPECT_EQ(scenario.schedule.actions, (std::vector<std::string>{"0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"}));
    EXPECT_EQ(scenario.cluster.efficiency.gemm, 0.5);
    std::ofstream(folder.path() / "profile.json") << R"({"gemm":1.5,"speed":1})";
    try {
        readScenario(file, catalogue);
        FAIL();
    } catch (const ScenarioError& error) {
        EXPECT_EQ(error.problems().size(), 2U) << error.what();
    }
    EXPECT_THROW(ScenarioDocument::readFile(folder.path() / "none.json"), ScenarioError);
    EXPECT_THROW(ScenarioDocument::readFile(folder.path()), ScenarioError);
}

TEST(ScenarioDocument, ReadsFilesWithoutAVersionAndSaysSo)
{
    const Catalogue catalogue = Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    const auto resolved =
        ScenarioDocument::parse(R"({"format":"rankscope-scenario","model":"tiny-gpt","cluster":"laptop","layout":{}})")
            .resolve(catalogue);
    ASSERT_TRUE(resolved.scenario);
    ASSERT_EQ(resolved.problems.size(), 1U);
    EXPECT_EQ(resolved.problems[0].severity, Severity::warning);
}

TEST(Defaults, FollowTheLayout)
{
    const Catalogue catalogue = Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    const auto scenario = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"llama3-405b",
        "cluster":"h100-sxm-roce400","layout":{"tp":8,"pp":16,"dp":4,"cp":2},"schedule":{"virtual_stages":8}})")
                              .resolve(catalogue)
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
