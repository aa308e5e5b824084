#include "sim/analysis/explain/explain.h"

#include "sim/analysis/explain/closed_forms.h"
#include "sim/analysis/explain/explain_rank.h"
#include "sim/analysis/step_by_flops.h"
#include "sim/simulate/exposed_transfers.h"
#include "tests/sim/analysis/explained.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <map>

using namespace sim;
using test::expectNear;
using test::expectSound;

namespace {

void expectAllSound(const Simulation& simulation, std::optional<int> rank = {})
{
    for (std::size_t i = 0; i < kMetricIdCount; ++i) {
        const auto id = static_cast<MetricId>(i);
        const Explanation e = explain(simulation, id, rank);
        EXPECT_EQ(e.result.value, metricValue(simulation, id, rank)) << e.name;
        expectSound(e);
    }
}

} // namespace

TEST(Explain, WhatNobodySharesDataForIsNotCalledDp)
{
    const auto opened = test::openNumber("65"); // a pipeline of one replica, with a shared embedding
    const std::string formula = explain(*opened.simulation, MetricId::stepTime).inSymbols();
    EXPECT_NE(formula.find("t_embedding"), std::string::npos) << formula;
    EXPECT_EQ(formula.find("t_dp"), std::string::npos) << formula;
    EXPECT_EQ(explain(*opened.simulation, StepPart::dp).result.symbol, "t_embedding");
}

TEST(Explain, WaitingForTheHostIsNotCalledCommunicationInTheBubble)
{
    const auto opened = test::openNumber("86", {"training.offload.optimizer=1"});
    const Explanation bubble = explain(*opened.simulation, MetricId::bubble);
    const Metrics& m = opened.simulation->metrics();
    std::map<std::string, double> terms; // of the bubble's time, too
    test::forAll(bubble, [&terms](const Explanation& of) {
        for (const Term& term : of.terms)
            terms[term.quantity.symbol] = term.quantity.value;
    });
    ASSERT_TRUE(terms.contains("t_comm") && terms.contains("t_host")) << bubble.inSymbols();
    expectNear(terms.at("t_comm"), m.exposedComm.total() * m.stepTimeSeconds, 1e-9);
    expectNear(terms.at("t_host"), m.exposedHost * m.stepTimeSeconds, 1e-9);
    expectSound(bubble);
}

TEST(Explain, StatesThatNobodyElseHasAreNotSaidToBeShared)
{
    const auto said = [](const std::string& number, const std::vector<std::string>& overrides = {}) {
        return explain(*test::openNumber(number, overrides).simulation, MetricId::optimizerMemory).convention;
    };
    EXPECT_EQ(said("56"), "There is one data-parallel rank: nothing to share.");
    EXPECT_EQ(said("56", {"layout.zero_stage=1"}), "There is one data-parallel rank: nothing to share.");
    EXPECT_EQ(said("06"), "There is one data-parallel rank: nothing to share.");
    EXPECT_EQ(said("57", {"layout.zero_stage=0"}), "Whole on every data-parallel rank: ZeRO 1 would share them.");
    EXPECT_TRUE(said("57", {"layout.zero_stage=1"}).starts_with("Sharded by ZeRO 1."));
    EXPECT_EQ(said("63", {"layout.zero_stage=0"}),
              "Whole on every data-parallel rank: ZeRO 1 would share them. Of experts there is one copy.");
}

TEST(Explain, EveryNumberOfTheGalleryComesOutOfItsOwnFormula)
{
    for (const auto& file : test::tried(test::galleryFiles())) {
        SCOPED_TRACE(file.filename().string());
        expectAllSound(*test::open(file).simulation);
    }
}

TEST(Explain, AndOfRandomJobs)
{
    std::mt19937 random(24);
    for (int i = 0; i < test::tries(60); ++i) {
        const Scenario scenario = test::randomScenario(random, 96);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        expectAllSound(*simulation, static_cast<int>(random() % static_cast<unsigned>(scenario.layout.worldSize())));
    }
}

TEST(Explain, AndOfAdapters)
{
    for (const Scenario& scenario : test::adaptedScenarios()) {
        SCOPED_TRACE(test::describe(scenario));
        expectAllSound(*simulate(scenario));
    }
}

