// Why a step sends what it sends: closed forms of the scenario's shapes against the bytes that are counted.
#include "sim/analysis/explain/explain_traffic.h"
#include "sim/analysis/traffic/traffic.h"

#include "sim/analysis/collective_uses.h"
#include "tests/sim/analysis/explained.h"
#include "tests/support/gallery.h"
#include "tests/support/scenarios.h"
#include "tests/support/tries.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

using namespace sim;

namespace {

constexpr std::array kAllRoles{CommunicatorRole::tp,          CommunicatorRole::cp,     CommunicatorRole::ep,
                               CommunicatorRole::exptTp,      CommunicatorRole::pp,     CommunicatorRole::dpShard,
                               CommunicatorRole::dpReplicate, CommunicatorRole::exptDp, CommunicatorRole::exptReplicate,
                               CommunicatorRole::embd,        CommunicatorRole::copies};

Explanation because(const Simulation& simulation, CommunicatorRole role)
{
    return TrafficExplainer(simulation).ofRole(role);
}

double evaluated(const Explanation& e)
{
    return e.formula->evaluate(test::quantitiesOf(e));
}

/// Ops of a step that send something: each rounds what its members send down to whole bytes.
double roundings(const Simulation& simulation)
{
    double count = static_cast<double>(simulation.metrics().simulatedOps);
    for (int c = 0; c < simulation.classCount(); ++c)
        count = std::max(count, 1.0 * simulation.metrics().worldSize * static_cast<double>(simulation.metrics().simulatedOps));
    return count;
}

/// No number on the way is one that only the program knows.
void expectFormulasToTheEnd(const Explanation& root)
{
    test::forAll(root, [](const Explanation& e) {
        EXPECT_TRUE(e.formula) << e.name << ": " << e.convention;
        for (const Term& term : e.terms)
            EXPECT_EQ(term.meaning.find("counted"), std::string::npos) << e.name << ": " << term.meaning;
    });
}

/// Where only a part of what is sent goes a way, the part is a quotient of what was counted.
void expectSharesWithFormulas(const Explanation& e)
{
    for (const Term& term : e.terms)
        if (term.quantity.unit == Unit::fraction) {
            ASSERT_TRUE(term.because) << term.quantity.symbol;
            ASSERT_TRUE(term.because->formula) << term.quantity.symbol;
            EXPECT_DOUBLE_EQ(evaluated(*term.because), term.quantity.value);
        }
}

/// `most`: share of the bytes that rounding may take.
void expectBecauseOfAll(const Simulation& simulation, double most)
{
    const TrafficSums sums = Traffic(simulation).senders().total();
    const TrafficExplainer explainer(simulation);
    for (const CommunicatorRole role : kAllRoles) {
        if (sums.ofRole(role) == 0)
            continue;
        SCOPED_TRACE(communicatorRoleName(role));
        const Explanation e = explainer.ofRole(role);
        ASSERT_TRUE(e.formula);
        EXPECT_EQ(e.result.value, static_cast<double>(sums.ofRole(role)));
        const double exact = e.result.value;
        EXPECT_LE(std::abs(evaluated(e) - exact), std::min(roundings(simulation), most * exact) + 1e-12 * exact)
            << e.inSymbols() << " = " << e.inNumbers();
        EXPECT_FALSE(e.source.empty());
        test::expectSound(e);
        expectFormulasToTheEnd(e);
    }
    for (const Dimension purpose : kDimensions)
        if (sums.ofDimension(purpose) > 0) {
            const Explanation e = explainer.ofDimension(purpose);
            EXPECT_EQ(e.result.value, static_cast<double>(sums.ofDimension(purpose)));
            test::expectSound(e);
        }
    for (int tier = 0; tier < sums.tiers(); ++tier)
        if (sums.ofTier(tier) > 0) {
            const Explanation e = explainer.ofTier(tier);
            EXPECT_EQ(e.result.value, static_cast<double>(sums.ofTier(tier)));
            test::expectSound(e);
            expectSharesWithFormulas(e);
        }
    // Halves of the world, as the traffic's matrix shows parts of it.
    std::vector<int> partOf(static_cast<std::size_t>(simulation.metrics().worldSize));
    for (std::size_t rank = 0; rank < partOf.size(); ++rank)
        partOf[rank] = 2 * rank < partOf.size() ? 0 : 1;
    for (const TrafficMatrix::Cell& cell : Traffic(simulation).between(partOf, 2).cells) {
        const Explanation e = explainer.ofFlow("a cell", cell.bytes);
        test::expectSound(e);
        expectSharesWithFormulas(e);
    }
}

} // namespace

