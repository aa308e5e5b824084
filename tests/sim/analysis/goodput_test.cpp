#include "sim/analysis/goodput.h"
#include "sim/model/parameters.h"

#include "sim/analysis/explain/explain_goodput.h"
#include "sim/analysis/explain/explain_whole_run.h"
#include "sim/text/duration_text.h"
#include "sim/text/number_text.h"
#include "tests/support/catalogue.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>

using namespace sim;

namespace {

constexpr double kDay = 86400;

double totalOf(const RunShares& s)
{
    return s.useful + s.saving + s.repeated + s.restarting + s.waiting;
}

double usefulOf(const FailingJob& job)
{
    return runShares(job).useful;
}

Scenario failing(Failures failures = {}, int dp = 4)
{
    Scenario scenario = test::smallScenario(2, 2, dp);
    scenario.perturbations = {{.kind = PerturbationKind::failure, .failures = failures}};
    return scenario;
}

} // namespace

TEST(Goodput, SaysChosenLevelsWithoutDecimals)
{
    Goodput of;
    of.months = MonthsOfRun{.months = 400, .mean = 0.92, .low = 0.9081, .high = 0.9};
    EXPECT_EQ(of.monthsText(), "90.8 % to 90.0 % in 80 % of such times");
    EXPECT_EQ(chosenPercentText(0.025), "2.5 %");
    EXPECT_EQ(chosenPercentText(0.1), "10 %");
}

TEST(Goodput, IsOfScenariosWithFailuresAlone)
{
    EXPECT_FALSE(goodput(*simulate(test::smallScenario())));
    EXPECT_EQ(failuresOf(test::smallScenario()), nullptr);
    EXPECT_TRUE(goodput(*simulate(failing())));
}

TEST(Goodput, SharesAddUpAndFollowDalysFormula)
{
    std::mt19937 random(5);
    std::uniform_real_distribution<double> logarithm(-2, 5);
    const auto any = [&] { return std::pow(10.0, logarithm(random)); };
    for (int i = 0; i < 500; ++i) {
        const FailingJob job{.mtbf = any() * 10, .every = any(), .save = any(), .restart = any(), .replace = 0, .spares = i % 4};
        const RunShares shares = runShares(job);
        EXPECT_NEAR(totalOf(shares), 1, 1e-12);
        for (const double share : {shares.useful, shares.saving, shares.repeated, shares.restarting})
            EXPECT_GE(share, -1e-15);
        const double wall = job.mtbf * std::exp(job.restart / job.mtbf) * std::expm1((job.every + job.save) / job.mtbf);
        EXPECT_NEAR(shares.useful, job.every / wall, 1e-9 * job.every / wall);
    }
}

TEST(Goodput, WithoutFailuresOnlySavesCost)
{
    const RunShares shares = runShares({.mtbf = 1e18, .every = 300, .save = 3, .restart = 600, .replace = 7200});
    EXPECT_NEAR(shares.useful, 300.0 / 303, 1e-12);
    EXPECT_NEAR(shares.saving, 3.0 / 303, 1e-12);
    EXPECT_NEAR(shares.repeated + shares.restarting + shares.waiting, 0, 1e-12);
}

TEST(Goodput, AJobThatFailsFasterThanItRestartsNeverGetsOn)
{
    const RunShares shares = runShares({.mtbf = 0.001, .every = 10, .save = 1, .restart = 600});
    EXPECT_EQ(shares.useful, 0);
    EXPECT_NEAR(shares.restarting, 1, 1e-12);
    Scenario scenario = failing({.mtbfHours = 0.001});
    scenario.training.tokens = 1e12;
    const auto never = goodput(*simulate(scenario));
    EXPECT_EQ(never->shares.useful, 0);
    EXPECT_TRUE(std::isinf(never->run->days));
    EXPECT_EQ(never->runText(), "practically never ends");
}

TEST(Goodput, ARunThatNeverEndsIsToldByWhatTakesMostOfItsTime)
{
    constexpr double kTokens = 1e12;
    const auto why = [](const Failures& failures) {
        const auto simulation = simulate(failing(failures));
        EXPECT_EQ(explainRunGpuHours(*simulation, kTokens).convention, explainRunTime(*simulation, kTokens).convention);
        return explainRunTime(*simulation, kTokens).convention;
    };
    EXPECT_EQ(why({.mtbfHours = 0.001}), "It practically never ends: restarts fail before training goes on.");
    EXPECT_EQ(why({.mtbfHours = 0.001, .replaceSeconds = 1e9}),
              "It practically never ends: it waits for nodes that failed to be replaced.");
}