TEST(Explain, TheBubbleOfASlowRankIsNotBlamedOnStages)
{
    const auto convention = [](const std::vector<std::string>& overrides) {
        return explain(*test::openNumber("41", overrides).simulation, MetricId::bubble).convention;
    };
    const std::string slow = convention({R"(perturbations=[{"kind":"slow_gpu","rank":0,"factor":1.2}])"});
    EXPECT_NE(slow.find("ranks also wait for rank 0, which is slow."), std::string::npos) << slow;
    EXPECT_EQ(slow.find("not equal"), std::string::npos) << slow;
    EXPECT_EQ(convention({}).find("rank 0"), std::string::npos);
}

TEST(Explain, WhatPapersCountIsSaidOfSchedulesThatHaveAClosedForm)
{
    const auto convention = [](const char* kind, int chunks, int ranks = 4) {
        Scenario scenario = test::smallScenario(1, ranks, 1, 8);
        scenario.schedule.kind = kind;
        scenario.schedule.virtualStages = chunks;
        scenario.schedule.layersPerStage.clear();
        test::resolve(scenario); // layers of each stage are as many as stages
        return explain(*simulate(scenario), MetricId::bubble).convention;
    };
    EXPECT_NE(convention("1f1b", 1).find("over the ideal time, as papers also count, 3 / 8 = 37.5 %."), std::string::npos);
    EXPECT_NE(convention("interleaved-1f1b", 2).find("3 / 16 = 18.8 %."), std::string::npos);
    for (const std::string& other : {convention("zb-h1", 1), convention("zb-v", 2), convention("1f1b", 1, 1)})
        EXPECT_EQ(other.find("papers"), std::string::npos) << other;
}

TEST(Explain, TheFormulaOfFewerMicroBatchesThanRanksIsTheOneThatGivesItsValue)
{
    const auto form = [](int microbatches) {
        Scenario scenario = test::smallScenario(1, 4, 1, microbatches);
        scenario.schedule.kind = "interleaved-1f1b";
        scenario.schedule.virtualStages = 2;
        return bubbleForm(scenario)->text;
    };
    EXPECT_EQ(form(8), "(p − 1) / (v × m + p − 1) = 3 / 19 = 15.8 %");
    EXPECT_EQ(form(3), "(v × p + m − 1 − v × m) / (v × p + m − 1) = 4 / 10 = 40.0 %");
}

TEST(Explain, ParametersThatProductsCastAreKeptInBf16)
{
    const auto kept = [](const char* precision) {
        std::string out;
        test::forAll(explain(*test::openNumber("10", {std::string("training.precision=") + precision}).simulation,
                             MetricId::parameterMemory),
                     [&](const Explanation& e) {
                         for (const Term& term : e.terms)
                             out += term.quantity.symbol == "b" ? term.meaning : "";
                     });
        return out;
    };
    EXPECT_EQ(kept("bf16"), "a parameter: one value of the training precision");
    EXPECT_EQ(kept("fp8"), "a parameter: one value in bf16; products cast it");
}

TEST(Explain, WhoseLinkIsSlowIsNotCalledSlow)
{
    const std::string slow =
        explain(*test::openNumber("41", {R"(perturbations=[{"kind":"slow_link","rank":0,"factor":4}])"}).simulation,
                MetricId::bubble)
            .convention;
    EXPECT_NE(slow.find("ranks also wait for rank 0, whose link is slow."), std::string::npos) << slow;
}

TEST(Explain, PartsOfTheStepAddUpToIt)
{
    std::mt19937 random(22);
    for (int i = 0; i < 40; ++i) {
        const Scenario scenario = test::randomScenario(random, 64);
        SCOPED_TRACE(test::describe(scenario));
        const auto simulation = simulate(scenario);
        const ByStepPart<double> shares = stepByFlops(*simulation);
        EXPECT_NEAR(shares.total(), simulation->metrics().stepTimeSeconds, 1e-9);
        EXPECT_NEAR(shares[StepPart::modelFlops] / shares.total(), simulation->metrics().mfu, 1e-12);
        EXPECT_NEAR((shares[StepPart::modelFlops] + shares[StepPart::recomputedFlops]) / shares.total(),
                    simulation->metrics().hfu, 1e-12);
        EXPECT_GE(shares[StepPart::belowPeak], 0);
    }
}

