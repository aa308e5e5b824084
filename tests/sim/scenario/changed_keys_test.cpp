#include "sim/scenario/changed_keys.h"

#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;
using test::catalogue;

TEST(ChangedKeys, NothingChangedIsNothing)
{
    std::mt19937 random(81);
    const Scenario scenario = test::randomScenario(random, 64);
    EXPECT_TRUE(changedKeys(scenario, scenario).empty());
}

TEST(ChangedKeys, AreFoundByPointerWithBothValues)
{
    const Scenario before = test::smallScenario(2, 1, 2);
    Scenario after = before;
    after.layout.tp = 4;
    after.training.overlap.gradReduce = !before.training.overlap.gradReduce;
    const auto keys = changedKeys(before, after);
    ASSERT_EQ(keys.size(), 2U);
    EXPECT_EQ(keys[0], (ChangedKey{"/layout/tp", "2", "4"}));
    EXPECT_EQ(keys[1].pointer, "/training/overlap/grad_reduce");
}

TEST(ChangedKeys, AnotherModelIsOneKey)
{
    const Scenario before = test::smallScenario();
    Scenario after = before;
    after.model = test::llamaModel(16, 2048, 16, 8, 5632);
    after.model.name = "another";
    const auto keys = changedKeys(before, after);
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(keys[0].pointer, "/model");
}

TEST(ChangedKeys, WhatOnlyOneHasIsThereOnOneSide)
{
    const Scenario before = test::smallScenario(1, 2);
    Scenario after = before;
    after.perturbations.push_back({.kind = PerturbationKind::slowGpu, .rank = 1, .factor = 2});
    const auto keys = changedKeys(before, after);
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(keys[0].pointer, "/perturbations");
    EXPECT_FALSE(keys[0].a);
    EXPECT_TRUE(keys[0].b);
    EXPECT_EQ(changedKeys(after, before)[0].a, keys[0].b);
}

TEST(ChangedKeys, WhatNeitherCanUseDoesNotCount)
{
    const Scenario before = test::smallScenario(2, 2, 2);
    Scenario after = before;
    after.layout.etp = 2;
    after.schedule.microbatchGroup = 4;
    EXPECT_TRUE(changedKeys(before, after).empty()) << "no experts, no groups of micro-batches";
    Scenario grouped = after;
    grouped.schedule.kind = "interleaved-1f1b";
    const auto keys = changedKeys(before, grouped);
    EXPECT_TRUE(
        std::any_of(keys.begin(), keys.end(), [](const ChangedKey& key) { return key.pointer == "/schedule/microbatch_group"; }));
}

TEST(ChangedKeys, NamesAndDescriptionsDoNotCount)
{
    const Scenario before = test::smallScenario();
    Scenario after = before;
    after.name = "renamed";
    after.description = "told otherwise";
    EXPECT_TRUE(changedKeys(before, after).empty());
}

TEST(ChangedKeys, PutIntoTheOtherScenarioMakeItTheFirst)
{
    const auto read = [&](const char* file) {
        return ScenarioDocument::readFile(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + file);
    };
    for (const char* file : {"41-llama3-405b-8192-gpus.json", "50-mixtral-8x7b-ep8.json", "18-schedule-interleaved-1f1b.json",
                             "21-slow-gpu.json", "43-llama3-405b-131k-context.json"}) {
        const Scenario wanted = *read(file).resolve(catalogue()).scenario;
        ScenarioDocument document = read("42-llama3-405b-16384-gpus.json");
        for (const ChangedKey& key : changedKeys(wanted, *document.resolve(catalogue()).scenario)) {
            if (key.a)
                document.set(key.pointer, *key.a);
            else
                document.erase(key.pointer);
        }
        const auto resolved = document.resolve(catalogue());
        ASSERT_TRUE(resolved.scenario) << file << ": " << resolved.problems.front().text();
        EXPECT_TRUE(changedKeys(wanted, *resolved.scenario).empty()) << file;
    }
}
