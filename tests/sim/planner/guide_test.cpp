// The path that people teach, walked with a job's own numbers: it leads where the papers went, and each number is the engine's.
#include "sim/planner/guide.h"

#include "sim/simulate/simulation.h"
#include "tests/support/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

using namespace sim;

namespace {

PlanRequest jobOf(const char* file, int gpus = 0)
{
    return {.document = ScenarioDocument::readFile(std::string(RANKSCOPE_SOURCE_DIR "/scenarios/") + file), .gpus = gpus};
}

} // namespace

/// The textbook's is 8 × 64 × 8. Half as many stages hold the model as well, and what the others would be is said.
TEST(PlanGuide, OneTrillionOn4096ComesOutAsTheTextbookHasItOrSaysWhyNot)
{
    const PlanGuide guide = planGuide(jobOf("32-one-trillion-4096-gpus.json"), test::catalogue());
    ASSERT_TRUE(guide.layout.has_value()) << guide.end;
    EXPECT_EQ(guide.layout->grid.tp, 8);
    EXPECT_EQ(guide.layout->grid.pp, 32);
    EXPECT_EQ(guide.layout->grid.dp, 16);
    ASSERT_EQ(guide.gates.size(), 5U);
    EXPECT_FALSE(guide.gates[1].yes) << "a trillion parameters on one GPU";
    EXPECT_FALSE(guide.gates[2].yes);
    EXPECT_TRUE(guide.gates[3].yes);
    EXPECT_TRUE(guide.gates[4].yes);
    EXPECT_THAT(guide.gates[3].then, testing::HasSubstr("tp 8 × pp 32"));
    EXPECT_THAT(guide.gates[4].then, testing::HasSubstr("twice the stages, pp 64 × dp 8, are not needed: "));
    EXPECT_THAT(guide.gates[4].then, testing::HasSubstr("smaller than the model's own error"));
    ASSERT_FALSE(guide.traffic.empty());
    EXPECT_EQ(guide.traffic.front().dimension, Dimension::tp) << "sends the most";
    EXPECT_EQ(guide.traffic.front().outsideShare, 0) << "and stays inside the node";
}

TEST(PlanGuide, ItsLayoutSimulatesToItsNumber)
{
    for (const char* file : {"05-dp2-tp4-pp2-sixteen-gpus.json", "15-tp4-fsdp-70b.json"}) {
        const PlanRequest request = jobOf(file);
        const PlanGuide guide = planGuide(request, test::catalogue());
        ASSERT_TRUE(guide.layout.has_value()) << guide.end;
        const auto step = simulate(resolvedScenario(guideDocument(request, guide.layout->settings), test::catalogue()));
        EXPECT_EQ(step->metrics().stepTimeSeconds, guide.layout->stepSeconds) << file;
        EXPECT_EQ(step->metrics().peakMemoryGib, guide.layout->peakMemoryGib) << file;
        EXPECT_LE(guide.layout->peakMemoryGib, step->scenario().cluster.gpu.memoryGib);
    }
}

TEST(PlanGuide, IsTimedWithTheSoftwareOfThePlanBesideIt)
{
    PlanRequest request = jobOf("05-dp2-tp4-pp2-sixteen-gpus.json");
    request.framework = "torchtitan";
    const PlanGuide guide = planGuide(request, test::catalogue());
    ASSERT_TRUE(guide.layout.has_value()) << guide.end;
    const Scenario of = resolvedScenario(guideDocument(request, guide.layout->settings), test::catalogue());
    EXPECT_EQ(of.training.stack.id, "pytorch-eager");
    EXPECT_EQ(simulate(of)->metrics().stepTimeSeconds, guide.layout->stepSeconds);
}

TEST(PlanGuide, EveryGateSaysItsNumbersAndWhatFollows)
{
    for (const char* file : {"54-deepseek-v3-2048-h800.json", "60-tiny-tp2-pp2-dp2.json"}) {
        const PlanGuide guide = planGuide(jobOf(file), test::catalogue());
        ASSERT_GE(guide.gates.size(), 3U) << file;
        for (const GuideGate& gate : guide.gates) {
            EXPECT_TRUE(gate.question.ends_with("?")) << file;
            EXPECT_FALSE(gate.numbers.empty()) << file << ": " << gate.question;
            EXPECT_EQ(gate.numbers.find(" 0.0 GiB"), std::string::npos) << file << ": " << gate.numbers;
            EXPECT_FALSE(gate.then.empty()) << file << ": " << gate.question;
            if (gate.needGib > 0) {
                EXPECT_EQ(gate.yes, gate.needGib <= gate.haveGib) << file << ": " << gate.question;
            }
        }
        EXPECT_EQ(guide.layout.has_value(), guide.end.empty()) << file << ": " << guide.end;
    }
}

TEST(PlanGuide, AModelThatFitsAGpuNeedsNothingButCopies)
{
    const PlanGuide guide = planGuide(jobOf("60-tiny-tp2-pp2-dp2.json"), test::catalogue());
    ASSERT_TRUE(guide.layout.has_value()) << guide.end;
    EXPECT_EQ(guide.layout->grid.dp, 8);
    EXPECT_EQ(guide.layout->grid.tp * guide.layout->grid.pp, 1);
}

TEST(PlanGuide, ExpertsHaveAGateAndTheirTraffic)
{
    const PlanGuide guide = planGuide(jobOf("50-mixtral-8x7b-ep8.json"), test::catalogue());
    ASSERT_TRUE(guide.layout.has_value()) << guide.end;
    EXPECT_TRUE(std::any_of(guide.gates.begin(), guide.gates.end(), [](const GuideGate& gate) {
        return gate.question.find("experts") != std::string::npos &&
               gate.numbers.find("wait for experts' traffic") != std::string::npos;
    }));
    double told = 0;
    for (const GuideTraffic& of : guide.traffic)
        told += of.exposedSeconds;
    double waited = 0;
    for (const Dimension dimension : {Dimension::tp, Dimension::cp, Dimension::ep, Dimension::pp, Dimension::dp})
        waited += 1e-9 * static_cast<double>(guide.layout->use[partOf<StepPart>(dimension)]);
    EXPECT_NEAR(told, waited, 1e-9) << "no dimension is left out that the step waits for";
}

TEST(PlanGuide, RunsNoLayerAgainWhereItFitsWithout)
{
    for (const char* file : {"45-llama3-70b-64-gpus.json", "50-mixtral-8x7b-ep8.json"}) {
        const PlanRequest request = jobOf(file);
        const PlanGuide guide = planGuide(request, test::catalogue());
        ASSERT_TRUE(guide.layout.has_value()) << guide.end;
        ScenarioDocument kept = guideDocument(request, guide.layout->settings);
        kept.set("training.recompute", "\"none\"");
        const auto step = simulate(resolvedScenario(kept, test::catalogue()));
        EXPECT_TRUE(step->metrics().stepTimeSeconds >= guide.layout->stepSeconds || !step->metrics().fits) << file;
    }
}

TEST(PlanGuide, SaysHowManyGpusACopyTakes)
{
    const PlanGuide guide = planGuide(jobOf("45-llama3-70b-64-gpus.json", 4), test::catalogue());
    ASSERT_FALSE(guide.layout);
    EXPECT_THAT(guide.end, testing::Not(testing::HasSubstr("GPUs over copies of")));
    EXPECT_THAT(guide.end, testing::HasSubstr("GPUs"));
}