TEST(Explain, FormulasPrintBracketsWhereTheyChangeTheResult)
{
    const std::vector<Quantity> q{{"a", 2, Unit::count}, {"b", 3, Unit::count}, {"c", 4, Unit::count}};
    const Formula a = Formula::term(0), b = Formula::term(1), c = Formula::term(2);
    EXPECT_EQ((a + b * c).inSymbols(q), "a + b × c");
    EXPECT_EQ(((a + b) * c).inSymbols(q), "(a + b) × c");
    EXPECT_EQ((a / (b * c)).inSymbols(q), "a / (b × c)");
    EXPECT_EQ((a * b / c).inNumbers(q), "2 × 3 / 4");
    EXPECT_EQ((a - (b - c)).inNumbers(q), "2 − (3 − 4)");
    for (const Formula& f : {a + b * c, (a + b) * c, a / (b * c), a / b / c, a / (b / c), a - (b - c), a - b - c, a * (b / c)})
        EXPECT_DOUBLE_EQ(test::evaluate(f.inNumbers(q)), f.evaluate(q)) << f.inSymbols(q);
}

TEST(Explain, NumbersGetAsManyDigitsAsTheSumNeeds)
{
    // The difference of two near numbers: four digits of each would leave nothing.
    const std::vector<Quantity> q{{"a", 1.0, Unit::number}, {"b", 0.99991234, Unit::number}};
    const Formula difference = Formula::term(0) - Formula::term(1);
    expectNear(test::evaluate(difference.inNumbers(q)), 1 - 0.99991234, 0.001);
}

TEST(Explain, ShowsTheNumbersOfTheScenario)
{
    const auto opened = test::openNumber("42");
    const Explanation mfu = explain(*opened.simulation, MetricId::mfu);
    EXPECT_EQ(mfu.inSymbols(), "MFU = C / (T × N × P)");
    EXPECT_NE(mfu.inNumbers().find("16,384"), std::string::npos) << mfu.inNumbers();
    EXPECT_NE(mfu.inNumbers().find("989 TFLOP/s)"), std::string::npos) << mfu.inNumbers();
    EXPECT_NE(mfu.source.find("PaLM"), std::string::npos);
    EXPECT_NE(mfu.source.find("half of that here"), std::string::npos) << "PaLM counts attention in full: " << mfu.source;
    const std::string inFull = explain(*opened.simulation, MetricId::mfuFullAttention).source;
    EXPECT_NE(inFull.find("PaLM"), std::string::npos);
    EXPECT_EQ(inFull.find("half"), std::string::npos) << inFull;
    const Explanation parameters = explain(*opened.simulation, MetricId::parameters);
    EXPECT_EQ(test::evaluate(parameters.inNumbers()), 405853388800.0) << parameters.inNumbers();
}

TEST(Explain, MemoryIsOfTheRankThatIsAskedFor)
{
    const auto opened = test::openNumber("58"); // 1F1B on four pipeline ranks
    const auto alive = [&](int rank) { return explain(*opened.simulation, MetricId::activationMemory, rank).result.value; };
    EXPECT_GT(alive(0), alive(3));
    EXPECT_EQ(explain(*opened.simulation, MetricId::peakMemory).result.value,
              explain(*opened.simulation, MetricId::peakMemory, fullestRank(*opened.simulation)).result.value);
    EXPECT_NEAR(explain(*opened.simulation, MetricId::peakMemory).result.value / 1073741824.0,
                opened.simulation->metrics().peakMemoryGib, 1e-9);
}

TEST(Explain, ClosedFormsAreOfTheKindsThatHaveOne)
{
    Scenario scenario = test::smallScenario(1, 4, 1, 8);
    EXPECT_DOUBLE_EQ(bubbleForm(scenario)->share, 3.0 / 11);
    EXPECT_EQ(bubbleForm(scenario)->text, "(p − 1) / (m + p − 1) = 3 / 11 = 27.3 %");
    EXPECT_EQ(bubbleForm(scenario)->ofIdeal, "3 / 8 = 37.5 %");
    scenario.schedule.kind = "interleaved-1f1b";
    scenario.schedule.virtualStages = 2;
    EXPECT_DOUBLE_EQ(bubbleForm(scenario)->share, 3.0 / 19);
    EXPECT_EQ(bubbleForm(scenario)->ofIdeal, "3 / 16 = 18.8 %");
    scenario.schedule.kind = "zb-h1";
    EXPECT_FALSE(bubbleForm(scenario));
    EXPECT_FALSE(bubbleForm(test::smallScenario(4, 1)));
}

