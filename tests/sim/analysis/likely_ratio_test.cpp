#include "sim/analysis/likely_ratio.h"

#include "sim/analysis/compare.h"
#include "sim/analysis/findings/findings.h"
#include "sim/answers/answers.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace sim;

namespace {

Scenario measured(double low, double high, double share = 0.5)
{
    Scenario scenario = test::smallScenario(2, 2, 2);
    scenario.uncertainty = {
        .level = 0.8, .stepLow = low, .stepHigh = high, .basis = "steps", .ratioShare = share, .ratioBasis = "pairs"};
    return scenario;
}

} // namespace

TEST(LikelyRatio, OfOneJobIsThatPartOfItsOwnInterval)
{
    const Scenario a = measured(0.9, 1.2);
    const LikelyRatio ratio = likelyRatio(a, a, 0.7);
    EXPECT_TRUE(ratio.isOfOneJob);
    EXPECT_NEAR(std::log(ratio.high / 0.7), 0.5 * std::log(1.2 / 0.9) / 2, 1e-12);
    EXPECT_NEAR(ratio.low * ratio.high, 0.7 * 0.7, 1e-12) << "both are off by the same: their ratio is not";
    EXPECT_EQ(ratio.basis, "pairs");
    EXPECT_EQ(ratio.level, 0.8);
}

TEST(LikelyRatio, OfAStepWithItselfIsSure)
{
    const Scenario a = measured(0.9, 1.2);
    Scenario b = a;
    b.name = "called otherwise";
    const LikelyRatio ratio = likelyRatio(a, b, 1);
    EXPECT_EQ(ratio.low, 1);
    EXPECT_EQ(ratio.high, 1);
    EXPECT_TRUE(ratio.isKnown());
    b.layout.placement = PlacementRule::roundRobin; // as long by chance
    EXPECT_LT(likelyRatio(a, b, 1).low, 1);
}

TEST(LikelyRatio, OfTwoJobsIsAsUnsureAsBoth)
{
    const Scenario a = measured(0.9, 1.2);
    Scenario b = measured(0.8, 1.1);
    b.training.stack.id = "another";
    const LikelyRatio ratio = likelyRatio(a, b, 1);
    EXPECT_FALSE(ratio.isOfOneJob);
    const double halfA = std::log(1.2 / 0.9) / 2, halfB = std::log(1.1 / 0.8) / 2;
    EXPECT_NEAR(std::log(ratio.high / ratio.low) / 2, std::hypot(halfA, halfB), 1e-12);
    EXPECT_NEAR(std::log(ratio.high * ratio.low) / 2, std::log(1.1 * 0.8) / 2 - std::log(1.2 * 0.9) / 2, 1e-12)
        << "what predictions of each are off by on average";
    const LikelyRatio back = likelyRatio(b, a, 1);
    EXPECT_NEAR(back.low * ratio.high, 1, 1e-12);
    for (const auto& change : {+[](Scenario& s) { s.model.hiddenSize *= 2; }, +[](Scenario& s) { s.cluster.efficiency.id = "x"; },
                               +[](Scenario& s) { s.training.precision = Precision::fp8; }}) {
        Scenario other = a;
        change(other);
        EXPECT_FALSE(likelyRatio(a, other, 1).isOfOneJob);
    }
    Scenario layout = a;
    layout.layout.tp = 4;
    EXPECT_TRUE(likelyRatio(a, layout, 1).isOfOneJob);
}

TEST(LikelyRatio, TellsWhatIsLargerThanTheNoise)
{
    const Scenario a = measured(0.9, 1.1); // half of it: about ±5 %
    EXPECT_FALSE(likelyRatio(a, a, 1).canTell());
    EXPECT_FALSE(likelyRatio(a, a, 0.97).canTell());
    EXPECT_FALSE(likelyRatio(a, a, 1.03).canTell());
    EXPECT_TRUE(likelyRatio(a, a, 0.9).canTell());
    EXPECT_TRUE(likelyRatio(a, a, 1.1).canTell());
    EXPECT_EQ(sureText(likelyRatio(a, a, 0.97)), "smaller than the model's own error");
    EXPECT_EQ(sureText(likelyRatio(a, a, 0.5)), "likely −52.4 % to −47.4 %");
    EXPECT_EQ(sureText({}), "") << "nothing is known";
}

TEST(LikelyRatio, IsTakenFromThePublishedSteps)
{
    const auto opened = test::openNumber("42");
    const Uncertainty& sure = opened.simulation->scenario().uncertainty;
    EXPECT_THAT(sure.ratioBasis, testing::HasSubstr("pairs of measured steps of one job"));
    EXPECT_GT(sure.ratioShare, 0.5);
    EXPECT_LT(sure.ratioShare, std::sqrt(2.0)) << "two predictions of one job err alike";
}

TEST(LikelyRatio, IsNoWiderWhereStepsByThemselvesAreToldBadly)
{
    // Small models on short sequences spread ZeRO-3's steps by a factor of two; layouts of one of them share that.
    const auto opened = test::openNumber("01", {"cluster.base=dgx-a100", "training.stack=deepspeed-2023"});
    const Scenario& scenario = opened.simulation->scenario();
    ASSERT_GT(scenario.uncertainty.stepHigh / scenario.uncertainty.stepLow, 2);
    EXPECT_TRUE(likelyRatio(scenario, scenario, 1.26).canTell());
    EXPECT_FALSE(likelyRatio(scenario, scenario, 1.05).canTell());
}

TEST(LikelyRatio, StandsInComparisonsAndEffects)
{
    const auto before = test::openNumber("17"), after = test::openNumber("17", {"schedule.kind=zb-h1"});
    const Comparison both = compare(*before.simulation, *after.simulation);
    const double ratio = after.simulation->metrics().stepTimeSeconds / before.simulation->metrics().stepTimeSeconds;
    EXPECT_EQ(both.likely, likelyRatio(before.simulation->scenario(), after.simulation->scenario(), ratio));
    const EditEffect effect = effectOf(*before.simulation, *after.simulation);
    EXPECT_DOUBLE_EQ(effect.likely.predicted, 1 + effect.timePerToken);
    EXPECT_NEAR(effect.likely.predicted, ratio, 1e-9) << "the batch is the same";
}

TEST(LikelyRatio, StandsInFindingsThatWereTried)
{
    const auto opened = test::openNumber("17");
    Answer answer = stepAnswer(*opened.simulation);
    addFindings(answer, findings(*opened.simulation, opened.document, test::catalogue()), *opened.simulation, opened.document,
                test::catalogue());
    int tried = 0;
    for (const Answer& finding : answer.at("findings"))
        for (const Answer& edit : finding.at("tried")) {
            ASSERT_FALSE(edit.contains("error")) << edit.dump();
            const double predicted = edit.at("time_per_token");
            EXPECT_LT(edit.at("interval").at(0), predicted);
            EXPECT_GT(edit.at("interval").at(1), predicted);
            EXPECT_EQ(edit.at("can_tell"), edit.at("interval").at(0) > 0 || edit.at("interval").at(1) < 0) << edit.dump();
            EXPECT_FALSE(edit.at("changes").empty());
            ++tried;
        }
    EXPECT_GT(tried, 0);
}
