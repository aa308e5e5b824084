#include "sim/analysis/whole_run.h"

#include "sim/analysis/explain/explain_whole_run.h"
#include "sim/analysis/goodput.h"
#include "sim/text/duration_text.h"
#include "tests/sim/analysis/explained.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

using namespace sim;

TEST(WholeRun, IsNothingUnlessTheTokensAreSaid)
{
    EXPECT_FALSE(wholeRun(*simulate(test::smallScenario())));
}

TEST(WholeRun, IsItsStepsOneAfterTheOther)
{
    Scenario scenario = test::smallScenario(1, 2, 2);
    const double tokensAStep = 1.0 * scenario.training.globalBatchSize * scenario.training.sequenceLength;
    scenario.training.tokens = 1e6 * tokensAStep;
    const auto simulation = simulate(scenario);
    const std::optional<WholeRun> run = wholeRun(*simulation);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->steps, 1e6);
    EXPECT_DOUBLE_EQ(run->days, 1e6 * simulation->metrics().stepTimeSeconds / 86400);
    EXPECT_DOUBLE_EQ(run->gpuHours, run->days * 24 * 4);
    scenario.training.tokens += 1;
    EXPECT_EQ(wholeRun(*simulate(scenario))->steps, 1e6 + 1) << "the rest is a step, too";
}

TEST(WholeRun, TakesAtMostThePowerLimitsOfItsGpusAndThePriceOfTheirHours)
{
    Scenario scenario = test::smallScenario(1, 2, 2);
    const auto told = [](const Scenario& of) { return wholeRun(*simulate(of), 1e12); };
    EXPECT_FALSE(told(scenario).mostEnergyKwh()) << "not known";
    EXPECT_EQ(told(scenario).energyText(), "energy not known without the power limit of the GPU");
    scenario.cluster.gpu.powerWatts = 700;
    const WholeRun run = told(scenario);
    EXPECT_DOUBLE_EQ(*run.mostEnergyKwh(), run.days * 24 * 4 * 0.7);
    EXPECT_EQ(run.energyText(), "at most " + energyText(*run.mostEnergyKwh()) + " of the GPUs");
    const WholeRun round{.gpuHours = 2e6, .gpuWatts = 500};
    EXPECT_EQ(round.energyText(), "at most 1.00 GWh of the GPUs");
    EXPECT_EQ(round.priceText(2.5), "5,000,000 at 2.50 a GPU hour");
}

TEST(WholeRun, TokensAreSaidAsInReports)
{
    EXPECT_EQ(tokensText(15.6e12), "15.6 trillion tokens");
    EXPECT_EQ(tokensText(kTokensUnlessSaid), "1 trillion tokens");
    EXPECT_EQ(tokensText(300e9), "300 billion tokens");
    EXPECT_EQ(tokensText(2.5e6), "2.5 million tokens");
    EXPECT_EQ(tokensText(800'000), "800,000 tokens");
}

TEST(WholeRun, EnergyHasAUnitThatKeepsItShort)
{
    EXPECT_EQ(energyText(812), "812 kWh");
    EXPECT_EQ(energyText(999.6), "1.00 MWh");
    EXPECT_EQ(energyText(14'900), "14.9 MWh");
    EXPECT_EQ(energyText(3.21e6), "3.21 GWh");
}

TEST(WholeRun, ExplainsItsTimeAndItsGpuHours)
{
    Scenario scenario = test::smallScenario(2, 1, 1, 4);
    for (const bool fails : {false, true}) {
        if (fails)
            scenario.perturbations = {
                {.kind = PerturbationKind::failure, .failures = {.mtbfHours = 50'000, .replaceSeconds = 3600, .spares = 1}}};
        const auto simulation = simulate(scenario);
        for (const double tokens : {1e9, 1.3e12}) {
            const WholeRun run = lastingRun(*simulation, tokens);
            const Explanation time = explainRunTime(*simulation, tokens), hours = explainRunGpuHours(*simulation, tokens);
            test::expectSound(time);
            test::expectSound(hours);
            EXPECT_NEAR(time.result.value / 86400, run.days, 1e-9 * run.days);
            EXPECT_NEAR(hours.result.value, run.gpuHours, 1e-9 * run.gpuHours);
            EXPECT_EQ(time.inSymbols(), fails ? "T_run = N × T / G" : "T_run = N × T");
            const auto lasts = [](const WholeRun& of) { return durationText(of.days * 86400); };
            EXPECT_EQ(time.convention, lasts(wholeRun(*simulation, tokens)) + " of one step after the other" +
                                           (fails ? ", over the share of the time that trains: " + lasts(run) + "."
                                                  : ", without pauses and failures."));
        }
    }
}