TEST(NumberText, KeepsUnitsShort)
{
    EXPECT_EQ(numberText(0.4123, Unit::seconds), "412 ms");
    EXPECT_EQ(numberText(0.99999, Unit::seconds), "1.00 s");
    EXPECT_EQ(numberText(16384, Unit::count), "16,384");
    EXPECT_EQ(numberText(-16384, Unit::count), "-16,384");
    EXPECT_EQ(numberText(71.2 * 1073741824.0, Unit::bytes), "71.2 GiB");
    EXPECT_EQ(numberText(6.914e18, Unit::flops, 4), "6.914 EFLOP");
    EXPECT_EQ(numberText(989e12, Unit::flopRate), "989 TFLOP/s");
    EXPECT_EQ(numberText(0, Unit::bytes), "0 B");
    for (const double value : {0.00012345, 1.9996, 99.96, 123456.7, 0.0})
        for (const Unit unit : {Unit::number, Unit::seconds, Unit::bytes, Unit::flops, Unit::fraction})
            expectNear(test::evaluate(numberText(value, unit, 5)), asShown(value, unit, 5), 1e-9);
}

TEST(Explain, ExposedCommunicationIsToldByWhatIsTransferred)
{
    // One exchange a step: the gradients of two replicas.
    const auto simulation = test::openNumber("01").simulation;
    const auto kindsOfStep = exposedKinds(*simulation);
    const auto& kinds = kindsOfStep[Dimension::dp];
    ASSERT_EQ(kinds.size(), 1U);
    EXPECT_EQ(kinds[0].op, "grad.reduce");
    EXPECT_TRUE(kindsOfStep[Dimension::tp].empty());
    std::mt19937 random(7);
    for (int i = 0; i < 40; ++i) {
        const auto job = simulate(test::randomScenario(random, 64));
        SCOPED_TRACE(test::describe(job->scenario()));
        const auto kindsOfJob = exposedKinds(*job);
        for (const Dimension dimension : kDimensions) {
            double sum = 0, before = 1e300;
            for (const ExposedKind& kind : kindsOfJob[dimension]) {
                EXPECT_LE(kind.seconds, before) << kind.op;
                EXPECT_FALSE(kind.op.empty());
                before = kind.seconds;
                sum += kind.seconds;
            }
            const double whole = job->metrics().exposedComm[dimension] * job->metrics().stepTimeSeconds;
            EXPECT_NEAR(sum, whole, 1e-9 * whole + 1e-9);
        }
    }
}

TEST(Explain, TheHostsRateIsTheOneThatWasSimulated)
{
    Scenario scenario = test::offloadedScenario(1, 0, 2); // two ranks on a node of eight GPUs
    const auto simulation = simulate(scenario);
    const Cluster& cluster = simulation->scenario().cluster;
    ASSERT_EQ(cluster.gpusPerNode, 8);
    const double rate = cluster.host.memoryBandwidthGBs * cluster.efficiency.hostMemory / 2;
    bool said = false;
    test::forAll(explain(*simulation, MetricId::stepTime), [&](const Explanation& e) {
        if (const auto at = e.convention.find("its share of the host's memory "); at != std::string::npos) {
            EXPECT_NE(e.convention.find("memory " + numberText(rate, Unit::number) + " GB/s", at), std::string::npos)
                << e.convention;
            said = true;
        }
    });
    EXPECT_TRUE(said);
}

TEST(Explain, GradientsOnTheHostAreTakenOffThoseOfTheGpu)
{
    Scenario scenario = test::offloadedScenario(0.75, 0);
    scenario.layout.zeroStage = 3;
    const auto gradients = [&] { return explain(*simulate(scenario), MetricId::gradientMemory); };
    const double whole = gradients().result.value;
    scenario.training.stack.offloadsGradients = true;
    const Explanation quarter = gradients();
    EXPECT_NEAR(quarter.result.value, whole / 4, 1);
    bool said = false;
    for (const Term& term : quarter.terms)
        said = said || (term.quantity.symbol == "f" && term.quantity.value == 0.75);
    EXPECT_TRUE(said);
}