TEST(ExplainTraffic, EveryGroupOfTheGallerySendsWhatItsClosedFormSays)
{
    test::Tried which;
    for (const auto& file : test::galleryFiles()) {
        if (!which.next())
            continue;
        SCOPED_TRACE(file.filename().string());
        expectBecauseOfAll(*test::open(file).simulation, 1e-7);
    }
}

TEST(ExplainTraffic, AndOfRandomJobs)
{
    std::mt19937 random(71);
    for (int i = 0; i < test::tries(150); ++i) {
        Scenario scenario = test::randomScenario(random, 96);
        scenario.training.moe.sendOncePerNode = i % 2 == 0;
        SCOPED_TRACE(test::describe(scenario));
        expectBecauseOfAll(*simulate(scenario), 1e-5); // of tiny models a byte is more
    }
}

/// Nodes of eight and six ranks a stage: the two middle stages' groups cross nodes, the others' are in one, whose switches add.
TEST(ExplainTraffic, AndWhereSwitchesAddForSomeStagesOnly)
{
    const auto document = ScenarioDocument::parse(R"({"format": "rankscope-scenario", "version": 1, "model": "llama3-8b",
        "cluster": "dgx-b300", "layout": {"pp": 4, "dp": 6},
        "training": {"sequence_length": 4096, "global_batch_size": 36}})");
    const auto simulation = simulate(resolvedScenario(document, test::catalogue()));
    int parts = 0;
    test::forAll(because(*simulation, CommunicatorRole::dpShard), [&](const Explanation& e) {
        if (e.formula)
            test::expectNear(evaluated(e), e.result.value, 1e-7);
        parts += e.result.unit == Unit::bytes ? 1 : 0;
    });
    EXPECT_GT(parts, 2);
}

TEST(ExplainTraffic, AndOfAdapters)
{
    for (const Scenario& scenario : test::adaptedScenarios()) {
        SCOPED_TRACE(test::describe(scenario));
        expectBecauseOfAll(*simulate(scenario), 1e-7);
    }
}

TEST(ExplainTraffic, AndOfHeadsThatAreGathered)
{
    for (const bool sequenceParallel : {true, false}) {
        Scenario scenario = test::smallScenario(4, 2, 2);
        scenario.model.numKeyValueHeads = 2;
        scenario.training.stack.gathersHeads = true;
        scenario.layout.sequenceParallel = sequenceParallel;
        const auto simulation = simulate(scenario);
        expectBecauseOfAll(*simulation, 1e-6);
        expectFormulasToTheEnd(because(*simulation, CommunicatorRole::tp));
    }
}

TEST(ExplainTraffic, AndOfHeadsThatAreExchanged)
{
    for (const int keyHeads : {16, 2, 8}) {
        Scenario scenario = test::smallScenario(2, 1, 2);
        scenario.layout.cp = 4;
        scenario.cluster.nodes *= 4;
        scenario.model.numKeyValueHeads = keyHeads;
        scenario.training.stack.exchangesHeads = true;
        const auto simulation = simulate(scenario);
        expectBecauseOfAll(*simulation, 1e-6);
        expectFormulasToTheEnd(because(*simulation, CommunicatorRole::cp));
        const std::string sent = collectivesText(*simulation, Dimension::cp);
        EXPECT_NE(sent.find("all-to-alls of queries, keys and values for heads"), std::string::npos) << sent;
        EXPECT_NE(sent.find("all-to-alls of attention's output for parts of the sequence"), std::string::npos) << sent;
    }
}

TEST(ExplainTraffic, AndOfReductionsInEightBits)
{
    Scenario scenario = test::smallScenario(4);
    scenario.layout.sequenceParallel = true;
    scenario.training.precision = Precision::fp8;
    scenario.training.overlap.tpComm = true;
    scenario.training.stack.narrowReduce = true;
    const auto simulation = simulate(scenario);
    expectBecauseOfAll(*simulation, 1e-3);
    int narrow = 0;
    test::forAll(because(*simulation, CommunicatorRole::tp), [&](const Explanation& e) {
        for (const Term& term : e.terms)
            narrow += term.meaning == "an element, sent in 8 bits";
    });
    EXPECT_EQ(narrow, 1) << "forward; backward their gradients are gathered as they are";
}

