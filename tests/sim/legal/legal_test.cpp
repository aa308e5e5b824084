// The rules on a scenario alone say of any job what the reader says of the file that it is written to.
#include "sim/legal/legal.h"

#include "sim/scenario/document.h"
#include "tests/support/catalogue.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace sim;
using test::catalogue;

namespace {

std::set<std::string> keysOf(const std::vector<Reason>& reasons)
{
    std::set<std::string> keys;
    for (const Reason& reason : reasons)
        if (!reason.isWarning)
            keys.insert(reason.key);
    return keys;
}

/// Something that may break a rule, or not.
void change(Scenario& s, std::mt19937& random)
{
    const auto pick = [&random](std::initializer_list<int> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
    };
    const std::vector<std::function<void()>> changes = {
        [&] {
            s.layout.tp = pick({1, 2, 3, 4, 8, 16});
        },
        [&] {
            s.layout.cp = pick({1, 2, 3});
        },
        [&] {
            s.layout.pp = pick({1, 2, 3, 4});
        },
        [&] {
            s.layout.dp = pick({1, 2, 3, 64, 1 << 20});
        },
        [&] {
            s.layout.ep = pick({1, 2, 3, 8});
        },
        [&] {
            s.layout.etp = pick({1, 2, 3, 8});
        },
        [&] {
            s.layout.order = std::vector<std::string>{"tp-cp-ep-dp-pp", "tp-cp-pp-dp", "tp-tp", "pp-dp", "cp-x"}[random() % 5];
        },
        [&] {
            s.layout.dpShard = pick({1, 2, 3, 8});
        },
        [&] {
            if (s.layout.worldSize() > 4096)
                return;
            s.layout.placement = PlacementRule::explicitList;
            s.layout.explicitPlacement.assign(static_cast<std::size_t>(s.layout.worldSize()), 0);
            for (std::size_t i = 0; i < s.layout.explicitPlacement.size(); ++i)
                s.layout.explicitPlacement[i] = static_cast<int>(i) + pick({0, 0, 0, 0, 0, 0, 0, 1});
        },
        [&] {
            s.cluster.nodes = pick({1, 2, 100});
        },
        [&] {
            s.cluster.tiers.front().span = pick({0, 2, 3, 8});
        },
        [&] {
            s.schedule.virtualStages = pick({1, 2, 3});
        },
        [&] {
            s.schedule.microbatchGroup = pick({1, 2, 4, 7});
        },
        [&] {
            s.schedule.layersPerStage.front() += pick({0, 1});
        },
        [&] {
            const ScheduleFamily& family = scheduleFamilies()[random() % scheduleFamilies().size()];
            s.schedule.kind = family.kind;
            s.schedule.virtualStages = family.chunks.least;
            s.schedule.sequenceSlices = family.cutsSequences() ? pick({1, 2, 3}) : 1;
            if (family.isWrittenOut)
                s.schedule.actions.assign(static_cast<std::size_t>(pick({1, 2})), "0F0,0B0");
        },
        [&] {
            s.training.sequenceLength = pick({255, 256, 8192, 1 << 20});
        },
        [&] {
            s.training.microBatchSize = pick({1, 2, 3, 1 << 20});
        },
        [&] {
            s.training.globalBatchSize = std::min(s.training.globalBatchSize, 1 << 14) * pick({1, 2, 3, 1 << 16});
        },
        [&] { s.training.causal = false; },
        [&] { s.training.precision = static_cast<Precision>(random() % 5); },
        [&] {
            s.training.recompute = Recompute::full;
            s.training.recomputeLayers = pick({1, 2, 40});
        },
        [&] {
            s.model.numAttentionHeads = pick({8, 15, 16, 32});
        },
        [&] {
            s.model.numKeyValueHeads = pick({1, 3, 8});
        },
        [&] {
            s.model.intermediateSize = pick({1021, 1024, 1 << 20});
        },
        [&] { s.model.positionEmbedding = PositionEmbedding::learned; },
        [&] {
            s.model.numExperts = pick({0, 6, 8});
        },
        [&] {
            s.model.numSharedExperts = pick({0, 1});
        },
        [&] {
            for (int i = pick({1, 2}); i > 0; --i)
                s.perturbations.push_back(
                    {.kind = PerturbationKind::slowGpu, .rank = pick({0, 0, 7}), .factor = 1.0 * pick({2, 1000000})});
        },
    };
    changes[random() % changes.size()]();
}

} // namespace

TEST(Legal, IsWhatTheReaderTakes)
{
    std::mt19937 random(11);
    int legal = 0, illegal = 0;
    Scenario before = test::smallScenario(2, 2, 2);
    for (int round = 0; round < 2000; ++round) {
        Scenario scenario = test::randomScenario(random, 64);
        for (auto changes = random() % 4; changes > 0; --changes)
            change(scenario, random);
        if (scenario.schedule.layersPerStage.size() != static_cast<std::size_t>(scenario.stages()) && random() % 4 != 0) {
            scenario.schedule.layersPerStage.clear();
            test::resolve(scenario);
        }
        const std::string text = resolvedText(scenario);
        std::set<std::string> read;
        const auto resolved = ScenarioDocument::parse(text).resolve(catalogue());
        for (const Problem& problem : resolved.problems)
            if (problem.severity == Severity::error)
                read.insert(problem.pointer);
        ASSERT_EQ(keysOf(judge(scenario)), read) << text;
        ASSERT_EQ(isLegal(scenario), resolved.scenario.has_value()) << text;
        ++(resolved.scenario ? legal : illegal);
        // The two halves are all of it, and each looks at its own alone.
        ASSERT_EQ(isLegalBesidePipeline(scenario) && hasLegalPipeline(scenario), isLegal(scenario)) << text;
        Scenario otherPipeline = scenario, otherJob = before;
        otherPipeline.schedule = before.schedule;
        otherPipeline.schedule.sequenceSlices = scenario.schedule.sequenceSlices;
        ASSERT_EQ(isLegalBesidePipeline(otherPipeline), isLegalBesidePipeline(scenario)) << text;
        otherJob.schedule = scenario.schedule;
        otherJob.model.numHiddenLayers = scenario.model.numHiddenLayers;
        otherJob.layout.pp = scenario.layout.pp;
        otherJob.layout.dp = scenario.layout.dp;
        otherJob.training.globalBatchSize = scenario.training.globalBatchSize;
        otherJob.training.microBatchSize = scenario.training.microBatchSize;
        otherJob.training.recompute = scenario.training.recompute;
        otherJob.training.recomputeLayers = scenario.training.recomputeLayers;
        ASSERT_EQ(hasLegalPipeline(otherJob), hasLegalPipeline(scenario)) << text;
        before = std::move(scenario);
    }
    EXPECT_GT(legal, 400);
    EXPECT_GT(illegal, 400);
}

TEST(Legal, SurvivesSizesThatNoFileMayHave)
{
    Scenario nothing;
    EXPECT_FALSE(isLegal(nothing));
    EXPECT_TRUE(keysOf(judge(nothing)).contains("/training/sequence_length"));
    Scenario scenario = test::smallScenario(2, 2, 2);
    EXPECT_TRUE(isLegal(scenario));
    scenario.schedule.kind = "1f1";
    EXPECT_FALSE(isLegal(scenario));
    EXPECT_EQ(judge(scenario).front().key, "/schedule/kind");
}