TEST(Explain, LaunchesThatAreInMeasuredTimesAreTold)
{
    Scenario scenario = test::offloadedScenario(1, 0, 2);
    const auto ofHost = [&] { // the convention of what is waited for the host
        std::string said;
        test::forAll(explain(*simulate(scenario), MetricId::stepTime), [&](const Explanation& e) {
            if (e.convention.find("its share of the host's memory ") != std::string::npos)
                said = e.convention;
        });
        return said;
    };
    const std::string launches = "The host launches a kernel in ",
                      measured = "Launches of kernels that were measured are in their times";
    EXPECT_NE(ofHost().find(launches), std::string::npos) << ofHost();
    HardwareProfile& profile = scenario.cluster.efficiency.profile;
    profile.transfers = {{"all_reduce", {{.m = 1000, .n = 4, .microseconds = 77}}}};
    EXPECT_EQ(ofHost().find(measured), std::string::npos) << "transfers are no kernels: " << ofHost();
    profile.kernels = {{"norm.forward", {{.m = 1, .n = 1000, .microseconds = 7}}}};
    EXPECT_NE(ofHost().find(launches), std::string::npos) << "those without a curve are launched: " << ofHost();
    EXPECT_NE(ofHost().find(measured), std::string::npos) << ofHost();
    profile.kernelsAlone = true;
    EXPECT_NE(ofHost().find(launches), std::string::npos) << ofHost();
    EXPECT_EQ(ofHost().find(measured), std::string::npos) << ofHost();
}

TEST(Explain, WhatTheHostDoesBeforeTheOptimizerIsNoLaunch)
{
    Scenario scenario = test::smallScenario(1, 1, 1, 4);
    Stack& stack = scenario.training.stack;
    stack.launchUs = stack.backwardLaunchUs = stack.collectiveLaunchUs = 0;
    stack.stepMs = 60;
    int told = 0;
    test::forAll(explain(*simulate(scenario), MetricId::stepTime), [&](const Explanation& e) {
        if (e.convention.find(" Before it launches the optimizer it works for 60") == std::string::npos)
            return;
        ++told;
        ASSERT_EQ(e.terms.size(), 1U);
        EXPECT_EQ(e.terms[0].meaning, kHostStep);
    });
    EXPECT_GT(told, 0);
}

TEST(Explain, ShardsThatAreNoWholeElementsAreToldToBeRounded)
{
    const auto convention = [](int dp) {
        Scenario scenario = test::smallScenario(1, 1, dp);
        scenario.layout.zeroStage = 1;
        const auto simulation = simulate(scenario);
        const bool divides = simulation->metrics().perPipelineRank[0].parameters % dp == 0;
        const std::string told = explain(*simulation, MetricId::optimizerMemory).convention;
        EXPECT_EQ(told.find("rounded up to whole elements") == std::string::npos, divides) << told;
        return divides;
    };
    EXPECT_TRUE(convention(8));
    EXPECT_FALSE(convention(5));
}

TEST(Explain, BuffersAreOfWhatIsGatheredAndReducedAlone)
{
    // Tensor and pipeline parallelism send from and into tensors that are counted already.
    const auto buffers = [](int zero) {
        Scenario scenario = test::smallScenario(2, 1, 2);
        scenario.layout.zeroStage = zero;
        return explain(*simulate(scenario), MetricId::bufferMemory);
    };
    EXPECT_EQ(buffers(0).result.value, 0);
    EXPECT_GT(buffers(3).result.value, 0);
    EXPECT_EQ(buffers(3).convention.find("workspace"), std::string::npos) << buffers(3).convention;
}

TEST(Explain, BuffersAreOfWhatIsThereAlone)
{
    const auto convention = [](int zero, bool keepsMessages) {
        Scenario scenario = test::smallScenario(1, 2, 2);
        scenario.layout.zeroStage = zero;
        scenario.training.stack.keepsMessages = keepsMessages;
        const Explanation buffers = explain(*simulate(scenario), MetricId::bufferMemory, 0);
        EXPECT_EQ(buffers.result.value > 0, zero == 3 || keepsMessages);
        return buffers.convention;
    };
    const std::string kept = "a place from the beginning for each message that another stage sends, and what is kept of them";
    const std::string gathered = "gathered parameters and gradients not yet reduced";
    EXPECT_EQ(convention(0, true), "Simulated: " + kept + ", at the peak.");
    EXPECT_EQ(convention(3, true), "Simulated: " + kept + ", " + gathered + ", at the peak.");
    EXPECT_EQ(convention(3, false), "Simulated: " + gathered + ", at the peak.");
}