/// What overlaps with a product goes in four pieces, which are no elements of 4 bits.
TEST(ExplainTraffic, AndOfElementsInFourBitsWhereTheyAreSentSo)
{
    const auto sentInFourBits = [](bool reduces, bool gathers) {
        Scenario scenario = test::smallScenario(4);
        scenario.layout.sequenceParallel = true;
        scenario.training.precision = Precision::nvfp4;
        scenario.cluster.gpu.peakTflops[Precision::nvfp4] = 4000;
        scenario.training.overlap.tpComm = true;
        scenario.training.stack.narrowReduce = reduces;
        scenario.training.stack.narrowGather = gathers;
        const auto simulation = simulate(scenario);
        expectBecauseOfAll(*simulation, 1e-3);
        int narrow = 0, inPieces = 0;
        test::forAll(because(*simulation, CommunicatorRole::tp), [&](const Explanation& e) {
            for (const Term& term : e.terms) {
                narrow += term.meaning == "an element, sent in 4 bits";
                inPieces += term.meaning == "pieces, to overlap with the product";
            }
        });
        EXPECT_GT(inPieces, 0);
        return narrow;
    };
    EXPECT_EQ(sentInFourBits(false, false), 0);
    EXPECT_EQ(sentInFourBits(true, false), 0) << "reductions are in 8 bits or 16";
    EXPECT_GT(sentInFourBits(true, true), 0);
}

TEST(ExplainTraffic, LogitsThatAreGatheredAreNoActivations)
{
    Scenario scenario = test::smallScenario(4, 1, 1);
    scenario.training.stack.gathersLogits = true;
    const auto simulation = simulate(scenario);
    expectBecauseOfAll(*simulation, 1e-7);
    const std::string sent = collectivesText(*simulation, Dimension::tp);
    EXPECT_NE(sent.find("all-gathers of logits"), std::string::npos) << sent;
}

TEST(ExplainTraffic, SaysTheClosedFormsOfThePapers)
{
    const auto step = [](int tp, int pp, int dp) { return simulate(test::smallScenario(tp, pp, dp)); };
    // Data parallelism: 2 (n - 1) / n of four bytes a parameter, on each of n ranks.
    const Explanation data = because(*step(1, 1, 4), CommunicatorRole::dpShard);
    EXPECT_EQ(data.inSymbols(), "V_dpcp = 2 × (n − 1) / n × r × ψ × e");
    // Tensor parallelism: two all-reduces of b s h a layer and pass.
    Scenario scenario = test::smallScenario(4, 1, 1);
    scenario.layout.sequenceParallel = false;
    const Explanation tensor = because(*simulate(scenario), CommunicatorRole::tp);
    ASSERT_GE(tensor.terms.size(), 2U);
    const Explanation& largest = *tensor.terms[0].because;
    EXPECT_EQ(largest.inSymbols(), "V_1 = 2 × (n − 1) / n × c × M");
    EXPECT_EQ(largest.terms[1].because->inSymbols(), "c = r × m × L × k");
    EXPECT_EQ(largest.terms[1].because->terms[3].quantity.value, 2);
    EXPECT_EQ(largest.terms[2].because->inSymbols(), "M = b × s × h × e");
    // The pipeline: there and back over p - 1 boundaries, once a micro-batch.
    const Explanation pipeline = because(*step(1, 4, 1), CommunicatorRole::pp);
    EXPECT_EQ(pipeline.inSymbols(), "V_pp = 2 × r × m × x × M");
    EXPECT_EQ(pipeline.terms[2].because->inSymbols(), "x = l − 1");
    EXPECT_EQ(pipeline.terms[3].because->inSymbols(), "M = b × s × h × e");
}

TEST(ExplainTraffic, OfASharedEmbeddingTheShardOfItsGradientIsToldWhereZeroHasCutIt)
{
    Scenario scenario = test::smallScenario(1, 2, 4);
    const auto expectForm = [&](const std::string& form) {
        for (const bool tied : {true, false}) { // prediction modules use the embedding too
            scenario.model.tieWordEmbeddings = tied;
            scenario.model.numNextnPredictLayers = tied ? 0 : 1;
            SCOPED_TRACE(test::describe(scenario));
            const auto simulation = simulate(scenario);
            const Explanation e = because(*simulation, CommunicatorRole::embd);
            EXPECT_TRUE(e.inSymbols().ends_with(" = 2 × (n − 1) / n × r × z × " + form)) << e.inSymbols();
            EXPECT_EQ(evaluated(e), e.result.value);
            expectFormulasToTheEnd(e);
        }
    };
    for (const int zeroStage : {0, 1, 2, 3}) {
        scenario.layout.zeroStage = zeroStage;
        expectForm(zeroStage >= 2 ? "V × h / d × e" : "V × h × e");
    }
    scenario = test::smallScenario(1, 2, 3); // which divide no power of two
    scenario.layout.zeroStage = 2;
    scenario.model.vocabSize = 1 << 12;
    expectForm("(V × h − o) / d × e");
}

