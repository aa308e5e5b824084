// The tiny job that stands for one that is too big for this machine.
#include "app/session/training_plan.h"

#include "sim/scenario/document.h"
#include "tests/app/session/session_fixtures.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace app {
namespace {

using namespace test;

sim::Scenario shrunkOf(const std::filesystem::path& file)
{
    const auto resolved = sim::ScenarioDocument::readFile(file).resolve(catalogue());
    if (!resolved.scenario)
        throw sim::ScenarioError(resolved.problems);
    return shrunk(*resolved.scenario, catalogue());
}

std::filesystem::path gallery(const std::string& number)
{
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios"))
        if (entry.path().filename().string().starts_with(number))
            return entry.path();
    return {};
}

TEST(ShrunkTraining, IsALegalJobForEveryScenarioOfTheGallery)
{
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(RANKSCOPE_SOURCE_DIR "/scenarios")) {
        if (entry.path().extension() != ".json")
            continue;
        sim::Scenario tiny;
        ASSERT_NO_THROW(tiny = shrunkOf(entry.path())) << entry.path();
        EXPECT_LE(tiny.layout.worldSize(), 64) << entry.path();
        EXPECT_LE(tiny.model.hiddenSize, 4096) << entry.path();
        ++count;
    }
    EXPECT_GT(count, 70);
}

TEST(ShrunkTraining, KeepsWhatTheModelIs)
{
    const sim::Model deepseek = shrunkOf(gallery("54-")).model;
    EXPECT_TRUE(deepseek.isLatentAttention());
    EXPECT_GT(deepseek.qLoraRank, 0);
    EXPECT_EQ(deepseek.numSharedExperts, 1);
    EXPECT_EQ(deepseek.scoringFunction, sim::ScoringFunction::sigmoid);
    EXPECT_LT(deepseek.chosenGroups, deepseek.expertGroups);
    const sim::Scenario windows = shrunkOf(gallery("53-"));
    EXPECT_GT(windows.model.slidingWindow, 0);
    EXPECT_LT(windows.model.slidingWindow, windows.training.sequenceLength);
    const sim::Model llama = shrunkOf(gallery("42-")).model;
    EXPECT_LT(llama.numKeyValueHeads, llama.numAttentionHeads);
}

} // namespace
} // namespace app
