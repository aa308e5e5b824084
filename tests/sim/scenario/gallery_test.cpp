// Every file of the gallery, as a newcomer would open it.
#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

using namespace sim;
using test::catalogue;
using test::galleryFiles;

namespace {

namespace fs = std::filesystem;

/// The catalogue ids are not part of a written-out scenario.
Scenario withoutBases(Scenario scenario)
{
    scenario.model.base.clear();
    scenario.cluster.base.clear();
    scenario.cluster.gpu.base.clear();
    return scenario;
}

} // namespace

TEST(Gallery, IsValidAndEachFileSaysWhereItIsFrom)
{
    const auto files = galleryFiles();
    ASSERT_GE(files.size(), 25U);
    std::set<std::string> names;
    for (const fs::path& file : files) {
        const auto resolved = ScenarioDocument::readFile(file).resolve(catalogue());
        for (const Problem& problem : resolved.problems)
            EXPECT_EQ(problem.severity, Severity::warning) << problem.text();
        ASSERT_TRUE(resolved.scenario) << file;
        EXPECT_FALSE(resolved.scenario->source.empty()) << file;
        EXPECT_GT(resolved.scenario->description.size(), 60U) << file;
        EXPECT_TRUE(names.insert(resolved.scenario->name).second) << "two files have the name " << resolved.scenario->name;
    }
}

TEST(Gallery, ResolvedTextReadsBackAsTheSameScenario)
{
    for (const fs::path& file : galleryFiles()) {
        const Scenario scenario = readScenario(file, catalogue());
        const std::string text = resolvedText(scenario);
        EXPECT_EQ(text.find("\"base\""), std::string::npos);
        const auto again = ScenarioDocument::parse(text).resolve(catalogue());
        ASSERT_TRUE(again.scenario) << file << (again.problems.empty() ? "" : again.problems.front().text());
        EXPECT_EQ(withoutBases(*again.scenario), withoutBases(scenario)) << file;
    }
}

TEST(Gallery, KeepsItsTextThroughReadingAndWriting)
{
    for (const fs::path& file : galleryFiles()) {
        const ScenarioDocument document = ScenarioDocument::readFile(file);
        const std::string text = document.text();
        EXPECT_EQ(ScenarioDocument::parse(text).text(), text) << file;
        for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
            end = std::min(text.find('\n', begin), text.size());
            EXPECT_LE(end - begin, text.find("description") == std::string::npos ? 140U : 4000U);
        }
    }
}

TEST(Catalogue, HasWhatPeopleTrainOn)
{
    EXPECT_GE(catalogue().models().size(), 30U);
    EXPECT_GE(catalogue().gpus().size(), 12U);
    EXPECT_GE(catalogue().clusters().size(), 10U);
    EXPECT_NE(catalogue().modelJson("llama3-405b"), nullptr);
    EXPECT_EQ(catalogue().modelJson("llama-405"), nullptr);
    EXPECT_THROW(Catalogue::load("/nowhere"), Error);
}

TEST(Catalogue, EveryModelAndClusterMakesAScenario)
{
    for (const auto& model : catalogue().models()) {
        const auto resolved = ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":")" + model.id +
                                                      R"(","cluster":"h100-sxm-ib400","layout":{}})")
                                  .resolve(catalogue());
        EXPECT_TRUE(resolved.scenario) << model.id;
    }
    for (const auto& cluster : catalogue().clusters()) {
        const auto resolved =
            ScenarioDocument::parse(R"({"format":"rankscope-scenario","version":1,"model":"tiny-gpt","cluster":")" + cluster.id +
                                    R"(","layout":{"dp":2}})")
                .resolve(catalogue());
        EXPECT_TRUE(resolved.scenario) << cluster.id;
    }
}

TEST(Catalogue, NamesTheEntryThatIsWrong)
{
    const fs::path assets = fs::temp_directory_path() / ("rankscope_catalogue_" + std::to_string(::getpid()));
    const auto message = [&assets](const std::string& entry, const std::string& text) -> std::string {
        fs::remove_all(assets);
        for (const char* folder : {"models", "gpus", "clusters", "stacks"})
            fs::create_directories(assets / folder);
        fs::copy_file(RANKSCOPE_SOURCE_DIR "/assets/scenario.schema.json", assets / "scenario.schema.json");
        std::ofstream(assets / "residuals.json") << R"({"residuals":[{"step":[0.9,1.1]}]})";
        std::ofstream(assets / entry) << text;
        try {
            Catalogue::load(assets);
        } catch (const Error& error) {
            const std::string what = error.what();
            return what.starts_with((assets / entry).string()) ? what.substr((assets / entry).string().size() + 2) : what;
        }
        return "accepted";
    };
    EXPECT_EQ(message("models/a.json", R"({"name":"A","num_hidden_layers":2})"), "accepted");
    EXPECT_EQ(message("models/a.txt", "no entry"), "accepted");
    EXPECT_EQ(message("models/a.json", R"({"layers":2})"),
              "/layers: unknown key; nearest: \"num_hidden_layers\", \"num_nextn_predict_layers\"");
    EXPECT_EQ(message("models/a.json", R"({"hidden_size":"x"})"),
              "/hidden_size: \"x\" is a string where a whole number is expected");
    EXPECT_EQ(message("models/a.json", R"({"family":5})"), "/family: a string is expected");
    EXPECT_EQ(message("models/a.json", R"({"base":"b"})"), "/base: an entry stands by itself");
    EXPECT_EQ(message("models/a.json", "[1]"), "a catalogue entry is an object");
    EXPECT_EQ(message("gpus/a.json", "{").substr(0, 16), "line 1, column 1");
    EXPECT_EQ(message("stacks/a.json", R"({"launches":2})").substr(0, 22), "/launches: unknown key");
    EXPECT_EQ(message("residuals.json", R"({"residuals":[]})"), "/residuals: a list is expected");
    EXPECT_EQ(message("clusters/a.json", R"({"gpu":"none"})"), "/gpu: the id of an entry of gpus/ is expected");
    fs::remove_all(assets);
}

TEST(Catalogue, IsFoundWhereTheEnvironmentSays)
{
    ASSERT_EQ(::setenv("RANKSCOPE_ASSETS", "/some/where", 1), 0);
    EXPECT_EQ(Catalogue::findAssets(), "/some/where");
    ::unsetenv("RANKSCOPE_ASSETS");
    EXPECT_TRUE(fs::exists(Catalogue::findAssets() / "scenario.schema.json"));
}
