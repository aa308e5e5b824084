// Every file of the gallery, as a newcomer would open it.
#include "sim/scenario/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

using namespace sim;

namespace {

namespace fs = std::filesystem;

const Catalogue& catalogue()
{
    static const Catalogue loaded = Catalogue::load(RANKSCOPE_SOURCE_DIR "/assets");
    return loaded;
}

std::vector<fs::path> galleryFiles()
{
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().extension() == ".json")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

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