TEST(Goodput, TheBestIntervalIsWhereItsDerivativeIsNone)
{
    for (const double save : {0.1, 3.0, 60.0, 900.0, 20000.0})
        for (const double mtbf : {600.0, 10000.0, 1e6}) {
            const double best = bestInterval(save, mtbf);
            FailingJob job{.mtbf = mtbf, .every = best, .save = save, .restart = 300};
            const double most = usefulOf(job), small = 1e-4 * best;
            job.every = best + small;
            const double above = usefulOf(job);
            job.every = best - small;
            const double below = usefulOf(job);
            EXPECT_NEAR((above - below) / (2 * small) * best, 0, 1e-6 * most) << save << " " << mtbf;
            EXPECT_GE(most, above);
            EXPECT_GE(most, below);
            if (save < 0.02 * mtbf) { // Daly 2006, equation 37
                const double part = std::sqrt(save / (2 * mtbf));
                const double daly = std::sqrt(2 * save * mtbf) * (1 + part / 3 + part * part / 9) - save;
                EXPECT_NEAR(best, daly, 1e-3 * daly) << save << " " << mtbf;
            }
        }
    EXPECT_EQ(bestInterval(0, 1000), 0);
    for (const double save : {0.001, 2.0}) // failures so rare that the difference of two numbers near 1 would leave nothing
        EXPECT_NEAR(bestInterval(save, 1e15), std::sqrt(2 * save * 1e15), 1e-6 * std::sqrt(2 * save * 1e15));
}

TEST(Goodput, WhatIsUndoneWasNeverCredited)
{
    // An interval of many months: whatever a failure undoes was made in months before.
    const FailingJob job{.mtbf = 2 * kDay, .every = 5 * kDay, .save = 10, .restart = 60};
    const auto months = simulateMonths(job, kDay / 10, kMonths, 1);
    ASSERT_TRUE(months);
    EXPECT_GE(months->low, 0);
    EXPECT_LE(months->high, 1);
}

TEST(Goodput, SavesFallBetweenStepsWhereTheyLoseLeast)
{
    const auto simulation = simulate(failing({.mtbfHours = 0.5, .checkpointSeconds = 0.2}));
    const Goodput found = *goodput(*simulation);
    const double step = simulation->metrics().stepTimeSeconds;
    EXPECT_EQ(found.job.every, found.everySteps * step);
    EXPECT_EQ(found.everySteps, std::floor(found.everySteps));
    for (const double other : {found.everySteps - 1, found.everySteps + 1}) {
        FailingJob job = found.job;
        job.every = std::max(1.0, other) * step;
        EXPECT_LE(usefulOf(job), found.shares.useful);
    }
    EXPECT_EQ(goodput(*simulate(failing({.checkpointEverySeconds = 10.2 * step})))->everySteps, 10);
    EXPECT_EQ(goodput(*simulate(failing({.checkpointEverySeconds = 0})))->everySteps, 1) << "at least a step";
    EXPECT_EQ(goodput(*simulate(failing({.checkpointSeconds = 0})))->everySteps, 1) << "saves that cost nothing";
}

/// However far apart saves were asked for: a run ends before, and is saved then. Of what takes W in one go, failures make
/// M (e^(W/M) − 1): the mean time until W passes without one.
TEST(Goodput, ARunIsSavedAtItsEndAtTheLatest)
{
    constexpr double kTokens = 1e9;
    const double steps = wholeRun(*simulate(failing()), kTokens).steps;
    const double training = steps * simulate(failing())->metrics().stepTimeSeconds;
    const auto withMtbf = [&](double seconds) {
        Scenario scenario = failing({.mtbfHours = seconds * 16 / 3600, .checkpointEverySeconds = 10 * training});
        Failures& f = scenario.perturbations[0].failures;
        f.checkpointSeconds = f.restartSeconds = f.replaceSeconds = 0;
        return scenario;
    };
    for (const double mtbf : {10 * training, training, training / 5}) {
        Scenario scenario = withMtbf(mtbf);
        const double expected = mtbf * std::expm1(training / mtbf) / kDay;
        EXPECT_NEAR(lastingRun(*simulate(scenario), kTokens).days, expected, 1e-9 * expected) << "of a scenario that says none";
        EXPECT_NEAR(goodput(*simulate(scenario))->everySteps, 10 * steps, 0.5) << "of training without an end";
        scenario.training.tokens = kTokens;
        const Goodput found = *goodput(*simulate(scenario));
        EXPECT_NEAR(found.run->days, expected, 1e-9 * expected);
        EXPECT_EQ(found.everySteps, steps);
        EXPECT_LE(found.bestSeconds, training * (1 + 1e-12));
        EXPECT_TRUE(found.savesText().starts_with("once, at the end of the run (" + countedText(std::int64_t(steps), "step")))
            << found.savesText();
    }
    Scenario scenario = withMtbf(training / 50); // e^50 tries
    scenario.training.tokens = kTokens;
    const auto simulation = simulate(scenario);
    const Goodput never = *goodput(*simulation);
    EXPECT_GT(never.shares.useful, 0);
    EXPECT_EQ(never.runText(), "practically never ends");
    EXPECT_TRUE(std::isinf(lastingRun(*simulation, kTokens).gpuHours));
    EXPECT_EQ(explainRunTime(*simulation, kTokens).convention,
              "It practically never ends: what is trained is undone before it is saved.");
}