TEST(ExplainTraffic, OfASharedEmbeddingThatIsWholeOnEachRankAllIsToldToTravel)
{
    Scenario scenario = test::smallScenario(4, 2, 1);
    scenario.training.stack.wholeEmbedding = true;
    for (const bool tied : {true, false}) {
        scenario.model.tieWordEmbeddings = tied;
        scenario.model.numNextnPredictLayers = tied ? 0 : 1;
        const auto simulation = simulate(scenario);
        const Explanation e = because(*simulation, CommunicatorRole::embd);
        EXPECT_TRUE(e.inSymbols().ends_with(" × r × z × V × h × e")) << e.inSymbols();
        EXPECT_EQ(evaluated(e), e.result.value);
        for (const Term& term : e.terms)
            if (term.quantity.symbol == "V") {
                EXPECT_EQ(term.quantity.value, scenario.model.vocabSize);
            }
        expectFormulasToTheEnd(e);
    }
}

TEST(ExplainTraffic, ExpertsGetTheirTokensAsOftenAsTheyAreChosen)
{
    const auto opened = test::openNumber("50");
    const Explanation experts = because(*opened.simulation, CommunicatorRole::ep);
    const Explanation& one = *experts.terms[0].because;
    EXPECT_TRUE(one.inSymbols().ends_with("(n − 1) / n × c × M")) << one.inSymbols();
    const Explanation& tensor = *one.terms[2].because;
    EXPECT_NE(tensor.inSymbols().find("× k × h × e"), std::string::npos) << tensor.inSymbols();
}

TEST(ExplainTraffic, ExposedCommunicationNamesWhatIsWaitedFor)
{
    const auto opened = test::openNumber("40"); // sequence parallel
    const Explanation exposed = explain(*opened.simulation, MetricId::exposedTp);
    for (const char* words :
         {"all-gathers and reduce-scatters of activations", "all-gathers of inputs, again for weight gradients"})
        EXPECT_NE(exposed.convention.find(words), std::string::npos) << exposed.convention;
    EXPECT_NE(explain(*opened.simulation, MetricId::exposedPp).convention.find("sends of activations"), std::string::npos);
}

TEST(ExplainTraffic, GradientsThatTravelWiderThanTheyAddUpAreNotToldToTravelTwice)
{
    Scenario scenario = test::smallScenario(1, 1, 4, 1); // one micro-batch
    scenario.training.gradientBytes = 2;
    scenario.training.stack.reducesWide = true;
    for (const int zero : {0, 1, 2}) {
        SCOPED_TRACE(zero);
        scenario.layout.zeroStage = zero;
        const auto simulation = simulate(scenario);
        expectBecauseOfAll(*simulation, 1e-7);
        bool said = false;
        test::forAll(because(*simulation, CommunicatorRole::dpShard), [&](const Explanation& e) {
            for (const Term& term : e.terms) {
                EXPECT_NE(term.quantity.symbol, "u") << e.inSymbols() << ": " << term.meaning;
                if (term.quantity.symbol == "e" && term.meaning.starts_with("a gradient")) {
                    EXPECT_EQ(term.quantity.value, 4);
                    EXPECT_NE(term.meaning.find("travels in fp32"), std::string::npos) << term.meaning;
                    said = true;
                }
            }
        });
        EXPECT_TRUE(said);
    }
}

TEST(ExplainTraffic, UnevenTokensAreToldAsTheMeanOfRanks)
{
    Scenario scenario = test::smallScenario(2, 1, 4);
    scenario.model.numExperts = 8;
    scenario.model.numExpertsPerTok = 2;
    scenario.model.moeIntermediateSize = 256;
    scenario.layout.ep = 4;
    scenario.layout.etp = 2;
    scenario.training.moe.imbalance = 1.5;
    expectBecauseOfAll(*simulate(scenario), 1e-7);
}
