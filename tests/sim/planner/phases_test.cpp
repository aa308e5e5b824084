// A run whose sequences grow.
#include "sim/planner/phases.h"

#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;

namespace {

PlanRequest growingJob()
{
    return {.document = ScenarioDocument::parse(R"({
      "format": "rankscope-scenario", "version": 1,
      "model": {"num_hidden_layers": 8, "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 16,
                "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072},
      "cluster": {"base": "h100-sxm-ib400"},
      "layout": {"tp": 1, "pp": 1, "dp": 8},
      "training": {"sequence_length": 2048, "global_batch_size": 64}})"),
            .fixed = {{"schedule.kind", "\"1f1b\""}, {"training.recompute", "\"none\""}}};
}

double stepOf(const PlanRequest& request, const PlannedLayout& layout)
{
    return simulate(resolvedScenario(withSettings(request, layout.settings), test::catalogue()))->metrics().stepTimeSeconds;
}

} // namespace

TEST(Phases, EachHasItsOwnBestAndSaysWhatTheLastOnesWouldTake)
{
    const PlanRequest request = growingJob();
    const std::vector<Phase> phases{{2048, 64}, {131072, 1}};
    const std::vector<PlannedPhase> planned = planPhases(request, test::catalogue(), phases);
    ASSERT_EQ(planned.size(), 2U);
    for (std::size_t i = 0; i < planned.size(); ++i) {
        const PlanRequest of = ofPhase(request, phases[i]);
        ASSERT_FALSE(planned[i].answer.best.empty());
        EXPECT_TRUE(planned[i].answer.proved);
        EXPECT_EQ(planned[i].answer.best.front().stepSeconds, plan(of, test::catalogue()).best.front().stepSeconds);
        ASSERT_TRUE(planned[i].kept.has_value()) << planned[i].whyNotKept;
        EXPECT_EQ(planned[i].kept->stepSeconds, stepOf(of, planned.back().answer.best.front()));
        EXPECT_EQ(planned[i].kept->gpuHours, planned[i].kept->stepSeconds * 8 / 3600);
        EXPECT_GE(planned[i].kept->stepSeconds, planned[i].answer.best.front().stepSeconds);
    }
    EXPECT_EQ(planned[0].changes, "");
    EXPECT_EQ(planned[0].readGib, 0);
    EXPECT_THAT(planned[1].changes, testing::HasSubstr("cp")) << "one sequence is cut among GPUs";
    EXPECT_GT(planned[1].readGib, 0);
    EXPECT_GT(planned[0].kept->stepSeconds, planned[0].answer.best.front().stepSeconds);
}

/// One micro-batch, of which no order holds much less: under the cap long sequences run again what short ones keep.
TEST(Phases, ALayoutThatMissesTheCapIsNotKept)
{
    PlanRequest request = growingJob();
    request.fixed = {{"schedule.kind", "\"auto\""},
                     {"schedule.virtual_stages", "1"},
                     {"layout.tp", "1"},
                     {"layout.cp", "1"},
                     {"layout.pp", "2"},
                     {"layout.dp", "4"},
                     {"layout.sequence_parallel", "false"},
                     {"layout.zero_stage", "1"},
                     {"training.micro_batch_size", "1"}};
    const std::vector<Phase> phases{{16384, 4}, {2048, 4}};
    const auto peakOf = [&](const Phase& phase, const char* recompute) {
        PlanRequest of = ofPhase(request, phase);
        of.fixed.emplace_back("training.recompute", recompute);
        return simulate(resolvedScenario(withSettings(of, {}), test::catalogue()))->metrics().peakMemoryGib;
    };
    const double cap = 1.001 * std::max(peakOf(phases[0], "\"full\""), peakOf(phases[1], "\"none\""));
    ASSERT_LT(cap, 0.95 * peakOf(phases[0], "\"none\""));
    request.document.set("schedule.memory_cap_gib", std::to_string(cap));
    const std::vector<PlannedPhase> planned = planPhases(request, test::catalogue(), phases);
    ASSERT_EQ(planned.size(), 2U);
    ASSERT_FALSE(planned[0].answer.best.empty());
    ASSERT_FALSE(planned[1].answer.best.empty());
    EXPECT_EQ(planned[0].whyNotKept, "does not fit");
    EXPECT_FALSE(planned[0].kept.has_value());
}

TEST(Phases, ALayoutThatCannotBeKeptSaysWhy)
{
    const PlanRequest request = growingJob();
    const std::vector<PlannedPhase> planned = planPhases(request, test::catalogue(), {{2048, 4}, {2048, 64}});
    ASSERT_EQ(planned.size(), 2U);
    ASSERT_EQ(planned[1].answer.best.front().grid.dp, 8);
    EXPECT_FALSE(planned[0].kept.has_value()) << "eight replicas share four sequences";
    EXPECT_THAT(planned[0].whyNotKept, testing::HasSubstr("global_batch_size"));
    ASSERT_TRUE(planned[1].kept.has_value());
    EXPECT_EQ(planned[1].whyNotKept, "");
}