TEST(Goodput, MoreSparesAreNeverWorse)
{
    FailingJob job{.mtbf = 3600, .every = 300, .save = 5, .restart = 300, .replace = 6 * 3600};
    double before = 0;
    for (job.spares = 0; job.spares < 40; ++job.spares) {
        EXPECT_GE(usefulOf(job), before) << job.spares;
        before = usefulOf(job);
    }
    EXPECT_NEAR(runShares(job).waiting, 0, 1e-9) << "forty spares for six that are away";
    job.spares = 0;
    EXPECT_NEAR(runShares(job).waiting, 6.0 / 7, 1e-12) << "without any it waits for each: up M, down D";
}

TEST(Goodput, TwiceTheGpusFailTwiceAsOften)
{
    const auto one = goodput(*simulate(failing({}, 4))), two = goodput(*simulate(failing({}, 8)));
    EXPECT_DOUBLE_EQ(two->failures, 2 * one->failures);
    EXPECT_DOUBLE_EQ(one->job.mtbf, 50000 * 3600.0 / 16);
    EXPECT_LT(two->shares.useful, one->shares.useful);
}

TEST(Goodput, PlayedThroughItIsWhatTheFormulaSays)
{
    for (const FailingJob& job :
         {FailingJob{.mtbf = 10000, .every = 600, .save = 20, .restart = 600},
          FailingJob{.mtbf = 3000, .every = 2000, .save = 100, .restart = 900},
          FailingJob{.mtbf = 3000, .every = 40, .save = 9, .restart = 4000},
          FailingJob{.mtbf = 7200, .every = 500, .save = 10, .restart = 300, .replace = 14400},
          FailingJob{.mtbf = 7200, .every = 500, .save = 10, .restart = 300, .replace = 14400, .spares = 2},
          FailingJob{.mtbf = 7200, .every = 500, .save = 10, .restart = 300, .replace = 36000, .spares = 5}}) {
        const auto months = simulateMonths(job, 30 * kDay, kMonths, 1);
        ASSERT_TRUE(months);
        const double formula = usefulOf(job);
        EXPECT_NEAR(months->mean, formula, 0.003) << job.mtbf << " " << job.replace << " " << job.spares;
        EXPECT_LT(months->low, months->mean);
        EXPECT_GT(months->high, months->mean);
        EXPECT_EQ(simulateMonths(job, 30 * kDay, kMonths, 1)->mean, months->mean) << "deterministic";
        EXPECT_NE(simulateMonths(job, 30 * kDay, kMonths, 2)->mean, months->mean);
    }
}

TEST(Goodput, MonthsDifferByTheSpreadOfTheirFailures)
{
    // So few that they come one by one: each costs a restart and half an interval, and a month has a Poisson number of them.
    const FailingJob job{.mtbf = 30 * kDay / 100, .every = 600, .save = 0, .restart = 5000};
    const auto months = simulateMonths(job, 30 * kDay, kMonths, 3);
    const double deviation = 10 * 5300 / (30 * kDay); // of 100 failures
    EXPECT_NEAR((months->high - months->low) / (2 * 1.2816 * deviation), 1, 0.25);
}

TEST(Goodput, TooManyFailuresAreLeftToTheFormula)
{
    const FailingJob job{.mtbf = 1, .every = 0.1, .save = 0, .restart = 0.1};
    EXPECT_FALSE(simulateMonths(job, 30 * kDay, kMonths, 1));
    const auto fewer = simulateMonths(job, 2000, kMonths, 1);
    ASSERT_TRUE(fewer) << "what fits is played";
    EXPECT_LT(fewer->months, kMonths);
    EXPECT_NEAR(fewer->mean, usefulOf(job), 0.003);
}

/// The report: 466 interruptions of 16,384 GPUs in 54 days, "higher than 90 % effective training time".
TEST(Goodput, OfLlama3IsWhatItsReportSays)
{
    const auto opened =
        test::openNumber("42", {R"(perturbations=[{"kind":"failure","mtbf_hours":45565,"days":54}])", "training.tokens=1.56e13"});
    const Goodput found = *goodput(*opened.simulation);
    EXPECT_NEAR(found.failures, 466, 0.5);
    EXPECT_GT(found.shares.useful, 0.90);
    EXPECT_LT(found.shares.useful, 0.95);
    EXPECT_LT(found.job.save, 5) << "2 TB/s for less than 6 TB";
    ASSERT_TRUE(found.months);
    EXPECT_GT(found.shares.useful, found.months->low);
    EXPECT_LT(found.shares.useful, found.months->high);
    EXPECT_DOUBLE_EQ(found.run->days, wholeRun(*opened.simulation)->days / found.shares.useful);
}

TEST(Goodput, CheckpointsHoldEveryStateOnce)
{
    Scenario scenario = failing();
    const auto simulation = simulate(scenario);
    const Goodput found = *goodput(*simulation);
    const auto parameters = static_cast<double>(simulation->metrics().parameters);
    EXPECT_EQ(found.checkpointBytes, 14 * parameters) << "16-bit parameters, master copy, two moments";
    EXPECT_DOUBLE_EQ(found.job.save, 14 * parameters / 2e9) << "two nodes write 1 GB/s each";
    Scenario predicting = scenario; // modules of multi-token prediction are trained, and saved
    predicting.model.numNextnPredictLayers = 2;
    const std::int64_t modules = predictionParameterCount(predicting.model);
    ASSERT_GT(modules, 0);
    EXPECT_EQ(goodput(*simulate(predicting))->checkpointBytes, 14 * (parameters + static_cast<double>(modules)));
    scenario.perturbations[0].failures.spares = 3;
    scenario.training.tokens = 1e9;
    const auto spared = goodput(*simulate(scenario));
    EXPECT_DOUBLE_EQ(spared->run->gpuHours, spared->run->days * 24 * (16 + 3 * 8));
}

TEST(Goodput, ItsSharesAddUpAsTheyAreRead)
{
    for (const double hours : {5.0, 7.0, 10.0, 13.0, 17.0, 23.0, 31.0, 47.0}) {
        const std::string text =
            goodput(*simulate(failing({.mtbfHours = hours, .replaceSeconds = 3600, .spares = 1})))->sharesText();
        long tenths = 0;
        static const std::regex kShare("([0-9]+)\\.([0-9]) %");
        for (std::sregex_iterator at(text.begin(), text.end(), kShare), end; at != end; ++at)
            tenths += 10 * std::stol((*at)[1]) + std::stol((*at)[2]);
        EXPECT_EQ(tenths, 1000) << text;
    }
}

TEST(Goodput, SaysItInWords)
{
    const Goodput found = *goodput(*simulate(failing({.mtbfHours = 10, .replaceSeconds = 3600, .spares = 1})));
    EXPECT_NE(found.sharesText().find(" % training, "), std::string::npos) << found.sharesText();
    EXPECT_NE(found.failuresText().find(" in 30.0 days, one in 37.5 min"), std::string::npos) << found.failuresText();
    EXPECT_TRUE(found.failuresText().ends_with(" while it runs")) << "it also waits for nodes: " << found.failuresText();
    const Goodput spared = *goodput(*simulate(failing({.mtbfHours = 10, .replaceSeconds = 0})));
    EXPECT_TRUE(spared.failuresText().ends_with("one in 37.5 min")) << spared.failuresText();
    EXPECT_EQ(durationText(119), "119 s");
    EXPECT_EQ(durationText(120), "2.00 min");
    EXPECT_EQ(durationText(7200), "2.00 h");
    EXPECT_EQ(durationText(3 * kDay), "3.00 days");
    EXPECT_EQ(durationText(0.004), "4.00 ms");
    EXPECT_EQ(durationText(INFINITY), "forever");
}

TEST(Goodput, ExplainsItself)
{
    const auto simulation = simulate(failing({.mtbfHours = 10, .replaceSeconds = 3600, .spares = 1}));
    const Goodput found = *goodput(*simulation);
    const Explanation why = explainGoodput(*simulation, found);
    double product = 1;
    for (const Term& term : why.terms)
        product *= term.quantity.value;
    EXPECT_EQ(why.terms.size(), 4U);
    EXPECT_NEAR(product, found.shares.useful, 1e-12);
    EXPECT_EQ(why.inSymbols(), "G = u_r × u_w × u_s × u_n");
}
